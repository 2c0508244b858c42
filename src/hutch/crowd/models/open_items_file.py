"""Open items as arrays that a file can hold, and back; what a stranger's file says is checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits, check_values
from hutch.core.errors import ModelError
from hutch.crowd.models.open_items import FIRST_REFRESH, OpenItems
from hutch.crowd.models.open_items_kernels import (
    COUNT,
    CREDIT,
    CURSOR,
    FIRST,
    FREE,
    FREE_NODE,
    HEAPED,
    ITEM,
    LABEL,
    LABELS,
    LAST,
    MOST,
    NEXT,
    NODES,
    OPENED,
    PLACE,
    RECORDS,
    REFRESH,
    WORKER,
)

Arrays = dict[str, NDArray[Any]]
_ONE = 1 << 32
_MOST = 1 << 40
_WANTED: dict[str, tuple[type[np.generic], Limits]] = {
    "item": (np.int32, Limits(least=-1)),
    "count": (np.int32, Limits(least=0)),
    "time": (np.int64, Limits(0, _MOST)),
    "sure": (np.float64, Limits(0, 1 + 1e-6)),
    "q": (np.int64, Limits(0, _ONE)),
    "labels": (np.int32, Limits(least=0)),
    "came": (np.int64, Limits(0, _MOST)),
    "shares": (np.uint16, Limits()),
    "foretold": (np.int32, Limits()),
    "free": (np.int32, Limits(least=0)),
    "gold": (np.int32, Limits(least=-1)),
    "closed": (np.int32, Limits(least=0)),
    "earlier": (np.int32, Limits(least=1)),
    "base": (np.float64, Limits(0, 1 + 1e-6)),
    "clock": (np.int64, Limits(-_MOST, _MOST)),
}


def packed(engine: OpenItems) -> Arrays:
    """The open items and what is kept of closed ones; numbers of records stay, those of labels do not."""
    opened, clock = engine.opened, engine.opened.clock.copy()
    records, items = slice(int(clock[RECORDS])), slice(engine.items)
    item = opened.records[records, ITEM].copy()
    pointer, nodes = _nodes(opened.records[records], opened.labels)
    closed = np.flatnonzero(opened.earlier[items]).astype(np.int32)
    clock[[OPENED, RECORDS, FREE, NODES, FREE_NODE, HEAPED, MOST]] = 0  # these follow from the rest
    return {
        "item": item, "count": np.diff(pointer).astype(np.int32), "time": opened.times[records],
        "sure": opened.sure[records], "q": opened.q[records],
        "labels": np.ascontiguousarray(opened.labels[nodes][:, [WORKER, LABEL]]),
        "came": opened.came[nodes], "shares": opened.shares[nodes], "foretold": opened.foretold[nodes],
        "free": opened.free[: int(opened.clock[FREE])], "gold": opened.gold[items],
        "closed": closed, "earlier": opened.earlier[closed], "base": opened.base[closed], "clock": clock,
    }  # fmt: skip


def _nodes(records: NDArray[np.int32], labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each record's labels begin, and the places of all, record by record in the order of their coming."""
    counts = records[:, COUNT].astype(np.int64)
    pointer = np.concatenate([[0], np.cumsum(counts)])
    nodes, at = np.empty(pointer[-1], np.int64), records[:, FIRST].astype(np.int64)
    for step in range(int(counts.max(initial=0))):
        going = np.flatnonzero(counts > step)
        nodes[pointer[going] + step] = at[going]
        at[going] = labels[at[going], NEXT]
    return pointer, nodes


