"""Multiclass in logarithmic time: a tree of binary problems that grows with the data, and whose leaves name a class.

At each inner node the learner below predicts a side, left below 0. It learns to send a class to the right if that class
has gone there more than the mean of all classes, else to the left, so that both balance and purity grow. A leaf with
two classes becomes an inner node as long as there are sub-models left; later it takes those of the two leaves with the
fewest examples, if it makes enough mistakes to be worth it.

Source: A. Choromanska, J. Langford, "Logarithmic time online multiclass prediction", NIPS 2015; VW 9.11.9,
`--log_multi`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ModelError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within

_0, _1 = np.float32(0), np.float32(1)
_MOST = int64((1 << 32) - 1)
"""VW's counts have 32 bits, and their differences are taken modulo 2^32."""
PARENT, LEFT, RIGHT, INNER, MODEL, REACHED, SEEN, KINDS, TOP_COUNT, TOP_CLASS = range(10)
"""Columns of a node. REACHED counts examples of a leaf, and is the least of its children's of an inner node; SEEN
counts those that an inner node has learned; KINDS, TOP_COUNT and TOP_CLASS tell of its classes."""
_COLUMNS = 10


class LogarithmicTreeParameters(Parameters):
    """Parameters of `logarithmic_tree`.

    Attributes:
        classes: number of classes, counted from 1.
        swap_resistance: how many more mistakes a leaf must have than the least used one has examples, to take the
            sub-model above that one.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 10), ExampleValue(4)]
    swap_resistance: Annotated[int, Within(ge=0, le=1 << 20)] = 4


STATE = np.dtype(
    [
        ("classes", "i8"),
        ("resistance", "i8"),
        ("nodes", "u8"),  # address of int64[submodels, 2 classes - 1, 10]
        ("counts", "u8"),  # address of int64[submodels, 2]: nodes and sub-models in use
        ("sums", "u8"),  # address of float64[submodels, 2 classes - 1]: of the scores at an inner node
        ("class_sums", "u8"),  # address of float64[submodels, 2 classes - 1, classes]
        ("class_seen", "u8"),  # address of int64[the same]: examples of a class that an inner node has learned
        ("class_counts", "u8"),  # address of int64[the same]: examples of a class that have reached a node
    ]
)
own = state_of(STATE)


@inlined
def _size(state):
    """Number of nodes that there can be."""
    return uint64(2 * state.classes - 1)


@inlined
def _place(layer, offset):
    """The number of this sub-model."""
    return uint64(offset) // (uint64(own(layer).classes - 1) * _step(layer))


@inlined
def _step(layer):
    return submodel(layer, uint64(0), 1)


@inlined
def _nodes(state, place):
    size = _size(state) * uint64(_COLUMNS)
    return int64s_at(state.nodes + uint64(8) * size * place, size)


@inlined
def _per_class(state, address, place, node):
    """Where the numbers of a node by class begin."""
    classes = uint64(state.classes)
    return address + uint64(8) * classes * (_size(state) * place + uint64(node))


@helper
def _empty(nodes, k):
    """Make a node a leaf that has seen nothing but what its place says."""
    at = k * _COLUMNS
    for column in (LEFT, RIGHT, INNER, MODEL, SEEN, KINDS, TOP_COUNT):
        nodes[at + column] = 0
    nodes[at + TOP_CLASS] = 1


@helper
def _forget(state, place, k):
    """Forget what a node knows of classes."""
    classes = uint64(state.classes)
    sums = float64s_at(_per_class(state, state.class_sums, place, k), classes)
    seen = int64s_at(_per_class(state, state.class_seen, place, k), classes)
    counts = int64s_at(_per_class(state, state.class_counts, place, k), classes)
    for j in range(classes):
        sums[j], seen[j], counts[j] = 0.0, 0, 0
    float64s_at(state.sums + uint64(8) * _size(state) * place, _size(state))[k] = 0.0


@helper
def _spread(nodes, k):
    """Let the nodes above know how many examples have reached a node."""
    while k != 0:
        before = k
        k = nodes[k * _COLUMNS + PARENT]
        at = k * _COLUMNS
        if nodes[at + REACHED] == nodes[before * _COLUMNS + REACHED]:
            return
        left, right = nodes[at + LEFT] * _COLUMNS, nodes[at + RIGHT] * _COLUMNS
        nodes[at + REACHED] = min(nodes[left + REACHED], nodes[right + REACHED])


@helper
def _least_used(nodes):
    """The leaf that the fewest examples have reached."""
    k = int64(0)
    while nodes[k * _COLUMNS + INNER] == 1:
        left, right = nodes[k * _COLUMNS + LEFT], nodes[k * _COLUMNS + RIGHT]
        k = left if nodes[left * _COLUMNS + REACHED] < nodes[right * _COLUMNS + REACHED] else right
    return k


@helper
def _take(state, nodes, place):
    """Take the least used leaf and its parent out of the tree; returns both, and the parent's sub-model."""
    leaf = _least_used(nodes)
    above = nodes[leaf * _COLUMNS + PARENT]
    top, at = nodes[above * _COLUMNS + PARENT], above * _COLUMNS
    other = nodes[at + LEFT] if nodes[at + RIGHT] == leaf else nodes[at + RIGHT]
    side = LEFT if nodes[top * _COLUMNS + LEFT] == above else RIGHT
    nodes[top * _COLUMNS + side] = other
    nodes[other * _COLUMNS + PARENT] = top
    _spread(nodes, other)
    model = nodes[at + MODEL]
    for k in (leaf, above):
        _empty(nodes, k)
        _forget(state, place, k)
    return leaf, above, model


