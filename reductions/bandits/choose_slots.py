"""Several slots per decision: each gets an action, one after the other, and no action is chosen twice.

For slot k the layers below decide among the actions that are left, each with the features of the slot behind its own
and a feature that says which slot it is. A decision with one slot that has no features is one for the layers below, as
long as none with more has been learned.

The estimated cost is that of the first slot, or with `all_slots` the sum over the slots. Of a slate, where each action
belongs to one slot and one cost c is known of all slots together, it is c (Σ π(a_k) / p(a_k) - slots + 1), the
pseudo-inverse estimator for a product of distributions: A. Swaminathan et al., "Off-policy evaluation for slate
recommendation", NIPS 2017, example 4.

Source: VW 9.11.9, `--ccb_explore_adf` and `--slates`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE, SLOT_LETTER, Batch, ends_of_groups
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import ACTION_BYTES, DECISION, actions_at, decision_at, decision_of, place_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.reductions.bandits.scratch import floats, make_columns, numbers

_0, _1 = np.float32(0), np.float32(1)
SLOT_NAMESPACE, OWN_NAMESPACE = "\u00ff", "slot"
"""Names of the namespace that identifies the slot, and of a slot's features that belong to no namespace."""


class ChooseSlotsParameters(Parameters):
    """Parameters of `choose_slots`.

    Attributes:
        all_slots: estimated costs are those of all slots, not of the first one.
    """

    all_slots: bool = False


class ChooseSlateParameters(Parameters):
    """Parameters of `choose_slate`: none."""


STATE = np.dtype(
    [
        ("decision", "u8"),  # address of the DECISION of one slot
        ("actions", "u8"),  # BUFFER of ACTION[count]
        ("features", "u8"),  # BUFFER of the actions' features
        ("columns", "u8"),  # BUFFER: seven columns of the decision of one slot
        ("places", "u8"),  # address of uint32[place_count]: the feature of each slot
        ("place_count", "u8"),
        ("several", "u8"),  # 1: slots have features
        ("space", "u4"),  # id of the namespace that identifies the slot
        ("own", "u4"),
        ("anonymous", "u4"),
        ("all_slots", "u4"),
        ("slate", "u4"),
        ("in_pieces", "u4"),  # as in DECISIONS
    ]
)
own_of = state_of(STATE)


@helper
def _may_be_chosen(state, d, i, slot):
    """Whether the labels of action i, or of a slot, let it be chosen for the slot."""
    actions = uint32s_at(d.label_actions, d.label_count)
    if state.slate == 1:
        ends = int64s_at(d.action_ends, d.count + uint64(1))
        return ends[i + uint64(1)] > ends[i] and uint64(actions[uint64(ends[i])]) == slot
    ends, costs, listed = int64s_at(d.slot_ends, d.slot_count + uint64(1)), float32s_at(d.label_costs, d.label_count), 0
    for at in range(uint64(ends[slot]) + uint64(1), uint64(ends[slot + uint64(1)])):
        if costs[at] == UNLABELED:
            if uint64(actions[at]) == i:
                return True
            listed += 1
    return listed == 0


@helper
def _label_of(state, d, slot):
    """The action that was chosen for a slot, -1 if that is not known; its cost and probability."""
    ends, costs = int64s_at(d.slot_ends, d.slot_count + uint64(1)), float32s_at(d.label_costs, d.label_count)
    for at in range(uint64(ends[slot]) + uint64(1), uint64(ends[slot + uint64(1)])):
        if costs[at] != UNLABELED:
            action = int64(uint32s_at(d.label_actions, d.label_count)[at])
            probability = float32s_at(d.label_probabilities, d.label_count)[at]
            if state.slate == 0:
                return action, costs[at], probability
            for i in range(d.count if d.slate_cost != UNLABELED else uint64(0)):
                if _may_be_chosen(state, d, i, slot):
                    if action == 0:
                        return int64(i), d.slate_cost, probability
                    action -= 1
    return int64(-1), _0, _1


@helper
def _space_of(state, name):
    """The namespace that one of a slot has in the decision; the constant stays out."""
    return state.own if name == state.anonymous else name


@helper
def _copy(to, n, action, j):
    """Copy a namespace of an action behind the n existing features; returns their new number."""
    indices, values = to
    starts = int64s_at(action.namespaces, action.namespace_count + uint64(1))
    old, x = uint32s_at(action.indices, action.length), float32s_at(action.values, action.length)
    for i in range(uint64(starts[j] - starts[0]), uint64(starts[j + uint64(1)] - starts[0])):
        indices[n], values[n] = old[i], x[i]
        n += uint64(1)
    return n


