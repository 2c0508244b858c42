"""Evaluation of several slots: against single choices, by hand, and against the truth of simulated worlds."""

import numpy as np
import pytest

from hutch import Chain, HutchError, evaluate
from hutch.evaluation.off_policy import value_of
from hutch.evaluation.slots import _sum

BELOW = ["contextual_bandit", "cost_sensitive_with_features", {"linear": {"interactions": [["s", "a"]]}}]
SLOTS = {"chain": ["choose_slots", {"explore_epsilon": {"epsilon": 0.2}}, *BELOW]}
SLATES = {"chain": ["choose_slate", *SLOTS["chain"][1:]]}
MEANS = np.array([[0.2, 0.5, 0.6, 0.8], [0.3, 0.2, 0.7, 0.6]])


def _slots(seed: int, count: int) -> str:
    """Two slots and four actions, drawn without a preference; the cost of a slot is its own."""
    random, lines = np.random.default_rng(seed), []
    for _ in range(count):
        drawn = random.permutation(4)[:2]
        lines += ["ccb shared |u x", *(f"ccb action |a x{a}" for a in range(4))]
        for k, chance in ((0, 0.25), (1, 1 / 3)):
            cost = float(random.random() < MEANS[k, drawn[k]])
            lines.append(f"ccb slot {drawn[k]}:{cost}:{chance:.6f} |s s{k}")
        lines.append("")
    return "\n".join(lines) + "\n"


def _slates(seed: int, count: int) -> str:
    """Slots of two and three actions, and one cost that adds what both do."""
    random, lines = np.random.default_rng(seed), []
    for _ in range(count):
        a, b = random.integers(2), random.integers(3)
        lines.append(f"slates shared {float(random.random() < 0.1 + 0.3 * a + 0.2 * b)} |u x")
        lines += [*(f"slates action 0 |a x{k}" for k in range(2)), *(f"slates action 1 |a y{k}" for k in range(3))]
        lines += [f"slates slot {a}:0.5 |s s0", f"slates slot {b}:0.333333 |s s1", ""]
    return "\n".join(lines) + "\n"


def test_one_slot_is_a_single_choice() -> None:
    random = np.random.default_rng(1)
    weight, cost, nothing = random.gamma(0.5, 2, 300), random.normal(size=300), np.zeros(300)
    found = _sum(weight[:, None], cost[:, None], np.ones((300, 1), bool), 0.9)
    wanted = value_of(weight, cost, nothing, nothing, 0.9).snips
    assert (found.value, found.low, found.high) == pytest.approx((wanted.value, wanted.low, wanted.high))


def test_equal_slots_add_up() -> None:
    """Two slots with the same weights and costs cost twice as much, and are as uncertain together."""
    random = np.random.default_rng(2)
    weight, cost = random.gamma(0.5, 2, (300, 1)), random.normal(size=(300, 1))
    known = np.ones((300, 2), bool)
    one = _sum(weight, cost, known[:, :1], 0.95)
    two = _sum(np.repeat(weight, 2, axis=1), np.repeat(cost, 2, axis=1), known, 0.95)
    assert (two.value, two.low, two.high) == pytest.approx((2 * one.value, 2 * one.low, 2 * one.high))


def _trained(config: dict, log: str, one: str) -> tuple[Chain, list[np.ndarray]]:
    """A chain that has learned a log, and the probabilities that it gives the actions of each slot of a decision."""
    chain = Chain.from_config(config)
    chain.learn(log.splitlines())
    (batch,) = Chain.from_config(config).batches(one.splitlines())
    outputs = chain.run_batch(batch, learn=False)[0]
    shares = []
    for ranked, scores in zip(outputs.ranked.reshape(len(batch), -1)[-2:], outputs.scores[-2:], strict=True):
        found = np.zeros(4)
        found[ranked[scores > 0]] = scores[scores > 0]
        shares.append(found)
    return chain, shares


