"""Cost-sensitive classes by active learning: ask for the costs that decide which class is the cheapest.

For each class the layer keeps in mind the costs that a good regressor could predict, those that a label of importance
less than δ / (its loss) would make of the prediction. A cost is asked for where this range is wide, and where the class
may be the cheapest while others may be, too. Labels are a simulation: costs stay hidden until they are asked for.

Source: A. Krishnamurthy, A. Agarwal, T.-K. Huang, H. Daumé III, J. Langford, "Active learning for cost-sensitive
classification", ICML 2017; VW 9.11.9, `--cs_active --simulation`.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.derived import lacking
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    sensitivity_next,
    shared_of,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.loss import kinds
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.cost_ranges import weight_to

_0, _1 = np.float32(0), np.float32(1)


class CostSensitiveActiveParameters(Parameters):
    """Parameters of `cost_sensitive_active`.

    Attributes:
        classes: number of classes, counted from 1.
        lowest_cost: end of the range of costs.
        highest_cost: its other end.
        mellowness: higher asks for more costs; C0 of the source.
        width: a range of costs is wide above this, times that of all costs, over the root of the examples.
        of_best: ask only of classes that may be the cheapest; else of every class with a wide range.
        budget: costs to ask for at most; None: any number.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20), ExampleValue(3)]
    lowest_cost: float = 0.0
    highest_cost: float = 1.0
    mellowness: Annotated[float, Within(ge=0)] = 0.1
    width: Annotated[float, Within(ge=0)] = 0.5
    of_best: bool = True
    budget: Annotated[int, Within(ge=0)] | None = None

    def __post_init__(self) -> None:
        if not self.lowest_cost < self.highest_cost:
            raise ValueError(f"lowest_cost {self.lowest_cost:g} is not below highest_cost {self.highest_cost:g}")


STATE = np.dtype(
    [
        ("classes", "i8"),
        ("round", "i8"),  # examples decided upon, and this one
        ("asked", "i8"),  # costs so far
        ("budget", "i8"),
        (
            "ranges",
            "u8",
        ),  # address of float32[classes, 3]: of this example least and greatest cost, and 1 if they are unknown
        ("lowest", "f4"),
        ("highest", "f4"),
        ("mellowness", "f4"),
        ("width", "f4"),
        ("of_best", "u4"),
        ("unused", "u4"),
    ]
)
own = state_of(STATE)


@helper
def _find_range(layer, example, state, k, most, importance, offset):
    """Set the range of costs that good regressors predict for class k, counted from 0."""
    ranges, at = float32s_at(state.ranges, uint64(3 * state.classes)), submodel(layer, offset, k)
    prediction = predict_next(layer, example, UNLABELED, importance, at)
    e = example_of(example)
    raw, features = e.raw, e.features
    e.is_predicted, e.predicted = uint64(1), prediction
    sensitivity = sensitivity_next(layer, example, _0, importance, at)
    e.is_predicted = uint64(0)
    e.raw, e.features = raw, features
    low, high, unknown = state.lowest, state.highest, _1
    if state.round > 1 and math.isfinite(sensitivity):
        up = prediction + sensitivity * weight_to(state.highest - prediction, most, sensitivity)
        down = prediction - sensitivity * weight_to(prediction - state.lowest, most, sensitivity)
        low, high, unknown = max(down, state.lowest), min(up, state.highest), _0
    ranges[3 * k], ranges[3 * k + 1], ranges[3 * k + 2] = low, high, unknown


@helper
def _find_ranges(layer, example, state, importance, offset):
    """Set the ranges of all classes of the label; returns which of them may be the cheapest, and the bound for that."""
    e = example_of(example)
    classes = uint32s_at(e.cost_classes, e.cost_count)
    ranges = float32s_at(state.ranges, uint64(3 * state.classes))
    before = max(np.float32(state.round) - _1, _1)
    span = np.float64(state.highest - state.lowest)
    most = state.mellowness * np.float32(math.log(np.float32(state.classes) * before)) * np.float32(span * span)
    bound, rivals = UNLABELED, 0
    for j in range(len(classes)):
        k = int64(classes[j]) - 1
        if 0 <= k < state.classes:
            _find_range(layer, example, state, k, most, importance, offset)
            bound = min(bound, ranges[3 * k + 1])
    for j in range(len(classes)):
        k = int64(classes[j]) - 1
        if 0 <= k < state.classes and ranges[3 * k] <= bound:
            rivals += 1
    return rivals, bound


