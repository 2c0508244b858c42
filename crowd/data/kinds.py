"""Which workers of a file are people and which are judges, by its column `kind`."""

import csv
import glob
import re
from io import StringIO
from pathlib import Path

from hutch.core.data.chunks import Chunks
from hutch.core.errors import DataError, at, did_you_mean
from hutch.crowd.data.labels import HEADERS, read_table

REFERENCE = ("reference", "person", "people", "human")
"""Kinds of workers whose labels define the classes."""
JUDGE = ("judge", "model", "llm")
"""Kinds of all others."""


def columns_of(path: str | Path, column: str) -> bytes | None:
    """The text of a file whose header names workers and that column; None for other files and standard input."""
    if str(path) == "-":
        return None
    pieces = (bytes(chunk.data) for chunk in Chunks([path]))
    data = next(pieces, b"")
    first = data.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0].decode("utf-8", "replace")
    fields = first.split("\t") if "\t" in first else next(csv.reader(StringIO(first)), [])
    keys = {re.sub(r"[\s_-]", "", field.lower()) for field in fields}
    return data + b"".join(pieces) if column in keys and keys & HEADERS["worker"] else None


def reference_workers(path: str | Path) -> tuple[str, ...]:
    """The patterns of the workers that a column `kind` declares as reference; none without such a column.

    Args:
        path: separated text with a header; standard input is not looked at.

    Raises:
        DataError: a kind is unknown, or a worker has two.
    """
    data = columns_of(path, "kind")
    if data is None:
        return ()
    codes, (workers, kinds) = read_table(data, str(path), ("worker", "kind"))
    found: dict[str, bool] = {}
    for worker, kind in sorted(set(map(tuple, codes.tolist()))):
        name, known = workers[worker], kinds[kind].lower()
        if known not in REFERENCE + JUDGE:
            wanted = f"wanted one of {', '.join(REFERENCE + JUDGE)}; {did_you_mean(known, REFERENCE + JUDGE)}"
            raise DataError(at(str(path), None, None, f"kind of worker {name!r}: got {kinds[kind]!r}, {wanted}"))
        if found.setdefault(name, known in REFERENCE) != (known in REFERENCE):
            raise DataError(at(str(path), None, None, f"kind of worker {name!r}: got two kinds, wanted one"))
    return tuple(glob.escape(name) for name, person in found.items() if person)
