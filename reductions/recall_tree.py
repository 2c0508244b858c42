"""Multiclass in logarithmic time: a tree of binary problems leads to a few candidates, among which scores decide.

The tree has a fixed depth. A node knows how often each class has reached it; its candidates are the most frequent ones.
At each inner node the learner below predicts a side, left below 0. It learns the side on which the class adds less to
the entropy of the classes there. An example stops early where the candidates of a node would recall no more classes
than those of its parent, by a lower bound on their share. Each class has a sub-model of its own, which sees the nodes
of the path as features; it is asked, and learns, only where the class is a candidate.

Source: H. Daumé III, N. Karampatziakis, J. Langford, P. Mineiro, "Logarithmic time one-against-some", ICML 2017; VW
9.11.9, `--recall_tree`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint32, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
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
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back, show, shown_by
from hutch.core.learner.memory import Buffer, append
from hutch.core.parameters import ExampleValue, Within

_0, _1 = np.float32(0), np.float32(1)
_NAMESPACE, _SPREAD = 136, uint64(868771)
"""VW's namespace of the nodes on a path, and the factor that makes a node's number its index."""
_MOST = 1 << 22
"""Largest number of nodes times classes."""
PARENT, LEFT, RIGHT, ROUTER = range(4)
"""Columns of a node; a leaf has no router, -1."""


class RecallTreeParameters(Parameters):
    """Parameters of `recall_tree`.

    Attributes:
        classes: number of classes, counted from 1.
        candidates: classes of a node among which scores decide; None: 4 log2 of the classes, rounded up, at most all.
        depth: of the tree; None: log2 of the classes, rounded up.
        penalty: the higher, the more examples a node needs before others go past it; 0: all go to the leaves.
        whole_path: sub-models of classes see all nodes of the path below the root, else the last one alone.
        randomized: while it learns, an example goes left or right by chance where the score is between -0.5 and 0.5.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 10), ExampleValue(4)]
    candidates: Annotated[int, Within(ge=1, le=1 << 10)] | None = None
    depth: Annotated[int, Within(ge=0, le=20)] | None = None
    penalty: Annotated[float, Within(ge=0)] = 1.0
    whole_path: bool = True
    randomized: bool = False

    @property
    def levels(self) -> int:
        """The depth of the tree."""
        return self.depth if self.depth is not None else _log2(self.classes)

    @property
    def candidate_count(self) -> int:
        """The most candidates that a node has."""
        return self.candidates if self.candidates is not None else min(self.classes, 4 * _log2(self.classes))


def _log2(count: int) -> int:
    return math.ceil(math.log(count) / math.log(2.0))


STATE = np.dtype(
    [
        ("classes", "u8"),
        ("candidates", "u8"),
        ("routers", "u8"),
        ("size", "u8"),  # nodes
        ("nodes", "u8"),  # address of int64[nodes, 4]
        ("kinds", "u8"),  # address of int64[submodels · nodes]: classes that have reached a node
        ("labels", "u8"),  # address of int64[submodels · nodes, classes]: these, the most frequent first
        ("counts", "u8"),  # address of float64[the same]: how often, by importance
        ("totals", "u8"),  # address of float64[submodels · nodes]: their sum
        ("entropies", "u8"),  # address of float64[submodels · nodes]: of the classes at a node
        ("shown", "u8"),  # BUFFER of the example with the path
        ("penalty", "f4"),
        ("whole_path", "u4"),
        ("randomized", "u4"),
    ]
)
own = state_of(STATE)


@inlined
def _first(layer, offset):
    """The number of the root of this sub-model's tree."""
    state = own(layer)
    return uint64(offset) // submodel(layer, uint64(0), state.routers + state.classes) * state.size


@inlined
def _of(state, column, k):
    """A column of a node."""
    return int64s_at(state.nodes, uint64(4) * state.size)[uint64(4) * k + uint64(column)]


