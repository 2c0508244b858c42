"""Rows of separated text as integer codes: the wanted columns only, each distinct name once."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import BYTE_ORDER_MARK, FINE, PROBLEMS, first_record, place_of, refuse_nul
from hutch.core.errors import DataError, at, counted, did_you_mean
from hutch.crowd.data import scan
from hutch.crowd.data.names import Names
from hutch.crowd.exports.headers import key_of, places_of

LINE = re.compile(rb"[^\r\n][^\n]*")
"""A line that is not blank."""


@dataclass(frozen=True)
class Layout:
    """How the rows of a separated text look.

    Attributes:
        separator: between fields, a tab or a comma.
        columns: int64 (roles), where each role stands.
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
        names: what the codes stand for, by role, in the order of first appearance; of tasks, which are many, `Names`.
        place: the line and the column where a name of a role appears first.
    """

    codes: NDArray[np.int32]
    names: list[Sequence[str]]
    place: Callable[[int, int], tuple[int, int]]


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


def first_line(data: bytes, name: str, roles: int) -> FirstLine | None:
    """The first line of a text; None for a blank one.

    Args:
        data: the text, UTF-8.
        name: what errors call it.
        roles: a line with so many fields between tabs is separated by them, one between semicolons likewise if there
            are fewer commas, any other by commas. Spreadsheets also write `sep=;` above it.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    first = LINE.search(data, start)
    told = re.fullmatch(rb"sep=([\t,;])\r?", first.group(), re.IGNORECASE) if first else None
    if first and told:
        first = LINE.search(data, first.end())
    if first is None:
        return None
    tabs, semicolons, commas = (first.group().count(sign) for sign in (b"\t", b";", b","))
    separator = "\t" if tabs >= roles - 1 else ";" if semicolons >= roles - 1 > commas else ","
    if told:
        separator = told[1].decode()
    line = data.count(b"\n", 0, first.start()) + 1
    fields, size = first_record(data[first.start() :], separator, name, line)
    rows = first.start() + size
    return FirstLine(fields, separator, line, first.start(), rows, line + data.count(b"\n", first.start(), rows))


