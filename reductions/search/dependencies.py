"""Dependency trees: each line of a block, a word, gets its head and the label of the arc to it, by transitions.

A label is the line of the head, from 1 on and 0 for the root, and the label of the arc: `3,2`.

Sources: K.-W. Chang, H. He, H. Daumé III and J. Langford, "Learning to search for dependencies", arXiv:1503.05615,
2015; VW 9.11.9, `--search_task dep_parser`; of the transitions see `hutch.reductions.search.transitions`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import uint32, uint64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Labels
from hutch.core.errors import DataError
from hutch.core.kernel.abi import float32s_at, int64s_at, kernel, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import (
    ROLL_OUT,
    TEST,
    allow,
    ask,
    condition_on_range,
    declare,
    put,
    search_of,
)
from hutch.reductions.search.step_features import LETTERS, add_products, make_features
from hutch.reductions.search.transitions import (
    ARC_EAGER,
    ARC_HYBRID,
    COLUMNS,
    HEADS,
    LABELS,
    LEFT,
    PARSE,
    REDUCE,
    RIGHT,
    RIGHT_HEADS,
    RIGHT_LABELS,
    SHIFT,
    begin_tree,
    column,
    find_valid,
    is_done,
    is_valid,
    move,
    parse_of,
    price_transitions,
    right_transitions,
    top_of,
)

_0, _1, _P = np.float32(0), np.float32(1), ord("p")
_SYSTEMS = {"arc_hybrid": ARC_HYBRID, "arc_eager": ARC_EAGER}
_NAMES = ("shape", *(f"word {k}" for k in range(1, len(LETTERS))))


class SearchDependenciesParameters(SearchParameters):
    """Parameters of `search_dependencies`.

    Attributes:
        classes: number of classes of the layer below: at least 3, or 4 with `arc_eager`, and as many as there are
            labels of arcs; with `one_model` twice as many and 1, or 2.
        labels: of arcs, counted from 1; 0: as many as the classes have room for.
        root: the label of the arc to the root; 0: it is none of them, and with `arc_hybrid` several words may have it.
        transitions: the system by which a tree is built.
        one_model: choose a transition together with a label; else each transition that makes an arc has a model that
            chooses its label.
        cost_to_go: the cost of a choice is the number of arcs that are out of reach after it, for `rollout: none`.
        packed: a label is one number, 256 times the label of the arc plus the head plus 1.
        as_vw: the last word of most sentences gets no head, and costs of labels are learned under the names of
            transitions, as in Vowpal Wabbit 9.11.9.
    """

    labels: Annotated[int, Within(ge=0, le=1 << 15)] = 0
    root: Annotated[int, Within(ge=0, le=1 << 15)] = 1
    transitions: Literal["arc_hybrid", "arc_eager"] = "arc_hybrid"
    one_model: bool = False
    cost_to_go: bool = False
    packed: bool = False
    as_vw: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = self.count_labels()
        if labels < 1 or self.classes < self.needed(labels):
            raise ValueError(f"classes: got {self.classes}, wanted at least {self.needed(max(labels, 1))}")
        if self.root > labels and not self.as_vw:
            raise ValueError(f"root: got {self.root}, wanted at most {labels}, the labels of arcs")
        if self.one_model and labels == self.root == 1:
            raise ValueError("root: got 1, wanted 0 or more labels: with one_model no other arc has the root's")

    def needed(self, labels: int) -> int:
        """Classes needed for so many labels of arcs."""
        transitions = 4 if self.transitions == "arc_eager" else 3
        return 2 * labels + transitions - 2 if self.one_model else max(labels, transitions)

    def count_labels(self) -> int:
        """Number of the labels of arcs."""
        room = (self.classes - self.needed(0)) // 2 if self.one_model else self.classes
        return self.labels or room


@helper
def _read_tree(p, d):
    """Read the heads and labels of the words of a block; returns whether there is memory."""
    n = d.count
    p.table, p.words = reserve(p.room, uint64(4 * COLUMNS) * (n + uint64(2))), n
    if p.table == uint64(0):
        return False
    p.end = n if p.as_vw == uint64(1) else n + uint64(1)
    heads, labels = column(p, RIGHT_HEADS), column(p, RIGHT_LABELS)
    ends, given = int64s_at(d.action_ends, n + uint64(1)), uint32s_at(d.label_actions, d.label_count)
    heads[0] = labels[0] = heads[n + uint64(1)] = labels[n + uint64(1)] = uint32(0)
    for k in range(n):
        at, count = uint64(ends[k]), ends[k + uint64(1)] - ends[k]
        head, label = uint32(0), uint32(p.root)
        if count > 0 and p.packed == uint64(1):
            head, label = uint32((given[at] & uint32(255)) - uint32(1)), uint32(given[at] >> uint32(8))
        elif count > 0:
            head = given[at]
            label = given[at + uint64(1)] if count > 1 else label
        heads[k + uint64(1)], labels[k + uint64(1)] = head, label
    return True


@helper
def _begin_question(s, peeks):
    s.peeks = uint64(peeks)
    s.allowed_count = s.oracle_count = s.on_count = uint64(0)


@helper
def _offer(s, action, cost):
    """Let there be an action, with its cost."""
    float32s_at(s.prices, s.room)[s.allowed_count] = cost
    allow(s, action)


@helper
def _is_right_one(s, action):
    uint32s_at(s.oracles, s.room)[s.oracle_count] = uint32(action)
    s.oracle_count += uint64(1)


@helper
def _offer_transitions(s, p, costs, right):
    """Let the transitions that there are be actions."""
    for k in range(SHIFT, REDUCE + 1):
        if is_valid(p, k):
            _offer(s, k, costs[k])
        if (right >> uint64(k)) & uint64(1) == uint64(1):
            _is_right_one(s, k)


@helper
def _offer_arcs(s, p, costs, right, left_label, right_label):
    """Let a transition with a label be an action each, in Vowpal Wabbit's order."""
    reduce, labels = uint64(2) + uint64(2) * p.labels, p.labels
    if is_valid(p, SHIFT):
        _offer(s, SHIFT, costs[SHIFT])
    if is_valid(p, REDUCE) and s.priced == uint64(0):
        _offer(s, reduce, costs[REDUCE])
    for k in range(RIGHT, LEFT + 1):
        if is_valid(p, k):
            eager = p.system == uint64(ARC_EAGER) and (k == LEFT or s.priced == uint64(1))
            wanted = left_label if k == LEFT else right_label
            for label in range(uint64(1), labels + uint64(1)):
                if eager or label != p.root:
                    _offer(
                        s, uint64(1) + label + uint64(k - RIGHT) * labels, costs[k] + (_0 if label == wanted else _1)
                    )
    if is_valid(p, REDUCE) and s.priced == uint64(1):
        _offer(s, reduce, costs[REDUCE])
    for k in (SHIFT, REDUCE, RIGHT, LEFT):
        if (right >> uint64(k)) & uint64(1) == uint64(1):
            arc = uint64(1) + (right_label if k == RIGHT else left_label + labels)
            _is_right_one(s, uint64(SHIFT) if k == SHIFT else (reduce if k == REDUCE else arc))