@helper
def _split(state, nodes, counts, place, k):
    """Make an inner node of a leaf."""
    at = k * _COLUMNS
    if counts[1] < state.classes - 1:
        left, right, model = counts[0], counts[0] + 1, counts[1]
        counts[0] += 2
        counts[1] += 1
        for child in (left, right):
            _empty(nodes, child)
    else:
        left, right, model = _take(state, nodes, place)
    nodes[at + MODEL], nodes[at + LEFT], nodes[at + RIGHT] = model, left, right
    half = nodes[at + REACHED] // 2
    for child in (left, right):
        nodes[child * _COLUMNS + PARENT] = k
        nodes[child * _COLUMNS + TOP_CLASS] = nodes[at + TOP_CLASS]
    nodes[left * _COLUMNS + REACHED], nodes[right * _COLUMNS + REACHED] = half, nodes[at + REACHED] - half
    _spread(nodes, left)
    nodes[at + INNER] = 1


@helper
def _reach(state, nodes, place, k, label):
    """Count an example of a class at a node; returns whether the node is an inner one now."""
    at, counts = k * _COLUMNS, int64s_at(_per_class(state, state.class_counts, place, k), uint64(state.classes))
    nodes[at + KINDS] += 1 if counts[label - 1] == 0 else 0
    counts[label - 1] += 1
    if counts[label - 1] > nodes[at + TOP_COUNT]:
        nodes[at + TOP_COUNT], nodes[at + TOP_CLASS] = counts[label - 1], label
    if nodes[at + INNER] == 1:
        return True
    used = int64s_at(state.counts + uint64(16) * place, uint64(2))
    mistakes = (nodes[at + REACHED] - nodes[at + TOP_COUNT]) & _MOST
    worth = used[1] < state.classes - 1
    if not worth and mistakes > (state.resistance * (nodes[REACHED] + 1)) & _MOST:
        leaf = _least_used(nodes)
        worth = leaf != k and nodes[leaf * _COLUMNS + PARENT] != 0  # else the tree would fall apart, as VW's does
    if nodes[at + KINDS] > 1 and worth:
        _split(state, nodes, used, place, k)
    return nodes[at + INNER] == 1


@helper
def _mean(total, count):
    return np.float32(total) / np.float32(count) if count > 0 else _0


@helper
def _teach(layer, example, state, nodes, place, k, label, importance, offset):
    """Let an inner node learn the side of a class; returns the side that it predicts then, -1 for left."""
    at, classes = k * _COLUMNS, uint64(state.classes)
    sums = float64s_at(state.sums + uint64(8) * _size(state) * place, _size(state))
    class_sums = float64s_at(_per_class(state, state.class_sums, place, k), classes)
    seen = int64s_at(_per_class(state, state.class_seen, place, k), classes)
    mean, own_mean = _mean(sums[k], nodes[at + SEEN]), _mean(class_sums[label - 1], seen[label - 1])
    below = submodel(layer, offset, nodes[at + MODEL])
    learn_next(layer, example, -_1 if mean > own_mean else _1, importance, below)
    found, e = predict_next(layer, example, UNLABELED, importance, below), example_of(example)
    sums[k] += np.float64(e.raw)
    class_sums[label - 1] += np.float64(e.raw)
    nodes[at + SEEN] += 1
    seen[label - 1] += 1
    return nodes[at + LEFT] if found < _0 else nodes[at + RIGHT]