@pytest.mark.slow
def test_each_slot_by_hand() -> None:
    chain, shares = _trained(SLOTS, _slots(30, 200), _slots(31, 1))
    assert shares[0].max() == pytest.approx(0.85, abs=1e-6) and (shares[1] == 0).sum() == 1  # what the first slot took
    text = _slots(3, 150)
    found = evaluate(text, chain)
    drawn = [line.split()[2].split(":") for line in text.splitlines() if line.startswith("ccb slot")]
    for k, (slot, chance) in enumerate(zip(found.slots, (0.25, 1 / 3), strict=True)):
        weight = np.array([shares[k][int(a)] for a, _, _ in drawn[k::2]]) / chance
        cost = np.array([float(c) for _, c, _ in drawn[k::2]])
        assert slot.decisions == 150 and slot.logged == pytest.approx(cost.mean())
        assert slot.snips.value == pytest.approx(weight @ cost / weight.sum(), rel=1e-5)
        assert slot.effective == pytest.approx(weight.sum() ** 2 / (weight @ weight), rel=1e-5)
    assert found.snips.value == pytest.approx(sum(slot.snips.value for slot in found.slots))
    assert found.logged == pytest.approx(sum(slot.logged for slot in found.slots))
    assert found.effective == min(slot.effective for slot in found.slots)


def test_slates_by_hand() -> None:
    chain, shares = _trained(SLATES, _slates(40, 200), _slates(41, 1))
    assert shares[0].max() == pytest.approx(0.9, abs=1e-6) and shares[1][3] == 0
    text = _slates(4, 150)
    found = evaluate(text, chain)
    lines = text.splitlines()
    cost = np.array([float(line.split()[2]) for line in lines if line.startswith("slates shared")])
    drawn = [int(line.split()[2].split(":")[0]) for line in lines if line.startswith("slates slot")]
    w, v = shares[0][drawn[::2]] * 2, shares[1][drawn[1::2]] * 3
    for value, weight in ((found, w + v - 1), (found.slots[0], w), (found.slots[1], v)):
        assert value.snips.value == pytest.approx(weight @ cost / weight.sum(), rel=1e-4)


def test_slots_without_a_label_do_not_count() -> None:
    text = _slots(5, 120)
    lines = text.splitlines()
    slots = [k for k, line in enumerate(lines) if line.startswith("ccb slot")]
    for k in slots[1:80:2]:  # the second slot of forty decisions
        lines[k] = "ccb slot |s s1"
    none = _slots(6, 5).replace("ccb slot 0:", "ccb slot |").splitlines()
    none = ["ccb slot |s s0" if line.startswith("ccb slot") else line for line in none]
    found = evaluate("\n".join([*lines, *none, ""]), SLOTS)
    assert found.decisions == 120 and [slot.decisions for slot in found.slots] == [120, 80]
    with pytest.raises(HutchError, match="without labels, wanted action:cost:probability at the slots"):
        evaluate("\n".join([*none, ""]), SLOTS)


def test_estimated_propensities_are_refused() -> None:
    with pytest.raises(HutchError, match="of decisions with several slots, wanted 'logged'"):
        evaluate(_slots(7, 5), SLOTS, propensities="estimated")


@pytest.mark.slow
@pytest.mark.parametrize("slate", [False, True])
def test_intervals_hold_the_truth(slate) -> None:
    """Of a chain that was trained on another log, and does not learn."""
    log, config = (_slates, SLATES) if slate else (_slots, SLOTS)
    chain, shares = _trained(config, log(1000, 300), log(0, 1))
    if slate:
        truths = [0.1 + 0.3 * shares[0][1] + 0.2 * (shares[1] @ [0, 1, 2, 0])]
    else:
        each = [float(share @ means) for share, means in zip(shares, MEANS, strict=True)]
        truths = [sum(each), *each]
    held = []
    for seed in range(200):
        value = evaluate(log(seed, 300), chain)
        every = [value.snips, *(slot.snips for slot in value.slots)][: len(truths)]
        held.append([one.low <= truth <= one.high for one, truth in zip(every, truths, strict=True)])
    assert min(np.mean(held, axis=0)) >= 0.92  # a standard error is 0.015