@helper
def _asks(state, k, rivals, bound):
    """Whether to ask for the cost of class k."""
    ranges = float32s_at(state.ranges, uint64(3 * state.classes))
    threshold = state.width * (state.highest - state.lowest) / np.float32(math.sqrt(np.float32(state.round)))
    wide = ranges[3 * k + 2] == _1 or ranges[3 * k + 1] - ranges[3 * k] > threshold
    return wide and (state.of_best == 0 or (rivals > 1 and ranges[3 * k] <= bound))


@helper
def _take(e, k, best, least):
    """Record the score of class k; returns the cheapest class so far, counted from 0, and its score."""
    if e.scores != uint64(0) and k < int64(e.score_count):
        float32s_at(e.scores, e.score_count)[k] = e.raw
    if e.raw < least or (e.raw == least and k < best):
        return k, e.raw
    return best, least


@helper
def _finish(e, best, least):
    """Write score and loss of the choice: its cost above the least, if that is known."""
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    cheapest = chosen = UNLABELED
    for j in range(len(costs)):
        cheapest = min(cheapest, costs[j])
        if int64(classes[j]) == best + 1:
            chosen = costs[j]
    e.raw = least
    e.loss = np.float64((chosen - cheapest) * e.importance) if chosen != UNLABELED else 0.0
    return np.float32(best + 1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class predicted cheapest, among those of the label if it names any."""
    state, e = own(layer), example_of(example)
    classes, best, least = uint32s_at(e.cost_classes, e.cost_count), int64(0), UNLABELED
    listed = int64(e.cost_count)
    for j in range(listed if listed > 0 else state.classes):
        k = int64(classes[j]) - 1 if listed > 0 else int64(j)
        if 0 <= k < state.classes:
            predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
            best, least = _take(e, k, best, least)
    return _finish(e, best, least)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and learn the costs that are asked for."""
    state, e = own(layer), example_of(example)
    if state.asked >= state.budget:
        return predict(layer, example, label, importance, offset)
    rivals, bound = _find_ranges(layer, example, state, importance, offset)
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    best, least = int64(0), UNLABELED
    for j in range(len(classes)):
        k = int64(classes[j]) - 1
        if not 0 <= k < state.classes:
            continue
        at = submodel(layer, offset, k)
        if _asks(state, k, rivals, bound):
            state.asked += 1
            shared_of(e.shared).queries += uint64(1)
            e.query = _1
            if costs[j] != UNLABELED:
                learn_next(layer, example, costs[j], _1, at)
            else:
                predict_next(layer, example, UNLABELED, _1, at)
        else:
            predict_next(layer, example, UNLABELED, _1, at)
        best, least = _take(e, k, best, least)
    state.round += 1
    return _finish(e, best, least)


class CostSensitiveActive(Reduction):
    """A regression of the cost of each class that asks for the costs it needs.

    Raises:
        ConfigError: the layer below cannot say how far a label moves its prediction, or does not learn by squared loss.
    """

    name: ClassVar[str] = "cost_sensitive_active"
    Parameters: ClassVar[type[Parameters]] = CostSensitiveActiveParameters
    takes = Labels.COST_SENSITIVE
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, calls=("sensitivity",))
    parallel = Parallel()
    keeps: ClassVar[Mapping[str, Limits]] = {"round": Limits(1, COUNT.most), "asked": COUNT}

    def __init__(self, parameters: CostSensitiveActiveParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._check(context)
        p, shared = parameters, context.shared
        if not shared["fixed_range"][0]:
            shared["min_label"] = min(shared["min_label"][0], np.float32(p.lowest_cost))
            shared["max_label"] = max(shared["max_label"][0], np.float32(p.highest_cost))
        self.state = Record(
            STATE,
            classes=p.classes,
            round=1,
            budget=COUNT.most if p.budget is None else p.budget,
            ranges=np.zeros((p.classes, 3), np.float32),
            lowest=p.lowest_cost,
            highest=p.highest_cost,
            mellowness=p.mellowness,
            width=p.width,
            of_best=p.of_best,
        )

    def _check(self, context: Context) -> None:
        below = context.below
        if below is None:
            return
        lacks = lacking(below, "sensitivity")
        if lacks is not None:
            raise ConfigError(f"{self.name} needs sensitivity from the layer below, which {lacks.name!r} lacks")
        if below.answers.loss_kind not in (None, kinds.SQUARED):
            raise ConfigError(
                f"{self.name} needs squared loss from the layer below, which {below.name!r} does not have"
            )

    @classmethod
    def width(cls, parameters: Any) -> int:
        """One sub-model per class."""
        count: int = parameters.classes
        return count

    @property
    def answers(self) -> Answers:
        """One score per class."""
        return replace(super().answers, score_count=self.parameters.classes)
