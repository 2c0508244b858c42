"""RegCB: actions whose cost may be the lowest are chosen, all equally or only the most promising.

The range of each action's cost is as in `cost_ranges`. With the method `elimination` the actions whose lowest cost is
no higher than the least of the highest costs share all probability equally; with `optimism` the action with the
smallest lowest cost has it all. Several with equal lowest costs then have probability 1 each, as in VW, unless
`first_only`.

Source: D. Foster, A. Agarwal, M. Dudík, H. Luo, R. Schapire, "Practical contextual bandits with regression oracles",
ICML 2018; VW 9.11.9, `--cb_explore_adf --regcb [--regcbopt]`. As there, the chosen action is learned as if its
probability had been 1, unless it is the last of the decision.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.reductions.bandits.cost_ranges import (
    RANGE_FIELDS,
    delta_of,
    require_mtr,
    set_ranges,
    teach_as_certain,
)
from hutch.reductions.bandits.explorer import Explorer, Finite, NonNegative
from hutch.reductions.bandits.probabilities import conclude
from hutch.reductions.bandits.scratch import floats, make_columns
from hutch.reductions.linear.memory import Buffer

_0, _1 = np.float32(0), np.float32(1)


class ExploreRegCbParameters(Parameters):
    """Parameters of `explore_regcb`.

    Attributes:
        method: `elimination` or `optimism`.
        mellowness: how wide the ranges of costs are.
        lowest_cost, highest_cost: of all costs.
        first_only: with `optimism`, only the first of equally promising actions is chosen.
    """

    method: Literal["elimination", "optimism"] = "elimination"
    mellowness: NonNegative = 0.1
    lowest_cost: Finite = 0.0
    highest_cost: Finite = 1.0
    first_only: bool = False


STATE = np.dtype(
    [
        ("decisions", "u8"),  # labelled ones seen
        ("scratch", "u8"),  # BUFFER
        ("optimistic", "u4"),
        ("first_only", "u4"),
        *RANGE_FIELDS,
    ]
)
own_of = state_of(STATE)


@helper
def _least(values):
    """The first of the least."""
    best = 0
    for k in range(1, len(values)):
        if values[k] < values[best]:
            best = k
    return best


@helper
def _explore(layer, example, importance, offset):
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return
    low, high = floats(columns, d.count, 0), floats(columns, d.count, 1)
    delta = delta_of(state, d.count, state.decisions)
    if state.optimistic == 1:
        set_ranges(state, layer, example, delta, low, high[:0], offset)
        best = _least(low)
        for k in range(len(values)):
            equal = state.first_only == 0 and low[ranked[k]] == low[best]
            values[k] = _1 if equal or np.int64(ranked[k]) == best else _0
        return
    set_ranges(state, layer, example, delta, low, high, offset)
    least_high, count = high[_least(high)], 0
    for end in low:
        count += end <= least_high
    for k in range(len(values)):
        values[k] = _1 / np.float32(count) if low[ranked[k]] <= least_high else _0


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, in the order of their scores."""
    _explore(layer, example, importance, offset)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then let the layer below learn."""
    _explore(layer, example, importance, offset)
    teach_as_certain(layer, example, importance, offset)
    own_of(layer).decisions += uint64(1)
    return conclude(example, importance)


class ExploreRegCb(Explorer):
    """Chooses among the actions whose cost may be the lowest."""

    name: ClassVar[str] = "explore_regcb"
    Parameters: ClassVar[type[Parameters]] = ExploreRegCbParameters
    calls = ("sensitivity",)

    def __init__(self, parameters: ExploreRegCbParameters, context: Context) -> None:
        super().__init__(parameters, context)
        require_mtr(self.name, context)
        p = parameters
        self.state = Record(
            STATE,
            scratch=Buffer(),
            optimistic=p.method == "optimism",
            first_only=p.first_only,
            mellowness=p.mellowness,
            lowest=p.lowest_cost,
            highest=p.highest_cost,
        )

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def saved(self) -> dict[str, NDArray[Any]]:
        """How many labelled decisions have been seen."""
        return {"decisions": self.state["decisions"]}

    def limits(self) -> Mapping[str, Limits]:
        """A count."""
        return {"decisions": COUNT}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register RegCB."""
    register(ExploreRegCb)
