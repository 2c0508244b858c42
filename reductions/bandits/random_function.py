"""Random functions of an example: every feature, interactions included, has a normal random weight from its hash.

The weight is the first number of a generator whose state is the place that the feature would have in a table of weights
without end: (index · rows per feature) · floats per row, interactions hashed from there in 64 bits, plus an offset.

Source: VW 9.11.9, `--cb_explore_adf --rnd`.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, record_of, shared_of, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.reductions.bandits.random import draw_gaussian
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

_0 = np.float32(0)
_TWO, _LEAST = np.float32(2), np.float32(1e-12)
_FNV, _CONSTANT = uint64(16777619), uint64(CONSTANT_INDEX)  # which is beyond small tables

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
    return math.sqrt(scale) * sums[1] / math.sqrt(_TWO * max(_LEAST, sums[0]))
