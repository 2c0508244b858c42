"""A limit on the features of a namespace: the first N different ones, by index, for every layer below.

The features of a namespace with more than N are sorted by index, those of one index by value; of each index the first
stays, and of the indices the N smallest. Since indices are hashes, that is an arbitrary sample, but the same one for
all examples. A namespace with N features or fewer stays as it is.

Source: VW 9.11.9 (parser.cc, unique_sort.cc).
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.declarations import Inputs, Parallel
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, kernel, state_of, uint32s_at
from hutch.core.kernel.decision import sort_actions
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import namespace_id


class FeatureLimitParameters(Parameters):
    """Parameters of `feature_limit`.

    Attributes:
        features: different features that a namespace keeps.
        namespaces: where; empty: everywhere.
    """

    features: Annotated[int, Within(ge=1, le=1 << 31), ExampleValue(10)]
    namespaces: tuple[str, ...] = ()


FEATURE_LIMIT = np.dtype(
    [
        ("limit", "i8"),
        ("names", "u8"),  # address of uint32[name_count]
        ("name_count", "i8"),
        ("joins", "i8"),  # 1 on the last of these layers: pieces of one namespace become one
        (
            "built",
            "u8",
        ),  # BUFFER of the example with fewer features: starts int64, indices and ids uint32, values float32
    ]
)
limit_of = state_of(FEATURE_LIMIT)


@helper
def _is_listed(state, name):
    listed = state.name_count == 0
    for k in range(state.name_count):
        listed = listed or uint32s_at(state.names, state.name_count)[k] == name
    return listed and name != CONSTANT_NAMESPACE


@helper
def _smallest(indices, values, limit):
    """Leave the first feature of each of the smallest indices in front; returns their number."""
    sort_actions(values, indices, len(indices))  # which sorts by its second array, and equal entries by the first
    kept = 1
    for i in range(1, len(indices)):
        if kept == limit:
            break
        if indices[i] != indices[kept - 1]:
            indices[kept], values[kept] = indices[i], values[i]
            kept += 1
    return kept


@kernel
def rewrite(layer, example, label, importance, offset):
    """Make the example show fewer features; without memory it stays unchanged."""
    e, state = example_of(example), limit_of(layer)
    count, length = int64(e.namespace_count), int64(e.length)
    address = reserve(state.built, uint64(8 * (count + 1) + 8 * length + 4 * count))
    if address == uint64(0):
        return np.float32(0)
    behind = address + uint64(8 * (count + 1))
    starts, new, values = (
        int64s_at(address, count + 1),
        uint32s_at(behind, length),
        float32s_at(behind + uint64(4 * length), length),
    )
    ids_at = behind + uint64(8 * length)
    old, ids, names = int64s_at(e.namespaces, count + 1), uint32s_at(e.namespace_ids, count), uint32s_at(ids_at, count)
    indices, x = uint32s_at(e.indices, length), float32s_at(e.values, length)
    n, made = 0, 0
    for j in range(count):
        first, size = old[j] - old[0], old[j + 1] - old[j]
        if state.joins == 0 or j == 0 or ids[j] != ids[j - 1]:
            starts[made], names[made] = n, ids[j]
            made += 1
        for i in range(size):
            new[n + i], values[n + i] = indices[first + i], x[first + i]
        if size > state.limit and _is_listed(state, ids[j]):
            size = _smallest(new[n : n + size], values[n : n + size], state.limit)
        n += size
    starts[made] = n
    e.namespaces, e.indices, e.values, e.length = address, behind, behind + uint64(4 * length), uint64(n)
    e.namespace_ids, e.namespace_count = ids_at, uint64(made)
    return np.float32(0)


class FeatureLimit(Reduction):
    """Limits the number of features per namespace; stands at the top of a chain, below `ngrams`."""

    name: ClassVar[str] = "feature_limit"
    parallel = Parallel(merging={})
    Parameters: ClassVar[type[Parameters]] = FeatureLimitParameters
    kernels = Kernels.rewriting(rewrite)

    def __init__(self, parameters: FeatureLimitParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=tuple(parameters.namespaces), joins=True)
        names = [namespace_id(name, context.parser.namespaces) for name in parameters.namespaces]
        self.state = Record(
            FEATURE_LIMIT,
            limit=parameters.features,
            names=np.array(names, np.uint32),
            name_count=len(names),
            joins=context.below is None or not context.below.inputs.joins,
            built=Buffer(),
        )