@inlined
def _one(address, at):
    """The number of a node, in an array of one."""
    return float64s_at(address + uint64(8) * at, uint64(1))


@inlined
def _classes(state, at):
    """The classes of a node and how often each has reached it, the most frequent first."""
    n = uint64(int64s_at(state.kinds + uint64(8) * at, uint64(1))[0])
    start = uint64(8) * state.classes * at
    return int64s_at(state.labels + start, n), float64s_at(state.counts + start, n)


@helper
def _share(count, total):
    """p log p of a class with this share of a total."""
    return 0.0 if count == 0.0 else count / total * math.log(count / total)


@helper
def _entropy_with(state, at, label, weight):
    """The entropy of the classes of a node after one more example."""
    labels, counts = _classes(state, at)
    total, count = _one(state.totals, at)[0], 0.0
    for j in range(len(labels)):
        if labels[j] == label:
            count = counts[j]
            break
    kept = total / (weight + total)
    found = (_one(state.entropies, at)[0] + _share(count, total)) * kept
    found -= (0.0 if kept == 0.0 else math.log(kept)) * ((total - count) / (total + weight))
    return found - _share(count + weight, total + weight)


@helper
def _reach(state, at, label, weight):
    """Count an example of a class at a node."""
    _one(state.entropies, at)[0] = _entropy_with(state, at, label, weight)
    labels, counts = _classes(state, at)
    n, j = len(labels), 0
    while j < n and labels[j] != label:
        j += 1
    if j == n:
        int64s_at(state.kinds + uint64(8) * at, uint64(1))[0] = n + 1
        labels, counts = _classes(state, at)
        labels[j], counts[j] = label, 0.0
    count = counts[j] + weight
    while j > 0 and counts[j - 1] < count:
        labels[j], counts[j] = labels[j - 1], counts[j - 1]
        j -= 1
    labels[j], counts[j] = label, count
    _one(state.totals, at)[0] += weight


@helper
def _recall(state, at):
    """A lower bound on the share of examples whose class is a candidate of a node."""
    counts, total, known = _classes(state, at)[1], _one(state.totals, at)[0], 0.0
    if not total > 0.0:
        return _0
    for j in range(min(uint64(len(counts)), state.candidates)):
        known += counts[j]
    n = np.float32(total)
    share = np.float32(known) / n
    deviation = np.float32(math.sqrt(share * (_1 - share) / n)) if share < _1 else _0
    reach = np.float32(15) / (np.float32(math.sqrt(np.float32(18))) * n)
    bound = share - np.float32(math.sqrt(state.penalty)) * deviation - state.penalty * reach
    return bound if bound > _0 else _0


@inlined
def _stops(state, above, below):
    """Whether an example need not go on to a child, whose candidates recall no more."""
    return state.penalty > _0 and _recall(state, above) >= _recall(state, below)


@helper
def _descend(layer, example, importance, offset):
    """The node at which an example stops."""
    state, first, k = own(layer), _first(layer, offset), uint64(0)
    while _of(state, ROUTER, k) >= 0:
        predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, _of(state, ROUTER, k)))
        child = uint64(_of(state, LEFT if example_of(example).raw < _0 else RIGHT, k))
        if _stops(state, first + k, first + child):
            break
        k = child
    return k


@helper
def _show_path(state, e, k):
    """Show the nodes on the path to a node as features, of value 1; returns what `_hide_path` restores."""
    shared, read = shared_of(e.shared), shown_by(e)
    multiplier, count, node = shared.multiplier, uint64(0), k
    while node > uint64(0) and state.whole_path == 1:
        count, node = count + uint64(1), uint64(_of(state, PARENT, node))
    if state.whole_path == 0:
        count = uint64(1)
    length = e.length
    if count == uint64(0):
        return read, multiplier
    indices, values = append(state.shown, e, uint32(_NAMESPACE), count)
    if len(indices) == 0:
        return read, multiplier
    features = uint32s_at(e.indices, length)
    for i in range(length):
        features[i] = uint32(uint64(features[i]) * multiplier & shared.mask)
    shared.multiplier = uint64(1)  # what stands for indices now are rows
    for i in range(count):
        indices[i], values[i] = uint32(_SPREAD * k & shared.mask), _1
        k = uint64(_of(state, PARENT, k))
    return read, multiplier


