"""Decisions as text: lines of predictions, and what the progress table says of one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.kernel.abi import UNLABELED


def decisions_of(batch: Batch) -> Iterator[tuple[int, int, int]]:
    """Of each decision the rows of its first line, of its first action, and behind its last one."""
    start, shared = 0, shared_rows(batch)
    for stop in ends_of_groups(batch).tolist():
        yield start, start + int(shared[start]), stop
        start = stop


def decision_at(batch: Batch, row: int) -> tuple[int, int, int]:
    """The same of the decision to which a row belongs."""
    start, stop = (int(np.searchsorted(batch.group, batch.group[row], side)) for side in ("left", "right"))
    return start, start + int(shared_rows(batch.rows(start, start + 1))[0]), stop


def number_text(value: float) -> str:
    """A number with six decimals, without the zeros at the end.

    >>> number_text(0.25), number_text(1.0), number_text(1 / 3)
    ('0.25', '1', '0.333333')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")


def tail(batch: Batch, row: int) -> bytes:
    """What ends a line: the tag of a row, if it has one."""
    tag = batch.tag(row)
    return (b" " + tag if tag else b"") + b"\n"


def classes_of(batch: Batch) -> list[int]:
    """What the label of each row calls its action, 0 where it has none."""
    found: NDArray[np.int64] = np.zeros(len(batch), np.int64)
    given = np.flatnonzero(np.diff(batch.cost_ptr))
    found[given] = batch.cost_classes[batch.cost_ptr[given]]
    return found.tolist()


def decision_lines(batch: Batch, outputs: Outputs) -> bytes:
    """A line `action:value,action:value` for each decision, the best action first, and an empty line."""
    found = []
    ranked, values = outputs.ranked.tolist(), outputs.predictions.tolist()
    for start, first, stop in decisions_of(batch):
        pairs = (f"{k}:{number_text(values[first + k])}" for k in ranked[first:stop])
        found.append(",".join(pairs).encode() + tail(batch, start) + b"\n")
    return b"".join(found)


def label_cell(batch: Batch, row: int, all_costs: bool) -> str | None:
    """What the table says of the label of the decision to which a row belongs."""
    _, first, stop = decision_at(batch, row)
    low, high = batch.cost_ptr[first], batch.cost_ptr[stop]
    known = np.flatnonzero(batch.costs[low:high] != UNLABELED) + low
    if all_costs:
        return "known" if len(known) == stop - first else None
    known = known[batch.probabilities[known] > 0]
    if len(known) != 1:
        return None
    action = int(np.searchsorted(batch.cost_ptr, known[0], "right")) - 1 - first
    return f"{action}:{batch.costs[known[0]]:.2g}:{batch.probabilities[known[0]]:.2g}"


def prediction_cell(batch: Batch, row: int, outputs: Outputs, all_costs: bool) -> str:
    """What the table says of the best action of the decision to which a row belongs: with `all_costs` its class."""
    _, first, stop = decision_at(batch, row)
    if first == stop:
        return "none"
    best = int(outputs.ranked[first])
    if all_costs:
        return str(classes_of(batch)[first + best])
    return f"{best}:" + f"{outputs.predictions[first + best]:.2f}".rstrip("0").rstrip(".")
