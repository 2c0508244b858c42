"""The saved state of a chain: the live arrays by their names in a model file, their limits, and how to restore them."""

from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from hutch.core.chain.build import Stack
from hutch.core.chain.contract import limits_of, saved_of
from hutch.core.chain.limits import SHARED_LIMITS, Limits, check_arrays
from hutch.core.chain.reduction import Reduction
from hutch.core.chain.stored import Stored, copy_into
from hutch.core.kernel.abi import SHARED

_ADDRESSES = ("weights",)


def arrays_of(stack: Stack) -> dict[str, NDArray[Any]]:
    """Everything that a model file must hold, by name; the arrays are the live ones."""
    found: dict[str, NDArray[Any]] = {"weights": stack.weights}
    for name in SHARED.names or ():
        if name not in _ADDRESSES:
            found[f"shared.{name}"] = stack.shared[name]
    for k, layer in enumerate(stack.layers):
        for name, array in saved_of(layer).items():
            found[f"layer.{k}.{layer.name}.{name}"] = array
    return found


def limits_of_arrays(stack: Stack) -> dict[str, Limits]:
    """The limits of these arrays, by name."""
    found = {f"shared.{name}": limits for name, limits in SHARED_LIMITS.items()}
    for k, layer in enumerate(stack.layers):
        found |= {f"layer.{k}.{layer.name}.{name}": limits for name, limits in limits_of(layer).items()}
    return found


def restore(stack: Stack, arrays: Mapping[str, Stored]) -> None:
    """Copy a model's arrays into a chain, if all are valid; else it stays unchanged.

    Raises:
        ModelError: an array is missing, unknown, of another type or shape, or has values that no chain learns.
    """
    check_arrays(arrays, arrays_of(stack), limits_of_arrays(stack))
    for layer, own in _by_layer(stack, arrays):
        layer.check_saved(own)
    for layer, own in _by_layer(stack, arrays):
        layer.loading(own)
    for name, live in arrays_of(stack).items():
        copy_into(live, arrays[name])
    for layer in stack.layers:
        layer.loaded()


def _by_layer(stack: Stack, arrays: Mapping[str, Stored]) -> Iterator[tuple[Reduction, dict[str, Stored]]]:
    """Each layer with its own arrays under its own names for them."""
    for k, layer in enumerate(stack.layers):
        prefix = f"layer.{k}.{layer.name}."
        yield layer, {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
