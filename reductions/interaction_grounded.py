"""Interaction-grounded learning: no reward is ever seen, only feedback, such as a click, that depends on it.

A decoder learns, from context, action and feedback, whether an action is the chosen one: with the label 1 and the
importance 1 / (4 π) if it is, else with -1 and 3 / (4 (1 - π)), π the policy's probability of the action. Where it can
tell the chosen action from others by the feedback, the feedback has to do with that action: its reward is extreme, good
or bad. The policy then learns the cost -1, or another one where the outcome was definitely bad, else the cost 0.

The decoder bets coins, as the learner `coin_betting` does; each interaction of the chain's learner is one of the
decoder with the feedback as its last part.

Source: T. Xie et al., "Interaction-grounded learning with action-inclusive feedback", NeurIPS 2022; VW 9.11.9,
`--experimental_igl`.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError, counted
from hutch.core.kernel.abi import (
    UNLABELED,
    call_loss,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    layer_of,
    loss_of,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.decision import ACTION_BYTES, actions_at, decision_of, place_of, show_action, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.features import Features, features_of, gather, rows_of
from hutch.core.learner.features import values_of as gathered_values
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.learner.terms import MAX_ORDER, WILDCARD, Terms
from hutch.core.loss.losses import LossChoice
from hutch.core.text.hashing import NamespaceMode, namespace_id
from hutch.reductions.bandits.explorer import Explorer
from hutch.reductions.bandits.probabilities import conclude, teach_next
from hutch.reductions.ftrl.base import SUMS, sums_of
from hutch.reductions.ftrl.coin_betting import CoinBetting, CoinBettingParameters, bet, move

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_MOST, _FAR = np.float32(50), np.float32(np.inf)
_CHOSEN, _OTHER = np.float32(0.25), np.float32(0.75)


class InteractionGroundedParameters(Parameters):
    """Parameters of `interaction_grounded`.

    Attributes:
        feedback: the namespace of what was observed after the action, in the line that all actions share.
        bad: the namespace that is there if the outcome was definitely bad.
        bad_cost: of such an outcome; that of a good one is -1.
    """

    feedback: str = "feedback"
    bad: str = "bad"
    bad_cost: float = 2.0


STATE = np.dtype(
    [
        *SUMS.descr,  # of the decoder
        ("alone", "u8"),  # BUFFER of ACTION[count]: actions without what was observed
        ("whole", "u8"),  # BUFFER of ACTION[count]: the same with feedback, then the constant, at the end
        ("room", "u8"),  # BUFFER of the actions' features
        ("certain", "u8"),  # actions with a probability of 0 or 1, which the decoder cannot learn
        ("feedback", "u4"),
        ("bad", "u4"),
        ("bad_cost", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _measure(state, d):
    """Sizes of the actions, features and namespaces, and whether anything was observed, and that it was bad."""
    actions, features, spaces, observed, bad = actions_at(d.actions, d.count), uint64(0), uint64(0), False, False
    for k in range(d.count):
        ids = uint32s_at(actions[k].namespace_ids, actions[k].namespace_count)
        features += actions[k].length
        spaces += actions[k].namespace_count + uint64(1)
        for j in range(len(ids)):
            observed |= ids[j] == state.feedback or ids[j] == state.bad
            bad |= ids[j] == state.bad
    return features, spaces, observed, bad


@inlined
def _part(state, name):
    """Which part of the decoder's features a namespace is: the usual ones, feedback, the constant; or none."""
    if name == state.bad:
        return 3
    return 1 if name == state.feedback else 2 if name == CONSTANT_NAMESPACE else 0


@helper
def _copy(action, j, rooms, n):
    """Copy a namespace of an action behind the n existing features; returns their new number."""
    _, _, indices, values = rooms
    starts = int64s_at(action.namespaces, action.namespace_count + uint64(1))
    old, x = uint32s_at(action.indices, action.length), float32s_at(action.values, action.length)
    for i in range(uint64(starts[j] - starts[0]), uint64(starts[j + uint64(1)] - starts[0])):
        indices[n], values[n] = old[i], x[i]
        n += uint64(1)
    return n


