"""Copies of the layers below with other parameters, mixed by how likely each has found the labels.

With P_i the probability that copy i gave to the label y, before it learned from it, and k copies:

    P = Σ w_i P_i        w_i ← w_i P_i(y)^h / Σ_j w_j P_j(y)^h        w_i ← (1 - s) w_i + s / k

The share s lets a copy that was behind come back within a few labels when the world has changed. The log-loss of P is
at most that of the best copy + ln k, and s (1 + ln k) per row. For losses without probabilities e^(-L / 2 v) replaces
P(y), with L the loss and v its mean so far, and the prediction is the mean by weight.

Source: M. Herbster, M. Warmuth, "Tracking the best expert", 1998, fixed share; V. Vovk, "A game of prediction with
expert advice", 1998.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.derived import declared
from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    LAYER,
    UNLABELED,
    call,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    layer_of,
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.loss import kinds
from hutch.core.loss.kernels import value_of
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.reductions.linear.kernels import clip

_LEAST, _SURE = 1e-6, 0.9
_SIZE = uint64(LAYER.itemsize)

Changes = Mapping[str, Mapping[str, int | float | bool]]


class HedgeParameters(Parameters):
    """Parameters of `hedge`.

    Attributes:
        copies: parameters that differ in each, as in `bayesian_linear: {forgetting: 0.001}`; numbers, of
            layers below.
        share: part of the weights that each label spreads over all copies.
    """

    copies: Annotated[tuple[Changes, ...], Within(min_length=2, max_length=64), ExampleValue([{}, {}])]
    share: Annotated[float, Within(ge=0, le=1)] = 0.001


HEDGE = np.dtype(
    [
        ("copies", "i8"),
        ("layers", "u8"),  # of each
        ("classes", "i8"),  # 0: one prediction
        ("share", "f8"),
        ("has_variances", "i8"),  # 1: the sensitivities of the layers below are variances of their predictions
        ("logistic", "i8"),
        ("loss", "u8"),  # address of the LOSS record of the layers below
        ("weights", "u8"),  # address of float64[submodels, copies]
        ("turns", "u8"),  # address of int64[submodels, 4]: see `Turn`, and labels learned
        ("losses", "u8"),  # address of float64[submodels, 2]: sums of importance and of losses
        ("scores", "u8"),  # address of float32[copies, classes]; of one prediction float32[copies]
        ("likelihoods", "u8"),  # address of float64[copies]: logarithms
    ]
)
own = state_of(HEDGE)


@inlined
def _ask(layer, example, label, importance, offset, i, learns):
    """Return the prediction of copy i, before it learns."""
    below, at = layer_of(layer).next + uint64(i) * own(layer).layers * _SIZE, submodel(layer, offset, i)
    if learns:
        return call(layer_of(below).learn, below, example, label, importance, at)
    return call(layer_of(below).predict, below, example, label, importance, at)


@helper
def _mix(weights, values, classes, c):
    """The weighted mean of all copies' values of a class."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * values[i * classes + c]
    return total


@helper
def _likelihood(e, shares, place, classes):
    """The logarithm of a copy's probability of the label, soft or hard; 0 of no label."""
    if e.targets == uint64(0):
        known = 0 <= place < classes and place == math.floor(place)
        return math.log(max(np.float64(shares[int64(place)]), _LEAST)) if known else 0.0
    targets, found, total = float32s_at(e.targets, uint64(classes)), 0.0, 0.0
    for c in range(classes):
        found += targets[c] * math.log(max(np.float64(shares[c]), _LEAST))
        total += targets[c]
    return found / total if total > 0.0 else 0.0


