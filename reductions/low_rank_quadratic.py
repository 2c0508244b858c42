"""Low-rank quadratic features: a factorisation machine for pairs of namespaces, made of linear learning alone.

Every feature of a pair's namespaces has `rank` latent weights beside its own. An example is learned twice: first the
latent weights of one side count as numbers and those of the other as weights, then the reverse. The product of a
latent weight and both values is the value of a new feature, whose weight is the latent weight of the other side.

Source: VW 9.11.9, `--lrq` and, with `field_aware`, `--lrqfa`, to the bit.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import ANY, COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id

_0, _1 = np.float32(0), np.float32(1)


class Pair(Parameters):
    """Two namespaces and the rank of their interaction."""

    namespaces: Annotated[tuple[str, ...], Within(min_length=2, max_length=2)]
    rank: Annotated[int, Within(ge=1, le=1 << 16)]


class LowRankParameters(Parameters):
    """Parameters of `low_rank_quadratic`.

    Attributes:
        pairs: `{namespaces: [user, item], rank: 4}` each.
        dropout: train with a random half of the latent features.
        field_aware: a feature has latent weights of its own for each namespace that it meets, instead of one set.
    """

    pairs: Annotated[tuple[Pair, ...], Within(min_length=1)]
    dropout: bool = False
    field_aware: bool = False

    def __post_init__(self) -> None:
        if self.field_aware and (self.dropout or len({pair.rank for pair in self.pairs}) > 1):
            raise ValueError("field_aware: got dropout or several ranks, wanted pairs of one rank")

    @property
    def fields(self) -> list[str]:
        """The namespaces of the pairs, each once; both of a pair of one with itself, as VW counts them."""
        if len(self.pairs) == 1:
            return list(self.pairs[0].namespaces)
        return list(dict.fromkeys(name for pair in self.pairs for name in pair.namespaces))

    def sides(self) -> list[tuple[str, str, int, int, int]]:
        """For each pair both namespaces, its rank, and the place of its first latent weight in features of each."""
        if not self.field_aware:
            return [(pair.namespaces[0], pair.namespaces[1], pair.rank, 1, 1) for pair in self.pairs]
        place = {name: 1 + k * self.pairs[0].rank for k, name in enumerate(self.fields)}
        return [
            (second, first, pair.rank, place[first], place[second])  # VW begins with the second
            for pair in self.pairs
            for first, second in [pair.namespaces]
        ]


LOW_RANK = np.dtype(
    [
        ("pairs", "u8"),  # address of int64[pair_count, 5]: ids of both sides, rank, places of the first latent weights
        ("pair_count", "i8"),
        ("dropout", "i8"),
        ("half", "f4"),  # first numbers of latent weights are random ones from 0 to 1 times half / root
        ("root", "f4"),
        ("line", "u8"),  # the line counted last
        ("seen", "u8"),  # examples seen: its parity says which side goes first
        ("seed", "u8"),  # of the dropout
        ("made", "u8"),  # BUFFER of the new features: rows uint32, values float32
        ("built", "u8"),  # BUFFER of the example with the new features: starts int64, rows uint32, values float32
        ("ends", "u8"),  # address of int64[pair_count]: where the new features of each pair end
    ]
)
low_rank_of = state_of(LOW_RANK)


@helper
def _part(e, name):
    """Where the features of a namespace begin and end; nowhere if the example lacks it."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(e.namespace_count):
        if int64(ids[j]) == name:
            return starts[j] - starts[0], starts[j + uint64(1)] - starts[0]
    return int64(0), int64(0)


@helper
def _pair_of(state, p):
    return int64s_at(state.pairs + uint64(40 * p), uint64(5))


@helper
def _make(state, layer, e, offset, turn, learning):
    """Write the new features of all pairs; returns how many, and for how many there is room."""
    shared, step, room, n = shared_of(e.shared), layer_of(layer).step, int64(0), int64(0)
    for p in range(state.pair_count):
        pair = _pair_of(state, p)
        (a, b), (c, d) = _part(e, pair[0]), _part(e, pair[1])
        room += (b - a) * (d - c) * pair[2]
    address, ends = reserve(state.made, uint64(8 * room)), int64s_at(state.ends, state.pair_count)
    for p in range(state.pair_count):
        ends[p] = 0
    if address == uint64(0):
        return int64(0), int64(0)
    rows, values = uint32s_at(address, room), float32s_at(address + uint64(4 * room), room)
    indices, x, weights = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length), weights_of(shared)
    scale = _1 if state.dropout == 0 or learning else np.float32(0.5)
    for p in range(state.pair_count):
        pair = _pair_of(state, p)
        (left, left_end), (right, right_end) = _part(e, pair[turn]), _part(e, pair[1 - turn])
        for i in range(left, left_end):
            for latent in range(pair[2]):
                if state.dropout == 1 and learning:
                    state.seed, draw = merand48(state.seed)
                    if not draw > 0.5:
                        continue
                row = uint64(indices[i]) * shared.multiplier + offset + uint64(pair[3 + turn] + latent) * step
                at = (row & shared.mask) * shared.stride
                if learning and weights[at] == _0:
                    weights[at] = merand48(row * shared.stride)[1] * state.half / state.root  # 0 is a saddle point
                for j in range(right, right_end):
                    other = uint64(indices[j]) * shared.multiplier + uint64(pair[4 - turn] + latent) * step
                    rows[n], values[n] = other & shared.mask, scale * weights[at] * x[i] * x[j]
                    n += 1
        ends[p] = n
    return n, room


