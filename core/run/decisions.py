"""Decisions as text: lines of predictions, and cells of the progress table."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SLOT_ROW, Batch, ends_of_groups, shared_rows
from hutch.core.chain.capabilities import FindsArcs
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.outputs import NOTHING
from hutch.core.chain.reduction import Labels
from hutch.core.kernel.abi import UNLABELED

_SHOWN = 4
"""Classes of lines in a cell."""


def decisions_of(batch: Batch) -> Iterator[tuple[int, int, int]]:
    """Of each decision the rows of its first line, of its first action, and behind its last one."""
    start, shared = 0, shared_rows(batch)
    for stop in ends_of_groups(batch).tolist():
        yield start, start + int(shared[start]), stop
        start = stop


def decision_at(batch: Batch, row: int) -> tuple[int, int, int]:
    """The same for the decision that contains a row."""
    start, stop = (int(np.searchsorted(batch.group, batch.group[row], side)) for side in ("left", "right"))
    return start, start + int(shared_rows(batch.rows(start, start + 1))[0]), stop


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many decimals, one or more, without the zeros at the end.

    >>> number_text(0.25), number_text(1.0), number_text(1 / 3), number_text(185.121, 2)
    ('0.25', '1', '0.333333', '185.12')
    """
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def tail(batch: Batch, row: int) -> bytes:
    """The end of a line: the tag of a row, if it has one."""
    tag = batch.tag(row)
    return (b" " + tag if tag else b"") + b"\n"


def classes_of(batch: Batch) -> list[int]:
    """The action number in the label of each row, 0 without a label."""
    found: NDArray[np.int64] = np.zeros(len(batch), np.int64)
    given = np.flatnonzero(np.diff(batch.cost_ptr))
    found[given] = batch.cost_classes[batch.cost_ptr[given]]
    classes: list[int] = found.tolist()
    return classes


def ranked_actions(batch: Batch, outputs: Outputs) -> Iterator[tuple[int, list[int], list[float]]]:
    """Of each decision the row of its first line, its actions with the best one first, and their values by action."""
    if outputs.scores.shape[1]:
        of_rows: Any = outputs.ranked.reshape(outputs.scores.shape).tolist()
        for row, (actions, scores) in enumerate(zip(of_rows, outputs.scores.tolist(), strict=True)):
            yield row, actions, scores
        return
    order, values = outputs.ranked.tolist(), outputs.predictions.tolist()
    for start, first, stop in decisions_of(batch):
        yield start, order[first:stop], values[first:stop]


def decision_lines(batch: Batch, outputs: Outputs, names: Sequence[str] = ()) -> bytes:
    """A line `action:value,action:value` for each decision, the best action first, and an empty line.

    Args:
        batch, outputs: the decisions.
        names: of the actions, if they have any, in place of their numbers.
    """
    found = []
    for row, ranked, values in ranked_actions(batch, outputs):
        found.append(decision_line(ranked, values, tail(batch, row), names))
    return b"".join(found)


def decision_line(ranked: Sequence[int], values: Sequence[float], end: bytes, names: Sequence[str] = ()) -> bytes:
    """The line of one decision, and an empty one.

    >>> decision_line([1, 0], [0.25, 0.75], b" visit7\\n"), decision_line([1, 0], [0.25, 0.75], b"\\n", ["red", "blue"])
    (b'1:0.75,0:0.25 visit7\\n\\n', b'blue:0.75,red:0.25\\n\\n')
    """
    shown = names if len(names) == len(ranked) else range(len(values))
    return ",".join(f"{shown[k]}:{number_text(values[k])}" for k in ranked).encode() + end + b"\n"


def best_actions(batch: Batch, outputs: Outputs, names: Sequence[str] = ()) -> bytes:
    """The best action of each decision, and an empty line; arguments as of `decision_lines`."""
    found = []
    for row, ranked, _ in ranked_actions(batch, outputs):
        best = "" if not ranked else names[ranked[0]] if len(names) == len(ranked) else str(ranked[0])
        found.append(best.encode() + tail(batch, row) + b"\n")
    return b"".join(found)


def slot_rows(batch: Batch) -> NDArray[np.bool_]:
    """Which rows are slots."""
    if not len(batch.probabilities):  # the lines are of another kind, and have no labels
        return np.zeros(len(batch), np.bool_)
    first = np.minimum(batch.cost_ptr[:-1], len(batch.probabilities) - 1)
    found: NDArray[np.bool_] = (batch.probabilities[first] == SLOT_ROW) & (np.diff(batch.cost_ptr) > 0)
    return found


def slots_of(batch: Batch, outputs: Outputs) -> Iterator[list[tuple[int, list[int], list[float]]]]:
    """Of each decision the rows of its slots, each with its actions, the best one first, and their probabilities."""
    width, slots = outputs.scores.shape[1], slot_rows(batch)
    ranked, start = outputs.ranked.reshape(len(batch), width), 0
    for stop in ends_of_groups(batch).tolist():
        found = []
        for row in np.flatnonzero(slots[start:stop]) + start:
            count = int((ranked[row] != NOTHING).sum())
            found.append((int(row), ranked[row, :count].tolist(), outputs.scores[row, :count].tolist()))
        yield found
        start = stop


