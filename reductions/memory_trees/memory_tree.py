"""Classes by memory: the label of the most similar example in the leaf of a tree that learns where to look.

Each node of the tree is a sub-model: below 0 it leads left. In the first pass it learns where to send examples so that
both sides are about equally full, and what it says already is kept where it can be. Later, or at once if the tree is
`online`, a kept example asks for its own label below a node on its way, on one side by chance, and the node learns
that side if the label was found there. After each example others are drawn from the memory and put into it again.

Source: W. Sun, A. Beygelzimer, H. Daumé III, J. Langford, P. Mineiro, "Contextual memory trees", ICML 2019; VW 9.11.9,
`--memory_tree`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense, room_for
from hutch.core.errors import ModelError
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, shared_of, state_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.flat import flat_of, flatten
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.memory_trees import memory_steps, store
from hutch.reductions.memory_trees.kept import fill, is_kept_example, words_of
from hutch.reductions.memory_trees.learner import features_below
from hutch.reductions.memory_trees.memory_steps import (
    draw_kept,
    insert,
    leaf_below,
    leave,
    nearest,
    put_back_in,
    query,
)
from hutch.reductions.memory_trees.saved import (
    check_store,
    doubts_of_store,
    limits_of_store,
    load_store,
    new_store,
    saved_store,
)
from hutch.reductions.memory_trees.store import NOWHERE, keep, must_leave, slot_of, use

_0 = np.float32(0)
_MEMORIES = 1 << 16


class MemoryTreeParameters(Parameters):
    """Parameters of `memory_tree`.

    Attributes:
        nodes: of the tree at most, each with a sub-model.
        leaf_multiplier: a leaf with so many times log2 of `nodes` memories is divided.
        alpha: what a node says, or the label that was found, counts so much against even sides.
        replays: examples drawn from the memory and put into it again after each example.
        learns_similarity: one more sub-model learns what is similar; it decides from the second pass on.
        online: examples ask for their label in the first pass, too.
        learns_replays: nodes learn from what is put back after the first pass, too.
        memories: examples kept at most, those used last; None: 65536, and a warning when there are more.
        megabytes: memory for the features of the memories.
    """

    nodes: Annotated[int, Within(ge=1, le=1 << 20), ExampleValue(31)]
    leaf_multiplier: Annotated[int, Within(ge=0, le=1 << 20)] = 1
    alpha: Annotated[float, Within(ge=0, le=1)] = 0.1
    replays: Annotated[int, Within(ge=0, le=1 << 10)] = 1
    learns_similarity: bool = False
    online: bool = False
    learns_replays: bool = False
    memories: Annotated[int, Within(ge=1, le=1 << 24)] | None = None
    megabytes: Annotated[int, Within(ge=1, le=1 << 16)] = 64

    @property
    def most(self) -> int:
        """Examples kept at most."""
        return self.memories if self.memories is not None else _MEMORIES

    @property
    def most_in_leaf(self) -> int:
        """Memories with which a leaf is divided."""
        return int(self.leaf_multiplier * (math.log(self.nodes) / math.log(2)))


STATE = np.dtype(
    [
        *store.FIELDS,
        *memory_steps.FIELDS,
        ("sorted", "u8"),  # BUFFER of the example's features
        ("replays", "u8"),
        ("online", "u8"),
        ("learns_replays", "u8"),
        ("learned", "u8"),  # examples
    ]
)
own = state_of(STATE)


@helper
def _remember(state, example, flat, square, label, importance):
    """Keep an example, in no leaf yet; others leave if there is no room. Returns its slot, -1 if it is too long."""
    words = words_of(example_of(example), uint64(len(flat[0])))
    if words > state.limit:
        state.crowded += uint64(1)
        return NOWHERE
    while must_leave(state, words):
        leave(state, state.oldest)
    k = keep(state, words)
    slot = slot_of(state, k)
    slot.label, slot.square, slot.importance = label, square, importance
    fill(state, slot, example, flat)
    return k


@helper
def _replay(layer, state, example, offset, learns):
    """Draw kept examples and put them into the tree again."""
    for _ in range(state.replays):
        k = draw_kept(state, shared_of(example_of(example).shared))
        if k == NOWHERE:
            continue
        if learns:
            insert(layer, state, example, offset, k)
        else:
            put_back_in(layer, state, example, offset, k)


@helper
def _learn(layer, state, example, offset, flat, square, label, importance):
    """Keep an example in the first pass; later let a kept one ask for its label."""
    e = example_of(example)
    read, base = shown_by(e), e.base
    first = shared_of(e.shared)["pass"] == uint64(0)
    state.learned += uint64(1)
    e.base = _0
    if first:
        k = _remember(state, example, flat, square, label, importance)
        if k != NOWHERE:
            if state.online == uint64(1):
                query(layer, state, example, offset, k)
            insert(layer, state, example, offset, k)
    elif state.kept > uint64(0):
        query(layer, state, example, offset, int64(state.learned % state.kept))
    if state.kept > uint64(0):
        _replay(layer, state, example, offset, first or state.learns_replays == uint64(1))
    show(e, read)
    e.base = base


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own(layer), example_of(example)
    count, square = flatten(state.features, state.sorted, example, offset)
    flat, e.features = flat_of(state.sorted, count), e.length
    node, number = leaf_below(layer, state, example, offset, int64(0)), int64(label) if label != UNLABELED else int64(0)
    features, k = e.features, nearest(layer, state, example, offset, node, flat, square)
    predicted = slot_of(state, k).label if k != NOWHERE else int64(0)
    if learns and label != UNLABELED:
        if k != NOWHERE:
            use(state, k)
        _learn(layer, state, example, offset, flat, square, number, importance)
    e.features, e.raw, e.updated = features, np.float32(predicted), np.float32(predicted)
    e.loss = np.float64(importance) if label != UNLABELED and number != predicted else 0.0
    return np.float32(predicted)


@kernel
def predict(layer, example, label, importance, offset):
    """The label of the most similar memory of the leaf."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then keep the example, and let nodes learn."""
    learns = importance > _0 and shared_of(example_of(example).shared).testing == 0
    return _run(layer, example, label, importance, offset, learns)


