"""Classes by memory: the label of the most similar example that is kept, found by a tree over principal components.

A leaf that holds too many examples is divided: at the median of what they are along their first principal component.
The prediction is the label of the nearest example of the leaf to which an example comes. What is near can be learned:
where the nearest example and the nearest one with the right label disagree, the layer below learns 0 of the right one
and 1 of the other.

Source: M. Rucker, J. T. Ash, J. Langford, P. Mineiro, I. Momennejad, "Eigen memory trees", 2022; VW 9.11.9, `--emt`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

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
from hutch.core.learner.features import features_of
from hutch.core.learner.flat import flat_of, flatten
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import Within
from hutch.reductions.memory_trees import eigen_leaves, routers, scoring, store
from hutch.reductions.memory_trees.eigen_leaves import leaf_of, pick, remember, teach
from hutch.reductions.memory_trees.learner import features_below, with_interactions, without_interactions
from hutch.reductions.memory_trees.routers import ROUTER
from hutch.reductions.memory_trees.saved import (
    check_store,
    doubts_of_store,
    is_list,
    limits_of_store,
    load_store,
    new_store,
    saved_store,
)

Scorer = Literal["random", "distance", "self_consistent_rank", "not_self_consistent_rank"]
Initial = Literal["cosine", "euclidean", "gaussian", "none"]
_0 = np.float32(0)
_MEMORIES = 1 << 16


class EigenMemoryTreeParameters(Parameters):
    """Parameters of `eigen_memory_tree`.

    Attributes:
        memories: examples kept at most, those used last; None: 65536, and a warning when there are more.
        leaf: a leaf of more memories is divided.
        scorer: which memory of a leaf is taken: any; the nearest by `initial`; or one by what the layer below has
            learned: from differences of values, or from products.
        initial: the distance before anything is learned.
        router: how a leaf is divided: along the first principal component, or in a random direction.
        megabytes: memory for the features of the memories, and as much again for the directions.
    """

    memories: Annotated[int, Within(ge=1, le=1 << 24)] | None = None
    leaf: Annotated[int, Within(ge=1, le=1 << 20)] = 100
    scorer: Scorer = "self_consistent_rank"
    initial: Initial = "cosine"
    router: Literal["eigen", "random"] = "eigen"
    megabytes: Annotated[int, Within(ge=1, le=1 << 16)] = 64

    @property
    def most(self) -> int:
        """Examples kept at most."""
        return self.memories if self.memories is not None else _MEMORIES

    @property
    def most_nodes(self) -> int:
        """Nodes of the tree: many more than full leaves would need, as leaves whose memories left stay."""
        return 16 * (self.most // self.leaf) + 1023


STATE = np.dtype(
    [
        *store.FIELDS,
        *routers.FIELDS,
        *scoring.FIELDS,
        *eigen_leaves.FIELDS,
        ("sorted", "u8"),  # BUFFER of the example's features
        ("plain", "u8"),  # BUFFER of those without interactions
    ]
)
own = state_of(STATE)


@helper
def _read(state, example, offset, apart):
    """Flatten an example; returns its features, their sum of squares, and those without interactions."""
    count, square = flatten(state.features, state.sorted, example, offset)
    flat = flat_of(state.sorted, count)
    if not apart:
        return flat, square, flat
    kept = without_interactions(state.features)
    plain = flat_of(state.plain, flatten(state.features, state.plain, example, offset)[0])
    with_interactions(state.features, kept)
    return flat, square, plain


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own(layer), example_of(example)
    shared, features, apart = shared_of(e.shared), e.length, features_of(state.features).expand != uint64(0)
    flat, square, plain = _read(state, example, offset, apart)
    node, number = leaf_of(state, plain[0], plain[1]), int64(label) if label != UNLABELED else int64(0)
    learns = learns and label != UNLABELED
    predicted = pick(layer, state, example, offset, flat, square, node, learns)
    if learns:
        teach(layer, state, example, offset, flat, square, node, number, importance)
        remember(state, shared, plain, flat, square, number, node, apart)
    e.features, e.raw, e.updated = features, np.float32(predicted), np.float32(predicted)
    e.loss = np.float64(importance) if label != UNLABELED and number != predicted else 0.0
    return np.float32(predicted)


@kernel
def predict(layer, example, label, importance, offset):
    """The label of the nearest memory."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, let the layer below learn what is near, and keep the example."""
    learns = importance > _0 and shared_of(example_of(example).shared).testing == 0
    return _run(layer, example, label, importance, offset, learns)


