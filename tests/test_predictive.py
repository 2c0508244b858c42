"""Deviations and intervals of `HutchRegressor`: against the formula, and how many targets they hold."""

import numpy as np
import pandas as pd
import pytest

from hutch.core.conformal import reach_of
from hutch.sklearn import HutchRegressor


def rows(seed, count=400):
    """A trend, a walk and noise, as they come in time."""
    random = np.random.default_rng(seed)
    X = np.column_stack([np.arange(count) * 2.0, np.cumsum(random.normal(size=count)), random.normal(size=count)])
    return X.astype(np.float32), 500 + X @ [0.5, 3.0, -2.0] + 4 * random.normal(size=count)


def test_deviations_are_those_of_the_posterior():
    X, y = rows(0)
    model = HutchRegressor()
    for start in range(0, 400, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    predictions, deviations = model.predict(X, return_std=True)
    away = X.astype(float) - X.mean(axis=0, dtype=float)
    Z, found = away / away.std(axis=0), []
    for reach in (10, 100, 1000, 10_000):
        K = np.eye(400) + Z @ Z.T * (2 * reach / 3)
        quadratic = (y - y.mean()) @ np.linalg.solve(K, y - y.mean())
        found.append((-0.5 * np.linalg.slogdet(K)[1] - 199.5 * np.log(quadratic), 3 / (2 * reach)))
    left = away.T @ away + max(found)[1] * np.diag(away.std(axis=0) ** 2)
    moment = away.T @ (y - y.mean())
    fitted = y.mean() + away @ np.linalg.solve(left, moment)
    noise = np.sum((y - fitted) ** 2) / (399 - np.trace(np.linalg.solve(left, away.T @ away)))
    spread = np.sum(away * np.linalg.solve(left, away.T).T, axis=1)
    np.testing.assert_allclose(deviations, np.sqrt(noise * (1 + 1 / 400 + spread)), rtol=1e-5)
    np.testing.assert_array_equal(predictions, model.predict(X))


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("learned", [12, 200])
def test_intervals_hold_as_many_targets_as_they_say(level, learned):
    held = []
    for seed in range(60):
        X, y = rows(seed)
        order = np.random.default_rng(seed).permutation(400)
        X, y = X[order], y[order]
        interval = HutchRegressor().partial_fit(X[:learned], y[:learned]).predict_interval(X[200:], level)
        held.append(np.mean((interval[:, 0] <= y[200:]) & (y[200:] <= interval[:, 1])))
    assert np.mean(held) == pytest.approx(level, abs=0.04)


def test_intervals_are_as_wide_as_earlier_predictions_were_wrong():
    """Each row is predicted before it is learned, and its error is taken in units of what the row leaves uncertain."""
    X, y = rows(3, 120)
    model, sizes = HutchRegressor(), []
    for k in range(120):
        if k:
            found, deviation = model.predict(X[k : k + 1], return_std=True) if k > 1 else (model.predict(X[:1]), [1.0])
            noise = model.chain_.layers[-1].numbers_posterior().noise if k > 1 else 1.0
            scale = np.sqrt(noise) * model._target.scale
            sizes.append(abs(y[k] - found[0]) * scale / deviation[0] if k > 1 else np.nan)
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    half = np.diff(model.predict_interval(X, 0.9), axis=1)[:, 0] / 2
    deviations = model.predict(X, return_std=True)[1]
    noise = np.sqrt(model.chain_.layers[-1].numbers_posterior().noise) * model._target.scale
    reach = half / (deviations / noise)
    np.testing.assert_allclose(reach, reach[0], rtol=1e-6)
    assert reach[0] == pytest.approx(reach_of(np.array(sizes[1:]), 0.9), rel=0.1)


def test_intervals_follow_a_stream_that_changes():
    random = np.random.default_rng(4)
    X = random.normal(size=(1500, 4))
    y = X @ [1, 2, 3, 4] + np.where(np.arange(1500) < 700, 1.0, 5.0) * random.standard_t(3, size=1500)
    model, held = HutchRegressor(), []
    for start in range(0, 1500, 10):
        part = slice(start, start + 10)
        if start >= 100:
            low, high = model.predict_interval(X[part], 0.9).T
            held += ((low <= y[part]) & (y[part] <= high)).tolist()
        model.partial_fit(X[part], y[part])
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)
    assert np.mean(held[600:900]) > 0.8


def test_intervals_of_more_words_than_places():
    random = np.random.default_rng(5)
    words = random.integers(600, size=4000)
    frame = pd.DataFrame({"word": [f"w{k}" for k in words], "n": random.normal(size=4000)})
    y = words % 7 + frame["n"].to_numpy() + random.normal(size=4000)
    low, high = HutchRegressor().fit(frame[:3000], y[:3000]).predict_interval(frame[3000:], 0.9).T
    assert np.mean((low <= y[3000:]) & (y[3000:] <= high)) == pytest.approx(0.9, abs=0.04)
    unknown = frame[3000:3010].assign(word="never met")
    known = frame[3000:3010].assign(word="w1")
    model = HutchRegressor().fit(frame[:3000], y[:3000])
    assert np.all(model.predict(unknown, return_std=True)[1] > model.predict(known, return_std=True)[1])


def test_words_and_missing_cells_have_deviations():
    X, y = rows(1)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["word"] = np.array(list("uvw"))[np.arange(400) % 3]
    frame.loc[::5, "c"] = np.nan
    model = HutchRegressor().fit(frame, y + np.arange(400) % 3)
    deviations = model.predict(frame, return_std=True)[1]
    assert 3.5 < deviations.min() < deviations.max() < 5
    assert np.all(deviations[frame["c"].isna()] < 5)
    other = frame[:3].assign(word="unknown")
    assert np.all(model.predict(other, return_std=True)[1] > deviations[:3])


def test_refuses_models_that_do_not_know():
    X, y = rows(2)
    with pytest.raises(ValueError, match="deviations and intervals: this model keeps no moments"):
        HutchRegressor(loss="quantile").fit(X, y).predict(X, return_std=True)
    with pytest.raises(ValueError, match="deviations and intervals: this model keeps no moments"):
        HutchRegressor().partial_fit(X[:1], y[:1]).predict_interval(X)
    with pytest.raises(ValueError, match="level: got 90, wanted a number between 0 and 1"):
        HutchRegressor().fit(X, y).predict_interval(X, 90)
