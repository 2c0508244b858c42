"""Draws have the chances that are stored."""

import numpy as np
import pytest

from hutch.benchmark.draws import draw, even_share


def test_questions_are_drawn_as_often_as_their_chances_say():
    random, often = np.random.default_rng(1), np.zeros(12)
    predictions, left = np.linspace(0.02, 0.98, 15), np.array([0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 14])
    for _ in range(4000):
        found = draw(left, predictions, 4, 0.2, random)
        assert len(found.drawn) == 4 == len(set(found.drawn.tolist()))
        often[np.searchsorted(left, found.drawn)] += 1
    spread = np.sqrt(predictions * (1 - predictions))[left]
    np.testing.assert_allclose(found.chance, 4 * (0.8 * spread / spread.sum() + 0.2 / 12))
    np.testing.assert_allclose(often / 4000, found.chance, atol=4 * 0.5 / np.sqrt(4000))
    assert np.array_equal(found.chances, found.chance[np.searchsorted(left, found.drawn)])


def test_several_models_are_drawn_for_together():
    p = np.array([[0.5, 0.01, 0.01], [0.01, 0.5, 0.01]])
    found = draw(np.arange(3), p, 1, 0.1, np.random.default_rng(0)).chance
    assert found[0] == pytest.approx(found[1]) and found[2] < found[0] / 2


def test_a_model_that_is_nearly_always_right_is_drawn_evenly():
    mixed, one_wrong = np.tile([0.0, 1.0], 50), np.append(np.ones(99), 0.0)
    assert even_share(mixed[None]) == 0.1
    assert even_share(one_wrong[None]) == pytest.approx(10 / 12)
    assert even_share(np.array([mixed, one_wrong])) == pytest.approx(10 / 12)
