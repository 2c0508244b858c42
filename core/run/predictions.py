"""Predictions as VW writes them: six decimals, whole numbers without any, then the tag."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Outputs
from hutch.core.kernel.abi import array_at, float32s_at, int64s_at
from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import helper

_LARGEST = np.float32(2.0**62)
"""Above it the kernel's integers end; Python writes those predictions."""
_ROOM = 32
"""Bytes for one prediction below `_LARGEST`, blank and line feed included."""

_uint8s_at = array_at(np.uint8)


@helper
def _write_digits(out, at, number, least):
    """Write a non-negative integer with at least so many digits; returns where it ends."""
    count, rest = 1, number // 10
    while rest > 0:
        count += 1
        rest //= 10
    end = at + max(count, least)
    for place in range(end - 1, at - 1, -1):
        out[place] = 48 + number % 10
        number //= 10
    return end


@helper
def _write_word(out, at, word):
    for letter in word:
        out[at] = letter
        at += 1
    return at


@entry("int64(uint64, int64, uint64, uint64, int64, uint64, int64)")
def _write(values_at, count, tag_ptr_at, tags_at, tag_bytes, out_at, room):
    values, tag_ptr = float32s_at(values_at, count), int64s_at(tag_ptr_at, count + 1)
    tags, out = _uint8s_at(tags_at, tag_bytes), _uint8s_at(out_at, room)
    nan, infinite = (110, 97, 110), (105, 110, 102)
    at = 0
    for i in range(count):
        value = np.float64(values[i])
        if np.signbit(value):
            out[at] = 45
            at += 1
            value = -value
        if np.isnan(value):
            at = _write_word(out, at, nan)
        elif np.isinf(value):
            at = _write_word(out, at, infinite)
        elif value == np.floor(value):
            at = _write_digits(out, at, np.int64(value), 1)
        else:
            # A float32 has 24 bits, 10^6 is 14 bits times a power of two: the product is exact, and rounded once.
            scaled = np.int64(np.rint(value * 1e6))
            at = _write_digits(out, at, scaled // 1000000, 1)
            out[at] = 46
            at = _write_digits(out, at + 1, scaled % 1000000, 6)
        if tag_ptr[i + 1] > tag_ptr[i]:
            out[at] = 32
            at += 1
            for k in range(tag_ptr[i], tag_ptr[i + 1]):
                out[at] = tags[k]
                at += 1
        out[at] = 10
        at += 1
    return at


def number_line(value: float, tag: bytes) -> bytes:
    """One prediction as `PredictionText` writes it, with its tag.

    >>> number_line(-0.0, b""), number_line(0.25, b"mail7"), number_line(float("nan"), b"")
    (b'-0\\n', b'0.250000 mail7\\n', b'nan\\n')
    """
    text = f"{value:.0f}" if value.is_integer() else f"{value:.6f}"
    return text.encode() + (b" " + tag if tag else b"") + b"\n"


class PredictionText:
    """Writes predictions of batches into one buffer that grows with the largest.

    >>> text = PredictionText()
    >>> bytes(text.lines(np.array([0.25, 3, -1.5], np.float32), np.array([0, 0, 0, 3]), np.frombuffer(b"tag", "u1")))
    b'0.250000\\n3\\n-1.500000 tag\\n'
    """

    def __init__(self) -> None:
        self._buffer = np.zeros(0, np.uint8)

    def lines(self, values: NDArray[np.float32], tag_ptr: NDArray[np.int64], tags: NDArray[np.uint8]) -> memoryview:
        """One line for each value.

        Args:
            values: float32 (examples).
            tag_ptr: int64 (examples + 1), offsets into `tags`.
            tags: uint8, the tags' bytes one after the other.

        Returns:
            The bytes, valid until the next call.
        """
        if np.any((np.abs(values) >= _LARGEST) & np.isfinite(values)):
            return memoryview(_with_huge_values(values, tag_ptr, tags))
        needed = _ROOM * len(values) + len(tags)
        if len(self._buffer) < needed:
            self._buffer = np.zeros(needed + needed // 4, np.uint8)
        values, tag_ptr = np.ascontiguousarray(values, np.float32), np.ascontiguousarray(tag_ptr, np.int64)
        tags, out = np.ascontiguousarray(tags), self._buffer
        texts = (tags.ctypes.data, len(tags), out.ctypes.data, len(out))
        return out.data[: _write(values.ctypes.data, len(values), tag_ptr.ctypes.data, *texts)]


def _with_huge_values(values: NDArray[np.float32], tag_ptr: NDArray[Any], tags: NDArray[np.uint8]) -> bytes:
    lines = []
    for i, value in enumerate(values.tolist()):
        tag = tags[tag_ptr[i] : tag_ptr[i + 1]].tobytes()
        text = f"{value:.0f}" if value == np.floor(value) else f"{value:.6f}"
        lines.append(text.encode() + (b" " + tag if tag else b"") + b"\n")
    return b"".join(lines)


def score_lines(scores: NDArray[np.float32], tag_ptr: NDArray[np.int64], tags: NDArray[np.uint8]) -> bytes:
    """Scores of all classes as VW's raw predictions: ` 1:0.5 2:-0.25`, six significant digits.

    Args:
        scores: float32 (examples, classes).
        tag_ptr, tags: as in `PredictionText.lines`.

    >>> score_lines(np.array([[0.5, -0.25]], np.float32), np.array([0, 1]), np.frombuffer(b"t", "u1"))
    b' 1:0.5 2:-0.25 t\\n'
    """
    count, classes = scores.shape
    line = "".join(f" {c + 1}:%g" for c in range(classes))
    text = "\n".join([line] * count) % tuple(scores.ravel().tolist())
    if tag_ptr[count] == tag_ptr[0]:
        return (text + "\n").encode() if count else b""
    found = (tags[tag_ptr[i] : tag_ptr[i + 1]].tobytes() for i in range(count))
    tagged = (row.encode() + (b" " + tag if tag else b"") for row, tag in zip(text.split("\n"), found, strict=True))
    return b"\n".join(tagged) + b"\n"


def of_groups(batch: Batch, outputs: Outputs) -> tuple[Batch, Outputs]:
    """The output of a chain that reads groups of lines: the outputs, and the tags, of the last line of each group.

    Returns:
        The batch with the tags of these lines alone, and their outputs.
    """
    kept, lengths = ~np.isnan(outputs.predictions), np.diff(batch.tag_ptr)
    tags = batch.tags[batch.tag_ptr[0] : batch.tag_ptr[-1]][np.repeat(kept, lengths)]
    columns = (getattr(outputs, field.name) for field in fields(Outputs))
    found = Outputs(*(column[kept] if len(column) == len(kept) else column for column in columns))
    return replace(batch, tag_ptr=np.concatenate([[0], np.cumsum(lengths[kept])]), tags=tags), found
