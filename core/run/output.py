"""Where the lines of a run go: files that are written in one step, and standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hutch.core.atomic import atomic_write

if TYPE_CHECKING:
    from hutch.core.batch import Batch
    from hutch.core.chain.engine import Outputs

Lines: TypeAlias = "Callable[[Batch, Outputs], bytes | memoryview]"
"""Makes the lines of a batch; the bytes are valid until the next call."""


def is_stdout(path: str | None) -> bool:
    """Whether a path denotes standard output."""
    return path in ("-", "/dev/stdout")


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A file that is written in one step, or standard output."""
    if is_stdout(path):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def write_now(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write and flush: a reader at the other end of a pipe may be waiting."""
    file.write(data)
    file.flush()


def predictions_of(batch: Batch, outputs: Outputs) -> NDArray[np.float32]:
    """The predictions of a batch."""
    return outputs.predictions


def raw_of(batch: Batch, outputs: Outputs) -> NDArray[np.float32]:
    """The base learner's predictions, before clipping and link."""
    return outputs.raw


def number_lines(values: Callable[[Batch, Outputs], NDArray[np.float32]]) -> Lines:
    """One number per line, as VW writes it, then the tag."""
    from hutch.core.run.predictions import PredictionText

    text = PredictionText()
    return lambda batch, outputs: text.lines(values(batch, outputs), batch.tag_ptr, batch.tags)


def class_lines(names: Sequence[str]) -> Lines:
    """The name of the class predicted, a line for each example, then the tag."""
    from hutch.core.run.decisions import tail

    def lines(batch: Batch, outputs: Outputs) -> bytes:
        found = class_names_of(outputs.predictions, names)
        return b"".join(name.encode() + tail(batch, i) for i, name in enumerate(found))

    return lines


def class_names_of(predictions: NDArray[np.float32], names: Sequence[str]) -> list[str]:
    """The names of predicted classes, which count from 1; the number of a class without a name.

    >>> class_names_of(np.array([2, 1, 3], np.float32), ["no", "yes"])
    ['yes', 'no', '3']
    """
    return [names[k - 1] if 1 <= k <= len(names) else str(k) for k in predictions.astype(np.int64).tolist()]


def class_score_lines(batch: Batch, outputs: Outputs) -> bytes:
    """The scores of all classes, as VW's raw predictions."""
    from hutch.core.run.predictions import score_lines

    return score_lines(outputs.scores, batch.tag_ptr, batch.tags)
