"""Low-rank quadratic features: a factorisation machine for pairs of namespaces, made of linear learning alone.

Every feature of the two namespaces has `rank` latent weights beside its own. An example is learned twice: first the
latent weights of one side count as numbers and those of the other as weights, then the other way round. The product of
a latent weight and both values is the value of a new feature, whose weight is the latent weight of the other side.

Source: VW 9.11.9 (lrq.cc).
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.hooks import registering
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
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.active.rules import merand48
from hutch.reductions.linear.memory import Buffer, reserve

_1 = np.float32(1)


class Pair(Parameters):
    """Two namespaces and the rank of their interaction."""

    namespaces: Annotated[tuple[str, ...], Within(min_length=2, max_length=2)]
    rank: Annotated[int, Within(ge=1, le=1 << 16)]


class LowRankParameters(Parameters):
    """Parameters of `low_rank_quadratic`.

    Attributes:
        pairs: `{namespaces: [user, item], rank: 4}` each.
        dropout: train with a random half of the latent features.
    """

    pairs: Annotated[tuple[Pair, ...], Within(min_length=1)]
    dropout: bool = False


LOW_RANK = np.dtype(
    [
        ("pairs", "u8"),  # address of int64[pair_count, 3]: left, right, rank
        ("pair_count", "i8"),
        ("dropout", "i8"),
        ("line", "u8"),  # the line counted last
        ("seen", "u8"),  # examples seen: its parity says which side goes first
        ("seed", "u8"),  # of the dropout
        ("made", "u8"),  # BUFFER of the new features: rows uint32, values float32
        ("built", "u8"),  # BUFFER of the example with the new features: rows uint32, values float32, starts int64
        ("ends", "u8"),  # address of int64[pair_count]: where the new features of each pair end
    ]
)
low_rank_of = state_of(LOW_RANK)


@helper
def _find(e, name):
    """First and last feature of a namespace; both 0 if it is not there."""
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    ids = uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(int64(e.namespace_count)):
        if int64(ids[j]) == name:
            return starts[j] - starts[0], starts[j + 1] - starts[0]
    return int64(0), int64(0)


@helper
def _make(state, layer, e, offset, turn, learning):
    """Write the new features of all pairs; returns how many, and for how many there is room."""
    shared = shared_of(e.shared)
    pairs, ends = int64s_at(state.pairs, state.pair_count * 3), int64s_at(state.ends, state.pair_count)
    room = 0
    for p in range(state.pair_count):
        (a, b), (c, d) = _find(e, pairs[3 * p]), _find(e, pairs[3 * p + 1])
        room += (b - a) * (d - c) * pairs[3 * p + 2]
    address = reserve(state.made, uint64(8 * room))
    if address == uint64(0):
        return 0, 0
    rows, values = uint32s_at(address, room), float32s_at(address + uint64(4 * room), room)
    weights = weights_of(shared)
    indices, x = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    scale = _1 if state.dropout == 0 or learning else np.float32(0.5)
    step, n = layer_of(layer).step, 0
    for p in range(state.pair_count):
        left, left_end = _find(e, pairs[3 * p + turn])
        right, right_end = _find(e, pairs[3 * p + 1 - turn])
        for i in range(left, left_end):
            for latent in range(1, pairs[3 * p + 2] + 1):
                if state.dropout == 1 and learning:
                    state.seed, draw = merand48(state.seed)
                    if not draw > 0.5:
                        continue
                row = uint64(indices[i]) * shared.multiplier + offset + uint64(latent) * step
                at = (row & shared.mask) * shared.stride
                if learning and weights[at] == np.float32(0):
                    weights[at] = merand48(row * shared.stride)[1]  # away from the saddle point at 0
                for j in range(right, right_end):
                    rows[n] = (uint64(indices[j]) * shared.multiplier + uint64(latent) * step) & shared.mask
                    values[n] = scale * weights[at] * x[i] * x[j]
                    n += 1
        ends[p] = n
    return n, room


@helper
def _build(state, e, room, made, turn):
    """Rewrite the example as rows, each namespace followed by the new features it gets; False without memory."""
    shared = shared_of(e.shared)
    count, length = int64(e.namespace_count), int64(e.length)
    total = length + made
    address = reserve(state.built, uint64(8 * total + 8 * (count + 1)))
    if address == uint64(0):
        return False
    starts = int64s_at(address, count + 1)
    rows_address = address + uint64(8 * (count + 1))
    rows, values = uint32s_at(rows_address, total), float32s_at(rows_address + uint64(4 * total), total)
    source = reserve(state.made, uint64(0))
    new_rows, new_values = uint32s_at(source, room), float32s_at(source + uint64(4 * room), room)
    pairs, ends = int64s_at(state.pairs, state.pair_count * 3), int64s_at(state.ends, state.pair_count)
    old, ids = int64s_at(e.namespaces, count + 1), uint32s_at(e.namespace_ids, count)
    indices, x, n = uint32s_at(e.indices, length), float32s_at(e.values, length), 0
    for j in range(count):
        starts[j] = n
        for i in range(old[j] - old[0], old[j + 1] - old[0]):
            rows[n], values[n] = (uint64(indices[i]) * shared.multiplier) & shared.mask, x[i]
            n += 1
        for p in range(state.pair_count):
            if pairs[3 * p + 1 - turn] == int64(ids[j]):
                for i in range(ends[p - 1] if p > 0 else 0, ends[p]):
                    rows[n], values[n] = new_rows[i], new_values[i]
                    n += 1
    starts[count] = n
    e.namespaces, e.indices, e.values = address, rows_address, rows_address + uint64(4 * total)
    e.length, e.next_length, e.behind = uint64(n), uint64(0), uint64(0)
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
def _count(state, e):
    """Count an example once, however many sub-models see it."""
    if e.line == uint64(0) or e.line != state.line:
        state.seen += uint64(1)
        state.line = e.line


@helper
def _predict(layer, example, label, importance, offset):
    state, e = low_rank_of(layer), example_of(example)
    if shared_of(e.shared).testing == 0:
        _count(state, e)
    return _round(layer, example, label, importance, offset, 0, False)


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
    _count(state, e)
    turn = int64((state.seen + uint64(1)) % uint64(2))
    e.is_predicted = uint64(0)
    prediction = _round(layer, example, label, importance, offset, turn, True)
    loss = e.loss
    _round(layer, example, label, importance, offset, 1 - turn, True)
    e.loss = loss
    return prediction


class LowRankQuadratic(Reduction):
    """Latent features for pairs of namespaces."""

    name: ClassVar[str] = "low_rank_quadratic"
    Parameters: ClassVar[type[Parameters]] = LowRankParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: LowRankParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.inputs = Inputs(namespaces=tuple(name for pair in parameters.pairs for name in pair.namespaces))
        below = context.below
        while below is not None and not below.is_base:
            if below.inputs.namespaces or below.inputs.reads_features:
                raise ConfigError(
                    f"low_rank_quadratic hands down rows of the weight table, in which {below.name!r} below it cannot "
                    f"find its features; wanted {below.name!r} above it"
                )
            below = below.context.below
        mode = context.parser.namespaces
        pairs = [[*(namespace_id(name, mode) for name in p.namespaces), p.rank] for p in parameters.pairs]
        self.state = Record(
            LOW_RANK,
            pairs=np.array(pairs, np.int64),
            pair_count=len(pairs),
            dropout=parameters.dropout,
            seed=context.seed | 8675309,
            made=Buffer(),
            built=Buffer(),
            ends=np.zeros(len(pairs), np.int64),
        )

    @classmethod
    def width(cls, parameters: LowRankParameters) -> int:
        """The weights themselves, and the latent ones."""
        return 1 + max(pair.rank for pair in parameters.pairs)

    def end_pass(self) -> None:
        """The end of a pass takes a turn, as in VW."""
        self.state["seen"][0] += np.uint64(1)

    def saved(self) -> dict[str, NDArray[np.uint64]]:
        """Whose turn it is, and the state of the dropout."""
        return {"seen": self.state["seen"], "seed": self.state["seed"]}

    def limits(self) -> Mapping[str, Limits]:
        """A count; the seed may be any number."""
        return {"seen": COUNT}


hutch_register_reductions = registering(LowRankQuadratic)
