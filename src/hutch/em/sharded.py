"""Models with hidden variables over shards of rows: batch EM by sums of statistics, PPCA by merged sketches."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.data.places import expanded
from hutch.core.errors import DataError, PluginError, UsageError
from hutch.core.threads import one_thread
from hutch.em.base.learner import Learner, pack
from hutch.em.base.model import Model, Rows
from hutch.em.constrained.natural import NaturalPPCA, Sketch, merged
from hutch.em.engine import OnlineEM
from hutch.em.fit import Settings, create, find
from hutch.em.models import ModelEntry
from hutch.em.rows import read_rows
from hutch.jobs.engine import Engine, Here, Ref, add, sum_of

FIRST = 100
"""Rows that set where a fit starts."""
_SKETCH = 2
"""Rank of a sketch over the rank wanted: with only that rank, the merge would miss what shards cut off."""
_UNUSED = ("exponent", "scale")
"""Settings of streams, whose older samples count less."""
_Weighted = tuple[Sketch, float]


def em(
    data: Sequence[str | Path] | Rows,
    settings: Settings | None = None,
    *,
    shards: int,
    classes: str | None = None,
    engine: Engine | None = None,
    tolerance: float = 1e-8,
    iterations: int = 1000,
    entries: dict[str, ModelEntry] | None = None,
) -> Learner[Any]:
    """Fit a model with hidden variables to shards of rows.

    With the regularizer `exact`, for PPCA without missing values, each shard learns a sketch of twice the rank, and the
    sketches are merged: one pass. With `none`, for every model, plugins' too: EM on all rows, for which shards add up
    their statistics; equal to one process but for rounding. All rows count alike.

    The result depends on the data, the settings and `shards`; its bits do not depend on the engine.

    Args:
        data: files (.npy, .npz, .csv), each read by one task; or rows (samples, dimension).
        settings: how to fit.
        shards: each takes an equal part of every file.
        classes: column or array that is not a feature.
        engine: where the shards learn; None: here, one after the other.
        tolerance: of EM, ≥ 0: stop when the mean log-likelihood changes by less, in nats.
        iterations: of EM, the most, ≥ 1.
        entries: the known models, by name; None: the installed ones.

    Returns:
        A learner, which can continue with a stream.

    Raises:
        UsageError: fewer than one shard or iteration, or settings that shards have no use for.
        DataError: files that cannot be used.
    """
    settings = check_settings(settings or Settings(), shards)
    if iterations < 1 or not tolerance >= 0:
        raise UsageError(f"iterations, tolerance: got {iterations}, {tolerance}, wanted at least 1 and at least 0")
    entry = find(settings.model, installed_models() if entries is None else entries)
    engine = engine or Here()
    first, samples, parts = _divided(data, settings, shards, classes, engine)
    learner = create(settings, first, entry)
    if isinstance(learner, NaturalPPCA):
        return _merged_sketches(engine, learner, samples, parts)
    assert isinstance(learner, OnlineEM)
    return _batch_em(engine, learner, samples, parts, tolerance, iterations)


def mean_log_likelihood(learner: Learner[Any], data: Sequence[str | Path] | Rows, engine: Engine, **read: Any) -> float:
    """The mean over all rows of their log-likelihood, in nats.

    Args:
        learner: the model.
        data: as of `em`; each file is one task.
        engine: where.
        **read: `classes` and `missing` of `hutch.em.rows.read_rows`.
    """
    sources = [data] if isinstance(data, np.ndarray) else expanded(data)
    shared, how = engine.put(learner), engine.put(read)
    found = [engine.submit(_scored, shared, engine.put(source), how)[0] for source in sources]
    sums = engine.get(sum_of(engine, found))
    return float(sums["log_likelihood"] / sums["samples"])


def installed_models() -> dict[str, ModelEntry]:
    """The models that plugins have registered, by name.

    Raises:
        PluginError: a plugin has registered something else.
    """
    from hutch.plugins.manager import installed

    entries = dict(installed().registry.em_models)
    for name, entry in entries.items():
        if not isinstance(entry, ModelEntry):
            raise PluginError(f"online EM model {name!r}: got {entry!r}, wanted a hutch.em.models.ModelEntry")
    return entries


def check_settings(settings: Settings, shards: int) -> Settings:
    """The settings as shards use them.

    Raises:
        UsageError: the settings include something that shards cannot do.
    """
    if shards < 1:
        raise UsageError(f"shards: got {shards}, wanted at least 1")
    if settings.regularizer == "nat_oem" or settings.classes:
        asked = "regularizer: nat_oem" if settings.regularizer == "nat_oem" else "mode: class"
        raise UsageError(f"{asked} holds a stream to its past, which shards do not have; wanted exact or none, no mode")
    for name in _UNUSED:
        if getattr(settings, name) is not None:
            raise UsageError(f"{name}: is for streams, whose past fades; all rows of shards count alike")
    if settings.regularizer == "none":
        if settings.block is not None:
            raise UsageError("block: is for streams; EM over shards takes all rows at once")
        return settings
    return replace(settings, sketch=settings.sketch or _SKETCH)


def _divided(
    data: Sequence[str | Path] | Rows, settings: Settings, shards: int, classes: str | None, engine: Engine
) -> tuple[Rows, int, list[list[Ref]]]:
    """The first rows, the number of rows, and the parts of each shard."""
    sources: list[Any] = [data] if isinstance(data, np.ndarray) else expanded(data)
    if not sources:
        raise DataError("data: got no files")
    how = engine.put({"classes": classes, "missing": settings.missing})
    told = engine.put(shards)
    found = [
        engine.submit(_read, engine.put(source), engine.put(k), told, how, results=shards + 1)
        for k, source in enumerate(sources)
    ]
    abouts = [engine.get(about) for about, *_ in found]
    first = abouts[0][0]
    for source, (rows, _) in zip(sources, abouts, strict=True):
        if rows.shape[1] != first.shape[1]:
            raise DataError(f"{source}: got {rows.shape[1]} features, wanted {first.shape[1]} as in {sources[0]}")
    return first, sum(count for _, count in abouts), [[parts[k] for _, *parts in found] for k in range(shards)]


def _merged_sketches(engine: Engine, learner: NaturalPPCA, samples: int, parts: list[list[Ref]]) -> NaturalPPCA:
    fresh = engine.put(learner)
    learned = [engine.submit(_sketched, fresh, *refs)[0] for refs in parts]
    sketch, _ = engine.get(sum_of(engine, learned, _merge))
    learner.restore(pack(sketch, "sketch") | {"samples": np.array(samples)})
    return learner


def _batch_em(
    engine: Engine, learner: OnlineEM[Any], samples: int, parts: list[list[Ref]], tolerance: float, iterations: int
) -> OnlineEM[Any]:
    model, parameters = engine.put(learner.model), learner.parameters
    before = -np.inf
    statistics = np.zeros(0)
    for iteration in range(iterations + 1):
        current = engine.put(parameters)
        counted = [engine.submit(_counted, model, current, *refs)[0] for refs in parts]
        sums = engine.get(sum_of(engine, counted))
        likelihood = float(sums["log_likelihood"]) / samples
        done = iteration and (likelihood - before < tolerance or iteration == iterations)
        before = likelihood if iteration else -np.inf
        if done:
            break
        statistics = sums["statistics"] / samples
        with one_thread():
            parameters = learner.model.maximise(statistics)
    own = {"statistics": statistics, "counts": np.array([samples, 0])} | pack(parameters, "current")
    learner.restore(learner.state() | own)
    return learner


def _read(source: Any, number: int, shards: int, how: dict[str, Any]) -> tuple[Any, ...]:
    """(the first rows, number of rows) and as many parts as shards; parts begin at another shard in each file."""
    rows = source if isinstance(source, np.ndarray) else read_rows(source, **how).rows
    parts = np.array_split(rows, shards)
    return (np.array(rows[:FIRST]), len(rows)), *(np.array(parts[(k + number) % shards]) for k in range(shards))


def _sketched(learner: NaturalPPCA, *parts: Rows) -> _Weighted:
    """The sketch of a shard and its weight: its samples, and the start, which counts as one."""
    for rows in parts:
        learner.learn(rows)
    return learner.sketch, learner.samples + 1.0


def _merge(*sketches: _Weighted) -> _Weighted:
    return reduce(lambda a, b: (merged(a[0], b[0], a[1], b[1]), a[1] + b[1]), sketches)


def _counted(model: Model[Any], parameters: Any, *parts: Rows) -> dict[str, Any]:
    """Sums over the rows of a shard: of their statistics and of their log-likelihood."""
    sums = {"statistics": np.zeros_like(model.expected_statistics(parameters)), "log_likelihood": np.zeros(())}
    for rows in parts:
        if len(rows):
            valid = model.validate(rows)
            mean, scores = model.statistics(valid, parameters), model.log_likelihood(valid, parameters)
            sums = add(sums, {"statistics": mean * len(rows), "log_likelihood": scores.sum()})
    return sums


def _scored(learner: Learner[Any], source: Any, how: dict[str, Any]) -> dict[str, Any]:
    rows = source if isinstance(source, np.ndarray) else read_rows(source, **how).rows
    return {"log_likelihood": np.array(learner.log_likelihood(rows).sum()), "samples": np.array(len(rows))}
