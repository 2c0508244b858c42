import numpy as np
import pytest

from hutch.core.errors import ConfigError
from hutch.em.base.schedule import Schedule


@pytest.mark.parametrize(("exponent", "scale"), [(0.0, 0.1), (0.6, 1.0), (0.8, 0.3), (1.0, 1.0)])
@pytest.mark.parametrize(("seen", "count"), [(0, 2), (7, 1), (100, 256)])
def test_a_batch_weighs_what_its_samples_weigh_one_by_one(exponent: float, scale: float, seen: int, count: int) -> None:
    schedule = Schedule(exponent, scale)
    kept = 1.0
    for k in range(count):
        kept *= 1 - schedule.step(seen + k, 1)
    assert schedule.step(seen, count) == pytest.approx(1 - kept, abs=1e-14)
    assert schedule.steps(seen, count)[0] == pytest.approx(schedule.step(seen, 1))


def test_exponent_one_averages_all_samples_and_the_start_alike() -> None:
    schedule = Schedule(1.0)
    mean, values = 0.0, np.arange(1.0, 20.0)
    for k, value in enumerate(values):
        mean += schedule.step(k, 1) * (value - mean)
    assert mean == pytest.approx(values.sum() / 20)


@pytest.mark.parametrize("bad", [{"exponent": -0.1}, {"exponent": 1.5}, {"scale": 0.0}, {"scale": 2.0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Schedule(**bad)
