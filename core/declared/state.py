"""The state of a layer, declared once: kernels see its parameters as numbers and its arrays as arrays.

A `State` is the record's dtype, the view that kernels have of it, and how a new record is made, all from one
declaration. The record begins with `HEADER`, which the kernels of `hutch.core.declared.outcome` read.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.limits import ANY, FINITE, Limits
from hutch.core.declared.view import Place, state_at, view_of
from hutch.core.errors import did_you_mean
from hutch.core.kernel.abi import state_of
from hutch.core.kernel.decorators import Intrinsic
from hutch.core.kernel.record import Record

Size = int | str | Callable[[Any], int]
"""A number, the name of a parameter that has it, or a function of the parameters."""

HEADER = np.dtype(
    [
        ("span", "u8"),  # rows of the weight table from one sub-model of this layer to the next
        ("learn", "u8"),  # address of the layer's own kernel, of which `outcome` takes the prediction
        ("predict", "u8"),
        ("loss", "u8"),  # address of a LOSS record; 0: a loss of 1 for a wrong prediction
        ("classes", "u8"),  # labels are classes up to this one; 0: any number
        ("widens", "u8"),  # 1: it stands at the bottom, and its labels widen the range of labels that the run knows
        ("scores", "u8"),  # address of float32[score_count]; 0: it has no scores
        ("score_count", "u8"),
    ]
)
header_of = state_of(HEADER)


class Array:
    """An array of a layer's state.

    Args:
        dtype: of its numbers, such as "f4" (float32), "f8", "i8".
        shape: sizes of its axes; none: one number, which kernels reach at index 0.
        first: gives the values it begins with, from the parameters and a random generator made of the run's seed; it
            may have fewer axes, as in NumPy. None: zeros.
        learned: it changes as the layer learns: each sub-model of the layer has one of its own, and models keep it.
            False: it belongs to no sub-model, and is made anew when a model is loaded.
        limits: of a learned array, what a model may hold; None: finite numbers, and any whole number.

    >>> Array("f4", "classes", 3).sizes({"classes": 2})
    (2, 3)
    """

    def __init__(
        self,
        dtype: str,
        *shape: Size,
        first: Callable[[Any, np.random.Generator], Any] | None = None,
        learned: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype.kind not in "iuf" or not self.dtype.isnative:
            raise TypeError(f"Array: got the dtype {dtype!r}, wanted one of numbers, such as 'f4' or 'i8'")
        self.shape = shape
        self.first, self.learned = first, learned
        self.limits = limits or (FINITE if self.dtype.kind == "f" else ANY)

    @property
    def axes(self) -> int:
        """How many axes kernels see."""
        return len(self.shape) or 1

    def sizes(self, parameters: Any) -> tuple[int, ...]:
        """Its shape under these parameters, without sub-models; empty for one number."""
        return tuple(size_of(size, parameters) for size in self.shape)

    def made(self, parameters: Any, submodels: int, random: np.random.Generator) -> NDArray[Any]:
        """A new array."""
        shape = self.sizes(parameters)
        found: NDArray[Any] = np.zeros((submodels, *shape) if self.learned else shape or 1, self.dtype)
        if self.first is None:
            return found
        values = self.first(parameters, random)
        try:
            found[...] = values
        except ValueError as error:
            raise TypeError(f"first: got values of shape {np.shape(values)}, wanted {shape or 'one number'}") from error
        return found


def size_of(size: Size, parameters: Any) -> int:
    """A size under these parameters, which are attributes, or items of a mapping."""
    if isinstance(size, str):
        size = parameters[size] if isinstance(parameters, Mapping) else getattr(parameters, size)
    return int(size(parameters) if callable(size) else size)


def known_size(size: Size, parameters: type[Any], what: str) -> None:
    """Refuse a size that is a name, but not that of a parameter.

    Args:
        size: as declared.
        parameters: the class of the parameters.
        what: has the size, for the message.

    Raises:
        TypeError: there is no such parameter.
    """
    names = [field.name for field in fields(parameters)]
    if isinstance(size, str) and size not in names:
        raise TypeError(f"{what}: got {size!r}, wanted the name of a parameter; {did_you_mean(size, names)}")


def _number_types(parameters: type[Any]) -> dict[str, str]:
    """The parameters that are numbers, with the types that kernels see: a choice is its place among the choices."""
    found = {}
    hints = get_type_hints(parameters)
    for field in fields(parameters):
        kind = hints[field.name]
        if get_origin(kind) is Literal:
            found[field.name] = "i8"
        elif kind in (int, float, bool):
            found[field.name] = {int: "i8", float: "f8", bool: "?"}[kind]
    return found


class State(Intrinsic):
    """The declared state of a layer. In kernels, `state(layer, offset)` gives its numbers and arrays by name.

    Numbers are the parameters of type int, float, bool, and choices between texts (`Literal`), as their places from 0
    on. They stay as they are. What changes is an array; where one is learned, kernels see that of the sub-model at
    `offset`.

    Args:
        parameters: the class of the layer's parameters.
        arrays: by name. One named `scores`, float32, is the layer's scores: one for each class.

    Raises:
        TypeError: an array has the name of a parameter, a size is no parameter, or the scores are no such array.

    >>> from hutch.core.parameters import Parameters
    >>> class MeanParameters(Parameters):
    ...     window: int = 3
    >>> State(MeanParameters, sums=Array("f8", "window", learned=True)).names
    ('window', 'sums')
    """

    def __init__(self, parameters: type[Any], /, **arrays: Array) -> None:
        numbers = _number_types(parameters)
        if taken := sorted(set(numbers) & set(arrays)):
            raise TypeError(f"State: got an array {taken[0]!r}, wanted another name: a parameter has it")
        for name, array in arrays.items():
            for size in array.shape:
                known_size(size, parameters, f"State: size of {name!r}")
        own = arrays.get("scores")
        if own is not None and (own.dtype != np.float32 or len(own.shape) != 1 or own.learned):
            raise TypeError("State: got scores of another kind, wanted Array('f4', 'classes')")
        self.parameters, self.arrays = parameters, arrays
        layout: list[tuple[str, Any]] = [(name, HEADER[name]) for name in HEADER.names or ()]
        layout += [(f".{name}", kind) for name, kind in numbers.items()]
        for name, array in arrays.items():
            layout += [(f".{name}", "u8"), *((f".{name}.{axis}", "i8") for axis in range(array.axes))]
        self.dtype = np.dtype(layout, align=True)
        places: Any = self.dtype.fields
        plan = [Place(name, numbers[name], places[f".{name}"][1], 0, False) for name in numbers]
        for name, array in arrays.items():
            plan.append(Place(name, array.dtype.str, places[f".{name}"][1], array.axes, array.learned))
        shown = namedtuple("State", [place.name for place in plan])  # type: ignore[misc]
        super().__init__(view_of(tuple(plan), shown, places["span"][1]))
        self.meaning = partial(state_at, tuple(plan), shown)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that kernels see."""
        return (*_number_types(self.parameters), *self.arrays)

    @property
    def learned(self) -> tuple[str, ...]:
        """Of its arrays that are learned."""
        return tuple(name for name, array in self.arrays.items() if array.learned)

    def made(self, parameters: Any, submodels: int, seed: int) -> tuple[Record, dict[str, NDArray[Any]]]:
        """A new record, and its arrays by name.

        Args:
            parameters: an instance of the class of its parameters.
            submodels: of the layer.
            seed: of the run.
        """
        record, found, random = Record(self.dtype), {}, np.random.default_rng(seed)
        hints = get_type_hints(self.parameters)
        for name in _number_types(self.parameters):
            value = getattr(parameters, name)
            record[f".{name}"] = get_args(hints[name]).index(value) if isinstance(value, str) else value
        for name, array in self.arrays.items():
            try:
                found[name] = made = array.made(parameters, submodels, random)
            except TypeError as error:
                raise TypeError(f"array {name!r}: {error}") from error
            record[f".{name}"] = made
            for axis, size in enumerate(array.sizes(parameters) or (1,)):
                record[f".{name}.{axis}"] = size
        return record, found
