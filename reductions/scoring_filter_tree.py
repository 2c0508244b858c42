"""Multiclass by scores that are trained in a tournament: one sub-model per class, the greatest score wins.

A match is decided by the difference of its players' scores, so the champion of any tournament is the class of the
greatest score: the tree decides only which pairs of classes are trained. A match learns that the score of the cheaper
player should exceed the other's, the loss being that of the difference of the two scores. Its gradient flow moves both
scores. The dyadic learner follows it exactly: the difference of two dyadic models is one. Of any other learner of
scalars it is followed in three importance-aware steps, half of one score, the other, and the other half of the first
(Strang's splitting), each of which sees the other score as its base.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.first_class import detect, smallest_label
from hutch.core.chain.reduction import Kernels, Labels
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    importance_to_next,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.reductions.filter_tree import (
    FilterTree,
    FilterTreeParameters,
    detect_from_costs,
    known_class,
    listed_costs,
    regret,
    tree_of,
)

_0, _1, _HALF, _INFINITE = np.float32(0), np.float32(1), np.float32(0.5), np.float32(np.inf)


@inlined
def _pair(layer, offset, first, second):
    """The offset of a pair of sub-models; the second's prediction is subtracted."""
    return submodel(layer, offset, first) | ((submodel(layer, offset, second) + uint64(1)) << uint64(32))


@helper
def _rescore(layer, example, k, offset):
    """Recompute one score."""
    tree, e = tree_of(layer), example_of(example)
    predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, k))
    float64s_at(tree.scores, uint64(tree.classes))[k] = np.float64(e.raw)


@helper
def _score_all(layer, example, offset):
    """Compute all scores."""
    tree, e = tree_of(layer), example_of(example)
    scores = float64s_at(tree.scores, uint64(tree.classes))
    for k in range(tree.classes):
        _rescore(layer, example, k, offset)
    if e.score_count == uint64(tree.classes):
        out = float32s_at(e.scores, e.score_count)
        for k in range(tree.classes):
            out[k] = np.float32(scores[k])


@helper
def _best(tree, costs):
    """The class, from 0, of the greatest score among those of finite cost; the first of equals."""
    scores, best = float64s_at(tree.scores, uint64(tree.classes)), -1
    for k in range(tree.classes):
        if costs[k] < _INFINITE and (best < 0 or scores[k] > scores[best]):
            best = k
    return max(best, 0)


@helper
def _step(layer, example, k, opponent, direction, importance, offset):
    """Move the score of class k against the opponent's, which stays; keeps the score up to date."""
    tree, e = tree_of(layer), example_of(example)
    e.base = np.float32(-float64s_at(tree.scores, uint64(tree.classes))[opponent])
    learn_next(layer, example, direction, importance, submodel(layer, offset, k))
    e.base = _0
    _rescore(layer, example, k, offset)


@helper
def _match(layer, example, winner, loser, importance, offset):
    """Learn that the first class should beat the second; of split steps, the first is the other's each second time."""
    e = example_of(example)
    if tree_of(layer).differences == 1:
        learn_next(layer, example, _1, importance, _pair(layer, offset, winner, loser))
        if e.updated != e.raw:
            _rescore(layer, example, winner, offset)
            _rescore(layer, example, loser, offset)
    elif e.number & uint64(1) == uint64(0):
        _step(layer, example, winner, loser, _1, _HALF * importance, offset)
        _step(layer, example, loser, winner, -_1, importance, offset)
        _step(layer, example, winner, loser, _1, _HALF * importance, offset)
    else:
        _step(layer, example, loser, winner, -_1, _HALF * importance, offset)
        _step(layer, example, winner, loser, _1, importance, offset)
        _step(layer, example, loser, winner, -_1, _HALF * importance, offset)


@helper
def _tournament(layer, example, costs, importance, offset):
    """Play all matches from the leaves up, learning each first."""
    tree = tree_of(layer)
    players, winners = (
        int64s_at(tree.matches, uint64(2 * (tree.classes - 1))),
        int64s_at(tree.winners, uint64(tree.classes - 1)),
    )
    scores = float64s_at(tree.scores, uint64(tree.classes))
    for match in range(tree.classes - 1):
        left, right = players[2 * match], players[2 * match + 1]
        left = left if left < tree.classes else winners[left - tree.classes]
        right = right if right < tree.classes else winners[right - tree.classes]
        if not (costs[left] < _INFINITE and costs[right] < _INFINITE):
            winners[match] = right if costs[right] < _INFINITE else left
            continue
        weight = importance * abs(costs[left] - costs[right])
        if weight > _0:
            cheaper, other = (left, right) if costs[left] < costs[right] else (right, left)
            _match(layer, example, cheaper, other, weight, offset)
        winners[match] = right if scores[right] > scores[left] else left