@helper
def _classes(layer, example, label, importance, offset, weights, learns):
    """Mix probabilities of classes; returns the label of the highest."""
    s, e = own(layer), example_of(example)
    n, kept, count, first = s.classes, e.scores, e.score_count, 0.0
    scores, likelihoods = float32s_at(s.scores, uint64(s.copies * n)), float64s_at(s.likelihoods, uint64(s.copies))
    for i in range(s.copies):
        e.scores, e.score_count = s.scores + uint64(4 * i * n), uint64(n)
        said = _ask(layer, example, label, importance, offset, i, learns)
        if i == 0:
            first = np.float64(said) - np.argmax(scores[:n])
        likelihoods[i] = _likelihood(e, scores[i * n : (i + 1) * n], np.float64(label) - first, n)
    e.scores, e.score_count = kept, count
    best, highest, shown = 0, -1.0, kept != uint64(0) and int64(count) >= n
    for c in range(n):
        share = _mix(weights, scores, n, c)
        if share > highest:
            best, highest = c, share
        if shown:
            float32s_at(kept, uint64(n))[c] = share
    prediction = np.float32(best + first)
    e.loss = np.float64(importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@helper
def _one(layer, example, label, importance, offset, weights, learns):
    """Mix predictions, or with logistic loss their probabilities."""
    s, e = own(layer), example_of(example)
    shared, row = shared_of(e.shared), offset // (layer_of(layer).step * uint64(s.copies))
    said, likelihoods = float32s_at(s.scores, uint64(s.copies)), float64s_at(s.likelihoods, uint64(s.copies))
    sums, updated = float64s_at(s.losses + uint64(16) * row, uint64(2)), 0.0
    for i in range(s.copies):
        _ask(layer, example, label, importance, offset, i, learns)
        updated += weights[i] * e.updated
        said[i] = e.raw
        if label != UNLABELED:
            likelihoods[i] = -value_of(s.loss, clip(shared, said[i]), label)
    raw = _mix(weights, said, 1, 0)
    if s.logistic == 1:
        upper, lower = 1e-300, 1e-300
        for i in range(s.copies):
            upper += weights[i] / (1.0 + math.exp(-np.float64(said[i])))
            lower += weights[i] / (1.0 + math.exp(np.float64(said[i])))
        raw = math.log(upper / lower)
    prediction = clip(shared, np.float32(raw))
    e.raw, e.updated, e.loss = np.float32(raw), np.float32(updated), 0.0
    if label != UNLABELED and importance > np.float32(0):
        loss, h = np.float64(value_of(s.loss, prediction, label)), np.float64(importance)
        e.loss = loss * h
        if learns:
            sums[0] += h
            sums[1] += h * loss
        scale = 1.0 if s.logistic == 1 else 2.0 * sums[1] / max(sums[0], 1e-300)
        for i in range(s.copies if learns else 0):
            likelihoods[i] = likelihoods[i] / scale if scale > 0.0 else 0.0
    return prediction


@helper
def _weigh(s, weights, h):
    """Move the weights by the likelihoods of the last label, and share."""
    likelihoods, most, total = float64s_at(s.likelihoods, uint64(s.copies)), -math.inf, 0.0
    for i in range(s.copies):
        most = max(most, likelihoods[i])
    for i in range(s.copies):
        weights[i] *= math.exp(max(h * (likelihoods[i] - most), -700.0))
        total += weights[i]
    for i in range(s.copies):
        weights[i] = (1.0 - s.share) * weights[i] / max(total, 1e-300) + s.share / s.copies


@helper
def _see_leader(s, row):
    """Count a label, and note the copy that has more than nine tenths of the weight now."""
    weights = float64s_at(s.weights + uint64(8 * s.copies) * row, uint64(s.copies))
    turn = int64s_at(s.turns + uint64(32) * row, uint64(4))
    turn[3] += 1
    for i in range(s.copies):
        if weights[i] > _SURE and (turn[0] != i or turn[1] == 0):
            turn[0], turn[1] = i, turn[3]
            turn[2] += 1


@helper
def _run(layer, example, label, importance, offset, learns):
    s = own(layer)
    row = offset // (layer_of(layer).step * uint64(s.copies))
    weights = float64s_at(s.weights + uint64(8 * s.copies) * row, uint64(s.copies))
    if s.classes > 0:
        return _classes(layer, example, label, importance, offset, weights, learns), weights
    return _one(layer, example, label, importance, offset, weights, learns), weights


@kernel
def predict(layer, example, label, importance, offset):
    """The mix of the copies' predictions."""
    return _run(layer, example, label, importance, offset, False)[0]


@kernel
def learn(layer, example, label, importance, offset):
    """Train all copies, and weigh them by their predictions before that."""
    e = example_of(example)
    e.is_predicted = uint64(0)  # a layer above knows only their mix: each copy learns from its own
    prediction, weights = _run(layer, example, label, importance, offset, True)
    taught = (label != UNLABELED or e.targets != uint64(0)) and importance > np.float32(0)
    if taught and shared_of(e.shared).testing == uint64(0):
        s = own(layer)
        _weigh(s, weights, np.float64(importance))
        _see_leader(s, offset // (layer_of(layer).step * uint64(s.copies)))
    return prediction


@kernel
def sensitivity(layer, example, label, importance, offset):
    """The variance of the mix, where the copies know theirs; else the mean of their sensitivities."""
    s, e = own(layer), example_of(example)
    row = offset // (layer_of(layer).step * uint64(s.copies))
    weights = float64s_at(s.weights + uint64(8 * s.copies) * row, uint64(s.copies))
    known, e.is_predicted = e.is_predicted, uint64(0)  # a layer above knows only the mix
    found, mean, squares = 0.0, 0.0, 0.0
    for i in range(s.copies):
        _ask(layer, example, UNLABELED, importance, offset, i, False)
        said = np.float64(e.raw)
        below, at = layer_of(layer).next + uint64(i) * s.layers * _SIZE, submodel(layer, offset, i)
        found += weights[i] * np.float64(call(layer_of(below).sensitivity, below, example, label, importance, at))
        mean += weights[i] * said
        squares += weights[i] * said * said
    e.is_predicted = known
    return np.float32(found + max(squares - mean * mean, 0.0) if s.has_variances == 1 else found)


class Turn(NamedTuple):
    """The copy that leads, as it has more than nine tenths of the weight, or had them last.

    Attributes:
        copy: its number, from 0.
        since: the number of labels learned when it took over, the label that did it counted.
        turns: how often a copy has taken over, the first time included.
    """

    copy: int
    since: int
    turns: int


class Hedge(Reduction):
    """Mixes copies of the layers below that have other parameters.

    Raises:
        ConfigError: the layers below take decisions or groups of lines, or have no probabilities of classes.
    """

    name: ClassVar[str] = "hedge"
    keeps: ClassVar[Mapping[str, Limits]] = {"weights": Limits(0, 1), "turns": COUNT, "losses": POSITIVE}
    Parameters: ClassVar[type[Parameters]] = HedgeParameters
    inputs = Inputs(soft_labels=True)
    kernels = Kernels(learn, predict, sensitivity=sensitivity)

    def __init__(self, parameters: HedgeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below, answers, count = context.below, self.answers, len(parameters.copies)
        assert below is not None
        takes = declared(below, "takes")
        classes = answers.score_count if takes == Labels.MULTICLASS and answers.scores_are_probabilities else 0
        if answers.loss is None or not classes and takes != Labels.SIMPLE:
            wanted = "layers with one prediction, or whose scores are probabilities, such as 'multinomial'"
            raise ConfigError(f"hedge: got {below.name!r} below, wanted {wanted}")
        depth, layer = 0, below
        while layer is not None:
            if layer.inputs.whole_groups:
                wanted = f"it below {layer.name!r}: copies are weighed by each line, and a group has one prediction"
                raise ConfigError(f"hedge: got {layer.name!r} below, wanted {wanted}")
            if layer.inputs.adds_examples:
                raise ConfigError(
                    f"hedge: got {layer.name!r} below, wanted it above: labels of its own weigh no copies"
                )
            depth, layer = depth + 1, layer.context.below  # type: ignore[assignment]
        self._weights: NDArray[np.float64] = np.full((context.submodels, count), 1.0 / count)
        self._turns: NDArray[np.int64] = np.zeros((context.submodels, 4), np.int64)
        self.state = Record(
            HEDGE,
            copies=count,
            layers=depth,
            classes=classes,
            share=parameters.share,
            has_variances=answers.sensitivity_is_variance,
            logistic=answers.loss_kind == kinds.LOGISTIC,
            loss=context.loss(answers.loss),
            weights=self._weights,
            turns=self._turns,
            losses=np.zeros((context.submodels, 2)),
            scores=np.zeros(count * max(classes, 1), np.float32),
            likelihoods=np.zeros(count),
        )

    @classmethod
    def width(cls, parameters: HedgeParameters) -> int:
        """One sub-model per copy."""
        return len(parameters.copies)

    @classmethod
    def copies(cls, parameters: HedgeParameters) -> Sequence[Changes]:
        """The copies that the parameters list."""
        return parameters.copies

    def leader(self, submodel: int = 0) -> Turn | None:
        """Which copy leads, and since when; None before one has had nine tenths of the weight.

        A stream in which another copy takes over has changed, or has stopped changing.

        Args:
            submodel: of the layers above.
        """
        copy, since, turns, _ = self._turns[submodel].tolist()
        return Turn(copy, since, turns) if turns else None

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of the copies, (sub-models, copies); a copy of the array."""
        return self._weights.copy()
