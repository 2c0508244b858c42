"""Epsilon-greedy exploration that fades, by a champion and challengers that have learned for shorter times.

Several models learn every decision, each with an epsilon of its own, `epsilon` times n^(-1/3) after n - 1 decisions.
The oldest one, the champion, decides. Where a lower bound of a challenger's reward exceeds an upper bound of the
champion's over the same decisions, the challenger takes its place. Where challenger i of m has learned more than
n^(i / m) decisions, n those of the champion, each younger one takes the place of the next, and a new one begins.

The rewards, 0 to 1, are those of the log, with importance weights; of the challengers the greedy choice counts.

Source: VW 9.11.9, `--epsilon_decay`; bounds: `hutch.reductions.bandits.confidence_sequence`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError, counted
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    int64s_at,
    kernel,
    layer_of,
    predict_next,
    shared_of,
    state_of,
    weights_of,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decision import decision_of, place_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.confidence_sequence import COUNT, RATES, SIDE, lower_bound, note
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import conclude, greedy, predict_own, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns, numbers

_0, _1 = np.float32(0), np.float32(1)
Share = Annotated[float, Within(gt=0, lt=1)]


class ExploreDecayingParameters(Parameters):
    """Parameters of `explore_decaying`.

    Attributes:
        models: the champion and its challengers.
        epsilon: probability of choosing at random, of a model that has learned nothing.
        fades: epsilon falls; else it stays.
        first_only: only the first of equally good actions gets what is left.
        scope: decisions before a challenger gives way to a younger one.
        patience: decisions before a challenger may become the champion.
        shift: challenger i of m has at most n^((i + shift) / (m + shift)) decisions.
        level: probability of error of a bound, divided by `comparisons`.
        comparisons: None: the number of models.
        tolerance: how exact bounds are.
        explores: the reward of a challenger is that of its explored choice, not of the greedy one.
        gains: costs are rewards.
    """

    models: Annotated[int, Within(ge=1, le=16), ExampleValue(2)] = 3
    epsilon: Probability = 1.0
    fades: bool = True
    first_only: bool = False
    scope: Annotated[int, Within(ge=0, le=1 << 40)] = 100
    patience: Annotated[int, Within(ge=0, le=1 << 40)] = 0
    shift: Annotated[int, Within(ge=0, le=1 << 20)] = 0
    level: Share = 0.05
    comparisons: Annotated[int, Within(ge=1, le=1 << 20)] | None = None
    tolerance: Share = 1e-6
    explores: bool = False
    gains: bool = False


STATE = np.dtype(
    [
        ("models", "u8"),
        ("width", "u8"),  # sub-models, a power of two
        ("places", "u8"),  # address of int64[models]: the sub-model of each, the champion last
        ("sides", "u8"),  # address of float64[models, models, 2, SIDE]: i, j: of i since j began, rewards and the rest
        ("costs", "u8"),  # address of float64[RATES]
        ("scratch", "u8"),  # BUFFER
        ("outside", "u8"),  # decisions with a reward that is not between 0 and 1
        ("scope", "f8"),
        ("patience", "f8"),
        ("shift", "f8"),
        ("error", "f8"),
        ("tolerance", "f8"),
        ("epsilon", "f4"),
        ("fades", "u4"),
        ("first_only", "u4"),
        ("explores", "u4"),
        ("gains", "u4"),
    ]
)
own_of = state_of(STATE)


@inlined
def _side(state, i, j, k):
    """What is known of model i since model j began: rewards (0), or 1 less them (1)."""
    at = (uint64(i) * state.models + uint64(j)) * uint64(2) + uint64(k)
    return float64s_at(state.sides + uint64(8) * uint64(SIDE) * at, uint64(SIDE))


@inlined
def _count(state, i):
    """How many decisions a model has learned."""
    return _side(state, i, i, 0)[COUNT]


@helper
def _decide(layer, example, importance, offset, i):
    """Probabilities of a model; returns where its weights are."""
    state = own_of(layer)
    at = offset + uint64(int64s_at(state.places, state.models)[i]) * layer_of(layer).step
    epsilon = state.epsilon
    if state.fades == 1:
        epsilon *= np.float32(math.pow(_count(state, i) + 1, np.float64(np.float32(-1) / np.float32(3))))
    predict_next(layer, example, UNLABELED, importance, at)
    greedy(values_of(decision_of(example)), epsilon, state.first_only == 1)
    return at


@helper
def _learn(layer, example, importance, offset, i):
    """Let a model learn a decision, and note what it would have earned."""
    state, d = own_of(layer), decision_of(example)
    at = _decide(layer, example, importance, offset, i)
    place, values = place_of(d, d.chosen), values_of(d)
    teach_next(layer, example, importance, at)
    probability = values[place]
    if uint64(i) + uint64(1) < state.models and state.explores == 0:
        best = 0
        for k in range(len(values)):
            best = k if values[k] > values[best] else best
        probability = _1 if int64(place) == best else _0
    weight = np.float64(probability / d.probability)
    gain = d.cost if state.gains == 1 else -d.cost
    reward = np.float64(min(max(gain, _0), _1))
    if uint64(i) + uint64(1) == state.models and np.float64(gain) != reward:
        state.outside += 1
    for j in range(i + 1):
        note(_side(state, i, j, 0), weight * reward)
        note(_side(state, i, j, 1), weight * (1.0 - reward))


@helper
def _forget(layer, example, model):
    """Make all weights of a model 0."""
    shared = shared_of(example_of(example).shared)
    weights, own = weights_of(shared), layer_of(layer).step * shared.stride
    for start in range(uint64(model) * own, uint64(len(weights)), own_of(layer).width * own):
        for k in range(own):
            weights[start + k] = _0


@helper
def _copy_side(state, source, target):
    for k in range(2):
        old, new = _side(state, source[0], source[1], k), _side(state, target[0], target[1], k)
        for column in range(SIDE):
            new[column] = old[column]


@helper
def _move(layer, example, i, by):
    """Models up to i take the places of those `by` above; new ones begin below."""
    state = own_of(layer)
    places, models = int64s_at(state.places, state.models), int64(state.models)
    for model in range(i, -1, -1):
        for j in range(model + 1):
            _copy_side(state, (model, j), (model + by, j + by))
        places[model + by], places[model] = places[model], places[model + by]
    for model in range(i + by + 1, models) if i >= 0 else range(0):
        for j in range(i + 1, by - 1, -1):
            _copy_side(state, (model, j - by), (model, j))
    for model in range(models):
        for j in range(min(model + 1, by)):
            for k in range(2):
                side = _side(state, model, j, k)
                for column in range(SIDE):
                    side[column] = 0.0
    for model in range(by):
        _forget(layer, example, places[model])


@helper
def _promote(layer, example):
    """Let the oldest challenger that is better than the champion take its place."""
    state, costs = own_of(layer), float64s_at(own_of(layer).costs, uint64(RATES))
    champion, half = int64(state.models) - 1, state.error / 2.0
    for i in range(champion - 1, -1, -1):
        if _count(state, i) < state.patience:
            continue
        least = lower_bound(_side(state, i, i, 0), half, state.tolerance, costs)
        if least > 0.0 and least > 1 - lower_bound(_side(state, champion, i, 1), half, state.tolerance, costs):
            _move(layer, example, i, champion - i)
            return


@helper
def _renew(layer, example):
    """Let the oldest challenger that has learned for too long give way to the one below it."""
    state = own_of(layer)
    champion, models = int64(state.models) - 1, np.float64(state.models)
    for i in range(champion - 1, -1, -1):
        share = np.float64(np.float32(i + 1 + state.shift) / np.float32(models + state.shift))
        if _count(state, i) > state.scope and _count(state, i) > math.pow(_count(state, champion), share):
            _move(layer, example, i - 1, 1)
            return


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the champion."""
    _decide(layer, example, importance, offset, int64(own_of(layer).models) - 1)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, let every model learn, and let challengers rise."""
    d, e = decision_of(example), example_of(example)
    predict_own(layer, example, importance, offset)
    columns = make_columns(own_of(layer).scratch, d.count, 2)
    if columns == uint64(0) or d.chosen < 0:
        return conclude(example, importance)
    ranked, values, outcome = numbers(columns, d.count, 0), floats(columns, d.count, 1), outcome_of(e)
    copy(ranked_of(d), ranked)
    copy(values_of(d), values)
    for i in range(int64(own_of(layer).models) - 1, -1, -1):
        _learn(layer, example, importance, offset, i)
    _promote(layer, example)
    _renew(layer, example)
    copy(ranked, ranked_of(d))  # what the champion predicted before
    copy(values, values_of(d))
    put_back(e, outcome)
    return conclude(example, importance)


class ExploreDecaying(Explorer):
    """Chooses the best action, or any with a probability that falls; the best of several models decides.

    Raises:
        ConfigError: the layer has several sub-models itself, or those below it are no power of two.
    """

    name: ClassVar[str] = "explore_decaying"
    Parameters: ClassVar[type[Parameters]] = ExploreDecayingParameters
    kernels = Kernels(learn, predict)
    dtype = STATE

    def __init__(self, parameters: ExploreDecayingParameters, context: Context) -> None:
        p, models = parameters, parameters.models
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got {context.submodels} sub-models, wanted one: it has its own")
        if context.step & (context.step - 1):
            raise ConfigError(f"{self.name}: got {context.step} sub-models below it, wanted a power of two")
        super().__init__(
            p,
            context,
            width=self.width(p),
            places=np.arange(models, dtype=np.int64),
            sides=np.zeros((models, models, 2, SIDE)),
            costs=np.zeros(RATES),
            error=np.float32(p.level) / np.float32(p.comparisons or models),
            tolerance=np.float32(p.tolerance),
        )
        self.keeps: Mapping[str, Limits] = {"places": Limits(0, models - 1), "sides": FINITE}  # type: ignore[misc]

    @property
    def learned(self) -> list[int]:
        """How many decisions each model has learned, the champion last."""
        sides = self.saved()["sides"]
        return [int(sides[i, i, 0, COUNT]) for i in range(self.parameters.models)]

    def doubts(self) -> str | None:
        """That rewards are out of range."""
        if not (outside := int(self.state["outside"][0])):
            return None
        wanted = "costs from 0 to 1" if self.parameters.gains else "costs from -1 to 0"
        return f"{counted(outside, 'decision')} with a reward outside of 0 to 1, taken as 0 or 1: wanted {wanted}"

    @classmethod
    def width(cls, parameters: ExploreDecayingParameters) -> int:
        """One sub-model per model, and so many more that the weights of each lie at a constant distance."""
        return 1 << (parameters.models - 1).bit_length()

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Each model has weights of its own, and has learned a number of decisions.

        Raises:
            ModelError: that is not so.
        """
        places, sides = dense(arrays["places"]), dense(arrays["sides"])
        if len(np.unique_values(places)) != len(places) or (sides[..., COUNT] < 0).any():
            raise ModelError(f"{self.name}: got models that share their weights, or have learned less than nothing")
