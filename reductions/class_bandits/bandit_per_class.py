"""Learning which class costs least when only the chosen class's cost is known, with a model of the costs of each class.

With cost c of the chosen class a, and p the probability with which it was chosen, the layer below, which predicts the
class of least cost, learns these costs:

* `dr` (doubly robust): x_k of class k, and of a in addition (c - x_a) / p; x is the prediction of a second set of
  models, those of a trained on c with importance 1 / p.
* `ips` (inverse propensity scores): c / p of a, 0 of all others.
* `dm` (direct method): the layer below learns nothing; the class with the least x is predicted.

A label may name more classes: then these alone can be chosen.

Source: VW 9.11.9, `--cb` with `--cb_force_legacy`; M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and
learning", ICML 2011.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import ExampleValue, Within

_0, _1 = np.float32(0), np.float32(1)
DR, IPS, DM = range(3)
TYPES = {"dr": DR, "ips": IPS, "dm": DM}


class BanditPerClassParameters(Parameters):
    """Parameters of `bandit_per_class`.

    Attributes:
        classes: number of classes, counted from 1.
        type: how the cost of one class becomes costs of all.
        evaluates: the first class of a label is the choice of another policy, whose cost is estimated; no policy is
            learned.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20), ExampleValue(3)]
    type: Literal["dr", "ips", "dm"] = "dr"
    evaluates: bool = False

    def __post_init__(self) -> None:
        if self.evaluates and self.type == "dm":
            raise ValueError("evaluates: got it with type dm, whose estimates are biased, wanted dr or ips")


STATE = np.dtype(
    [
        ("type", "i8"),
        ("classes", "u8"),
        ("evaluates", "u8"),
        ("scratch", "u8"),  # BUFFER of the classes that can be chosen, their costs, their estimates, and all scores
    ]
)
own_of = state_of(STATE)


@inlined
def label_of(e):
    """The label of an EXAMPLE record as classes with costs."""
    return e.cost_classes, e.costs, e.cost_count


@inlined
def put_label(e, label):
    """Give an EXAMPLE record the label that `label_of` returned."""
    e.cost_classes, e.costs, e.cost_count = label


@inlined
def class_in(prediction, classes):
    """The class that a layer below predicts, one of those that there are."""
    return uint32(min(max(prediction, _1), np.float32(classes)))


@helper
def chosen_class(d, classes):
    """The class whose cost and probability are known, from 1; 0 without one."""
    if d.chosen < 0:
        return int64(0)
    found = int64(uint32s_at(d.classes, d.count)[d.chosen])
    return found if 0 < found <= int64(classes) else int64(0)


@helper
def estimate_of(cost, probability, is_chosen, x):
    """The cost of a class: x, corrected by what is known of the chosen one."""
    return (cost - x) / probability + x if is_chosen else x


@helper
def regress(layer, example, cost, importance, offset):
    """The estimate of a class's cost by the models below the layer below, which learn it if the cost is known."""
    e = example_of(example)
    below = layer_of(layer_of(layer).next).next
    if cost == UNLABELED:
        return call(layer_of(below).predict, below, example, UNLABELED, _1, offset)
    e.importance = importance
    return call(layer_of(below).learn, below, example, cost, importance, offset)


@helper
def regressor_at(layer, offset, k):
    """The offset of the model for the estimates of class k, from 0, by the second set of models."""
    return offset + layer_of(layer).step + uint64(k) * layer_of(layer_of(layer).next).step


@helper
def _allow(e, state, columns):
    """Write the classes that can be chosen; returns their number."""
    costs, given = float32s_at(e.costs, e.cost_count), uint32s_at(e.cost_classes, e.cost_count)
    if e.cost_count == uint64(0) or (e.cost_count == uint64(1) and costs[0] != UNLABELED):
        classes = uint32s_at(columns, state.classes)
        for k in range(state.classes):
            classes[k] = uint32(k + 1)
        return state.classes
    classes, count = uint32s_at(columns, e.cost_count), uint64(0)
    for j in range(e.cost_count):
        if 0 < given[j] <= state.classes:
            classes[count] = given[j]
            count += uint64(1)
    return count