class EigenMemoryTree(Reduction):
    """The label of the most similar example that is kept, found by a tree.

    Raises:
        ConfigError: several sub-models.
    """

    name: ClassVar[str] = "eigen_memory_tree"
    Parameters: ClassVar[type[Parameters]] = EigenMemoryTreeParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: EigenMemoryTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, directions = parameters, parameters.megabytes << 17
        self.state = Record(
            STATE,
            **new_store(p.most, p.megabytes, p.most_nodes),
            features=features_below(self.name, context),
            routers=np.zeros(p.most_nodes, ROUTER),
            router_rows=np.zeros(directions, np.uint32),
            router_values=np.zeros(directions, np.float32),
            router_limit=directions,
            eigen=p.router == "eigen",
            scorer=get_args(Scorer).index(p.scorer),
            initial=get_args(Initial).index(p.initial),
            leaf=p.leaf,
            **{name: Buffer() for name in ("scratch", "shown", "sorted", "plain", "listed")},
        )
        self._incoming: dict[str, NDArray[Any]] | None = None
        _widen(context.shared)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The memories, the oldest first, and the tree."""
        if self._incoming is not None:
            return self._incoming
        state: Any = self.state
        count, used = int(state["node_count"][0]), int(state["router_used"][0])
        routers = state.targets["routers"][:count]
        return {
            **saved_store(state),
            "routers": np.stack([routers[name].astype(np.int64) for name in ("start", "length")], axis=1),
            "medians": routers["median"].copy(),
            "router_rows": state.targets["router_rows"][:used],
            "router_values": state.targets["router_values"][:used],
            "undivided": state["undivided"],
        }

    def limits(self) -> Mapping[str, Limits]:
        """Counts within the memory; the rest is checked by `check_saved`."""
        rows = int(self.context.shared["mask"][0])
        return {
            **limits_of_store(),
            "routers": Limits(0, 1 << 40, grows=True),
            "medians": Limits(grows=True),
            "router_rows": Limits(0, rows, grows=True),
            "router_values": Limits(grows=True),
            "undivided": Limits(0, 1 << 62),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """The memories have features, and form a tree with a direction for each inner node.

        Raises:
            ModelError: they do not.
        """
        check_store(self.name, self.state, arrays)  # type: ignore[arg-type]
        words, start = dense(arrays["words"]), 0
        for length, count, spaces, size in dense(arrays["places"])[:, 4:].tolist():
            piece, start = words[start : start + size], start + size
            sound = not spaces and (size == length + count or (size == length == count))
            if not sound or not all(
                is_list(part) for part in ([piece] if size == length else [piece[:length], piece[length:]])
            ):
                raise ModelError(f"{self.name}: got a memory whose features do not rise, or are not finite")
        routers, tree = dense(arrays["routers"]), dense(arrays["tree"])
        used = len(dense(arrays["router_rows"]))
        fits = (
            len(routers) == len(dense(arrays["medians"])) == len(tree) and len(dense(arrays["router_values"])) == used
        )
        if not fits or used > int(self.state["router_limit"][0]) or int(routers.sum(axis=1).max()) > used:
            raise ModelError(f"{self.name}: got directions that do not fit the tree")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the model's memories."""
        self._incoming = room_for(arrays)

    def loaded(self) -> None:
        """Keep the model's memories."""
        found, self._incoming = self._incoming or {}, None
        state: Any = self.state
        load_store(state, found)
        for column, name in enumerate(("start", "length")):
            state.targets["routers"][name][: len(found["routers"])] = found["routers"][:, column]
        state.targets["routers"]["median"][: len(found["medians"])] = found["medians"]
        used = len(found["router_rows"])
        state["router_used"], state["undivided"] = used, int(found["undivided"][0])
        for name in ("router_rows", "router_values"):
            state.targets[name][:used] = found[name]

    def doubts(self) -> str | None:
        """Whether memories left that were to stay, or leaves grew too large."""
        if (found := doubts_of_store(self.state, self.parameters)) is not None:  # type: ignore[arg-type]
            return found
        if int(self.state["undivided"][0]):
            leaf = self.parameters.leaf
            return f"its tree was full, and leaves hold more than {leaf} memories; set megabytes or leaf higher"
        return None


def _widen(shared: NDArray[Any]) -> None:
    """Let predicted distances reach 3, if nothing else sets their range: the learner is told 0 and 1 alone."""
    if not shared["fixed_range"][0] and shared["min_label"][0] == shared["max_label"][0] == 0:
        shared["max_label"] = 3
