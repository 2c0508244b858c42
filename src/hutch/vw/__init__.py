"""Vowpal Wabbit's command line, its reports, its formats and its Python interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hutch.vw.merging import merge_models
    from hutch.vw.python.example import Example
    from hutch.vw.python.kinds import CCBLabelType, LabelType, PredictionType, SlatesLabelType
    from hutch.vw.python.labels import (
        AbstractLabel,
        ActionScore,
        CBEvalLabel,
        CBLabel,
        CBLabelElement,
        CCBLabel,
        CCBSlotOutcome,
        CostSensitiveElement,
        CostSensitiveLabel,
        MulticlassLabel,
        MulticlassProbabilitiesLabel,
        SimpleLabel,
        SlatesLabel,
    )
    from hutch.vw.python.spaces import ExampleNamespace, NamespaceId
    from hutch.vw.workspace import Workspace

__all__ = [
    "AbstractLabel",
    "ActionScore",
    "CBEvalLabel",
    "CBLabel",
    "CBLabelElement",
    "CCBLabel",
    "CCBLabelType",
    "CCBSlotOutcome",
    "CostSensitiveElement",
    "CostSensitiveLabel",
    "Example",
    "ExampleNamespace",
    "LabelType",
    "MulticlassLabel",
    "MulticlassProbabilitiesLabel",
    "NamespaceId",
    "PredictionType",
    "SimpleLabel",
    "SlatesLabel",
    "SlatesLabelType",
    "Workspace",
    "merge_models",
]
_KINDS = ("CCBLabelType", "LabelType", "PredictionType", "SlatesLabelType")
_PLACES = {
    "Workspace": "workspace",
    "merge_models": "merging",
    "Example": "python.example",
    "ExampleNamespace": "python.spaces",
    "NamespaceId": "python.spaces",
} | dict.fromkeys(_KINDS, "python.kinds")
"""The modules of the names; labels are those of no other."""


def __getattr__(name: str) -> Any:
    """Names of the Python interface, imported when first asked for: the command line needs none of them."""
    if name in ("dftovw", "pyvw", "sklearn", "version"):
        return import_module(f"hutch.vw.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'hutch.vw' has no attribute {name!r}")
    return getattr(import_module(f"hutch.vw.{_PLACES.get(name, 'python.labels')}"), name)