def unpack(engine: OpenItems, found: Mapping[str, NDArray[Any]]) -> None:
    """Give an engine, whose items and workers are met and none is open, the items that `packed` saved.

    Raises:
        ModelError: an array is missing, or holds something else.
    """
    count, labels, closed = (len(found[name]) if name in found else 0 for name in ("item", "came", "closed"))
    members, classes = engine.crowds.class_counts.shape
    shapes = {
        "item": (count,), "count": (count,), "time": (count,), "sure": (count,), "q": (count, members, 2 * classes),
        "labels": (labels, 2), "came": (labels,), "shares": (labels, members, classes), "foretold": (labels, members),
        "free": (len(found.get("free", ())),), "gold": (engine.items,), "closed": (closed,), "earlier": (closed,),
        "base": (closed, classes), "clock": engine.opened.clock.shape,
    }  # fmt: skip
    for name, (dtype, limits) in _WANTED.items():
        if name not in found:
            raise ModelError(f"open.{name} of the crowd model: got nothing, wanted an array")
        array = found[name]
        if array.dtype != dtype or array.shape != shapes[name]:
            wanted = f"{np.dtype(dtype)} of shape {shapes[name]}"
            got = f"{array.dtype} of shape {array.shape}"
            raise ModelError(f"open.{name} of the crowd model: got {got}, wanted {wanted}")
        check_values(f"open.{name} of the crowd model", array, limits)
    _check(engine, found)
    item, ends = found["item"], np.cumsum(found["count"], dtype=np.int64)
    engine.room_for(count, labels)
    opened, taken = engine.opened, np.flatnonzero(item >= 0)
    opened.clock[:] = found["clock"]
    opened.clock[[OPENED, RECORDS, FREE, NODES, FREE_NODE, HEAPED, MOST]] = (
        len(taken), count, len(found["free"]), labels, -1, 0, found["count"].max(initial=0),
    )  # fmt: skip
    records = opened.records[:count]
    records[:, ITEM], records[:, COUNT], records[:, PLACE] = item, found["count"], -1
    records[:, FIRST] = np.where(found["count"] > 0, ends - found["count"], -1)
    records[:, LAST] = np.where(found["count"] > 0, ends - 1, -1)
    opened.where[item[taken]] = taken
    opened.labels[:labels, [WORKER, LABEL]] = found["labels"]
    opened.labels[:labels, NEXT] = np.arange(1, labels + 1)
    opened.labels[ends[taken] - 1, NEXT] = -1
    for name in ("sure", "q", "free"):
        getattr(opened, name)[: len(found[name])] = found[name]
    opened.times[:count] = found["time"]
    for name in ("came", "shares", "foretold"):
        getattr(opened, name)[:labels] = found[name]
    opened.gold[: engine.items] = found["gold"]
    opened.earlier[found["closed"]], opened.base[found["closed"]] = found["earlier"], found["base"]


def _check(engine: OpenItems, found: Mapping[str, NDArray[Any]]) -> None:
    """Check what arrays say about each other.

    Raises:
        ModelError: a number points nowhere, or two say the same.
    """
    item, count, clock = found["item"], found["count"], found["clock"]
    taken = item >= 0
    free = np.sort(found["free"])
    wrong = {
        "item": len(np.unique(item[taken])) < taken.sum() or (item >= engine.items).any(),
        "count": ((count > 0) != taken).any() or count.sum(dtype=np.int64) != len(found["came"]),
        "labels": (found["labels"] >= [max(engine.workers, 1), engine.classes]).any(),
        "free": not np.array_equal(free, np.flatnonzero(~taken)),
        "gold": (found["gold"] >= engine.classes).any(),
        "q": (found["q"].sum(axis=2) > _ONE).any(),
        "closed": (np.diff(found["closed"]) <= 0).any() or (found["closed"] >= engine.items).any(),
        "clock": clock[LABELS] < 0 or clock[REFRESH] < FIRST_REFRESH or not -1 <= clock[CURSOR] < max(len(item), 1)
        or clock[CREDIT] >= 1 << 20,
    }  # fmt: skip
    for name, is_wrong in wrong.items():
        if is_wrong:
            raise ModelError(f"open.{name} of the crowd model: got numbers that do not fit the others")
