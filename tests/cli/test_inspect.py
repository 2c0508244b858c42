"""`hutch inspect`: names behind weights, and models as text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch as package
from hutch.core.chain.model_file import load_model

LINES = ["1 |word good better:2 |user id:ann", "-1 |word bad |user id:bob", "1 |word good |user :3"] * 4


@pytest.fixture
def model(tmp_path: Path) -> Path:
    chain = package.Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    chain.learn(LINES)
    chain.save(tmp_path / "model")
    return tmp_path / "model"


def test_explanation_adds_up_to_the_prediction(model: Path, hutch: Callable[..., Any]) -> None:
    found = json.loads(hutch("inspect", model, "--explain", "|word good bad:-0.5 |user id:ann", "--json").out)
    assert [f["feature"] for f in found["features"]] == ["word^good", "word^bad", "user^id^ann", "Constant"]
    assert [f["value"] for f in found["features"]] == [1.0, -0.5, 1.0, 1.0]
    total = sum(f["contributions"][0] for f in found["features"])
    assert found["prediction"] == pytest.approx(total, rel=1e-6)


WORDS = [f"{1 + i % 3} |word w{i % 4} v{i % 5}:{1 + i % 2} |user u{i % 3}" for i in range(40)]
PAIRS = [line.replace("3 |", "2 |") for line in WORDS]


@pytest.mark.parametrize(
    ("layers", "lines"),
    [
        ([{"linear": {"interactions": [["word", "user"], ["word", "word"]]}}], PAIRS),
        ([{"linear": {"l1": 1e-4, "l2": 1e-3, "ignore_linear": ["user"], "interactions": [["user", "word"]]}}], PAIRS),
        ([{"ngrams": {"size": 2}}, {"linear": {"interactions": [["word", "user"]]}}], PAIRS),
        ([{"one_against_all": {"classes": 3}}, {"linear": {"interactions": [["word", "user"]]}}], WORDS),
        ([{"ngrams": {}}, {"one_against_all": {"classes": 3}}, {"linear": {"l2": 1e-3}}], WORDS),
    ],
)
def test_contributions_add_up_whatever_the_chain(
    layers: list[Any], lines: list[str], tmp_path: Path, hutch: Callable[..., Any]
) -> None:
    limits = {"min_prediction": -100.0, "max_prediction": 100.0}
    base = layers[-1] if isinstance(layers[-1], dict) else {"linear": {}}
    chain = package.Chain.from_config({"chain": [*layers[:-1], {"linear": {**base["linear"], **limits}}]})
    chain.learn(lines)
    chain.save(tmp_path / "model")
    found = json.loads(hutch("inspect", tmp_path / "model", "--explain", lines[-1], "--json").out)
    scores = chain.scores(lines[-1:])[0] if chain.score_count else chain.predict(lines[-1:])
    assert found["sums"] == pytest.approx(scores.tolist(), rel=2e-5, abs=2e-6)
    assert len(found["features"]) > 3 and any(f["contributions"][0] for f in found["features"])


FIELDS = [f"{i % 3 - 1} |user u{i % 5} v:{1 + i % 2} |item i{i % 7} |city c{i % 4}" for i in range(140)]


@pytest.mark.parametrize(
    "layers",
    [
        [{"fields": {"loss": "squared", "rank": 3}}],
        [{"fields": {"loss": "squared", "fields": ["user", "city"]}}],
        [{"one_against_all": {"classes": 3}}, {"fields": {"rank": 2}}],
    ],
)
def test_pairs_of_fields_and_features_add_up(layers: list[Any], tmp_path: Path, hutch: Callable[..., Any]) -> None:
    lines = [line if len(layers) == 1 else f"{1 + i % 3} {line.split(' ', 1)[1]}" for i, line in enumerate(FIELDS)]
    chain = package.Chain.from_config({"chain": layers})
    chain.learn(lines)
    chain.save(tmp_path / "model")
    found = json.loads(hutch("inspect", tmp_path / "model", "--explain", lines[3], "--json").out)
    scores = chain.scores(lines[3:4])[0] if chain.score_count else chain.predict(lines[3:4])
    assert found["sums"] == pytest.approx(scores.tolist(), rel=2e-5, abs=2e-6)
    named = "fields" in layers[-1]["fields"]
    assert {pair["pair"] for pair in found["pairs"]} == (
        {"user x city"} if named else {"user x item", "user x city", "item x city"}
    )
    assert all(abs(pair["contributions"][0]) > 1e-4 for pair in found["pairs"])
    text = hutch("inspect", tmp_path / "model", "--explain", lines[3]).out
    assert "pair\tcontributions" in text and "user x city" in text


def test_weights_by_name_are_those_of_the_table(model: Path, tmp_path: Path, hutch: Callable[..., Any]) -> None:
    data = tmp_path / "data.vw"
    data.write_text("\n".join(LINES))
    rows = json.loads(hutch("inspect", model, "--invert-hash", data, "--json").out)
    names = {row["feature"] for row in rows}
    assert names == {"word^good", "word^better", "word^bad", "user^id^ann", "user^id^bob", "user^0", "Constant"}
    chain = package.Chain.load(model)
    used = {int(i) for i in np.flatnonzero(chain.weights[:, 0])}
    assert {row["index"] for row in rows} == used
    assert all(row["weights"][0] == chain.weights[row["index"], 0] for row in rows)


def test_collisions_are_told(tmp_path: Path, hutch: Callable[..., Any]) -> None:
    chain = package.Chain.from_config({"weights": {"bits": 1}, "chain": ["linear"]})
    chain.save(tmp_path / "model")
    found = json.loads(hutch("inspect", tmp_path / "model", "--explain", "|f a b c", "--json").out)
    assert any(feature["collides"] for feature in found["features"])


def test_a_readable_model_holds_every_row_in_use_bit_for_bit(
    model: Path, tmp_path: Path, hutch: Callable[..., Any]
) -> None:
    text = tmp_path / "model.txt"
    assert hutch("inspect", model, "--readable", text).code == 0
    arrays, metadata = load_model(model)
    title, told, *lines = text.read_text().splitlines()
    assert title == "hutch readable model 1" and json.loads(told.removeprefix("metadata ")) == metadata
    found: dict[str, Any] = {}
    for line in lines:
        first, *rest = line.split()
        if first == "array":
            name, dtype, *shape = rest
            found[name] = np.zeros([int(n) for n in shape], dtype)
        else:
            found[name].reshape(len(found[name]), -1)[int(first)] = [found[name].dtype.type(text) for text in rest]
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_summary_says_what_the_model_is(model: Path, hutch: Callable[..., Any]) -> None:
    assert "logistic" in hutch("inspect", model).out
    facts = json.loads(hutch("inspect", model, "--json").out)
    assert facts["examples"] == len(LINES) and facts["rows_used"] == 7


@pytest.mark.parametrize(("model", "shared"), [("two_level", "shared.population"), ("nominal", "shared.gamma")])
def test_what_a_crowd_has_in_common_is_shown(
    model: str, shared: str, tmp_path: Path, hutch: Callable[..., Any]
) -> None:
    rows = [f"w{w}\tt{i}\t{'ab'[(i + (w == 3)) % 2]}\n" for i in range(30) for w in range(4)]
    (tmp_path / "labels.tsv").write_text("".join(rows))
    hutch("crowd", tmp_path / "labels.tsv", "--model", model, "-f", tmp_path / "crowd")
    found = json.loads(hutch("inspect", tmp_path / "crowd", "--json").out)
    arrays, _ = load_model(tmp_path / "crowd", kind="crowd")
    assert (found["kind"], found["model"], found["classes"]) == ("crowd", model, ["a", "b"])
    assert found[shared] == arrays[shared].round(6).tolist()
    row = found["usual_worker"]["a"]
    assert row["a"] > row["b"] and row["a"] + row["b"] == pytest.approx(1, abs=1e-5)
    assert found["confusions"] == [f"'a' is called 'b' by the usual worker ({row['b']:.0%} of it)"] * (
        row["b"] > 0.15
    ) + [f"'b' is called 'a' by the usual worker ({found['usual_worker']['b']['a']:.0%} of it)"] * (
        found["usual_worker"]["b"]["a"] > 0.15
    )
    assert f"model: {model}\n" in hutch("inspect", tmp_path / "crowd").out
    refused = hutch("inspect", tmp_path / "crowd", "--explain", "|x")
    assert refused.code == 1 and "got a crowd model, wanted the model of a chain" in refused.err