@helper
def _ask_next(layer, example, offset, learner):
    """Ask with the next tag, and with the actions before it."""
    s = search_of(layer)
    s.tag, s.learner = s.tag + uint64(1), uint64(learner)
    condition_on_range(s, s.tag - uint64(1), s.history, _P)
    return uint64(ask(layer, example, offset))


@helper
def _ask_label(layer, example, offset, transition, right):
    """Ask for the label of an arc."""
    s = search_of(layer)
    p = parse_of(s.own)
    labels = p.labels
    _begin_question(s, 0)
    if s.priced == uint64(1):
        for label in range(uint64(1), labels + uint64(1)):
            _offer(s, label, _0 if label == right else _1)
    else:
        for label in range(uint64(1), labels + uint64(1) if labels < s.actions and p.as_vw == uint64(0) else uint64(0)):
            allow(s, label)
        _is_right_one(s, right)
    return _ask_next(layer, example, offset, transition - 1)


@helper
def _valid(p, transition):
    """A transition, or the first that there is, if a layer below has chosen one that there is not."""
    for k in range(SHIFT, REDUCE + 1):
        if not is_valid(p, transition) and is_valid(p, k):
            transition = uint64(k)
    return transition


@helper
def _choose(layer, example, offset):
    """Ask for the next transition and its label."""
    s = search_of(layer)
    p = parse_of(s.own)
    find_valid(p)
    costs, right = float32s_at(p.costs, uint64(5)), uint64(0)
    if s.phase != uint64(TEST) and (s.phase != uint64(ROLL_OUT) or s.step > s.learn_at):
        right = right_transitions(p, price_transitions(p))
    labels = column(p, RIGHT_LABELS)
    left_label = uint64(labels[top_of(p)])
    right_label = left_label
    if p.system == uint64(ARC_EAGER):
        right_label = uint64(labels[p.next]) if p.next <= p.words else p.root
    _begin_question(s, 1)
    if p.one_model == uint64(0):
        _offer_transitions(s, p, costs, right)
        transition = _valid(p, _ask_next(layer, example, offset, 0))
        if transition == uint64(SHIFT) or transition == uint64(REDUCE):
            s.tag += uint64(1)  # that of the label which it has not
            return transition, uint64(0)
        label = _ask_label(layer, example, offset, transition, left_label if transition == LEFT else right_label)
        return transition, label
    _offer_arcs(s, p, costs, right, left_label, right_label)
    action = max(_ask_next(layer, example, offset, 0), uint64(1))  # classes below may begin at 0
    transition = uint64(SHIFT)
    if action == uint64(2) + uint64(2) * p.labels:
        transition = uint64(REDUCE)
    elif action > uint64(SHIFT):
        transition = uint64(RIGHT) if action - uint64(1) <= p.labels else uint64(LEFT)
    return _valid(p, transition), (action - uint64(1)) - (p.labels if transition == uint64(LEFT) else uint64(0))