@helper
def _build(state, built, action, slot, place, rooms, n, spaces):
    """Write an action with the features of a slot behind the n features and the namespaces that there are."""
    starts, ids, indices, values = rooms
    own = uint32s_at(action.namespace_ids, action.namespace_count)
    theirs = uint32s_at(slot.namespace_ids, slot.namespace_count)
    first, first_space = n, spaces
    for j in range(action.namespace_count):
        starts[spaces], ids[spaces] = n, own[j]
        spaces += uint64(1)
        n = _copy((indices, values), n, action, j)
        last = j + uint64(1) == action.namespace_count or own[j + uint64(1)] != own[j]
        for k in range(slot.namespace_count if last and own[j] != CONSTANT_NAMESPACE else uint64(0)):
            if theirs[k] != CONSTANT_NAMESPACE and _space_of(state, theirs[k]) == own[j]:
                if state.in_pieces == 1:
                    starts[spaces], ids[spaces] = n, own[j]
                    spaces += uint64(1)
                n = _copy((indices, values), n, slot, k)
    for k in range(slot.namespace_count):
        had = theirs[k] == CONSTANT_NAMESPACE
        for j in range(action.namespace_count):
            had |= own[j] == _space_of(state, theirs[k])
        if not had:
            starts[spaces], ids[spaces] = n, _space_of(state, theirs[k])
            spaces += uint64(1)
            n = _copy((indices, values), n, slot, k)
    if place >= 0:
        starts[spaces], ids[spaces], indices[n], values[n] = n, state.space, np.uint32(place), _1
        spaces, n = spaces + uint64(1), n + uint64(1)
    starts[spaces] = n
    built.length, built.namespace_count, built.own = n - first, spaces - first_space, action.own
    return n, spaces


@helper
def _show_slot(state, d, slot, place, used, origin):
    """Give the decision of one slot the actions that are left; returns their number, -1 without memory."""
    actions, line = actions_at(d.actions, d.count), actions_at(d.slots, d.slot_count)[slot]
    features, spaces = uint64(0), uint64(1)
    for i in range(d.count):
        features += actions[i].length + line.length + uint64(1)
        spaces += actions[i].namespace_count + line.namespace_count + uint64(1)
    made = reserve(state.actions, ACTION_BYTES * d.count)
    at = reserve(state.features, uint64(12) * spaces + uint64(8) * features)
    if made == uint64(0) or at == uint64(0):
        return int64(-1)
    ids_at, indices_at = at + uint64(8) * spaces, at + uint64(12) * spaces
    values_at = indices_at + uint64(4) * features
    starts, ids = int64s_at(at, spaces), uint32s_at(ids_at, spaces)
    rooms = starts, ids, uint32s_at(indices_at, features), float32s_at(values_at, features)
    built, count, n, s = actions_at(made, d.count), uint64(0), uint64(0), uint64(0)
    for i in range(d.count):
        if used[i] == 0 and _may_be_chosen(state, d, i, slot):
            b = built[count]
            b.indices, b.values = indices_at + uint64(4) * n, values_at + uint64(4) * n
            b.namespaces, b.namespace_ids = at + uint64(8) * s, ids_at + uint64(4) * s
            n, s = _build(state, b, actions[i], line, place, rooms, n, s)
            origin[count] = i
            count += uint64(1)
    inner = decision_at(state.decision)
    inner.actions, inner.count, inner.chosen, inner.weights = made, count, int64(-1), uint64(0)
    inner.row = d.row + uint64(1) + d.count + slot  # whose tag may hold a seed
    return int64(count)


@helper
def _has_own_features(line):
    """Whether a slot has any but the constant."""
    found = False
    for k in range(line.namespace_count):
        found |= uint32s_at(line.namespace_ids, line.namespace_count)[k] != CONSTANT_NAMESPACE
    return found


