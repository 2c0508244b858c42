"""Many labels by a tree: each node asks whether any label below it holds, and few of the nodes are asked.

The labels are the leaves of a tree. A node's model learns 1 where one of the labels below it holds, and -1 where none
does; but only if its parent learned 1, so that an example teaches about as many nodes as its labels have ancestors. The
probability of a label is the product of those along its path. Predicted are all labels above a threshold, or the best.

Source: K. Jasinska, K. Dembczynski, R. Busa-Fekete, K. Pfannschmidt, T. Klerx, E. Huellermeier, "Extreme F-measure
maximization using sparse probability estimates", ICML 2016; VW 9.11.9, `--plt`, which counts labels from 0.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    array_at,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.loss import kinds
from hutch.core.parameters import Parameters, Within

_0, _1, _LEAST = np.float32(0), np.float32(1), np.float32(1e-37)


class ProbabilisticLabelTreeParameters(Parameters):
    """Parameters of `probabilistic_label_tree`.

    Attributes:
        classes: number of labels that there are.
        arity: children of a node.
        threshold: labels of a higher probability are predicted.
        best: how many labels are predicted, the most probable ones, whatever the threshold; 0: those above it.
        first_class: the smallest label, 0 or 1.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20)]
    arity: Annotated[int, Within(ge=2, le=1 << 10)] = 2
    threshold: Annotated[float, Within(ge=0, lt=1)] = 0.5
    best: Annotated[int, Within(ge=0)] = 0
    first_class: Literal[0, 1] = 0


TREE = np.dtype(
    [
        ("classes", "i8"),
        ("inner", "i8"),  # number of nodes that are no leaves; these come first
        ("arity", "i8"),
        ("best", "i8"),
        ("first", "i8"),
        ("nodes", "u8"),  # address of int64[nodes]: to be visited, or learned
        ("chances", "u8"),  # address of float32[nodes]: their probabilities
        ("marks", "u8"),  # address of int8[nodes]: 1 for those above a label that holds
        (
            "times",
            "u8",
        ),  # address of float32[models]: the importance that each has learned, for rates that fall with it
        ("models", "u8"),  # number of nodes, times that of sub-models of the layer
        ("labels", "u8"),  # address of float32[classes]: the probability of each label predicted, 0 of others
        ("threshold", "f4"),
    ]
)
own = state_of(TREE)
_marks_at = array_at(np.int8)


@inlined
def _count(state):
    return state.classes + state.inner


@inlined
def _chance(layer, example, offset, node):
    """The probability that a node's model gives."""
    e = example_of(example)
    predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, node))
    return _1 / (_1 + np.float32(math.exp(-e.raw)))


@helper
def _push(nodes, chances, size, node, chance):
    """Put a node into the heap of so many; the order of equal ones is that of libstdc++, as in VW."""
    _rise(nodes, chances, size, int64(0), node, chance)


