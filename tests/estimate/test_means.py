"""Means from few outcomes: the peer, closed forms, coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from hutch.estimate.means import Interval, anytime, mean_of_all, prediction_powered, quantile
from hutch.estimate.stack import RIDGE, cross_fitted


def drawn(seed, n=120, more=900, noise=0.4):
    random = np.random.default_rng(seed)
    truth = random.normal(size=n + more)
    predicted = truth + noise * random.normal(size=n + more) + 0.3
    return truth[:n], predicted[:n], predicted[n:]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("power", [None, 1.0, 0.4])
def test_equals_ppi_python(seed, power):
    ppi = pytest.importorskip("ppi_py", reason="pip install ppi-python")
    outcomes, predicted, others = drawn(seed)
    found = prediction_powered(outcomes, predicted, others, 0.9, power)
    low, high = ppi.ppi_mean_ci(outcomes, predicted, others, alpha=0.1, lam=power)
    assert found.low == pytest.approx(float(low[0]), abs=1e-8)
    assert found.high == pytest.approx(float(high[0]), abs=1e-8)
    estimate = ppi.ppi_mean_pointestimate(outcomes, predicted, others, lam=power)
    assert found.estimate == pytest.approx(float(np.ravel(estimate)[0]), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_prediction_powered_by_its_formula(seed):
    y, f, g = drawn(seed)
    everything = np.concatenate([f, g])
    power = np.cov(y, f, ddof=0)[0, 1] / ((1 + len(y) / len(g)) * np.var(everything, ddof=1))
    found = prediction_powered(y, f, g)
    assert found.power == pytest.approx(power)
    assert found.estimate == pytest.approx(power * g.mean() + np.mean(y - power * f))
    deviation = np.sqrt(power**2 * g.var() / len(g) + np.var(y - power * f) / len(y))
    assert found.half_width == pytest.approx(1.959963984540054 * deviation)


@pytest.mark.parametrize("freedom", [5, 20, 200])
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99])
def test_quantiles_are_students(confidence, freedom):
    assert quantile(confidence, freedom) == pytest.approx(student.ppf(0.5 + confidence / 2, freedom), rel=5e-3)


def test_without_predictions_it_is_the_mean_of_a_sample():
    y = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])
    found = mean_of_all(y, np.arange(8), np.zeros(40))
    assert (found.estimate, found.power, found.total, found.labelled) == (y.mean(), 0.0, 40, 8)
    assert found.deviation == pytest.approx(np.sqrt(y.var(ddof=1) / 8 * (1 - 8 / 40)))


def test_all_outcomes_leave_no_doubt():
    y = np.random.default_rng(0).normal(size=30)
    found = mean_of_all(y, np.arange(30), np.random.default_rng(1).normal(size=30))
    assert found.estimate == pytest.approx(y.mean()) and found.half_width == pytest.approx(0, abs=1e-12)
    certain = mean_of_all(y, np.arange(30), np.zeros(30), np.ones(30))
    assert certain.estimate == pytest.approx(y.mean()) and certain.half_width == 0


def test_nothing_is_known_of_nothing():
    found = mean_of_all(np.zeros(0), np.zeros(0, np.int64), np.zeros(5))
    assert np.isnan(found.estimate) and found.labelled == 0


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


def test_an_interval_of_every_look_holds_at_every_look():
    random = np.random.default_rng(3)
    looks, held, single = range(40, 400, 20), 0, 0
    for _ in range(200):
        y = random.normal(size=400)
        intervals = [mean_of_all(y[:n], np.arange(n), np.zeros(100_000)) for n in looks]
        single += all(each.low <= 0 <= each.high for each in intervals)
        wide = [anytime(each, 0.95, 200, y[:n].std()) for each, n in zip(intervals, looks, strict=True)]
        held += all(each.low <= 0 <= each.high for each in wide)
    assert held / 200 >= 0.95 > single / 200 + 0.05


@pytest.mark.parametrize(("labelled", "expected", "confidence"), [(40, 200, 0.95), (300, 100, 0.9), (1, 1, 0.99)])
def test_the_width_of_every_look_by_its_formula(labelled, expected, confidence):
    alpha, n = 1 - confidence, labelled
    rho2 = (-2 * np.log(alpha) + np.log(-2 * np.log(alpha) + 1)) / expected
    wanted = 0.7 * np.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * np.log(np.sqrt(n * rho2 + 1) / alpha))
    found = anytime(Interval(0.4, 0.3, 0.5, 0.1, labelled, 1000), confidence, expected, 0.7)
    assert found.half_width == pytest.approx(wanted) and found.estimate == 0.4


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
