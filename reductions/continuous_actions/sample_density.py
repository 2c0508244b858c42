"""Draws a number from the density that the layer below predicts.

The prediction is the number, its score the density there: what a later label of that number needs. Above a layer that
cuts the range into parts the loss is the estimated cost of a number from the window around the part that was drawn;
else it is that of the layer below. Each prediction takes the run's next random number.

Source: VW 9.11.9, `--cats`.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import example_of, float32s_at, kernel, learn_next, predict_next, shared_of, state_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.reductions.continuous_actions.action_density import ActionDensity, is_known, logged_of
from hutch.reductions.continuous_actions.grid import SEGMENT, grid_at, middle_of, part_of, window_of

_0 = np.float32(0)
_BEYOND = np.float32(1.0001)
"""Draws go a little beyond the mass, and are repeated there, as in VW."""

STATE = np.dtype(
    [
        ("segments", "u8"),  # address of float32[count]: the density below
        ("count", "u8"),
        ("grid", "u8"),  # address of the GRID record of the layer below; 0: it has none
    ]
)
own_of = state_of(STATE)


@helper
def draw_from(segments, shared):
    """A number from a density, and the density there."""
    mass = _0
    for k in range(0, len(segments), SEGMENT):
        if segments[k + 2] > _0:
            mass += (segments[k + 1] - segments[k]) * segments[k + 2]
    state, u = merand48(shared.random_state)
    shared.random_state = state
    draw = _BEYOND * mass * u
    while draw >= mass > _0:
        state, u = merand48(state)
        draw = _BEYOND * mass * u
    before, number, density = _0, segments[0], segments[2]
    for k in range(0, len(segments), SEGMENT):
        if segments[k + 2] > _0:
            number, density = segments[k], segments[k + 2]
            own = density * (segments[k + 1] - segments[k])
            if draw <= own + before:
                return min(number + (draw - before) / density, segments[k + 1]), density
            before += own
    return number, density


@helper
def _judge(state, e, label, importance, number):
    """Write the estimated cost of the window around the part that was drawn."""
    grid = grid_at(state.grid)
    if not is_known(e, label, grid.lowest, grid.highest):
        return
    cost, density = logged_of(e)
    middle, loss = middle_of(grid, part_of(grid, number)), 0.0
    if abs(label - middle) <= grid.bandwidth:
        low, high = window_of(grid, middle)
        loss = np.float64(cost / (density * (high - low)))
    e.loss = loss * np.float64(importance)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    scores, count = e.scores, e.score_count
    e.scores, e.score_count = state.segments, state.count
    if learns:
        learn_next(layer, example, label, importance, offset)
    else:
        predict_next(layer, example, label, importance, offset)
    e.scores, e.score_count = scores, count
    number, density = draw_from(float32s_at(state.segments, state.count), shared_of(e.shared))
    if scores != uint64(0) and count > uint64(0):
        float32s_at(scores, count)[0] = density
    if state.grid != uint64(0):
        _judge(state, e, label, importance, number)
    return number


@kernel
def predict(layer, example, label, importance, offset):
    """Draw a number."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Draw a number from the density before learning, and let the layers below learn."""
    return _run(layer, example, label, importance, offset, True)


class SampleDensity(Reduction):
    """Draws a number from a density."""

    name: ClassVar[str] = "sample_density"
    takes = Labels.LOGGED_NUMBER
    predicts = Predictions.DRAWN_NUMBER
    asks = (Labels.LOGGED_NUMBER, Predictions.DENSITY)
    kernels = Kernels(learn, predict)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "shuffled_features": "rounding moves the boundary between two draws",
        "submodels": "all sub-models draw from one sequence",
    }

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        below, count = context.below, context.below.answers.score_count if context.below else 0
        grid = below.grid if isinstance(below, ActionDensity) else 0
        self.state = Record(STATE, segments=np.zeros(count, np.float32), count=count, grid=grid)

    @property
    def answers(self) -> Answers:
        """The density of the number drawn."""
        return replace(super().answers, score_count=1)
