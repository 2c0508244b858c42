"""The checks of estimated probabilities, by hand and on drawn choices."""

import numpy as np
import pytest

from hutch.evaluation.checks import fit_of, warnings_of
from hutch.evaluation.logit import Alternatives


def _drawn(seed: int, true: np.ndarray) -> Alternatives:
    """Choices with given probabilities, float64 (decisions, actions); features do not matter."""
    count, actions = true.shape
    taken = (np.random.default_rng(seed).random(count)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    nothing = np.zeros(0, np.int64)
    return Alternatives(
        np.full(count, actions), taken, np.zeros(count * actions + 1, np.int64), nothing, nothing + 0.0, nothing
    )


def _fit(choices: Alternatives, likely: np.ndarray, policy: np.ndarray | None = None, twins: np.ndarray | None = None):
    policy = np.full(likely.shape, 1 / likely.shape[1]) if policy is None else policy
    twins = np.arange(likely.size) if twins is None else twins
    return fit_of(choices, likely.ravel(), policy.ravel(), np.full(likely.size, 0.01), twins.ravel().astype(np.uint64))


def test_by_hand() -> None:
    likely = np.array([[0.25, 0.75], [0.75, 0.25], [0.05, 0.95]])
    choices = Alternatives(*(np.array(each) for each in ([2, 2, 2], [1, 1, 1], [0] * 7, [], [], [])))
    fit = _fit(choices, likely)
    assert (fit.choices, fit.others, fit.unseen, fit.equal) == (3, 1, 0.0, 0)
    assert [(g.low, g.high, g.actions) for g in fit.groups] == [(0.02, 0.1, 1), (0.1, 0.3, 2), (0.7, 1.0, 3)]
    assert [g.estimated for g in fit.groups] == pytest.approx([0.05, 0.25, 2.45 / 3])
    assert [g.chosen for g in fit.groups] == pytest.approx([0, 0.5, 2 / 3])
    assert fit.groups[1].deviations == pytest.approx((1 - 0.5) / 1)


def test_true_probabilities_are_not_doubted() -> None:
    random, told = np.random.default_rng(0), 0
    for seed in range(50):
        true = random.dirichlet(np.ones(4), 2000)
        told += bool(warnings_of(_fit(_drawn(seed, true), true, true)))
    assert told == 0


def test_probabilities_of_another_policy_fit_badly() -> None:
    true = np.random.default_rng(1).dirichlet(np.ones(4), 2000)
    (said,) = warnings_of(_fit(_drawn(1, true), np.sqrt(true) / np.sqrt(true).sum(axis=1, keepdims=True)))
    assert said.startswith("the estimated probabilities fit badly: of ")


def test_a_log_without_chance_is_said_to_be() -> None:
    true = np.tile([1.0, 0, 0], (500, 1))
    likely = np.tile([0.99, 0.005, 0.005], (500, 1))
    said = warnings_of(_fit(_drawn(2, true), likely))
    assert said[0].startswith("0 of 500 choices were not those that the features foretell")
    assert said[1].startswith("67 % of the chain's decisions fall on actions with an estimated probability below 0.01")
    same = warnings_of(_fit(_drawn(2, true), likely, true))  # a chain that does the same is told, too
    assert len(same) == 1 and same[0].startswith("0 of 500 choices")


def test_equal_decisions_show_a_policy_that_is_sharper_than_the_model() -> None:
    """Ten kinds of decisions; each kind has its own sure choice, and the model knows only the mean."""
    kind = np.random.default_rng(3).integers(0, 10, 1000)
    true, likely = np.eye(2)[kind % 2], np.full((1000, 2), 0.5)
    fit = _fit(_drawn(3, true), likely, twins=np.stack([2 * kind, 2 * kind + 1], axis=1))
    assert (fit.equal, fit.alike, fit.alike_estimated) == (1000, 1.0, pytest.approx(0.5))
    assert any(said.startswith("equal decisions had the same choice 1 of the time") for said in warnings_of(fit))
    drawn = _fit(_drawn(3, likely), likely, twins=np.stack([2 * kind, 2 * kind + 1], axis=1))
    assert drawn.alike == pytest.approx(0.5, abs=0.05) and warnings_of(drawn) == ()


def test_equal_decisions_by_hand() -> None:
    """Three equal decisions, two with the same choice; a fourth of its own."""
    likely = np.array([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25], [0.5, 0.5]])
    choices = Alternatives(*(np.array(each) for each in ([2] * 4, [0, 0, 1, 0], [0] * 9, [], [], [])))
    fit = _fit(choices, likely, twins=np.array([[1, 2], [1, 2], [1, 2], [1, 3]]))
    assert fit.equal == 3 and fit.alike == pytest.approx(1 / 3)
    assert fit.alike_estimated == pytest.approx((0.5 + 0.5 + 0.5) / 3)  # each pair: Σ p q


def test_decisions_with_one_action_say_nothing() -> None:
    choices = Alternatives(*(np.array(each) for each in ([1, 1], [0, 0], [0] * 3, [], [], [])))
    fit = _fit(choices, np.ones((2, 1)))
    assert (fit.groups, fit.choices, fit.others, fit.equal) == ((), 0, 0, 0)
