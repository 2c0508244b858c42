"""Vowpal Wabbit's command line, its reports, its formats and its Python interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hutch.vw.example import Example, LabelType, PredictionType
    from hutch.vw.workspace import Workspace

__all__ = ["Example", "LabelType", "PredictionType", "Workspace"]


def __getattr__(name: str) -> Any:
    """Names of the Python interface, imported when first asked for: the command line needs none of them."""
    if name in ("dftovw", "pyvw", "sklearn"):
        return import_module(f"hutch.vw.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'hutch.vw' has no attribute {name!r}")
    return getattr(import_module(f"hutch.vw.{'workspace' if name == 'Workspace' else 'example'}"), name)