@helper
def _run(layer, example, importance, offset, learns):
    """Fill the slots; returns the action in the first one."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    several = state.several == 1 or d.slot_count > 1 or _has_own_features(actions_at(d.slots, d.slot_count)[uint64(0)])
    if several and shared_of(e.shared).testing == 0:
        state.several = uint64(1)
    columns = make_columns(state.columns, d.count, 7)
    if columns == uint64(0):
        return _0
    used, origin, weights = numbers(columns, d.count, 0), numbers(columns, d.count, 1), floats(columns, d.count, 2)
    for i in range(d.count):
        used[i], weights[i] = 0, importance
    inner, outer = decision_at(state.decision), e.decision
    room = uint64(4) * d.count
    inner.importance, inner.classes = columns + uint64(2) * room, columns + uint64(3) * room
    inner.costs = columns + uint64(4) * room
    inner.ranked, inner.values = columns + uint64(5) * room, columns + uint64(6) * room
    loss, ratios, features, before, top = _0, _0, uint64(0), uint64(0), _0
    for slot in range(d.slot_count):
        places = uint32s_at(state.places, state.place_count)
        count = _show_slot(state, d, slot, int64(places[slot]) if several else int64(-1), used, origin)
        if count <= 0:
            continue
        action, cost, probability = _label_of(state, d, slot)
        for j in range(count):
            if int64(origin[j]) == action:
                inner.chosen, inner.cost, inner.probability = int64(j), cost, probability
        e.decision, e.label = state.decision, cost if inner.chosen >= 0 else UNLABELED
        if learns and inner.chosen >= 0:
            learn_next(layer, example, e.label, importance, offset)
        else:
            predict_next(layer, example, e.label, importance, offset)
        e.decision = outer
        found, values = uint32s_at(inner.ranked, uint64(count)), float32s_at(inner.values, uint64(count))
        ranked_out = uint32s_at(d.ranked + uint64(4) * slot * d.width, d.width)
        values_out = float32s_at(d.values + uint64(4) * slot * d.width, d.width)
        for j in range(count):
            ranked_out[j], values_out[j] = origin[found[j]] - np.uint32(before), values[j]
        first = int64(origin[found[0]])
        used[first] = 1
        if slot == uint64(0):
            top = np.float32(first)
        if inner.chosen >= 0:
            ratio = values[place_of(inner, inner.chosen)] / probability
            ratios += ratio
            loss += cost * ratio * importance if slot == uint64(0) or state.all_slots == 1 else _0
        features += e.features
        if state.slate == 1:
            before += uint64(count)
    e.features, e.raw = features, _0
    if state.slate == 1:
        known = d.slate_cost != UNLABELED
        loss = d.slate_cost * (ratios - np.float32(d.slot_count - uint64(1))) if known else _0
    e.loss = np.float64(loss)
    return top


@kernel
def predict(layer, example, label, importance, offset):
    """Fill the slots."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Fill the slots, each after the actions that were chosen for those before, and learn from the costs."""
    return _run(layer, example, importance, offset, True)


class ChooseSlots(Reduction):
    """Chooses an action for each of several slots."""

    name: ClassVar[str] = "choose_slots"
    Parameters: ClassVar[type[Parameters]] = ChooseSlotsParameters
    takes = Labels.LOGGED_SLOTS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("importance", "zero_importance", "loss"), "lines of slots have no importance, as in Vowpal Wabbit"
    )
    keeps: ClassVar[Mapping[str, Limits]] = {"several": Limits(0, 1)}
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        layer, pieces = context.below, False
        while layer is not None:
            pieces = pieces or layer.inputs.joins
            layer = layer.context.below
        mode = context.parser.namespaces
        space, anonymous = (namespace_id(name, mode) for name in (SLOT_NAMESPACE, ""))
        own = SLOT_LETTER if mode == "letter" else namespace_id(OWN_NAMESPACE, mode)
        self._places = np.zeros(0, np.uint32)
        self._slots = self.state = Record(
            STATE,
            decision=Record(DECISION, in_line=1),
            actions=Buffer(),
            features=Buffer(),
            columns=Buffer(),
            space=space,
            own=own,
            anonymous=anonymous,
            all_slots=getattr(parameters, "all_slots", False),
            slate=self.takes is Labels.LOGGED_SLATE,
            in_pieces=pieces,
        )

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Name the slots."""
        most = int(np.diff(ends_of_groups(batch), prepend=0).max(initial=0))
        if most > len(self._places):
            parser = self.context.parser
            seed, mask = hash_namespace("_id", parser.hash_seed, parser.hash), (1 << self.context.bits) - 1
            names = (hash_text(f"index{k}", seed, parser.hash) & mask for k in range(2 * most))
            self._places = np.fromiter(names, np.uint32)
            self._slots.set(places=self._places, place_count=len(self._places))


class ChooseSlate(ChooseSlots):
    """Chooses an action for each of several slots with one common cost."""

    name: ClassVar[str] = "choose_slate"
    Parameters: ClassVar[type[Parameters]] = ChooseSlateParameters
    takes = Labels.LOGGED_SLATE