@helper
def _learn_from_costs(layer, example, costs, importance, offset):
    """Predict with all scores, then learn; returns the class, from 0."""
    tree, e = tree_of(layer), example_of(example)
    base = e.base
    e.base = _0
    _score_all(layer, example, offset)
    winner = _best(tree, costs)
    if importance > _0:
        _tournament(layer, example, costs, importance, offset)
    e.base = base
    return winner


@kernel
def predict(layer, example, label, importance, offset):
    """The class of the greatest score."""
    tree, e = tree_of(layer), example_of(example)
    costs = float32s_at(tree.costs, uint64(tree.classes))
    costs[:] = _0
    _score_all(layer, example, offset)
    e.raw = np.float32(_best(tree, costs) + smallest_label(tree))
    e.loss = np.float64(importance) if label != UNLABELED and label != e.raw else 0.0
    return e.raw


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn from the label, or from a soft one."""
    tree, e = tree_of(layer), example_of(example)
    costs = float32s_at(tree.costs, uint64(tree.classes))
    shown = smallest_label(tree)
    detect(tree, label)
    own = known_class(tree, label)
    for k in range(tree.classes):
        costs[k] = _0 if own == k else _1
    if e.targets != uint64(0):
        targets = float32s_at(e.targets, uint64(tree.classes))
        for k in range(tree.classes):
            costs[k] = _1 - targets[k]
    winner = _learn_from_costs(layer, example, costs, importance, offset)
    e.raw, e.loss = np.float32(winner + shown), np.float64(importance) if label != winner + shown else 0.0
    return e.raw


@kernel
def predict_costs(layer, example, label, importance, offset):
    """The class of the greatest score among those listed, or among all."""
    tree, e = tree_of(layer), example_of(example)
    least = listed_costs(tree, e)
    _score_all(layer, example, offset)
    winner = _best(tree, float32s_at(tree.costs, uint64(tree.classes)))
    e.raw, e.loss = np.float32(winner + smallest_label(tree)), regret(tree, winner, least, importance)
    return e.raw


@kernel
def learn_costs(layer, example, label, importance, offset):
    """Predict, then learn from costs."""
    tree, e = tree_of(layer), example_of(example)
    detect_from_costs(tree, e)
    least = listed_costs(tree, e)
    costs = float32s_at(tree.costs, uint64(tree.classes))
    winner = _learn_from_costs(layer, example, costs, importance if least < _INFINITE else _0, offset)
    e.raw, e.loss = np.float32(winner + smallest_label(tree)), regret(tree, winner, least, importance)
    return e.raw


@kernel
def importance_to(layer, example, label, importance, offset):
    """The least importance of a label that lifts another class to the best score.

    Both scores move. Where steps are split, with h and g to move either alone, it is taken for 1 / (1/h + 1/g): exact
    where they move at constant speed.
    """
    tree, e = tree_of(layer), example_of(example)
    scores, costs = float64s_at(tree.scores, uint64(tree.classes)), float32s_at(tree.costs, uint64(tree.classes))
    costs[:] = _0
    base, least = e.base, _INFINITE
    e.base = _0
    _score_all(layer, example, offset)
    best = _best(tree, costs)
    for k in range(tree.classes):
        if k == best:
            continue
        if tree.differences == 1:
            least = min(least, importance_to_next(layer, example, _1, tree.threshold, _pair(layer, offset, k, best)))
        else:
            e.base = np.float32(-scores[best])
            up = importance_to_next(layer, example, _1, tree.threshold, submodel(layer, offset, k))
            e.base = np.float32(-scores[k])
            down = importance_to_next(layer, example, -_1, tree.threshold, submodel(layer, offset, best))
            least = min(least, _0 if up * down == _0 else _1 / (_1 / up + _1 / down))
    e.base = base
    return least


class ScoringFilterTree(FilterTree):
    """Multiclass by one score per class, trained in a tournament."""

    name: ClassVar[str] = "scoring_filter_tree"
    kernels = Kernels(learn, predict, importance_to)

    @classmethod
    def width(cls, parameters: FilterTreeParameters) -> int:
        """One sub-model per class."""
        return parameters.classes

    @property
    def answers(self) -> Answers:
        """One score per class."""
        return replace(super().answers, score_count=self.parameters.classes)


class CostSensitiveScoringFilterTree(ScoringFilterTree):
    """A scoring filter tree for labels that give each class a cost.

    A match learns that the cheaper of its two players wins, with the difference of their costs as its weight.
    """

    name: ClassVar[str] = "cost_sensitive_scoring_filter_tree"
    takes: ClassVar[Labels | None] = Labels.COST_SENSITIVE
    inputs = Inputs()
    kernels = Kernels(learn_costs, predict_costs, importance_to)
