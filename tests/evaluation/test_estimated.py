"""Evaluation and training by estimated propensities, on logs whose truth is known."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain, HutchError, evaluate
from hutch.evaluation.estimated import EstimatedValue, filled, out_of_fold
from hutch.evaluation.logit import Alternatives
from hutch.evaluation.off_policy import estimator_of
from tests.evaluation.logs import BELOW, CHAIN, COSTS, LIKELY, UNIFORM, log, text


def _filled(log: list[dict]):
    chain = Chain.from_config(CHAIN)
    chain.parser = replace(chain.parser, chosen_alone=True)
    regression = Chain.from_config(estimator_of(CHAIN, chain.layers))
    return filled(chain, regression, chain.batches(log))


def test_the_probabilities_are_those_of_the_log() -> None:
    decisions = log(1, 2000)
    found = _filled(decisions)
    users = [int(one["shared"]["u"][0][1]) for one in decisions]
    np.testing.assert_allclose(found.likely.reshape(-1, 3), LIKELY[users], atol=0.06)
    every = [batch.probabilities[batch.cost_ptr[0] : batch.cost_ptr[-1]] for batch in found.batches]
    given = np.concatenate([some[some >= 0] for some in every])
    chosen = [one["chosen"] for one in decisions]
    np.testing.assert_allclose(given, found.likely.reshape(-1, 3)[np.arange(2000), chosen], rtol=1e-6)


def test_estimates_are_near_those_by_true_probabilities() -> None:
    decisions = log(2, 1500)
    for one in decisions:
        one["probability"] = float(LIKELY[int(one["shared"]["u"][0][1]), one["chosen"]])
    estimated, logged = evaluate(decisions, CHAIN, propensities="estimated"), evaluate(decisions, CHAIN)
    assert isinstance(estimated, EstimatedValue) and estimated.warnings == logged.warnings == ()
    assert (estimated.decisions, estimated.logged) == (logged.decisions, logged.logged)
    for name in ("ips", "snips", "dr"):
        assert getattr(estimated, name).value == pytest.approx(getattr(logged, name).value, abs=0.03)
    assert estimated.dm == pytest.approx(logged.dr.value, abs=0.1)
    assert estimated.effective == pytest.approx(logged.effective, rel=0.1)


def test_the_probabilities_of_a_log_do_not_count() -> None:
    decisions = log(3, 300)
    found = evaluate(decisions, CHAIN, propensities="estimated")
    assert found == evaluate([{**one, "probability": 0.1} for one in decisions], CHAIN, propensities="estimated")
    assert found == evaluate(text(decisions, "{}:{:g}:0.9"), CHAIN, propensities="estimated")


@pytest.mark.slow
@pytest.mark.parametrize("likely", [np.full((2, 3), 1 / 3), LIKELY], ids=["uniform", "by person"])
def test_intervals_hold_the_truth(likely) -> None:
    """Of a policy that chooses at random, by estimates that do not know how the log did."""
    held = []
    for seed in range(200):
        found = evaluate(log(seed, 400, likely), UNIFORM, propensities="estimated")
        held.append([one.low <= COSTS.mean() <= one.high for one in (found.ips, found.snips, found.dr)])
    assert min(np.mean(held, axis=0)) >= 0.93


def test_a_cause_that_is_not_in_the_log_cannot_be_seen() -> None:
    """A mood moves choice and cost; all checks pass, and the estimate is far from the truth: what the page says."""
    random, decisions = np.random.default_rng(105), []
    for one in log(5, 3000, np.full((2, 3), 1 / 3)):
        mood = int(random.integers(2))
        chosen = int(random.choice(3, p=[0.7, 0.15, 0.15] if mood else [0.2, 0.4, 0.4]))
        decisions.append({**one, "chosen": chosen, "cost": float(random.random() < (0.2 if mood else 0.8))})
    first = Chain.from_config(CHAIN)
    first.learn([{**one, "cost": float(one["chosen"] > 0), "probability": 1 / 3} for one in decisions[:300]])
    found = evaluate(decisions, first, propensities="estimated")  # nearly always the first action; its true cost is 0.5
    assert found.warnings == ()
    assert found.dr.high < 0.4


@pytest.mark.parametrize("how", ["logged", "estimated, of a model"])
def test_a_model_of_something_else_is_refused(how, tmp_path: Path) -> None:
    chain = Chain.from_config(CHAIN) if "model" in how else CHAIN
    with pytest.raises(HutchError, match="a final model: wanted a chain that learns from estimated"):
        evaluate(log(8, 5), chain, propensities=how.split(",")[0], final_model=tmp_path / "model")


def test_another_word_is_refused() -> None:
    with pytest.raises(HutchError, match="propensities: got 'guessed', wanted 'logged' or 'estimated'"):
        evaluate(log(8, 5), CHAIN, propensities="guessed")


def test_a_log_without_labels_is_refused() -> None:
    unlabelled = [{name: one[name] for name in ("shared", "actions")} for one in log(8, 5)]
    with pytest.raises(HutchError, match="without labels, wanted action:cost at"):
        evaluate(unlabelled, CHAIN, propensities="estimated")


def test_all_kinds_of_logs_say_the_same(tmp_path) -> None:
    """Records, text, the JSON of decisions, a file in pieces."""
    decisions = log(9, 200)
    letters = {**CHAIN, "input": {"namespaces": "letter"}}
    lines = [
        json.dumps({
            "_label_cost": one["cost"], "_labelIndex": one["chosen"], "a": [1, 2, 3], "p": [0.4, 0.3, 0.3],
            "c": {"u": {one["shared"]["u"][0]: 1}, "_multi": [{"a": {action["a"][0]: 1}} for action in one["actions"]]},
        })
        for one in decisions
    ]  # fmt: skip
    (tmp_path / "log.dsjson").write_text("\n".join(lines) + "\n")
    (tmp_path / "log.vw").write_text(text(decisions))
    wanted = evaluate(decisions, letters, propensities="estimated")
    assert wanted.decisions == 200
    assert evaluate(tmp_path / "log.vw", letters, propensities="estimated") == wanted
    assert evaluate(tmp_path / "log.dsjson", letters, propensities="estimated") == wanted


def test_classes(tmp_path) -> None:
    classes = {"chain": [{"action_per_class": {"classes": 3}}, "explore_epsilon", *BELOW[:2], "linear"]}
    decisions = log(10, 1500)
    lines = [f"{one['chosen'] + 1}:{one['cost']:g} |u {one['shared']['u'][0]}" for one in decisions]
    found = evaluate(lines, classes, propensities="estimated")
    wanted = evaluate(decisions, CHAIN, propensities="estimated")
    assert (found.decisions, found.warnings) == (1500, ()) and found.logged == wanted.logged
    assert found.ips.value == pytest.approx(wanted.ips.value, abs=0.05)
    records = [
        {"label": {"class": one["chosen"] + 1, "cost": one["cost"]}, "u": one["shared"]["u"]} for one in decisions
    ]
    assert evaluate(records, classes, propensities="estimated") == found
    lines = [
        "label,u",
        *(f'"{json.dumps(one["label"]).replace(chr(34), chr(34) * 2)}",{one["u"][0]}' for one in records),
    ]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    table = {**classes, "input": {"columns": {"label": "label"}}}
    assert evaluate(tmp_path / "log.csv", table, propensities="estimated").decisions == 1500


def test_a_fold_does_not_know_its_own_choices() -> None:
    """Each decision has a feature that no other has; it must not foretell the choice."""
    count = 50
    ends = np.arange(2 * count + 1)
    choices = Alternatives(
        np.full(count, 2),
        np.arange(count) % 2,
        ends,
        np.arange(2 * count),
        np.ones(2 * count),
        np.zeros(2 * count, int),
    )
    np.testing.assert_allclose(out_of_fold(choices), 0.5)
