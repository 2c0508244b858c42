"""Active learning with a cover: ask for labels where models that all explain the labels so far disagree.

Where the prediction is sure, by a bound on the loss that changing it would cost, it is taken for the label. Elsewhere
the label is asked for with a probability that grows with the disagreement of a cover: models, each of which is trained
to differ from the prediction where this costs little. Labels are a simulation: they stay hidden until asked for.

Source: T.-K. Huang, A. Agarwal, D. Hsu, J. Langford, R. Schapire, "Efficient and parsimonious agnostic active
learning", NIPS 2015; VW 9.11.9, `--active_cover`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.derived import lacking
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
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
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import Within

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_HALF, _4, _ROOT_CUBED = np.float32(0.5), np.float32(4), np.float32(1.5)

Positive = Annotated[float, Within(gt=0)]


class ActiveCoverParameters(Parameters):
    """Parameters of `active_cover`.

    Attributes:
        policies: models of the cover.
        mellowness: higher asks for more labels; C0 of the source.
        alpha: higher keeps the importances of labels closer to each other, and asks for more.
        beta: how far models of the cover may be worse than the prediction, as a factor below it.
        oracular: ask for every label that is not sure, without a cover.
        predict_first: as VW without `--binary`, predict before a label widens the range of predictions, and count the
            loss of examples that are not asked for, too. False is faster.
    """

    policies: Annotated[int, Within(ge=1, le=1 << 10)] = 12
    mellowness: Positive = 8.0
    alpha: Positive = 1.0
    beta: Positive = 10.0
    oracular: bool = False
    predict_first: bool = False


STATE = np.dtype(
    [
        ("policies", "u8"),
        ("costs", "u8"),  # address of float32[policies, 2]: of λ of each, its numerator and its denominator
        ("mellowness", "f4"),
        ("alpha", "f4"),
        ("beta", "f4"),
        ("oracular", "u4"),
        ("predict_first", "u8"),
    ]
)
own = state_of(STATE)


@inlined
def _sign(x):
    return -_1 if x <= _0 else _1


@helper
def _threshold(state, losses, t):
    """The gain of a sure prediction over the opposite one, per unit of importance."""
    if t < np.float32(3):
        return _1
    mean = losses / t
    first = math.sqrt(state.mellowness * mean / t)
    return first + max(_2 * state.alpha, _4) * state.mellowness * np.float32(math.log(t)) / t


@helper
def _least_chance(losses, t):
    """The least probability of a request."""
    if t <= _2:
        return _1
    return min(_1 / (math.sqrt(t * (losses / t)) + np.float32(math.log(t))), _HALF)


@helper
def _is_unsure(layer, example, shared, prediction, label, importance, threshold, offset):
    """Whether a label may turn the prediction at a loss within the threshold."""
    if shared.time + np.float64(importance) <= 3.0:
        return True
    gap = abs(prediction) / sensitivity_next(layer, example, label, importance, offset)
    return gap / np.float32(shared.time) <= threshold


@helper
def _disagreement(layer, example, state, prediction, importance, offset, least):
    """Sum over the models that disagree of λ, and the least for the probability."""
    total, costs = _4 * least * least, float32s_at(state.costs, _2_times(state.policies))
    for k in range(state.policies):
        at = submodel(layer, offset, k + uint64(1))
        if _sign(predict_next(layer, example, UNLABELED, importance, at)) != _sign(prediction):
            total += costs[uint64(2) * k] / costs[uint64(2) * k + uint64(1)]
    return total


@inlined
def _2_times(count):
    return count * uint64(2)


@helper
def _decide(layer, example, state, shared, prediction, importance, offset, least):
    """The importance of a requested label, -1 where none is asked for."""
    if shared.time + np.float64(importance) <= 3.0 or state.oracular == 1:
        return _1
    root = math.sqrt(_disagreement(layer, example, state, prediction, importance, offset, least))
    chance = root / (_1 + root)
    if math.isnan(chance):
        chance = _1
    shared.random_state, draw = merand48(shared.random_state)
    return _1 / chance if draw <= chance else -_1


@helper
def _gain(state, prediction, label, asked, scale, total):
    """The cost of the prediction less that of its opposite, as the models of the cover see it."""
    root = math.sqrt(total)
    chance, weight = root / (_1 + root), max(asked, _0)
    cost = scale * weight if _sign(prediction) != _sign(label) else _0
    bonus = _2 * state.alpha * state.alpha - _1 / chance
    return _2 * cost - scale * weight - bonus


@helper
def _train_cover(layer, example, state, prediction, label, importance, asked, unsure, offset, least, scale):
    """Let each model of the cover learn the cheaper label, and update its λ."""
    total, costs = _4 * least * least, float32s_at(state.costs, _2_times(state.policies))
    for k in range(state.policies):
        at, place = submodel(layer, offset, k + uint64(1)), uint64(2) * k
        gain = _gain(state, prediction, label, asked, scale, total) if unsure else -scale
        weight = importance * abs(gain)
        learn_next(layer, example, -_sign(gain) * _sign(prediction), weight, at)
        differs = _sign(predict_next(layer, example, UNLABELED, _1, at)) != _sign(prediction)
        if differs:
            costs[place] += _2 * gain
        costs[place] = max(costs[place], _0)
        if differs:
            if unsure:
                costs[place + uint64(1)] += _1 / np.float32(total**_ROOT_CUBED)
            total += costs[place] / costs[place + uint64(1)]


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, learn the label if it is asked for or sure, and train the cover."""
    state, e = own(layer), example_of(example)
    shared, first, unasked = shared_of(e.shared), _0, 0.0
    if state.predict_first == uint64(1):
        first = predict_next(layer, example, label, importance, offset)
        unasked = e.loss
    widen(shared, label)
    fixed, shared.fixed_range = shared.fixed_range, uint64(1)  # labels that are made up do not count
    prediction = predict_next(layer, example, label, importance, offset)
    outcome = outcome_of(e)
    t, losses = np.float32(shared.time), np.float32(shared.sum_loss)
    threshold, least = _threshold(state, losses, t), _least_chance(losses, t)
    unsure = _is_unsure(layer, example, shared, prediction, label, importance, threshold, offset)
    asked, taken, weight = -_1, _sign(prediction), importance
    if unsure:
        asked = _decide(layer, example, state, shared, prediction, importance, offset, least)
        taken, weight = label, importance * asked
    if asked > _0:
        shared.queries += uint64(1)
        e.query = asked
    put_back(e, outcome)
    if asked > _0 or not unsure:
        learn_next(layer, example, taken, weight, offset)
        outcome = outcome_of(e)
    else:
        taken, weight, e.loss = UNLABELED, _0, unasked
        outcome = outcome_of(e)
    scale = _2 * threshold * t * state.alpha / state.mellowness / state.beta
    _train_cover(layer, example, state, prediction, label, importance, asked, unsure, offset, least, scale)
    put_back(e, outcome)
    shared.fixed_range = fixed
    e.label, e.importance = taken, weight
    return first if state.predict_first == uint64(1) else prediction


