"""The loss estimate and its interval."""

import math

import numpy as np
import pytest

from hutch.active.estimate import LossSums, score_interval


def test_the_interval_solves_its_equation():
    sums = LossSums(1000, 50, 450, 1000, 9000)
    low, estimate, high = score_interval(sums)
    scale, z = 450 / 50, 1.6448536269514722
    for end in (low, high):
        assert (estimate - end) ** 2 == pytest.approx(z * z * end * scale / 1000, rel=1e-9)
    assert low < estimate < high


def test_what_cannot_be_said():
    assert all(math.isnan(x) for x in score_interval(LossSums()))
    assert score_interval(LossSums(covered=100)) == (0.0, 0.0, math.inf)
    low, estimate, high = score_interval(LossSums(1000, 0, 0, 1000, 9000))
    assert (low, estimate) == (0.0, 0.0) and 0 < high < 0.1  # no mistake among the labels bought
    assert score_interval(LossSums(100, 7, 0, 100, 0)) == (0.07, 0.07, 0.07)  # every label bought


def test_it_covers_a_known_loss_as_often_as_it_says():
    random, inside, errors = np.random.default_rng(4), 0, []
    for _ in range(400):
        wrong = random.random(2000) < 0.1
        chance = np.clip(random.lognormal(-2.5, 1, 2000), 0.02, 1)
        sums = LossSums(covered=2000)
        for k in np.flatnonzero(random.random(2000) < chance):
            sums = sums.add(float(chance[k]), float(wrong[k]))
        low, estimate, high = score_interval(sums)
        inside += low <= wrong.mean() <= high
        errors.append(estimate - wrong.mean())
    assert 0.85 <= inside / 400 <= 0.95
    assert abs(np.mean(errors)) < 2.5 * np.std(errors) / 20
