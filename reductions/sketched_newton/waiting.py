"""Examples that wait for the end of an epoch, when the directions move by all of them."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import float32s_at, record_of, uint32s_at, uint64s_at
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.learner.features import features_of, rows_of, values_of
from hutch.core.learner.memory import reserve
from hutch.reductions.sketched_newton.steps import STATE, project, sketch

_0 = np.float32(0)
state_at = record_of(STATE)


@helper
def wait(state, share):
    """Keep the features gathered last until the epoch ends; without memory they are left out."""
    features, count = features_of(state.features), state.waiting
    ends, n = uint64s_at(state.ends, state.epoch), features.length
    start = ends[count - uint64(1)] if count > uint64(0) else uint64(0)
    rows, values = reserve(state.rows, uint64(4) * (start + n)), reserve(state.values, uint64(4) * (start + n))
    if rows == uint64(0) or values == uint64(0):
        return
    copy(rows_of(features, n), uint32s_at(rows + uint64(4) * start, n))
    copy(values_of(features, n), float32s_at(values + uint64(4) * start, n))
    ends[count], float32s_at(state.shares, state.epoch)[count] = start + n, share
    state.waiting += uint64(1)


@helper
def end_epoch(state, shared):
    """Sketch the gradients that wait, one after the other."""
    features = features_of(state.features)
    kept, start = (features.rows, features.values, features.length), uint64(0)
    rows, values = reserve(state.rows, uint64(0)), reserve(state.values, uint64(0))
    for k in range(state.waiting):
        end = uint64s_at(state.ends, state.epoch)[k]
        features.rows, features.values = rows + uint64(4) * start, values + uint64(4) * start
        features.length, start = end - start, end
        sketch(state, shared, float32s_at(state.shares, state.epoch)[k], project(state, shared, _0))
    state.waiting = uint64(0)
    features.rows, features.values, features.length = kept


@compiled
def fill(address, rows, values):
    """Put features that were saved back into the buffers; returns False without memory.

    Args:
        address: of the STATE record.
        rows: uint32 (features).
        values: float32 (features).
    """
    state, n = state_at(address), uint64(len(rows))
    new, numbers = reserve(state.rows, uint64(4) * n), reserve(state.values, uint64(4) * n)
    if new == uint64(0) or numbers == uint64(0):
        return False
    copy(rows, uint32s_at(new, n))
    copy(values, float32s_at(numbers, n))
    return True
