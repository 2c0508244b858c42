"""Columns of a table in units of their own deviation, about their own mean, as far as these are known.

Each column has a weight c, a mean μ and a sum of squares M about it. A row with the value x and the importance h gives

    c' = c + h,   δ = x - μ,   μ' = μ + δ h / c',   M' = M + h δ (x - μ'),   z = (x - μ') / √(M' / c')

so that the row itself counts, |z| never exceeds √(c' - 1), and predicting a row gives the same as learning it.

Source: B. Welford, "Note on a method for calculating corrected sums of squares and products", 1962, with weights.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id


class StandardiseParameters(Parameters):
    """Parameters of `standardise`.

    Attributes:
        namespaces: whose features are columns; None: those of all namespaces.
        columns: number of columns with room; features beyond them stay as they are.
        clip: values farther from the mean, in deviations, become this.
        forgetting: part of the statistics of a column that each row removes, for columns that move.
    """

    namespaces: tuple[str, ...] | None = None
    columns: Annotated[int, Within(ge=1, le=1 << 16)] = 1024
    clip: Annotated[float, Within(gt=0)] = 4.0
    forgetting: Annotated[float, Within(ge=0, lt=1)] = 0.0


STANDARDISE = np.dtype(
    [
        ("namespaces", "u8"),  # address of uint32[namespace_count]
        ("namespace_count", "i8"),  # -1: all
        ("columns", "i8"),
        ("submodels", "i8"),
        ("keys", "u8"),  # address of int64[submodels, columns]: feature index, -1 if none; open addressing
        ("moments", "u8"),  # address of float64[3, submodels, columns]: c, μ, M
        ("clip", "f8"),
        ("keep", "f8"),  # 1 - forgetting
        ("built", "u8"),  # BUFFER of the values
        ("full", "u8"),  # address of int64[1]: features that found no room
    ]
)
own = state_of(STANDARDISE)


@helper
def _place(keys, first, columns, index):
    """The place of a column's numbers, present or not; -1 if all places are in use."""
    at = index % columns
    for _ in range(columns):
        if keys[first + at] == index or keys[first + at] < 0:
            return first + at
        at = at + 1 if at + 1 < columns else 0
    return -1


@helper
def _is_column(s, name):
    """Whether the features of a namespace are columns."""
    if name == CONSTANT_NAMESPACE or s.namespace_count < 0:
        return name != CONSTANT_NAMESPACE
    names = uint32s_at(s.namespaces, uint64(s.namespace_count))
    for k in range(s.namespace_count):
        if names[k] == name:
            return True
    return False


@helper
def _value(s, moments, at, total, x, importance, store):
    """A column's value in deviations from its mean, this row counted in; a column of ones alone stays 1."""
    weight, mean, squares = moments[at], moments[total + at], moments[2 * total + at]
    if importance > 0.0:
        weight, squares = s.keep * weight + importance, s.keep * squares
        away = x - mean
        mean += away * (importance / weight)
        squares += importance * away * (x - mean)
        if store:
            moments[at], moments[total + at], moments[2 * total + at] = weight, mean, squares
    if not (squares > 0.0 and weight > 0.0):
        return 1.0 if x == 1.0 else 0.0
    return min(max((x - mean) / math.sqrt(squares / weight), -s.clip), s.clip)


