"""One against all: a binary problem for each class, the highest prediction wins."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.first_class import FirstClass, PerClass, detect, first_of, smallest_label
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    importance_to_next,
    kernel,
    learn_next,
    learn_predicted_next,
    predict_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.loss import kinds
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)
_HALVINGS = 16


class OneAgainstAllParameters(Parameters):
    """Parameters of `one_against_all`.

    Attributes:
        classes: number of classes.
        first_class: the smallest label, 0 or 1. `detect` does as VW: labels count from 1 until a 0 comes before the
            largest label does, and a label beyond the classes is a negative example of every class. The label that
            tells counts for its own example's prediction only with `probabilities`, again as in VW.
        probabilities: scores are logistic functions of the predictions, scaled to sum 1.
        predict_first: as VW, all sub-models predict before any learns, and a linear learner learns from the prediction
            as a link between makes it; it matters only with regularisation, first weights, a link or latent features
            below. False is faster, and never learns from a prediction that is not the learner's own.
        negatives: how many other classes learn from an example, in turn by a random order, each with `classes` /
            `negatives` times its importance; None: all, once.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 20)]
    first_class: FirstClass = "detect"
    probabilities: bool = False
    predict_first: bool = False
    negatives: Annotated[int, Within(ge=1)] | None = None

    def __post_init__(self) -> None:
        if self.negatives is not None and self.negatives > self.classes - 1:
            raise ValueError(f"negatives: got {self.negatives}, wanted at most {self.classes - 1}, the other classes")


ONE_AGAINST_ALL = np.dtype(
    [
        ("classes", "i8"),
        ("first", "i8"),  # the smallest label, or 2 while that is undecided
        ("detect", "i8"),
        ("early", "i8"),  # 1: the label by which the first class is detected counts for its own example's prediction
        ("probabilities", "i8"),
        ("predict_first", "i8"),
        ("split", "i8"),  # 1: a soft label is learned as two examples, for losses that only know two labels
        ("predictions", "u8"),  # address of float32[classes]: scratch
        ("negatives", "u8"),  # how many other classes learn from an example; 0: all
        ("order", "u8"),  # address of uint32[classes]: the order in which they take turns
        ("turn", "u8"),  # place in it of the next one
    ]
)
own = state_of(ONE_AGAINST_ALL)


@helper
def _write_scores(state, e, predictions):
    if e.scores == uint64(0) or int64(e.score_count) < state.classes:
        return
    scores, total = float32s_at(e.scores, state.classes), _0
    for k in range(state.classes):
        scores[k] = _1 / (_1 + math.exp(-predictions[k])) if state.probabilities == 1 else predictions[k]
        total += scores[k]
    if state.probabilities == 1:
        scale = _1 / total
        for k in range(state.classes):
            scores[k] *= scale


