"""Documents, as records of a table or of a labelling tool, and their lines.

For a chain, the line of a record equals a table's row: numbers and words in the anonymous namespace, the words of a
text in a namespace of its column's name.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hutch.core.data.arrow_files import ENDINGS as COLUMNS
from hutch.core.data.arrow_files import opened_columns
from hutch.core.data.cells import names_of, read_records
from hutch.core.data.csv import DELIMITERS
from hutch.core.data.files import TABLES, ending_of
from hutch.core.data.json_lines import json_objects
from hutch.core.data.roles import Roles
from hutch.core.data.words import words_of
from hutch.core.errors import UsageError, did_you_mean, reading

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_SPECIAL = re.compile(r"[\s:|]+")
_LONG = 4
"""A text has more words than that; shorter ones are one word."""

Document = dict[str, Any]


def line_of(document: Mapping[str, Any], roles: Roles | None = None, tag: str = "") -> str:
    """The unlabelled line of a document.

    Args:
        document: its fields; those that are not numbers, words or texts are left out.
        roles: which fields are texts, which are not features; any field with more than four words is a text, too.
        tag: of the line.

    >>> line_of({"id": "7", "stars": 4, "city": "New York", "note": "So it is: late and lost."}, Roles(tag="id"), "7")
    "'7| stars:4 city:New_York |note so it is late and lost"
    """
    roles = roles or Roles()
    left_out = {roles.key(role) for role in ("label", "importance", "base", "tag", "group")} | set(
        map(str, roles.ignore)
    )
    plain, texts = [], []
    for name, value in document.items():
        if name in left_out or isinstance(value, bool | dict | list) or value is None or value == "":
            continue
        name = _SPECIAL.sub("_", name)
        if isinstance(value, str) and not _NUMBER.match(value):
            if name in map(str, roles.text) or len(value.split()) > _LONG:
                texts.append(f"|{name} {' '.join(words_of(value))}")
            else:
                plain.append(f"{name}:{_SPECIAL.sub('_', value.strip())}")
        else:
            plain.append(f"{name}:{float(value):.9g}")
    line = " ".join(([f"| {' '.join(plain)}"] if plain else []) + texts) or "|"
    return f"'{_SPECIAL.sub('_', tag)}{line}" if tag else line


def check_shown(names: Sequence[str], columns: Collection[str]) -> None:
    """Check that documents have the columns to show.

    Raises:
        UsageError: there are columns, and a name is not among them.
    """
    for name in names if columns else ():
        if name not in columns:
            raise UsageError(f"--show: no column {name!r}; {did_you_mean(name, columns)}")


def is_table(path: str) -> bool:
    """Whether a pool is a file of records, and not of lines."""
    return ending_of(path) in TABLES


def is_blank(document: Document) -> bool:
    """Whether a record has no field that is not blank, as rows at the end of a spreadsheet; nobody is asked about it.

    >>> is_blank({"id": " ", "text": None}), is_blank({"id": "", "size": 0})
    (True, False)
    """
    return all(value is None or (isinstance(value, str) and not value.strip()) for value in document.values())


def read_documents(path: str) -> Iterator[Document]:
    """The records of a file of one of the kinds of `TABLES`.

    Raises:
        DataError: it cannot be read.
    """
    ending = ending_of(path)
    if ending in COLUMNS:
        with opened_columns(path, ending) as (_, pieces):
            for piece in pieces:
                yield from piece.to_pylist()
        return
    if ending in (".jsonl", ".ndjson"):
        yield from (found for _, found in json_objects(path))
        return
    names: list[str] = []
    for records in read_records(path, DELIMITERS[ending]):
        rows = records.after(0 if names else 1).rows("replace")
        with reading(path):
            names = names or names_of(records)
        yield from (dict(zip(names, row, strict=True)) for row in rows)
