"""The decision of the `active` layer: its state, the score of an example, and whether to ask for its label."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    float64s_at,
    importance_to_next,
    record_of,
    sensitivity_next,
    shared_of,
    state_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48, uniform
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.reductions.active.rules import (
    MARGIN,
    RANDOM,
    VW,
    probability,
    solve_cutoff,
    vw_probability,
)

PROGRESS = np.dtype(
    [
        ("seen", "u8"),  # examples decided upon
        ("bought", "u8"),  # labels learned
        ("replayed", "u8"),  # examples decided upon when a label was last learned
        ("spent", "f8"),  # sum of the probabilities
        ("cutoff", "f8"),
        ("covered", "f8"),  # sum of importance of the examples that the estimate is about
        ("errors", "f8"),  # sum over bought labels of importance * error / P
        ("spread", "f8"),  # the same of importance^2 * error * (1 - P) / P^2
        ("weight", "f8"),  # the same of importance / P
        ("excess", "f8"),  # the same of importance^2 * (1 - P) / P^2
        ("lowest", "f4"),  # of the labels learned, and 0 (VW's rule)
        ("highest", "f4"),  # the same, and 1
        ("store", "u8"),  # identity of the label store whose answers were learned
        ("learned", "u8"),  # number of the last entry of its log that was learned
    ]
)
TRACE = np.dtype(
    [
        ("score", "f8"),
        ("probability", "f8"),
        ("uniform", "f8"),
        ("importance", "f4"),
        ("prediction", "f4"),
        ("label", "f4"),
        ("error", "f4"),  # 0 or 1 for classes, known in a simulation even where the label was not bought
        ("asked", "u4"),
        ("unused", "u4"),
    ]
)
"""One decision, as `Active.trace` records it."""
ACTIVE = np.dtype(
    [
        ("rule", "i8"),
        ("classes", "u8"),  # 1 if the layer below predicts classes
        ("simulation", "u8"),
        ("weighted", "u8"),
        ("seed", "u8"),
        ("fraction", "f8"),
        ("floor", "f8"),
        ("mellowness", "f8"),
        ("limit", "u8"),  # most labels to buy
        ("window", "u8"),
        ("scores", "u8"),  # address of float64[window]: a ring of the latest scores
        ("progress", "u8"),  # address of PROGRESS
        ("memory", "u8"),  # address of MEMORY
        ("replay", "u8"),
        ("examples_per_label", "f8"),  # for labels that are answers; 0: those decided upon since the last label
        ("replayed", "u8"),  # address of an EXAMPLE
        ("class_scores", "u8"),  # address of float32[class_count]
        ("class_count", "u8"),
        ("trace", "u8"),  # address of TRACE[trace_size]
        ("trace_size", "u8"),
        ("trace_count", "u8"),
        ("threshold", "f4"),
        ("lower", "f4"),
        ("upper", "f4"),
    ]
)
active_of, progress_of, trace_of = state_of(ACTIVE), record_of(PROGRESS), record_of(TRACE)

_0 = np.float32(0)
_TRACE_SIZE = np.uint64(TRACE.itemsize)


@helper
def _gap(s, e):
    """Distance of the two highest class scores."""
    best, second = -np.inf, -np.inf
    scores = float32s_at(e.scores, s.class_count)
    for k in range(s.class_count):
        value = np.float64(scores[k])
        if value > best:
            best, second = value, best
        elif value > second:
            second = value
    return best - second


@helper
def _score(s, layer, example, prediction, offset):
    """The smallest importance of a label that would change the prediction; for margin, the distance to the change."""
    if s.rule == RANDOM:
        return 0.0
    if s.rule == MARGIN:
        if s.classes == uint64(1):
            return _gap(s, example_of(example))
        return np.float64(abs(prediction - s.threshold))
    if s.classes == uint64(1):
        found = np.float64(importance_to_next(layer, example, prediction, _0, offset))
    else:
        opposite = s.lower if prediction > s.threshold else s.upper
        found = np.float64(importance_to_next(layer, example, opposite, s.threshold, offset))
    return max(found, 0.0) if found == found else 0.0


@helper
def _set_cutoff(s, progress, score):
    """Record a score, and set the cutoff so that the latest scores would spend what the budget allows now."""
    seen = np.float64(progress.seen)
    if s.mellowness >= 0.0:
        progress.cutoff = s.mellowness
    elif s.rule == RANDOM:
        progress.cutoff = s.fraction
    else:
        ring = float64s_at(s.scores, s.window)
        ring[progress.seen % s.window] = score
        if progress.seen < uint64(60) or progress.seen % uint64(10) == uint64(0):
            count = min(progress.seen + uint64(1), s.window)
            drift = (s.fraction * seen - progress.spent) / np.float64(s.window)
            wanted = max(s.floor, s.fraction + drift)
            progress.cutoff = solve_cutoff(s.rule, ring, count, wanted, progress.cutoff, seen, s.floor)


@helper
def _vw_probability(s, progress, layer, example, prediction, label, importance, offset):
    """VW's rule: in a simulation against 0 and all examples seen, else against the label range and unlabelled ones."""
    shared = shared_of(example_of(example).shared)
    if s.simulation == uint64(1):
        distance, seen = abs(prediction), shared.time
    else:
        middle = (shared.min_label + shared.max_label) / np.float32(2)
        distance, seen = abs(prediction - middle), shared.weighted_unlabeled + importance
        label = progress.lowest if prediction >= middle else progress.highest
    sensitivity = sensitivity_next(layer, example, label, importance, offset)
    confidence = np.float64(distance / sensitivity)
    return confidence, np.float64(vw_probability(confidence, seen, shared.sum_loss, s.mellowness))


