"""Contract checks of an online EM model, built in or third-party; `hutch plugins check NAME` runs them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hutch.em.base.learner import pack, unpack
from hutch.em.base.schedule import Schedule
from hutch.em.engine import OnlineEM
from hutch.em.models import ModelEntry

_RANK, _SEED = 2, 3


def _rows() -> Any:
    """Rows of zeros and ones, valid as counts, probabilities and real numbers."""
    random = np.random.default_rng(0)
    return (random.random((90, 5)) < random.choice([0.2, 0.8], (90, 1))).astype(np.float64)


def _made(entry: ModelEntry) -> tuple[Any, Any, Any]:
    rows = _rows()
    model, parameters = entry.build(rows, _RANK, _SEED, False)
    return model, parameters, model.validate(rows)


def statistics_are_a_mean(entry: ModelEntry) -> None:
    """One float64 vector, for all rows the mean of what it is for each; the rows are left as they were."""
    model, parameters, rows = _made(entry)
    before, found = rows.copy(), model.statistics(rows, parameters)
    assert isinstance(found, np.ndarray) and found.dtype == np.float64 and found.ndim == 1, f"statistics: got {found!r}"
    single = np.mean([model.statistics(row, parameters) for row in np.split(rows, len(rows))], axis=0)
    np.testing.assert_allclose(found, single, atol=1e-8, err_msg="statistics of all rows, and mean of each row's")
    np.testing.assert_array_equal(rows, before, err_msg="statistics changed the rows")


def expected_statistics_are_a_fixed_point(entry: ModelEntry) -> None:
    """maximise(expected_statistics(parameters)) gives the parameters back."""
    model, parameters, _ = _made(entry)
    wanted = model.expected_statistics(parameters)
    found = model.expected_statistics(model.maximise(wanted.copy()))
    np.testing.assert_allclose(found, wanted, atol=1e-6, err_msg="expected statistics after maximise, and before")


def em_climbs(entry: ModelEntry) -> None:
    """A step of EM on all rows never lowers their likelihood."""
    model, parameters, rows = _made(entry)
    before = -np.inf
    for _ in range(10):
        scores = model.log_likelihood(rows, parameters)
        assert scores.shape == (len(rows),), f"log_likelihood: got shape {scores.shape}, wanted ({len(rows)},)"
        assert np.isfinite(scores).all(), "log_likelihood: got a number that is not finite"
        assert scores.mean() >= before - 1e-9, f"log-likelihood after a step of EM: got {scores.mean()}, was {before}"
        before, parameters = scores.mean(), model.maximise(model.statistics(rows, parameters))


def constants_rebuild_it(entry: ModelEntry) -> None:
    """A model file needs only `constants` and the fields of the parameters."""
    model, parameters, rows = _made(entry)
    again = entry.rebuild({name: np.array(value) for name, value in model.constants().items()})
    same = unpack(entry.parameters, pack(parameters, "p"), "p")
    np.testing.assert_array_equal(again.log_likelihood(rows, same), model.log_likelihood(rows, parameters))


def resume(entry: ModelEntry) -> None:
    """Learning goes on bit for bit from a stored state."""
    model, parameters, rows = _made(entry)
    whole, first, second = (OnlineEM(model, parameters, Schedule(0.8), block=7) for _ in range(3))
    for part in (rows[:50], rows[50:]):
        whole.learn(part)
    first.learn(rows[:50])
    second.restore(first.state())
    second.learn(rows[50:])
    for name, value in whole.state().items():
        np.testing.assert_array_equal(second.state()[name], value, err_msg=name)


MODEL_CHECKS: tuple[Callable[[ModelEntry], None], ...] = (
    statistics_are_a_mean,
    expected_statistics_are_a_fixed_point,
    em_climbs,
    constants_rebuild_it,
    resume,
)
"""All checks; each raises `AssertionError` with what it got and what was wanted."""
