"""Rows of separated text as integer codes: the wanted columns only, each distinct name once."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import BYTE_ORDER_MARK, Records, first_record, place_of, records_in
from hutch.core.errors import Problem, UsageError, counted, did_you_mean
from hutch.crowd.data import scan
from hutch.crowd.data.names import Names
from hutch.crowd.exports.headers import key_of, places_of

LINE = re.compile(rb"[^\r\n][^\n]*")
"""A line that is not blank."""


@dataclass(frozen=True)
class Layout:
    """The layout of the rows of separated text.

    Attributes:
        separator: between fields, a tab or a comma.
        columns: int64 (roles), the place of each role.
        width: fields of a row.
        header: the names of these columns; empty without a header.
    """

    separator: str
    columns: NDArray[np.int64]
    width: int
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """Coded rows.

    Attributes:
        codes: int32 (rows, roles).
        names: by role and code, in the order of first appearance; of tasks, which are many, `Names`.
        place: the line and the column where a name of a role appears first.
        line: the line on which a row begins.
    """

    codes: NDArray[np.int32]
    names: list[Sequence[str]]
    place: Callable[[int, int], tuple[int, int]]
    line: Callable[[int], int]


@dataclass(frozen=True)
class FirstLine:
    """The first line of a text that is not blank.

    Attributes:
        fields: its cells.
        separator: between them.
        line: its number, from 1.
        start: the byte at which it begins.
        rows: the byte at which the next one begins.
        rows_line: the number of that line.
    """

    fields: list[str]
    separator: str
    line: int
    start: int
    rows: int
    rows_line: int


def first_line(data: bytes, roles: int) -> FirstLine | None:
    """The first line of a text; None for a blank one.

    Args:
        data: the text, UTF-8.
        roles: a line with so many fields between tabs, or with more tabs than semicolons and commas, is separated by
            tabs, one with so many between semicolons by those if there are fewer commas, any other by commas.
            Spreadsheets also write `sep=;` above it.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    first = LINE.search(data, start)
    told = re.fullmatch(rb"sep=([\t,;])\r?", first.group(), re.IGNORECASE) if first else None
    if first and told:
        first = LINE.search(data, first.end())
    if first is None:
        return None
    tabs, semicolons, commas = (first.group().count(sign) for sign in (b"\t", b";", b","))
    tabbed = tabs >= roles - 1 or tabs > semicolons + commas
    separator = "\t" if tabbed else ";" if semicolons >= roles - 1 > commas else ","
    if told:
        separator = told[1].decode()
    line = data.count(b"\n", 0, first.start()) + 1
    fields, size = first_record(data[first.start() :], separator, line)
    rows = first.start() + size
    return FirstLine(fields, separator, line, first.start(), rows, line + data.count(b"\n", first.start(), rows))


