"""L-BFGS over passes: the minimum that it finds, its formulas in float64, and where it ends."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.core.run.passes import Holdout, run_passes
from hutch.core.run.progress import NO_ROWS, Progress
from hutch.vw.main import run


def rows(count=80, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)).astype(np.float32)
    return X, (X @ [1, -2, 0.5] + random.normal(size=count) / 5).astype(np.float32)


def chain_of(constant=False, **parameters):
    layers = [{"lbfgs": {"loss": "classic", "min_prediction": -99.0, "max_prediction": 99.0} | parameters}]
    return Chain.from_config({"chain": layers, "input": {"constant": constant}, "weights": {"bits": 8}})


def steps_of(chain, X, y, passes):
    found = []
    chain.layers[-1].on_step = found.append
    chain.learn(X, y, passes=passes)
    return found


def weights_of(chain):
    return chain.predict(np.eye(3, dtype=np.float32))


@pytest.mark.parametrize("memory", [0, 1, 15])
@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_it_finds_the_minimum(memory, l2):
    X, y = rows()
    chain = chain_of(memory=memory, l2=l2, tolerance=1e-7)
    chain.learn(X, y, passes=60)
    best = np.linalg.solve(2 * X.T @ X + l2 * np.eye(3), 2 * X.T @ y)
    np.testing.assert_allclose(weights_of(chain), best, atol=2e-4)
    assert chain.last_run.examples < 60 * len(X)


def test_the_first_step_by_its_formula():
    """Down the gradient, scaled by the second derivatives, as far as the curvature along it says."""
    X, y = rows()
    h, l2, steps = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y)), 2.0, []
    chain = chain_of(l2=l2)
    chain.layers[-1].on_step = steps.append
    chain.learn(X, y, h, passes=2)
    gradient, hessian = -2 * X.T @ (h * y), 2 * X.T @ (h[:, None] * X) + l2 * np.eye(3)
    direction = -gradient / np.diag(hessian)
    curvature = direction @ hessian @ direction
    length = -(gradient @ direction) / curvature
    np.testing.assert_allclose(weights_of(chain), length * direction, rtol=1e-5)
    (step,) = steps
    assert step.loss == pytest.approx(float((h * y * y).sum() / h.sum()), rel=1e-5)
    assert step.gradient == pytest.approx(float(gradient @ gradient) / h.sum() ** 2, rel=1e-5)
    assert step.scaled_gradient == pytest.approx(-float(gradient @ direction) / h.sum(), rel=1e-5)
    assert (step.length, step.direction) == pytest.approx((length, direction @ direction), rel=1e-5)
    assert step.curvature == pytest.approx(float(curvature) / h.sum(), rel=1e-5)


def test_the_second_direction_by_the_formula_of_bfgs():
    """H after one pair, from the scaled start, by the textbook's two updates."""
    X, y = rows()
    start, gradients, points = np.diag(1 / np.diag(2 * X.T @ X)), [], []
    for passes in (2, 3):
        chain = chain_of()
        if passes == 2:
            points.append(np.zeros(3))
        chain.learn(X, y, passes=passes)
        points.append(weights_of(chain).astype(np.float64))
    for w in points[:2]:
        gradients.append(2 * X.T @ (X @ w - y))
    s, dy = points[1] - points[0], gradients[1] - gradients[0]
    rho = 1 / (s @ dy)
    H = start * (s @ dy) / (dy @ start @ dy)
    left = np.eye(3) - rho * np.outer(s, dy)
    H = left @ H @ left.T + rho * np.outer(s, s)
    np.testing.assert_allclose(points[2] - points[1], -H @ gradients[1], rtol=2e-3, atol=1e-6)


def test_a_step_too_far_is_halved():
    """By logistic loss on data that a line parts, the parabola of the first step reaches beyond the minimum."""
    X, y = rows(30, 3)
    chain = chain_of(loss="logistic", l2=1e-3)
    found = steps_of(chain, X, np.sign(y), 30)
    revised = [step for step in found if step.revised]
    assert revised
    for step in revised:
        assert step.part == 0.5
    assert found[-1].loss < found[0].loss / 3


def test_scales_that_are_forgotten_end_the_search_as_in_vw():
    X, y = rows()
    chain = chain_of(keep_scales=False)
    chain.learn(X, y, passes=10)
    assert chain.last_run.examples == 3 * len(X) and chain.layers[-1].end == "not convex"


def test_labels_without_a_slope_end_it():
    X, _ = rows()
    chain = chain_of()
    chain.learn(X, np.zeros(len(X), np.float32), passes=10)
    assert chain.layers[-1].end == "flat" and not chain.weights.any()


