"""Probabilities of classes from the class that the layer below prefers.

* `epsilon`: the preferred class, or with probability epsilon any.
* `first`: for the first so many decisions any, then the preferred one.
* `bag`: each of several policies votes, and learns a decision a random number of times, Poisson of mean 1.
* `cover`: several policies vote, of which the later ones learn to disagree with those before them; no class is less
  likely than epsilon / K, or, without an epsilon, than 1 / max(K, √(n K)) after n decisions.

Source: VW 9.11.9, `--cb_explore` with `--cb_force_legacy`; A. Agarwal and others, "Taming the monster", ICML 2014.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np
from numpy import uint32, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.probabilities import enforce_minimum, sort_by_probability
from hutch.reductions.bandits.random import draw_poisson
from hutch.reductions.bandits.scratch import make_columns
from hutch.reductions.class_bandits.bandit_per_class import OfClasses, chosen_class, class_in, estimate_of
from hutch.reductions.class_bandits.cover import estimate_all, least_probability, teach_policies, vote

_0, _1 = np.float32(0), np.float32(1)
Method = Literal["epsilon", "first", "bag", "cover"]
EPSILON, FIRST, BAG, BY_COVER = range(4)


class ExploreClassesParameters(Parameters):
    """Parameters of `explore_classes`.

    Attributes:
        classes: number of classes, counted from 1.
        method: how a preferred class becomes probabilities.
        epsilon: of `epsilon` and `cover`: probability of all classes together at random; None: 0.05, and with `cover`
            it falls as decisions are seen.
        decisions: of `first`: predictions at random; a decision that is learned counts twice, as in VW.
        policies: of `bag` and `cover`: their number.
        psi: of `cover`: how strongly later policies learn to disagree.
        uniform: of `cover`: classes that no policy prefers get the least probability, too.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20), ExampleValue(3)]
    method: Method = "epsilon"
    epsilon: Annotated[float, Within(ge=0, le=1)] | None = None
    decisions: Annotated[int, Within(ge=0)] = 10
    policies: Annotated[int, Within(ge=1, le=1024)] = 3
    psi: float = 1.0
    uniform: bool = True


STATE = np.dtype(
    [
        ("method", "i8"),
        ("classes", "u8"),
        ("policies", "u8"),
        ("left", "u8"),  # predictions that are still made at random
        ("decisions", "u8"),  # labelled ones seen
        ("decays", "u8"),
        ("scratch", "u8"),  # BUFFER
        ("uniform", "u4"),
        ("psi", "f4"),
        ("epsilon", "f4"),
    ]
)
own_of = state_of(STATE)

PROBABILITIES, SCRATCH, ESTIMATES, SHARES, NUMBERS, COSTS, PREFERRED, COLUMNS = range(8)
"""Columns of the room for one example."""


@inlined
def _at(columns, room, k):
    """Where a column lies."""
    return columns + uint64(4) * uint64(k) * room


@helper
def _prefer(layer, example, importance, offset, values):
    """The shares of the policies that prefer each class, where there is no `cover`."""
    state, k = own_of(layer), np.float32(own_of(layer).classes)
    if state.method == BAG:
        share = _1 / np.float32(state.policies)
        for i in range(state.policies):
            at = offset + i * layer_of(layer).step
            best = class_in(predict_next(layer, example, UNLABELED, importance, at), state.classes)
            values[best - uint32(1)] += share
        return
    best = class_in(predict_next(layer, example, UNLABELED, importance, offset), state.classes)
    each, top = _0, _1
    if state.method == EPSILON:
        each, top = state.epsilon / k, _1 - state.epsilon
    elif state.left > uint64(0):
        each, top = _1 / k, _0
    for j in range(state.classes):
        values[j] = each
    values[best - uint32(1)] += top


@helper
def _distribute(layer, example, importance, offset, columns, room):
    """Write the probability of each class."""
    state = own_of(layer)
    values = float32s_at(columns, state.classes)
    for j in range(state.classes):
        values[j] = _0
    if state.method != BY_COVER:
        _prefer(layer, example, importance, offset, values)
        return
    numbers, costs = _at(columns, room, NUMBERS), _at(columns, room, COSTS)
    vote(layer, example, state, offset, numbers, costs, _at(columns, room, PREFERRED), values)
    scratch = float32s_at(_at(columns, room, SCRATCH), state.classes)
    least = least_probability(state) * np.float32(state.classes)
    enforce_minimum(least, state.uniform == 1, values, scratch)


