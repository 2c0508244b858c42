"""Probabilities, and tables of JSON lines."""

import csv
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
    if kind == ".jsonl":
        Path(path).write_text("\n\n".join(map(json.dumps, rows)) + "\n")
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chain.yaml").write_text(CLASSES)


def test_probabilities_of_rows_are_those_of_their_scores(capsys: pytest.CaptureFixture[str]) -> None:
    data = write(".csv", ROWS)
    assert hutch("train", data, "-C", "chain.yaml", "-f", "model", "--quiet") == 0
    assert hutch("predict", data, "-i", "model", "--quiet", "--probabilities") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0].startswith("1:")
    found = [[float(cell.partition(":")[2]) for cell in line.split()] for line in lines]
    wanted = 1 / (1 + np.exp(-Chain.load("model").scores(Path(data)).astype(np.float64)))
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-5)


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


def test_what_has_no_probabilities_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data.vw").write_text("1 |f a\n")
    assert hutch("train", "data.vw", "-f", "model", "--quiet") == 0
    assert hutch("predict", "data.vw", "--probabilities", "-i", "model", "--quiet") == 2
    assert "wanted `loss: logistic`" in capsys.readouterr().err


def test_a_chain_without_probabilities() -> None:
    with pytest.raises(ConfigError, match="wanted `loss: logistic`"):
        Chain.from_config({"chain": ["linear"]}).predict_proba_one({"a": 1})