@helper
def _descend(layer, example, nodes, importance, offset):
    """The class of the leaf that the predictions lead to."""
    k, features = int64(0), uint64(0)
    while nodes[k * _COLUMNS + INNER] == 1:
        at = k * _COLUMNS
        found = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, nodes[at + MODEL]))
        k = nodes[at + LEFT] if found < _0 else nodes[at + RIGHT]
        features = example_of(example).features
    if features == uint64(0):
        predict_next(layer, example, UNLABELED, importance, offset)  # it tells how many features there are
    return nodes[k * _COLUMNS + TOP_CLASS]


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own(layer), example_of(example)
    place = _place(layer, offset)
    nodes = _nodes(state, place)
    predicted = _descend(layer, example, nodes, importance, offset)
    outcome, number = outcome_of(e), int64(label) if label != UNLABELED else int64(0)
    if learns and 0 < number <= state.classes:
        k = int64(0)
        while _reach(state, nodes, place, k, number):
            k = _teach(layer, example, state, nodes, place, k, number, importance, offset)
        nodes[k * _COLUMNS + REACHED] += 1
        _spread(nodes, k)
    put_back(e, outcome)
    e.loss = np.float64(importance) if label != UNLABELED and number != predicted else 0.0
    return np.float32(predicted)


@kernel
def predict(layer, example, label, importance, offset):
    """The class of a leaf."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the nodes on the way of the example, and let the tree grow."""
    learns = importance > _0 and shared_of(example_of(example).shared).testing == 0
    return _run(layer, example, label, importance, offset, learns)


class LogarithmicTree(Reduction):
    """A tree of binary problems that grows with the data, each leaf with a class."""

    name: ClassVar[str] = "logarithmic_tree"
    Parameters: ClassVar[type[Parameters]] = LogarithmicTreeParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(learns_any_label=False)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: LogarithmicTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes, size = parameters.classes, (context.submodels, 2 * parameters.classes - 1)
        nodes = np.zeros((*size, _COLUMNS), np.int64)
        nodes[:, :, TOP_CLASS] = 1
        self.state = Record(
            STATE,
            classes=classes,
            resistance=parameters.swap_resistance,
            nodes=nodes,
            counts=np.tile(np.array([1, 0], np.int64), (context.submodels, 1)),
            sums=np.zeros(size),
            class_sums=np.zeros((*size, classes)),
            class_seen=np.zeros((*size, classes), np.int64),
            class_counts=np.zeros((*size, classes), np.int64),
        )
        count = Limits(0, int(_MOST))
        self.keeps: Mapping[str, Limits] = {  # type: ignore[misc]
            "nodes": count,
            "counts": Limits(0, size[1]),
            "sums": FINITE,
            "class_sums": FINITE,
            "class_seen": count,
            "class_counts": count,
        }

    @classmethod
    def width(cls, parameters: LogarithmicTreeParameters) -> int:
        """One sub-model per inner node."""
        return parameters.classes - 1

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """All nodes in use form one tree.

        Raises:
            ModelError: they do not.
        """
        all_nodes, counts = dense(arrays["nodes"]), dense(arrays["counts"])
        for nodes, (used, models) in zip(all_nodes, counts, strict=True):
            if not _is_tree(nodes, int(used), int(models), self.parameters.classes):
                raise ModelError(f"{self.name}: got {used} nodes that are no tree")


def _is_tree(nodes: np.ndarray[tuple[int, ...], np.dtype[np.int64]], used: int, models: int, classes: int) -> bool:
    """Whether `used` nodes, as many leaves as inner ones and one more, hang together below the first."""
    if used != 2 * models + 1 or used > len(nodes) or models >= classes:
        return False
    found, waiting = {0}, [0]
    while waiting:
        node = nodes[waiting.pop()]
        if not (1 <= node[TOP_CLASS] <= classes and node[MODEL] < max(models, 1) and node[INNER] <= 1):
            return False
        for child in (int(node[LEFT]), int(node[RIGHT])) if node[INNER] else ():
            if child in found or child >= used:
                return False
            found.add(child)
            waiting.append(child)
    return all(int(nodes[k][PARENT]) in found for k in found) and len(found) == used
