"""Means from few outcomes: the peer, closed forms, coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from scipy.stats import t as student

from hutch.core.intervals import chernoff, quantile
from hutch.estimate.means import every_look, mean_of_all
from hutch.estimate.stack import RIDGE, cross_fitted


@pytest.mark.parametrize("freedom", [5, 20, 200])
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99])
def test_quantiles_are_students(confidence, freedom):
    assert quantile(confidence, freedom) == pytest.approx(student.ppf(0.5 + confidence / 2, freedom), rel=5e-3)


@pytest.mark.parametrize(("right", "n"), [(0, 5), (1, 2), (7, 20), (99, 100)])
def test_without_predictions_it_is_wilsons(right, n):
    """But for Student's quantile, and for drawing from a finite number of items."""
    y = np.arange(n) < right
    found = mean_of_all(y.astype(float), np.arange(n), np.zeros(10**6))
    assert (found.estimate, found.effective) == pytest.approx((right / n, n)) and (found.power, found.labelled) == (
        0,
        n,
    )
    z2 = quantile(0.95, n + 1) ** 2
    ends = np.roots([1 + z2 / n, -2 * right / n - z2 / n, (right / n) ** 2])
    assert [found.low, found.high] == pytest.approx(sorted(ends.real), abs=1e-5)
    half = mean_of_all(y.astype(float), np.arange(n), np.zeros(2 * n))
    assert half.deviation == pytest.approx(found.deviation * np.sqrt(0.5), rel=1e-4)


def test_the_variance_by_its_formula():
    """Two more items, one at each end, of the mean prediction, that weigh 1134 / 130."""
    y, f = np.array([2.0, 4, 5, 3]), np.array([1.0, 3, 5.5, 4])
    chance = np.array([0.1, 0.5, 0.2, 1.0])
    everything = np.append(f, np.full(20, 3.0))
    found = mean_of_all(y, np.arange(4), everything, chance, ends=(1, 5))
    share = (1 / chance) / np.sum(1 / chance)
    centre = share @ f
    power = share @ ((f - centre) * (y - share @ y)) / (share @ (f - centre) ** 2)
    assert found.power == pytest.approx(power) and 0 < power < 1
    assert found.estimate == pytest.approx(power * everything.mean() + share @ (y - power * f))
    w = np.append(1 / chance, [1134 / 130] * 2)
    error = np.append(y, [1, 5]) - power * np.append(f, [centre, centre])
    level = w @ error / w.sum()
    variance = np.sum(w * (w - 1) * (error - level) ** 2) / w.sum() / np.sum(1 / chance)
    assert found.deviation == pytest.approx(np.sqrt(variance))
    assert found.effective == pytest.approx(1 / np.sum(share**2))
    freedom = np.sum(chance**-2.0) ** 2 / np.sum(chance**-4.0) + 1
    at = w @ np.append(y, [1, 5]) / w.sum()
    spread = quantile(0.95, freedom) ** 2 * variance / ((at - 1) * (5 - at))
    for end in (found.low, found.high):
        bounded = end in (pytest.approx((y.sum() + 20) / 24), pytest.approx((y.sum() + 100) / 24))
        assert bounded or (found.estimate - end) ** 2 == pytest.approx(spread * (end - 1) * (5 - end))


def test_all_outcomes_leave_no_doubt():
    y = np.random.default_rng(0).normal(size=30)
    ends = (y.min(), y.max())
    found = mean_of_all(y, np.arange(30), np.random.default_rng(1).normal(size=30), ends=ends)
    assert found.estimate == pytest.approx(y.mean()) and found.half_width == pytest.approx(0, abs=1e-12)
    certain = mean_of_all(y, np.arange(30), np.zeros(30), np.ones(30), ends=ends)
    assert certain.estimate == pytest.approx(y.mean()) and certain.half_width == 0


def test_no_labels_leave_the_whole_range():
    found = mean_of_all(np.zeros(0), np.zeros(0, np.int64), np.zeros(5), ends=(-1, 3))
    assert (found.estimate, found.low, found.high, found.labelled, found.effective) == (1, -1, 3, 0, 0)


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 40), st.integers(0, 5), st.booleans())
def test_no_interval_is_empty_or_leaves_what_is_possible(outcomes, more, seed, always):
    y, n = np.array(outcomes, float), len(outcomes)
    predicted = np.random.default_rng(seed).normal(size=n + more)
    found = mean_of_all(y, np.arange(n), predicted, expected=20 if always else None)
    assert y.sum() / (n + more) <= found.low < found.high <= (y.sum() + more) / (n + more)
    assert found.low <= found.estimate <= found.high


def test_outcomes_that_are_doubted_bound_nothing():
    half = np.full(20, 0.5)
    found = mean_of_all(half, np.arange(20), half, doubt=half / 2)
    assert found.low < 0.45 and found.high > 0.55


def test_doubt_adds_to_the_variance():
    y, places, f = np.array([0.2, 0.9, 0.4, 0.6]), np.arange(4), np.zeros(100)
    plain, doubted = mean_of_all(y, places, f), mean_of_all(y, places, f, doubt=y * (1 - y))
    assert doubted.deviation**2 - plain.deviation**2 == pytest.approx(np.mean(y * (1 - y)) / 4)
    chance = np.array([0.1, 0.5, 0.2, 1.0])
    plain, doubted = (mean_of_all(y, places, f, chance, doubt=doubt) for doubt in (None, y * (1 - y)))
    wanted = np.sum(y * (1 - y) / chance**2) / np.sum(1 / chance) ** 2
    assert doubted.deviation**2 - plain.deviation**2 == pytest.approx(wanted)


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_times_scales_an_interval(factor, plus):
    found = mean_of_all(np.array([0.0, 1, 1]), np.arange(3), np.zeros(9))
    scaled = found.times(factor, plus)
    assert scaled.half_width == pytest.approx(factor * found.half_width)
    assert scaled.estimate == pytest.approx(factor * found.estimate + plus)


