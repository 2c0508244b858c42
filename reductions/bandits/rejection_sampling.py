"""Replays a log as if the explorer below had made its decisions: it learns from those that rejection sampling accepts.

A decision is accepted with probability c π(a) / p(a), where π and p are the probabilities with which the explorer and
the log choose the logged action a. The factor c is the largest so far that lets no such probability exceed 1.

Source: M. Dudík, D. Erhan, J. Langford, L. Li, "Sample-efficient nonstationary policy evaluation for contextual
bandits", UAI 2012; VW 9.11.9, `--explore_eval`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.kernel.abi import example_of, float32s_at, kernel, learn_next, predict_next, shared_of, state_of
from hutch.core.kernel.decision import decision_of, place_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.parameters import Within
from hutch.reductions.bandits.explorer import Explorer
from hutch.reductions.bandits.probabilities import conclude
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)
Positive = Annotated[float, Within(gt=0)]


class RejectionSamplingParameters(Parameters):
    """Parameters of `rejection_sampling`.

    Attributes:
        multiplier: the factor c; None: the largest so far that lets no probability exceed 1.
        target_rate: share of decisions to accept, by changing c; beyond probability 1 importance grows instead.
    """

    multiplier: Positive | None = None
    target_rate: Positive | None = None


STATE = np.dtype(
    [
        ("multiplier", "f4"),
        ("is_fixed", "u4"),
        ("passes", "u4"),  # 1: nothing is drawn for a decision whose action has no probability
        ("target_rate", "f4"),  # 0: none
        ("accepted", "f4"),  # sum of the probabilities of accepting
        ("seen", "u8"),
        ("scratch", "u8"),  # BUFFER
    ]
)
own_of = state_of(STATE)


@helper
def _chance(state, ratio):
    """The probability of accepting a decision, given π(a) / p(a); above 1 it is an importance."""
    if state.is_fixed == 0 and ratio > _0:
        state.multiplier = min(state.multiplier, _1 / ratio)
    chance, rate = ratio * state.multiplier, _1
    if state.target_rate > _0 and state.accepted > _0:
        rate = state.target_rate * np.float32(state.seen) / state.accepted
    state.accepted, state.seen = state.accepted + chance, state.seen + uint64(1)
    return chance * rate


@helper
def _learn_scaled(layer, example, label, importance, offset, factor):
    """Let the layer below learn with the importances times a factor; those of the batch stay as they are."""
    d = decision_of(example)
    of_batch, scaled = d.importance, make_columns(own_of(layer).scratch, d.count, 1)
    if scaled == uint64(0):
        return
    ours, theirs = floats(scaled, d.count, 0), float32s_at(of_batch, d.count)
    for k in range(d.count):
        ours[k] = theirs[k] * factor
    d.importance = scaled
    learn_next(layer, example, label, importance, offset)
    d.importance = of_batch


@kernel
def predict(layer, example, label, importance, offset):
    """What the explorer below would do."""
    predict_next(layer, example, label, importance, offset)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and let the explorer below learn if the decision is accepted."""
    predict_next(layer, example, label, importance, offset)
    d, shared = decision_of(example), shared_of(example_of(example).shared)
    own, logged = values_of(d)[place_of(d, d.chosen)], d.probability
    chance = _chance(own_of(layer), own / logged)
    u = _1
    if own > _0 or own_of(layer).passes == 0:
        shared.random_state, u = merand48(shared.random_state)
    if u < chance:
        d.probability = own
        _learn_scaled(layer, example, label, importance, offset, max(chance, _1))
        d.probability = logged
    return conclude(example, importance)


class RejectionSampling(Explorer):
    """Learns from the decisions of a log that an explorer might have made itself."""

    name: ClassVar[str] = "rejection_sampling"
    Parameters: ClassVar[type[Parameters]] = RejectionSamplingParameters
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    kernels = Kernels(learn, predict)
    dtype = STATE
    keeps: ClassVar[Mapping[str, Limits]] = {"multiplier": POSITIVE, "accepted": POSITIVE, "seen": COUNT}

    def __init__(self, parameters: RejectionSamplingParameters, context: Context) -> None:
        multiplier, rate = parameters.multiplier, parameters.target_rate
        is_fixed = multiplier is not None or rate is not None
        passes = getattr(context.below, "leaves_out", False)
        super().__init__(
            parameters, context, multiplier=multiplier or 1, is_fixed=is_fixed, passes=passes, target_rate=rate or 0
        )
