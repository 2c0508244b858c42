"""The loss estimate and its interval."""

import math

import numpy as np
import pytest

from hutch.active.estimate import LossSums, score_interval
from hutch.core.intervals import quantile


def test_the_interval_solves_its_equation():
    low, estimate, high = score_interval(LossSums(1000, 50, 450, 1100, 9900))
    everywhere = 9900 / 1100
    of_mistakes = (450 + everywhere**2) / (50 + everywhere)
    assert estimate == 50 / 1100
    z = quantile(0.9, (50 + everywhere) ** 2 / (450 + everywhere**2))
    for end in (low, high):
        variance = of_mistakes * end * (1 - end) + max(everywhere - of_mistakes, 0) * end**2
        assert (estimate - end) ** 2 == pytest.approx(z * z * variance / 1000, rel=1e-9)
    assert low < estimate < high


@pytest.mark.parametrize(("wrong", "labels", "examples"), [(20, 100, 1000), (3, 50, 200), (90, 100, 500), (0, 40, 400)])
def test_a_random_sample_has_the_interval_of_wilson(wrong, labels, examples):
    """With a correction for drawing from a finite number of examples."""
    chance = labels / examples
    sums = LossSums(covered=examples)
    for k in range(labels):
        sums = sums.add(chance, float(k < wrong))
    z, share = quantile(0.9, max((wrong + 1 - chance) / (1 - chance), 3)), wrong / labels
    part = z * z * (1 - chance) / labels
    middle = (share + part / 2) / (1 + part)
    reach = math.sqrt(part * share * (1 - share) + part**2 / 4) / (1 + part)
    assert score_interval(sums) == pytest.approx((middle - reach, share, middle + reach), abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_importance_has_no_unit(scale):
    plain, scaled = LossSums(covered=500), LossSums(covered=500 * scale)
    for k in range(60):
        chance = 0.05 + 0.9 * (k % 7) / 7
        plain, scaled = plain.add(chance, k % 5 == 0), scaled.add(chance, k % 5 == 0, scale)
    assert score_interval(scaled) == pytest.approx(score_interval(plain))


def test_costs_above_one_have_an_interval():
    low, estimate, high = score_interval(LossSums(100, 300, 500, 100, 200))
    assert 0 < low < estimate == 3 < high < math.inf


def test_what_cannot_be_said():
    assert all(math.isnan(x) for x in score_interval(LossSums()))
    assert score_interval(LossSums(covered=100)) == (0.0, 0.0, math.inf)
    low, estimate, high = score_interval(LossSums(1000, 0, 0, 1000, 9000))
    assert (low, estimate) == (0.0, 0.0) and 0 < high < 0.1  # no mistake among the labels bought
    assert score_interval(LossSums(100, 7, 0, 100, 0)) == (0.07, 0.07, 0.07)  # every label bought


@pytest.mark.slow
@pytest.mark.parametrize("where", ["anywhere", "asked", "spared"])
def test_it_covers_a_known_loss_as_often_as_it_says(where):
    """Mistakes are anywhere, mostly among what is likely to be asked for, or mostly among the rest."""
    random, inside, errors, widths = np.random.default_rng(4), 0, [], []
    for _ in range(1000):
        chance = np.clip(random.lognormal(-2.5, 1, 2000), 0.04, 1)
        tilt = {"anywhere": np.ones(2000), "asked": np.sqrt(chance), "spared": 1 / np.sqrt(chance)}[where]
        wrong = random.random(2000) < 0.1 * tilt / tilt.mean()
        asked = random.random(2000) < chance
        sums = LossSums(covered=2000)
        for k in np.flatnonzero(asked):
            sums = sums.add(float(chance[k]), float(wrong[k]))
        low, estimate, high = score_interval(sums)
        inside += low <= wrong.mean() <= high
        errors.append(estimate - wrong.mean())
        widths.append((high - low) / 2)
    assert 0.87 <= inside / 1000 <= 0.93
    assert abs(np.mean(errors)) < 3 * np.std(errors) / math.sqrt(1000)
    assert np.mean(widths) < 1.8 * np.std(errors)  # 1.645 of a normal estimate


def test_few_mistakes_do_not_make_it_sure():
    """The few mistakes among 130 labels are mostly those that were likely to be asked for."""
    random, inside = np.random.default_rng(5), 0
    chance = np.where(np.arange(450) % 5 == 0, 0.9, 0.12)
    for _ in range(1000):
        wrong = random.random(450) < np.where(chance > 0.5, 0.13, 0.033)
        sums = LossSums(covered=450)
        for k in np.flatnonzero(random.random(450) < chance):
            sums = sums.add(float(chance[k]), float(wrong[k]))
        low, _, high = score_interval(sums)
        inside += low <= wrong.mean() <= high
    assert 0.88 <= inside / 1000 <= 0.98
