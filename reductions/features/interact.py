"""Two namespaces multiplied feature by feature: each feature of the one with the same feature of the other.

The features of the namespaces `left` and `right` are numbers, in ascending order, behind an anchor with the value 1,
which tells where each namespace begins: features are the same if they lie equally far behind their anchors. In place of
the two namespaces the layers below see one, `left`, with the anchor and the products of the features that both have. An
example in which a namespace is missing or has no anchor stays as it is; behind a feature out of order are no products.

Source: VW 9.11.9 (interact.cc).
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.chain.declarations import Inputs, Parallel
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.errors import counted
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    int64s_at,
    kernel,
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
from hutch.core.parameters import ExampleValue, Parameters
from hutch.core.text.hashing import namespace_id

_1 = np.float32(1)


class InteractParameters(Parameters):
    """Parameters of `interact`.

    Attributes:
        left: the namespace whose features are multiplied.
        right: the namespace by whose features.
    """

    left: Annotated[str, ExampleValue("left")]
    right: Annotated[str, ExampleValue("right")]

    def __post_init__(self) -> None:
        if self.left == self.right:
            raise ValueError(f"left and right: got {self.left!r} for both, wanted two namespaces")


INTERACT = np.dtype(
    [
        ("left", "i8"),  # ids of the namespaces
        ("right", "i8"),
        ("loose", "i8"),  # examples with a namespace without an anchor
        ("disordered", "i8"),  # examples with a feature out of order
        ("built", "u8"),  # BUFFER of the example with products: starts int64, indices and ids uint32, values float32
    ]
)
own = state_of(INTERACT)


@helper
def _place(e, name):
    """Which of its namespaces an example has under this id; -1: none."""
    ids = uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(int64(e.namespace_count)):
        if int64(ids[j]) == name:
            return int64(j)
    return int64(-1)


@helper
def _multiply(state, e, left, right, new, values):
    """Write the anchor and the products of two ranges of features; returns their number."""
    indices, x = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    mask = uint32(shared_of(e.shared).mask)
    new[0], values[0] = indices[left[0]], x[left[0]] * x[right[0]]
    n, i, j, before_i, before_j = 1, left[0] + 1, right[0] + 1, uint32(0), uint32(0)
    while i < left[1] and j < right[1]:
        far_i, far_j = (indices[i] - indices[left[0]]) & mask, (indices[j] - indices[right[0]]) & mask
        if far_i < before_i or far_j < before_j:
            state.disordered += 1
            break
        before_i, before_j = far_i, far_j
        if far_i == far_j:
            new[n], values[n] = indices[i], x[i] * x[j]
            n += 1
        if far_i <= far_j:
            i += 1
        if far_j <= far_i:
            j += 1
    return n


@helper
def _rewrite(state, e):
    """Make the example show the products in place of the two namespaces, if both have an anchor."""
    a, b = _place(e, state.left), _place(e, state.right)
    if a < 0 or b < 0:
        return
    count, length = int64(e.namespace_count), int64(e.length)
    old, x = int64s_at(e.namespaces, count + 1), float32s_at(e.values, length)
    left, right = (old[a] - old[0], old[a + 1] - old[0]), (old[b] - old[0], old[b + 1] - old[0])
    if x[left[0]] != _1 or x[right[0]] != _1:
        state.loose += 1
        return
    address = reserve(state.built, uint64(8 * (count + 1) + 8 * length + 4 * count))
    if address == uint64(0):
        return
    behind, ids_at = address + uint64(8 * (count + 1)), address + uint64(8 * (count + 1) + 8 * length)
    starts, new, ids = int64s_at(address, count + 1), uint32s_at(behind, length), uint32s_at(ids_at, count)
    values, names = float32s_at(behind + uint64(4 * length), length), uint32s_at(e.namespace_ids, count)
    indices, n, made = uint32s_at(e.indices, length), 0, 0
    for j in range(count):
        if j == b:
            continue
        starts[made], ids[made] = n, names[j]
        made += 1
        if j == a:
            n += _multiply(state, e, left, right, new[n:], values[n:])
            continue
        for i in range(old[j] - old[0], old[j + 1] - old[0]):
            new[n], values[n] = indices[i], x[i]
            n += 1
    starts[made] = n
    show(e, (behind, behind + uint64(4 * length), uint64(n), address, ids_at, uint64(made)))


@kernel
def rewrite(layer, example, label, importance, offset):
    """Make the example show the products."""
    _rewrite(own(layer), example_of(example))
    return np.float32(0)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict by the products; all features of the example count as used, as in VW."""
    e = example_of(example)
    read, length = shown_by(e), e.length
    _rewrite(own(layer), e)
    shown = e.length
    prediction = predict_next(layer, example, label, importance, offset)
    show(e, read)
    e.features += length - shown
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Learn from the products."""
    e = example_of(example)
    read, length = shown_by(e), e.length
    _rewrite(own(layer), e)
    shown = e.length
    prediction = learn_next(layer, example, label, importance, offset)
    show(e, read)
    e.features += length - shown
    return prediction


class Interact(Reduction):
    """Multiplies two namespaces feature by feature; stands at the top of a chain."""

    name: ClassVar[str] = "interact"
    parallel = Parallel(merging={})
    Parameters: ClassVar[type[Parameters]] = InteractParameters
    kernels = Kernels.rewriting(rewrite, learn, predict)

    def __init__(self, parameters: InteractParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=(parameters.left, parameters.right))
        left, right = (namespace_id(name, context.parser.namespaces) for name in (parameters.left, parameters.right))
        self.state = Record(INTERACT, left=left, right=right, built=Buffer())

    def doubts(self) -> str | None:
        """That namespaces have no anchor, or features out of order."""
        loose, disordered = (int(self.state[name][0]) for name in ("loose", "disordered"))
        if loose:
            return (
                f"{counted(loose, 'example')} without a first feature of value 1 in both namespaces, left as they are"
            )
        if disordered:
            return f"{counted(disordered, 'example')} with features out of order, whose last features are left out"
        return None
