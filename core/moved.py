"""Modules that stand elsewhere now; the old names that documentation showed work until version 0.2."""

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any, cast

KEPT = {"hutch.core.dyad": "hutch.reductions.dyadic.dyad"}
"""Names that stay, beside the place where the code is."""

MOVED = {
    "hutch.core.abi": "hutch.core.kernel.abi",
    "hutch.core.constraint": "hutch.em.constrained.record",
    "hutch.core.hashing": "hutch.core.text.hashing",
    "hutch.core.kernel_cache": "hutch.core.kernel.cache",
    "hutch.core.kernel_helper": "hutch.core.kernel.decorators",
    "hutch.core.loss_kernels": "hutch.core.loss.kernels",
    "hutch.core.losses": "hutch.core.loss.losses",
    "hutch.core.model_file": "hutch.core.chain.model_file",
    "hutch.core.progress": "hutch.core.run.progress",
    "hutch.core.reduction": "hutch.core.chain.reduction",
    "hutch.core.registry": "hutch.core.chain.registry",
    "hutch.core.roles": "hutch.core.data.roles",
    "hutch.core.sources": "hutch.core.data.sources",
    "hutch.core.text_parser": "hutch.core.text.parser",
    "hutch.crowd.labels": "hutch.crowd.data.labels",
    "hutch.crowd.model": "hutch.crowd.models.model",
    "hutch.crowd.two_level": "hutch.crowd.models.two_level",
    "hutch.em.counts": "hutch.em.base.counts",
    "hutch.em.model": "hutch.em.base.model",
    "hutch.em.natural": "hutch.em.constrained.natural",
    "hutch.em.natural_class": "hutch.em.constrained.natural_class",
}
"""Old name -> new name, each import of the old one a DeprecationWarning."""


def current(name: str) -> str:
    """The present name of a module."""
    return KEPT.get(name) or MOVED.get(name, name)


def _warn(old: str, new: str) -> None:
    """Warn the line that imports; Python passes over the frames of its own machinery."""
    text = f"{old} is now {new}; plugins import hutch.plugin; the old name goes in version 0.2"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def names_of(package: str, module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that was a module: what that defined is found in one of its modules now."""

    def find(name: str) -> Any:
        if name.startswith("__") or not hasattr(import_module(module), name):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        _warn(f"{package}.{name}", f"{module}.{name}")
        return getattr(import_module(module), name)

    return find


class _Alias:  # a loader; importlib.abc, whose classes say so, takes long to import
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(current(spec.name))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already, under the name that its own spec gives it."""
        module.__spec__ = self._own


class _Finder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in MOVED:
            _warn(fullname, MOVED[fullname])
        elif fullname not in KEPT:
            return None
        return spec_from_loader(fullname, cast(Any, _Alias()))


def install() -> None:
    """Let Python find modules by their old names; done when `hutch.core` is imported."""
    sys.meta_path.append(_Finder())


class DefinedIn:
    """The `Parameters` of a reduction that lie in another module; parameters now cost nothing in its own file.

    Args:
        place: `module:name`.
    """

    def __init__(self, place: str) -> None:
        text = f"DefinedIn({place!r}): import the class itself; DefinedIn goes in version 0.2"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        self._module, _, self._name = place.partition(":")

    def __get__(self, instance: Any, owner: Any) -> Any:
        return getattr(import_module(self._module), self._name)
