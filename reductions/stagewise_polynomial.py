"""Stagewise polynomials: products of the features that count most become features, and products of these in turn.

A feature whose weight w and scale s give |w| s among the greatest joins the support: from then on its products with
all features of an example are features, too. After so many examples as `batch` says, and then after twice as many
each time, the k best join, with k the `exponent`-th power of the mean number of features of an example. The row of a
product is a hash of the rows of both parts; that of a square of the constant, and of products with it, is the other's.

Source: A. Agarwal, A. Beygelzimer, D. Hsu, J. Langford, M. Telgarsky, "Scalable nonlinear learning with adaptive
polynomial expansions", NIPS 2014; VW 9.11.9, `--stage_poly`, to the bit.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint8, uint64

from hutch.core.batch import CONSTANT_INDEX
from hutch.core.chain.capabilities import KeepsScales, has
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    array_at,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)
_FACTOR = uint64(16777619)
_LEAST = np.float32(1e-9)
_DEPTH = 126
"""The greatest degree less 1."""
_JOINED = uint8(128)


class StagewisePolynomialParameters(Parameters):
    """Parameters of `stagewise_polynomial`.

    Attributes:
        exponent: how many features join at a time: this power of the mean number of features of an example.
        batch: examples before features first join; 0: they join at the end of each pass.
        doubles: wait twice as long each time.
        predict_first: as VW, predict before features join, and before a label widens the range of predictions. False
            is faster.
    """

    exponent: Annotated[float, Within(ge=0, le=8)] = 1.0
    batch: Annotated[int, Within(ge=0, le=1 << 40)] = 1000
    doubles: bool = True
    predict_first: bool = False


STATE = np.dtype(
    [
        ("exponent", "f4"),
        ("batch", "u8"),
        ("doubles", "u8"),
        ("predict_first", "u8"),
        ("scale", "u8"),  # column of the weight table that holds the scale of a feature; 0: none
        ("support", "u8"),  # address of uint8[rows]: 1 + least depth, and 128 where the feature joined; 0: not met yet
        ("listed", "u8"),  # address of uint8[rows]: 1 where the feature is among those of the example
        ("line", "u8"),  # the line counted last
        ("seen", "u8"),  # examples seen, and ends of passes
        ("asked", "u8"),  # `seen` when the last example was learned
        ("learned", "u8"),  # examples learned
        ("features", "u8"),  # their features before any products
        ("wait", "u8"),  # features join after an example with a multiple of so many before it
        ("due", "u8"),  # 1: features join before the next example is learned
        ("rows", "u8"),  # BUFFER of the rows of the example's features, uint32
        ("values", "u8"),  # BUFFER of their values, float32
        ("starts", "u8"),  # address of int64[2]: all of them are one namespace
        ("name", "u8"),  # address of uint32[1]: its id
        ("best", "u8"),  # BUFFER of the best features: rows int64, scores float32
        ("constants", "u8"),  # rows from that of the constant on that are constants of sub-models
        ("stack", "u8"),  # address of int64[_DEPTH + 2, 2]: row and next feature of each part of a product
        ("products", "u8"),  # address of float32[_DEPTH + 2]: values of these
    ]
)
own = state_of(STATE)
bytes_at = array_at(np.uint8)


@inlined
def _child(atom, row, constant, mask):
    """The row of the product of a feature of the example and another one."""
    if atom == constant:
        return row
    return atom if row == constant else (atom ^ (_FACTOR * row)) & mask


@helper
def _meet(support, at, depth, training):
    """Whether a feature belongs to the example at this depth; one that is met higher than ever is moved there."""
    known = int64(support[at] & uint8(127)) - 1
    if training and (known < 0 or depth < known):
        support[at] = uint8(depth + 1)  # and it no longer belongs to the support
        known = depth
    return known == depth


@helper
def _list(state, e, offset, training):
    """List rows and values of the features of the example and of their products; returns how many there are."""
    shared = shared_of(e.shared)
    mask, n, length = shared.mask, uint64(0), int64(e.length)
    rows = mask + uint64(1)
    support, listed = bytes_at(state.support, rows), bytes_at(state.listed, rows)
    indices, x = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    stack, products = int64s_at(state.stack, uint64(2 * (_DEPTH + 2))), float32s_at(state.products, uint64(_DEPTH + 2))
    constant, depth = (uint64(CONSTANT_INDEX) * shared.multiplier) & mask, 0
    stack[0], stack[1], products[0] = int64(constant), 0, _1
    while depth >= 0:
        i = stack[2 * depth + 1]
        if i == length:
            depth -= 1
            continue
        stack[2 * depth + 1] = i + 1
        row = _child((uint64(indices[i]) * shared.multiplier) & mask, uint64(stack[2 * depth]), constant, mask)
        at = (row + offset) & mask
        if not _meet(support, at, depth, training) or listed[row] == 1:
            continue
        size, value = uint64(4) * (n + uint64(1)), x[i] * products[depth]
        new, values = reserve(state.rows, size), reserve(state.values, size)
        if new == uint64(0) or values == uint64(0):
            break
        uint32s_at(new, n + uint64(1))[n], float32s_at(values, n + uint64(1))[n] = np.uint32(row), value
        listed[row] = 1
        n += uint64(1)
        if support[at] >= _JOINED and depth < _DEPTH:
            depth += 1
            stack[2 * depth], stack[2 * depth + 1], products[depth] = int64(row), 0, value
    return n


@helper
def _show_products(layer, example, offset, training):
    """Make the example show rows in place of indices, those of products, too."""
    state, e = own(layer), example_of(example)
    n = _list(state, e, offset, training)
    rows, values = reserve(state.rows, uint64(4) * n), reserve(state.values, uint64(4) * n)
    new, listed = uint32s_at(rows, n), bytes_at(state.listed, shared_of(e.shared).mask + uint64(1))
    for i in range(n):
        listed[new[i]] = 0
    int64s_at(state.starts, uint64(2))[1] = int64(n)
    show(e, (rows, values, n, state.starts, state.name, uint64(1)))


@helper
def _run(layer, example, label, importance, offset, learns):
    """Predict or learn with the products; the layer below takes rows for indices."""
    e = example_of(example)
    shared = shared_of(e.shared)
    read, multiplier = shown_by(e), shared.multiplier
    _show_products(layer, example, offset, learns)
    shared.multiplier = uint64(1)
    if learns:
        found = learn_next(layer, example, label, importance, offset)
    else:
        found = predict_next(layer, example, label, importance, offset)
    shared.multiplier = multiplier
    show(e, read)
    return found


@helper
def _sink(scores, rows, hole, end, score, row):
    """Put an entry where `hole` is in a heap of `end` entries with the least on top, as the C++ library of GNU does."""
    top, child = hole, hole
    while child < (end - 1) // 2:
        child = 2 * (child + 1)
        child -= 1 if scores[child] > scores[child - 1] else 0
        scores[hole], rows[hole] = scores[child], rows[child]
        hole = child
    if end % 2 == 0 and child == (end - 2) // 2:
        child = 2 * (child + 1)
        scores[hole], rows[hole] = scores[child - 1], rows[child - 1]
        hole = child - 1
    _rise(scores, rows, hole, top, score, row)


@helper
def _rise(scores, rows, hole, top, score, row):
    """Put an entry where `hole` is, or above it."""
    parent = (hole - 1) // 2
    while hole > top and scores[parent] > score:
        scores[hole], rows[hole] = scores[parent], rows[parent]
        hole, parent = parent, (parent - 1) // 2
    scores[hole], rows[hole] = score, row


@helper
def _join(state, shared):
    """Let the best features that have not joined the support join it."""
    weights, table = weights_of(shared), shared.mask + uint64(1)
    if state.learned == uint64(0):
        return
    support = bytes_at(state.support, table)
    mean = np.float32(state.features) / np.float32(state.learned)
    most = min(int64(np.float32(math.pow(mean, state.exponent))), int64(table))
    address = reserve(state.best, uint64(12 * (most + 1)))
    if address == uint64(0) or most == 0:
        return
    rows, scores, n = int64s_at(address, uint64(most)), float32s_at(address + uint64(8 * most), uint64(most)), 0
    constant = (uint64(CONSTANT_INDEX) * shared.multiplier) & shared.mask
    for row in range(table):
        if support[row] >= _JOINED or (row - constant) & shared.mask < state.constants:
            continue
        at = row * shared.stride
        score = abs(weights[at]) * weights[at + state.scale]
        if not score > _LEAST:
            continue
        if n == most and scores[0] < score:
            n -= 1
            last, last_row = scores[n], rows[n]
            if n > 0:
                _sink(scores, rows, 0, n, last, last_row)
        if n < most:
            _rise(scores, rows, n, 0, score, int64(row))
            n += 1
    for i in range(n):
        support[rows[i]] |= _JOINED


@helper
def _count(state, e):
    """Count an example once, however many sub-models see it."""
    if shared_of(e.shared).testing == 0 and (e.line == uint64(0) or e.line != state.line):
        state.seen += uint64(1)
        state.line = e.line


@helper
def _ask(state):
    """Let features join before the next example if it is time."""
    before = state.seen - uint64(1)
    if state.seen != state.asked and state.batch > uint64(0) and before > uint64(0):
        if before % (state.wait if state.doubles == 1 else state.batch) == uint64(0):
            state.wait *= uint64(2)
            state.due = uint64(1)
    state.asked = state.seen


@kernel
def predict(layer, example, label, importance, offset):
    """Predict with the products of features that have joined."""
    _count(own(layer), example_of(example))
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict and learn with the products of features that have joined."""
    state, e = own(layer), example_of(example)
    shared = shared_of(e.shared)
    _count(state, e)
    if label == UNLABELED or not importance > _0 or shared.testing == 1:
        return _run(layer, example, label, importance, offset, False)
    first = _run(layer, example, UNLABELED, importance, offset, False) if state.predict_first == 1 else _0
    if state.due == 1:
        _join(state, shared)
        state.due = uint64(0)
    state.learned += uint64(1)
    state.features += e.length
    e.is_predicted = uint64(0)
    found = _run(layer, example, label, importance, offset, True)
    _ask(state)
    return first if state.predict_first == 1 else found


