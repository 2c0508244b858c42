"""The default kind of per-feature learning rates, adaptive and normalised, with square roots: several features at once.

Features are processed MANY or FEW at a time, the remaining few one by one. G and N are read and written feature by
feature, in order, since a feature may occur twice; the rates follow from them by vector arithmetic, in which every
operation is rounded as IEEE 754 asks. So the weights are those of `hutch.reductions.linear.rates`, to the bit.
"""

import math
from typing import Any

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import ask_for, float32s_at, no_unroll, uint32s_at, weights_of
from hutch.core.kernel.decorators import helper, inlined, intrinsic
from hutch.core.kernel.lanes import broadcast, either, load, store, together
from hutch.reductions.linear.features import rows_of, scratch_at, take_ahead, values_of
from hutch.reductions.linear.rates import (
    DEFAULT,
    LEAST,
    LEAST_SQUARE,
    MOST,
    average,
    default_rate,
    grown,
    last_average,
    touch,
)

MANY, FEW = np.uint64(16), np.uint64(4)

_0, _1 = np.float32(0), np.float32(1)


class _Rows:
    """Rows of the weight table of adjacent features, within an intrinsic.

    Args:
        builder: llvmlite's, which gets the instructions.
        weights: address of the table.
        rows: address of the first feature's row number, uint32.
        count: number of features.
    """

    def __init__(self, builder: Any, weights: Any, rows: Any, count: int) -> None:
        from llvmlite import ir

        self._builder, self._word = builder, ir.IntType(64)
        table = builder.inttoptr(weights, ir.ArrayType(ir.FloatType(), 4).as_pointer())
        numbers = builder.inttoptr(rows, ir.IntType(32).as_pointer())
        self._places: list[Any] = []
        for k in range(count):
            number = builder.load(builder.gep(numbers, [self._word(k)]))
            self._places.append(builder.gep(table, [builder.zext(number, self._word)]))

    def __len__(self) -> int:
        return len(self._places)

    def number(self, row: int, column: int) -> Any:
        """Pointer to w, G, N or the rate of a row."""
        return self._builder.gep(self._places[row], [self._word(0), self._word(column)])


def _scratch(builder: Any, address: Any, count: int) -> list[Any]:
    """Pointers to four times `count` floats that follow each other."""
    from llvmlite import ir

    first = builder.inttoptr(address, ir.FloatType().as_pointer())
    return [builder.gep(first, [ir.IntType(64)(k * count)]) for k in range(4)]