@helper
def _rise(nodes, chances, hole, top, node, chance):
    while hole > top and chances[(hole - 1) // 2] < chance:
        parent = (hole - 1) // 2
        nodes[hole], chances[hole] = nodes[parent], chances[parent]
        hole = parent
    nodes[hole], chances[hole] = node, chance


@helper
def _pop(nodes, chances, size):
    """Take the most probable node out of the heap of so many; it then stands behind the others."""
    last = size - 1
    node, chance = nodes[last], chances[last]
    nodes[last], chances[last] = nodes[0], chances[0]
    hole, child = int64(0), int64(0)
    while child < (last - 1) // 2:
        child = 2 * (child + 1)
        if chances[child] < chances[child - 1]:
            child -= 1
        nodes[hole], chances[hole] = nodes[child], chances[child]
        hole = child
    if (last & 1) == 0 and child == (last - 2) // 2:
        child = 2 * (child + 1)
        nodes[hole], chances[hole] = nodes[child - 1], chances[child - 1]
        hole = child - 1
    if last > 0:
        _rise(nodes, chances, hole, int64(0), node, chance)


@helper
def _search(layer, example, offset):
    """Write the probabilities of the labels predicted; returns their number."""
    state, found = own(layer), int64(0)
    nodes, chances = int64s_at(state.nodes, uint64(_count(state))), float32s_at(state.chances, uint64(_count(state)))
    labels = float32s_at(state.labels, uint64(state.classes))
    for k in range(state.classes):
        labels[k] = _0
    least = state.threshold if state.best == 0 else -_1
    nodes[0], chances[0] = int64(0), _chance(layer, example, offset, 0)
    size = int64(chances[0] > least)
    while size > 0:
        if state.best > 0:
            _pop(nodes, chances, size)
        size -= 1
        node, chance = nodes[size], chances[size]
        if node >= state.inner:
            labels[node - state.inner] = max(chance, _LEAST)  # 0 is that of labels not predicted
            found += 1
            if found == state.best:
                break
            continue
        for child in range(state.arity * node + 1, min(state.arity * (node + 1) + 1, _count(state))):
            own_chance = chance * _chance(layer, example, offset, child)
            if own_chance > least:
                if state.best > 0:
                    _push(nodes, chances, size, int64(child), own_chance)
                else:
                    nodes[size], chances[size] = int64(child), own_chance
                size += 1
    return found


@inlined
def _teach(layer, example, label, importance, offset, node, learning):
    """Let a node learn, or be judged; returns its loss."""
    e = example_of(example)
    if not learning:
        predict_next(layer, example, label, importance, submodel(layer, offset, node))
        return np.float32(e.loss)
    state, shared = own(layer), shared_of(e.shared)
    times, place = float32s_at(state.times, state.models), submodel(layer, offset, node) // layer_of(layer).step
    time, held_out = shared.time, shared.weighted_holdout
    shared.time = np.float64(times[place]) - np.float64(importance) + shared.weighted_unlabeled
    shared.weighted_holdout = 0.0
    times[place] += importance
    learn_next(layer, example, label, importance, submodel(layer, offset, node))
    shared.time, shared.weighted_holdout = time, held_out
    return np.float32(e.loss)


@helper
def _run(layer, example, importance, offset, learning):
    """Predict, and go over the nodes that the labels concern; returns the number of labels predicted."""
    state, e = own(layer), example_of(example)
    found = _search(layer, example, offset)
    count, known = _count(state), int64(e.cost_count)
    labels = float32s_at(state.labels, uint64(state.classes))
    if e.scores != uint64(0) and int64(e.score_count) >= state.classes:
        scores = float32s_at(e.scores, uint64(state.classes))
        for k in range(state.classes):
            scores[k] = labels[k]
    given, nodes = uint32s_at(e.cost_classes, e.cost_count), int64s_at(state.nodes, uint64(count))
    marks, above, loss = _marks_at(state.marks, uint64(count)), int64(0), _0
    for i in range(known):
        label = int64(given[i]) - state.first
        node = label + state.inner if 0 <= label < state.classes else int64(-1)
        while node >= 0 and marks[node] == 0:
            marks[node], nodes[above] = 1, node
            above += 1
            node = (node - 1) // state.arity if node > 0 else int64(-1)
    for i in range(above - 1, -1, -1):  # sums are rounded as in VW
        loss += _teach(layer, example, _1, importance, offset, nodes[i], learning)
    for i in range(above):
        first = state.arity * nodes[i] + 1
        for child in range(min(first + state.arity, count) - 1, first - 1, -1):
            if marks[child] == 0:
                loss += _teach(layer, example, -_1, importance, offset, int64(child), learning)
    for i in range(above):
        marks[nodes[i]] = 0
    e.loss = np.float64(loss)
    return np.float32(found)


@kernel
def predict(layer, example, label, importance, offset):
    """The number of labels predicted; their probabilities are in the example's scores."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and train the nodes above the example's labels, and the children of these."""
    return _run(layer, example, importance, offset, True)


class ProbabilisticLabelTree(Reduction):
    """A tree of models over many labels, of which an example may have several.

    Raises:
        ConfigError: the learner's loss is not the logistic one.
    """

    name: ClassVar[str] = "probabilistic_label_tree"
    Parameters: ClassVar[type[Parameters]] = ProbabilisticLabelTreeParameters
    takes = Labels.MULTILABEL
    predicts = Predictions.LABELS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parallel = Parallel(merging={"first_class": "keep", "times": "add"})
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: ProbabilisticLabelTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        assert context.below is not None
        if context.below.answers.loss_kind not in (None, kinds.LOGISTIC):
            loss = context.below.answers.loss
            raise ConfigError(f"{self.name}: got the loss {loss.name if loss else None} below it, wanted logistic")
        p, nodes = parameters, self.width(parameters)
        self._times = np.full(context.submodels * nodes, context.shared["time"][0], np.float32)
        self.state = Record(
            TREE,
            classes=p.classes,
            inner=nodes - p.classes,
            arity=p.arity,
            best=p.best,
            first=p.first_class,
            threshold=p.threshold,
            nodes=np.zeros(nodes, np.int64),
            chances=np.zeros(nodes, np.float32),
            times=self._times,
            models=len(self._times),
            marks=np.zeros(nodes, np.int8),
            labels=np.zeros(p.classes, np.float32),
        )

    @classmethod
    def width(cls, parameters: Any) -> int:
        """One sub-model per node: the leaves, and as few inner nodes as can hold them."""
        return int(parameters.classes - (1 - parameters.classes) // (parameters.arity - 1))

    @property
    def answers(self) -> Answers:
        """A probability for each label predicted, 0 for others."""
        p = self.parameters
        threshold = 0.0 if p.best else p.threshold
        return replace(
            super().answers, score_count=p.classes, decision_threshold=threshold, scores_are_probabilities=True
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        """The smallest label, and what each node has learned."""
        return {"first_class": self.state["first"], "times": self._times}

    def limits(self) -> Mapping[str, Limits]:
        """The label is that of the parameters."""
        return {"first_class": Limits(0, 1, fixed=True), "times": POSITIVE}

    def order(self) -> list[int]:
        """The labels in the order in which a search through the whole tree comes to them, as VW writes them."""
        p, inner = self.parameters, int(self.state["inner"][0])
        found, stack = [], [0]
        while stack:
            node = stack.pop()
            children = range(p.arity * node + 1, min(p.arity * (node + 1) + 1, inner + p.classes))
            found += [child - inner + p.first_class for child in children if child >= inner]
            stack += [child for child in children if child < inner]
        return found or [p.first_class]