@helper
def _rewrite(layer, example, importance, offset, store):
    """Show standardised values in the example; `store`: and update the statistics of its columns."""
    s, e = own(layer), example_of(example)
    address = reserve(s.built, uint64(4) * e.length)
    if address == uint64(0):
        return
    total = s.submodels * s.columns
    keys, moments = int64s_at(s.keys, uint64(total)), float64s_at(s.moments, uint64(3 * total))
    first = np.int64(offset // layer_of(layer).step) * s.columns
    count, length = e.namespace_count, e.length
    starts, names = int64s_at(e.namespaces, count + uint64(1)), uint32s_at(e.namespace_ids, count)
    indices, values, out = uint32s_at(e.indices, length), float32s_at(e.values, length), float32s_at(address, length)
    for j in range(e.namespace_count):
        chosen = _is_column(s, names[j])
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            out[i], x = values[i], np.float64(values[i])
            at = _place(keys, first, s.columns, np.int64(indices[i])) if chosen and math.isfinite(x) else -1
            if at >= 0:
                if store:
                    keys[at] = np.int64(indices[i])
                out[i] = np.float32(_value(s, moments, at, total, x, importance, store))
            elif chosen and store:
                int64s_at(s.full, uint64(1))[0] += 1
    e.values = address


@kernel
def rewrite(layer, example, label, importance, offset):
    """Show standardised values in the example, as if it came with importance 1; nothing is stored."""
    _rewrite(layer, example, 1.0, offset, False)
    return np.float32(0)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict with standardised values; in a run that learns, an unlabelled row updates its columns' statistics."""
    e = example_of(example)
    read, store = shown_by(e), shared_of(e.shared).testing == 0 and label == UNLABELED
    _rewrite(layer, example, np.float64(importance), offset, store)
    prediction = predict_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Learn from standardised values."""
    e = example_of(example)
    read = shown_by(e)
    _rewrite(layer, example, np.float64(importance), offset, True)
    prediction = learn_next(layer, example, label, importance, offset)
    show(e, read)
    return prediction


class Standardise(Reduction):
    """Gives the layers below the columns of a table with mean 0 and deviation 1; stands at the top of a chain."""

    name: ClassVar[str] = "standardise"
    Parameters: ClassVar[type[Parameters]] = StandardiseParameters
    known_failures: ClassVar[Mapping[str, str]] = {
        "loss": "a row of twice the importance counts twice in its own mean and deviation, so its prediction differs"
    }
    inputs = Inputs(keeps_zeros=True, fits_scale=True)
    kernels = Kernels.rewriting(rewrite, learn, predict)

    def __init__(self, parameters: StandardiseParameters, context: Context) -> None:
        super().__init__(parameters, context)
        names = parameters.namespaces or ()
        self.inputs = replace(self.inputs, namespaces=names)
        count, columns = context.submodels, parameters.columns
        self._keys, self._moments = np.full((count, columns), -1, np.int64), np.zeros((3, count, columns))
        self._full = np.zeros(1, np.int64)
        self.state = Record(
            STANDARDISE,
            namespaces=np.array([namespace_id(name, context.parser.namespaces) for name in names], np.uint32),
            namespace_count=-1 if parameters.namespaces is None else len(names),
            columns=columns,
            submodels=count,
            keys=self._keys,
            moments=self._moments,
            clip=parameters.clip,
            keep=1.0 - parameters.forgetting,
            built=Buffer(),
            full=self._full,
        )

    def columns(self, submodel: int = 0) -> dict[int, tuple[float, float]]:
        """Mean and deviation of each column met, by the index of its feature."""
        found = zip(self._keys[submodel].tolist(), self._moments[:, submodel].T.tolist(), strict=True)
        return {key: (mean, math.sqrt(squares / weight)) for key, (weight, mean, squares) in found if weight > 0}

    def doubts(self) -> str | None:
        """That there are more columns than room."""
        if not self._full[0]:
            return None
        return f"standardise.columns: got more than {self.parameters.columns}, of which the last stay as they are"

    def saved(self) -> dict[str, NDArray[Any]]:
        """Which columns were met, and weight, mean and sum of squares of each."""
        return {"keys": self._keys} | dict(zip(("weight", "mean", "squares"), self._moments, strict=True))

    def limits(self) -> Mapping[str, Limits]:
        """Indices, and numbers."""
        return {"keys": Limits(-1, (1 << 32) - 1), "weight": POSITIVE, "mean": FINITE, "squares": POSITIVE}
