"""Multiclass by a filter tree: classes play a tournament, and each match is a binary problem with its own sub-model.

A match is learned only from examples whose class is one of its two players; a class that loses a match drops out, so
later matches learn from examples that earlier ones let through. `scoring_filter_tree` has one score per class instead.

A tree of n classes has n - 1 matches. Players 0 to n - 1 are the classes, player n + m is the winner of match m, and m
grows towards the root. With hard labels the importance of a match is that of the example; with costs it is the
difference of its players' costs.

Source: A. Beygelzimer, J. Langford and P. Ravikumar, "Error-correcting tournaments", ALT 2009.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.first_class import Detecting, FirstClass, detect, first_of, smallest_label
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    importance_to_next,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within

Shape = Literal["balanced", "chain"]


class FilterTreeParameters(Parameters):
    """Parameters of the filter trees.

    Attributes:
        classes: number of classes.
        first_class: the smallest label, 0 or 1; `detect`: labels count from 1 until a 0 comes before the largest does.
        shape: `balanced`, `chain` (class 1 against 2, the winner against 3, …), or the tree itself as nested pairs of
            classes: `[[1, 2], [[3, 4], 5]]`.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 20)]
    first_class: FirstClass = "detect"
    shape: Shape | list[Any] = "balanced"

    def __post_init__(self) -> None:
        matches(self.shape, self.classes)


def matches(shape: Shape | list[Any], classes: int) -> NDArray[np.int64]:
    """The players of each match.

    Args:
        shape: as the parameter.
        classes: number of classes.

    Returns:
        int64 (classes - 1, 2).

    Raises:
        ValueError: a tree that is not nested pairs of all classes.

    >>> matches("balanced", 5).tolist()
    [[0, 1], [2, 3], [5, 6], [7, 4]]
    >>> matches([[1, 3], 2], 3).tolist()
    [[0, 2], [3, 1]]
    """
    found: list[tuple[int, int]] = []

    def play(left: int, right: int) -> int:
        found.append((left, right))
        return classes + len(found) - 1

    if shape == "chain":
        winner = 0
        for player in range(1, classes):
            winner = play(winner, player)
    elif shape == "balanced":
        players = list(range(classes))
        while len(players) > 1:
            winners = [play(*players[i : i + 2]) for i in range(0, len(players) - 1, 2)]
            players = winners + players[2 * len(winners) :]
    else:
        leaves: list[int] = []

        def enter(node: Any) -> int:
            if isinstance(node, list) and len(node) == 2:
                return play(enter(node[0]), enter(node[1]))
            if isinstance(node, int) and not isinstance(node, bool):
                leaves.append(node)
                return node - 1
            raise ValueError(f"shape: got {node!r}, wanted a class or a pair of two trees")

        enter(shape)
        if sorted(leaves) != list(range(1, classes + 1)):
            raise ValueError(f"shape: got classes {leaves}, wanted each of 1 to {classes} once")
    return np.array(found, np.int64)


TREE = np.dtype(
    [
        ("classes", "i8"),
        ("matches", "u8"),  # address of int64[classes - 1, 2]
        ("parents", "u8"),  # address of int64[2 classes - 1]: the match a player plays, -1 for the champion
        ("exact_updates", "i8"),  # of the layer below
        ("differences", "i8"),  # of the layer below
        ("threshold", "f4"),  # of the layer below: the prediction at which a match is even
        ("unused", "f4"),
        ("winners", "u8"),  # address of int64[classes - 1]: scratch
        ("costs", "u8"),  # address of float32[classes]: scratch
        ("scores", "u8"),  # address of float64[classes]: scratch of the scoring tree
        ("first", "i8"),  # the smallest label, or 2 while that is undecided
    ]
)
tree_of = state_of(TREE)

_0, _1, _INFINITE = np.float32(0), np.float32(1), np.float32(np.inf)


@helper
def detect_from_costs(tree, e):
    """`detect` from the classes that costs name."""
    classes = uint32s_at(e.cost_classes, e.cost_count)
    for i in range(e.cost_count):
        detect(tree, np.float32(classes[i]))


