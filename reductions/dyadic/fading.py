"""Decay of all weights of the dyadic learner, applied to a feature when it is met again.

Each sub-model has a clock, the sum of rate · importance of what it has learned; between two readings T and T' of it a
weight shrinks by e^(-decay rate (T' - T)), with the rate that is its own (see `rates`), which changes only when
its feature occurs. So a row need only know the time up to which it has been shrunk. Its two floats before the factor
hold it, high and low part: 48 bits.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import kernel
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import helper
from hutch.reductions.dyadic.rates import factor_rate, linear_rate
from hutch.reductions.dyadic.state import WEIGHT, dyadic_of, gathered, learned_of
from hutch.reductions.linear.features import features_of, scratch_of

TIME = 2
"""Floats of a row for the time."""

_0, _LATEST = np.float32(0), 1e37


@helper
def _exponents(state, learned, weights, at):
    """The powers of e by which a row's linear weight and factor are to shrink up to the present."""
    slot = at + uint64(state.head - TIME)
    elapsed = learned.clock - np.float64(weights[slot]) - np.float64(weights[slot + uint64(1)])
    due = -state.all_decay * max(elapsed, 0.0)
    return due * linear_rate(state, learned, weights, at), due * factor_rate(state, learned, weights, at)


@kernel
def fade(record, example, label, importance, offset):
    """Leave in the second and third scratch the values that give the prediction of shrunk weights."""
    state = dyadic_of(record)
    weights, stride, rows, values, n = gathered(state, example)
    features, learned = features_of(state.features), learned_of(state, offset)
    linear_values, factor_values = scratch_of(features, 1), scratch_of(features, 2)
    for i in range(n):
        linear, factor = _exponents(state, learned, weights, uint64(rows[i]) * stride)
        linear_values[i] = np.float32(np.float64(values[i]) * math.exp(linear))
        factor_values[i] = np.float32(np.float64(values[i]) * math.exp(factor))
    return _0


@kernel
def settle(record, example, label, importance, offset):
    """Advance the clock by half of an example, and shrink the weights of its features up to then."""
    state = dyadic_of(record)
    weights, stride, rows, _, n = gathered(state, example)
    learned = learned_of(state, offset)
    learned.clock = min(learned.clock + 0.5 * state.rate * np.float64(importance), _LATEST)
    for i in range(n):
        at = uint64(rows[i]) * stride
        linear, factor = _exponents(state, learned, weights, at)
        weights[at + uint64(WEIGHT)] *= np.float32(math.exp(linear))
        keep = np.float32(math.exp(factor))
        for d in range(state.rank):
            weights[at + uint64(state.head + d)] *= keep
        slot = at + uint64(state.head - TIME)
        weights[slot] = np.float32(learned.clock)
        weights[slot + uint64(1)] = np.float32(learned.clock - np.float64(weights[slot]))
    return _0


KERNELS: dict[str, AddressKernel] = {"fade": fade, "settle": settle}
"""By their fields in the learner's record."""
