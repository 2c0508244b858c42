"""Exports in JSON, JSON lines and archives of them: which tool wrote a file is found by what is in it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hutch.core.errors import DataError, at
from hutch.core.strict_json import NotJson, loads
from hutch.crowd.exports.found import Columns, Found

Record = dict[str, Any]


@dataclass(frozen=True)
class JsonExport:
    """What one tool exports.

    Attributes:
        name: of the tool, as messages have it.
        records: the records of a parsed file, each with its place, or None if another tool wrote it. JSON lines are
            given as the list of their values.
        read: adds the labels of the records to what was found.
    """

    name: str
    records: Callable[[Any], list[Any] | None]
    read: Callable[[list[tuple[str, Any]], Found], None]


def first_record(value: Any) -> Record:
    """The first record of a list of objects; empty for anything else."""
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, dict) else {}


def is_json(data: bytes) -> bool:
    """Whether a file looks like JSON, JSON lines or an archive, and not like separated text."""
    return (
        data.startswith(b"PK\x03\x04")
        or re.match(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*(?:[\[{]|\]\s*$))", data) is not None
    )


def read_json(data: bytes, source: str, columns: Columns) -> tuple[str, Found]:
    """The labels of an export.

    Args:
        data: the file.
        source: its name in messages.
        columns: those wanted.

    Returns:
        The name of the tool, and what was found.

    Raises:
        DataError: it is not JSON, or of no tool that is known.
    """
    from hutch.crowd.exports.tools import JSON_EXPORTS

    found, tool = Found(source, columns), ""
    for worker, values, unit in _parts(data, source):
        if values == []:
            continue
        for export in JSON_EXPORTS:
            records = export.records(values)
            if records is not None:
                break
        else:
            names = ", ".join(dict.fromkeys(each.name for each in JSON_EXPORTS))
            raise DataError(at(source, None, None, f"got JSON of another kind, wanted an export of {names}"))
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict):
                text = f"{unit} {number}: got a JSON {type(record).__name__}, wanted an object"
                raise DataError(at(source, None, None, text))
        found.worker, tool = worker, export.name
        export.read([(f"{unit} {number}", record) for number, record in enumerate(records, 1)], found)
    return tool, found


def _parts(data: bytes, source: str) -> list[tuple[str, Any, str]]:
    """The (worker, parsed text, unit of places) of a file, or of each file in an archive."""
    if not data.startswith(b"PK\x03\x04"):
        return [("", *_parsed(data, source))]
    from hutch.crowd.exports.archive import texts_in  # not at the top: it imports what unpacks

    texts = texts_in(data, source)
    if any(name.startswith("samples/") for name in texts):
        values = [loads(text, f"{source}/{name}") for name, text in texts.items()]
        return [("", {"eval": {}, "samples": values}, "sample")]
    if not texts:
        raise DataError(at(source, None, None, "got an archive without JSON, wanted .json or .jsonl files in it"))
    return [
        (PurePath(name).stem, value, f"{name}: {unit}")
        for name, text in texts.items()
        if text.strip()
        for value, unit in [_parsed(text, f"{source}/{name}")]
    ]


def _parsed(data: bytes, source: str) -> tuple[Any, str]:
    """A text's value and what a place in it is called; JSON lines are the list of their values."""
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
