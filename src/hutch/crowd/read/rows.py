"""Rows of separated text as integer codes: the wanted columns only, each distinct name once."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import Records, place_of, records_in
from hutch.core.errors import Problem
from hutch.crowd.data import scan
from hutch.crowd.data.codes import coded
from hutch.crowd.data.names import Names
from hutch.crowd.read.form import Table, without_runs
from hutch.crowd.read.source import Source


@dataclass(frozen=True)
class Rows:
    """Coded rows.

    Attributes:
        codes: int32 (rows, roles).
        names: by role and code, in the order of first appearance; of tasks, which are many, `Names`.
        place: the line and the column where a name of a role appears first.
        where: the place of a row in messages.
    """

    codes: NDArray[np.int32]
    names: list[Sequence[str]]
    place: Callable[[int, int], tuple[int, int]]
    where: Callable[[int], str]

    def first(self, role: int, code: int) -> str:
        """The place in messages of the first row with a name."""
        return self.where(int(np.argmax(self.codes[:, role] == code)))


def read_rows(
    source: Source,
    table: Table,
    header: bool,
    columns: Sequence[int],
    roles: Sequence[str],
    optional: Collection[str] = (),
    begins: bool = True,
) -> Rows:
    """Code some columns of the rows of a source.

    Args:
        source: the text, UTF-8.
        table: its form.
        header: the first row of the table is one, and no row.
        columns: the place of each role.
        roles: their names.
        optional: those that may be empty.
        begins: the table begins in this source, and not in an earlier piece of it.

    Raises:
        Problem: a place in it is wrong.
    """
    if table.records is not None:
        return _of_records(table.records, columns)
    data, start, line = source.data, 0, source.line
    if begins:
        start, line = (table.after, table.after_line) if header else (table.start, table.line)
    if table.separator == " ":
        data, start = without_runs(data[start:]), 0
    names = tuple(table.first[place] for place in columns) if header else ()
    return _rows_of_text(data, start, line, table, names, columns, roles, optional)


def _of_records(records: list[tuple[str, list[str]]], columns: Sequence[int]) -> Rows:
    """Some fields of records."""
    codes, names = coded(([cells[place] for place in columns] for _, cells in records), len(columns))
    return Rows(codes, names, lambda role, code: (1, 1), lambda row: records[row][0])


def _rows_of_text(
    data: bytes,
    start: int,
    line: int,
    table: Table,
    header: tuple[str, ...],
    columns: Sequence[int],
    roles: Sequence[str],
    optional: Collection[str],
) -> Rows:
    """Code the rows of a text from a byte on a line."""

    def place(byte: int) -> tuple[int, int]:
        return place_of(data, byte, line - data.count(b"\n", 0, start))

    def where(row: int) -> str:
        for records in map(Records.filled, records_in(data, table.separator, start, line, len(table.first))):
            if row < len(records):
                break
            row -= len(records)
        return f"line {records.lines[row]}"

    rows = data.count(b"\n", start) + 1
    codes, coders, read = np.empty((rows, len(roles)), np.int32), [Coder(rows, len(data) - start) for _ in roles], 0
    needed = [role for role, wanted in enumerate(roles) if wanted not in optional]
    for records in map(Records.filled, records_in(data, table.separator, start, line, len(table.first))):
        bounds = [records.bounds(column) for column in columns]
        empty = np.array([bounds[role][0] == bounds[role][1] for role in needed])
        if empty.any():
            row = int(np.argmax(empty.any(axis=0)))
            role = needed[int(np.argmax(empty[:, row]))]
            text = f"the {roles[role]} is empty; if cells of a spreadsheet are merged, repeat the value in each row"
            raise Problem(text, *place(records.start + int(bounds[role][0][row])))
        for role, coder in enumerate(coders):
            codes[read : read + len(records), role] = coder.codes(records, *bounds[role])
        read += len(records)
    names = [coder.names() for coder in coders]
    for role, found in enumerate(names):
        if (broken := found.broken()) is not None:
            raise Problem(
                "got bytes that are not UTF-8; --encoding names another, such as cp1252",
                *place(int(coders[role].places[broken])),
            )
    kept: list[Sequence[str]] = [
        each if role == "task" else list(each) for role, each in zip(roles, names, strict=True)
    ]
    found_rows = Rows(codes[:read], kept, lambda role, code: place(int(coders[role].places[code])), where)
    _refuse_header(found_rows, header)
    return found_rows


class Coder:
    """Codes the cells of a column: a name's code is its number in the order of first appearance.

    Args:
        cells: the most there can be.
        size: the most bytes of all of them; unused room takes no memory.

    Attributes:
        places: int64, the byte of the text at which each name appears first, and spare room.
    """

    def __init__(self, cells: int, size: int) -> None:
        self._count, slots = 0, np.zeros(1 << (2 * cells).bit_length(), np.int32)
        hashes, offsets, text = np.empty(cells, np.uint64), np.zeros(cells + 1, np.int64), np.empty(size, np.uint8)
        self.places = np.empty(cells, np.int64)
        self._offsets, self._text = offsets, text
        self._known = (slots, hashes, offsets, text, self.places)

    def codes(self, records: Records, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The codes of the cells of records that begin and end at some bytes, int32 (records)."""
        before, codes = self._count, np.empty(len(records), np.int32)
        self._count = scan.code_cells(records.clean, begins, ends, before, *self._known, codes)
        new = self.places[before : self._count]
        new[:] = records.start + begins[new]
        return codes

    def names(self) -> Names:
        """The names by code."""
        return Names(self._offsets[: self._count + 1], self._text[: self._offsets[self._count]])


def _refuse_header(rows: Rows, header: Sequence[str]) -> None:
    """See that no row is the header once more, as where files are joined.

    Raises:
        Problem: one is; with its line.
    """
    if not header or any(name not in known for name, known in zip(header, rows.names, strict=True)):
        return
    again = [known.index(name) for name, known in zip(header, rows.names, strict=True)]
    if (rows.codes == again).all(axis=1).any():
        line = max(rows.place(role, code)[0] for role, code in enumerate(again))
        raise Problem(f"got the header once more ({', '.join(header)}), wanted a row; leave this line out", line, 1)
