"""A model as text, for eyes, diffs and version control.

    hutch readable model 1
    metadata {"chain": …}
    array weights float32 262144 4
    116060 0.31 1.2 1 0.9
    …

Only rows that are not all zero are written: the row's number, then its numbers, in their shortest exact form.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.atomic import write_text

_TITLE = "hutch readable model 1"


def write_readable(path: str | Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> None:
    """Write a model as text.

    Args:
        path: where to.
        arrays: as `Engine.arrays` gives them.
        metadata: anything that JSON can hold.

    Raises:
        HutchError: the file cannot be written.
    """
    write_text(path, "\n".join(_lines(arrays, metadata)) + "\n")


def _lines(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Iterator[str]:
    yield _TITLE
    yield f"metadata {json.dumps(dict(metadata))}"
    for name, array in arrays.items():
        yield " ".join(["array", name, array.dtype.name, *map(str, array.shape)])
        rows = _rows(array)
        for i in np.flatnonzero((rows != 0).any(axis=1) | (np.signbit(rows)).any(axis=1)):
            yield " ".join([str(i), *map(str, rows[i])])


def _rows(array: NDArray[Any]) -> NDArray[Any]:
    """The array as a matrix, sharing its memory: a row for each entry of its first axis."""
    return array.reshape(len(array) if array.ndim else 1, -1) if array.size else array.reshape(0, 1)
