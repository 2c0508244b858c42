"""Random numbers and random functions of exploration: VW's generator, from the run's state or from a seed.

In a random function of an example every feature, interactions included, has a normal random weight from its hash. The
weight is the first number of a generator whose state is the place that the feature would have in a table of weights
without end: (index · rows per feature) · floats per row, interactions hashed from there in 64 bits, plus an offset.

Source: VW 9.11.9, `--cb_explore_adf` with `--bag`, `--rnd` and `--cb_sample`.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, record_of, shared_of, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.reductions.active.rules import merand48
from hutch.reductions.linear.features import features_of, is_left_out
from hutch.reductions.linear.memory import reserve
from hutch.reductions.linear.terms import (
    MAX_ORDER,
    fill_wildcards,
    find_terms,
    have_wildcards_of_vw,
    term_at,
    terms_record_of,
)

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_LEAST = np.float32(1e-12)
_FNV, _CONSTANT = uint64(16777619), uint64(CONSTANT_INDEX)  # which is beyond small tables

_POISSON = (
    0.3678794411714423215955,
    0.735758882342884643191,
    0.919698602928605803989,
    0.9810118431238461909214,
    0.9963401531726562876545,
    0.9994058151824183070012,
    0.9999167588507119768923,
    0.9999897508033253583053,
    0.9999988747974020309819,
    0.9999998885745216612793,
    0.9999999899522336243091,
    0.9999999991683892573118,
)
"""Probabilities that a Poisson number of mean 1 is at most 0, 1, 2, …"""


@helper
def draw_poisson(shared):
    """A Poisson number of mean 1, drawn with the run's random state."""
    shared.random_state, u = merand48(shared.random_state)
    count = 0
    while count < len(_POISSON) and np.float64(u) > _POISSON[count]:
        count += 1
    return count


@helper
def draw_gaussian(state):
    """A number from the standard normal distribution by the polar method, and the next state."""
    t, a = _0, _0
    while t >= _1 or t == _0:
        state, u = merand48(state)
        state, v = merand48(state)
        a, b = _2 * u - _1, _2 * v - _1
        t = a * a + b * b
    return a * math.sqrt(-_2 * np.float32(math.log(t)) / t), state


@helper
def draw_action(probabilities, u):
    """The first place at which the running sum of probabilities exceeds a share `u` of their sum; and that sum.

    What is below 0, as `explore_squarecb` may say of the best action when it eliminates others, becomes 0.
    """
    total = _0
    for k in range(len(probabilities)):
        probabilities[k] = max(probabilities[k], _0)
        total += probabilities[k]
    if total == _0:
        probabilities[0] = _1
        return 0, _1
    target, run = min(total * u, total), _0
    for k in range(len(probabilities)):
        run += probabilities[k]
        if run > target:
            return k, total
    return len(probabilities) - 1, total


WALK = np.dtype(
    [
        ("features", "u8"),  # address of the base learner's FEATURES record
        ("shift", "u8"),  # floats per row of the weight table, as a power of two
        ("places", "i8", MAX_ORDER),  # where the walk through a term stands
        ("hashes", "u8", MAX_ORDER),
        ("products", "f4", MAX_ORDER),
    ]
)
walk_of = record_of(WALK)


@helper
def _add(sums, x, place):
    """Add a feature to the sum of squares and to the random function."""
    squares, total = sums
    weight, _ = draw_gaussian(place)
    return squares + x * x, total + x * weight


@helper
def _walk_term(w, e, term, permutations, multiplier, offset, sums):
    """Add all products of one term, as the learner makes them."""
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    order, k = term[0], 0
    w.places[0] = starts[term[1]] - starts[0]
    while k >= 0:
        if w.places[k] == starts[term[1 + k] + 1] - starts[0]:
            k -= 1
            if k >= 0:
                w.places[k] += 1
            continue
        i = w.places[k]
        place, product = (uint64(indices[i]) * multiplier) << w.shift, values[i]
        if k > 0:
            place, product = place ^ (_FNV * w.hashes[k - 1]), w.products[k - 1] * product
        if k == order - 1:
            sums = _add(sums, product, place + offset)
            w.places[k] += 1
            continue
        w.hashes[k], w.products[k] = place, product
        k += 1
        repeats = term[1 + k] == term[k] and not permutations
        w.places[k] = i if repeats else starts[term[1 + k]] - starts[0]
    return sums


@helper
def random_value(walk, example, offset, scale):
    """The value of a random function at the example, with the root mean square of `scale` / 2.

    Args:
        walk: address of a WALK record.
        example: address of the example.
        offset: tells functions apart, in rows of the weight table.
        scale: variance.
    """
    w, e = walk_of(walk), example_of(example)
    features, multiplier = features_of(w.features), shared_of(e.shared).multiplier
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    sums, shifted = (_0, _0), offset << w.shift
    for j in range(int64(e.namespace_count)):
        if not is_left_out(features, ids[j]):
            for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
                index = _CONSTANT if ids[j] == CONSTANT_NAMESPACE else uint64(indices[i])
                sums = _add(sums, values[i], ((index * multiplier) << w.shift) + shifted)
    if features.terms != uint64(0):
        record = terms_record_of(features.terms)
        without = have_wildcards_of_vw(features.terms)
        if without:  # as in VW, where what fills the wildcards does so below this
            fill_wildcards(features.terms, False)
        find_terms(features.terms, ids, int64(e.namespace_count))
        found, permutations = reserve(record.found, uint64(0)), record.permutations == 1
        for t in range(int64(record.term_count)):
            sums = _walk_term(w, e, term_at(found, t), permutations, multiplier, shifted, sums)
        if without:
            fill_wildcards(features.terms, True)
    return math.sqrt(scale) * sums[1] / math.sqrt(_2 * max(_LEAST, sums[0]))