@intrinsic
def _ask_for_many(typing_context: Any, weights: Any, rows: Any) -> Any:
    """Have the processor fetch the rows of MANY features."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _Rows(builder, arguments[0], arguments[1], int(MANY))
        for k in range(len(rows)):
            ask_for(builder, rows.number(k, 0))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


def _advance(count: int) -> Any:
    """Make an intrinsic that updates G of `count` features, and writes x², |x|, G and N to `scratch`.

    It returns whether a feature is larger than ever before, so that its N must be updated.
    """

    @intrinsic
    def advance(typing_context: Any, weights: Any, rows: Any, values: Any, scratch: Any, square_gradient: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            weights, numbers, values, scratch, square_gradient = arguments
            word, x = ir.IntType(32), load(builder, values, ir.FloatType(), count)
            small = (x * x).compare("<", float(LEAST_SQUARE))
            square = small.choose(float(LEAST_SQUARE), x * x)
            size = small.choose(float(LEAST), x.called("fabs"))
            step = square * broadcast(builder, square_gradient, count)
            rows, gradients, scales = _Rows(builder, weights, numbers, count), [], []
            for k in range(count):
                place = rows.number(k, 1)
                gradients.append(builder.fadd(builder.load(place), builder.extract_element(step.value, word(k))))
                scales.append(builder.load(rows.number(k, 2)))
                builder.store(gradients[k], place)
            found = square, size, together(builder, gradients), together(builder, scales)
            for lanes, place in zip(found, _scratch(builder, scratch, count), strict=True):
                store(builder, lanes, place)
            larger = size.compare(">", found[3]).bits()
            return builder.icmp_unsigned("!=", larger, larger.type(0))

        return types.boolean(*[types.uint64] * 4, types.float32), generate

    return advance


def _finish(count: int) -> Any:
    """Make an intrinsic that sets the rates of `count` features whose x², G and N are in `scratch`.

    It returns both sums with x² times the rate and (x / N)² added, feature by feature.
    """

    @intrinsic
    def finish(typing_context: Any, weights: Any, rows: Any, scratch: Any, total: Any, norm: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            weights, numbers, scratch, *sums = arguments
            squares, _, gradients, scales = _scratch(builder, scratch, count)
            square, gradient, scale = (
                load(builder, place, ir.FloatType(), count) for place in (squares, gradients, scales)
            )
            rate, finite = 1 / gradient.called("sqrt"), square.compare("<=", float(MOST))
            ones, before = scale.compare("==", 1).bits(), builder.block
            with builder.if_then(builder.icmp_unsigned("!=", ones, ones.type((1 << count) - 1))):
                scaled_rate, scaled_square = rate * (1 / scale), square / (scale * scale)
                after = builder.block
            rate = either((rate, before), (scaled_rate, after))
            share = finite.choose(either((square, before), (scaled_square, after)), 1)
            rows = _Rows(builder, weights, numbers, count)
            found = square * rate, share
            for k in range(count):
                word = ir.IntType(32)(k)
                builder.store(builder.extract_element(rate.value, word), rows.number(k, 3))
                sums = [
                    builder.fadd(each, builder.extract_element(lanes.value, word))
                    for each, lanes in zip(sums, found, strict=True)
                ]
            return context.make_tuple(builder, signature.return_type, sums)

        return types.UniTuple(types.float32, 2)(*[types.uint64] * 3, types.float32, types.float32), generate

    return finish


_advance_many, _finish_many = _advance(int(MANY)), _finish(int(MANY))
_advance_few, _finish_few = _advance(int(FEW)), _finish(int(FEW))


@helper
def _grow(weights, numbers, scratch, count):
    """Update N of features that `advance` found larger than ever before, and rescale their weights."""
    rows = uint32s_at(numbers, count)
    sizes = float32s_at(scratch + uint64(4) * count, count)
    scales = float32s_at(scratch + uint64(12) * count, count)
    for k in range(count):
        at = uint64(rows[k]) * uint64(4)
        scales[k] = grown(weights, at, at + uint64(2), sizes[k], True, DEFAULT, _0)


@inlined
def _visit(features, shared, n, square_gradient):
    """Set the rates of all features; returns Σ rate x² and Σ (x / N)²."""
    table, numbers, values, scratch = shared.weights, features.rows, features.values, scratch_at(features, 0)
    weights = weights_of(shared)
    total, norm, many, few = _0, _0, n & ~(MANY - uint64(1)), n & ~(FEW - uint64(1))
    for i in range(uint64(0), many, MANY):
        no_unroll()
        rows = numbers + uint64(4) * i
        if features.ahead_length >= MANY:
            _ask_for_many(table, take_ahead(features, MANY))
        if _advance_many(table, rows, values + uint64(4) * i, scratch, square_gradient):
            _grow(weights, rows, scratch, MANY)
        total, norm = _finish_many(table, rows, scratch, total, norm)
    for i in range(many, few, FEW):
        no_unroll()
        rows = numbers + uint64(4) * i
        if _advance_few(table, rows, values + uint64(4) * i, scratch, square_gradient):
            _grow(weights, rows, scratch, FEW)
        total, norm = _finish_few(table, rows, scratch, total, norm)
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(few, n):
        no_unroll()
        at = uint64(rows[i]) * uint64(4)
        square, gradient, scale = touch(weights, at, values[i], square_gradient, True, DEFAULT, _0)
        rate, share = default_rate(square, gradient, scale)
        total += square * rate
        norm += share
        weights[at + uint64(3)] = rate
    return total, norm


@inlined
def measure_default(rates, features, shared, offset, importance, square_gradient):
    """`measure` for learning with the default kind of rates."""
    if square_gradient == _0:
        total_norm, total_importance = last_average(rates, offset)
        rates.multiplier = math.sqrt(total_importance / total_norm)
        return _1
    total, norm = _visit(features, shared, features.length, square_gradient)
    total_norm, total_importance = average(rates, offset, importance, norm)
    rates.multiplier = math.sqrt(total_importance / total_norm)
    return total * rates.multiplier
