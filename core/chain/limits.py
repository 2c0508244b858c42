"""Limits of a layer's arrays: declared by the layer, checked before anything of a model is used.

Anyone can write a model, and a right checksum shows only that the file is unchanged since then. A number that
kernels use as a count, an index or a moment of a schedule must lie within bounds, or they read outside their own
memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.stored import RowsInUse, Stored, parts_of
from hutch.core.errors import ModelError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a saved array; name, dtype and shape must be those of the new chain anyway.

    Attributes:
        least, most: bounds of every number; None for none. Where there is one, NaN is refused.
        finite: NaN and infinity are refused.
        fixed: every number must be that of the new chain, as it follows from its configuration.
        grows: the length of its first axis is the model's; `loading` makes room.

    >>> COUNT = Limits(least=0, most=100)
    >>> check_values("seen", np.array([3]), COUNT)
    >>> check_values("seen", np.array([300]), COUNT)
    Traceback (most recent call last):
        ...
    hutch.core.errors.ModelError: seen: got 300, wanted at most 100
    """

    least: float | None = None
    most: float | None = None
    finite: bool = False
    fixed: bool = False
    grows: bool = False


ANY = Limits()
FINITE = Limits(finite=True)
POSITIVE = Limits(least=0, finite=True)
"""Sums and weights: finite and not below 0."""
COUNT = Limits(least=0, most=(1 << 62) - 1)
"""Of any count: adding 1 to it never overflows, however often."""

SHARED_LIMITS = {
    **dict.fromkeys(("mask", "multiplier", "stride"), Limits(fixed=True)),
    **dict.fromkeys(("time", "weighted_unlabeled", "weighted_holdout", "weighted_labeled", "decay"), POSITIVE),
    **dict.fromkeys(("weighted_labels", "min_label", "max_label"), FINITE),
    **dict.fromkeys(("examples", "features", "queries", "pass"), COUNT),
    **dict.fromkeys(("fixed_range", "testing"), Limits(least=0, most=1)),
}
"""Of the counters that all layers share, by the fields of SHARED."""


def check_arrays(found: Mapping[str, Stored], live: Mapping[str, NDArray[Any]], limits: Mapping[str, Limits]) -> None:
    """Check a model's arrays against those of a new chain: names, dtypes, shapes, then values.

    Args:
        found: of the model.
        live: of the chain.
        limits: by name; an array without limits may hold any number.

    Raises:
        ModelError: the first array that fails.
    """
    for name, array in live.items():
        limit = limits.get(name, ANY)
        if name not in found:
            raise ModelError(f"the model lacks {name!r}: it was written by an incompatible version")
        _check_kind(name, found[name], array, limit)
    for name in found:
        if name not in live:
            raise ModelError(f"the model holds {name[:80]!r}, which its chain does not have")
    for name in found:
        limit = limits.get(name, ANY)
        check_values(name, parts_of(found[name]), limit)
        if limit.fixed and not np.array_equal(parts_of(found[name]), live[name]):
            raise ModelError(f"{name}: got {_shown(found[name])}, wanted {_shown(live[name])}, which its chain has")


def _check_kind(name: str, found: Stored, live: NDArray[Any], limit: Limits) -> None:
    if found.dtype != live.dtype:
        raise ModelError(f"{name}: got numbers of type {found.dtype}, wanted {live.dtype}")
    if limit.grows and isinstance(found, RowsInUse):
        raise ModelError(f"{name}: got some of its rows, wanted all")
    got, wanted = (shape[1:] if limit.grows and shape else shape for shape in (found.shape, live.shape))
    if got != wanted or len(found.shape) != len(live.shape):
        raise ModelError(f"{name}: got shape {found.shape}, wanted {live.shape}")


def check_values(name: str, array: NDArray[Any], limits: Limits) -> None:
    """Check the numbers of an array.

    Raises:
        ModelError: one is out of bounds, or not finite though it must be.
    """
    if not array.size or array.dtype.kind not in "iufb":
        return
    low, high = array.min(), array.max()  # NaN if any number is
    if (limits.finite or limits.least is not None or limits.most is not None) and np.isnan(low):
        raise ModelError(f"{name}: got nan, wanted a number")
    if limits.finite and not (np.isfinite(low) and np.isfinite(high)):
        raise ModelError(f"{name}: got {high if np.isfinite(low) else low}, wanted finite numbers")
    if limits.least is not None and low.item() < limits.least:
        raise ModelError(f"{name}: got {low}, wanted at least {limits.least}")
    if limits.most is not None and high.item() > limits.most:
        raise ModelError(f"{name}: got {high}, wanted at most {limits.most}")


def _shown(array: Stored) -> str:
    return str(np.ravel(parts_of(array))[:3].tolist()).strip("[]")
