"""A link that is learned: the powers of the prediction become features, and the layer below predicts again with them.

The layer below predicts p without, and then predicts or learns with the features p, p², … p^degree in a namespace of
their own, as long as they are not 0.

Source: VW 9.11.9, `--autolink`.
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    widen,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, append
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import namespace_id

_0 = np.float32(0)
_PLACE = 524267083
"""Where VW puts the first of the features, in floats from the start of the weights."""
_LETTER = 132
"""The letter of their namespace, which no wildcard matches."""


class PolynomialLinkParameters(Parameters):
    """Parameters of `polynomial_link`.

    Attributes:
        degree: the highest power of the prediction.
    """

    degree: Annotated[int, Within(ge=1, le=64), ExampleValue(2)]


STATE = np.dtype(
    [
        ("degree", "u8"),
        ("namespace", "u4"),
        ("first", "u4"),  # index of the first of the features
        ("built", "u8"),  # BUFFER of the example with the features
    ]
)
own = state_of(STATE)


@helper
def _show_powers(layer, example, importance, offset):
    """Predict, and show the powers of the prediction behind a copy of the example's features; returns their number."""
    state, e = own(layer), example_of(example)
    p = predict_next(layer, example, UNLABELED, importance, offset)
    count, power = uint64(0), p
    while count < state.degree and power != _0:
        count, power = count + uint64(1), power * p
    indices, values = append(state.built, e, state.namespace, count)
    power, mask = p, shared_of(e.shared).mask
    for i in range(len(indices)):
        indices[i] = np.uint32((uint64(state.first) + uint64(i)) & mask)
        values[i] = power
        power *= p
    return uint64(len(indices))


@kernel
def predict(layer, example, label, importance, offset):
    """Predict with the powers of the first prediction."""
    e = example_of(example)
    read = shown_by(e)
    count = _show_powers(layer, example, importance, offset)
    found = predict_next(layer, example, label, importance, offset)
    show(e, read)
    e.features -= count
    return found


@kernel
def learn(layer, example, label, importance, offset):
    """Learn with the powers of the prediction made before."""
    e = example_of(example)
    widen(shared_of(e.shared), label)
    read = shown_by(e)
    count = _show_powers(layer, example, importance, offset)
    e.is_predicted = uint64(0)  # what a layer above predicted was predicted by weights that may have changed
    found = learn_next(layer, example, label, importance, offset)
    show(e, read)
    e.features -= count
    return found


class PolynomialLink(Reduction):
    """Predicts again with powers of the prediction as features."""

    name: ClassVar[str] = "polynomial_link"
    Parameters: ClassVar[type[Parameters]] = PolynomialLinkParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parallel = Parallel(merging={})
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: PolynomialLinkParameters, context: Context) -> None:
        super().__init__(parameters, context)
        mode, base = context.parser.namespaces, context.below
        while base is not None and base.context.below is not None:
            base = base.context.below
        self.state = Record(
            STATE,
            degree=parameters.degree,
            namespace=_LETTER if mode == "letter" else namespace_id("polynomial link", mode),
            first=_PLACE // (base.stride if base else 1) & ((1 << context.bits) - 1),
            built=Buffer(),
        )
