"""Separated text (CSV, TSV) as cells: the one reader of training files, of crowd labels and of rows of numbers.

Quoting follows RFC 4180: a cell that begins with a quote ends at the closing one, may hold delimiters and line feeds,
and has `""` for a quote; a delimiter, a line's end or the end of the text must follow. Quotes within any other cell
are literal. A line ends with a line feed, with or without a carriage return before it; blank lines are
skipped.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.data.chunks import CHUNK_BYTES, Chunks
from hutch.core.data.roles import refuse_twice
from hutch.core.errors import Problem, counted, reading
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import inlined
from hutch.core.kernel.raw_bytes import byte_at, trailing_zeros, word_at
from hutch.core.text.decimals import places_in
from hutch.core.text.parser import LONGEST_LINE, PADDING

FINE, UNCLOSED, TRAILING = range(3)
PROBLEMS = {
    UNCLOSED: "got a quote that is never closed",
    TRAILING: "got text after a closing quote, wanted a delimiter",
}
"""Messages about malformed cells."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_LONGEST_FIRST = 1 << 20
_QUOTE, _LINE_FEED, _RETURN, _BLANK, _TAB = 34, 10, 13, 32, 9


@inlined
def next_cell(at, size, delimiter):
    """The cell that begins at address `at` of a text that ends at address `size`; 7 bytes beyond it may be loaded.

    Returns:
        Begin and end of its content, the end of the cell itself (a delimiter, a line feed or the end of the text),
        whether its content has doubled quotes, and `FINE` or the number of the problem.
    """
    end = at
    if at < size and byte_at(at) == _QUOTE:
        doubled = False
        end += 1
        while end < size:
            if byte_at(end) == _QUOTE:
                if end + 1 == size or byte_at(end + 1) != _QUOTE:
                    break
                doubled = True
                end += 1
            end += 1
        if end >= size:
            return at + 1, size, size, doubled, UNCLOSED
        stop = end
        end += 1
        if end < size and byte_at(end) == _RETURN and (end + 1 == size or byte_at(end + 1) == _LINE_FEED):
            end += 1
        good = end == size or byte_at(end) == delimiter or byte_at(end) == _LINE_FEED
        return at + 1, stop, end, doubled, FINE if good else TRAILING
    found = uint64(0)
    while found == 0 and end < size:
        word = word_at(end)
        found = places_in(word, delimiter) | places_in(word, _LINE_FEED)
        end += trailing_zeros(found) >> 3
    end = min(end, size)
    stop = end
    if stop > at and byte_at(stop - 1) == _RETURN and (end == size or byte_at(end) == _LINE_FEED):
        stop -= 1
    return at, stop, end, False, FINE


@inlined
def blank(start, stop):
    """Whether a cell holds nothing but blanks."""
    while start < stop and byte_at(start) == _BLANK:
        start += 1
    return start == stop


@inlined
def blank_line(at, size):
    """Bytes of the line at address `at` if it is blank, its end included; else 0."""
    if byte_at(at) == _LINE_FEED:
        return 1
    if byte_at(at) == _RETURN and (at + 1 == size or byte_at(at + 1) == _LINE_FEED):
        return 2
    return 0


@compiled
def _split(clean, size, delimiter, cells, records, lines):
    """Split whole records into cells: `clean[cells[2c]:cells[2c + 1]]`, unquoted and followed by a blank.

    Before, `clean` is the text of `size` bytes, and `PADDING` more. Record r has the cells from `records[r]` to
    `records[r + 1]` and begins on line `lines[r]` (from 0).

    Returns:
        Number of records, the bytes and the lines they used, `FINE` or the problem of the cell after them, and
        the start of that cell or, if text follows its closing quote, of that text.
    """
    record, cell, line, lines_used = 0, 0, 0, 0
    first = int64(clean.ctypes.data)
    at, used, size = first, first, first + size
    while at < size:
        blank = blank_line(at, size)
        if blank:
            at += blank
            line += 1
            used, lines_used = at, line
            continue
        lines[record] = line
        ended = False
        while not ended:
            begin, stop, end, doubled, status = next_cell(at, size, delimiter)
            if status != FINE:
                return record, used - first, lines_used, status, (at if status == UNCLOSED else end) - first
            if begin > at:
                for place in range(begin, stop):
                    line += byte_at(place) == _LINE_FEED
            ended = end >= size or byte_at(end) == _LINE_FEED
            at = end + 1
            begin, stop = begin - first, stop - first
            if doubled:
                place, to = begin, begin
                while place < stop:
                    place += clean[place] == _QUOTE
                    clean[to] = clean[place]
                    place += 1
                    to += 1
                stop = to
            clean[stop] = _BLANK
            cells[2 * cell], cells[2 * cell + 1] = begin, stop
            cell += 1
        line += 1
        record += 1
        records[record] = cell
        used, lines_used = min(at, size), line
    return record, used - first, lines_used, FINE, 0