@helper
def _judge(state, e, label, importance, first):
    """The label of the highest prediction, the first of equals; writes scores and loss."""
    predictions, best = float32s_at(state.predictions, state.classes), 0
    for k in range(state.classes):
        if predictions[k] > predictions[best]:
            best = k
    _write_scores(state, e, predictions)
    prediction = np.float32(best) + first
    e.loss = np.float64(importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@inlined
def _first(state):
    return np.float32(smallest_label(state))


@helper
def _best(layer, example, label, importance, offset):
    """Predict with every sub-model; returns the label of the highest."""
    state, e = own(layer), example_of(example)
    predictions = float32s_at(state.predictions, state.classes)
    for k in range(state.classes):
        predictions[k] = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
    return _judge(state, e, label, importance, _first(state))


@helper
def _teach(layer, example, share, importance, split, offset, known, is_predicted):
    """Train one sub-model that its class holds with probability `share`; returns its prediction made before."""
    if split == 0:
        return learn_predicted_next(layer, example, share + share - _1, importance, offset, known, is_predicted)
    if share == _0:
        return learn_predicted_next(layer, example, -_1, importance, offset, known, is_predicted)
    prediction = learn_predicted_next(layer, example, _1, importance * share, offset, known, is_predicted)
    if share < _1:
        learn_predicted_next(layer, example, -_1, importance * (_1 - share), offset, known, is_predicted)
    return prediction


@helper
def _teach_some(layer, example, own_class, importance, offset):
    """Train the sub-model of the label's class, and those of the next classes in turn."""
    state, taught = own(layer), uint64(0)
    order = uint32s_at(state.order, state.classes)
    learn_next(layer, example, _1, importance, submodel(layer, offset, own_class))
    share = importance * (np.float32(state.classes) / np.float32(state.negatives))
    while taught < state.negatives:
        k = order[state.turn]
        state.turn = (state.turn + uint64(1)) % uint64(state.classes)
        if k != own_class:
            learn_next(layer, example, -_1, share, submodel(layer, offset, k))
            taught += uint64(1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class with the highest prediction."""
    return _best(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Train every sub-model on whether its class holds; `targets` of the example are soft labels.

    The sub-models do not see each other, so each may learn right after it has predicted.
    """
    state, e = own(layer), example_of(example)
    shown, soft = _first(state), e.targets != uint64(0)
    if not soft:
        detect(state, label)
    first = _first(state)
    if state.early == 1:
        shown = first
    known = state.detect == 1 or first <= label < first + np.float32(state.classes)
    if not soft and (label == UNLABELED or not known):
        return _best(layer, example, label, importance, offset)
    if state.negatives > uint64(0) and not soft and first <= label < first + np.float32(state.classes):
        prediction = _best(layer, example, label, importance, offset)
        outcome = outcome_of(e)
        _teach_some(layer, example, uint64(label - first), importance, offset)
        put_back(e, outcome)
        return prediction
    predictions, targets = float32s_at(state.predictions, state.classes), float32s_at(e.targets, state.classes)
    if state.predict_first == 1:
        _best(layer, example, UNLABELED, importance, offset)
    for k in range(state.classes):
        share = targets[k] if soft else (_1 if label == first + np.float32(k) else _0)
        at, is_predicted = submodel(layer, offset, k), uint64(state.predict_first)
        prediction = _teach(layer, example, share, importance, state.split, at, predictions[k], is_predicted)
        if state.predict_first == 0:
            predictions[k] = prediction
    return _judge(state, e, label, importance, shown)


@helper
def _overtake(layer, example, winner, rival, offset):
    """The importance with which a rival's label makes its prediction meet the winner's, and where they meet."""
    predictions = float32s_at(own(layer).predictions, own(layer).classes)
    low, high, least = predictions[rival], predictions[winner], _0
    for _ in range(_HALVINGS):
        middle = np.float32(0.5) * (low + high)
        rises = importance_to_next(layer, example, _1, middle, submodel(layer, offset, rival))
        falls = importance_to_next(layer, example, -_1, middle, submodel(layer, offset, winner))
        least = max(rises, falls)
        if rises < falls:
            low = middle
        else:
            high = middle
    return least, np.float32(0.5) * (low + high)


@kernel
def importance_to(layer, example, label, importance, offset):
    """The least importance of another class's label that makes that class's prediction the highest.

    The runner-up comes first; of the others only those are examined that meet the winner sooner.
    """
    state = own(layer)
    prediction = _best(layer, example, UNLABELED, _1, offset)
    winner = int64(prediction) - (0 if state.first == 0 else 1)
    predictions = float32s_at(state.predictions, state.classes)
    second = 1 if winner == 0 else 0
    for k in range(state.classes):
        if k != winner and predictions[k] > predictions[second]:
            second = k
    least, meeting = _overtake(layer, example, winner, second, offset)
    for k in range(state.classes):
        if k != winner and k != second:
            if importance_to_next(layer, example, _1, meeting, submodel(layer, offset, k)) < least:
                found, where = _overtake(layer, example, winner, k, offset)
                if found < least:
                    least, meeting = found, where
    return least


@compiled
def shuffle(order, random_state):
    """Bring numbers into random order.

    Args:
        order: uint32 (numbers).
        random_state: uint64 (1): of the run; it moves on.
    """
    for k in range(len(order)):
        random_state[0], draw = merand48(random_state[0])
        other = k + int(draw * np.float32(len(order) - k))
        order[k], order[other] = order[other], order[k]


def drawn_order(classes: int, context: Context) -> NDArray[np.uint32]:
    """The classes in random order, drawn as VW does by the generator of the run, which moves on.

    Args:
        classes: how many.
        context: of the layer.
    """
    found, state = np.arange(classes, dtype=np.uint32), np.array([context.shared["random_state"][0]], np.uint64)
    shuffle(found, state)
    context.shared["random_state"] = state[0]
    return found


class OneAgainstAll(PerClass):
    """A sub-model for each class against all others."""

    name: ClassVar[str] = "one_against_all"
    linear = True
    Parameters: ClassVar[type[Parameters]] = OneAgainstAllParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(soft_labels=True)
    kernels = Kernels(learn, predict, importance_to)

    def __init__(self, parameters: OneAgainstAllParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._order = drawn_order(parameters.classes, context) if parameters.negatives else np.zeros(0, np.uint32)
        self.state = Record(
            ONE_AGAINST_ALL,
            classes=parameters.classes,
            first=first_of(parameters.first_class),
            detect=parameters.first_class == "detect",
            early=parameters.probabilities,
            probabilities=parameters.probabilities,
            predict_first=parameters.predict_first,
            split=self.answers.loss_kind in (kinds.HINGE, kinds.POISSON, kinds.QUANTILE),
            predictions=np.zeros(parameters.classes, np.float32),
            negatives=parameters.negatives or 0,
            order=self._order,
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        """Also the order of the classes, where they take turns."""
        turns = {"order": self._order, "turn": self.state["turn"]} if self.parameters.negatives else {}
        return super().saved() | turns

    def limits(self) -> Mapping[str, Limits]:
        """Classes, and a place among them."""
        last = Limits(0, self.parameters.classes - 1)
        return {**super().limits(), **({"order": last, "turn": last} if self.parameters.negatives else {})}
