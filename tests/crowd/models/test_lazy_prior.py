import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from hutch.crowd.models.lazy_prior import clock, ghost_after, mean_of, squares_about_mean
from hutch.crowd.models.nominal_stream import (
    DISTANCES,
    GHOST,
    PRIOR_MEAN,
    SQUARES,
    advance,
    log_prior,
    move_worker,
    prior_time,
    read_worker,
)

mean_of, ghost_after, squares = mean_of.py_func, ghost_after.py_func, squares_about_mean.py_func


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.8, 1.0])
def test_clock_is_the_integral_of_the_steps(decay):
    expected, _ = quad(lambda u: 0.7 * (20 + u) ** -decay, 0, 300)
    assert clock(300.0, 0.7, 20.0, decay) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0, 1.5])
def test_the_prior_moves_by_the_steps_and_by_drift(decay):
    drift, items = 0.01, 50.0
    expected, _ = quad(lambda u: 0.7 * (20 + min(u, 100)) ** -decay / items + drift, 40, 300, points=[100])
    schedule = np.array([0.7, 20.0, decay, 2.0, items, drift, 0.02])
    assert prior_time(300.0, schedule) - prior_time(40.0, schedule) == pytest.approx(expected, rel=1e-9)


def test_without_initial_t_steps_are_summed_from_the_first_item_on():
    expected, _ = quad(lambda u: 0.7 * u**-1.5, 1, 300)
    assert clock(300.0, 0.7, 0.0, 1.5) - clock(1.0, 0.7, 0.0, 1.5) == pytest.approx(expected, rel=1e-9)


def flow(parameters, nu, elapsed):
    """The dense reference: every parameter moves to the mean of all, the mean kept at its optimum."""
    count = len(parameters)

    def velocity(_, x):
        return (nu + x.sum()) / (count + 1) - x

    return solve_ivp(velocity, (0, elapsed), parameters, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_untouched_parameters_follow_the_ghost(count):
    random = np.random.default_rng(count)
    start, nu, ghost = random.normal(2, 1, count), 1.0, 0.3
    mean = mean_of(ghost, (start - ghost).sum(), count, nu)
    assert mean == pytest.approx((nu + start.sum()) / (count + 1))
    later = ghost_after(ghost, mean, count, nu, 0.9)
    assert np.allclose(later + np.exp(-0.9) * (start - ghost), flow(start, nu, 0.9), atol=1e-10)


def test_sparse_touches_equal_the_dense_reference():
    """Random touches, jumps and newcomers: the stream's own functions against a dense integration of all parameters."""
    random = np.random.default_rng(0)
    slots, classes, now = 6, 2, 0.0
    prior = np.zeros((3, classes, classes))
    prior[GHOST] = PRIOR_MEAN * (1 - np.eye(classes))
    distance, touched = np.zeros((slots, classes, classes)), np.full(slots, -1.0)
    alpha, dense, workers = np.zeros((classes, classes)), {}, 0
    for _ in range(60):
        elapsed = random.exponential(0.2)
        now += elapsed
        advance(prior, workers, elapsed)
        if dense:
            moved = flow(np.array(list(dense.values())), PRIOR_MEAN, elapsed)
            dense = dict(zip(dense, moved, strict=True))
        slot = int(random.integers(slots))
        workers += read_worker(slot, now, prior, workers, distance, touched, alpha)
        dense.setdefault(slot, (PRIOR_MEAN + sum(dense.values())) / (len(dense) + 1))
        assert alpha[0, 1] == pytest.approx(dense[slot], abs=1e-9)
        jump = random.normal(0, 1)
        dense[slot] += jump
        move_worker(slot, prior, distance, jump * (1 - np.eye(classes)))
    values = np.array(list(dense.values()))
    mean = (PRIOR_MEAN + values.sum()) / (len(values) + 1)
    ghost, total = prior[GHOST, 0, 1], prior[DISTANCES, 0, 1]
    assert mean_of(ghost, total, workers, PRIOR_MEAN) == pytest.approx(mean, abs=1e-9)
    about = np.sum((values - mean) ** 2)
    assert squares(ghost, mean, workers, total, prior[SQUARES, 0, 1]) == pytest.approx(about, abs=1e-8)
    assert log_prior(prior, workers) == pytest.approx(-(about + (mean - PRIOR_MEAN) ** 2), abs=1e-8)


def test_a_newcomer_does_not_move_the_mean():
    before = mean_of(0.4, 2.5, 3, 1.0)
    assert mean_of(0.4, 2.5 + (before - 0.4), 4, 1.0) == pytest.approx(before)