@helper
def _build(state, e, room, made, turn):
    """Rewrite the example as rows, each namespace followed by the new features it gets; False without memory."""
    shared, count, length = shared_of(e.shared), int64(e.namespace_count), int64(e.length)
    total = length + made
    address = reserve(state.built, uint64(8 * total + 8 * (count + 1)))
    if address == uint64(0):
        return False
    starts, place, source = (
        int64s_at(address, count + 1),
        address + uint64(8 * (count + 1)),
        reserve(state.made, uint64(0)),
    )
    rows, values = uint32s_at(place, total), float32s_at(place + uint64(4 * total), total)
    new_rows, new_values = uint32s_at(source, room), float32s_at(source + uint64(4 * room), room)
    old, ids = int64s_at(e.namespaces, count + 1), uint32s_at(e.namespace_ids, count)
    indices, x, ends, n = (
        uint32s_at(e.indices, length),
        float32s_at(e.values, length),
        int64s_at(state.ends, state.pair_count),
        0,
    )
    for j in range(count):
        starts[j] = n
        for i in range(old[j] - old[0], old[j + 1] - old[0]):
            rows[n], values[n] = (uint64(indices[i]) * shared.multiplier) & shared.mask, x[i]
            n += 1
        for p in range(state.pair_count):
            if _pair_of(state, p)[1 - turn] == int64(ids[j]):
                for i in range(ends[p - 1] if p > 0 else 0, ends[p]):
                    rows[n], values[n] = new_rows[i], new_values[i]
                    n += 1
    starts[count] = n
    e.namespaces, e.indices, e.values, e.length = address, place, place + uint64(4 * total), uint64(n)
    return True


@helper
def _round(layer, example, label, importance, offset, turn, learning):
    """Predict, or learn, with the latent weights of one side as numbers."""
    state, e = low_rank_of(layer), example_of(example)
    shared = shared_of(e.shared)
    read, length, multiplier = shown_by(e), e.length, shared.multiplier
    made, room = _make(state, layer, e, offset, turn, learning)
    if _build(state, e, room, made, turn):
        shared.multiplier = uint64(1)  # what stands for indices now are rows
    if learning:
        prediction = learn_next(layer, example, label, importance, offset)
    else:
        prediction = predict_next(layer, example, label, importance, offset)
    shared.multiplier = multiplier
    e.features -= e.length - length
    show(e, read)
    return prediction


@helper
def _predict(layer, example, label, importance, offset):
    """Predict, and count the example once, however many sub-models see it."""
    state, e = low_rank_of(layer), example_of(example)
    if shared_of(e.shared).testing == 0 and (e.line == uint64(0) or e.line != state.line):
        state.seen += uint64(1)
        state.line = e.line
    return _round(layer, example, label, importance, offset, int64(0), False)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only."""
    return _predict(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Learn twice, from either side; returns the prediction made before."""
    state, e = low_rank_of(layer), example_of(example)
    if label == UNLABELED or shared_of(e.shared).testing == 1:
        return _predict(layer, example, label, importance, offset)
    if e.line == uint64(0) or e.line != state.line:
        state.seen += uint64(1)
        state.line = e.line
    turn = int64((state.seen + uint64(1)) % uint64(2))
    e.is_predicted = uint64(0)
    prediction = _round(layer, example, label, importance, offset, turn, True)
    loss = e.loss
    _round(layer, example, label, importance, offset, 1 - turn, True)
    e.loss = loss
    return prediction


class LowRankQuadratic(Reduction):
    """Adds products of latent weights for pairs of namespaces."""

    name: ClassVar[str] = "low_rank_quadratic"
    Parameters: ClassVar[type[Parameters]] = LowRankParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    keeps: ClassVar[Mapping[str, Limits]] = {"seen": COUNT, "seed": ANY}
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: LowRankParameters, context: Context) -> None:
        super().__init__(parameters, context)
        sides, mode = parameters.sides(), context.parser.namespaces
        self.inputs = Inputs(namespaces=tuple(parameters.fields))
        if context.below is None or context.below.name != "linear":
            below = context.below.name if context.below else None
            raise ConfigError(
                f"low_rank_quadratic: got {below!r} below it, wanted 'linear', which takes rows for features"
            )
        pairs = [[namespace_id(left, mode), namespace_id(right, mode), *rest] for left, right, *rest in sides]
        self.state = Record(
            LOW_RANK,
            pairs=np.array(pairs, np.int64),
            pair_count=len(pairs),
            dropout=parameters.dropout,
            half=0.5 if parameters.field_aware else 1.0,
            root=math.sqrt(parameters.pairs[0].rank) if parameters.field_aware else 1.0,
            seed=context.seed | 8675309,
            made=Buffer(),
            built=Buffer(),
            ends=np.zeros(len(pairs), np.int64),
        )

    @classmethod
    def width(cls, parameters: LowRankParameters) -> int:
        """The weight itself and the latent ones."""
        return 1 + max(pair.rank for pair in parameters.pairs) * (
            len(parameters.fields) if parameters.field_aware else 1
        )

    def end_pass(self) -> None:
        """The end of a pass takes a turn, as in VW."""
        self.state["seen"][0] += np.uint64(1)