def read_table(
    data: bytes, name: str, roles: Sequence[str], optional: str = ""
) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Code the wanted columns of a separated text.

    Args:
        data: the text, UTF-8.
        name: what errors call it.
        roles: the columns wanted, in the order in which they stand when no header names them.
        optional: the role that may be empty.

    Returns:
        codes (rows, roles) and the distinct names of each role.

    Raises:
        DataError: `name:line:column: what, got, wanted`.
    """
    first = first_line(data, name, len(roles))
    if first is None:
        return np.zeros((0, len(roles)), np.int32), [() for _ in roles]
    columns, is_header = _columns(first.fields, roles, name, first.line)
    start, line = (first.rows, first.rows_line) if is_header else (first.start, first.line)
    header = tuple(first.fields[place] for place in columns.tolist()) if is_header else ()
    layout = Layout(first.separator, columns, len(first.fields), header)
    rows = read_rows(data, start, line, layout, name, roles, {optional})
    return rows.codes, rows.names


def read_rows(
    data: bytes, start: int, line: int, layout: Layout, name: str, roles: Sequence[str], optional: Collection[str] = ()
) -> Rows:
    """Code the rows of a text.

    Args:
        data: the text, UTF-8.
        start: the byte at which the rows begin.
        line: the number of the line there.
        layout: of the rows.
        name: what errors call the text.
        roles: names of the layout's columns.
        optional: those that may be empty.

    Raises:
        DataError: `name:line:column: what, got, wanted`.
    """
    line -= data.count(b"\n", 0, start)
    refuse_nul(data, name, line)
    text = np.frombuffer(data, np.uint8)
    rows = data.count(b"\n", start) + 1
    size = 1 << (2 * rows).bit_length()
    codes, slots = np.empty((rows, len(roles)), np.int32), np.zeros((len(roles), size), np.int32)
    hashes, places = np.empty((len(roles), rows), np.uint64), np.empty((len(roles), rows), np.int64)
    lengths, counts = np.empty((len(roles), rows), np.int32), np.zeros(len(roles), np.int64)
    may_be_empty = np.array([role in optional for role in roles])
    read, status, place, found = scan.scan(
        text, start, ord(layout.separator), layout.columns, layout.width, may_be_empty, codes, slots, hashes,
        places, lengths, counts,
    )  # fmt: skip
    if status != FINE:
        problem = {
            **PROBLEMS,
            scan.MISCOUNTED: f"got {counted(found, 'field')}, wanted {layout.width} ({', '.join(roles)})",
            scan.EMPTY: f"the {roles[min(found, len(roles) - 1)]} is empty",
        }[status]
        raise DataError(at(name, *place_of(data, place, line), problem))
    codes, firsts = codes[:read], []
    names: list[Sequence[str]] = []
    for role, count in enumerate(counts.tolist()):
        if (
            roles[role] == "task"
            and (many := _plain_names(data, places[role, :count], lengths[role, :count])) is not None
        ):
            firsts.append(places[role, :count])
            names.append(many)
            continue
        known = _names(data, places[role, :count], lengths[role, :count], name, line)
        distinct = list(dict.fromkeys(known))
        firsts.append(
            places[role, :count] if len(distinct) == count else places[role, [known.index(n) for n in distinct]]
        )
        if len(distinct) < count:  # one name with its quotes doubled and, in an unquoted field, not
            codes[:, role] = recoded(codes[:, role], known, distinct)
        names.append(Names.of(distinct) if roles[role] == "task" else distinct)
    found_rows = Rows(codes, names, lambda role, code: place_of(data, int(firsts[role][code]), line))
    _refuse_header(found_rows, layout.header, name)
    return found_rows


def _refuse_header(rows: Rows, header: Sequence[str], source: str) -> None:
    """See that no row is the header once more, as where files are joined.

    Raises:
        DataError: one is; with its line.
    """
    if not header or any(name not in known for name, known in zip(header, rows.names, strict=True)):
        return
    again = [known.index(name) for name, known in zip(header, rows.names, strict=True)]
    if (rows.codes == again).all(axis=1).any():
        line = max(rows.place(role, code)[0] for role, code in enumerate(again))
        text = f"got the header once more ({', '.join(header)}), wanted a row; leave this line out"
        raise DataError(at(source, line, 1, text))


def _columns(fields: list[str], roles: Sequence[str], name: str, number: int) -> tuple[NDArray[np.int64], bool]:
    """Where each role stands in a row, and whether the first record, on line `number`, is a header."""
    found = {role: places_of(fields, role) for role in roles}
    if sum(bool(places) for places in found.values()) < 2:
        if len(fields) != len(roles):
            raise DataError(at(name, number, 1, wrong_width(len(fields), roles)))
        return np.arange(len(roles)), False
    return np.array([only_column(fields, role, name, number) for role in roles]), True


def wrong_width(got: int, roles: Sequence[str]) -> str:
    """What is wrong with a first line that is neither a row nor a header."""
    hint = "; votes on pairs need --pairs" if (got, len(roles)) == (4, 3) else ""
    return f"got {counted(got, 'field')}, wanted {len(roles)} ({', '.join(roles)}) or a header that names them{hint}"


def only_column(fields: Sequence[str], role: str, name: str, line: int) -> int:
    """The one column whose name is known for a role.

    Raises:
        DataError: there is none, or two have the same name.
    """
    keys = [key_of(field) for field in fields]
    found = places_of(fields, role)
    if not found:
        hint = did_you_mean(role, keys)
        raise DataError(at(name, line, 1, f"the header names no {role} column, got {', '.join(fields)}; {hint}"))
    if keys.count(keys[found[0]]) > 1:
        raise DataError(at(name, line, 1, f"column {fields[found[0]]!r} appears twice, wanted one {role} column"))
    return found[0]


def _plain_names(data: bytes, places: NDArray[np.int64], lengths: NDArray[np.int32]) -> Names | None:
    """The names at some places; None if one has quotes in it, or is not UTF-8, for which each is to be looked at."""
    try:
        found = Names.at(data, places, lengths)
    except UnicodeDecodeError:
        return None
    return None if found.holds(b'""') else found


def _names(data: bytes, places: NDArray[np.int64], lengths: NDArray[np.int32], source: str, line: int) -> list[str]:
    """The names at some places of a text that begins on a line."""
    names = []
    for place, length in zip(places.tolist(), lengths.tolist(), strict=True):
        try:
            name = data[place : place + length].decode()
        except UnicodeDecodeError:
            raise DataError(at(source, *place_of(data, place, line), "got bytes that are not UTF-8")) from None
        quoted = '""' in name and data[place - 1 : place] == b'"'
        names.append(name.replace('""', '"') if quoted else name)
    return names


def known_first(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """The known names as they are, then the others in their order."""
    return list(dict.fromkeys([*known, *names]))


def recoded(codes: NDArray[np.int32], names: Sequence[str], order: Sequence[str]) -> NDArray[np.int32]:
    """Codes into `names` as codes into `order`."""
    place = {name: code for code, name in enumerate(order)}
    return np.array([place[name] for name in names], np.int32)[codes] if len(codes) else np.zeros(0, np.int32)
