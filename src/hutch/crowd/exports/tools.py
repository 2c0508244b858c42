"""The supported exports, in the order in which they are tried; the first that recognises a file's content reads it."""

from pathlib import PurePath
from typing import Any

from hutch.core.errors import DataError, Problem, at
from hutch.core.strict_json import NotJson, loads
from hutch.crowd.exports import (
    argilla,
    deepeval,
    doccano,
    inspect_ai,
    label_studio,
    lm_eval,
    mturk,
    prodigy,
    promptfoo,
    records,
    toloka,
    wide,
)
from hutch.crowd.exports.found import Columns, Found
from hutch.crowd.exports.json_export import JsonExport
from hutch.crowd.exports.sheet import SheetFinder

JSON_EXPORTS: tuple[JsonExport, ...] = (
    label_studio.EXPORT,
    label_studio.MINIMAL,
    prodigy.EXPORT,
    argilla.EXPORT,
    promptfoo.EXPORT,
    inspect_ai.EXPORT,
    deepeval.EXPORT,
    lm_eval.EXPORT,
    records.EXPORT,
    doccano.EXPORT,
)
"""Tools that write JSON, JSON lines or archives of them."""

SHEETS: tuple[SheetFinder, ...] = (toloka.sheet, mturk.sheet, label_studio.sheet, wide.sheet)
"""Tools that write separated text with a header; a plain table is tried last."""


def read_json(data: bytes, source: str, columns: Columns) -> tuple[str, Found]:
    """The labels of an export.

    Args:
        data: the file.
        source: its name in messages.
        columns: the requested ones.

    Returns:
        The name of the tool, and the labels found.

    Raises:
        DataError: it is not JSON, or of no known tool.
    """
    found, tool = Found(columns), ""
    for worker, values, unit in _parts(data, source):
        if values == []:
            continue
        for export in JSON_EXPORTS:
            records = export.records(values)
            if records is not None:
                break
        else:
            names = ", ".join(dict.fromkeys(each.name for each in JSON_EXPORTS))
            raise Problem(f"got JSON of another kind, wanted an export of {names}")
        for number, record in enumerate(records, 1):
            if not isinstance(record, dict):
                raise Problem(f"{unit} {number}: got a JSON {type(record).__name__}, wanted an object")
        found.worker, tool = worker, export.name
        export.read([(f"{unit} {number}", record) for number, record in enumerate(records, 1)], found)
    return tool, found


def read_votes(data: bytes, source: str) -> list[tuple[str | int, dict[str, Any]]]:
    """The votes on pairs of a JSON file, each with its place: Label Studio's `Pairwise`, or an object for each vote.

    Args:
        data: the file; the line of a vote is its place in JSON lines.
        source: its name in messages.

    Raises:
        DataError: it is not JSON.
        Problem: its content is something else.
    """
    found: list[tuple[str | int, dict[str, Any]]] = []
    for _, values, unit in _parts(data, source):
        tasks = label_studio.EXPORT.records(values)
        votes = values if tasks is None else label_studio.pairwise_records(tasks)
        for number, vote in enumerate(votes if isinstance(votes, list) else [votes], 1):
            if not isinstance(vote, dict):
                raise Problem(f"{unit} {number}: got a JSON {type(vote).__name__}, wanted an object")
            found.append((number if unit == "line" else f"{unit} {number}", vote))
    return found


def _parts(data: bytes, source: str) -> list[tuple[str, Any, str]]:
    """The (worker, parsed text, unit of places) of a file, or of each file in an archive."""
    if not data.startswith(b"PK\x03\x04"):
        return [("", *_parsed(data, source))]
    from hutch.crowd.exports.archive import texts_in  # not at the top: it imports what unpacks

    texts = texts_in(data)
    if any(name.startswith("samples/") for name in texts):
        values = [loads(text, f"{source}/{name}") for name, text in texts.items()]
        return [("", {"eval": {}, "samples": values}, "sample")]
    if not texts:
        raise Problem("got an archive without JSON, wanted .json or .jsonl files in it")
    return [
        (PurePath(name).stem, value, f"{name}: {unit}")
        for name, text in texts.items()
        if text.strip()
        for value, unit in [_parsed(text, f"{source}/{name}")]
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