class _Split:
    """Result of `_split` for a text."""

    def __init__(self, data: bytes, delimiter: str) -> None:
        text = np.frombuffer(data, np.uint8)
        ends = int(np.count_nonzero(text == _LINE_FEED)) + 1
        most = int(np.count_nonzero(text == ord(delimiter))) + ends
        self.clean, self.cells = np.zeros(len(text) + PADDING, np.uint8), np.empty(2 * most, np.int64)
        self.clean[: len(text)] = text
        begins, lines = np.zeros(ends + 1, np.int64), np.zeros(ends + 1, np.int64)
        rows, self.used, self.lines_used, self.status, self.place = _split(
            self.clean, len(text), ord(delimiter), self.cells, begins, lines
        )
        self.widths, self.lines = np.diff(begins[: rows + 1]), lines[:rows]

    def rows(self, most: int) -> list[list[str]]:
        """The first records, each with as many cells as it has."""
        ends = np.cumsum(self.widths[:most]).tolist()
        bounds = [
            self.cells[2 * first : 2 * last].reshape(-1, 2) for first, last in zip([0, *ends], ends, strict=False)
        ]
        return [[self.clean[a:b].tobytes().decode(errors="replace") for a, b in places.tolist()] for places in bounds]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of the same number of cells.

    Attributes:
        source: the file's name in messages; empty for a text in memory.
        clean: uint8, the cells' bytes, each cell followed by a blank.
        cells: int64, where in `clean` each cell begins and ends, record by record.
        width: cells per record.
        lines: int64 (records), the line on which each begins, from 1.
        start: the byte of the text at which `clean` begins.
    """

    source: str
    clean: NDArray[np.uint8]
    cells: NDArray[np.int64]
    width: int
    lines: NDArray[np.int64]
    start: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def bounds(self, column: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where in `clean` the cells of a column begin and end, int64 (records) each."""
        places = self.cells[: 2 * len(self) * self.width].reshape(len(self), self.width, 2)
        return places[:, column, 0], places[:, column, 1]

    def column(self, column: int) -> list[bytes]:
        """The cells of a column."""
        text, (begins, ends) = self.clean.tobytes(), self.bounds(column)
        return [text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    def some(self, column: int, rows: NDArray[np.int64]) -> list[str]:
        """The cells of a column in some rows, as text."""
        begins, ends = self.bounds(column)
        places = zip(begins[rows].tolist(), ends[rows].tolist(), strict=True)
        return [self.clean[begin:end].tobytes().decode(errors="replace") for begin, end in places]

    def rows(self, errors: str = "strict") -> Iterator[list[str]]:
        """The cells of each record as text; `errors` is the mode for cells that are not UTF-8."""
        columns = [[cell.decode(errors=errors) for cell in self.column(k)] for k in range(self.width)]
        return map(list, zip(*columns, strict=True))

    def filled(self) -> "Records":
        """Those with a cell that is not blank: a spreadsheet ends in rows of separators."""
        first = self.clean[self.bounds(0)[0]]  # a blank follows an empty cell
        places = self.cells[: 2 * len(self) * self.width].reshape(len(self), self.width, 2)
        kept = np.ones(len(self), np.bool_)
        for row in np.flatnonzero((first == _BLANK) | (first == _TAB)).tolist():
            kept[row] = any(self.clean[begin:end].tobytes().strip() for begin, end in places[row].tolist())
        return self if kept.all() else replace(self, cells=places[kept].ravel(), lines=self.lines[kept])

    def after(self, count: int) -> "Records":
        """All records but the first ones."""
        return replace(self, cells=self.cells[2 * count * self.width :], lines=self.lines[count:])


def place_of(data: bytes, at_byte: int, first_line: int) -> tuple[int, int]:
    """Line and column of a byte of a text that begins on line `first_line`; columns in bytes, from 1."""
    return first_line + data.count(b"\n", 0, at_byte), at_byte - data.rfind(b"\n", 0, at_byte)


def refuse_nul(data: bytes, first_line: int) -> None:
    """Refuse a text that holds NUL bytes; no text does, but UTF-16 and binary files do.

    Raises:
        Problem: it names the first.
    """
    if (found := data.find(0)) >= 0:
        raise Problem("got a NUL byte, wanted text in UTF-8", *place_of(data, found, first_line))


def names_of(header: Records) -> list[str]:
    """The names in the first record.

    Raises:
        Problem: they are not UTF-8, two are the same, or one holds the end of a line that has no line feed.
    """
    line = int(header.lines[0])
    try:
        names = next(replace(header, lines=header.lines[:1]).rows())
    except UnicodeDecodeError as error:
        got = f"the header is not UTF-8 (byte {error.object[error.start]:#04x})"
        raise Problem(f"{got}, wanted CSV in UTF-8", line) from None
    if any("\r" in name.replace("\r\n", "") for name in names):
        raise Problem("got a carriage return within the header, wanted lines that end with a line feed", line)
    refuse_twice(names, line)
    return names


def first_rows(data: bytes, delimiter: str, most: int) -> list[list[str]]:
    """The first records of a text, however many cells each has, as far as the text can be read."""
    return _Split(data, delimiter).rows(most)


def first_record(data: bytes, delimiter: str, line: int) -> tuple[list[str], int]:
    """The cells of the first record of a text, and its number of bytes, its line feed included.

    Raises:
        Problem: a malformed cell, or no end within 1 MiB; the text begins on line `line` of its source.
    """
    head = data[:_LONGEST_FIRST]
    found = _Split(head, delimiter)
    if len(head) < len(data) and (not len(found.widths) or (len(found.widths) == 1 and found.used == len(head))):
        raise Problem("got a first line of more than 1 MiB, wanted a header or a row", line)
    if not len(found.widths):
        raise Problem(PROBLEMS[found.status], *place_of(data, found.place, line))
    end = data.find(b"\n", found.cells[2 * int(found.widths[0]) - 1])
    return found.rows(1)[0], end + 1 if end >= 0 else len(data)


def read_records(
    source: str | Chunks,
    delimiter: str = ",",
    longest_line: int = LONGEST_LINE,
    check: Callable[[list[str], int], object] | None = None,
) -> Iterator[Records]:
    """The records of a separated text, chunk by chunk; the first one sets the number of cells of a record.

    Args:
        source: path; `.gz` and `.zst` files are unpacked; `-` is standard input. Or chunks of one.
        delimiter: one byte.
        longest_line: bytes; longer lines, and quoted cells that make a record longer, are refused.
        check: called with the cells of the first record and its line, before others are compared with it.

    Raises:
        DataError: a file that cannot be read, a record with too few or too many cells, a malformed cell, a NUL byte.
    """
    chunks = Chunks([source], longest_line=longest_line) if isinstance(source, str) else source
    marks = chain([BYTE_ORDER_MARK], repeat(b""))
    pieces = ((chunk.source, bytes(chunk.data).removeprefix(mark)) for chunk, mark in zip(chunks, marks, strict=False))
    return _records(pieces, delimiter, 1, 0, longest_line, check=check)


def records_in(data: bytes, delimiter: str, start: int = 0, line: int = 1, width: int = 0) -> Iterator[Records]:
    """The records of a text in memory, some of them at a time.

    Args:
        data: the text.
        delimiter: one byte.
        start: the byte at which the records begin.
        line: the number of the line there.
        width: cells of a record; 0: as many as the first one has.

    Raises:
        Problem: as `read_records`, without a source.
    """
    return _records(_of_memory(data, start), delimiter, line, start, LONGEST_LINE, width)


def _of_memory(data: bytes, start: int) -> Iterator[tuple[str, bytes]]:
    while start < len(data):
        stop = data.find(b"\n", start + CHUNK_BYTES) + 1 or len(data)
        yield "", data[start:stop]
        start = stop


def _records(
    pieces: Iterable[tuple[str, bytes]],
    delimiter: str,
    line: int,
    start: int,
    longest_line: int,
    width: int = 0,
    check: Callable[[list[str], int], object] | None = None,
) -> Iterator[Records]:
    """The records of pieces of whole lines, each with its source; a quoted cell may continue in the next piece."""
    left, source, unclosed, place = b"", "", False, 0
    for source, piece in pieces:
        with reading(source):
            if len(left) > longest_line:
                raise Problem(f"{PROBLEMS[UNCLOSED]} in {longest_line} bytes", *place_of(left, place, line))
            data = left + piece
            refuse_nul(data, line)
            found = _Split(data, delimiter)
            if found.status == TRAILING:
                raise Problem(PROBLEMS[TRAILING], *place_of(data, found.place, line))
            widths, lines = found.widths, found.lines + line
            if check is not None and len(widths):
                check(found.rows(1)[0], int(lines[0]))
                check = None
            width = width or (int(widths[0]) if len(widths) else 0)
            if (widths != width).any():
                bad = int(np.argmax(widths != width))
                got = counted(int(widths[bad]), "field")
                raise Problem(f"got {got}, wanted {width} as in the first line", int(lines[bad]), 1)
        if len(lines):
            yield Records(source, found.clean, found.cells, width, lines, start)
        unclosed = found.status == UNCLOSED
        left, place = data[found.used :], found.place - found.used
        line, start = line + found.lines_used, start + found.used
    if unclosed:
        with reading(source):
            raise Problem(PROBLEMS[UNCLOSED], *place_of(left, place, line))
