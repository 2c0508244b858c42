"""Lowest and highest plausible cost of an action: how far its prediction moves if trained on a cost out of range.

The range of an action holds the predictions that a learner could have, had it seen the action with an importance w
more, as long as its squared loss grows by no more than delta. With S the change of the prediction per unit of
importance, the lower end is p - S w with the greatest w for which w (f^2 - (f - S w)^2) <= delta, f = p - lowest + 1;
the upper end accordingly. delta grows with the logarithm of the decisions seen.

Source: D. Foster, A. Agarwal, M. Dudík, H. Luo, R. Schapire, "Practical contextual bandits with regression oracles",
ICML 2018; VW 9.11.9, `--regcb`.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import call, example_of, kernel, layer_of, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, show_action, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.reductions.bandits.contextual_bandit import regressor_below
from hutch.reductions.bandits.explorer import Explorer
from hutch.reductions.bandits.probabilities import conclude, predict_own, teach_next

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_MOST = np.float32(np.finfo(np.float32).max)
_CLOSE = np.float32(1e-6)
_HALVINGS = 20

RANGE_FIELDS = [
    ("decisions", "u8"),  # labelled ones seen
    ("scratch", "u8"),  # BUFFER
    ("mellowness", "f4"),
    ("lowest_cost", "f4"),
    ("highest_cost", "f4"),
    ("padding", "f4"),
]
"""First fields of the state of a `RangeExplorer`."""
_ranges_of = state_of(np.dtype(RANGE_FIELDS))


@helper
def delta_of(state, actions, decisions):
    """The allowed growth of the loss after so many decisions; `state` has the `RANGE_FIELDS`."""
    width = np.float32(np.float64(state.highest_cost - state.lowest_cost) ** 2)
    return state.mellowness * np.float32(math.log(np.float32(actions * decisions))) * width


@helper
def weight_to(f, delta, sensitivity):
    """The greatest importance that keeps the growth of the loss below delta, by halving.

    Args:
        f: distance of the prediction from the label.
        delta: growth of the squared loss that is allowed.
        sensitivity: change of the prediction per unit of importance.
    """
    most = min(f / sensitivity, _MOST)
    if most * f * f <= delta:
        return most
    low, high = _0, most
    for _ in range(_HALVINGS):
        w = (high + low) / _2
        rest = f - sensitivity * w
        growth = w * (f * f - rest * rest) - delta
        if growth > _0:
            high = w
        else:
            low = w
        if abs(growth) <= _CLOSE or high - low <= _CLOSE:
            break
    return low


@helper
def sensitivity_of(layer, example, prediction, label, offset):
    """Change of a known prediction per unit of importance."""
    e, below = example_of(example), regressor_below(layer_of(layer).next)
    e.is_predicted, e.predicted = uint64(1), prediction
    found = call(layer_of(below).sensitivity, below, example, label, _1, offset)
    e.is_predicted = uint64(0)
    return found


@inlined
def _is_finite(x):
    return abs(x) <= _MOST


@helper
def _low_end(state, layer, example, p, delta, offset):
    s = sensitivity_of(layer, example, p, state.lowest_cost - _1, offset)
    if p < state.lowest_cost or not _is_finite(s):
        return state.lowest_cost
    return min(max(p - s * weight_to(p - state.lowest_cost + _1, delta, s), state.lowest_cost), state.highest_cost)


@helper
def _high_end(state, layer, example, p, delta, offset):
    s = sensitivity_of(layer, example, p, state.highest_cost + _1, offset)
    if p > state.highest_cost or not _is_finite(s):
        return state.highest_cost
    return max(min(p + s * weight_to(state.highest_cost + _1 - p, delta, s), state.highest_cost), state.lowest_cost)


@helper
def set_ranges(state, layer, example, delta, low, high, offset):
    """Write the ends of the ranges of all ranked actions, by action; `high` may be empty."""
    d, e = decision_of(example), example_of(example)
    ranked, scores, outcome = ranked_of(d), values_of(d), outcome_of(e)
    for k in range(len(ranked)):
        a, p = ranked[k], scores[k]
        show_action(example, d, a, False)
        low[a] = _low_end(state, layer, example, p, delta, offset)
        if len(high) > 0:
            high[a] = _high_end(state, layer, example, p, delta, offset)
    put_back(e, outcome)


@kernel
def learn_as_certain(layer, example, label, importance, offset):
    """Predict; the layer below learns as if the chosen action had had probability 1; the last one keeps its own."""
    predict_own(layer, example, importance, offset)
    d = decision_of(example)
    probability = d.probability
    if d.chosen < np.int64(d.count) - 1:
        d.probability = _1
    teach_next(layer, example, importance, offset)
    d.probability = probability
    _ranges_of(layer).decisions += uint64(1)
    return conclude(example, importance)


class RangeExplorer(Explorer):
    """An explorer that counts decisions and knows the ranges of costs.

    Args:
        parameters: with `mellowness`, `lowest_cost` and `highest_cost`; the state begins with the `RANGE_FIELDS`.
        context: of the layer.
        fields: further fields of its state.
    """

    keeps: ClassVar[Mapping[str, Limits]] = {"decisions": COUNT}

    def __init__(self, parameters: Any, context: Context, **fields: Any) -> None:
        require_mtr(self.name, context)
        super().__init__(parameters, context, **fields)


def require_mtr(name: str, context: Context) -> None:
    """Refuse a chain in which the costs of actions are not regressed alone.

    Raises:
        ConfigError: it names the parameter of the layer below.
    """
    below = context.below
    kind = getattr(below.parameters, "type", "mtr") if below else "mtr"
    if kind != "mtr":
        raise ConfigError(f"{name} needs contextual_bandit.type mtr below it: got {kind!r}")
