"""The steps of LASVM: an example joins the support vectors with the best weight, and some of these are adjusted again.

With α of the support vectors, K their kernels and λ the regularisation, the score of an example is Σ α K / λ. A step
sets α_i to y_i times (λ - y_i Σ_{j≠i} α_j K_ij) / K_ii, between 0 and the importance, by at most 1 at a time; a support
vector whose α becomes 0 is removed.

Source: A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast kernel classifiers with online and active learning", JMLR
2005; VW 9.11.9, `--ksvm`, whose order of support vectors and of arithmetic this has.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import uint64s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.reductions.kernel_svm.memory import column_of, order_of, release, slots_of

_0, _1, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
_GONE = 1e-10


@helper
def score_of(state, column):
    """The score of an example with these kernels."""
    slots, order, total = slots_of(state), order_of(state), _0
    for position in range(len(column)):
        total += column[position] * slots[order[position]].alpha
    return total / state.scale if len(column) > 0 else _0


@helper
def append(state, k):
    """Make a slot the last support vector."""
    state.supports += uint64(1)
    order_of(state)[state.supports - uint64(1)] = k


@helper
def _remove(state, position):
    """Remove a support vector."""
    order = order_of(state)
    k = order[position]
    for place in range(int64(position), int64(state.supports) - 1):
        order[place] = order[place + 1]
    state.supports -= uint64(1)
    release(state, k)


@inlined
def _best_weight(state, slot, own, others):
    """The best weight of a support vector, from its own kernel and what the others say of it."""
    rest = state.scale - others * slot.label
    found = rest / own if own != _0 else (slot.importance if rest > _0 else _0)
    return (slot.importance if found > slot.importance else max(found, _0)) * slot.label


@helper
def adjust(state, position):
    """Set the weight of a support vector to the best one, and remove it if that is 0."""
    slots, order = slots_of(state), order_of(state)
    k = order[position]
    column, slot = column_of(state, k), slots[k]
    total = _0
    for place in range(len(column)):
        total += column[place] * slots[order[place]].alpha
    slot.delta = total * slot.label / state.scale - _1
    before = slot.alpha
    total -= before * column[position]
    alpha = _best_weight(state, slot, column[position], total)
    change = alpha - before
    if abs(change) > _1:
        change = _1 if change > _0 else -_1
        alpha = before + change
    slot.alpha = _0
    for place in range(len(column)):
        other = slots[order[place]]
        other.delta += change * column[place] * other.label / state.scale
    if np.float64(abs(alpha)) <= _GONE:
        _remove(state, position)
    else:
        slot.alpha = alpha


@helper
def _worst(state):
    """Where the support vector stands that is furthest from its best weight; -1 if all have it."""
    slots, order, found, most = slots_of(state), order_of(state), -1, _0
    for position in range(int64(state.supports)):
        slot = slots[order[position]]
        weight = slot.alpha * slot.label
        wrong = (weight < slot.importance and slot.delta < _0) or (weight > _0 and slot.delta > _0)
        if wrong and abs(slot.delta) > most:
            found, most = position, abs(slot.delta)
    return found


@helper
def _bring_forward(state, position):
    """Make a support vector the first."""
    order = order_of(state)
    k = order[position]
    for place in range(int64(position), 0, -1):
        order[place] = order[place - 1]
    order[0] = k


@inlined
def _draw(shared):
    shared.random_state, found = merand48(shared.random_state)
    return found


@helper
def take(state, shared, k):
    """Let an example whose kernels are known join, and adjust others: the worst, or one drawn at random."""
    append(state, k)
    adjust(state, state.supports - uint64(1))
    for _ in range(state.reprocess):
        if state.supports == uint64(0):
            return
        if _draw(shared) < _HALF:
            adjust(state, uint64(math.floor(_draw(shared) * np.float32(state.supports))))
            continue
        worst = _worst(state)
        if worst >= 0:
            _bring_forward(state, worst)
            adjust(state, uint64(worst))  # the one that now stands there, as in VW


@inlined
def pool_of(state):
    """The slots of examples that wait to be learned, uint64[pool]."""
    return uint64s_at(state.waiting, state.pool)
