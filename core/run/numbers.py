"""Decisions for a number as text: lines of predictions, and cells of the progress table."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.outputs import Outputs
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.decisions import number_text, tail


def shortest(value: float | np.float32) -> str:
    """A float32 in as few digits as tell it from its neighbours.

    >>> shortest(33554432), shortest(2.1031378e-06), shortest(0.1), shortest(1e20)
    ('33554432', '2.1031378e-06', '0.1', '1e+20')
    """
    number = np.float32(value)
    if number == 0 or 1e-4 <= abs(number) < 1e16:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=2)


def shortest_all(values: NDArray[np.float32]) -> list[str]:
    """Many numbers as `shortest` writes each.

    >>> shortest_all(np.array([185, 0.1, 33554432, 2e-6], np.float32))
    ['185', '0.1', '33554432', '2e-06']
    """
    words = zip(values.astype("U32").tolist(), values, strict=True)  # with an exponent where `shortest` has none
    return [shortest(value) if "e" in word else word.removesuffix(".0") for word, value in words]


def segments_text(segments: Sequence[float], digits: int | None = None) -> str:
    """A density as `from-to:density,from-to:density`.

    Args:
        segments: ends and density of each, NaN behind the last one.
        digits: decimals at most; None: as many as a float32 needs.

    >>> segments_text([0.0, 2.0, 0.125, 2.0, 5.0, 0.25, math.nan, math.nan, math.nan])
    '0-2:0.125,2-5:0.25'
    """
    one = shortest if digits is None else lambda value: number_text(value, digits)
    found = []
    for k in range(0, len(segments), 3):
        if math.isnan(segments[k]):
            break
        low, high, density = map(one, segments[k : k + 3])
        found.append(f"{low}-{high}:{density}")
    return ",".join(found)


def segment_texts(scores: NDArray[np.float32]) -> list[str]:
    """Many densities, a row each, as `segments_text` writes each; equal ones are written once.

    >>> segment_texts(np.array([[0, 2, 0.5]] * 2, np.float32))
    ['0-2:0.5', '0-2:0.5']
    """
    known: dict[Any, str] = {}
    keys = np.ascontiguousarray(scores).view(np.dtype((np.void, scores.itemsize * scores.shape[1]))).ravel().tolist()
    for key, row in zip(keys, scores, strict=True):
        if key not in known:
            known[key] = segments_text(row.tolist())
    return [known[key] for key in keys]


def density_lines(batch: Batch, outputs: Outputs) -> bytes:
    """A line for each example: its density, and the tag."""
    return b"".join(text.encode() + tail(batch, i) for i, text in enumerate(segment_texts(outputs.scores)))


def drawn_texts(outputs: Outputs) -> list[str]:
    """`number,density` of each example."""
    numbers, densities = shortest_all(outputs.predictions), shortest_all(outputs.scores[:, 0])
    return [f"{number},{density}" for number, density in zip(numbers, densities, strict=True)]


def drawn_lines(batch: Batch, outputs: Outputs) -> bytes:
    """A line `number,density` for each example, and the tag."""
    return b"".join(text.encode() + tail(batch, i) for i, text in enumerate(drawn_texts(outputs)))


def logged_number_cell(batch: Batch, row: int) -> str | None:
    """The table's cell for a label: number, cost and density; None without one."""
    if batch.labels[row] == UNLABELED or not len(batch.cost_ptr) or batch.cost_ptr[row] == batch.cost_ptr[row + 1]:
        return None
    cost, density = batch.costs[batch.cost_ptr[row] : batch.cost_ptr[row + 1]].tolist()
    return f"{batch.labels[row]:.5g}:{cost:.2g}:{density:.2g}"


def number_cell(row: int, outputs: Outputs) -> str:
    """The table's cell for a number that was drawn."""
    return f"{outputs.predictions[row]:.6g},{outputs.scores[row, 0]:.2g}"
