"""What a layer or a loss computes on a few examples: the same in every way of running it, and in every process."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hutch.core.chain.registry import Registry
from hutch.core.loss.losses import Loss, LossLabels
from hutch.plugins.checks.chain import Bench, bench, learned, run

_COUNT, _GROUP = 24, 3  # examples, and how many stand together
_SECONDS = 10.0  # after which CPython stops: some layers stand above thousands of dimensions

Outcome = list[dict[str, str]]
"""After each group of examples: hashes of its predictions and of all that was learned, by name."""


def _of_bench(made: Bench) -> Outcome:
    engine, records, found = made.engine(), made.records(_COUNT), Outcome()
    begun = time.monotonic()
    for start in range(0, _COUNT, _GROUP):
        if found and time.monotonic() - begun > _SECONDS:
            break
        piece = records[start : start + _GROUP]
        arrays = {
            "predictions without labels": run(engine, made.unlabeled(piece), learn=False),
            "predictions while learning": run(engine, piece),
            **learned(engine),
        }
        found.append({name: hashlib.sha256(array.tobytes()).hexdigest()[:16] for name, array in arrays.items()})
    return found


def _of_loss(loss: Loss, registry: Registry) -> Outcome:
    made = bench(registry.reductions["linear"], registry, {"loss": loss.name})
    return _of_bench(replace(made, labels=(0.0, 3.0)) if loss.labels == LossLabels.COUNT else made)


OUTCOMES: Mapping[str, Callable[[Any, Registry], Outcome]] = {
    "losses": _of_loss,
    "reductions": lambda reduction, registry: _of_bench(bench(reduction, registry)),
}
"""By the kind of items: what an item computes."""


def difference(first: Sequence[Mapping[str, str]], other: Sequence[Mapping[str, str]]) -> str | None:
    """The first result that two outcomes do not share; None if they are the same as far as both go."""
    for k, (one, two) in enumerate(zip(first, other, strict=False)):
        for name in {**one, **two}:
            if one.get(name) != two.get(name):
                return f"{name} after {_GROUP * (k + 1)} examples"
    return None
