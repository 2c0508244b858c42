import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.schedule import Schedule
from hutch.em.engine import OnlineEM
from hutch.em.nat_oem import NatOEM
from hutch.em.ppca.model import PPCA, closed_form, log_likelihood


def stream(count: int = 400, offset: float = 0.0, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(count, 3)) * [4, 3, 2] @ random.normal(size=(3, 8))
        + random.normal(size=(count, 8))
        + offset
    )


def learner(rows: np.ndarray, rank: int = 3, **options: object) -> OnlineEM:
    model = PPCA.of(rows[:50], rank)
    return OnlineEM(model, model.start(0), Schedule(0.8), **options)


def test_the_step_is_stochastic_approximation() -> None:
    rows = stream(6)
    model = PPCA.of(rows, 2)
    online = OnlineEM(model, model.start(0), Schedule(0.7), block=2, burn_in=2)
    statistics, parameters, seen = model.expected_statistics(model.start(0)), model.start(0), 0
    for first in (0, 2, 4):
        new = model.statistics(rows[first : first + 2], parameters)
        step = Schedule(0.7).step(seen, 2)
        statistics = statistics + step * (new - statistics)
        seen += 2
        if seen > 2:
            parameters = model.maximise(statistics)
    online.learn(rows)
    np.testing.assert_allclose(online.parameters.loadings, parameters.loadings, atol=1e-12)


def test_one_pass_comes_near_maximum_likelihood() -> None:
    rows = stream(1500)
    online = learner(rows)
    online.learn(rows)
    gap = log_likelihood(rows, closed_form(rows, 3)).mean() - online.log_likelihood(rows).mean()
    assert 0 <= gap < 0.2


def test_averaging_smooths_a_noisy_step() -> None:
    rows = stream(1200)
    model = PPCA.of(rows[:50], 3)
    best = log_likelihood(rows, closed_form(rows, 3)).mean()
    gaps = []
    for average_from in (None, 200):
        online = OnlineEM(model, model.start(0), Schedule(0.0, 0.05), average_from=average_from)
        online.learn(rows)
        gaps.append(best - online.log_likelihood(rows).mean())
    assert 0 <= gaps[1] < gaps[0] / 2


@pytest.mark.parametrize(("block", "passes"), [(1, 1), (7, 1), (256, 12)])
def test_any_block_size_learns(block: int, passes: int) -> None:
    rows = stream(1500)
    online = learner(rows, block=block)
    for _ in range(passes):
        online.learn(rows)
    gap = log_likelihood(rows, closed_form(rows, 3)).mean() - online.log_likelihood(rows).mean()
    assert gap < 0.6
    assert online.samples == 1500 * passes


@given(st.integers(1, 39), st.booleans(), st.booleans())
@settings(max_examples=15, deadline=None)
def test_learning_goes_on_bit_for_bit(cut: int, averaged: bool, constrained: bool) -> None:
    rows = stream(40)

    def fresh() -> OnlineEM:
        constraint = NatOEM(2.0, mode="class") if constrained else None
        return learner(rows, burn_in=5, average_from=10 if averaged else None, constraint=constraint)

    whole, first, second = fresh(), fresh(), fresh()
    for part in (rows[:cut], rows[cut:]):
        whole.learn(part)
        whole.boundary()
    first.learn(rows[:cut])
    first.boundary()
    second.restore(first.state())
    second.learn(rows[cut:])
    second.boundary()
    a, b = whole.state(), second.state()
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_state_is_a_copy() -> None:
    rows = stream(100)
    online = learner(rows)
    online.learn(rows[:50])
    state = online.state()
    before = {name: value.copy() for name, value in state.items()}
    online.learn(rows[50:])
    assert all(np.array_equal(state[name], before[name]) for name in state)


HARD = {
    "offset": stream(300, offset=1e6),
    "constant column": stream(300) * [1, 1, 1, 0, 1, 1, 1, 1],
    "all constant": np.ones((100, 4)),
    "one row": stream(1),
    "few rows": stream(3),
    "one feature": stream(100)[:, :1],
    "tiny": stream(300) * 1e-9,
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("rank", [2, 12])
@pytest.mark.parametrize("missing", [False, True])
def test_the_noise_stays_positive_and_finite(name: str, rank: int, missing: bool) -> None:
    rows = HARD[name].copy()
    if missing:
        rows[::3, 0] = np.nan
    model = PPCA.of(rows[:50], rank, missing=missing)
    online = OnlineEM(model, model.start(0), Schedule(0.8), burn_in=0)
    online.learn(rows)
    assert 0 < online.parameters.noise < np.inf
    assert np.isfinite(online.log_likelihood(rows)).all()


def test_an_offset_costs_nothing() -> None:
    near, far = (learner(stream(500, offset=offset)) for offset in (0.0, 1e6))
    near.learn(stream(500))
    far.learn(stream(500, offset=1e6))
    assert far.parameters.noise == pytest.approx(near.parameters.noise, rel=1e-4)


def test_bad_rows_teach_nothing() -> None:
    rows = stream(100)
    online = learner(rows)
    online.learn(rows[:50])
    before = online.state()
    rows[80, 3] = np.nan
    with pytest.raises(DataError, match="row 30, column 3"):
        online.learn(rows[50:])
    assert all(np.array_equal(value, before[name]) for name, value in online.state().items())


@pytest.mark.parametrize("bad", [{"burn_in": -1}, {"average_from": -5}, {"block": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        learner(stream(60), **bad)
