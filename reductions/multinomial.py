"""Multinomial logistic regression: a score for each class, all learned at once by the softmax of all."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.capabilities import KeepsTargets, has
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.derived import lacking, learns_once
from hutch.core.chain.first_class import FirstClass, PerClass, detect, first_of, smallest_label
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    kernel,
    learn_predicted_next,
    predict_next,
    sensitivity_next,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.loss import kinds
from hutch.core.loss.tilted_softmax import ROOM, importance_to_lead, nearest_rival, scores_after
from hutch.core.parameters import Parameters, Within

_0 = np.float32(0)
_LARGEST, _SMALLEST = 3e38, 1e-300
_MOST_SCALED = 16


class MultinomialParameters(Parameters):
    """Parameters of `multinomial`.

    Attributes:
        classes: number of classes.
        first_class: the smallest label, 0 or 1; `detect`: labels count from 1 until a 0 comes before the largest label
            does.
        probabilities: scores are probabilities, the softmax of the predictions below; False: their log-odds, which are
            the scores that `crowd_em` needs.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 20)]
    first_class: FirstClass = "detect"
    probabilities: bool = True


MULTINOMIAL = np.dtype(
    [
        ("numbers", "u8"),  # address of float64[5 + ROOM, classes]: see `_numbers`
        ("classes", "i8"),
        ("first", "i8"),  # the smallest label, or 2 while that is undecided
        ("probabilities", "i8"),
        ("centred", "i8"),  # 1: targets are those of scores whose mean is 0
        ("scale", "f8"),  # a score is this times the prediction below
    ]
)
own = state_of(MULTINOMIAL)


@inlined
def _numbers(s, row):
    """Scratch per class; rows 0 to 4: scores, variances, shares of the label, scores after it, precisions added."""
    count = uint64(s.classes)
    return float64s_at(s.numbers + uint64(8 * row) * count, count)


@inlined
def _room(s):
    count = uint64(s.classes)
    return float64s_at(s.numbers + uint64(40) * count, uint64(ROOM) * count)


@inlined
def _winner(s):
    """The class of the highest score, the first of equals."""
    scores, best = _numbers(s, 0), 0
    for k in range(s.classes):
        if scores[k] > scores[best]:
            best = k
    return best


@helper
def _softmax(s, out, as_odds):
    """Write the softmax of the scores, or its log-odds."""
    scores, best, rest = _numbers(s, 0), _winner(s), 0.0
    highest = scores[best]
    for k in range(s.classes):
        out[k] = math.exp(scores[k] - highest)
        rest += out[k] if k != best else 0.0
    for k in range(s.classes):
        if as_odds:
            others = rest if k == best else 1.0 + rest - out[k]
            out[k] = scores[k] - highest - math.log(max(others, _SMALLEST))
        else:
            out[k] /= 1.0 + rest