@helper
def known_class(tree, label):
    """The class of a label, from 0; -1 if the label is not a class."""
    known = label == np.floor(label) and label != UNLABELED
    k = int64(label) - smallest_label(tree) if known and abs(label) < np.float32(1 << 24) else int64(-1)
    return k if 0 <= k < tree.classes else int64(-1)


@inlined
def _players(tree):
    return int64s_at(tree.matches, uint64(2 * (tree.classes - 1)))


@helper
def _score(layer, example, k, offset):
    """The raw prediction of sub-model k."""
    predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, k))
    return np.float64(example_of(example).raw)


@helper
def _descend(layer, example, offset):
    """The class, from 0, that wins when every match is decided by its own problem."""
    tree = tree_of(layer)
    players = _players(tree)
    player = 2 * tree.classes - 2
    while player >= tree.classes:
        match = player - tree.classes
        player = players[2 * match + (1 if _score(layer, example, match, offset) > 0.0 else 0)]
    return player


@helper
def _score_again(layer, example, k, offset):
    """The raw prediction of sub-model k, which has just learned."""
    if tree_of(layer).exact_updates == 1:
        return np.float64(example_of(example).updated)
    return _score(layer, example, k, offset)


@helper
def _tournament(layer, example, costs, offset, learning, importance):
    """Play all matches from the leaves up among the classes of finite cost; returns the champion, from 0.

    Learning, each match first learns that the cheaper of its players should win.
    """
    tree = tree_of(layer)
    players, winners = _players(tree), int64s_at(tree.winners, uint64(tree.classes - 1))
    for match in range(tree.classes - 1):
        left, right = players[2 * match], players[2 * match + 1]
        left = left if left < tree.classes else winners[left - tree.classes]
        right = right if right < tree.classes else winners[right - tree.classes]
        if not (costs[left] < _INFINITE and costs[right] < _INFINITE):
            winners[match] = right if costs[right] < _INFINITE else left
            continue
        weight = importance * abs(costs[left] - costs[right])
        if learning and weight > _0:
            cheaper = _1 if costs[right] < costs[left] else -_1
            learn_next(layer, example, cheaper, weight, submodel(layer, offset, match))
            score = _score_again(layer, example, match, offset)
        else:
            score = _score(layer, example, match, offset)
        winners[match] = right if score > 0.0 else left
    return winners[tree.classes - 2]


@helper
def listed_costs(tree, e):
    """Fill in the costs of all classes, infinite if not listed; returns the least, infinite if none is given."""
    costs = float32s_at(tree.costs, uint64(tree.classes))
    costs[:] = _INFINITE if e.cost_count > uint64(0) else _0
    classes, given = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    least = _INFINITE
    for i in range(e.cost_count):
        k = int64(classes[i]) - smallest_label(tree)
        if 0 <= k < tree.classes:
            known = given[i] != UNLABELED
            costs[k] = given[i] if known else _0
            least = min(least, given[i]) if known else least
    return least


@kernel
def predict(layer, example, label, importance, offset):
    """The class that wins, as its label."""
    e = example_of(example)
    winner = _descend(layer, example, offset)
    e.loss = np.float64(importance) if label != UNLABELED and label != winner + smallest_label(tree_of(layer)) else 0.0
    e.raw = np.float32(winner + smallest_label(tree_of(layer)))
    return e.raw