class StagewisePolynomial(Reduction):
    """Adds products of the features that count most, stage by stage."""

    name: ClassVar[str] = "stagewise_polynomial"
    Parameters: ClassVar[type[Parameters]] = StagewisePolynomialParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    keeps: ClassVar[Mapping[str, Limits]] = {
        "support": Limits(0, 255),
        **dict.fromkeys(("seen", "asked", "learned", "features"), COUNT),
        "wait": Limits(0, 1 << 62),
        "due": Limits(0, 1),
    }
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: StagewisePolynomialParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below = context.below
        column = below.scale_column if below is not None and has(below, KeepsScales) else None
        if column is None:
            wanted = "'linear', normalized, without interactions and ignore_linear: its scales tell what counts"
            raise ConfigError(f"stagewise_polynomial: got {below.name if below else None!r} below it, wanted {wanted}")
        p, rows = parameters, 1 << context.bits
        self.state = Record(
            STATE,
            exponent=p.exponent,
            batch=p.batch,
            doubles=p.doubles,
            predict_first=p.predict_first,
            scale=column,
            support=np.zeros(rows, np.uint8),
            listed=np.zeros(rows, np.uint8),
            wait=p.batch,
            rows=Buffer(),
            values=Buffer(),
            starts=np.zeros(2, np.int64),
            name=np.zeros(1, np.uint32),
            best=Buffer(),
            constants=context.submodels,
            stack=np.zeros((_DEPTH + 2, 2), np.int64),
            products=np.zeros(_DEPTH + 2, np.float32),
        )

    def end_pass(self) -> None:
        """The end of a pass counts as an example, as in VW."""
        self.state["seen"][0] += np.uint64(1)
        if not self.parameters.batch:
            self.state["due"] = 1