@helper
def _write(state, action, rooms, n, space, whole):
    """Write an action without what was observed, or `whole`: with feedback, then the constant, behind the rest."""
    starts, ids, _, _ = rooms
    names = uint32s_at(action.namespace_ids, action.namespace_count)
    for part in range(3 if whole else 1):
        started = False
        for j in range(action.namespace_count):
            own = _part(state, names[j])
            if own == part or (own == 2 and not whole):
                if part == 0 or not started:
                    starts[space], ids[space] = n, names[j]
                    space, started = space + uint64(1), True
                n = _copy(action, j, rooms, n)
    starts[space] = n
    return n, space


@helper
def _split(state, d, features, spaces):
    """Write all actions as policy and decoder see them; returns whether there is memory."""
    views = reserve(state.alone, ACTION_BYTES * d.count), reserve(state.whole, ACTION_BYTES * d.count)
    at = reserve(state.room, uint64(2) * (uint64(12) * spaces + uint64(8) * features))
    if views[0] == uint64(0) or views[1] == uint64(0) or at == uint64(0):
        return False
    features, spaces = uint64(2) * features, uint64(2) * spaces
    ids_at, indices_at = at + uint64(8) * spaces, at + uint64(12) * spaces
    values_at = indices_at + uint64(4) * features
    starts, ids = int64s_at(at, spaces), uint32s_at(ids_at, spaces)
    rooms = starts, ids, uint32s_at(indices_at, features), float32s_at(values_at, features)
    n, space = uint64(0), uint64(0)
    for view in range(2):
        for k in range(d.count):
            action, a = actions_at(d.actions, d.count)[k], actions_at(views[view], d.count)[k]
            a.indices, a.values = indices_at + uint64(4) * n, values_at + uint64(4) * n
            a.namespaces, a.namespace_ids = at + uint64(8) * space, ids_at + uint64(4) * space
            first, first_space = n, space
            n, space = _write(state, action, rooms, n, space, view == 1)
            a.length, a.namespace_count, a.own = n - first, space - first_space, action.own
            space += uint64(1)
    return True


@helper
def _score(state, shared, features):
    """Score of the decoder for the features gathered last."""
    rows, values = rows_of(features, features.length), gathered_values(features, features.length)
    weights, p = weights_of(shared), _0
    for i in range(features.length):
        p += weights[uint64(rows[i]) * shared.stride] * values[i]
    return p


