"""The supported exports, in the order in which they are tried; the first that recognises a file's content reads it."""

from hutch.crowd.read.tools import (
    appen,
    argilla,
    deepeval,
    doccano,
    forms,
    inspect_ai,
    label_studio,
    lm_eval,
    mturk,
    potato,
    prodigy,
    promptfoo,
    toloka,
    zooniverse,
)
from hutch.crowd.read.tools.tool import PlacesFinder, Tool

RECORDS: tuple[Tool, ...] = (
    label_studio.TOOL,
    label_studio.MINIMAL,
    prodigy.TOOL,
    argilla.TOOL,
    promptfoo.TOOL,
    inspect_ai.TOOL,
    deepeval.TOOL,
    lm_eval.TOOL,
    potato.TOOL,
    zooniverse.TOOL,
    doccano.TOOL,
)
"""Tools that write JSON, JSON lines, archives of them, or tables with JSON in their cells."""

SHEETS: tuple[PlacesFinder, ...] = (toloka.places, mturk.places, label_studio.places, appen.places, forms.places)
"""Tools that write separated text with a header; any other table is read by its values."""
