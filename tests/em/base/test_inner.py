import numpy as np
import pytest

from hutch.core.errors import ConfigError
from hutch.em.base.inner import InnerEM
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural import Sketch
from hutch.em.ppca.model import PPCA, closed_form, log_likelihood


def rows_of(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    shape = np.random.default_rng(1).normal(size=(2, 6))
    return random.normal(size=(count, 2)) * 2 @ shape + random.normal(size=(count, 6))


def test_many_inner_steps_reach_the_exact_step() -> None:
    """EM on the marginal divergence has the closed form as its fixed point."""
    rows = rows_of(40)
    sketch = Sketch.of(rows_of(20, 2), 2)
    sketch.absorb(rows_of(100, 3), 1.0)
    anchor = sketch.parameters()
    model = PPCA.of(rows, 2)
    block = rows_of(30, 4)
    learner = InnerEM(model, anchor, Schedule(0.0, 0.02), block=30, iterations=400)
    step = Schedule(0.0, 0.02).step(0, 30)
    sketch.absorb(block, 30 * (1 - step) / step)
    learner.learn(block)
    exact, inner = sketch.parameters(), learner.parameters
    assert inner.noise == pytest.approx(exact.noise, abs=1e-6)
    np.testing.assert_allclose(inner.loadings.T @ inner.loadings, exact.loadings.T @ exact.loadings, atol=1e-5)
    few = InnerEM(model, anchor, Schedule(0.0, 0.02), block=30, iterations=1)
    few.learn(block)
    far = few.parameters.loadings.T @ few.parameters.loadings - exact.loadings.T @ exact.loadings
    assert np.abs(far).max() > 1e-2


def test_missing_values_are_learned_through() -> None:
    rows = rows_of(1500)
    holes = rows.copy()
    holes[np.random.default_rng(5).random(rows.shape) < 0.3] = np.nan
    model = PPCA.of(holes[:100], 2, missing=True)
    learner = InnerEM(model, model.start(0))
    learner.learn(holes)
    gap = log_likelihood(rows, closed_form(rows, 2)).mean() - log_likelihood(rows, learner.parameters).mean()
    assert 0 <= gap < 0.1
    again = InnerEM(model, model.start(0))
    again.restore(learner.state())
    assert again.samples == 1500
    assert np.array_equal(again.log_likelihood(holes), learner.log_likelihood(holes))


@pytest.mark.parametrize("bad", [{"block": 0}, {"iterations": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, int]) -> None:
    model = PPCA.of(rows_of(5), 2)
    with pytest.raises(ConfigError, match=next(iter(bad))):
        InnerEM(model, model.start(0), **bad)
