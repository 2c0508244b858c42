"""Thompson sampling and optimism: explore by how uncertain the learner is of each action's cost.

The cost of an action has mean m, its score, and deviation s = width √(v D), where v is how far the learner would move
its prediction per unit of importance and derivative, and D the deviation of the costs seen. On `dyadic` with posterior
rates that is the posterior deviation, up to a factor. A learner that provides the posterior variance itself gives v D.

* `thompson`: an action has the probability that it is the cheapest, if every action's cost is drawn from its own normal
  distribution. That is the chance with which Thompson sampling chooses it, by quadrature instead of by draws, so that
  the probabilities are exact and belong into the log.
* `optimism`: the action with the least m - s has all probability; of several that have it, each has its share.

The chosen action is learned with importance 1, however unlikely it was.

Source: W. Thompson, Biometrika 1933; O. Chapelle, L. Li, "An empirical evaluation of Thompson sampling", NIPS 2011.
"""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy import uint64

from hutch.core.chain.limits import COUNT, FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, show_action, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.reductions.bandits.cost_ranges import require_mtr, sensitivity_of
from hutch.reductions.bandits.explorer import Explorer, NonNegative, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, predict_own, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1, _HALF = np.float32(0), np.float32(1), np.float32(0.5)
_CELLS = 96
"""Of the quadrature."""
_REACH = 5.0
"""Deviations beyond which the density counts as zero."""
_BEYOND = 1.0 + 1e-9  # rounding must not leave the highest out
_ROOT_HALF = math.sqrt(0.5)
_LEAST = 1e-300


class ExplorePosteriorParameters(Parameters):
    """Parameters of `explore_posterior`.

    Attributes:
        method: `thompson` or `optimism`.
        width: factor of all deviations; 0 chooses the action with the lowest score.
        epsilon: least probability of all actions together.
    """

    method: Literal["thompson", "optimism"] = "thompson"
    width: NonNegative = 0.1
    epsilon: Probability = 0.0


STATE = np.dtype(
    [
        ("decisions", "f8"),  # labelled ones seen, with mean and sum of squared deviations of their costs
        ("mean", "f8"),
        ("squares", "f8"),
        ("scratch", "u8"),  # BUFFER
        ("optimistic", "u4"),
        ("width", "f4"),
        ("epsilon", "f4"),
        ("is_variance", "u4"),  # 1: the learner provides the variance itself
    ]
)
own_of = state_of(STATE)


@helper
def _below(x, mean, deviation):
    """Probability that a cost is at most x."""
    if deviation <= _0:
        return 1.0 if x >= mean else 0.0
    return 0.5 * math.erfc((np.float64(mean) - x) / np.float64(deviation) * _ROOT_HALF)


@helper
def chances_of_least(means, deviations, out):
    """The probability of each of some independent normal numbers that it is the least.

    Args:
        means, deviations: float32 (numbers).
        out: float32 (numbers), overwritten; sums to 1.
    """
    low, high = np.inf, np.inf
    for k in range(len(means)):
        low = min(low, np.float64(means[k]) - _REACH * np.float64(deviations[k]))
        high = min(high, np.float64(means[k]) + _REACH * np.float64(deviations[k]))
        out[k] = _0
    if not low < high:  # no cost is uncertain, or all are NaN
        for k in range(len(means)):
            out[k] = _1 if np.float64(means[k]) <= low else _0
    else:
        step = (high - low) * _BEYOND / _CELLS
        for cell in range(_CELLS):
            middle, end, logarithm = low + (cell + 0.5) * step, low + (cell + 1) * step, 0.0
            for k in range(len(means)):
                logarithm += math.log(max(1.0 - _below(middle, means[k], deviations[k]), _LEAST))
            for k in range(len(means)):
                mass = _below(end, means[k], deviations[k]) - _below(end - step, means[k], deviations[k])
                if mass > 0.0:
                    above = max(1.0 - _below(middle, means[k], deviations[k]), _LEAST)
                    out[k] += np.float32(mass * math.exp(logarithm - math.log(above)))
    total = _0
    for k in range(len(means)):
        total += out[k]
    for k in range(len(means)):
        out[k] = out[k] / total if total > _0 else _1 / np.float32(len(means))


@helper
def _share_of_least(bounds, out):
    """Give the least of some numbers all probability, several equal ones the same part; NaN counts as any other."""
    least, count = bounds[0], 0
    for bound in bounds:
        least = bound if bound < least else least
    for bound in bounds:
        count += not bound > least
    for k in range(len(bounds)):
        out[k] = _0 if bounds[k] > least else _1 / np.float32(count)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, in the order of their scores."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d, e = own_of(layer), decision_of(example), example_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return conclude(example, importance)
    means, deviations, outcome = floats(columns, d.count, 0), floats(columns, d.count, 1), outcome_of(e)
    spread = math.sqrt(state.squares / state.decisions) if state.decisions > 1.0 else 1.0
    spread = spread if spread > 0.0 and state.is_variance == 0 else 1.0
    for k in range(len(values)):
        means[k] = values[k]
        show_action(example, d, ranked[k], False)
        moves = abs(np.float64(sensitivity_of(layer, example, means[k], means[k] + _HALF, offset)))
        deviations[k] = state.width * np.float32(math.sqrt(moves * spread)) if moves < np.inf else _0
    put_back(e, outcome)
    if state.optimistic == 1:
        for k in range(len(values)):
            means[k] -= deviations[k]
        _share_of_least(means, values)
    else:
        chances_of_least(means, deviations, values)
    enforce_minimum(state.epsilon, True, values, means)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then let the layer below learn the cost of the chosen action."""
    predict_own(layer, example, importance, offset)
    state, d = own_of(layer), decision_of(example)
    state.decisions += 1.0
    off = np.float64(d.cost) - state.mean
    state.mean += off / state.decisions
    state.squares += off * (np.float64(d.cost) - state.mean)
    probability, d.probability = d.probability, _1 / np.float32(d.count)  # mtr divides by the mean number of actions
    teach_next(layer, example, importance, offset)
    d.probability = probability
    return conclude(example, importance)


class ExplorePosterior(Explorer):
    """Chooses actions by the chance that they are the cheapest."""

    name: ClassVar[str] = "explore_posterior"
    Parameters: ClassVar[type[Parameters]] = ExplorePosteriorParameters
    kernels = Kernels(learn, predict, calls=("sensitivity",))
    dtype = STATE
    keeps: ClassVar[Mapping[str, Limits]] = {"decisions": COUNT, "mean": FINITE, "squares": FINITE}

    def __init__(self, parameters: ExplorePosteriorParameters, context: Context) -> None:
        require_mtr(self.name, context)
        super().__init__(parameters, context, optimistic=parameters.method == "optimism")
        self.state["is_variance"] = super().answers.sensitivity_is_variance
