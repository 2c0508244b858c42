"""Contract checks of a model of online EM, built in or third-party; `hutch plugins check NAME` runs them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.registry import Registry
from hutch.em.base.model import Model
from hutch.em.models import ModelEntry

_ROWS, _CUT, _COLUMNS, _RANK, _STEPS = 120, 45, 5, 2, 12


def _rows() -> NDArray[np.float64]:
    """Counts with two hidden causes, which are also numbers."""
    random = np.random.default_rng(0)
    means = np.exp(0.5 * random.normal(size=(_ROWS, _RANK)) @ random.normal(size=(_RANK, _COLUMNS)) + 1)
    return random.poisson(means).astype(float)


def _begun(entry: ModelEntry) -> tuple[Model[Any], Any, NDArray[np.float64]]:
    """A model, parameters after some steps, and rows."""
    rows = _rows()
    model, parameters = entry.build(rows, _RANK, 0, False)
    for _ in range(3):
        parameters = model.maximise(model.statistics(rows, parameters))
    return model, parameters, rows


def _same(got: Any, wanted: Any, what: str) -> None:
    if not np.allclose(got, wanted, rtol=1e-7, atol=1e-9):
        raise AssertionError(f"{what}: got {np.asarray(got).ravel()[:4]}, wanted {np.asarray(wanted).ravel()[:4]}")


def statistics_are_means(entry: ModelEntry) -> None:
    """Those of some rows are the mean of those of their parts, as one flat vector of float64."""
    model, parameters, rows = _begun(entry)
    whole = model.statistics(rows, parameters)
    if not isinstance(whole, np.ndarray) or whole.ndim != 1 or whole.dtype != np.float64:
        got = f"{whole.dtype} {whole.shape}" if isinstance(whole, np.ndarray) else type(whole).__name__
        raise AssertionError(f"statistics: got {got}, wanted one flat array of float64")
    parts = [model.statistics(part, parameters) for part in (rows[:_CUT], rows[_CUT:])]
    share = _CUT / _ROWS
    _same(share * parts[0] + (1 - share) * parts[1], whole, f"statistics of {_CUT} and of {_ROWS - _CUT} rows, mixed")
    _same(
        model.statistics(np.vstack([rows, rows]), parameters), whole, "statistics of all rows twice; they are no means"
    )


def likelihood_is_of_each_row(entry: ModelEntry) -> None:
    """One number for each row, which does not depend on the other rows."""
    model, parameters, rows = _begun(entry)
    found = np.asarray(model.log_likelihood(rows, parameters))
    if found.shape != (_ROWS,):
        raise AssertionError(f"log_likelihood: got the shape {found.shape}, wanted ({_ROWS},)")
    _same(model.log_likelihood(rows[_CUT:], parameters), found[_CUT:], "log_likelihood of some of the rows")


def likelihood_never_falls(entry: ModelEntry) -> None:
    """A step of EM never lowers the mean log-likelihood."""
    rows = _rows()
    model, parameters = entry.build(rows, _RANK, 0, False)
    before = -np.inf
    for step in range(_STEPS):
        now = float(np.mean(model.log_likelihood(rows, parameters)))
        if not now >= before - 1e-9 * (1 + abs(before)):
            raise AssertionError(f"step {step}: the mean log-likelihood fell from {before:.9g} to {now:.9g}")
        before, parameters = now, model.maximise(model.statistics(rows, parameters))


def expected_statistics_are_a_fixed_point(entry: ModelEntry) -> None:
    """The M-step at the model's own statistics gives its parameters."""
    model, parameters, rows = _begun(entry)
    again = model.maximise(model.expected_statistics(parameters))
    wanted = model.log_likelihood(rows, parameters)
    _same(model.log_likelihood(rows, again), wanted, "log_likelihood after maximise(expected_statistics(parameters))")


def parameters_can_be_stored(entry: ModelEntry) -> None:
    """They are a dataclass of arrays of float64 and of floats, and the constants rebuild the model."""
    model, parameters, rows = _begun(entry)
    if type(parameters) is not entry.parameters or not is_dataclass(entry.parameters):
        got = f"{type(parameters).__name__}, registered {entry.parameters.__name__}"
        raise AssertionError(f"parameters: got {got}, wanted the same dataclass")
    for field in fields(entry.parameters):
        value = getattr(parameters, field.name)
        if not isinstance(value, float) and getattr(value, "dtype", None) != np.float64:
            raise AssertionError(f"parameters.{field.name}: got {type(value).__name__}, wanted float64")
    rebuilt = entry.rebuild({name: np.asarray(array) for name, array in model.constants().items()})
    _same(rebuilt.statistics(rows, parameters), model.statistics(rows, parameters), "statistics of the rebuilt model")


_CHECKS: tuple[Callable[[ModelEntry], None], ...] = (
    statistics_are_means,
    likelihood_is_of_each_row,
    likelihood_never_falls,
    expected_statistics_are_a_fixed_point,
    parameters_can_be_stored,
)


def runs_of_model(entry: ModelEntry, registry: Registry) -> dict[str, Callable[[], None]]:
    """What the checks of a model run, by the name of the check.

    Args:
        entry: as a plugin registers it.
        registry: the installed plugins, which are not needed.
    """
    return {check.__name__: partial(check, entry) for check in _CHECKS}