@helper
def _estimate(layer, example, importance, offset, classes, estimates, chosen, learns):
    """Write the estimates of the costs of some classes; that of the chosen one is learned if `learns`."""
    state, d = own_of(layer), decision_of(example)
    for j in range(len(classes)):
        k = int64(classes[j])
        at = regressor_at(layer, offset, k - 1)
        if state.type == DM:
            at -= layer_of(layer).step
        if learns and k == chosen:
            estimates[j] = regress(layer, example, d.cost, importance / d.probability, at)
        else:
            estimates[j] = regress(layer, example, UNLABELED, _1, at)


@helper
def _cheapest(classes, costs):
    """The class of least cost, of equal ones the first, or of a part of the classes the smallest."""
    best, least = uint32(1), UNLABELED
    for j in range(len(classes)):
        if costs[j] < least or (costs[j] == least and classes[j] < best):
            best, least = classes[j], costs[j]
    return best


@helper
def _show(d, state, best, scores):
    """List the classes, the best one first, with their scores."""
    ranked, values = uint32s_at(d.ranked, state.classes), float32s_at(d.values, state.classes)
    ranked[0], values[0], place = uint32(best - 1), scores[best - 1], 1
    for k in range(state.classes):
        if k + 1 != uint64(best):
            ranked[place], values[place] = uint32(k), scores[k]
            place += 1


@helper
def _choose(layer, example, importance, offset, columns, count, room):
    """Let the layer below choose among some classes; their scores go behind the columns."""
    state, e = own_of(layer), example_of(example)
    scores_at = columns + uint64(12) * room
    scores = float32s_at(scores_at, state.classes)
    classes, costs = uint32s_at(columns, count), float32s_at(columns + uint64(4) * room, count)
    label, scores_before, count_before = label_of(e), e.scores, e.score_count
    if state.type == DM:
        _estimate(layer, example, importance, offset, classes, costs, int64(0), False)
        for k in range(state.classes):
            scores[k] = _0
        for j in range(count):
            scores[classes[j] - 1] = costs[j]
        return _cheapest(classes, costs)
    for j in range(count):
        costs[j] = UNLABELED
    e.scores, e.score_count = scores_at, state.classes
    if count < state.classes:  # scores of the others, too
        e.cost_count = uint64(0)
        predict_next(layer, example, UNLABELED, importance, offset)
    put_label(e, (columns, columns + uint64(4) * room, count))
    best = predict_next(layer, example, UNLABELED, importance, offset)
    put_label(e, label)
    e.scores, e.score_count = scores_before, count_before
    return class_in(best, state.classes)


@helper
def _teach(layer, example, importance, offset, columns, count, room, chosen):
    """Make costs of all classes from that of the chosen one, and let the layers below learn them."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    classes, costs = uint32s_at(columns, count), float32s_at(columns + uint64(4) * room, count)
    estimates = float32s_at(columns + uint64(8) * room, count)
    if state.type == IPS:
        for j in range(count):
            estimates[j] = _0
    else:
        weight = float32s_at(d.weights, d.count)[d.chosen] if d.weights != uint64(0) else importance
        _estimate(layer, example, weight, offset, classes, estimates, chosen, True)
    if state.type == DM or state.evaluates == uint64(1):
        return
    for j in range(count):
        costs[j] = estimates[j]
        if int64(classes[j]) == chosen:
            x = estimates[j]
            costs[j] = x + (d.cost - x) / d.probability if state.type == DR else d.cost / d.probability
    label = label_of(e)
    put_label(e, (columns, columns + uint64(4) * room, count))
    learn_next(layer, example, UNLABELED, importance, offset)
    put_label(e, label)


@helper
def _loss(d, classes, estimates, best, chosen):
    """The estimated cost of a class."""
    x = _0
    for j in range(len(classes)):
        if classes[j] == best:
            x = estimates[j]
            break
    return estimate_of(d.cost, d.probability, int64(best) == chosen, x)


@helper
def _run(layer, example, importance, offset, learns, given):
    """Decide, and estimate the cost of the class decided for; `given`: it is decided already, 0: it is not."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    room, own_importance = max(state.classes, e.cost_count), e.importance
    columns = reserve(state.scratch, uint64(16) * room)
    if columns == uint64(0):
        return _1
    count = _allow(e, state, columns)
    if given == 0:
        best = _choose(layer, example, importance, offset, columns, count, room)
    else:
        best, scores = given, float32s_at(columns + uint64(12) * room, state.classes)
        for k in range(state.classes):
            scores[k] = _0
        predict_next(layer, example, UNLABELED, importance, offset)  # it tells how many features there are
    if d.only_learns == uint64(0):
        _show(d, state, best, float32s_at(columns + uint64(12) * room, state.classes))
    outcome, chosen = outcome_of(e), chosen_class(d, state.classes)
    estimates = float32s_at(columns + uint64(8) * room, count)
    for j in range(count):
        estimates[j] = _0
    if learns and chosen > 0:
        _teach(layer, example, importance, offset, columns, count, room, chosen)
    put_back(e, outcome)
    e.importance = own_importance
    found = _loss(d, uint32s_at(columns, count), estimates, best, chosen) if chosen > 0 else _0
    e.loss = np.float64(found * importance)
    return np.float32(best)


