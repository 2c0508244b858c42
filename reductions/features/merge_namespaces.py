"""Namespaces under other names: features of several namespaces become those of one, for every layer below.

Names and hashes of features stay; what changes is which namespace they belong to, for interactions and for whatever
else goes by namespaces. A namespace stands where the first one that became it stood, its features in their order.

Source: VW 9.11.9, `--redefine`.
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.declarations import Inputs, Parallel
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.hooks import registering
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.linear.memory import Buffer, reserve

OTHERS = ":"


class MergeNamespacesParameters(Parameters):
    """Parameters of `merge_namespaces`.

    Attributes:
        names: new name by old name; the old name `:` stands for every namespace that is not named.
    """

    names: Annotated[dict[str, str], Within(min_length=1), ExampleValue({"film": "item"})]


MERGE = np.dtype(
    [
        ("old", "u8"),  # address of uint32[count]
        ("new", "u8"),  # address of uint32[count]
        ("count", "u8"),
        ("others", "i8"),  # id of all other namespaces; -1: they stay
        ("built", "u8"),  # BUFFER of the rewritten example: starts int64, ids uint32, indices uint32, values float32
    ]
)
merge_of = state_of(MERGE)


@helper
def _new_id(state, name):
    """The id of a namespace below this layer; the constant stays what it is."""
    found = state.others if state.others >= 0 and name != CONSTANT_NAMESPACE else int64(name)
    for k in range(int64(state.count)):
        if uint32s_at(state.old, state.count)[k] == name:
            found = int64(uint32s_at(state.new, state.count)[k])
    return found


@kernel
def rewrite(layer, example, label, importance, offset):
    """Let the example show its new namespaces; leaves it as it is without memory."""
    e = example_of(example)
    state = merge_of(layer)
    count, length = int64(e.namespace_count), int64(e.length)
    address = reserve(state.built, uint64(8 * (count + 1) + 8 * count + 8 * length))
    if address == uint64(0):
        return np.float32(0)
    starts, ids_at = int64s_at(address, count + 1), address + uint64(8 * (count + 1))
    ids, indices_at = uint32s_at(ids_at, count), ids_at + uint64(8 * count)
    values_at = indices_at + uint64(4 * length)
    indices, values = uint32s_at(indices_at, length), float32s_at(values_at, length)
    old, old_ids = int64s_at(e.namespaces, count + 1), uint32s_at(e.namespace_ids, count)
    old_indices, old_values = uint32s_at(e.indices, length), float32s_at(e.values, length)
    made, n = 0, 0
    for j in range(count):
        name, seen = _new_id(state, old_ids[j]), False
        for k in range(made):
            seen = seen or int64(ids[k]) == name
        if seen:
            continue
        starts[made], ids[made] = n, name
        made += 1
        for k in range(j, count):
            if _new_id(state, old_ids[k]) == name:
                for i in range(old[k] - old[0], old[k + 1] - old[0]):
                    indices[n], values[n] = old_indices[i], old_values[i]
                    n += 1
    starts[made] = n
    e.namespaces, e.namespace_ids, e.namespace_count = address, ids_at, uint64(made)
    e.indices, e.values = indices_at, values_at
    return np.float32(0)


class MergeNamespaces(Reduction):
    """Puts namespaces under other names; stands at the top of a chain."""

    name: ClassVar[str] = "merge_namespaces"
    parallel = Parallel(merging={})
    Parameters: ClassVar[type[Parameters]] = MergeNamespacesParameters
    kernels = Kernels.rewriting(rewrite)

    def __init__(self, parameters: MergeNamespacesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(
            namespaces=tuple(name for name in parameters.names if name != OTHERS),
            made_namespaces=tuple(parameters.names.values()),
        )
        mode = context.parser.namespaces
        names = dict(parameters.names)
        others = names.pop(OTHERS, None)
        self.state = Record(
            MERGE,
            old=np.array([namespace_id(name, mode) for name in names], np.uint32),
            new=np.array([namespace_id(name, mode) for name in names.values()], np.uint32),
            count=len(names),
            others=-1 if others is None else namespace_id(others, mode),
            built=Buffer(),
        )


hutch_register_reductions = registering(MergeNamespaces)
