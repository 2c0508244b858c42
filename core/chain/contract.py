"""Checks of the declarations of layers, made where they are used: a plugin's layer may declare anything."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.errors import PluginError, at
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import Deferred

_NAMES = {"importance_to", "sensitivity", "predict_many"}


def width_of(reduction: type[Reduction], parameters: Any) -> int:
    """Number of sub-models of the layer below that it needs.

    Raises:
        PluginError: it does not give a number of at least 1.
    """
    found = reduction.width(parameters)
    if not isinstance(found, int | np.integer) or isinstance(found, bool) or found < 1:
        raise _broken(reduction, "width", repr(found), "a number of sub-models of at least 1")
    return int(found)


def made(reduction: type[Reduction], parameters: Any, context: Context) -> Reduction:
    """A new layer.

    Raises:
        PluginError: its `__init__` leaves out that of `Reduction`, or the class lacks what each must have.
    """
    if missing := sorted(getattr(reduction, "__abstractmethods__", ())):
        raise _broken(reduction, missing[0], "none", "it, as every layer has it")
    layer = reduction(parameters, context)
    if getattr(layer, "context", None) is not context:
        found = "an __init__ that does not call super().__init__(parameters, context)"
        raise _broken(reduction, "__init__", found, "that as its first line")
    return layer


def stride_of(layer: Reduction) -> int:
    """Floats per row of the weight table of a base learner.

    Raises:
        PluginError: it does not give a power of two.
    """
    found = layer.stride
    if not isinstance(found, int | np.integer) or isinstance(found, bool) or found < 1 or found & (found - 1):
        raise _broken(type(layer), "stride", repr(found), "a power of two")
    return int(found)


def kernels_of(layer: Reduction) -> Kernels:
    """The layer's compiled functions.

    Raises:
        PluginError: it gives something else.
    """
    found = layer.kernels
    if not isinstance(found, Kernels):
        raise _broken(type(layer), "kernels", repr(found), "hutch.plugin.Kernels")
    for field in fields(found):
        given = getattr(found, field.name)
        if field.name in ("calls", "self_contained"):
            if not isinstance(given, tuple) or not _NAMES.issuperset(given):
                raise _broken(type(layer), f"kernels.{field.name}", repr(given), f"some of {', '.join(sorted(_NAMES))}")
        elif given is not None and not isinstance(given, AddressKernel):
            if isinstance(given, Deferred):
                code = given.py_func.__code__
                text = f"kernel {code.co_name!r}: got {code.co_argcount} parameters, wanted 5"
                raise PluginError(at(code.co_filename, code.co_firstlineno, None, text))
            raise _broken(type(layer), f"kernels.{field.name}", repr(given), "a function below @kernel")
    return found


def saved_of(layer: Reduction) -> Mapping[str, NDArray[Any]]:
    """The arrays of the layer that belong in a model.

    Raises:
        PluginError: it gives something else, or arrays that no file can hold.
    """
    found = layer.saved()
    if not isinstance(found, Mapping):
        raise _broken(type(layer), "saved", repr(found), "arrays by name")
    for name, array in found.items():
        if not isinstance(array, np.ndarray | np.generic) or array.dtype.hasobject:
            raise _broken(type(layer), f"saved[{name!r}]", repr(array), "an array of numbers")
    return found


def limits_of(layer: Reduction) -> Mapping[str, Limits]:
    """The limits of a layer's saved arrays.

    Raises:
        PluginError: the layer gives something else, or limits of an array that it does not save.
    """
    found = layer.limits()
    if not isinstance(found, Mapping) or not all(isinstance(limits, Limits) for limits in found.values()):
        raise _broken(type(layer), "limits", repr(found), "hutch.plugin.Limits by name")
    for name in found:
        if name not in layer.saved():
            raise _broken(type(layer), "limits", repr(name), f"names of saved(): {', '.join(layer.saved())}")
    return found


def _broken(reduction: type[Reduction], what: str, found: str, wanted: str) -> PluginError:
    place = f"{reduction.__module__}.{reduction.__qualname__}.{what}"
    return PluginError(f"{place} of the layer {reduction.name!r}: got {found[:80]}, wanted {wanted}")