def read_table(data: bytes, roles: Sequence[str]) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Code the wanted columns of a separated text.

    Args:
        data: the text, UTF-8.
        roles: the columns wanted, in the order in which they stand when no header names them.

    Returns:
        codes (rows, roles) and the distinct names of each role.

    Raises:
        Problem: a place in it is wrong.
    """
    first = first_line(data, len(roles))
    if first is None:
        return np.zeros((0, len(roles)), np.int32), [() for _ in roles]
    columns, is_header = _columns(first.fields, roles, first.line)
    start, line = (first.rows, first.rows_line) if is_header else (first.start, first.line)
    header = tuple(first.fields[place] for place in columns.tolist()) if is_header else ()
    layout = Layout(first.separator, columns, len(first.fields), header)
    rows = read_rows(data, start, line, layout, roles)
    return rows.codes, rows.names


def read_rows(
    data: bytes, start: int, line: int, layout: Layout, roles: Sequence[str], optional: Collection[str] = ()
) -> Rows:
    """Code the rows of a text.

    Args:
        data: the text, UTF-8.
        start: the byte at which the rows begin.
        line: the number of the line there.
        layout: of the rows.
        roles: names of the layout's columns.
        optional: those that may be empty.

    Raises:
        Problem: a place in it is wrong.
    """

    def place(byte: int) -> tuple[int, int]:
        return place_of(data, byte, line - data.count(b"\n", 0, start))

    def line_of(row: int) -> int:
        for records in records_in(data, layout.separator, start, line, layout.width):
            if row < len(records):
                break
            row -= len(records)
        return int(records.lines[row])

    rows = data.count(b"\n", start) + 1
    codes, coders, read = np.empty((rows, len(roles)), np.int32), [Coder(rows, len(data) - start) for _ in roles], 0
    needed = [role for role, wanted in enumerate(roles) if wanted not in optional]
    for records in records_in(data, layout.separator, start, line, layout.width):
        bounds = [records.bounds(column) for column in layout.columns.tolist()]
        empty = np.array([bounds[role][0] == bounds[role][1] for role in needed])
        if empty.any():
            row = int(np.argmax(empty.any(axis=0)))
            role = needed[int(np.argmax(empty[:, row]))]
            raise Problem(f"the {roles[role]} is empty", *place(records.start + int(bounds[role][0][row])))
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
    found_rows = Rows(codes[:read], kept, lambda role, code: place(int(coders[role].places[code])), line_of)
    _refuse_header(found_rows, layout.header)
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


def _columns(fields: list[str], roles: Sequence[str], number: int) -> tuple[NDArray[np.int64], bool]:
    """Where each role stands in a row, and whether the first record, on line `number`, is a header."""
    found = {role: places_of(fields, role) for role in roles}
    if sum(bool(places) for places in found.values()) < 2:
        if len(fields) != len(roles):
            raise Problem(wrong_width(len(fields), roles), number, 1)
        return np.arange(len(roles)), False
    return np.array([only_column(fields, role, number) for role in roles]), True


def wrong_width(got: int, roles: Sequence[str]) -> str:
    """Message about a first line that is neither a row nor a header."""
    hint = "; votes on pairs need --pairs" if (got, len(roles)) == (4, 3) else ""
    return f"got {counted(got, 'field')}, wanted {len(roles)} ({', '.join(roles)}) or a header that names them{hint}"


def only_column(fields: Sequence[str], role: str, line: int) -> int:
    """The only column whose name is known for a role.

    Raises:
        Problem: no column matches, or two have the same name.
    """
    keys = [key_of(field) for field in fields]
    found = places_of(fields, role)
    if not found:
        hint = did_you_mean(role, keys)
        raise Problem(f"the header names no {role} column, got {', '.join(fields)}; {hint}", line, 1)
    if keys.count(keys[found[0]]) > 1:
        raise Problem(f"column {fields[found[0]]!r} appears twice, wanted one {role} column", line, 1)
    return found[0]


def coded(rows: Iterable[Sequence[str]], width: int) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Rows of so many names as codes (rows, width), and the names in the order of their first appearance."""
    names: list[dict[str, int]] = [{} for _ in range(width)]
    codes = [known.setdefault(name, len(known)) for row in rows for known, name in zip(names, row, strict=True)]
    return np.array(codes, np.int32).reshape(-1, width), [list(known) for known in names]


def used_names(
    rows: NDArray[np.int32], names: Sequence[Sequence[str]]
) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Coded rows with only the names that they use, in the order of their first appearance."""
    codes = np.empty_like(rows)
    kept: list[Sequence[str]] = []
    for role, known in enumerate(names):
        used, first, inverse = np.unique(rows[:, role], return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        codes[:, role] = rank[inverse]
        kept.append([known[code] for code in used[np.argsort(first)].tolist()])
    return codes, kept


def recoded_text(data: bytes, encoding: str) -> bytes:
    """A text, or whole lines of one, in UTF-8.

    Args:
        data: in some encoding; with the mark of UTF-16, in that, which spreadsheets call Unicode.
        encoding: its name; empty: UTF-8, which is left as it is.

    Raises:
        Problem: its bytes do not fit the encoding.
        UsageError: the encoding is unknown.
    """
    name = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else encoding
    try:
        return data.decode(name).encode() if name else data
    except LookupError:
        raise UsageError(f"--encoding: got {encoding!r}, wanted an encoding of Python, such as cp1252") from None
    except UnicodeError as error:
        raise Problem(f"got {name.upper()} that cannot be read ({error})") from None


def known_first(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """The known names unchanged, then the others in their order."""
    return list(dict.fromkeys([*known, *names]))


def recoded(codes: NDArray[np.int32], names: Sequence[str], order: Sequence[str]) -> NDArray[np.int32]:
    """Codes into `names` as codes into `order`."""
    place = {name: code for code, name in enumerate(order)}
    return np.array([place[name] for name in names], np.int32)[codes] if len(codes) else np.zeros(0, np.int32)
