"""Packages that can be called, so that `hutch.crowd(labels)` works beside `from hutch.crowd.models import ...`."""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that is called like the function of its name.

    Source: Python's data model, "Customizing module attribute access": a module's class may be set.
    """

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call the function."""
        return self._function()(*given, **options)

    @property
    def __signature__(self) -> Signature:
        """That of the function, for `help` and editors."""
        return signature(self._function())

    def _function(self) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(f"hutch.functions.{name}"), name)


def make_callable(package: str) -> None:
    """Let a package be called.

    Args:
        package: its name; `hutch.functions` has a module and a function of its last part.
    """
    sys.modules[package].__class__ = CallablePackage