@pytest.mark.parametrize("unequal", [False, True], ids=["alike", "drawn"])
def test_coverage_and_bias(unequal):
    random = np.random.default_rng(7)
    held, errors, width, alone = [], [], [], []
    for _ in range(300):
        truth = random.random(1000) < 0.4
        predicted = np.clip(0.25 + 0.5 * truth + 0.2 * random.normal(size=1000), 0, 1)
        chance = np.clip(0.05 + 0.25 * (np.abs(predicted - 0.5) < 0.2), 0, 1)
        places = np.flatnonzero(random.random(1000) < chance) if unequal else random.permutation(1000)[:120]
        outcomes = truth[places].astype(float)
        p = chance[places] if unequal else None
        found = mean_of_all(outcomes, places, predicted, p)
        held.append(found.low <= truth.mean() <= found.high)
        errors.append(found.estimate - truth.mean())
        width.append(found.half_width)
        alone.append(mean_of_all(outcomes, places, np.zeros(1000), p).half_width)
    assert 0.91 < np.mean(held) < 0.985
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(300)
    assert np.mean(width) < 0.85 * np.mean(alone)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_an_interval_of_every_look_holds_at_every_look(rate):
    random = np.random.default_rng(3)
    looks, held, single = [1, 2, 3, 5, 7, 10, 15, *range(20, 400, 20)], 0, 0
    for _ in range(200):
        y = (random.random(400) < rate).astype(float)
        plain, wide = (
            [mean_of_all(y[:n], np.arange(n), np.zeros(10**4), expected=expected) for n in looks]
            for expected in (None, 100)
        )
        single += all(each.low <= rate <= each.high for each in plain)
        held += all(each.low <= rate <= each.high for each in wide)
    assert held / 200 >= 0.95 > single / 200 + 0.05


@pytest.mark.parametrize(("labelled", "expected", "confidence"), [(40, 200, 0.95), (300, 100, 0.9), (1, 1, 0.99)])
def test_the_reach_of_every_look_by_its_formula(labelled, expected, confidence):
    alpha, n = 1 - confidence, labelled
    rho2 = (-2 * np.log(alpha) + np.log(-2 * np.log(alpha) + 1)) / expected
    width = np.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * np.log(np.sqrt(n * rho2 + 1) / alpha))
    assert every_look(n, confidence, expected) == pytest.approx(width * np.sqrt(n))


def test_the_first_looks_at_a_rare_class_are_wide():
    """One of one: Wilson's interval begins at .022, and would be wrong for a class of 2 % once in fifty."""
    found = mean_of_all(np.ones(1), np.zeros(1, np.int64), np.zeros(1000), expected=50)
    assert found.low < 0.002 and found.high == 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_bounds_by_divergence_solve_their_equation(share):
    low, high = chernoff(10 * share - 5, 100 * 0.24 / 30, 1.0, (-5, 5), 2.5)
    for end in ((low + 5) / 10, (high + 5) / 10):
        kl = rel_entr([share, 1 - share], [end, 1 - end]).sum()
        assert kl == pytest.approx(2.5**2 / 2 / 30) or end in (0, 1)
    assert (low > -5) == (share > 0) and (high < 5) == (share < 1)


def test_an_item_that_weighs_two_counts_as_two():
    """Four items, so that each fold holds one: the fit to the others, by hand."""
    x, y, w = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0.2, 0.1, 0.9, 0.4]), np.array([1.0, 3.0, 2.0, 2.0])
    found = cross_fitted(x, y, np.arange(4), w)
    z = (x - x.mean()) / x.std()
    for left_out in range(4):
        used = np.arange(4) != left_out
        rows, labels = np.repeat(z[used], w[used].astype(int), axis=0), np.repeat(y[used], w[used].astype(int))
        moved = rows - rows.mean()
        weigh = 1 / w.mean()  # the ridge is in outcomes of mean weight
        slope = weigh * (moved[:, 0] @ labels) / (weigh * np.sum(moved**2) + RIDGE)
        wanted = labels.mean() + slope * (z[left_out, 0] - rows.mean())
        assert found[left_out] == pytest.approx(wanted)


def test_no_prediction_has_seen_its_own_outcome():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(60, 3)), random.normal(size=40)
    base = cross_fitted(x, y, np.arange(40))
    for place in (0, 17):
        changed = y.copy()
        changed[place] += 100.0
        found = cross_fitted(x, changed, np.arange(40))
        assert found[place] == base[place] and not np.allclose(found[40:], base[40:])


def test_missing_features_are_the_mean():
    x = np.array([[0.0], [1.0], [np.nan], [0.5]] * 10)
    found = cross_fitted(x, x[[0, 1, 3, 4, 5, 7, 8, 9, 11], 0], np.array([0, 1, 3, 4, 5, 7, 8, 9, 11]))
    assert found[14] == pytest.approx(found[15], abs=1e-9)
    assert np.all(cross_fitted(np.zeros((9, 0)), np.ones(5), np.arange(5)) == 0)


def test_predictions_that_point_the_wrong_way_are_left_out():
    y = np.arange(40) % 2.0
    found = mean_of_all(y, np.arange(40), np.concatenate([1 - y, np.full(400, 0.3)]))
    assert found.power == 0 and found.estimate == pytest.approx(y.mean())
