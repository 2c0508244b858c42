"""The form of a source: a table, with or without a header, or the records of a tool."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hutch.core.data.cells import BYTE_ORDER_MARK, first_record, first_rows, records_in
from hutch.core.errors import DataError, Problem, at
from hutch.core.strict_json import NotJson, loads
from hutch.crowd.data.sides import holds_pairs
from hutch.crowd.data.values import name_of
from hutch.crowd.read.source import Source
from hutch.crowd.read.tools import label_studio, zooniverse
from hutch.crowd.read.tools.table import RECORDS
from hutch.crowd.read.tools.tool import Record, Tool

LINE = re.compile(rb"[^\r\n][^\n]*")
"""A line that is not blank."""
_ARCHIVE = b"PK\x03\x04"
_SAMPLE_BYTES, _SAMPLE_ROWS = 1 << 20, 2000
_SLICES, _SLICE_BYTES, _SLICE_ROWS = (0.3, 0.6, 0.9), 1 << 16, 500
"""Further rows of a large table, from these parts of it: it may be sorted."""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        first: the cells of its first row, which may be a header.
        separator: between cells; a blank stands for any number of blanks.
        start, line: the byte and the line where the first row begins.
        after, after_line: where the second one begins.
        sample: rows after the first.
        records: instead of all these the rows, each with its place in messages; None: of text.
    """

    first: list[str]
    separator: str = ","
    start: int = 0
    line: int = 1
    after: int = 0
    after_line: int = 1
    sample: tuple[list[str], ...] = ()
    records: list[tuple[str, list[str]]] | None = None


@dataclass(frozen=True)
class Export:
    """The records of a tool's export.

    Attributes:
        tool: that wrote it.
        parts: of an archive, each with the name of its worker, and its records, each with its place in messages.
    """

    tool: Tool
    parts: list[tuple[str, list[tuple[str, Record]]]]


Form = Table | Export


def form_of(source: Source) -> Form | None:
    """The form of a source, or of its first piece; None for a blank one.

    Raises:
        DataError: JSON of no known tool, or malformed.
    """
    if is_json(source.data):
        return _of_json(source)
    table = table_of(source.data, 3, source.line)
    if table and zooniverse.TOOL.records([dict.fromkeys(table.first)]):
        rows = records_in(source.data, table.separator, table.after, table.after_line, len(table.first))
        records = [
            (f"line {line}", dict(zip(table.first, row, strict=True)))
            for each in rows
            for line, row in zip(each.lines.tolist(), each.rows("replace"), strict=True)
        ]
        return Export(zooniverse.TOOL, [("", records)])
    return table


