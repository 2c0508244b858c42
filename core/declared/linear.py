"""What a simple linear learner sees of an example: values of features, and the rows of the weight table they have.

    x = features_at(example, offset)
    p = dot(x)
    add(x, 0.1 * (label - p))

A row has as many numbers as the learner's `stride`; `dot` and `add` use the first of them. Interactions are not made:
`hutch.core.learner.features` makes them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import float32, float64, uint64

from hutch.core.kernel.abi import array_value, example_of, float32s_at, shared_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined, intrinsic, meaning


class LinearFeatures(NamedTuple):
    """The features of an example for one sub-model.

    Attributes:
        values: float32 (features); the constant is the last.
        indices: uint32 (features), hashed.
        weights: float32 (rows, stride), the whole table; `weights[row(x, i)]` belongs to feature i.
        base: what the prediction begins with.
        multiplier, offset, mask: where the rows of an index lie.
    """

    values: Any
    indices: Any
    weights: Any
    base: Any
    multiplier: Any
    offset: Any
    mask: Any


def _table(address: Any, rows: Any, stride: Any) -> Any:
    from hutch.core.interpreted.live import memory

    return memory(int(address), np.dtype(np.float32), int(rows * stride)).reshape(int(rows), int(stride))


@meaning(_table)
@intrinsic
def _table_at(typing_context: Any, address: Any, rows: Any, stride: Any) -> Any:
    from numba import types

    array, build = array_value(np.float32, axes=2)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(context, builder, *arguments)

    return array(types.uint64, types.uint64, types.uint64), generate


@inlined
def features_at(example, offset):
    """The `LinearFeatures` of an example.

    Args:
        example: address of the EXAMPLE.
        offset: of the sub-model, in rows.
    """
    e = example_of(example)
    shared = shared_of(e.shared)
    return LinearFeatures(
        float32s_at(e.values, e.length),
        uint32s_at(e.indices, e.length),
        _table_at(shared.weights, shared.mask + uint64(1), shared.stride),
        float64(e.base),
        shared.multiplier,
        offset,
        shared.mask,
    )


@inlined
def row(x, i):
    """Where the weights of feature i stand in `x.weights`."""
    return (uint64(x.indices[i]) * x.multiplier + x.offset) & x.mask


@helper
def dot(x):
    """The prediction: `base`, and the sum of weight times value."""
    found = x.base
    for i in range(len(x.values)):
        found += float64(x.weights[row(x, i), 0]) * x.values[i]
    return found


@helper
def squared_norm(x):
    """The sum of the squares of all values."""
    found = 0.0
    for i in range(len(x.values)):
        found += float64(x.values[i]) * x.values[i]
    return found


@helper
def add(x, step):
    """Move the weights: each by `step` times its value."""
    for i in range(len(x.values)):
        x.weights[row(x, i), 0] += float32(step * x.values[i])
