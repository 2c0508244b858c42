"""Files of JSON lines as batches: each line is a record, as Python gives them, or the row of a table.

A number or a word at the top of a record is a cell of a table: it becomes the feature that it would be in CSV.
"""

import json
from collections.abc import Iterator
from typing import Any, Never

from hutch.core.batch import Batch
from hutch.core.data.chunks import Chunks
from hutch.core.data.disguises import disguise
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.rows import Rows
from hutch.core.data.sources import reader_of
from hutch.core.errors import Problem, reading, shortened
from hutch.core.strict_json import NO_TEXT, half_pair
from hutch.core.text.parser import LONGEST_LINE, ParserOptions

_ROWS = 1 << 12
_WANTED = 'an object such as {"label": 1, "age": 37, "user": {"city": "Oslo"}}'


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON number")


def json_objects(path: str, longest_line: int = LONGEST_LINE) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with the number of its line; empty lines are left out.

    Args:
        path: the file; `.gz` and `.zst` are unpacked; `-` is standard input.
        longest_line: in bytes.

    Raises:
        DataError: the file cannot be read, or a line is not an object.
    """
    number = 0
    for chunk in Chunks([path], longest_line=longest_line):
        for line in bytes(chunk.data).removesuffix(b"\n").split(b"\n"):
            number += 1
            if line.strip():
                with reading(chunk.source):
                    found = _object(line, number)
                yield number, found


def _object(line: bytes, number: int) -> dict[str, Any]:
    """The object of a line that is not empty."""
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Problem(f"is not JSON: {error}; wanted {_WANTED}", number, getattr(error, "colno", None)) from None
    if b"\\u" in line and (column := half_pair(line.decode(), found)):
        raise Problem(NO_TEXT, number, column)
    if not isinstance(found, dict):
        raise Problem(f"got {shortened(repr(found))}, wanted {_WANTED}", number)
    return found


def _doubt(rows: Rows, roles: Roles, source: str, piece: list[dict[str, Any]]) -> None:
    """Look at the names in the first rows of a file, and at words that may be something else."""
    cells: dict[str, list[str]] = {}
    for row in piece:
        for name, value in row.items():
            words = cells.setdefault(name, [])
            if isinstance(value, str) and value:
                words.append(value)
    names = [name for name in cells if name not in rows.unused]
    with reading(source):
        watch = roles.see(source, names, whole=False)
    for name in names:
        if watch is not None and name not in rows.whole | set(map(str, roles.categorical)) and watch.looks(name):
            if found := disguise(list(dict.fromkeys(cells[name]))):
                watch.say(source, name, found.text(name, "file"))


def read_json_lines(path: str, options: ParserOptions, columns: AnyRoles = None) -> Iterator[Batch]:
    """Batches of a file of JSON lines.

    Args:
        path: the file; `.gz` and `.zst` are unpacked; `-` is standard input.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each key; see `hutch.core.data.roles.Roles`.

    Raises:
        DataError: a line that is not an object, or a value that cannot be used, with its line.
    """
    roles = Roles.of(columns)
    decides = options.label in ("action_costs", "logged_action")
    rows, reader = Rows(roles), reader_of(options)(options, roles)
    for first, piece in _in_sequence(json_objects(path, options.longest_line)):
        reader.start(first)
        if first == 1 and not decides:
            _doubt(rows, roles, path, piece)
        with reading(path):
            batch = reader.batch([found if decides else rows.record(found) for found in piece])
        yield batch


def _in_sequence(objects: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Pieces of objects that stand in lines one after the other, each with the number of its first line."""
    first, piece = 1, list[dict[str, Any]]()
    for number, found in objects:
        if piece and (number != first + len(piece) or len(piece) == _ROWS):
            yield first, piece
            piece = []
        first = first if piece else number
        piece.append(found)
    if piece:
        yield first, piece
