"""Exports in JSON, JSON lines and archives of them: the tool that wrote a file is recognised by the content."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hutch.crowd.exports.found import Found

Record = dict[str, Any]


@dataclass(frozen=True)
class JsonExport:
    """The export format of one tool.

    Attributes:
        name: of the tool in messages.
        records: the records of a parsed file, each with its place, or None if another tool wrote it. JSON lines are
            given as the list of their values.
        read: adds the labels of the records to those found.
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
