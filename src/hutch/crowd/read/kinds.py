"""Which workers of a file are people and which are judges, by its column `kind`."""

from pathlib import Path

from hutch.core.errors import Problem, did_you_mean, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import key_of
from hutch.crowd.read.columns import decide
from hutch.crowd.read.form import is_json, table_of
from hutch.crowd.read.matching import is_header
from hutch.crowd.read.rows import Rows, read_rows
from hutch.crowd.read.source import Source, called, pieces_of

REFERENCE = ("reference", "person", "people", "human")
"""Kinds of workers whose labels define the classes."""
JUDGE = ("judge", "model", "llm")
"""Kinds of all others."""


def beside_workers(path: str | Path, column: str, columns: str | ColumnNames | None = None) -> Rows | None:
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
    asked = ColumnNames.of(columns)
    pieces = pieces_of(path, asked.encoding)
    first = next(pieces, Source(called(path), b""))
    table = None if is_json(first.data) else table_of(first.data, 3)
    keys = [key_of(field) for field in table.first] if table else []
    if table is None or keys.count(column) != 1 or not is_header(table, ("worker", "task", "label")):
        return None
    at = decide(table, asked, called(path)).at
    if "worker" not in at:
        return None
    whole = Source(first.name, first.data + b"".join(piece.data for piece in pieces))
    return read_rows(whole, table, True, [at["worker"], keys.index(column)], ("worker", column), ("worker",))


def reference_workers(path: str | Path, columns: str | ColumnNames | None = None) -> tuple[str, ...]:
    """The patterns of the workers that a column `kind` declares as reference; none without such a column.

    Args:
        path: separated text with a header; standard input is not examined.
        columns: as in `read_labels`; only the worker's counts.

    Raises:
        DataError: a kind is unknown, or a worker has two.
    """
    from glob import escape  # not at the top: hardly any file has kinds

    with reading(called(path)):
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
