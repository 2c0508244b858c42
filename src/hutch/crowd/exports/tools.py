"""The exports that are read, in the order in which they are tried."""

from hutch.crowd.exports import (
    argilla,
    deepeval,
    doccano,
    inspect_ai,
    label_studio,
    mturk,
    prodigy,
    promptfoo,
    records,
    toloka,
    wide,
)
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
    records.EXPORT,
    doccano.EXPORT,
)
"""Tools that write JSON, JSON lines or archives of them."""

SHEETS: tuple[SheetFinder, ...] = (toloka.sheet, mturk.sheet, label_studio.sheet, wide.sheet)
"""Tools that write separated text with a header; a plain table is tried last."""