@inlined
def _hide_path(e, shown):
    show(e, shown[0])
    shared_of(e.shared).multiplier = shown[1]


@helper
def _candidates(layer, offset, k):
    """The candidates of a node."""
    state = own(layer)
    labels = _classes(state, _first(layer, offset) + k)[0]
    return labels[: min(uint64(len(labels)), state.candidates)]


@helper
def _choose(layer, example, importance, offset, k):
    """The candidate of a node with the highest score; 0 if it has none."""
    state, e = own(layer), example_of(example)
    candidates, best, most = _candidates(layer, offset, k), int64(0), _0
    shown = _show_path(state, e, k)
    for j in range(len(candidates)):
        model = state.routers + uint64(candidates[j] - 1)
        predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, model))
        if best == 0 or e.raw > most:
            best, most = candidates[j], e.raw
    _hide_path(e, shown)
    return best


@helper
def _added(state, at, label, weight):
    """By how much one more example adds to the entropy of the classes of a node, times its examples."""
    new = _entropy_with(state, at, label, weight)
    return _one(state.totals, at)[0] * (new - _one(state.entropies, at)[0]) + weight * new


@helper
def _teach_router(layer, example, label, importance, offset, k):
    """Let an inner node learn the side of a class; returns what it predicts then."""
    state, first, weight = own(layer), _first(layer, offset), np.float64(importance)
    left = _added(state, first + uint64(_of(state, LEFT, k)), label, weight)
    right = _added(state, first + uint64(_of(state, RIGHT, k)), label, weight)
    below = submodel(layer, offset, _of(state, ROUTER, k))
    learn_next(layer, example, -_1 if left < right else _1, importance, below)
    return predict_next(layer, example, UNLABELED, importance, below)


@helper
def _teach(layer, example, label, importance, offset):
    """Teach the nodes on the way of an example, and the candidates of the last one."""
    state, e, first, weight = own(layer), example_of(example), _first(layer, offset), np.float64(importance)
    shared, k = shared_of(e.shared), uint64(0)
    while _of(state, ROUTER, k) >= 0:
        score = _teach_router(layer, example, label, importance, offset, k)
        if state.randomized == 1:
            shared.random_state, drawn = merand48(shared.random_state)
            score = -_1 if drawn > min(max(np.float32(0.5) * (_1 + np.float32(2) * score), _0), _1) else _1
        child = uint64(_of(state, LEFT if score < _0 else RIGHT, k))
        stops = _stops(state, first + k, first + child)
        _reach(state, first + k, label, weight)
        if stops:
            _reach(state, first + child, label, weight)
            break
        k = child
    if _of(state, ROUTER, k) < 0:
        _reach(state, first + k, label, weight)
    _teach_candidates(layer, example, label, importance, offset, k)


