"""The driver of decisions: puts their lines together, runs the chain on them, and keeps the statistics.

A decision is a block of lines. Each is an action; a first line labelled `shared` holds features that all actions have:
each action gets its namespaces behind its own, and the features of a namespace that both have behind the action's own.
The rest of a run is the same as for single examples, whose driver has no code for decisions.
"""

from typing import Any

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, SHARED_ROW, SLOT_ROW, Batch, ends_of_groups
from hutch.core.chain.driver import (
    cost_ptr_of,
    costs_of_batch,
    namespaces_of_batch,
    row_namespaces_of,
    row_ptr_of,
    run_of,
    tally,
    tally_of,
)
from hutch.core.errors import DataError
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    example_of,
    float32s_at,
    int64s_at,
    layer_of,
    record_of,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.cache import entry
from hutch.core.kernel.checked import check
from hutch.core.kernel.decision import (
    ACTION,
    ACTION_BYTES,
    DECISION,
    actions_at,
    decision_at,
    ranked_of,
    show_action,
    values_of,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import copy_bytes

COSTS, CHOICE, CLASSES, SLOTS, LINES, NUMBERS = range(6)
"""The labels are the costs of all actions, cost and probability of one, those of a class with one example per row,
those of the action in each slot, the class of each line, or some numbers of each line."""

DECISIONS = np.dtype(
    [
        ("run", "u8"),  # address of the RUN record
        ("decision", "u8"),  # address of the DECISION record
        ("kind", "u8"),  # COSTS, CHOICE, CLASSES, SLOTS, LINES or NUMBERS
        ("as_vw", "u8"),  # 1: those held out are learned, too; of COSTS they count as others, and no cost as UNLABELED
        ("in_pieces", "u8"),  # 1: shared features stay apart, under the same id, where an action has the namespace, too
        ("probabilities", "u8"),  # address of the batch's probabilities
        ("ranked", "u8"),  # out: uint32[rows]: actions, best first, at the decision's rows; [rows, classes] of CLASSES
        ("indices", "u8"),  # room for the actions of one decision, with the features they share
        ("values", "u8"),
        ("starts", "u8"),
        ("ids", "u8"),
        ("features", "u8"),  # capacity
        ("spaces", "u8"),
    ]
)
decisions_of = record_of(DECISIONS)


@inlined
def _is_marked(s, r, row, mark):
    """Whether a line has this mark, SHARED_ROW or SLOT_ROW, in place of a probability."""
    ends = cost_ptr_of(r)
    first = uint64(ends[row])
    return int64(ends[row + uint64(1)]) > int64(first) and _probabilities_of(s, r)[first] == mark


@inlined
def _probabilities_of(s, r):
    """The probability beside each cost of a batch."""
    return float32s_at(s.probabilities, uint64(cost_ptr_of(r)[r.size]))


@inlined
def _end_of(s, r, row):
    """The row behind the decision that begins at `row`."""
    group, stop = int64s_at(r.group, r.size), row + uint64(1)
    while s.kind != uint64(CLASSES) and stop < r.size and group[stop] == group[row]:
        stop += uint64(1)
    return stop


@inlined
def _is_left_out(r, name):
    """Whether the chain does not see a namespace at all."""
    listed = False
    for k in range(r.ignored_count):
        listed |= uint32s_at(r.ignored, r.ignored_count)[k] == name
    return r.ignored_count != uint64(0) and listed == (r.inverse == 0) and name != CONSTANT_NAMESPACE


@inlined
def _copy(s, r, j, n):
    """Copy the features of namespace j of the batch behind the n existing ones; returns their new number."""
    starts, _ = namespaces_of_batch(r)
    start, count = uint64(starts[j]), uint64(starts[j + uint64(1)] - starts[j])
    check(n + count <= s.features)
    copy_bytes(s.indices + uint64(4) * n, r.indices + uint64(4) * start, uint64(4) * count)
    copy_bytes(s.values + uint64(4) * n, r.values + uint64(4) * start, uint64(4) * count)
    return n + count


@helper
def _merge(s, r, a, row, shared, n, spaces):
    """Write an action with the features of the shared line (-1: none) behind the n existing features."""
    row_namespaces, (_, ids) = row_namespaces_of(r), namespaces_of_batch(r)
    own, own_end = uint64(row_namespaces[row]), uint64(row_namespaces[row + uint64(1)])
    theirs, their_end = uint64(0), uint64(0)
    if shared >= 0:
        theirs, their_end = uint64(row_namespaces[uint64(shared)]), uint64(row_namespaces[uint64(shared + 1)])
    starts, new_ids = int64s_at(s.starts, s.spaces), uint32s_at(s.ids, s.spaces)
    a.indices, a.values = s.indices + uint64(4) * n, s.values + uint64(4) * n
    a.namespaces, a.namespace_ids = s.starts + uint64(8) * spaces, s.ids + uint64(4) * spaces
    first_feature, first_space = n, spaces
    for j in range(own, own_end):
        if not _is_left_out(r, ids[j]):
            starts[spaces], new_ids[spaces] = n, ids[j]
            spaces += uint64(1)
            n = _copy(s, r, j, n)
            if ids[j] != CONSTANT_NAMESPACE:
                for k in range(theirs, their_end):
                    if ids[k] == ids[j]:
                        if s.in_pieces == uint64(1):
                            starts[spaces], new_ids[spaces] = n, ids[j]
                            spaces += uint64(1)
                        n = _copy(s, r, k, n)
    a.own = spaces - first_space
    for k in range(theirs, their_end):
        had = ids[k] == CONSTANT_NAMESPACE or _is_left_out(r, ids[k])
        for j in range(own, own_end):
            had |= ids[j] == ids[k]
        if not had:
            starts[spaces], new_ids[spaces] = n, ids[k]
            spaces += uint64(1)
            n = _copy(s, r, k, n)
    starts[spaces] = n
    a.length, a.namespace_count = n - first_feature, spaces - first_space
    return n, spaces


@inlined
def _point(r, a, row):
    """Point an action to the features of its line in the batch."""
    row_ptr, row_namespaces = row_ptr_of(r), row_namespaces_of(r)
    start, first = uint64(row_ptr[row]), uint64(row_namespaces[row])
    a.indices, a.values = r.indices + uint64(4) * start, r.values + uint64(4) * start
    a.length = uint64(row_ptr[row + uint64(1)]) - start
    a.namespaces, a.namespace_ids = r.namespace_ptr + uint64(8) * first, r.namespace_id + uint64(4) * first
    a.namespace_count = a.own = uint64(row_namespaces[row + uint64(1)]) - first


@inlined
def _show_actions(s, r, d, row, stop, shared):
    """Give the decision the actions of the lines from `row` to `stop`."""
    n, spaces = uint64(0), uint64(0)
    d.count = stop - row
    actions = actions_at(d.actions, d.count)
    for k in range(d.count):
        if shared >= 0 or r.ignored_count != uint64(0):
            n, spaces = _merge(s, r, actions[k], row + k, shared, n, spaces)
        else:
            _point(r, actions[k], row + k)
    d.importance, d.weights = r.importance + uint64(4) * row, uint64(0)
    return n, spaces


@inlined
def _read_costs(r, d, row):
    """Read the costs of all actions; returns whether each line has just one."""
    ends, complete = cost_ptr_of(r), True
    their_classes, their_costs = costs_of_batch(r)
    classes, costs = uint32s_at(d.classes, d.count), float32s_at(d.costs, d.count)
    for k in range(d.count):
        at = uint64(ends[row + k])
        given = uint64(ends[row + k + uint64(1)]) - at
        classes[k], costs[k] = np.uint32(0), UNLABELED
        if given > uint64(0):
            classes[k], costs[k] = their_classes[at], their_costs[at]
        complete &= given == uint64(1) and costs[k] != UNLABELED
    d.chosen = int64(-1)
    return complete


@inlined
def _read_lines(r, d, row):
    """Read the class of each line, 0 where it is not known; returns whether all are."""
    labels, classes, complete = float32s_at(r.labels, r.size), uint32s_at(d.classes, d.count), True
    for k in range(d.count):
        known = labels[row + k] != UNLABELED
        classes[k] = np.uint32(labels[row + k]) if known else np.uint32(0)
        complete &= known
    d.chosen, d.cost = int64(-1), labels[row]
    return complete


@inlined
def _read_numbers(r, d, row):
    """Read where the numbers of each line are; returns whether each line has some."""
    ends, complete = cost_ptr_of(r), True
    for k in range(d.count):
        complete &= ends[row + k] < ends[row + k + uint64(1)]
    d.action_ends, d.label_actions, d.label_count = r.cost_ptr + uint64(8) * row, r.cost_classes, uint64(ends[r.size])
    d.chosen, d.cost = int64(-1), np.float32(0)
    return complete


@inlined
def _read_choice(s, r, d, row):
    """Read cost and probability of the action that was chosen; returns whether there is just one.

    With classes, other costs may be given; the first one with a probability is that of the chosen class, if there is
    such a class.
    """
    ends, found = cost_ptr_of(r), uint64(0)
    classes, costs = costs_of_batch(r)
    d.chosen = int64(-1)
    for k in range(d.count):
        for at in range(uint64(ends[row + k]), uint64(ends[row + k + uint64(1)])):
            cost, probability = costs[at], _probabilities_of(s, r)[at]
            passed = s.kind == uint64(CLASSES) and (found > uint64(0) or not probability > np.float32(0))
            passed |= s.kind == uint64(CLASSES) and (classes[at] == 0 or classes[at] > r.classes)
            if cost != UNLABELED and not passed:
                found += uint64(1)
                uint32s_at(d.classes, d.count)[k] = classes[at]
                d.chosen, d.cost, d.probability = int64(k), cost, probability
    if found != uint64(1) or not d.probability > np.float32(0):
        d.chosen = int64(-1)
    return d.chosen >= 0


@helper
def _show_slots(s, r, d, row, stop):
    """Give the decision the actions and the slots of its lines; no slots if they are malformed.

    Returns whether there is a label.
    """
    last, ends = stop, cost_ptr_of(r)
    _, costs = costs_of_batch(r)
    while last > row and _is_marked(s, r, last - uint64(1), SLOT_ROW):
        last -= uint64(1)
    good = _is_marked(s, r, row, SHARED_ROW) and last < stop and stop - last < last - row
    for k in range(row + uint64(1), last):
        good = good and not _is_marked(s, r, k, SLOT_ROW) and not _is_marked(s, r, k, SHARED_ROW)
    if not good:
        d.count, d.slot_count = uint64(0), uint64(0)
        return False
    n, spaces = _show_actions(s, r, d, row + uint64(1), last, int64(row))
    d.slot_count = stop - last
    d.slots = d.actions + ACTION_BYTES * d.count
    slots, labeled = actions_at(d.slots, d.slot_count), False
    for k in range(d.slot_count):
        n, spaces = _merge(s, r, slots[k], last + k, int64(-1), n, spaces)
        for at in range(uint64(ends[last + k]), uint64(ends[last + k + uint64(1)])):
            labeled |= costs[at] != UNLABELED
    d.action_ends, d.slot_ends = r.cost_ptr + uint64(8) * (row + uint64(1)), r.cost_ptr + uint64(8) * last
    d.label_actions, d.label_costs, d.label_probabilities = r.cost_classes, r.costs, s.probabilities
    d.label_count, d.slate_cost = uint64(ends[r.size]), costs[uint64(ends[row])]
    d.width, d.chosen = r.classes, int64(-1)
    d.ranked, d.values = s.ranked + uint64(4) * last * r.classes, r.scores + uint64(4) * last * r.classes
    return labeled


@inlined
def _show_class(r, d, e, row):
    """Make the example the single action of a class's example, with all classes that its label names."""
    show_action(r.example, d, 0, False)
    ends = cost_ptr_of(r)
    first, last = uint64(ends[row]), uint64(ends[row + uint64(1)])
    e.cost_classes, e.costs = r.cost_classes + uint64(4) * first, r.costs + uint64(4) * first
    e.cost_count = last - first


@inlined
def _write_outputs(s, r, d, e, row, stop):
    """Write the outputs of a decision; a shared line has no prediction."""
    predictions, raw = float32s_at(r.predictions, r.size), float32s_at(r.raw, r.size)
    losses, places = float32s_at(r.losses, r.size), uint32s_at(s.ranked, r.size)
    first = stop - d.count
    if s.kind == uint64(CLASSES):
        ranked, values = uint32s_at(d.ranked, r.classes), float32s_at(d.values, r.classes)
        scores, places = float32s_at(r.scores, r.size * r.classes), uint32s_at(s.ranked, r.size * r.classes)
        for k in range(r.classes):
            places[row * r.classes + k] = ranked[k]
            scores[row * r.classes + uint64(ranked[k])] = values[k]
        predictions[row], raw[row], losses[row] = np.float32(ranked[0]) + np.float32(1), e.raw, e.loss
        return
    if s.kind == uint64(SLOTS):
        for k in range(row, stop):
            predictions[k] = raw[k] = np.float32(np.nan)
            losses[k] = np.float32(0)
        losses[row] = e.loss
        return
    ranked, values = ranked_of(d), values_of(d)
    predictions[row] = raw[row] = np.float32(np.nan)
    for k in range(d.count):
        places[first + k], predictions[first + uint64(ranked[k])] = ranked[k], values[k]
        own = d.has_raw == uint64(1)
        raw[first + k] = float32s_at(d.raw, d.count)[k] if own else e.raw
        losses[first + k] = np.float32(0)
    losses[row] = e.loss


@entry("int64(uint64, int64)")
def drive_decisions(decisions, start):
    """Run the decisions of a batch through the chain, from the one on that begins at row `start`.

    Args:
        decisions: address of a DECISIONS record; the RUN record it names is read as `drive` reads it, but counts
            decisions in place of examples.
        start: row of the first line of a decision.

    Returns:
        The row of the next decision.
    """
    s = decisions_of(decisions)
    r, d = run_of(s.run), decision_at(s.decision)
    top, example, learning, row = r.top, r.example, r.learning != 0, uint64(start)
    e, layer = example_of(example), layer_of(top)
    shared, counted = shared_of(e.shared), tally_of(r.tally)
    importance, group = float32s_at(r.importance, r.size), int64s_at(r.group, r.size)
    e.score_count, e.scores, e.decision = uint64(0), uint64(0), s.decision
    while row < r.size:
        stop = _end_of(s, r, row)
        if s.kind == uint64(SLOTS):
            labeled = _show_slots(s, r, d, row, stop)
        else:
            has_shared = _is_marked(s, r, row, SHARED_ROW)
            _show_actions(s, r, d, row + uint64(has_shared), stop, int64(row) if has_shared else int64(-1))
            first = row + uint64(has_shared)
            if s.kind >= uint64(LINES):
                labeled = _read_lines(r, d, first) if s.kind == uint64(LINES) else _read_numbers(r, d, first)
            else:
                labeled = _read_costs(r, d, first) if s.kind == uint64(COSTS) else _read_choice(s, r, d, first)
        labeled = labeled and (d.count > uint64(0) or s.as_vw == uint64(1))  # VW counts a shared line alone
        if s.kind == uint64(CLASSES):
            _show_class(r, d, e, row)
        d.row, e.base, e.label = row, np.float32(0), d.cost if labeled else UNLABELED
        e.importance = importance[row] if s.kind < uint64(LINES) else np.float32(1)
        e.group, e.last, e.number = group[row], uint64(1), shared.examples
        e.line += uint64(1)
        e.loss, e.query, e.raw, e.features = 0.0, np.float32(-1), np.float32(0), uint64(0)
        r.counter += 1
        held_out = learning and ((r.period > 0 and r.counter % r.period == 0) or (r.after > 0 and r.counter > r.after))
        weight, d.has_raw = e.importance, uint64(0)
        if d.count > uint64(0):
            learns = learning and labeled and weight > 0 and (s.as_vw == uint64(1) or not held_out)
            call(layer.learn if learns else layer.predict, top, example, e.label, weight, uint64(0))
            if s.as_vw == uint64(1) and s.kind == uint64(COSTS):
                if float32s_at(d.costs, d.count)[ranked_of(d)[0]] == UNLABELED:
                    e.loss = np.float64(UNLABELED)
        _write_outputs(s, r, d, e, row, stop)
        held_out = held_out and (s.as_vw == uint64(0) or s.kind != uint64(COSTS))
        if s.kind != uint64(COSTS) or not labeled:  # VW's clock stands still while all costs are known
            shared.time += e.importance
        tally(e, shared, counted, labeled, held_out)
        row = stop
        if counted.weighted_labeled + counted.weighted_unlabeled >= r.dump_at and not (held_out and labeled):
            break
    return int64(row)


_OF_ACTIONS = (("classes", "u4"), ("costs", "f4"), ("ranked", "u4"), ("values", "f4"), ("raw", "f4"))


class DecisionDriver:
    """State that an engine needs to run decisions.

    Args:
        run: the engine's RUN record.
        kind: COSTS, CHOICE, CLASSES, SLOTS, LINES or NUMBERS.
        in_pieces: a layer joins the pieces of namespaces that an action and the shared line both have.
    """

    def __init__(self, run: NDArray[Any], kind: int, in_pieces: bool) -> None:
        self._decision = np.zeros(1, DECISION)
        self._record = np.zeros(1, DECISIONS)
        self._run = run
        self._decision["in_line"] = 1
        self._record["run"], self._record["decision"] = run.ctypes.data, self._decision.ctypes.data
        self._record["kind"], self._record["in_pieces"] = kind, in_pieces
        self._actions = np.zeros(0, ACTION)
        self._room: dict[str, NDArray[Any]] = {}
        self._living: tuple[NDArray[Any], ...] = ()  # arrays of the batch that kernels see

    def count_as_vw(self) -> None:
        """Learn decisions that are held out, too, and let a cost that is not known be 3.4e38, as VW does."""
        self._record["as_vw"] = 1

    @property
    def address(self) -> int:
        """Address of the DECISIONS record."""
        return int(self._record.ctypes.data)

    def prepare(self, batch: Batch, ranked: NDArray[np.uint32], classes: int) -> None:
        """Set the driver up for a batch.

        Args:
            batch: the decisions.
            ranked: where their actions go, the best first.
            classes: number of actions of each, if not given by the batch.

        Raises:
            DataError: a batch without a probability for each cost.
        """
        ends = ends_of_groups(batch)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        lines = ends - starts
        features, spaces = (pointers[ends] - pointers[starts] for pointers in (batch.row_ptr, batch.row_namespaces))
        first_features, first_spaces = (
            pointers[starts + 1] - pointers[starts] for pointers in (batch.row_ptr, batch.row_namespaces)
        )
        self.make_room(
            max(classes, int(lines.max(initial=0))),
            int((features + lines * first_features).max(initial=0)),
            int((spaces + lines * first_spaces).max(initial=0)),
        )
        costs = batch.cost_ptr if len(batch.cost_ptr) else np.zeros(len(batch) + 1, np.int64)
        given = np.zeros_like(batch.costs) if self._record["kind"] == NUMBERS else batch.probabilities
        if len(given) != len(batch.costs):
            got = f"got {len(batch.costs)} costs and {len(given)} probabilities"
            raise DataError(f"{got}, wanted as many")
        self._living = np.ascontiguousarray(costs), np.ascontiguousarray(given, np.float32)
        self._run["cost_ptr"], self._record["probabilities"] = (array.ctypes.data for array in self._living)
        self._record["ranked"] = ranked.ctypes.data

    def apart(self, run: NDArray[Any]) -> "DecisionDriver":
        """Another driver that runs decisions as this one does, for another RUN record."""
        other = DecisionDriver(run, int(self._record["kind"][0]), bool(self._record["in_pieces"][0]))
        other._record["as_vw"] = self._record["as_vw"]
        return other

    def point(self, probabilities: NDArray[np.float32], ranked: NDArray[np.uint32]) -> None:
        """Set the addresses of a batch's probabilities and of its ranked actions; both arrays must stay in place."""
        self._record["probabilities"], self._record["ranked"] = probabilities.ctypes.data, ranked.ctypes.data

    def make_room(self, actions: int, features: int, spaces: int) -> None:
        """Make room for decisions of so many actions, with so many features and namespaces together."""
        if len(self._actions) < actions:
            self._actions = np.zeros(2 * actions, ACTION)
            self._decision["actions"] = self._actions.ctypes.data
            for name, kind in _OF_ACTIONS:
                self._allocate(self._decision, name, 2 * actions, kind)
        if len(self._room.get("indices", ())) < features:
            self._allocate(self._record, "indices", 2 * features, "u4")
            self._allocate(self._record, "values", 2 * features, "f4", "feature values")
            self._record["features"] = 2 * features
        if len(self._room.get("ids", ())) < spaces + 1:
            self._allocate(self._record, "starts", 2 * spaces + 2, "i8")
            self._allocate(self._record, "ids", 2 * spaces + 2, "u4")
            self._record["spaces"] = 2 * spaces + 2

    def _allocate(self, record: NDArray[Any], field: str, length: int, kind: str, name: str = "") -> None:
        array = self._room[name or field] = np.zeros(length, kind)
        record[field] = array.ctypes.data