def test_the_constant_is_regularised_unless_told_otherwise():
    X, y = rows()
    ends = {}
    for regularized in (True, False):
        chain = chain_of(constant=True, l2=1e5, regularize_constant=regularized, tolerance=1e-9)
        chain.learn(X, y + 3, passes=80)
        ends[regularized] = float(chain.predict(np.zeros((1, 3), np.float32))[0])
    assert abs(ends[True]) < 0.1 and ends[False] == pytest.approx(float(np.mean(y + 3)), abs=1e-2)


@pytest.mark.filterwarnings("ignore:lbfgs")
def test_passes_by_hand_are_those_of_a_run():
    X, y = rows()
    one, other = chain_of(), chain_of()
    one.learn(X, y, passes=6)
    for _ in range(6):
        other.learn(X, y)
        other.end_pass()
    other.layers[-1].forget_search()
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.filterwarnings("ignore:lbfgs")
def test_a_pass_in_the_middle_of_a_search_is_resumed_exactly(tmp_path):
    X, y = rows()
    one, other = chain_of(memory=3), chain_of(memory=3)
    for _ in range(6):
        one.learn(X, y)
        one.end_pass()
        other.learn(X[:30], y[:30])
        other.save(tmp_path / "model")
        other = Chain.load(tmp_path / "model")
        other.learn(X[30:], y[30:])
        other.end_pass()
        other.save(tmp_path / "model")
        other = Chain.load(tmp_path / "model")
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.weights[:, 0].any()


def test_nothing_of_a_search_is_left():
    X, y = rows()
    chain = chain_of()
    chain.learn(X, y, passes=4)
    assert not chain.weights[:, 1:].any()
    assert not any(array.any() for array in chain.layers[-1].saved().values())


def test_an_interrupted_pass_counts_for_nothing():
    X, y = rows()
    chain, other, seen = chain_of(), chain_of(), []

    def stopped():
        seen.append(1)
        return len(seen) == 4

    run_passes(chain, list(chain.batches(X, y)), Progress(chain, NO_ROWS), passes=9, stopped=stopped)
    other.learn(X, y, passes=3)
    np.testing.assert_array_equal(chain.weights, other.weights)


def test_the_best_pass_on_held_out_examples_is_kept():
    X, y = rows(40)
    chain = chain_of(tolerance=0.0)
    holdout = Holdout(period=4, patience=2, keeps_last=True)
    done = run_passes(
        chain, list(chain.batches(X, y)), Progress(chain, NO_ROWS, holdout=True), passes=40, holdout=holdout
    )
    assert 2 < done.passes < 40
    kept = np.mean((chain.predict(X[3::4]) - y[3::4]) ** 2)
    assert kept <= done.best_holdout * 1.5


def test_one_pass_is_refused_or_doubted(tmp_path, capsys):
    X, y = rows()
    with pytest.warns(UserWarning, match="nothing is learned before a pass ends"):
        chain_of().learn(X, y)
    (tmp_path / "data").write_text("1 |a b\n-1 |a c\n")
    with pytest.raises(UsageError, match="--passes: got 1, wanted 2 or more: 'lbfgs' learns at the end of passes"):
        run(["-d", str(tmp_path / "data"), "--bfgs"])
    with pytest.raises(UsageError, match="got --bfgs and --conjugate_gradient, wanted one of them"):
        run(["-d", str(tmp_path / "data"), "--bfgs", "--conjugate_gradient", "--passes", "3"])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "expectile", "classic"])
def test_second_derivatives_are_the_slopes_of_the_first(loss):
    """The curvature along the first direction, against differences of the gradient."""
    X, y = rows(20, 5)
    y = {"logistic": np.sign(y), "poisson": np.abs(y)}.get(loss, y)
    step = steps_of(chain_of(loss=loss, min_prediction=-99.0, max_prediction=99.0), X, y, 2)[0]
    chain, far = chain_of(loss=loss), 1e-2
    record = chain.layers[-1].context.loss(chain.layers[-1].parameters.loss)
    slopes = {
        "squared": lambda p: 2 * (p - y), "classic": lambda p: 2 * (p - y), "poisson": lambda p: np.exp(p) - y,
        "logistic": lambda p: -y / (1 + np.exp(y * p)), "expectile": lambda p: 2 * (p - y) * np.where(y < p, 0.5, 0.5),
    }  # fmt: skip
    assert record is not None
    gradient = X.T @ slopes[loss](np.zeros(len(y)))
    second = (slopes[loss](np.full(len(y), far)) - slopes[loss](np.full(len(y), -far))) / (2 * far)
    direction = -gradient / ((X * X).T @ second)
    assert step.curvature == pytest.approx(float((X @ direction) ** 2 @ second) / len(y), rel=1e-3)
    assert math.isfinite(step.length)