@helper
def _train(layer, example, player, importance, offset):
    """Learn the matches of a class, from its leaf up to the first that it loses."""
    tree = tree_of(layer)
    players, parents = _players(tree), int64s_at(tree.parents, uint64(2 * tree.classes - 1))
    match = parents[player]
    while match >= 0:
        right = players[2 * match + 1] == player
        learn_next(layer, example, _1 if right else -_1, importance, submodel(layer, offset, match))
        player = tree.classes + match
        following = parents[player]
        if following >= 0 and (_score_again(layer, example, match, offset) > 0.0) != right:
            return
        match = following


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn the matches of the label, or all of them from a soft label."""
    e, tree = example_of(example), tree_of(layer)
    shown = smallest_label(tree)
    detect(tree, label)
    k = known_class(tree, label) if e.targets == uint64(0) else int64(-1)
    winner = _descend(layer, example, offset)
    if k >= 0:
        _train(layer, example, k, importance, offset)
    if e.targets != uint64(0):
        targets, costs = float32s_at(e.targets, uint64(tree.classes)), float32s_at(tree.costs, uint64(tree.classes))
        for k in range(tree.classes):
            costs[k] = _1 - targets[k]
        _tournament(layer, example, costs, offset, True, importance)
    e.loss = np.float64(importance) if label != winner + shown else 0.0
    e.raw = np.float32(winner + shown)
    return e.raw


@helper
def regret(tree, winner, least, importance):
    """The loss: the cost of the class above the lowest cost, 0 if no cost is given."""
    costs = float32s_at(tree.costs, uint64(tree.classes))
    return np.float64(importance) * np.float64(costs[winner] - least) if least < _INFINITE else 0.0


@kernel
def predict_costs(layer, example, label, importance, offset):
    """The class that wins among those listed, or among all."""
    e, tree = example_of(example), tree_of(layer)
    least = listed_costs(tree, e)
    costs = float32s_at(tree.costs, uint64(tree.classes))
    listed = e.cost_count > uint64(0)
    winner = _tournament(layer, example, costs, offset, False, _0) if listed else _descend(layer, example, offset)
    e.loss, e.raw = regret(tree, winner, least, importance), np.float32(winner + smallest_label(tree))
    return e.raw


@kernel
def learn_costs(layer, example, label, importance, offset):
    """Predict, then learn every match with the difference of its players' costs."""
    e, tree = example_of(example), tree_of(layer)
    detect_from_costs(tree, e)
    least = listed_costs(tree, e)
    costs = float32s_at(tree.costs, uint64(tree.classes))
    winner = _tournament(layer, example, costs, offset, False, _0)
    if least < _INFINITE:
        _tournament(layer, example, costs, offset, True, importance)
    e.loss, e.raw = regret(tree, winner, least, importance), np.float32(winner + smallest_label(tree))
    return e.raw


@kernel
def importance_to(layer, example, label, importance, offset):
    """The least importance of a label that turns one of the matches on the predicted class's way."""
    tree = tree_of(layer)
    players = _players(tree)
    player, least = 2 * tree.classes - 2, _INFINITE
    while player >= tree.classes:
        match = player - tree.classes
        right = _score(layer, example, match, offset) > 0.0
        player = players[2 * match + (1 if right else 0)]
        turn = importance_to_next(layer, example, -_1 if right else _1, tree.threshold, submodel(layer, offset, match))
        least = min(least, turn)
    return least


class FilterTree(Detecting):
    """Multiclass by a tournament of binary problems."""

    name: ClassVar[str] = "filter_tree"
    Parameters: ClassVar[type[Parameters]] = FilterTreeParameters
    takes: ClassVar[Labels | None] = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(soft_labels=True)
    kernels = Kernels(learn, predict, importance_to)

    def __init__(self, parameters: FilterTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        n = parameters.classes
        self._matches = matches(parameters.shape, n)
        self._parents = np.full(2 * n - 1, -1, np.int64)
        for match, players in enumerate(self._matches):
            self._parents[players] = match
        self.state = Record(
            TREE,
            classes=n,
            matches=self._matches,
            parents=self._parents,
            exact_updates=context.below is not None and context.below.shortcuts.exact_updates,
            differences=context.below is not None and context.below.shortcuts.differences,
            threshold=self.answers.decision_threshold,
            winners=np.zeros(n - 1, np.int64),
            costs=np.zeros(n, np.float32),
            scores=np.zeros(n),
            first=first_of(parameters.first_class),
        )

    @classmethod
    def width(cls, parameters: FilterTreeParameters) -> int:
        """One sub-model per match."""
        return parameters.classes - 1

    @property
    def answers(self) -> Answers:
        """A tree of problems has no score per class."""
        return replace(super().answers, score_count=0)


class CostSensitiveFilterTree(FilterTree):
    """A filter tree for labels that give each class a cost.

    A match learns that the cheaper of its two players wins, with the difference of their costs as its weight.
    """

    name: ClassVar[str] = "cost_sensitive_filter_tree"
    takes: ClassVar[Labels | None] = Labels.COST_SENSITIVE
    inputs = Inputs()
    kernels = Kernels(learn_costs, predict_costs, importance_to)
