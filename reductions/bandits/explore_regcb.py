"""RegCB: actions whose cost may be the lowest are chosen, all equally or only the most promising.

The range of each action's cost is as in `cost_ranges`. With the method `elimination` the actions whose lowest cost is
no higher than the least of the highest costs share all probability equally; with `optimism` the action with the
smallest lowest cost has it all. If several have equal lowest costs, each has probability 1, as in VW, unless
`first_only`.

Source: D. Foster, A. Agarwal, M. Dudík, H. Luo, R. Schapire, "Practical contextual bandits with regression oracles",
ICML 2018; VW 9.11.9, `--cb_explore_adf --regcb [--regcbopt]`. As there, the chosen action is learned as if its
probability had been 1, unless it is the last of the decision.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.reductions.bandits.cost_ranges import RANGE_FIELDS, RangeExplorer, delta_of, learn_as_certain, set_ranges
from hutch.reductions.bandits.explorer import NonNegative
from hutch.reductions.bandits.probabilities import conclude
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreRegCbParameters(Parameters):
    """Parameters of `explore_regcb`.

    Attributes:
        method: `elimination` or `optimism`.
        mellowness: how wide the ranges of costs are.
        lowest_cost: the least that a cost can be.
        highest_cost: the most that a cost can be.
        first_only: with `optimism`, only the first of equally promising actions is chosen.
    """

    method: Literal["elimination", "optimism"] = "elimination"
    mellowness: NonNegative = 0.1
    lowest_cost: float = 0.0
    highest_cost: float = 1.0
    first_only: bool = False


STATE = np.dtype([*RANGE_FIELDS, ("optimistic", "u4"), ("first_only", "u4")])
own_of = state_of(STATE)


@helper
def _least(values):
    """The first of the least."""
    best = 0
    for k in range(1, len(values)):
        if values[k] < values[best]:
            best = k
    return best


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, in the order of their scores."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return conclude(example, importance)
    low, high = floats(columns, d.count, 0), floats(columns, d.count, 1)
    delta = delta_of(state, d.count, state.decisions)
    if state.optimistic == 1:
        set_ranges(state, layer, example, delta, low, high[:0], offset)
        best = _least(low)
        for k in range(len(values)):
            equal = state.first_only == 0 and low[ranked[k]] == low[best]
            values[k] = _1 if equal or np.int64(ranked[k]) == best else _0
        return conclude(example, importance)
    set_ranges(state, layer, example, delta, low, high, offset)
    least_high, count = high[_least(high)], 0
    for end in low:
        count += end <= least_high
    for k in range(len(values)):
        values[k] = _1 / np.float32(count) if low[ranked[k]] <= least_high else _0
    return conclude(example, importance)


class ExploreRegCb(RangeExplorer):
    """Chooses among the actions whose cost may be the lowest."""

    name: ClassVar[str] = "explore_regcb"
    Parameters: ClassVar[type[Parameters]] = ExploreRegCbParameters
    kernels = Kernels(learn_as_certain, predict, calls=("sensitivity",))
    dtype = STATE

    def __init__(self, parameters: ExploreRegCbParameters, context: Context) -> None:
        super().__init__(parameters, context, optimistic=parameters.method == "optimism")