def is_json(data: bytes) -> bool:
    """Whether a file looks like JSON, JSON lines or an archive, and not like separated text."""
    return data.startswith(_ARCHIVE) or re.match(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*(?:[\[{]|\]\s*$))", data) is not None


def table_of(data: bytes, roles: int, first: int = 1) -> Table | None:
    """The first row of a text, and some of the others; None for a blank text.

    Spreadsheets also write `sep=;` above it.

    Args:
        data: the text, UTF-8.
        roles: a row has at least so many cells if it can be cut so.
        first: the number of its first line.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    row = LINE.search(data, start)
    told = re.fullmatch(rb"sep=([\t,;|])\r?", row.group(), re.IGNORECASE) if row else None
    if row and told:
        row = LINE.search(data, row.end())
    if row is None:
        return None
    text = data[row.start() : row.start() + _SLICE_BYTES]
    separator = _separator(text, row.group(), roles) if told is None else told[1].decode()
    line = data.count(b"\n", 0, row.start()) + first
    if separator == " ":
        fields, after = row.group().decode(errors="replace").split(), row.end()
        rows = _split_at_blanks(data[after : after + _SAMPLE_BYTES])[:_SAMPLE_ROWS]
        kept = tuple(cells for cells in rows if len(cells) == len(fields))
        return Table(fields, separator, row.start(), line, after, line, kept)
    fields, size = first_record(data[row.start() :], separator, line)
    if any("\r" in cell.replace("\r\n", "") for cell in fields):
        raise Problem("got a carriage return within the first row, wanted lines that end with a line feed", line)
    after = row.start() + size
    return Table(
        fields, separator, row.start(), line, after, line + data.count(b"\n", row.start(), after),
        tuple(cells for cells in _sample(data, after, separator) if len(cells) == len(fields)),
    )  # fmt: skip


def _separator(text: bytes, line: bytes, roles: int) -> str:
    """The separator of the cells of a text that begins with a line.

    A line with `roles` cells between tabs, or with more tabs than semicolons and commas, is separated by tabs, one with
    so many between semicolons by those if there are fewer commas, any other by commas; unless another separator gives
    all rows as many cells, and this one does not.
    """
    tabs, semicolons, commas = (line.count(sign) for sign in (b"\t", b";", b","))
    tabbed = tabs >= roles - 1 or tabs > semicolons + commas
    usual = "\t" if tabbed else ";" if semicolons >= roles - 1 > commas else ","
    found = {}
    for separator in [usual, "\t", ";", ",", "|", " "]:
        rows = _split_at_blanks(text) if separator == " " else first_rows(text, separator, 200)
        widths = {len(cells) for cells in rows[:-1] or rows}
        if len(widths) == 1:
            found[separator] = widths.pop()
    enough = [separator for separator, width in found.items() if width >= roles]
    some = [separator for separator, width in found.items() if width > 1]
    return next(iter([*enough, *([] if line.count(usual.encode()) else some), usual]))


def _split_at_blanks(text: bytes) -> list[list[str]]:
    return [line.split() for line in text.decode(errors="replace").splitlines() if line.strip()]


def without_runs(data: bytes) -> bytes:
    """A text with one blank where there are several, and none at the ends of lines."""
    return re.sub(rb"(?m)^ +| +(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", data))


def _sample(data: bytes, after: int, separator: str) -> list[list[str]]:
    """Rows from the beginning of a table, and of a large one also from further below."""
    rows = first_rows(data[after : after + _SAMPLE_BYTES], separator, _SAMPLE_ROWS)
    if len(data) - after < _SAMPLE_BYTES:
        return rows
    rows.pop()  # it may be cut off
    for share in _SLICES:
        begin = data.find(b"\n", after + int(share * (len(data) - after))) + 1
        rows += first_rows(data[begin : begin + _SLICE_BYTES], separator, _SLICE_ROWS)[1:-1]
    return rows


def _of_json(source: Source) -> Form | None:
    """The records of JSON, JSON lines or an archive of them; flat ones are a table."""
    tool, parts = None, []
    for worker, value, unit in parts_of(source):
        if value == []:
            continue
        found = next(((each, records) for each in RECORDS if (records := each.records(value)) is not None), None)
        records = found[1] if found else _flat(value)
        if records is None:
            if value and isinstance(value, list) and isinstance(value[0], dict) and holds_pairs(list(value[0])):
                got = f"{unit} 1: got {', '.join(value[0])}"
                raise Problem(f"{got}: votes on pairs need --pairs, in Python hutch.preferences")
            names = ", ".join(dict.fromkeys(each.name for each in RECORDS))
            raise Problem(f"got JSON of another kind, wanted an export of {names}, or a list of flat records")
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict):
                raise Problem(f"{unit} {number}: got a JSON {type(record).__name__}, wanted an object")
        tool = found[0] if found else None
        parts.append((worker, [(f"{unit} {number}", record) for number, record in enumerate(records, 1)]))
    if tool:
        return Export(tool, parts)
    if not parts:
        return None
    rows = [row for _, records in parts for row in records]
    fields = list(dict.fromkeys(key for _, record in rows for key in record))
    cells = [(place, [name_of(record.get(key)) for key in fields]) for place, record in rows]
    return Table(fields, sample=tuple(row for _, row in cells[:_SAMPLE_ROWS]), records=cells)


def _flat(value: Any) -> list[Any] | None:
    """Records without lists or records in them; pairs, as pigeon has them, are tasks and labels."""
    records = value if isinstance(value, list) else [value]
    if records and all(isinstance(each, list) and len(each) == 2 for each in records):
        return [{"task": task, "label": label} for task, label in records]
    first = records[0] if records and isinstance(records[0], dict) else {}
    return records if first and not any(isinstance(each, dict | list) for each in first.values()) else None


def read_votes(source: Source) -> list[tuple[str | int, Record]]:
    """The votes on pairs of a JSON file, each with its place: Label Studio's `Pairwise`, or an object for each vote.

    Args:
        source: the file; the line of a vote is its place in JSON lines.

    Raises:
        DataError: it is not JSON.
        Problem: its content is something else.
    """
    found: list[tuple[str | int, Record]] = []
    for _, values, unit in parts_of(source):
        tasks = label_studio.TOOL.records(values)
        votes = values if tasks is None else label_studio.pairwise_records(tasks)
        for number, vote in enumerate(votes if isinstance(votes, list) else [votes], 1):
            if not isinstance(vote, dict):
                raise Problem(f"{unit} {number}: got a JSON {type(vote).__name__}, wanted an object")
            found.append((number if unit == "line" else f"{unit} {number}", vote))
    return found


def parts_of(source: Source) -> list[tuple[str, Any, str]]:
    """The (worker, parsed text, unit of places) of a file, or of each file in an archive."""
    if not source.data.startswith(_ARCHIVE):
        return [("", *_parsed(source.data, source.name))]
    from hutch.crowd.read.archive import texts_in  # not at the top: it imports what unpacks

    texts = texts_in(source.data)
    if any(name.startswith("samples/") for name in texts):
        values = [loads(text, f"{source.name}/{name}") for name, text in texts.items()]
        return [("", {"eval": {}, "samples": values}, "sample")]
    if not texts:
        raise Problem("got an archive without JSON, wanted .json or .jsonl files in it")
    return [
        (PurePath(name).stem, value, f"{name}: {unit}")
        for name, text in texts.items()
        if text.strip()
        for value, unit in [_parsed(text, f"{source.name}/{name}")]
    ]


def _parsed(data: bytes, source: str) -> tuple[Any, str]:
    """A text's value, and the name of a place in it; JSON lines are the list of their values."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(at(source, None, None, "not JSON: got bytes that are not UTF-8")) from None
    try:
        return loads(text, source), "record"
    except NotJson:
        if not text.lstrip().startswith("{"):
            raise
    return [loads(line, source, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()], "line"