@helper
def _judge(s, e, label, importance, first):
    """Return the label of the highest score; write the requested scores, and the loss."""
    best = _winner(s)
    if e.scores != uint64(0) and int64(e.score_count) >= s.classes:
        out, shown = float32s_at(e.scores, s.classes), _numbers(s, 3)
        _softmax(s, shown, s.probabilities == 0)
        for k in range(s.classes):
            out[k] = shown[k]
    prediction = np.float32(best) + np.float32(first)
    e.loss = np.float64(importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@helper
def _score(layer, example, importance, offset):
    """Ask every sub-model for its score, before any clipping.

    Of K classes the first label's curvature is about 1 / K. So scores have K / 4 times the variance of predictions
    below, and the prior weighs as much against a label whatever K; of two classes the difference of the scores has the
    variance of one prediction. The factor ends at that of 16 classes.
    """
    s, e = own(layer), example_of(example)
    scores = _numbers(s, 0)
    for k in range(s.classes):
        predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
        scores[k] = s.scale * e.raw


@helper
def _score_and_vary(layer, example, importance, offset):
    """Ask every sub-model for its score and the score's variance; returns whether all are numbers."""
    s, e = own(layer), example_of(example)
    scores, variances, good = _numbers(s, 0), _numbers(s, 1), True
    for k in range(s.classes):
        variances[k] = sensitivity_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
        scores[k] = s.scale * e.raw
        variances[k] *= s.scale * s.scale
        good &= math.isfinite(scores[k]) and 0.0 <= variances[k] < _LARGEST
    return good


@helper
def _is_label(s, e, label, first):
    """Write the label's share of each class; returns whether it has any."""
    shares = _numbers(s, 2)
    if e.targets != uint64(0):
        targets, total = float32s_at(e.targets, s.classes), 0.0
        for k in range(s.classes):
            shares[k] = max(targets[k], _0)
            total += shares[k]
        for k in range(s.classes):
            shares[k] /= total
        return total > 0.0
    shares[:] = 0.0
    place = label - np.float32(first)
    known = label != UNLABELED and _0 <= place < np.float32(s.classes) and place == math.floor(place)
    if known:
        shares[int64(place)] = 1.0
    return known


@inlined
def _teach(layer, example, k, target, importance, offset):
    """Train one sub-model by squared loss, from the score it has given."""
    s = own(layer)
    target, share = target / s.scale, np.float32(min(s.scale * s.scale * importance, _LARGEST))
    if math.isfinite(target) and share > _0:
        known = np.float32(_numbers(s, 0)[k] / s.scale)
        bounded = np.float32(min(max(target, -_LARGEST), _LARGEST))
        learn_predicted_next(layer, example, bounded, share, submodel(layer, offset, k), known, uint64(1))


@kernel
def predict(layer, example, label, importance, offset):
    """The class with the highest score."""
    s, e = own(layer), example_of(example)
    _score(layer, example, importance, offset)
    return _judge(s, e, label, importance, smallest_label(s))


@kernel
def learn(layer, example, label, importance, offset):
    """Move every score to its mode after the label, by a target of squared loss that adds the precision it should.

    With the target z and the importance c / 2 a sub-model goes from p to (p / q + c z) / (1 / q + c). Where it keeps
    the targets, they are those of scores whose mean is 0, as it is under equal priors once all is learned: labels do
    not say where all scores lie together, and where these wander, early targets would contradict late ones.
    """
    s, e = own(layer), example_of(example)
    good = _score_and_vary(layer, example, importance, offset)
    prediction = _judge(s, e, label, importance, smallest_label(s))
    outcome = outcome_of(e)
    detect(s, label)
    if not (good and importance > _0 and _is_label(s, e, label, smallest_label(s))):
        return prediction
    scores, variances, after, added = _numbers(s, 0), _numbers(s, 1), _numbers(s, 3), _numbers(s, 4)
    scores_after(scores, variances, _numbers(s, 2), np.float64(importance), after, added, _room(s))
    level = np.mean(after) if s.centred == 1 else 0.0
    for k in range(s.classes):
        if variances[k] > 0.0 and added[k] > 0.0:
            target = after[k] - level + (after[k] - scores[k]) / (variances[k] * added[k])
            _teach(layer, example, k, target, 0.5 * added[k], offset)
    put_back(e, outcome)
    return prediction


@kernel
def importance_to(layer, example, label, target, offset):
    """The importance with which the nearest rival's label, learned, makes it the class predicted."""
    s = own(layer)
    good = _score_and_vary(layer, example, np.float32(1), offset)
    _judge(s, example_of(example), UNLABELED, _0, smallest_label(s))
    if not good:
        return np.float32(math.inf)
    scores, variances = _numbers(s, 0), _numbers(s, 1)
    rival, guess = nearest_rival(scores, variances, _winner(s))
    found = importance_to_lead(
        scores, variances, rival, guess, _numbers(s, 2), _numbers(s, 3), _numbers(s, 4), _room(s)
    )
    return np.float32(found)


class Multinomial(PerClass):
    """A sub-model for each class, all learned at once by multinomial logistic loss."""

    name: ClassVar[str] = "multinomial"
    linear = True
    Parameters: ClassVar[type[Parameters]] = MultinomialParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(learns_any_label=False, soft_labels=True)
    kernels = Kernels(learn, predict, importance_to, calls=("sensitivity",), self_contained=("importance_to",))

    def __init__(self, parameters: MultinomialParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below, kind = context.below, self.answers.loss_kind
        if below is not None and kind is not None and kind not in (kinds.SQUARED, kinds.CLASSIC):
            told = self.answers.loss.name if self.answers.loss else "another"
            raise ConfigError(
                f"multinomial: got {told} loss below, wanted `loss: squared`: it has the multinomial logistic loss "
                "itself, and teaches the layer below numbers"
            )
        if below is not None and (not learns_once(below) or lacking(below, "sensitivity") is not None):
            raise ConfigError(
                f"multinomial: got {below.name!r} below, wanted a learner that knows the variance of what it predicts, "
                "such as 'bayesian_linear'; above others, one_against_all"
            )
        self.state = Record(
            MULTINOMIAL,
            classes=parameters.classes,
            first=first_of(parameters.first_class),
            probabilities=parameters.probabilities,
            centred=below is not None and has(below, KeepsTargets) and below.keeps_targets,
            scale=math.sqrt(min(parameters.classes, _MOST_SCALED) / 4.0),
            numbers=np.zeros((5 + ROOM) * parameters.classes),
        )
