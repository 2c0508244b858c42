"""The conditional logit: against closed forms and its own gradient."""

import numpy as np
import pytest

from hutch.evaluation.logit import Alternatives, minimum


def _classes(taken: list[int], classes: int) -> Alternatives:
    """Choices among classes whose only feature is the class."""
    count = len(taken)
    columns = np.tile(np.arange(classes), count)
    ends = np.arange(count * classes + 1)
    return Alternatives(
        np.full(count, classes), np.array(taken), ends, columns, np.ones(len(columns)), np.zeros(classes, np.int64)
    )


def test_without_a_penalty_probabilities_are_the_shares() -> None:
    choices = _classes([0] * 6 + [1] * 3 + [2], 3)
    found = choices.probabilities(choices.fit(np.full(3, 1e-9)))
    np.testing.assert_allclose(found[:3], [0.6, 0.3, 0.1], atol=1e-4)
    assert choices.likelihood(choices.fit(np.full(3, 1e-9))) == pytest.approx(
        6 * np.log(0.6) + 3 * np.log(0.3) + np.log(0.1), abs=1e-6
    )


def test_a_great_penalty_leaves_equal_probabilities() -> None:
    choices = _classes([0] * 6 + [1] * 3 + [2], 3)
    np.testing.assert_allclose(choices.probabilities(choices.fit(np.full(3, 1e9))), 1 / 3, atol=1e-6)


def test_the_fit_has_no_gradient_left() -> None:
    """Of lists of several lengths, by differences of the penalised likelihood."""
    random = np.random.default_rng(2)
    sizes = random.integers(1, 5, 60)
    alternatives = int(sizes.sum())
    lengths = random.integers(0, 4, alternatives)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    columns, values = random.integers(0, 6, ends[-1]), random.normal(size=ends[-1])
    choices = Alternatives(sizes, random.integers(0, sizes), ends, columns, values, np.zeros(6, np.int64))
    weights = choices.fit(np.full(6, 0.7))

    def cost(w: np.ndarray) -> float:
        return 0.35 * float(w @ w) - choices.likelihood(w)

    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-4
        assert (cost(weights + step) - cost(weights - step)) / 2e-4 == pytest.approx(0, abs=1e-2)
    assert cost(weights) < cost(np.zeros(6))


def test_some_of_the_choices() -> None:
    choices = _classes([0, 1, 1, 2], 3)
    some = choices.some(np.array([True, False, True, False]))
    assert some.taken.tolist() == [0, 1] and some.sizes.tolist() == [3, 3]
    assert some.columns.tolist() == [0, 1, 2, 0, 1, 2] and some.ends.tolist() == list(range(7))


def test_the_minimum_of_a_bent_valley() -> None:
    matrix = np.diag([1.0, 100.0, 10000.0])
    found = minimum(lambda x: (float((x - 1) @ matrix @ (x - 1)) / 2, matrix @ (x - 1)), np.zeros(3), 1e-8)
    np.testing.assert_allclose(found, 1, atol=1e-7)


def test_the_data_choose_the_penalty_of_each_group() -> None:
    """One group has the class, the other noise; the penalties are a fixed point of MacKay's rule."""
    random, count = np.random.default_rng(4), 2000
    taken = (random.random(count) < 0.8).astype(int)
    columns = np.stack([np.tile([0, 1], count), 2 + random.integers(0, 20, 2 * count)], axis=1).ravel()
    groups = np.repeat([0, 1], [2, 20])
    ends = 2 * np.arange(2 * count + 1)
    choices = Alternatives(np.full(count, 2), taken, ends, columns, np.ones(len(columns)), groups)
    ridge, weights = choices.penalties()
    assert ridge[2] > 20 * ridge[0]
    assert set(ridge[2:]) == {ridge[2]}
    share = choices.probabilities(weights)
    assert share[1::2].mean() == pytest.approx(taken.mean(), abs=0.01)
    assert share[1::2].std() < 0.02
    curvature = np.bincount(columns, np.repeat(share * (1 - share), 2))[:2]
    assert ridge[0] == pytest.approx(np.sum(curvature / (curvature + ridge[0])) / np.sum(weights[:2] ** 2), rel=0.15)