@kernel
def parse_sentence(layer, example, label, importance, offset):
    """Build the tree of a block by transitions."""
    s, d = search_of(layer), decision_of(example)
    p = parse_of(s.own)
    if not _read_tree(p, d):
        return _0
    begin_tree(p)
    s.tag = uint64(0)
    while not is_done(p):
        transition, arc = _choose(layer, example, offset)
        lost = move(p, transition, arc)
        if lost >= _0:
            declare(s, lost)
    heads, labels = column(p, HEADS), column(p, LABELS)
    if p.system == uint64(ARC_HYBRID):
        last = top_of(p)
        heads[last], labels[last] = uint32(0), uint32(p.root)
        declare(s, _0 if column(p, RIGHT_HEADS)[last] == 0 else _1)
    if s.phase == uint64(TEST):
        d.has_raw = uint64(1)
        for i in range(s.count):
            put(s, example, i, heads[i + uint64(1)])
            float32s_at(d.raw, d.count)[i] = np.float32(labels[i + uint64(1)])
    return _0


class SearchDependencies(Search):
    """Builds the dependency tree of the lines of a block."""

    name: ClassVar[str] = "search_dependencies"
    Parameters: ClassVar[type[SearchDependenciesParameters]] = SearchDependenciesParameters
    takes = Labels.NUMBERS_OF_LINES
    hamming = False
    keeps: ClassVar[Mapping[str, Limits]] = {**Search.keeps, "stuck": Limits(0, 31)}
    known_failures: ClassVar[Mapping[str, str]] = {
        name: why for name, why in Search.known_failures.items() if name != "zero_importance"
    }  # heads stay what they were where so little is learned
    task = parse_sentence

    def __init__(self, parameters: Any, context: Context) -> None:
        p, mode = parameters, context.parser.namespaces
        names = LETTERS if mode == "letter" else _NAMES
        self._labels = p.count_labels()
        own = Record(
            PARSE,
            room=Buffer(),
            products=Buffer(),
            costs=np.zeros(5, np.float32),
            spaces=np.array([namespace_id(name, mode) for name in names], np.uint32),
            product_space=namespace_id("products", mode),
            system=_SYSTEMS[p.transitions],
            labels=self._labels,
            **{name: getattr(p, name) for name in ("root", "one_model", "as_vw", "packed")},
        )
        misnames = p.as_vw and not (p.one_model or p.cost_to_go)
        super().__init__(
            p, context, own=own, make=make_features, multiply=add_products, priced=p.cost_to_go, misnames=misnames
        )
        self.state["caches"] = 0

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """One for transitions, one for the labels of each kind of arc."""
        return 1 if parameters.one_model else 3

    @property
    def answers(self) -> Answers:
        """As many classes as there are labels of arcs."""
        return replace(super().answers, classes=self._labels)

    def arcs(self, predictions: NDArray[np.float32], raw: NDArray[np.float32]) -> NDArray[np.int64]:
        """Heads, which are predicted, and labels, which are the raw scores, int64 (lines, 2)."""
        return np.stack([predictions, raw], 1).astype(np.int64)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse labels of arcs that there are not.

        Raises:
            DataError: one of them.
        """
        super().begin_batch(batch, learn)
        ends, numbers = batch.cost_ptr, batch.cost_classes
        packed = int(self.parameters.packed)
        found = numbers[ends[:-1][np.diff(ends) > 1 - packed] + 1 - packed] >> np.uint32(8 * packed)
        for label in found[(found < 1) | (found > self._labels)]:
            raise DataError(f"label: got an arc with the label {label}, wanted 1 to {self._labels}")
        if self.parameters.root == 0 and (np.diff(ends) == 1).any() and not packed:
            raise DataError(
                "label: got a head alone, wanted the label of its arc, too: with root 0 there is none to take"
            )