@helper
def _learn_bagged(layer, example, importance, offset):
    """Let each policy learn a random number of times."""
    state, shared = own_of(layer), shared_of(example_of(example).shared)
    for _ in range(state.policies):
        draw_poisson(shared)  # VW draws for its prediction, too
    for i in range(state.policies):
        for _ in range(draw_poisson(shared)):
            learn_next(layer, example, UNLABELED, importance, offset + i * layer_of(layer).step)


@helper
def _learn_covering(layer, example, importance, offset, columns, room):
    """Let the policies learn, and write the estimated costs."""
    state = own_of(layer)
    least, estimates = least_probability(state), float32s_at(_at(columns, room, ESTIMATES), state.classes)
    shares = float32s_at(_at(columns, room, SHARES), state.classes)
    learn_next(layer, example, UNLABELED, importance, offset)
    estimate_all(layer, example, state, offset, estimates)
    numbers, costs, preferred = _at(columns, room, NUMBERS), _at(columns, room, COSTS), _at(columns, room, PREFERRED)
    teach_policies(layer, example, state, importance, offset, numbers, costs, preferred, estimates, shares, least)
    state.decisions += uint64(1)


@helper
def _teach(layer, example, importance, offset, columns, room):
    """Let the policies learn."""
    state, d = own_of(layer), decision_of(example)
    if state.method == BAG:
        _learn_bagged(layer, example, importance, offset)
    elif state.method == BY_COVER:
        _learn_covering(layer, example, importance, offset, columns, room)
    elif state.method == EPSILON:
        learn_next(layer, example, UNLABELED, importance, offset)
    else:
        state.left -= min(state.left, uint64(2))
        if d.probability < _1:
            learn_next(layer, example, UNLABELED, importance, offset)


@helper
def _loss(d, probabilities, estimates):
    """The estimated cost of a draw."""
    chosen, total = chosen_class(d, len(probabilities)), _0
    if chosen > 0:
        for j in range(len(probabilities)):
            total += estimate_of(d.cost, d.probability, j + 1 == chosen, estimates[j]) * probabilities[j]
    return total


@helper
def _run(layer, example, importance, offset, learns):
    state, d, e = own_of(layer), decision_of(example), example_of(example)
    room = max(state.classes, state.policies)
    columns = make_columns(state.scratch, room, COLUMNS)
    if columns == uint64(0):
        return _1
    before, d.only_learns = d.only_learns, uint64(1)
    _distribute(layer, example, importance, offset, columns, room)
    values, outcome = float32s_at(columns, state.classes), outcome_of(e)
    estimates = float32s_at(_at(columns, room, ESTIMATES), state.classes)
    for j in range(state.classes):
        estimates[j] = _0
    if learns:
        _teach(layer, example, importance, offset, columns, room)
    d.only_learns = before
    put_back(e, outcome)
    ranked, listed = uint32s_at(d.ranked, state.classes), float32s_at(d.values, state.classes)
    for j in range(state.classes):
        ranked[j], listed[j] = uint32(j), values[j]
    sort_by_probability(ranked, listed, estimates)
    e.loss = np.float64(_loss(d, values, estimates) * importance)
    return np.float32(ranked[0]) + _1


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the policies."""
    return _run(layer, example, importance, offset, True)


class ExploreClasses(OfClasses):
    """Turns the preferred class into probabilities of all classes."""

    name: ClassVar[str] = "explore_classes"
    Parameters: ClassVar[type[Parameters]] = ExploreClassesParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_CLASS, Predictions.CLASS)
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"left": COUNT, "decisions": COUNT}

    def __init__(self, parameters: ExploreClassesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1 and parameters.method != "epsilon":
            got = f"{context.submodels} sub-models and method {parameters.method}"
            raise ConfigError(f"{self.name}: got {got}, of which only epsilon has no state of its own")
        p, decays = parameters, parameters.method == "cover" and parameters.epsilon is None
        self.state = Record(
            STATE,
            method=get_args(Method).index(p.method),
            classes=p.classes,
            policies=p.policies,
            left=p.decisions if p.method == "first" else 0,
            decays=decays,
            scratch=Buffer(),
            uniform=p.uniform,
            psi=p.psi,
            epsilon=(1.0 if decays else 0.05) if p.epsilon is None else p.epsilon,
        )

    @classmethod
    def width(cls, parameters: ExploreClassesParameters) -> int:
        """One sub-model per policy; with `cover` one more, as in VW."""
        policies = parameters.policies
        return {"bag": policies, "cover": policies + 1}.get(parameters.method, 1)

    @property
    def answers(self) -> Answers:
        """A probability per class."""
        return replace(super().answers, scores_are_probabilities=True)
