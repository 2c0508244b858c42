"""Parity with command lines that Vowpal Wabbit 9.11.9 has run on made-up data: predictions, weights, tables."""

import json
import re
from pathlib import Path

import pytest

CASES = json.loads(Path(__file__).with_name("recorded.json").read_text())

OTHER_TABLES = {"logged actions", "logged, doubly robust", "decisions guessed"} | {
    "numbers guessed", "support vectors", "support vectors tested", "best of groups", "classes guessed after a start",
    "costs guessed after a start", "policies", "replayed", "some negatives", "feedback"}  # fmt: skip
"""Without an explorer VW counts the features of a decision's shared line once in the footer, and per action in rows;
in rows of `--top` VW shows whole groups; in tables of `--cbify_ldf` it shows the prediction of a decision's last
line, mostly 0; below those of `--ksvm` it counts support vectors and kernels; below those of `--warm_cb` it adds
lines about variances; it reports the loss of predicting 0 for `--replay_b`, and none for `--oaa_subsample`; in
those of `--multiworld_test` it shows no labels, or no rows; for `--cbify_reg` it sums the numbers drawn as if they
were labels; for `--experimental_igl` it shows costs that its decoder found, and counts features of feedback, too."""


OTHER_WEIGHTS = {"freegrad", "freegrad in a ball", "linked", "marginal"} | {
    "classes guessed after a start", "costs guessed after a start"}  # fmt: skip
"""VW's are those before the last update of each feature, or between two rows, or stand among means of ids, or in
other rows, as VW hashes the copies of `--warm_cb` otherwise than those of `--cbify`."""


SLOW = (
    "labels by a tree",
    "labels by a tree, all known",
    "recalled classes",
    "exploring less",
    "feedback",
    "classes by memories",
    "trees",
    "graphs",
    "many actions",
    "classes by a tree that learns",
)


@pytest.mark.filterwarnings("ignore:--.* no effect without:UserWarning", "ignore:--feature_limit a:UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
        for name in CASES
        if "topics" not in name  # these: test_topics.py
    ],
)
def test_same_as_vw(name, tmp_path, monkeypatch, outcomes):
    case, folder = tmp_path / "case", tmp_path / "run"
    case.mkdir()
    folder.mkdir()
    calls = CASES[name]["calls"]
    (case / "input.vw").write_text(CASES[name]["data"])
    (case / "args").write_text("".join(f"{call['args']}\n" for call in calls))
    for k, call in enumerate(calls, 1):
        for ending in ("exit", "stderr", "pred"):
            (case / f"out{k}.{ending}").write_text(str(call[ending]))
        if call["model_hex"]:
            (case / f"out{k}.model_hex.txt").write_text(call["model_hex"])
    monkeypatch.chdir(folder)
    found = list(outcomes(case, folder))
    weights = [] if re.search("--ksvm|--OjaNewton", calls[0]["args"]) else ["weights"]
    tables = [] if "--search " in calls[0]["args"] else ["table"]  # VW's has columns of its own there
    assert [kind for _, kind, _ in found] == ["predictions", *weights, *tables] * len(calls)
    expected = {"table": "different"} if name in OTHER_TABLES else {}
    expected |= {"weights": "different"} if name in OTHER_WEIGHTS else {}
    assert all(outcome == expected.get(kind, "equal") for _, kind, outcome in found), found
