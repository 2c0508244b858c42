"""A bandit test that begins with full labels: first examples show their class, later ones only the cost of a choice.

How much the two kinds of examples count is a weight λ between 0 and 1: (1 - λ) for each of the first, λ for each of the
others. The layer trains a sub-model of the layers below for each of several λ, and chooses by the one whose choices
have cost least so far, by inverse propensity.

Labels are those of `simulate_bandit` beside it: a class (`warm_start_bandit`), or a cost for each class
(`warm_start_cost_sensitive_bandit`).

Source: C. Zhang, A. Agarwal, H. Daumé III, J. Langford, S. Negahban, "Warm-starting contextual bandits: robustly
combining supervised and bandit feedback", ICML 2019; VW 9.11.9, `--warm_cb`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
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
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.parameters import ExampleValue, Within
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.action_per_class import (
    WithCopies,
    copies_of,
    end_copies,
    fill_importance,
    make_copies,
)
from hutch.reductions.bandits.random import draw_first
from hutch.reductions.bandits.simulate_bandit import CLASS, COSTS, SimulateBandit, cost_of

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_LEAST = np.float32(np.finfo(np.float32).tiny)
_ALL = (1 << 32) - 1
_RANDOM, _NEXT, _OVERWRITE = range(3)
_CORRUPTIONS = {"random": _RANDOM, "next": _NEXT, "overwrite": _OVERWRITE}

Share = Annotated[float, Within(ge=0, le=1)]


class WarmStartCostSensitiveBanditParameters(Parameters):
    """Parameters of `warm_start_cost_sensitive_bandit`.

    Attributes:
        classes: number of classes, counted from 1.
        right: replaces a cost of 0.
        wrong: replaces a cost of 1.
        warm_start: so many examples come first.
        interaction: examples after these; all others are passed over. None: all.
        learns: from which of the two.
        draws_warm_start: a choice is drawn for the first examples, too, and only its cost learned.
        candidates: weights λ that are tried.
        weights: about `half`, or the `minimax` epsilon / (1 + epsilon), in steps that halve the distance to 0 and to 1;
            `with_ends` the first is 0 and the last 1.
        epsilon: of the explorer below.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(3)]
    right: float = 0.0
    wrong: float = 1.0
    warm_start: Annotated[int, Within(ge=0, le=_ALL)] = 0
    interaction: Annotated[int, Within(ge=0, le=_ALL)] | None = None
    learns: Literal["both", "warm_start", "interaction", "nothing"] = "both"
    draws_warm_start: bool = False
    candidates: Annotated[int, Within(ge=1, le=1 << 10)] = 1
    weights: Literal["half", "half_with_ends", "minimax", "minimax_with_ends"] = "half"
    epsilon: Share = 0.05


class WarmStartBanditParameters(WarmStartCostSensitiveBanditParameters):
    """Parameters of `warm_start_bandit`.

    Attributes:
        classes: number of classes, counted from 1.
        right: cost of the class of the label.
        wrong: cost of any other class.
        corruption_probability: with which one of the first examples shows another class.
        corruption: that class: a `random` one, the `next` one, or `overwrite` for always the same.
        corruption_class: the one by which others are overwritten.
    """

    corruption_probability: Share = 0.0
    corruption: Literal["random", "next", "overwrite"] = "random"
    corruption_class: Annotated[int, Within(ge=1)] = 1


def candidate_weights(p: Any) -> NDArray[np.float32]:
    """The weights λ that are tried, rising, float32 (candidates).

    Args:
        p: parameters of the layer.
    """
    found = np.zeros(p.candidates, np.float32)
    if p.learns in ("interaction", "warm_start"):
        found[:] = p.learns == "interaction"
        return found
    middle, epsilon = p.candidates // 2, np.float32(p.epsilon)
    found[middle] = 0.5 if p.weights.startswith("half") else epsilon / (_1 + epsilon)
    for i in range(middle, 0, -1):
        found[i - 1] = found[i] / _2
    for i in range(middle + 1, p.candidates):
        found[i] = _1 - (_1 - found[i - 1]) / _2
    if p.weights.endswith("ends"):
        found[0], found[-1] = 0, 1
    return found


def importances(p: Any) -> NDArray[np.float32]:
    """What multiplies the importance of an example of each phase for each candidate, float32 (2, candidates).

    Args:
        p: parameters of the layer.
    """
    weights = candidate_weights(p)
    first, second = np.float32(p.warm_start), np.float32(_ALL if p.interaction is None else p.interaction)
    total = (_1 - weights) * first + weights * second + _LEAST
    with np.errstate(over="ignore"):
        return np.stack([(_1 - weights) * (first + second) / total, weights * (first + second) / total])