class MemoryTree(Reduction):
    """The label of the most similar example in the leaf of a tree that learns where to look.

    Raises:
        ConfigError: several sub-models.
    """

    name: ClassVar[str] = "memory_tree"
    Parameters: ClassVar[type[Parameters]] = MemoryTreeParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: MemoryTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p = parameters
        self.state = Record(
            STATE,
            **new_store(p.most, p.megabytes, p.nodes),
            flows=np.full((p.nodes, 2), 0.001),
            features=features_below(self.name, context),
            most_in_leaf=p.most_in_leaf,
            learns_scores=p.learns_similarity,
            alpha=p.alpha,
            replays=p.replays,
            online=p.online,
            learns_replays=p.learns_replays,
            **{name: Buffer() for name in ("shown", "path", "sorted")},
        )
        self._incoming: dict[str, NDArray[Any]] | None = None

    @classmethod
    def width(cls, parameters: MemoryTreeParameters) -> int:
        """One sub-model per node, and one for what is similar."""
        return parameters.nodes + 1

    def saved(self) -> dict[str, NDArray[Any]]:
        """The memories and the tree."""
        if self._incoming is not None:
            return self._incoming
        state: Any = self.state
        flows = state.targets["flows"][: int(state["node_count"][0])]
        return {**saved_store(state), "flows": flows, "learned": state["learned"]}

    def limits(self) -> Mapping[str, Limits]:
        """Counts within the memory; the rest is checked by `check_saved`."""
        return {
            **limits_of_store(),
            "flows": Limits(0, finite=True, grows=True),
            "learned": Limits(0, 1 << 62),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """The memories are examples that were read, and form a tree.

        Raises:
            ModelError: they are not.
        """
        check_store(self.name, self.state, arrays)  # type: ignore[arg-type]
        words, start = dense(arrays["words"]), 0
        for length, count, spaces, size in dense(arrays["places"])[:, 4:].tolist():
            if not is_kept_example(words[start : start + size], length, count, spaces):
                raise ModelError(f"{self.name}: got a memory that is no example that was read")
            start += size
        if len(dense(arrays["flows"])) != len(dense(arrays["tree"])):
            raise ModelError(f"{self.name}: got counts of other nodes than there are")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the model's memories."""
        self._incoming = room_for(arrays)

    def loaded(self) -> None:
        """Keep the model's memories."""
        found, self._incoming = self._incoming or {}, None
        state: Any = self.state
        load_store(state, found)
        state.targets["flows"][: len(found["flows"])] = found["flows"]
        state["learned"] = int(found["learned"][0])

    def doubts(self) -> str | None:
        """Whether memories left that were to stay."""
        return doubts_of_store(self.state, self.parameters)  # type: ignore[arg-type]