@helper
def _teach_candidates(layer, example, label, importance, offset, k):
    """If a class is a candidate, its sub-model learns 1, and then those of the others -1."""
    state, e, candidates, there = own(layer), example_of(example), _candidates(layer, offset, k), False
    for j in range(len(candidates)):
        there |= candidates[j] == label
    if not there:
        return
    shown = _show_path(state, e, k)
    learn_next(layer, example, _1, importance, submodel(layer, offset, state.routers + uint64(label - 1)))
    for j in range(len(candidates)):
        if candidates[j] != label:
            below = submodel(layer, offset, state.routers + uint64(candidates[j] - 1))
            learn_next(layer, example, -_1, importance, below)
    _hide_path(e, shown)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own(layer), example_of(example)
    e.features = e.length
    k = _descend(layer, example, importance, offset)
    features = e.features
    predicted = _choose(layer, example, importance, offset, k)
    outcome = outcome_of(e)
    number = int64(label) if label != UNLABELED else int64(0)
    learns = learns and 0 < number <= int64(state.classes)
    if learns:
        _teach(layer, example, number, importance, offset)
    if state.routers == uint64(0):  # then only models of classes tell how many features there are
        features = e.features - uint64(state.whole_path == 0 and (learns or predicted > 0))
    put_back(e, outcome)
    e.features = features
    e.loss = np.float64(importance) if label != UNLABELED and number != predicted else 0.0
    return np.float32(predicted)


@kernel
def predict(layer, example, label, importance, offset):
    """The candidate with the highest score."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the nodes on the way of the example, and the candidates of the last."""
    learns = importance > _0 and shared_of(example_of(example).shared).testing == 0
    return _run(layer, example, label, importance, offset, learns)


class RecallTree(Reduction):
    """A tree of binary problems that leads to a few classes, among which scores decide.

    Raises:
        ConfigError: so deep a tree of so many classes would not fit into memory.
    """

    name: ClassVar[str] = "recall_tree"
    Parameters: ClassVar[type[Parameters]] = RecallTreeParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(learns_any_label=False)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: RecallTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, nodes = parameters, _tree(parameters.levels)
        if len(nodes) * p.classes > _MOST:
            got = f"{len(nodes)} nodes of {p.classes} classes"
            raise ConfigError(f"{self.name}.depth: got {got}, wanted at most {_MOST // p.classes} nodes")
        count = context.submodels * len(nodes)
        self.state = Record(
            STATE,
            classes=p.classes,
            candidates=p.candidate_count,
            routers=_routers(p),
            size=len(nodes),
            nodes=nodes,
            kinds=np.zeros(count, np.int64),
            labels=np.zeros((count, p.classes), np.int64),
            counts=np.zeros((count, p.classes)),
            totals=np.zeros(count),
            entropies=np.zeros(count),
            shown=Buffer(),
            penalty=p.penalty,
            whole_path=p.whole_path,
            randomized=p.randomized,
        )
        self.keeps: Mapping[str, Limits] = {  # type: ignore[misc]
            "kinds": Limits(0, p.classes),
            "labels": Limits(0, p.classes),
            "counts": POSITIVE,
            "totals": POSITIVE,
            "entropies": FINITE,
        }

    @classmethod
    def width(cls, parameters: RecallTreeParameters) -> int:
        """One sub-model per inner node and per class."""
        return _routers(parameters) + parameters.classes

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Each node lists as many classes as it says, each once.

        Raises:
            ModelError: one does not.
        """
        kinds, labels = dense(arrays["kinds"]), dense(arrays["labels"])
        for listed, row in zip(kinds.tolist(), labels, strict=True):
            there = row[:listed]
            if not there.all() or len(np.unique_values(there)) != listed:
                raise ModelError(f"{self.name}: got a node of {listed} classes that does not list them")


def _routers(parameters: RecallTreeParameters) -> int:
    return (1 << parameters.levels) - 1


def _tree(depth: int) -> NDArray[np.int64]:
    """The nodes of a full tree, int64[nodes, 4], numbered as in VW: the children of a node, then all below the left."""
    nodes, routers = [[0, 0, 0, -1]], 0
    waiting = [(0, depth)]
    while waiting:
        k, levels = waiting.pop()
        if not levels:
            continue
        left = len(nodes)
        nodes += [[k, 0, 0, -1], [k, 0, 0, -1]]
        nodes[k][LEFT:] = [left, left + 1, routers]
        routers += 1
        waiting += [(left + 1, levels - 1), (left, levels - 1)]
    return np.array(nodes, np.int64)
