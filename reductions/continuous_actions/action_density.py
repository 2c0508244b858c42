"""Decisions for a number in a range: a density around the number that has cost least, for the features of an example.

The range is cut into parts of equal width. A tree learns from logged costs which part is the cheapest, as if each cost
held for all numbers within the bandwidth. The prediction is a density: uniform within the bandwidth around the middle
of that part, and with probability epsilon uniform over the whole range.

The loss estimates the mean cost of numbers drawn from this density: c f(a) / p for a logged number a that had the cost
c and the density p, f being the new density.

Source: M. Majzoubi, C. Zhang, R. Chari, A. Krishnamurthy, J. Langford, A. Slivkins, "Efficient contextual bandits with
continuous actions", NeurIPS 2020; VW 9.11.9, `--cats_pdf`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Answers, Inputs, Parallel
from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    kernel,
    layer_of,
    state_of,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.continuous_actions.grid import (
    MOST_SEGMENTS,
    SEGMENT,
    RangeParameters,
    density_at,
    grid_at,
    grid_of,
    learned_parts,
    middle_of,
    probability_of_window,
    write_segments,
)
from hutch.reductions.continuous_actions.tree import descend, teach, tree_at, tree_of

_0 = np.float32(0)
_SCORES = SEGMENT * MOST_SEGMENTS


class ActionDensityParameters(RangeParameters):
    """Parameters of `action_density`.

    Attributes:
        parts: number of parts, a power of two: more find a better number, and need more examples.
        lowest: the smallest number that may be chosen.
        highest: the largest one.
        bandwidth: how far from the middle of the best part numbers are drawn, and costs of others count; None: half the
            width of a part.
        epsilon: probability of a number from the whole range.
        baseline: `uniform` learns costs as differences from the mean cost of a number drawn from the whole range, which
            is estimated from the log; `none` learns them as they are, as VW does, and parts without a cost count as 0.
        loss: `estimated` is the mean cost of the density, `logged` the cost of the logged number, as VW reports it.
    """

    lowest: Annotated[float, ExampleValue(0.0)]
    highest: Annotated[float, ExampleValue(1.0)]
    parts: Annotated[int, Within(ge=2, le=1 << 16)] = 16
    bandwidth: Annotated[float, Within(gt=0)] | None = None
    epsilon: Annotated[float, Within(ge=0, le=1)] = 0.05
    baseline: Literal["uniform", "none"] = "uniform"
    loss: Literal["estimated", "logged"] = "estimated"


STATE = np.dtype(
    [
        ("grid", "u8"),  # address of the GRID record
        ("tree", "u8"),  # address of the TREE record
        ("segments", "u8"),  # address of float32[9]: the density, where nobody asks for it
        ("sums", "u8"),  # address of float64[submodels, 2]: costs and weights of the log, as of numbers drawn uniformly
        ("submodels", "u8"),
        ("logged", "i8"),  # 1: the loss is the logged cost
        ("raw", "i8"),  # 1: costs are learned as they are
    ]
)
own_of = state_of(STATE)


@inlined
def logged_of(e):
    """Cost and density of an EXAMPLE record whose label is a logged number."""
    found = float32s_at(e.costs, e.cost_count)
    return found[0], found[1]


@inlined
def is_known(e, label, lowest, highest):
    """Whether a label is a number of the range, with a cost."""
    return label != UNLABELED and e.cost_count == uint64(2) and lowest <= label <= highest


@helper
def _beside_baseline(layer, state, grid, cost, density, importance, offset):
    """A cost less the mean one of numbers drawn uniformly, as the log before it tells; 0 for the first one."""
    sums = float64s_at(state.sums, uint64(2) * state.submodels)
    at = uint64(2) * (offset // (layer_of(layer).step * uint64(tree_at(state.tree).leaves - 1)))
    weight = np.float64(importance) / (np.float64(grid.highest - grid.lowest) * np.float64(density))
    mean = sums[at] / sums[at + uint64(1)] if sums[at + uint64(1)] > 0 else np.float64(cost)
    sums[at] += weight * np.float64(cost)
    sums[at + uint64(1)] += weight
    return np.float32(np.float64(cost) - mean)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    grid, tree = grid_at(state.grid), tree_at(state.tree)
    asked = e.scores != uint64(0) and e.score_count >= uint64(_SCORES)
    scores, count = e.scores, e.score_count
    segments = float32s_at(scores if asked else state.segments, uint64(_SCORES))
    e.scores, e.score_count = uint64(0), uint64(0)
    part = descend(layer, example, importance, offset, tree)
    write_segments(grid, part, segments)
    outcome = outcome_of(e)
    known, loss = is_known(e, label, grid.lowest, grid.highest), 0.0
    if known:
        cost, density = logged_of(e)
        loss = np.float64(cost)
        if state.logged == 0:
            loss *= np.float64(density_at(segments, label)) / np.float64(density)
        if learns:
            first, last = learned_parts(grid, label)
            if state.raw == 0:
                cost = _beside_baseline(layer, state, grid, cost, density, importance, offset)
            teach(layer, example, importance, offset, tree, first, last, cost / probability_of_window(grid, density))
    put_back(e, outcome)
    e.scores, e.score_count = scores, count
    if label != UNLABELED and not known and e.cost_count > uint64(0):
        e.importance = _0  # a number outside the range is reported, and does not count in the mean loss
    e.loss = loss * np.float64(importance)
    return middle_of(grid, part)


@kernel
def predict(layer, example, label, importance, offset):
    """The middle of the best part; its density goes to the scores."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the tree."""
    return _run(layer, example, label, importance, offset, True)


class ActionDensity(Reduction):
    """A density of numbers around the one that costs least."""

    name: ClassVar[str] = "action_density"
    Parameters: ClassVar[type[Parameters]] = ActionDensityParameters
    takes = Labels.LOGGED_NUMBER
    predicts = Predictions.DENSITY
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(learns_any_label=False)
    parallel = Parallel(merging={"sums": "add"})
    keeps: ClassVar[Mapping[str, Limits]] = {"sums": FINITE}
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: ActionDensityParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p = parameters
        self.grid = grid_of(self.name, p.parts, p.lowest, p.highest, p.bandwidth, p.epsilon)
        try:
            tree = tree_of(p.parts, int(self.grid["reach"][0]))
        except ConfigError as error:
            raise ConfigError(f"{self.name}.parts: {error}") from None
        self.state = Record(
            STATE,
            grid=self.grid,
            tree=tree,
            segments=np.zeros(_SCORES, np.float32),
            sums=np.zeros((context.submodels, 2)),
            submodels=context.submodels,
            logged=p.loss == "logged",
            raw=p.baseline == "none",
        )

    @classmethod
    def width(cls, parameters: ActionDensityParameters) -> int:
        """A sub-model per inner node."""
        return parameters.parts - 1

    @property
    def answers(self) -> Answers:
        """The segments of the density; labels are numbers of the range."""
        found, p = super().answers, self.parameters
        return replace(found, score_count=_SCORES, label_range=(p.lowest, p.highest), loss=None, labels=None)