@kernel
def predict(layer, example, label, importance, offset):
    """Let the first model below predict."""
    return predict_next(layer, example, label, importance, offset)


class ActiveCover(Reduction):
    """Asks for the labels on which models that explain the others disagree.

    Raises:
        ConfigError: the layer below cannot say how far a label moves its prediction.
    """

    name: ClassVar[str] = "active_cover"
    Parameters: ClassVar[type[Parameters]] = ActiveCoverParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, pass_importance_to, pass_sensitivity, calls=("sensitivity",))
    known_failures = {"loss_while_learning": "the label of an example that was not asked for is not known"}

    def __init__(self, parameters: ActiveCoverParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below = context.below
        lacks = lacking(below, "sensitivity") if below is not None else None
        if lacks is not None:
            raise ConfigError(f"{self.name} needs sensitivity from the layer below, which {lacks.name!r} lacks")
        if context.submodels > 1:
            raise ConfigError(
                f"{self.name}: got {context.submodels} sub-models that a layer above asks for, wanted it above that "
                "layer: a label is asked for once per example"
            )
        p, self._costs = parameters, np.zeros((self._count(parameters), 2), np.float32)
        self._costs[:, 1] = 1 / 8
        self.state = Record(
            STATE,
            policies=len(self._costs),
            costs=self._costs,
            mellowness=p.mellowness,
            alpha=p.alpha,
            beta=p.beta,
            oracular=p.oracular,
            predict_first=p.predict_first,
        )

    @staticmethod
    def _count(parameters: Any) -> int:
        return 0 if parameters.oracular else int(parameters.policies)

    @classmethod
    def width(cls, parameters: Any) -> int:
        """The model that predicts, and those of the cover."""
        return 1 + cls._count(parameters)

    def saved(self) -> dict[str, Any]:
        """The costs of the models of the cover."""
        return {"costs": self._costs}

    def limits(self) -> Mapping[str, Limits]:
        """Sums that do not become negative."""
        return {"costs": POSITIVE if len(self._costs) else FINITE}