@helper
def _evaluate(layer, example, importance, offset, learns):
    """Estimate the cost of the first class of the label, by what the others tell; returns that class."""
    e = example_of(example)
    classes, given = label_of(e)[0], label_of(e)
    best = class_in(np.float32(uint32s_at(classes, e.cost_count)[0]) if e.cost_count > uint64(0) else _1,
                    own_of(layer).classes)  # fmt: skip
    if e.cost_count > uint64(0):
        put_label(e, (classes + uint64(4), e.costs + uint64(4), e.cost_count - uint64(1)))
    found = _run(layer, example, importance, offset, learns, best)
    put_label(e, given)
    return found


@kernel
def predict(layer, example, label, importance, offset):
    """The class of least cost, or that of the policy that is evaluated."""
    if own_of(layer).evaluates == uint64(1):
        return _evaluate(layer, example, importance, offset, False)
    return _run(layer, example, importance, offset, False, uint32(0))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then train the layers below on costs of all classes made from that of the chosen one."""
    if own_of(layer).evaluates == uint64(1):
        return _evaluate(layer, example, importance, offset, True)
    return _run(layer, example, importance, offset, True, uint32(0))


class OfClasses(Reduction):
    """A layer of this folder: its parameter `classes` is that of the layers below.

    Raises:
        ConfigError: they have others.
    """

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        there = context.below.answers.classes if context.below else None
        if there not in (None, parameters.classes):
            raise ConfigError(f"{self.name}.classes: got {parameters.classes}, but the layer below has {there}")

    @property
    def answers(self) -> Answers:
        """A score per class."""
        return replace(super().answers, score_count=self.parameters.classes)


class BanditPerClass(OfClasses):
    """Learns the costs of classes from that of the chosen one."""

    name: ClassVar[str] = "bandit_per_class"
    Parameters: ClassVar[type[Parameters]] = BanditPerClassParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.CLASS
    asks = (Labels.COST_SENSITIVE, Predictions.CLASS)
    parallel = Parallel(merging={})
    known_failures = {
        "loss": "the estimated cost of another class than the chosen one may be the lower one",
        "scores": "they are costs: the class of the least is predicted",
    }
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: BanditPerClassParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below = context.below
        if parameters.type != "ips" and below and below.width(below.parameters) != parameters.classes:
            got = f"{below.name} with {below.width(below.parameters)} sub-models"
            raise ConfigError(f"{self.name}: got {got} below type {parameters.type}, wanted one for each class")
        p = parameters
        self.state = Record(STATE, type=TYPES[p.type], classes=p.classes, evaluates=p.evaluates, scratch=Buffer())

    @classmethod
    def width(cls, parameters: BanditPerClassParameters) -> int:
        """Two sets of models for `dr`, one else."""
        return 2 if parameters.type == "dr" else 1
