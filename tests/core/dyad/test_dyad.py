"""The dyadic arithmetic against independent oracles, and the invariants that make it importance aware."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from hutch.core import dyad
from hutch.core.dyad.curve import growth_
from hutch.core.errors import ConfigError

shared = Path(__file__).parents[3].parent / "shared"
golden = pytest.mark.skipif(not shared.is_dir(), reason="the golden values lie outside the repository")

LOSSES = ("hinge", "logistic", "squared", "quantile", "expectile", "poisson")
SMOOTH = ("logistic", "squared", "expectile", "poisson")


def moved_(a: Any, b: Any, shrink: float, grow: float) -> Any:
    """a and b after the step s whose `growth_` is given."""
    along, across = (a + b) * shrink, (a - b) * grow
    return a + (along + across), b + (along - across)


def slope(loss, p, y, tau):
    """F = dl/dp of the documented losses, in plain Python."""
    return {
        "hinge": lambda: -y if y * p < 1 else 0.0,
        "logistic": lambda: -y / (1 + np.exp(y * p)),
        "squared": lambda: p - y,
        "quantile": lambda: -tau if p < y else 1 - tau,
        "expectile": lambda: (tau if p < y else 1 - tau) * (p - y),
        "poisson": lambda: np.exp(p) - y,
    }[loss]()


def optimum(loss, y):
    """The prediction of least loss."""
    return {"hinge": y, "logistic": y * np.inf, "poisson": np.log(y) if y > 0 else -np.inf}.get(loss, y)


class Squared:
    """Squared error known by its derivative alone."""

    @staticmethod
    def derivative(p, y):
        return p - y


class Hinge:
    """Hinge known by its derivative alone: it jumps."""

    @staticmethod
    def derivative(p, y):
        return -y if y * p < 1.0 else 0.0


class Logistic:
    """Logistic known by its derivative alone: it has no optimum."""

    @staticmethod
    def derivative(p, y):
        return -y / (1.0 + np.exp(y * p))


STATES = [  # U, V, X, wx: usual, no linear part, a = b, a = -b, linear only, one part dwarfing the other
    (4.0, 0.3, 2.0, -0.5),
    (40.0, 1.5, 3.0, -10.0),
    (2.0, 1.0, 0.0, 0.25),
    (9.0, 0.0, 1.0, 0.0),
    (0.0, 5.0, 0.5, 1.0),
    (0.0, 0.0, 2.5, -1.5),
    (1e-8, 1e-3, 7.0, 2.0),
    (500.0, 1e-6, 1e-3, -3.0),
]
LABELS = {"hinge": (-1.0, 1.0), "logistic": (-1.0, 1.0), "poisson": (0.0, 3.0)}
CASES = [
    (loss, *state, y, importance)
    for loss in LOSSES
    for state in STATES
    for y in LABELS.get(loss, (-2.0, 0.7))
    for importance in (1e-3, 0.4, 30.0)
]


@pytest.mark.parametrize("U, V, X, wx", STATES)
def test_prediction_is_the_sum_of_its_parts(U, V, X, wx):
    s = np.linspace(-3, 3, 61)
    want = U / 4 * np.exp(-2 * s) - V / 4 * np.exp(2 * s) + wx - s * X
    np.testing.assert_allclose(dyad.prediction(s, U, V, X, wx), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("U, V, X, wx", STATES)
def test_inverse_finds_what_bisection_finds(U, V, X, wx):
    for s in (-2.0, -0.3, 1e-3, 0.9):
        y = float(dyad.prediction(s, U, V, X, wx))
        want = brentq(lambda t, y=y: dyad.prediction(t, U, V, X, wx) - y, -4, 4, xtol=1e-14)
        assert dyad.inverse(y, U, V, X, wx) == pytest.approx(want, rel=1e-7, abs=1e-9)


def test_what_no_step_reaches_is_infinitely_far():
    assert dyad.inverse(-1.0, 4.0, 0.0, 0.0, 0.0) == np.inf  # a = b, no linear part: p > 0
    assert dyad.inverse(1.0, 0.0, 4.0, 0.0, 0.0) == -np.inf
    assert dyad.importance_to(-1.0, "squared", -2.0, 1.0, 4.0, 0.0, 0.0, 0.0) == np.inf


@pytest.mark.parametrize("loss, U, V, X, wx, y, importance", CASES)
def test_step_spends_exactly_its_importance(loss, U, V, X, wx, y, importance):
    """E = ∫ ds / F(p(s)), by adaptive quadrature of another library; short of it only where the optimum stops it."""
    tau, eta = 0.3, 0.8
    s = dyad.step(loss, importance, y, eta, U, V, X, wx, tau)

    def integrand(t):
        return 1 / slope(loss, float(dyad.prediction(t, U, V, X, wx)), y, tau)

    best = optimum(loss, y)
    end = dyad.prediction(s, U, V, X, wx)
    if s == 0.0 or abs(end - best) < 1e-6 * (1 + abs(best)):
        early = dyad.prediction(0.99 * s, U, V, X, wx)  # at the optimum: the way there was cheaper than allowed
        assert s == 0.0 or quad(integrand, 0, 0.99 * s, epsrel=1e-10)[0] < eta * importance
        assert (early - best) * (dyad.prediction(0.0, U, V, X, wx) - best) >= 0
    else:
        spent, error = quad(integrand, 0, s, epsabs=0, epsrel=1e-12, limit=200)
        assert spent == pytest.approx(eta * importance, rel=max(1e-9, 4 * error / abs(spent)))


@pytest.mark.parametrize("loss, U, V, X, wx, y, importance", CASES)
def test_importance_to_undoes_step(loss, U, V, X, wx, y, importance):
    s = dyad.step(loss, importance, y, 0.5, U, V, X, wx, 0.3)
    target = float(dyad.prediction(s, U, V, X, wx))
    moved = abs(target - dyad.prediction(0.0, U, V, X, wx))
    if moved > 1e-8 * (U + V + abs(wx)) and abs(target - optimum(loss, y)) > 1e-6:
        assert dyad.importance_to(target, loss, y, 0.5, U, V, X, wx, 0.3) == pytest.approx(importance, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_importance_to_is_infinite_on_the_wrong_side_and_beyond_the_optimum(loss):
    y = 1.0
    p, best = dyad.prediction(0.0, *STATES[0]), optimum(loss, y)
    away = p - np.sign(best - p)
    assert dyad.importance_to(away, loss, y, 1.0, *STATES[0]) == np.inf
    if np.isfinite(best):
        assert dyad.importance_to(best + np.sign(best - p), loss, y, 1.0, *STATES[0]) == np.inf
    assert dyad.importance_to(p, loss, y, 1.0, *STATES[0]) == 0.0


@pytest.mark.parametrize("loss, same", [(Squared, "squared"), (Hinge, "hinge"), (Logistic, "logistic")])
@pytest.mark.parametrize("U, V, X, wx", STATES)
def test_the_derivative_alone_gives_the_same_steps(loss, same, U, V, X, wx):
    h = np.array([1e-4, 0.03, 0.7, 20.0])
    steps = dyad.step(loss, h, 1.0, 0.9, U, V, X, wx)
    np.testing.assert_allclose(steps, dyad.step(same, h, 1.0, 0.9, U, V, X, wx), rtol=1e-8)
    targets = dyad.prediction(0.5 * steps, U, V, X, wx)
    want = dyad.importance_to(targets, same, 1.0, 0.9, U, V, X, wx)
    np.testing.assert_allclose(dyad.importance_to(targets, loss, 1.0, 0.9, U, V, X, wx), want, rtol=1e-6)


@pytest.mark.parametrize("loss, U, V, X, wx, y, importance", CASES)
def test_fast_steps_are_good_to_three_per_cent(loss, U, V, X, wx, y, importance):
    exact = dyad.step(loss, importance, y, 0.8, U, V, X, wx, 0.3)
    fast = dyad.step(loss, importance, y, 0.8, U, V, X, wx, 0.3, dynamics="fast")
    assert fast == pytest.approx(exact, rel=3e-2)


@pytest.mark.parametrize("loss", ["squared", "expectile", "poisson"])
def test_a_fast_step_of_any_importance_stops_at_the_optimum(loss):
    random, label = np.random.default_rng(7), 3.0
    best = float(optimum(loss, label))
    for _ in range(200):
        U, V, X, wx = *(10 ** random.uniform(-2, 1, 3)), random.normal(0, 2)
        steps = dyad.step(loss, np.array([0.1, 1.0, 10.0, 1e3]), label, 0.8, U, V, X, wx, 0.3, dynamics="fast")
        before, after = dyad.prediction(0.0, U, V, X, wx), dyad.prediction(steps, U, V, X, wx)
        assert np.all((before - best) * (after - best) >= -1e-9 * (1 + abs(before - best)))


def test_scalars_and_arrays_broadcast():
    assert isinstance(dyad.step("hinge", 1.0, 1.0, 1.0, *STATES[0]), float)
    assert dyad.prediction(np.zeros((2, 1)), np.ones(3), 0.0, 1.0, 0.0).shape == (2, 3)


class WithMethod:
    def derivative(self, p, y):
        return p - y


@pytest.mark.parametrize(
    "loss, message", [("hing", "did you mean 'hinge'"), (3, "derivative"), (WithMethod(), "static in a class")]
)
def test_unknown_losses_are_refused(loss, message):
    with pytest.raises(ConfigError, match=message):
        dyad.step(loss, 1.0, 1.0, 1.0, *STATES[0])
    with pytest.raises(ConfigError, match="exact"):
        dyad.step("hinge", 1.0, 1.0, 1.0, *STATES[0], dynamics="slow")


# Properties

numbers = st.floats(-3.0, 3.0).map(lambda x: round(x, 3))
vectors = st.tuples(*[st.lists(numbers, min_size=3, max_size=3).map(np.array) for _ in range(4)])


def state_of(a, b, w, x):
    return np.sum((a + b) ** 2), np.sum((a - b) ** 2), x @ x, w @ x


def move(s, a, b, w, x):
    shrink, grow = growth_(s)
    a, b = moved_(a, b, shrink, grow)
    return a, b, w - s * x, x


@pytest.mark.parametrize("loss, tolerance", [("hinge", 1e-12), ("squared", 1e-9), ("logistic", 1e-9)])
@settings(max_examples=40, deadline=None)
@given(vectors, st.sampled_from([-1.0, 1.0]), st.floats(0.01, 5.0), st.integers(2, 6))
def test_n_updates_of_importance_h_over_n_equal_one_of_h(loss, tolerance, vectors, y, h, n):
    whole = move(dyad.step(loss, h, y, 0.5, *state_of(*vectors)), *vectors)
    parts = vectors
    for _ in range(n):
        parts = move(dyad.step(loss, h / n, y, 0.5, *state_of(*parts)), *parts)
    scale = 1 + max(np.abs(np.concatenate(vectors)).max(), np.abs(np.concatenate(whole)).max())
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


@settings(max_examples=40, deadline=None)
@given(vectors, st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_steps_form_a_group_that_conserves_a_squared_less_b_squared(vectors, s, t):
    a, b, *_ = vectors
    both, one = move(t, *move(s, *vectors)), move(s + t, *vectors)
    scale = 1 + np.abs(np.concatenate(one)).max() + np.abs(np.concatenate(move(s, *vectors))).max()
    for first, second in zip(both, one, strict=True):
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(one[0] ** 2 - one[1] ** 2, a**2 - b**2, rtol=0, atol=1e-13 * scale**2)
    assert dyad.prediction(s, *state_of(*vectors)) == pytest.approx(
        dyad.prediction(0.0, *state_of(*move(s, *vectors))), abs=1e-12 * scale**2
    )


@settings(max_examples=40, deadline=None)
@given(vectors, st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=5))
def test_the_prediction_falls_with_s(vectors, steps):
    predictions = dyad.prediction(np.sort(steps), *state_of(*vectors))
    assert np.all(np.diff(predictions) <= 1e-12 * (1 + np.abs(predictions).max()))


magnitudes = st.one_of(st.just(0.0), st.floats(-30.0, 30.0).map(lambda e: 10.0**e))
signs = st.sampled_from([-1.0, 1.0])


@settings(max_examples=50, deadline=None)
@given(st.tuples(*[magnitudes] * 7), signs, signs)
def test_no_input_makes_a_step_that_is_not_finite_or_crosses_the_optimum(values, left, right):
    U, V, X, wx, h, eta, label = values
    wx *= left
    a, b = np.sqrt(U) / 2 + np.sqrt(V) / 2, np.sqrt(U) / 2 - np.sqrt(V) / 2
    for loss in LOSSES:
        y = right if loss in ("hinge", "logistic") else label * (1.0 if loss == "poisson" else right)
        for dynamics in ("exact", "fast"):
            s = dyad.step(loss, h, y, eta, U, V, X, wx, 0.4, dynamics=dynamics)
            assert np.isfinite(s)
            assert np.all(np.isfinite(move(s, a, b, wx, 0.0)))
            with np.errstate(divide="ignore"):
                best = float(optimum(loss, y)) if y else np.nan
            before, after = (dyad.prediction(t, U, V, X, wx) for t in (0.0, s))
            if np.isfinite(best):
                tolerance = 1e-9 * (U + V + abs(wx) + abs(best) + abs(s) * X)
                assert (before - best) * (after - best) >= 0 or abs(after - best) <= tolerance
        importance = dyad.importance_to(label * left, loss, y, eta, U, V, X, wx, 0.4)
        assert importance >= 0


# Golden values


def column(rows, name):
    return np.array([float(row[name] or "nan") for row in rows])


def rows_of(kind):
    rows = [r for r in csv.DictReader((shared / "golden" / "dyadic.csv").read_text().splitlines()) if r["kind"] == kind]
    assert rows
    return rows, [column(rows, name) for name in ("U", "V", "X", "wx")]


@golden
def test_golden_predictions():
    rows, (U, V, X, wx) = rows_of("p")
    s, want = column(rows, "s_or_target"), column(rows, "out")
    tolerance = 4e-16 * (U / 4 * np.exp(-2 * s) + V / 4 * np.exp(2 * s) + abs(wx) + abs(s) * X)
    assert np.all(np.abs(dyad.prediction(s, U, V, X, wx) - want) <= tolerance)


@golden
def test_golden_inverses():
    rows, (U, V, X, wx) = rows_of("pinv")
    y, want = column(rows, "y"), column(rows, "out")
    got = dyad.inverse(y, U, V, X, wx)
    near = np.isfinite(want)
    assert np.array_equal(got[~near], want[~near])
    U, V, X, wx, y, want, got = (part[near] for part in (U, V, X, wx, y, want, got))
    K = U / 2 * np.exp(np.where(U > 0, -2 * want, 0)) + V / 2 * np.exp(np.where(V > 0, 2 * want, 0)) + X
    eps = np.finfo(float).eps
    assert np.all(np.abs(got - want) <= 8 * eps * (U / 4 + V / 4 + abs(wx) + abs(y)) / K + 4 * eps * abs(want))


@golden
@pytest.mark.parametrize("dynamics, tolerance", [("exact", 1e-11), ("fast", 3e-2)])
@pytest.mark.parametrize("loss", LOSSES)
def test_golden_steps(loss, dynamics, tolerance):
    rows, state = rows_of(f"step_{loss}")
    got = dyad.step(loss, column(rows, "h"), column(rows, "y"), column(rows, "eta"), *state, column(rows, "tau"),
                    dynamics=dynamics)  # fmt: skip
    np.testing.assert_allclose(got, column(rows, "out"), rtol=tolerance, atol=0)


@golden
@pytest.mark.parametrize("kind", [f"hmin_{loss}" for loss in LOSSES] + ["flip_hinge", "flip_logistic", "flip_squared"])
def test_golden_importances(kind):
    rows, state = rows_of(kind)
    loss, target = kind.split("_")[1], column(rows, "s_or_target")
    got = dyad.importance_to(target, loss, column(rows, "y"), column(rows, "eta"), *state, column(rows, "tau"))
    np.testing.assert_allclose(got, column(rows, "out"), rtol=1e-7, atol=0)


@golden
def test_golden_vectors():
    """Vectors under the change of variables a + 1, b + 1: from the coordinates to the coordinates after the step."""
    for line in (shared / "golden" / "dyadic_vectors.jsonl").read_text().splitlines():
        case = json.loads(line)
        a, b, w, x = (np.array(case[name]) for name in ("a", "b", "w", "x"))
        U, V, X = np.sum((a + b + 2) ** 2), np.sum((a - b) ** 2), x @ x
        s = dyad.step(case["loss"], case["h"], case["y"], case["eta"], U, V, X, w @ x - case["k"], case["tau"])
        shrink, grow = growth_(s)
        along, across = (a + b + 2) * shrink, (a - b) * grow
        scale = 4e-15 * (1 + max(*[abs(float(value)) for value in (0, *case["a1"], *case["w1"])]))
        np.testing.assert_allclose(a + along + across, np.array(case["a1"], float), rtol=1e-10, atol=scale)
        np.testing.assert_allclose(b + along - across, np.array(case["b1"], float), rtol=1e-10, atol=scale)
        np.testing.assert_allclose(w - s * x, np.array(case["w1"], float), rtol=1e-10, atol=scale)
