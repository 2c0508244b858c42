"""Learning which class costs least from examples of which only the chosen class's cost is known.

With cost c of the chosen class a and probability p with which it was chosen:

* `ips` (inverse propensity scores): a costs c / p, all others 0; the layer below learns these costs.
* `dr` (doubly robust): a regressor for each class, taught c of the chosen classes with importance 1 / p, predicts x;
  each class costs its x, a in addition (c - x) / p. (Dudík, Langford, Li, "Doubly robust policy evaluation and
  learning", ICML 2011.)
* `dm` (direct method): the regressors are all there is; the class with the lowest x is chosen.

Every class has weights of its own, and no class those of another: `action_per_class` shares the work of one learner
between them instead.

Source of rules and order of arithmetic: VW 9.11.9, `--cb K --cb_force_legacy`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
)
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.scratch import floats, numbers
from hutch.reductions.class_bandits.classes import require_models_of_classes
from hutch.reductions.class_bandits.labels import (
    estimated_cost,
    known_class,
    list_classes,
    rank_classes,
    regress_class,
)
from hutch.reductions.linear.memory import Buffer

_0, _1 = np.float32(0), np.float32(1)
IPS, DM, DR = range(3)
TYPES = {"ips": IPS, "dm": DM, "dr": DR}


class ClassBanditParameters(Parameters):
    """Parameters of `class_bandit`.

    Attributes:
        classes: how many, counted from 1; as many as the layer below has.
        type: how the cost of one class becomes a problem for all.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]
    type: Literal["ips", "dm", "dr"] = "dr"


STATE = np.dtype(
    [
        ("classes", "u8"),
        ("scratch", "u8"),  # BUFFER
        ("type", "i8"),
    ]
)
own_of = state_of(STATE)


@helper
def _choose(layer, example, state, columns, room, count, offset):
    """Predict the listed classes, and leave all ranked; returns the best, counted from 1."""
    e, d = example_of(example), decision_of(example)
    scores, listed = floats(columns, room, 3)[: state.classes], numbers(columns, room, 0)
    for k in range(state.classes):
        scores[k] = UNLABELED
    if state.type == DM:
        for j in range(count):
            scores[listed[j] - 1] = regress_class(layer, example, int64(listed[j]), offset, int64(0), d, _1)
    else:
        costs = floats(columns, room, 1)
        for j in range(count):
            costs[j] = UNLABELED
        e.scores, e.score_count = columns + uint64(12) * room, state.classes
        predict_next(layer, example, UNLABELED, _1, offset)
    rank_classes(d, scores)


@helper
def _estimate(layer, example, state, columns, room, count, known, best, importance, offset, learns):
    """Set the costs to learn by what the regressors estimate; they learn first. Returns what the best class costs."""
    d, listed = decision_of(example), numbers(columns, room, 0)
    costs, found = floats(columns, room, 1), _0
    at = offset if state.type == DM else offset + layer_of(layer).step
    for j in range(count):
        number, x = int64(listed[j]), _0
        if state.type != IPS and (learns or number == best):
            x = regress_class(layer, example, number, at, known if learns else int64(0), d, importance)
        costs[j] = x + (d.cost - x) / d.probability if number == known else x
        if number == best:
            found = estimated_cost(d, known, best, x)
    return found


@helper
def _run(layer, example, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns, room, count = list_classes(state.scratch, example, state.classes, uint64(0))
    if columns == uint64(0) or count == uint64(0):
        return _1
    shown = e.cost_classes, e.costs, e.cost_count, e.scores, e.score_count, e.importance
    e.cost_classes, e.costs, e.cost_count = columns, columns + uint64(4) * room, count
    if d.only_learns == uint64(0):
        _choose(layer, example, state, columns, room, count, offset)
    features, raw = e.features, values_of(d)[0]
    known, best, loss = known_class(d, state.classes), int64(ranked_of(d)[0]) + 1, _0
    if known > 0:
        loss = _estimate(layer, example, state, columns, room, count, known, best, importance, offset, learns)
        e.scores = uint64(0)
        if learns and state.type != DM:
            learn_next(layer, example, UNLABELED, importance, offset)
    e.cost_classes, e.costs, e.cost_count, e.scores, e.score_count, e.importance = shown
    e.features, e.raw, e.loss = features, raw, np.float64(loss * importance)
    return np.float32(best)


@kernel
def predict(layer, example, label, importance, offset):
    """The class with the lowest score among those of the label, or among all if it names none."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then learn from the cost of the chosen class."""
    return _run(layer, example, importance, offset, True)


class ClassBandit(Reduction):
    """Learns from the cost of the chosen class, with weights for each class."""

    name: ClassVar[str] = "class_bandit"
    Parameters: ClassVar[type[Parameters]] = ClassBanditParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.CLASS
    asks = (Labels.COST_SENSITIVE, Predictions.CLASS)
    known_failures = {
        "loss": "it is the cost of the class predicted, whatever class the label names",
        "scores": "they are costs: the class with the lowest one is predicted",
    }

    def __init__(self, parameters: ClassBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        require_models_of_classes(self.name, parameters.classes, context)
        self.state = Record(STATE, classes=parameters.classes, type=TYPES[parameters.type], scratch=Buffer())

    @classmethod
    def width(cls, parameters: ClassBanditParameters) -> int:
        """A policy, and regressors where costs are estimated beside it."""
        return 2 if parameters.type == "dr" else 1

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    @property
    def answers(self) -> Answers:
        """A score per class."""
        return replace(super().answers, score_count=self.parameters.classes)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register learning from logged classes."""
    register(ClassBandit)
