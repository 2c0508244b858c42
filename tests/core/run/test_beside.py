"""Probabilities, predictions beside the columns of tables, and tables of JSON lines."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.cli.commands import app
from hutch.core.errors import ConfigError, DataError
from hutch.core.run.probabilities import Probabilities

ROWS = [
    {"label": 1 + i % 3, "age": 20 + 7 * i % 40, "city": ["Oslo", "New York", "Bonn"][i % 3], "note": 'a "b", c\u2028d'}
    for i in range(40)
]
CLASSES = "chain: [{one_against_all: {classes: 3}}, {linear: {loss: logistic}}]\ninput: {columns: {ignore: [note]}}\n"


def hutch(*words: str) -> int:
    return int(app(list(words), standalone_mode=False) or 0)


def write(kind: str, rows: list[dict[str, Any]]) -> str:
    path = f"rows{kind}"
    if kind == ".parquet":
        pa = pytest.importorskip("pyarrow")
        importlib_parquet = pytest.importorskip("pyarrow.parquet")
        importlib_parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    elif kind == ".jsonl":
        Path(path).write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if kind == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path: str) -> list[dict[str, Any]]:
    if path.endswith(".parquet"):
        found: list[dict[str, Any]] = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
        return found
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in Path(path).read_text().split("\n") if line]
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.endswith(".tsv") else ","))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chain.yaml").write_text(CLASSES)


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_predictions_stand_beside_the_columns_they_came_from(kind: str) -> None:
    data = write(kind, ROWS)
    assert hutch("train", data, "-C", "chain.yaml", "-f", "model", "--quiet") == 0
    unlabelled = [{name: value for name, value in row.items() if name != "label"} for row in ROWS]
    test = write(kind, unlabelled)
    assert hutch("predict", test, "-i", "model", "--quiet", "--beside", f"out{kind}", "--probabilities") == 0
    found = read(f"out{kind}")
    assert list(found[0]) == [*unlabelled[0], "prediction", "probability_1", "probability_2", "probability_3"]
    kept = [{name: row[name] for name in unlabelled[0]} for row in found]
    assert kept == [{k: str(v) if kind in (".csv", ".tsv") else v for k, v in row.items()} for row in unlabelled]
    chances = np.array([[float(row[f"probability_{k}"]) for k in (1, 2, 3)] for row in found])
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-6)
    assert [int(row["prediction"]) for row in found] == (chances.argmax(axis=1) + 1).tolist()
    scores = Chain.load("model").scores(Path(test))
    wanted = 1 / (1 + np.exp(-scores.astype(np.float64)))
    np.testing.assert_allclose(chances, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-6)


def test_json_lines_and_csv_are_the_same_table() -> None:
    models = []
    for kind in (".csv", ".jsonl"):
        chain = Chain.from_config("chain.yaml")
        chain.learn(Path(write(kind, ROWS)))
        models.append(chain.weights.copy())
    np.testing.assert_array_equal(*models)
    assert models[0].any()


def test_json_lines_hold_nested_namespaces_words_and_decisions() -> None:
    lines = ['{"label": 1, "user": {"age": 3, "city": "Oslo"}, "word": ["good", "bad"], "x": null, "y": 2, "z": "w"}']
    Path("data.jsonl").write_text("\n".join(lines))
    record = {"label": 1, "user": {"age": 3, "city": "Oslo"}, "word": ["good", "bad"], "": {"y": 2, "z": "w"}}
    chains = [Chain.from_config({"chain": ["linear"]}) for _ in range(2)]
    chains[0].learn(Path("data.jsonl"))
    chains[1].learn([record])
    np.testing.assert_array_equal(chains[0].weights, chains[1].weights)
    decision = {"actions": [{"a": ["x"]}, {"a": ["y"]}], "chosen": 0, "cost": 1.0, "probability": 0.5}
    Path("log.jsonl").write_text(json.dumps(decision) + "\n")
    bandit = {"chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]}
    assert len(Chain.from_config(bandit).learn(Path("log.jsonl"))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]\n", r"bad.jsonl:1: got '?\[1\]'?, wanted an object"),
        ('{"label": 1, "a": 2}\n\n{"label": "x"}\n', "bad.jsonl:3: label: got 'x', wanted a number"),
        ('{"label": 1, "a": NaN}\n', "bad.jsonl:1: is not JSON: NaN"),
        ('{"label": 1, "a": "\\ud800"}\n', "bad.jsonl:1:20: got half a surrogate pair"),
        ('{"label": 1, "a": }\n', "bad.jsonl:1:19: is not JSON"),
        ('{"a": 1e400}\n', "bad.jsonl:1: feature 1: got inf"),
        ('{"a": %s}\n' % ("[" * 100_000), "bad.jsonl:1: is not JSON"),
        ('{"a": %s}\n' % ("9" * 5000), "bad.jsonl:1"),
    ],
)
def test_what_is_no_row_is_a_message_with_its_line(text: str, message: str) -> None:
    Path("bad.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        Chain.from_config({"chain": ["linear"]}).learn(Path("bad.jsonl"))


def test_probabilities_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data.vw").write_text("1 't|f a\n-1 |f b\n")
    assert hutch("train", "data.vw", "--loss_function", "logistic", "-f", "model", "--quiet") == 0
    assert hutch("predict", "data.vw", "-i", "model", "--quiet", "--probabilities") == 0
    first, second = capsys.readouterr().out.splitlines()
    low, high, tag = first.split()
    assert low.startswith("-1:") and high.startswith("1:") and tag == "t" and float(high[2:]) > 0.5
    assert float(second.split()[0][3:]) > 0.5


def test_probabilities_of_classes_from_0() -> None:
    chain = Chain.from_config({"chain": [{"one_against_all": {"classes": 2}}, {"linear": {"loss": "logistic"}}]})
    chain.learn(["0 |f a", "1 |f b"] * 9)
    assert Probabilities(chain).labels == [0, 1]
    found = chain.predict_proba_one({"f": {"a": 1}})
    assert list(found) == [0, 1] and found[0] > 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows.csv", "--beside", "out.parquet"], "wanted a name that ends with .csv"),
        (["rows.csv", "rows.csv", "--beside", "out.csv"], "wanted one file of .csv"),
        (["data.vw", "--beside", "out.csv"], "wanted one file of .csv"),
        (["data.vw", "--probabilities"], "wanted `loss: logistic`"),
    ],
)
def test_what_cannot_be_written_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("data.vw").write_text("1 |f a\n")
    write(".csv", ROWS)
    assert hutch("train", "data.vw", "-f", "model", "--quiet") == 0
    assert hutch("predict", *words, "-i", "model", "--quiet") == 2
    assert message in capsys.readouterr().err


def test_a_column_of_the_same_name_is_refused() -> None:
    rows = [{"label": 1, "prediction": 2}]
    with pytest.raises(DataError, match="has a column 'prediction' itself"):
        from hutch.core.run.beside import _WRITERS

        _WRITERS[".csv"](write(".csv", rows), {"prediction": np.zeros(1, np.float32)}, io.BytesIO())


def test_a_chain_without_probabilities() -> None:
    with pytest.raises(ConfigError, match="wanted `loss: logistic`"):
        Chain.from_config({"chain": ["linear"]}).predict_proba_one({"a": 1})
