"""Which workers of a file are people and which are judges, by its column `kind`."""

from pathlib import Path

import numpy as np

from hutch.core.data.chunks import Chunks
from hutch.core.errors import Problem, did_you_mean, reading
from hutch.crowd.data.rows import Layout, Rows, first_line, only_column, read_rows, recoded_text
from hutch.crowd.exports.found import Columns
from hutch.crowd.exports.headers import HEADERS, key_of
from hutch.crowd.exports.json_export import is_json

REFERENCE = ("reference", "person", "people", "human")
"""Kinds of workers whose labels define the classes."""
JUDGE = ("judge", "model", "llm")
"""Kinds of all others."""


def beside_workers(path: str | Path, column: str, columns: str | Columns | None = None) -> Rows | None:
    """The rows (worker, column) of a file; None if its header does not name both, and for standard input.

    Args:
        path: separated text with a header.
        column: the key of the other column, such as `kind`.
        columns: as in `read_labels`; only the worker's counts.

    Raises:
        DataError: the file cannot be read.
        Problem: a place in it is wrong.
    """
    if str(path) == "-":
        return None
    given = Columns.of(columns)
    pieces = (recoded_text(bytes(chunk.data), given.encoding) for chunk in Chunks([path]))
    data = next(pieces, b"")
    first = None if is_json(data) else first_line(data, 3)
    keys = [key_of(field) for field in first.fields] if first else []
    named = given.worker
    if not first or column not in keys or not (named in first.fields or HEADERS["worker"].intersection(keys)):
        return None
    data += b"".join(pieces)
    worker = first.fields.index(named) if named else only_column(first.fields, "worker", first.line)
    places = np.array([worker, only_column(first.fields, column, first.line)])
    layout = Layout(first.separator, places, len(first.fields))
    return read_rows(data, first.rows, first.rows_line, layout, ("worker", column), ("worker",))


def reference_workers(path: str | Path, columns: str | Columns | None = None) -> tuple[str, ...]:
    """The patterns of the workers that a column `kind` declares as reference; none without such a column.

    Args:
        path: separated text with a header; standard input is not examined.
        columns: as in `read_labels`; only the worker's counts.

    Raises:
        DataError: a kind is unknown, or a worker has two.
    """
    from glob import escape  # not at the top: hardly any file has kinds

    with reading(str(path)):
        rows = beside_workers(path, "kind", columns)
        if rows is None:
            return ()
        codes, (workers, kinds) = rows.codes, rows.names
        found: dict[str, bool] = {}
        for worker, kind in sorted(set(map(tuple, codes.tolist()))):
            name, known = workers[worker], kinds[kind].lower()
            if known not in REFERENCE + JUDGE:
                wanted = f"wanted one of {', '.join(REFERENCE + JUDGE)}; {did_you_mean(known, REFERENCE + JUDGE)}"
                raise Problem(f"kind of worker {name!r}: got {kinds[kind]!r}, {wanted}")
            if found.setdefault(name, known in REFERENCE) != (known in REFERENCE):
                raise Problem(f"kind of worker {name!r}: got two kinds, wanted one")
    return tuple(escape(name) for name, person in found.items() if person)