STATE = np.dtype(
    [
        ("kind", "i8"),  # of labels: CLASS or COSTS
        ("copies", "u8"),  # address of the COPIES
        ("seed", "u8"),
        ("draws", "u8"),
        ("warm_start", "i8"),
        ("interaction", "i8"),
        ("warmed", "i8"),  # examples of the first phase so far
        ("met", "i8"),  # examples of the second phase so far
        ("learns", "u8", 2),  # whether the examples of each phase are learned
        ("draws_warm_start", "u8"),
        ("candidates", "u8"),
        ("weights", "u8"),  # address of float32[2, candidates]: see `importances`
        ("cumulated", "u8"),  # address of float32[candidates]: the cost of the choices of each
        ("below", "u8"),  # layers between this one and that which learns costs of all actions
        ("corruption", "i8"),
        ("corruption_class", "i8"),
        ("right", "f4"),
        ("wrong", "f4"),
        ("corruption_probability", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _best(state):
    """The candidate whose choices have cost least."""
    costs, best = float32s_at(state.cumulated, state.candidates), uint64(0)
    for i in range(state.candidates):
        best = uint64(i) if costs[i] < costs[best] else best
    return best


@helper
def _choice(layer, example, importance, offset, i):
    """The action that candidate i finds best."""
    d = decision_of(example)
    d.chosen = int64(-1)
    predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, i))
    return int64(ranked_of(d)[0])


@helper
def _cost(state, example, label, action):
    """The cost of an action by the label, between those of a right and a wrong one."""
    cost = cost_of(state, example, label, action)[0]
    if state.kind == CLASS:
        return state.right if cost == _0 else state.wrong
    return state.right + (state.wrong - state.right) * cost


@helper
def _corrupted(state, shared, label):
    """The class that one of the first examples shows."""
    shared.random_state, u = merand48(shared.random_state)
    if not u < state.corruption_probability:
        return label
    classes = int64(copies_of(state.copies).classes)
    if state.corruption == _OVERWRITE:
        return np.float32(state.corruption_class)
    if state.corruption == _NEXT:
        return np.float32(int64(label) % classes + 1)
    shared.random_state, u = merand48(shared.random_state)
    for k in range(1, classes + 1):
        if u <= np.float32(k) / np.float32(classes):
            return np.float32(k)
    return np.float32(classes)


@helper
def _teach_all(layer, example, state, label, importance, offset):
    """Let each candidate learn the costs of all actions: by the layer that learns them, below the bandit's."""
    d, below = decision_of(example), layer_of(layer).next
    for _ in range(state.below):
        below = layer_of(below).next
    costs, weights = float32s_at(d.costs, d.count), float32s_at(state.weights, state.candidates)
    d.weights, d.chosen = uint64(0), int64(-1)
    before, d.only_learns = d.only_learns, uint64(1)
    for i in range(state.candidates):
        for a in range(d.count):
            costs[a] = _cost(state, example, label, int64(a))
        fill_importance(d, importance * weights[i])
        call(layer_of(below).learn, below, example, UNLABELED, importance, submodel(layer, offset, i))
    d.only_learns = before
    fill_importance(d, importance)


@helper
def _teach_one(layer, example, state, phase, drawn, cost, probability, importance, offset):
    """Let each candidate learn the cost of the drawn action."""
    d, weights = decision_of(example), float32s_at(state.weights, uint64(2) * state.candidates)
    for i in range(state.candidates):
        fill_importance(d, importance * weights[uint64(phase) * state.candidates + i])
        d.chosen, d.probability, d.cost = drawn, probability, cost
        learn_next(layer, example, cost, importance, submodel(layer, offset, i))
    d.chosen = int64(-1)
    fill_importance(d, importance)


@helper
def _interact(layer, example, state, phase, label, importance, offset):
    """Draw an action, learn its cost, and judge the candidates by it; returns the action."""
    d = decision_of(example)
    _choice(layer, example, importance, offset, _best(state))
    draw_first(d, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    drawn, probability = int64(ranked_of(d)[0]), values_of(d)[0]
    cost = _cost(state, example, label, drawn)
    if phase == 1:
        cumulated = float32s_at(state.cumulated, state.candidates)
        for i in range(state.candidates):
            if _choice(layer, example, importance, offset, i) == drawn:
                cumulated[i] += cost / probability
    if state.learns[phase] == 1:
        _teach_one(layer, example, state, phase, drawn, cost, probability, importance, offset)
    return drawn


@helper
def _begin(layer, example, state, label, importance, offset):
    """An example of the first phase; returns the action predicted."""
    if state.kind == CLASS:
        label = _corrupted(state, shared_of(example_of(example).shared), label)
    if state.draws_warm_start == 1:
        return _interact(layer, example, state, 0, label, importance, offset)
    action = _choice(layer, example, importance, offset, _best(state))
    if state.learns[0] == 1:
        _teach_all(layer, example, state, label, importance, offset)
    return action


@helper
def _finish(example, state, label, action, importance):
    """Write the outcome; returns the class of an action."""
    e = example_of(example)
    cost, least = cost_of(state, example, label, action)
    end_copies(state.copies, example)
    e.features, e.importance = e.length, importance
    is_known = label != UNLABELED if state.kind == CLASS else least != UNLABELED
    e.loss = np.float64(cost - least) * np.float64(importance) if is_known else 0.0
    return np.float32(action + 1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class that the best candidate finds best."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return _1
    fill_importance(decision_of(example), importance)
    return _finish(example, state, label, _choice(layer, example, importance, offset, _best(state)), importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Choose, and learn what the example's phase shows; the first examples and those passed over do not count."""
    state, action, weight = own_of(layer), int64(0), _0
    if not make_copies(state.copies, example):
        return _1
    fill_importance(decision_of(example), importance)
    if state.warmed < state.warm_start:
        action = _begin(layer, example, state, label, importance, offset)
        state.warmed += 1
    elif state.met < state.interaction:
        action = _interact(layer, example, state, 1, label, importance, offset)
        state.met, weight = state.met + 1, importance
    return _finish(example, state, label, action, weight)


class _WarmStart(WithCopies):
    """A layer that chooses among weights of its two kinds of examples.

    Raises:
        ConfigError: the layer that learns costs of actions is not found below.
    """

    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures = {"magnitudes": SimulateBandit.known_failures["magnitudes"]}
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"draws": COUNT, "warmed": COUNT, "met": COUNT, "cumulated": FINITE}
    dtype = STATE
    predicts = Predictions.CLASS
    kind: ClassVar[int]

    def __init__(self, parameters: Any, context: Context) -> None:
        p, kinds = parameters, (("both", "warm_start"), ("both", "interaction"))
        super().__init__(
            p,
            context,
            kind=self.kind,
            seed=hash_namespace("vw", 0, "all"),
            warm_start=p.warm_start,
            interaction=_ALL if p.interaction is None else p.interaction,
            draws_warm_start=p.draws_warm_start,
            candidates=p.candidates,
            weights=importances(p),
            cumulated=np.zeros(p.candidates, np.float32),
            below=self._depth(context),
            right=p.right,
            wrong=p.wrong,
        )
        self.state["learns"] = [p.learns in each for each in kinds]

    def _depth(self, context: Context) -> int:
        layer, found = context.below, 0
        while layer is not None and layer.takes is not Labels.ACTION_COSTS:
            layer, found = layer.context.below, found + 1
        if layer is None and context.below is not None:
            raise ConfigError(f"{self.name}: wanted a layer below that learns the costs of all actions")
        return found

    @classmethod
    def width(cls, parameters: Any) -> int:
        """One sub-model per candidate."""
        count: int = parameters.candidates
        return count


class WarmStartBandit(_WarmStart):
    """Learns classes first, and then from the cost of its choices alone."""

    name: ClassVar[str] = "warm_start_bandit"
    kind = CLASS
    Parameters: ClassVar[type[Parameters]] = WarmStartBanditParameters
    takes = Labels.MULTICLASS

    def __init__(self, parameters: WarmStartBanditParameters, context: Context) -> None:
        p = parameters
        super().__init__(p, context)
        if p.corruption_class > p.classes:
            raise ConfigError(f"{self.name}.corruption_class: got {p.corruption_class}, wanted 1 to {p.classes}")
        self.state["corruption"] = _CORRUPTIONS[p.corruption]
        self.state["corruption_class"] = p.corruption_class
        self.state["corruption_probability"] = p.corruption_probability


class WarmStartCostSensitiveBandit(_WarmStart):
    """Learns costs of classes first, and then from the cost of its choices alone."""

    name: ClassVar[str] = "warm_start_cost_sensitive_bandit"
    kind = COSTS
    Parameters: ClassVar[type[Parameters]] = WarmStartCostSensitiveBanditParameters
    takes = Labels.COST_SENSITIVE
