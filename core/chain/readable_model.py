"""A model as text, for eyes, diffs and version control; it can be read back, bit for bit.

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
from hutch.core.errors import ModelError, at

_TITLE = "hutch readable model 1"


def write_readable(path: str | Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> None:
    """Write a model as text.

    Args:
        path: where to.
        arrays: as `Engine.arrays` gives them.
        metadata: what JSON can hold.

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


def is_readable(path: str | Path) -> bool:
    """Whether a file begins as a readable model does."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_TITLE)) == _TITLE.encode()
    except OSError:
        return False


def read_readable(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a model from its text.

    Returns:
        Arrays and metadata, as they were written.

    Raises:
        ModelError: with the line that cannot be read.
    """
    arrays: dict[str, NDArray[Any]] = {}
    metadata: dict[str, Any] = {}
    rows: NDArray[Any] = np.zeros((0, 1))
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                kind, _, rest = line.partition(" ")
                if number == 1:
                    if line.rstrip("\n") != _TITLE:
                        raise ValueError(f"got {line.rstrip()[:40]!r}, wanted {_TITLE!r}")
                elif kind == "metadata":
                    metadata = json.loads(rest)
                elif kind == "array":
                    name, dtype, *shape = rest.split()
                    arrays[name] = np.zeros([int(n) for n in shape], dtype)
                    rows = _rows(arrays[name])
                else:
                    rows[int(kind)] = [rows.dtype.type(text) for text in rest.split()]
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise ModelError(at(str(path), number, None, f"not a readable model: {error}")) from None
    except OSError as error:
        raise ModelError(at(str(path), None, None, f"cannot be read: {error.strerror}")) from None
    if not isinstance(metadata, dict) or "chain" not in metadata:
        raise ModelError(at(str(path), None, None, "not a readable model: it has no line 'metadata'"))
    return arrays, metadata