@helper
def _decode(layer, example, offset, learns):
    """Let the decoder see the actions that are shown; returns the cost of the chosen one as it tells."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    features, shared, found = features_of(state.features), shared_of(e.shared), _0
    values = values_of(d)
    for k in range(d.count):
        chosen = int64(k) == d.chosen
        if not (learns or chosen):
            continue
        show_action(example, d, k, False)
        gather(features, example, offset)
        share = values[place_of(d, k)]
        importance = _CHOSEN / share if chosen else _OTHER / (_1 - share)
        certain = not importance < _FAR
        if learns and not certain:
            p, mean = bet(sums_of(layer), features, shared, importance, _0)
            p, label = min(max(p, -_MOST), _MOST), _1 if chosen else -_1
            loss = loss_of(state.loss)
            slope = call_loss(loss.derivative, np.float64(p), np.float64(label), 0.0, 0.0, state.loss)
            move(sums_of(layer), features, shared, np.float32(slope) * importance, mean)
        else:
            p = _score(state, shared, features)
            state.certain += uint64(learns and certain)
        found = p if chosen else found
    return _2 * (_1 / (_1 + math.exp(-found))) > _1


@helper
def _run(layer, example, importance, offset, learning):
    """Predict without what was observed, find the cost in it, and learn that."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    policy = offset + layer_of(layer).step
    features, spaces, observed, bad = _measure(state, d)
    actions, in_line = d.actions, d.in_line
    if observed or d.chosen >= 0:
        if not _split(state, d, features, spaces):
            return conclude(example, importance)
        d.actions, d.in_line = reserve(state.alone, uint64(0)), uint64(0)
    predict_next(layer, example, UNLABELED, importance, policy)
    if d.chosen >= 0:
        outcome, alone = outcome_of(e), d.actions
        d.actions = reserve(state.whole, uint64(0))
        extreme = _decode(layer, example, offset, learning)
        d.actions, d.cost = alone, _0
        if extreme:
            d.cost = state.bad_cost if bad else -_1
        put_back(e, outcome)
        if learning:
            teach_next(layer, example, importance, policy)
    d.actions, d.in_line = actions, in_line
    return conclude(example, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the policy."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then let the decoder learn, and the policy from the cost that the decoder finds."""
    return _run(layer, example, importance, offset, shared_of(example_of(example).shared).testing == 0)


class InteractionGrounded(Explorer):
    """Learns decisions from feedback that has to do with an unseen reward.

    Raises:
        ConfigError: the learner is no `coin_betting`, or one with too long interactions; the layer has sub-models.
    """

    name: ClassVar[str] = "interaction_grounded"
    Parameters: ClassVar[type[Parameters]] = InteractionGroundedParameters
    keeps: ClassVar[Mapping[str, Limits]] = {"norm": POSITIVE, "importance": POSITIVE}
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures: ClassVar[Mapping[str, str]] = {
        "learns": "the policy learns nothing as long as feedback tells no action from others",
        "magnitudes": CoinBetting.known_failures["magnitudes"],
    }
    kernels = Kernels(learn, predict)
    dtype = STATE

    def __init__(self, parameters: InteractionGroundedParameters, context: Context) -> None:
        p, base = parameters, context.below
        while base is not None and base.context.below is not None:
            base = base.context.below
        learned = getattr(base, "parameters", None)
        if not isinstance(learned, CoinBettingParameters):
            raise ConfigError(f"{self.name}: got the learner {getattr(base, 'name', None)}, wanted coin_betting")
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got {context.submodels} sub-models, wanted one: it has its own")
        mode = context.parser.namespaces
        feedback, bad = (namespace_id(name, mode) for name in (p.feedback, p.bad))
        if feedback == bad:
            raise ConfigError(f"{self.name}: got the namespace {p.bad!r} for feedback and for bad, wanted two")
        self._features = self._made(learned, feedback, mode)
        super().__init__(
            p,
            context,
            loss=context.loss(LossChoice(name="logistic")),
            features=self._features.record,
            alpha=learned.alpha,
            beta=learned.beta,
            feedback=feedback,
            bad=bad,
            **{name: Buffer() for name in ("alone", "whole", "room")},
        )
        self.inputs = Inputs(namespaces=(p.feedback,))

    def _made(self, learned: CoinBettingParameters, feedback: int, mode: NamespaceMode) -> Features:
        """Features of the decoder: each interaction with the feedback."""
        letters = mode == "letter"
        ids = [[WILDCARD if one == ":" else namespace_id(one, mode) for one in term] for term in learned.interactions]
        if any(len(term) >= MAX_ORDER for term in ids):
            raise ConfigError(
                f"{self.name}: got interactions of {MAX_ORDER} namespaces, wanted fewer: feedback is one more"
            )
        options = {"permutations": learned.permutations, "duplicates": learned.duplicate_interactions}
        parts = feedback, CONSTANT_NAMESPACE  # VW has the constant among the feedback
        terms = Terms([[*term, one] for term in ids for one in parts], letters=letters, **options) if ids else None
        return Features(terms, [namespace_id(name, mode) for name in learned.ignore_linear])

    @classmethod
    def width(cls, parameters: InteractionGroundedParameters) -> int:
        """The decoder and the policy."""
        return 2

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Discard the features gathered for an example of the previous batch."""
        self._features.forget_guess()

    def doubts(self) -> str | None:
        """That the policy did not explore, so that the decoder had nothing to tell actions by."""
        if not (certain := int(self.state["certain"][0])):
            return None
        seen = f"{counted(certain, 'action')} with a probability of 0 or 1"
        return f"{seen}, which teach the decoder nothing: wanted exploration"
