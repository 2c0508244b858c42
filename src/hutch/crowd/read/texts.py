"""The texts of items, for reports that show them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hutch.core.data.cells import records_in
from hutch.core.data.json_lines import json_objects
from hutch.core.errors import Problem, counted, reading, shortened
from hutch.crowd.data.known import key_of, places_of, usual_of
from hutch.crowd.read.form import is_json, table_of
from hutch.crowd.read.source import called, read_source

TEXTS = (
    "text",
    "content",
    "body",
    "message",
    "document",
    "sentence",
    "prompt",
    "question",
    "input",
    "title",
    "comment",
)
"""Names of the column of texts, without case, blanks, `-` and `_`; the first that is there counts."""


def read_texts(path: str | Path, items: Sequence[str], encoding: str = "") -> tuple[dict[str, str], str]:
    """Read the texts of items.

    Args:
        path: a table with a header, or JSON lines: a column of ids and one of texts, which is called `text` or the
            like; of two columns, the one beside the ids. Text, compressed, or Parquet. An item may have several rows.
        items: names of the items that are wanted.
        encoding: of the text, such as cp1252; empty: UTF-8.

    Returns:
        text by item; what to say of items without one, empty if all have one.

    Raises:
        DataError: the file cannot be read, it has no such columns, an item has two texts, or no item has one.
    """
    wanted, found = set(items), dict[str, str]()
    first = ""
    with reading(called(path)):
        for line, item, text in _rows(path, encoding):
            first = first or item
            if item not in wanted or not text:
                continue
            if found.setdefault(item, text) != text:
                raise Problem(f"item {item!r}: got two different texts, wanted one", line)
        if items and not found:
            raise Problem(f"got no text of any item: its first id is {first!r}, the first item {items[0]!r}")
    missing = len(wanted) - len(found)
    return found, f"{called(path)}: no text of {counted(missing, 'item')}" if missing else ""


def _rows(path: str | Path, encoding: str) -> Iterator[tuple[int, str, str]]:
    """Line, id and text of each row."""
    source = read_source(path, encoding)
    if is_json(source.data):
        names: tuple[str, str] | None = None
        for line, record in json_objects(str(path)):
            names = names or _columns([*record], line)
            item, text = (_plain(record.get(name)) for name in names)
            yield line, item, text
        return
    table = table_of(source.data, 2, source.line)
    if table is None:
        return
    at = [table.first.index(name) for name in _columns(table.first, table.line)]
    for part in records_in(source.data, table.separator, table.after, table.after_line, len(table.first)):
        for line, row in zip(part.lines.tolist(), part.rows("replace"), strict=True):
            yield line, row[at[0]].strip(), row[at[1]].strip()


def _columns(names: Sequence[str], line: int) -> tuple[str, str]:
    """The columns of ids and of texts.

    Raises:
        Problem: there are none.
    """
    keys = [key_of(name) for name in names]
    texts = [keys.index(key) for key in TEXTS if key in keys]
    if len(names) == 1 or not texts and len(names) > 2:
        shown = ", ".join(names)
        raise Problem(f"got the columns {shortened(shown, 80)}, wanted a header with an id and a text", line, 1)
    ids = [place for place in (*usual_of(names, "task"), *places_of(names, "task")) if [place] != texts[:1]]
    if len(names) == 2:
        beside = ids[0] if ids else 1 - texts[0] if texts else 0
        return names[beside], names[1 - beside]
    if not ids:
        raise Problem(f"got the columns {', '.join(names)}, wanted one of ids, such as id or item", line, 1)
    return names[ids[0]], names[texts[0]]


def _plain(value: Any) -> str:
    return "" if value is None else str(value).strip()
