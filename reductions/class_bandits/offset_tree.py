"""Logged classes by a tree of choices between two: each node learns which half of its classes has the cheaper one.

The classes are the leaves of a binary tree of least depth. From the leaf of the logged class up, each node learns the
cost as that of a choice of one of its two sides. The importance of its estimates of costs is the probability that the
node below it then gives to the side that led there. The probability of a class is the product along its path.

Source: VW 9.11.9, `--ot`; A. Beygelzimer, J. Langford, "The offset tree for learning with partial labels", KDD 2009.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint32, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decision import DECISION, decision_at, decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.probabilities import sort_by_probability
from hutch.reductions.class_bandits.bandit_per_class import chosen_class, label_of, put_label

_0, _1 = np.float32(0), np.float32(1)
LEFT, RIGHT, PARENT = range(3)


class OffsetTreeParameters(Parameters):
    """Parameters of `offset_tree`.

    Attributes:
        classes: number of classes, counted from 1.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(4)]


STATE = np.dtype(
    [
        ("classes", "u8"),
        ("nodes", "u8"),  # address of int64[2 classes - 1, 3]: left, right and parent; leaves come first
        ("chances", "u8"),  # address of float32[2 classes - 1]
        ("none", "u8"),  # address of float32[classes]: zeros
        ("decision", "u8"),  # address of the DECISION of a node
        ("cost", "u8"),  # address of float32[1]: that of the side that was chosen
        ("weight", "u8"),  # address of float32[1]
    ]
)
own_of = state_of(STATE)


def tree_of(classes: int) -> NDArray[np.int64]:
    """Left child, right child and parent of each node, -1 where there is none; the leaves come first.

    Args:
        classes: number of leaves.

    >>> tree_of(3).tolist()
    [[-1, -1, 3], [-1, -1, 3], [-1, -1, 4], [0, 1, 4], [3, 2, -1]]
    """
    found: list[list[int]] = [[-1, -1, -1] for _ in range(classes)]
    level: Sequence[int] = range(classes)
    while len(level) > 1:
        above = []
        for left, right in zip(level[::2], level[1::2], strict=False):
            found[left][PARENT] = found[right][PARENT] = len(found)
            above.append(len(found))
            found.append([left, right, -1])
        level = [*above, *level[len(above) * 2 :]]
    return np.array(found, np.int64)


@helper
def _begin(state, e):
    """Let the example be a choice between two sides; returns what it was."""
    before = e.decision, label_of(e)
    e.decision, e.cost_count = state.decision, uint64(0)
    return before


@helper
def _left_of(state, d):
    """The probability of the left side in the outcome of a node, and that of the right one."""
    ranked, values = uint32s_at(d.ranked, uint64(2)), float32s_at(d.values, uint64(2))
    return (values[0], values[1]) if ranked[0] == 0 else (values[1], values[0])


@helper
def _distribute(layer, example, importance, offset):
    """Write the probability of each node."""
    state, e = own_of(layer), example_of(example)
    count = uint64(2) * state.classes - uint64(1)
    nodes, chances = int64s_at(state.nodes, uint64(3) * count), float32s_at(state.chances, count)
    d, features = decision_at(state.decision), uint64(0)
    before = _begin(state, e)
    d.chosen = int64(-1)
    chances[count - uint64(1)] = _1
    for k in range(int64(count) - 1, int64(state.classes) - 1, -1):
        predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, uint64(k) - state.classes))
        features += e.features
        left, right = _left_of(state, d)
        chances[nodes[3 * k + LEFT]], chances[nodes[3 * k + RIGHT]] = left * chances[k], right * chances[k]
    e.decision = before[0]
    put_label(e, before[1])


@helper
def _teach(layer, example, importance, offset, chosen, cost, probability):
    """Let the nodes from the logged class up learn."""
    state, e = own_of(layer), example_of(example)
    nodes, d = int64s_at(state.nodes, uint64(6) * state.classes - uint64(3)), decision_at(state.decision)
    weight, below = float32s_at(state.weight, uint64(1)), int64(chosen) - 1
    before = _begin(state, e)
    weight[0] = importance
    float32s_at(state.cost, uint64(1))[0] = cost
    k = nodes[3 * below + PARENT]
    while k >= 0:
        is_left = nodes[3 * k + LEFT] == below
        at = submodel(layer, offset, uint64(k) - state.classes)
        uint32s_at(d.classes, uint64(1))[0] = uint32(1) if is_left else uint32(2)
        d.chosen, d.cost, d.probability, d.weights = int64(0), cost, probability, state.weight
        put_label(e, (d.classes, state.cost, uint64(1)))
        learn_next(layer, example, cost, importance, at)
        d.chosen, d.weights, e.cost_count = int64(-1), uint64(0), uint64(0)
        predict_next(layer, example, UNLABELED, importance, at)
        left, right = _left_of(state, d)
        weight[0] = importance * (left if is_left else right)
        below, k = k, nodes[3 * k + PARENT]
    e.decision = before[0]
    put_label(e, before[1])


@helper
def _run(layer, example, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    _distribute(layer, example, importance, offset)
    chances, none = float32s_at(state.chances, state.classes), float32s_at(state.none, state.classes)
    ranked, values = uint32s_at(d.ranked, state.classes), float32s_at(d.values, state.classes)
    chosen, outcome = chosen_class(d, state.classes), outcome_of(e)
    for j in range(state.classes):
        ranked[j], values[j] = uint32(j), chances[j]
    loss = d.cost / d.probability * values[chosen - 1] * importance if chosen > 0 else _0
    sort_by_probability(ranked, values, none)
    if learns and chosen > 0:
        _teach(layer, example, importance, offset, chosen, d.cost, d.probability)
    put_back(e, outcome)
    e.loss = np.float64(loss)
    return np.float32(ranked[0]) + _1


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the nodes above the logged class."""
    return _run(layer, example, importance, offset, True)


class OffsetTree(Reduction):
    """Chooses a class by choices between two sides of a tree."""

    name: ClassVar[str] = "offset_tree"
    Parameters: ClassVar[type[Parameters]] = OffsetTreeParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_CLASS, Predictions.ACTION_PROBABILITIES)
    known_failures = {"magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW"}
    parallel = Parallel(merging={})
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: OffsetTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes = parameters.classes
        decision = Record(
            DECISION,
            count=1,
            classes=np.ones(1, np.uint32),
            ranked=np.zeros(2, np.uint32),
            values=np.zeros(2, np.float32),
        )
        self.state = Record(
            STATE,
            classes=classes,
            nodes=tree_of(classes),
            chances=np.zeros(2 * classes - 1, np.float32),
            none=np.zeros(classes, np.float32),
            decision=decision,
            cost=np.zeros(1, np.float32),
            weight=np.zeros(1, np.float32),
        )

    @classmethod
    def width(cls, parameters: OffsetTreeParameters) -> int:
        """One sub-model per inner node."""
        return parameters.classes - 1

    @property
    def answers(self) -> Answers:
        """A probability per class."""
        return Answers(
            classes=self.parameters.classes, score_count=self.parameters.classes, scores_are_probabilities=True
        )
