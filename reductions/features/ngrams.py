"""N-grams: neighbouring features of a namespace become new features, for every layer below.

The index of a gram of features i, j, … is (… (i · C + j) · C …) with VW's constant C, its value 1. With `skips` up to
so many features may be between the parts of a gram. The grams follow the features of their namespace: all of
size 2, then all of size 3, and so on. No gram has parts of both an action and the shared features of its decision.

Source: VW 9.11.9 (kskip_ngram_transformer.cc).
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.declarations import Inputs, Parallel
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, kernel, shared_of, state_of, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id

_FACTOR = np.uint64(27942141)


class NgramsParameters(Parameters):
    """Parameters of `ngrams`.

    Attributes:
        size: the largest gram.
        skips: number of features that may be left out between the parts of a gram.
        namespaces: where grams are made; empty: everywhere.
    """

    size: Annotated[int, Within(ge=2, le=16)] = 2
    skips: Annotated[int, Within(ge=0, le=16)] = 0
    namespaces: tuple[str, ...] = ()


NGRAMS = np.dtype(
    [
        ("masks", "u8"),  # address of int64[mask_count, size]: places of a gram's parts after its first; its length - 1
        ("mask_count", "i8"),
        ("size", "i8"),
        ("names", "u8"),  # address of uint32[name_count]
        ("name_count", "i8"),
        ("joins", "i8"),  # 1 on the last of these layers: pieces of one namespace become one
        ("built", "u8"),  # BUFFER of the example with its grams: starts int64, indices and ids uint32, values float32
    ]
)
ngrams_of = state_of(NGRAMS)


def gram_masks(size: int, skips: int) -> list[tuple[int, ...]]:
    """Places of the parts of all kinds of grams, in VW's order.

    >>> gram_masks(3, 0)
    [(0, 1), (0, 1, 2)]
    >>> gram_masks(2, 2)
    [(0, 1), (0, 2), (0, 3)]
    >>> gram_masks(3, 1)[2:]
    [(0, 1, 2), (0, 1, 3), (0, 2, 3)]
    """
    found: list[tuple[int, ...]] = []
    for parts in range(2, size + 1):
        found += [(0, *places) for places in combinations(range(1, parts + skips), parts - 1)]
    return found


@helper
def _is_listed(state, name):
    listed = state.name_count == 0
    for k in range(state.name_count):
        listed = listed or uint32s_at(state.names, state.name_count)[k] == name
    return listed and name != CONSTANT_NAMESPACE


@kernel
def rewrite(layer, example, label, importance, offset):
    """Make the example show its grams, too; without memory it stays unchanged."""
    e = example_of(example)
    state = ngrams_of(layer)
    mask, size = shared_of(e.shared).mask, state.size
    count, length = int64(e.namespace_count), int64(e.length)
    room = length * (1 + state.mask_count)
    address = reserve(state.built, uint64(8 * (count + 1) + 8 * room + 4 * count))
    if address == uint64(0):
        return np.float32(0)
    starts, behind = int64s_at(address, count + 1), address + uint64(8 * (count + 1))
    new, values = uint32s_at(behind, room), float32s_at(behind + uint64(4 * room), room)
    old, ids = int64s_at(e.namespaces, count + 1), uint32s_at(e.namespace_ids, count)
    indices, x, masks = uint32s_at(e.indices, length), float32s_at(e.values, length), state.masks
    ids_at = behind + uint64(8 * room)
    n, made, names = 0, 0, uint32s_at(ids_at, count)
    for j in range(count):
        first, last = old[j] - old[0], old[j + 1] - old[0]
        if state.joins == 0 or j == 0 or ids[j] != ids[j - 1]:
            starts[made], names[made] = n, ids[j]
            made += 1
        for i in range(first, last):
            new[n], values[n] = indices[i], x[i]
            n += 1
        for g in range(state.mask_count if _is_listed(state, ids[j]) else 0):
            gram = int64s_at(masks + uint64(8 * g * size), size)
            parts = gram[0]
            for i in range(first, last - gram[parts]):
                index = uint64(indices[i])
                for k in range(parts):
                    index = index * _FACTOR + uint64(indices[i + gram[1 + k]])
                new[n], values[n] = index & mask, np.float32(1)
                n += 1
    starts[made] = n
    e.namespaces, e.indices, e.values, e.length = address, behind, behind + uint64(4 * room), uint64(n)
    e.namespace_ids, e.namespace_count = ids_at, uint64(made)
    return np.float32(0)


class Ngrams(Reduction):
    """Adds features of neighbouring features; stands at the top of a chain."""

    name: ClassVar[str] = "ngrams"
    parallel = Parallel(merging={})
    Parameters: ClassVar[type[Parameters]] = NgramsParameters
    known_failures = {"shuffled_features": "its grams are made of neighbours"}
    kernels = Kernels.rewriting(rewrite)

    def __init__(self, parameters: NgramsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=tuple(parameters.namespaces), joins=True)
        masks = gram_masks(parameters.size, parameters.skips)
        table = np.zeros((len(masks), parameters.size), np.int64)
        for row, places in zip(table, masks, strict=True):
            row[: len(places)] = (len(places) - 1, *places[1:])
        names = [namespace_id(name, context.parser.namespaces) for name in parameters.namespaces]
        self.state = Record(
            NGRAMS,
            masks=table,
            mask_count=len(masks),
            size=parameters.size,
            names=np.array(names, np.uint32),
            name_count=len(names),
            joins=context.below is None or not context.below.inputs.joins,
            built=Buffer(),
        )

    def added(self, names: list[str]) -> Iterator[str]:
        """Names of the grams of a namespace: that of the first feature, then the others without their namespace.

        Args:
            names: of its features, in order.
        """
        ends = [name.partition("^")[2] or name for name in names]
        for first, *others in gram_masks(self.parameters.size, self.parameters.skips):
            for i in range(len(names) - others[-1]):
                yield "^".join([names[i + first], *(ends[i + k] for k in others)])
