"""Arithmetic of distributions over actions, in VW's order and in float32."""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import UNLABELED, call, example_of, kernel, layer_of, learn_next
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import outcome_of, put_back

_0, _1 = np.float32(0), np.float32(1)
_TOLERANCE, _ALL = np.float32(1e-4), np.float32(0.999)


@helper
def leaders(values):
    """Number of leading values that count as equal to the very first: within 1e-4 of their size."""
    count = 1
    while count < len(values):
        a, b = values[count], values[0]
        if not abs(a - b) <= _TOLERANCE * (abs(a) + abs(b)):
            break
        count += 1
    return count


@helper
def greedy(values, epsilon, first_only):
    """Turn scores, the best first, into epsilon in equal parts, and the rest for the best one or equally good ones."""
    count = 1 if first_only else leaders(values)
    each, left = epsilon / np.float32(len(values)), (_1 - epsilon) / np.float32(count)
    for k in range(len(values)):
        values[k] = each + left if k < count else each


@helper
def softmax(rate, scores, out):
    """Probabilities in proportion to exp(rate * score)."""
    top = scores[0]
    for score in scores:
        top = max(top, score) if rate > _0 else min(top, score)
    total = _0
    for k in range(len(scores)):
        out[k] = math.exp(rate * (scores[k] - top))
        total += out[k]
    for k in range(len(scores)):
        out[k] /= total


@helper
def _sort_down(values):
    """Sort in place, the greatest first."""
    for k in range(1, len(values)):
        j, value = k, values[k]
        while j > 0 and values[j - 1] < value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@helper
def enforce_minimum(epsilon, zeros, probabilities, scratch):
    """Raise small probabilities to epsilon / n, and take the difference evenly from the others.

    Args:
        epsilon: float32; 0, or outside of [0, 1], changes nothing.
        zeros: whether those that are 0 are raised, too; else n counts the others.
        probabilities: float32 (actions), changed in place.
        scratch: float32 (actions).
    """
    if not _0 < epsilon <= _1:
        return
    n = len(probabilities)
    if not zeros:
        n = 0
        for p in probabilities:
            n += p != _0
    many = np.float32(n)
    if epsilon > _ALL:
        for k in range(len(probabilities)):
            if zeros or probabilities[k] > _0:
                probabilities[k] = _1 / many
        return
    least = epsilon / many
    for k in range(len(probabilities)):
        scratch[k] = probabilities[k]
    _sort_down(scratch)
    run, sum_at, place = _0, scratch[0], 0
    for k in range(len(scratch)):
        p = scratch[k]
        if not zeros and p == _0:
            break
        run += p
        if p > (np.float32(n - k - 1) * least + run - _1) / np.float32(k + 1) + least:
            place, sum_at = k, run
    rank = np.float32(place)
    excess = ((many - rank - _1) * least + sum_at - _1) / (rank + _1)
    for k in range(len(probabilities)):
        if zeros or probabilities[k] > _0:
            probabilities[k] = max(probabilities[k] - excess, least)


@helper
def sort_by_probability(ranked, probabilities, scores):
    """Sort actions in place: the likeliest first, equal ones by the entry of `scores` for the action, then number."""
    for k in range(1, len(ranked)):
        action, p, j = ranked[k], probabilities[k], k
        while j > 0 and _is_likelier(p, action, probabilities[j - 1], ranked[j - 1], scores):
            ranked[j], probabilities[j] = ranked[j - 1], probabilities[j - 1]
            j -= 1
        ranked[j], probabilities[j] = action, p


@inlined
def _is_likelier(p, action, other_p, other, scores):
    if p != other_p:
        return p > other_p
    if scores[action] != scores[other]:
        return scores[action] < scores[other]
    return action < other


@helper
def conclude(example, importance):
    """The loss of a distribution: the estimated cost of drawing from it. Returns the first action."""
    e, d = example_of(example), decision_of(example)
    ranked, values, loss = ranked_of(d), values_of(d), _0
    if d.chosen >= 0:
        for k in range(int64(d.count)):
            cost = d.cost / d.probability if d.chosen == int64(ranked[k]) else _0
            loss += cost * values[k] * importance
    e.loss = np.float64(loss)
    return np.float32(ranked[uint64(0)])


@helper
def teach_next(layer, example, importance, offset):
    """Let the layer below learn from a decision that has been predicted."""
    d, e = decision_of(example), example_of(example)
    outcome, d.only_learns = outcome_of(e), uint64(1)
    learn_next(layer, example, UNLABELED, importance, offset)
    d.only_learns = uint64(0)
    put_back(e, outcome)


@inlined
def predict_own(layer, example, importance, offset):
    """Let the layer itself predict."""
    call(layer_of(layer).predict, layer, example, UNLABELED, importance, offset)


@kernel
def predict_and_teach(layer, example, label, importance, offset):
    """`learn` of a layer that only predicts and then lets the layer below learn."""
    predict_own(layer, example, importance, offset)
    teach_next(layer, example, importance, offset)
    return conclude(example, importance)