@helper
def _trace(s, score, chance, draw, asked, prediction, label, importance, error):
    if s.trace_count < s.trace_size:
        entry = trace_of(s.trace + s.trace_count * _TRACE_SIZE)
        entry.score, entry.probability, entry.uniform = score, min(chance, 1.0), draw
        entry.importance, entry.prediction, entry.label, entry.error = importance, prediction, label, error
        entry.asked = 1 if asked else 0
        s.trace_count += uint64(1)


@helper
def decide(s, layer, example, prediction, label, importance, offset, error):
    """Decide whether to ask for the label; returns the probability with which that was so, 0 if it is not asked for."""
    e = example_of(example)
    shared, progress = shared_of(e.shared), progress_of(s.progress)
    frozen = shared.testing == uint64(1)
    outcome = outcome_of(e)
    if s.rule == VW:
        score, chance = _vw_probability(s, progress, layer, example, prediction, label, importance, offset)
        state, draw = merand48(shared.random_state)
        if not frozen:
            shared.random_state = state
        asked = draw < np.float32(chance)
    else:
        score = _score(s, layer, example, prediction, offset)
        if not frozen:
            _set_cutoff(s, progress, score)
        chance = probability(s.rule, score, progress.cutoff, np.float64(progress.seen), s.floor)
        if progress.bought >= s.limit:
            chance = 0.0
        draw = uniform(s.seed, e.number, uint64(0))
        asked = draw < chance
    put_back(e, outcome)
    _trace(s, score, chance, draw, asked, prediction, label, importance, error)
    if not frozen:
        progress.seen += uint64(1)
        progress.spent += min(chance, 1.0) if chance == chance else 0.0  # no number: it was not asked for
        shared.queries += uint64(1) if asked else uint64(0)
    return chance if asked else 0.0


@helper
def estimate(progress, importance, chance, error):
    """Add a bought label to the sums of the loss estimate; VW's rule can give a chance above 1, which counts as 1."""
    chance = min(chance, 1.0)
    w, inverse = np.float64(importance), 1.0 / chance
    progress.errors += w * error * inverse
    progress.spread += w * w * error * (1.0 - chance) * inverse * inverse
    progress.weight += w * inverse
    progress.excess += w * w * (1.0 - chance) * inverse * inverse


@helper
def lend_scores(s, e):
    """Make the layer below write its class scores even if no other layer needs them; True if they are ours."""
    if s.rule != MARGIN or s.classes == uint64(0) or (e.scores != uint64(0) and e.score_count > uint64(0)):
        return False
    e.scores, e.score_count = s.class_scores, s.class_count
    return True
