"""`hutch.evaluate` says what the command says, and leaves a chain as it was."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain, HutchError, evaluate
from hutch.cli.evaluate import sentences
from hutch.evaluation.off_policy import Estimate, OffPolicyValue

CHAIN = {"chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    random, lines = np.random.default_rng(3), []
    for _ in range(120):
        chosen, user = int(random.integers(3)), int(random.integers(2))
        cost = float(random.random() < (0.2 if chosen == user else 0.7))
        for action in range(3):
            label = f"{action}:{cost}:0.3333 " if action == chosen else ""
            lines.append(f"{label}|a x{action} u{user}x{action}")
        lines.append("")
    path = tmp_path / "log.vw"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("given", ["a path", "lines"])
def test_it_says_what_the_command_says(given, log, hutch, tmp_path) -> None:
    (tmp_path / "chain.yaml").write_text(json.dumps(CHAIN))
    result = hutch("evaluate", log, "-C", tmp_path / "chain.yaml", "--json")
    assert result.code == 0
    wanted = json.loads(result.out)
    (sentence,), command = wanted.pop("verdict"), wanted.pop("next_command")
    assert sentence.startswith("Cannot tell what these decisions would have cost: 36.4 effective decisions")
    assert command is None
    found = asdict(evaluate(log if given == "a path" else log.read_text(), CHAIN))
    assert json.loads(json.dumps(found)) == wanted
    assert found["decisions"] == 120


def test_a_chain_is_judged_as_it_is(log) -> None:
    chain = Chain.from_config(CHAIN)
    chain.learn(log)
    before = chain.arrays()
    before = {name: array.copy() for name, array in before.items()}
    first, second = evaluate(log, chain), evaluate(log, chain)
    assert first == second
    assert first.snips.value < evaluate(log, CHAIN).snips.value  # which learns on its way
    for name, array in chain.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.parametrize("confidence", [0, 1, float("nan")])
def test_a_confidence_out_of_range_is_refused(confidence, log) -> None:
    with pytest.raises(HutchError, match="confidence: got"):
        evaluate(log, CHAIN, confidence=confidence)


def test_a_chain_that_does_not_decide_is_refused(log) -> None:
    with pytest.raises(HutchError, match="wanted one that decides"):
        evaluate(log, {"chain": ["linear"]})


def test_the_verdict_compares_with_the_log() -> None:
    def said(low: float, high: float, warnings: tuple[str, ...] = ()) -> str:
        one = Estimate((low + high) / 2, low, high)
        (sentence,) = sentences(OffPolicyValue(2000, 0.5, one, one, one, 900.0, warnings), 0.95)
        return sentence

    assert said(0.3, 0.4) == (
        "These decisions are better than those in the log: over 2,000 decisions they would have cost "
        "0.35 (0.3 to 0.4; 95 %) on average, and those in the log cost 0.5."
    )
    assert said(0.6, 0.7).startswith("These decisions are worse than those in the log")
    assert said(0.4, 0.6).startswith("Cannot tell whether these decisions are better than those in the log.")
    assert said(0.3, 0.4, ("few",)) == "Cannot tell what these decisions would have cost: few."


def test_slots_have_a_row_each(hutch, tmp_path) -> None:
    lines = []
    for k in range(200):
        lines += ["ccb shared |u x", *(f"ccb action |a x{a}" for a in range(3))]
        lines += [
            f"ccb slot {k % 3}:{float(k % 3 > 0)}:0.333333 |s s0",
            f"ccb slot {(k + 1) % 3}:{k % 2}.0:0.5 |s s1",
            "",
        ]
    (tmp_path / "log.vw").write_text("\n".join(lines) + "\n")
    (tmp_path / "chain.yaml").write_text(json.dumps({"chain": ["choose_slots", *CHAIN["chain"]]}))
    result = hutch("evaluate", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml")
    assert result.code == 0
    _, head, *rows = result.out.splitlines()[:5]
    assert head.split() == ["cost", "low", "high", "in", "log", "effective"]
    assert [row[:8].strip() for row in rows] == ["all", "slot 1", "slot 2"]
    costs = [float(row[8:18]) for row in rows]
    assert costs[0] == pytest.approx(costs[1] + costs[2], abs=2e-4)
    found = json.loads(hutch("evaluate", tmp_path / "log.vw", "-C", tmp_path / "chain.yaml", "--json").out)
    assert [slot["slot"] for slot in found["slots"]] == [1, 2] and found["decisions"] == 200
