"""Measurements of the dyadic learner: ranks and rates on simulated ratings, and error on ratings by users of items.

Chains are built from a registry of their own, so that installed plugins change nothing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.errors import DataError, at
from hutch.core.loss.losses import BUILTIN_LOSSES
from hutch.core.text.parser import TextParser
from hutch.reductions.dyadic.layer import Dyadic
from hutch.reductions.filter_tree import FilterTree
from hutch.reductions.linear.layer import Linear
from hutch.reductions.scoring_filter_tree import ScoringFilterTree
from hutch.reproduce.simulate import Ratings, simulate_ratings

RANKS = (0, 1, 2, 3)
RATES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
_BITS = 22
_DIVERGED = 1e30

_REGISTRY = Registry()
for _reduction in (Dyadic, FilterTree, Linear, ScoringFilterTree):
    _REGISTRY.add("reductions", _reduction.name, _reduction, "hutch")
for _loss in BUILTIN_LOSSES:
    _REGISTRY.add("losses", _loss.name, _loss, "hutch")


@dataclass(frozen=True, slots=True)
class Setting:
    """How all ranks of one row of the table learn; rates are tuned for the linear learner."""

    passes: int
    learning_rate: float
    l2: float
    shift: float


SETTINGS = {
    "one pass, shift 1, no decay": Setting(1, 0.9, 0.0, 1.0),
    "20 passes, shift 1, no decay": Setting(20, 0.3, 0.0, 1.0),
    "20 passes, decay 0.3": Setting(20, 0.3, 0.3, 0.0),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Errors on ratings kept aside and CPU seconds of learning, one for each of `RANKS`."""

    errors: list[float]
    seconds: list[float]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Errors over learning rates; None where the gradient diverged."""

    rates: list[float]
    aware: list[float]
    gradient: list[float | None]


def build(*layers: tuple[str, dict[str, Any]], bits: int = _BITS) -> Engine:
    """A chain of these layers."""
    known = _REGISTRY.reductions
    made = [LayerConfig(name, checked(known[name].Parameters, given)) for name, given in layers]
    return Engine(made, _REGISTRY, bits=bits)


def split(seed: int = 0) -> tuple[Ratings, Ratings]:
    """Simulated ratings, 15/16 to learn from and 1/16 kept aside."""
    ratings = simulate_ratings(seed=seed)
    kept = len(ratings) // 16
    return ratings[kept:], ratings[:kept]


def constant_error(train: Ratings, test: Ratings) -> float:
    """Error of always saying the most frequent class."""
    return float(np.mean(test.labels != np.bincount(train.labels).argmax()))


def _learn(train: Ratings, test: Ratings, passes: int, **given: Any) -> tuple[float, float, float]:
    """Error, CPU seconds and greatest weight of one learner under a filter tree."""
    dyadic = {"left": "rater", "right": "task", "loss": {"name": "hinge"}, **given}
    engine = build(("filter_tree", {"classes": 5}), ("dyadic", dyadic))
    batch, kept = (TextParser(engine.parser).parse(part.examples()) for part in (train, test))
    engine.run_batch(kept, learn=False)
    start = time.process_time()
    for _ in range(passes):
        engine.run_batch(batch)
        engine.end_pass()
    seconds = time.process_time() - start
    predictions = engine.run_batch(kept, learn=False)[0].predictions
    return float(np.mean(predictions != kept.labels)), seconds, float(np.abs(engine.weights).max())


def compare(train: Ratings, test: Ratings, setting: Setting, ranks: Sequence[int] = RANKS) -> Comparison:
    """Learn with each rank, all else equal."""
    given = {"learning_rate": setting.learning_rate, "l2": setting.l2, "shift": setting.shift}
    found = [_learn(train, test, setting.passes, rank=rank, **given) for rank in ranks]
    return Comparison([error for error, _, _ in found], [seconds for _, seconds, _ in found])


def sweep(train: Ratings, test: Ratings, rates: Sequence[float] = RATES) -> Sweep:
    """One pass of rank 2 at every rate, by importance-aware and by plain gradient steps."""
    aware, gradient = [], []
    for rate in rates:
        aware.append(_learn(train, test, 1, rank=2, shift=1.0, learning_rate=rate)[0])
        error, _, most = _learn(train, test, 1, rank=2, shift=1.0, learning_rate=rate, dynamics="gradient")
        gradient.append(error if most < _DIVERGED else None)
    return Sweep(list(rates), aware, gradient)


def read_ratings(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Users and items as numbers from 1, and ratings, of a file of lines user TAB item TAB rating.

    Raises:
        DataError: the file cannot be read, or a line does not have three columns with a number in the third.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise DataError(at(str(path), None, None, f"cannot be read: {reason}")) from None
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    rows = []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        try:
            user, item, rating = cells[0], cells[1], float(cells[2])
            if not np.isfinite(rating):
                raise ValueError
        except (IndexError, ValueError):
            raise DataError(at(str(path), number, None, f"got {line!r}, wanted user TAB item TAB rating")) from None
        rows.append((users.setdefault(user, len(users) + 1), items.setdefault(item, len(items) + 1), rating))
    if len(rows) < 10:
        raise DataError(at(str(path), None, None, f"got {len(rows)} ratings, wanted at least 10"))
    table = np.array(rows)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def rating_lines(users: NDArray[Any], items: NDArray[Any], ratings: NDArray[Any]) -> bytes:
    """One line `rating |user 7 |item 42` each; numbers as names keep the features of a namespace from colliding."""
    columns = zip(ratings.tolist(), users.tolist(), items.tolist(), strict=True)
    return "".join(f"{rating:g} |user {user} |item {item}\n" for rating, user, item in columns).encode()


_DYADIC = {"left": "user", "right": "item"}
RATING_LEARNERS: dict[str, tuple[str, dict[str, Any], int]] = {
    "linear (adaptive), one pass": ("linear", {}, 1),
    "linear (adaptive), 20 passes": ("linear", {"learning_rate": 0.1}, 20),
    "bias only, 40 passes": ("dyadic", {**_DYADIC, "rank": 0}, 40),
    "dyadic rank 20, one pass": ("dyadic", {**_DYADIC, "rank": 20}, 1),
    "dyadic rank 20, 40 passes": ("dyadic", {**_DYADIC, "rank": 20}, 40),
    "the same with implicit features": ("dyadic", {**_DYADIC, "rank": 20, "implicit": "right"}, 40),
}
"""Layer, parameters and passes of each row of the rating table; the dyadic rates are the defaults."""


def rating_error(train: bytes, test: bytes, layer: str, given: dict[str, Any], passes: int) -> tuple[float, float]:
    """Root mean squared error on `test`, predictions clipped to the ratings seen, and CPU seconds of learning."""
    engine = build((layer, given), bits=18)
    batch, kept = (TextParser(engine.parser).parse(text) for text in (train, test))
    engine.run_batch(kept, learn=False)
    start = time.process_time()
    for number in range(passes):
        engine.run_batch(batch)
        if number < passes - 1:
            engine.end_pass()
    seconds = time.process_time() - start
    predictions = engine.run_batch(kept, learn=False)[0].predictions
    error = np.clip(predictions, batch.labels.min(), batch.labels.max()).astype(np.float64) - kept.labels
    return float(np.sqrt(np.mean(error**2))), seconds


def rate_errors(
    users: NDArray[Any], items: NDArray[Any], ratings: NDArray[Any], seed: int = 0
) -> list[tuple[str, float, float]]:
    """Name, error and CPU seconds of each of `RATING_LEARNERS`, on 10 % of the ratings kept aside."""
    order = np.random.default_rng(seed).permutation(len(ratings))
    kept = np.arange(len(ratings)) < len(ratings) // 10
    parts = [rating_lines(users[o], items[o], ratings[o]) for o in (order[~kept], order[kept])]
    mean = ratings[order[~kept]].mean()
    found = [("global mean", float(np.sqrt(np.mean((ratings[order[kept]] - mean) ** 2))), 0.0)]
    for name, (layer, given, passes) in RATING_LEARNERS.items():
        found.append((name, *rating_error(parts[0], parts[1], layer, given, passes)))
    return found