def slot_lines(batch: Batch, outputs: Outputs) -> bytes:
    """A line `action:probability,action:probability` for each slot, the best action first, and an empty line."""
    found = []
    for slots in slots_of(batch, outputs):
        for _, ranked, values in slots:
            pairs = (f"{action}:{number_text(value)}" for action, value in zip(ranked, values, strict=True))
            found.append(",".join(pairs).encode() + b"\n")
        found.append(b"\n")
    return b"".join(found)


def lines_of(chain: Engine, names: Sequence[str] = ()) -> Callable[[Batch, Outputs], bytes]:
    """The writer of a chain's predictions: all actions, or the best one where a layer asks for it.

    Args:
        chain: decides.
        names: of the actions, if they have any.
    """
    if chain.takes.of_slots:
        return slot_lines
    top = next(layer for layer in chain.layers if layer.takes not in (None, Labels.LOGGED_CLASS))
    write = best_actions if getattr(top.parameters, "lists", "all") == "best" else decision_lines
    return partial(write, names=names)


def arc_lines(layer: FindsArcs, batch: Batch, outputs: Outputs) -> bytes:
    """A line `head label` for each line of a block, and its tag."""
    arcs = layer.arcs(outputs.predictions, outputs.raw).tolist()
    return b"".join(f"{head} {label}".encode() + tail(batch, i) for i, (head, label) in enumerate(arcs))


def class_cell(values: NDArray[np.float32], batch: Batch, row: int) -> str | None:
    """The table's cell for the classes, by row, of the lines of a row's block; None where one is not known."""
    start, _, stop = decision_at(batch, row)
    if (values[start:stop] == UNLABELED).any():
        return None
    shown = [f"{value:g}" for value in values[start : min(stop, start + _SHOWN)].tolist()]
    return ",".join([*shown, *(["..."] if stop - start > _SHOWN else [])])


def label_cell(batch: Batch, row: int, takes: Labels, first_class: int = 0, classes: int = 0) -> str | None:
    """The table's cell for the label of a row's decision, the classes, so many, counted from `first_class`."""
    _, first, stop = decision_at(batch, row) if takes.of_decisions else (row, row, row + 1)
    if takes.of_slots:
        low, high = batch.cost_ptr[first], batch.cost_ptr[stop]
        known = np.flatnonzero((batch.costs[low:high] != UNLABELED) & (batch.probabilities[low:high] > 0)) + low
        slate = takes is Labels.LOGGED_SLATE  # whose cost is that of all slots
        pairs = [f"{batch.cost_classes[k]}" + ("" if slate else f":{batch.costs[k]:.2g}") for k in known]
        return ",".join([*pairs[:2], *(["..."] if len(pairs) > 2 else [])]) or None
    if not len(batch.cost_ptr):
        return None  # a table without labels
    low, high = batch.cost_ptr[first], batch.cost_ptr[stop]
    known = np.flatnonzero(batch.costs[low:high] != UNLABELED) + low
    if takes is Labels.ACTION_COSTS:
        return "known" if len(known) == stop - first else None
    known = known[batch.probabilities[known] > 0]
    if takes is Labels.LOGGED_CLASS:
        known = known[(batch.cost_classes[known] > 0) & (batch.cost_classes[known] <= classes)]
    if len(known) != 1 and not (takes is Labels.LOGGED_CLASS and len(known)):
        return None
    at = int(known[0])
    action = int(np.searchsorted(batch.cost_ptr, at, "right")) - 1 - first
    if takes is Labels.LOGGED_CLASS:
        action = int(batch.cost_classes[at]) - 1 + first_class
    return f"{action}:{batch.costs[at]:.2g}:{batch.probabilities[at]:.2g}"


def prediction_cell(batch: Batch, row: int, outputs: Outputs, takes: Labels) -> str:
    """The table's cell for the best action of a row's decision; its class if all costs are known."""
    if takes is Labels.LOGGED_CLASS:
        best = int(outputs.ranked.reshape(outputs.scores.shape)[row, 0])
        return _pair(best, outputs.scores[row, best])
    _, first, stop = decision_at(batch, row)
    if takes.of_slots:
        tops = outputs.ranked.reshape(outputs.scores.shape)[first:stop, 0]
        return ",".join(str(top) for top in tops[tops != NOTHING])
    if first == stop:
        return "none"
    best = int(outputs.ranked[first])
    if takes is Labels.ACTION_COSTS:
        return str(classes_of(batch)[first + best])
    return _pair(best, outputs.predictions[first + best])


def _pair(action: int, value: float) -> str:
    return f"{action}:" + f"{value:.2f}".rstrip("0").rstrip(".")
