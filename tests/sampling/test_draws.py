"""Draws have the chances that they say, and their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hutch.sampling import draws
from hutch.sampling.draws import choose, draw_by_lot, in_order, smallest


@pytest.mark.parametrize("rows", [2, 3, 100, draws.ROWS])
def test_draws_by_blocks_have_their_probabilities_and_their_number(rows, monkeypatch):
    monkeypatch.setattr(draws, "ROWS", rows)
    probabilities = np.array([1.0, 0.9, 0.5, 0.3, 0.2, 0.1])
    counts = np.zeros(6)
    for seed in range(3000):
        drawn = choose(probabilities, [seed])
        assert len(drawn) == 3 and (np.diff(drawn) > 0).all()
        counts[drawn] += 1
    assert np.abs(counts / 3000 - probabilities).max() < 0.03


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 40), st.integers(1, 10))
def test_the_smallest_by_blocks_are_the_smallest(scores, count, rows):
    values, before = np.array(scores, float), draws.ROWS
    try:
        draws.ROWS = rows
        found = smallest(values, min(count, len(values)))
    finally:
        draws.ROWS = before
    assert found.tolist() == sorted(np.argsort(values, kind="stable")[:count].tolist())


def test_draws_come_in_proportion_to_weights_and_say_their_chances():
    random, weights = np.random.default_rng(0), np.array([1.0, 2.0, 4.0])
    pairs = np.zeros((3, 3))
    for _ in range(4000):
        places, chances, least = draw_by_lot(weights, 2, random)
        left = weights.sum() - weights[places[0]]
        assert chances == pytest.approx([weights[places[0]] / 7, weights[places[1]] / left])
        assert (least <= chances + 1e-12).all()
        pairs[tuple(places)] += 1 / 4000
    wanted = np.outer(weights / 7, weights) / (7 - weights)[:, None]
    assert np.abs(pairs - wanted * (1 - np.eye(3))).max() < 0.03


def test_draws_along_an_order_have_their_chances_and_take_no_neighbours():
    chances, order, counts = np.array([0.5, 0.25, 0.75, 0.5]), np.array([3, 1, 2, 0]), np.zeros(4)
    random = np.random.default_rng(1)
    for _ in range(4000):
        found = in_order(chances, order, random)
        assert len(found) == 2 and set(found.tolist()) != {3, 1}
        counts[found] += 1
    assert np.abs(counts / 4000 - chances).max() < 0.03
