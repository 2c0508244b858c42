"""The examples and nodes of a memory tree as arrays of a model, packed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ModelError
from hutch.core.kernel.record import Record
from hutch.reductions.memory_trees.store import NODE, SLOT

_PLACES = ("next", "node", "older", "label", "length", "count", "spaces", "words")
_NUMBERS = ("square", "importance")
_COUNTS = ("crowded", "gone")


def new_store(memories: int, megabytes: int, most_nodes: int) -> dict[str, Any]:
    """Fields of a state record for a store that holds nothing.

    Args:
        memories: examples kept.
        megabytes: for their features.
        most_nodes: of the tree.
    """
    nodes, words = np.zeros(most_nodes, NODE), megabytes << 17
    nodes[0] = (-1, -1, -1, -1, -1, 0)
    return {
        "slots": np.zeros(memories, SLOT),
        "capacity": memories,
        "newest": -1,
        "oldest": -1,
        "words": np.zeros(words, np.uint64),
        "limit": words // 2,
        "order": np.zeros(2 * memories, np.int64),
        "nodes": nodes,
        "most_nodes": most_nodes,
        "node_count": 1,
    }


def saved_store(state: Record) -> dict[str, NDArray[Any]]:
    """The arrays of a store."""
    kept, count = int(state["kept"][0]), int(state["node_count"][0])
    slots, words, nodes = state.targets["slots"][:kept], state.targets["words"], state.targets["nodes"][:count]
    pieces = [words[slot["start"] : slot["start"] + slot["words"]] for slot in slots]
    return {
        "places": np.stack([slots[name].astype(np.int64) for name in _PLACES], axis=1),
        "numbers": np.stack([slots[name] for name in _NUMBERS], axis=1),
        "words": np.concatenate([np.zeros(0, np.uint64), *pieces]),
        "tree": np.stack([nodes[name] for name in NODE.names or ()], axis=1),
        "counts": np.array([int(state[name][0]) for name in _COUNTS], np.int64),
    }


def load_store(state: Record, found: Mapping[str, NDArray[Any]]) -> None:
    """Put what `saved_store` returned, of a model that was checked, into a store."""
    slots, words, nodes = (state.targets[name] for name in ("slots", "words", "nodes"))
    places, kept = found["places"], len(found["places"])
    for column, name in enumerate(_PLACES):
        slots[name][:kept] = places[:, column]
    for column, name in enumerate(_NUMBERS):
        slots[name][:kept] = found["numbers"][:, column]
    slots["start"][:kept] = np.cumsum(places[:, -1]) - places[:, -1]
    slots["laid"][:kept] = state.targets["order"][:kept] = np.arange(kept)
    words[: len(found["words"])] = found["words"]
    older, slots["newer"][:kept] = places[:, 2], -1
    slots["newer"][older[older >= 0]] = np.flatnonzero(older >= 0)
    for column, name in enumerate(NODE.names or ()):
        nodes[name][: len(found["tree"])] = found["tree"][:, column]
    values = {"kept": kept, "laid_count": kept, "live": len(found["words"]), "end": len(found["words"])}
    values |= {"node_count": len(found["tree"])} | dict(zip(_COUNTS, found["counts"].tolist(), strict=True))
    values["oldest"] = int(np.flatnonzero(older < 0)[0]) if kept else -1
    values["newest"] = int(np.flatnonzero(slots["newer"][:kept] < 0)[0]) if kept else -1
    for name, value in values.items():
        state[name] = value


def limits_of_store() -> dict[str, Limits]:
    """Limits of the arrays of `saved_store`."""
    return {
        "places": Limits(-1, (1 << 32) - 1, grows=True),
        "numbers": Limits(0, finite=True, grows=True),
        "words": Limits(grows=True),
        "tree": Limits(-1, 1 << 40, grows=True),
        "counts": Limits(0, (1 << 62) - 1),
    }


def check_store(name: str, state: Record, arrays: Mapping[str, Stored]) -> None:
    """Check that the arrays of a model are a tree whose leaves hold each example once.

    Args:
        name: of the layer.
        state: of a new layer.
        arrays: of the model, within their limits.

    Raises:
        ModelError: they are not.
    """
    places, words, tree = (dense(arrays[each]) for each in ("places", "words", "tree"))
    kept, count = len(places), len(tree)
    if kept > int(state["capacity"][0]) or len(words) > int(state["limit"][0]) or len(dense(arrays["numbers"])) != kept:
        raise ModelError(f"{name}: got {kept} memories of {len(words)} words, which do not fit into its memory")
    if not 1 <= count <= int(state["most_nodes"][0]):
        raise ModelError(f"{name}: got {count} nodes, wanted at most {int(state['most_nodes'][0])}")
    if (places[:, 3:] < 0).any() or int(places[:, -1].sum()) != len(words) or not _is_tree(tree):
        raise ModelError(f"{name}: got memories or nodes that do not fit each other")
    if not _lists_each_once(tree, places) or not _is_order(places[:, 2]):
        raise ModelError(f"{name}: got leaves, or an order of use, that do not list each memory once")


def _is_tree(tree: NDArray[np.int64]) -> bool:
    """Whether each node but the root is the child of an inner node, its parent."""
    inner, count = tree[:, 1] >= 0, len(tree)
    if (inner != (tree[:, 2] >= 0)).any() or tree[0, 0] != -1 or (tree[:, :3] >= count).any():
        return False
    children, parents = tree[inner, 1:3].ravel(), np.repeat(np.flatnonzero(inner), 2)
    if not np.array_equal(np.sort(children), np.arange(1, count)) or (tree[children, 0] != parents).any():
        return False
    seen, level = 1, np.array([0])
    while len(level := tree[level[tree[level, 1] >= 0], 1:3].ravel()):
        seen += len(level)
    return seen == count and bool((tree[inner, 3:5] == -1).all()) and not tree[inner, 5].any()


def _lists_each_once(tree: NDArray[np.int64], places: NDArray[np.int64]) -> bool:
    """Whether the lists of all leaves hold each example once, and each example knows its leaf."""
    links, nodes, seen = places[:, 0].tolist(), places[:, 1].tolist(), 0
    for node, (_, _, _, head, tail, count) in enumerate(tree.tolist()):
        last, at, length = -1, head, 0
        while at != -1:
            if not at < len(links) or nodes[at] != node or length > len(links):
                return False
            last, at, length = at, links[at], length + 1
        if last != tail or length != count:
            return False
        seen += length
    return seen == len(links)


def _is_order(older: NDArray[np.int64]) -> bool:
    """Whether each slot but one was used after another one, all in one row."""
    links, count = older.tolist(), len(older)
    if not count:
        return True
    newer = {each: k for k, each in enumerate(links)}
    if len(newer) != count or -1 not in newer or max(links) >= count:
        return False
    at, seen = newer[-1], 1
    while at in newer and seen <= count:
        at, seen = newer[at], seen + 1
    return seen == count


def is_list(words: NDArray[np.uint64]) -> bool:
    """Whether words of a model are rising rows, and finite values."""
    halves = np.ascontiguousarray(words).view(np.uint32)
    rows, values = halves[: len(words)].astype(np.int64), halves[len(words) :].view(np.float32)
    return bool((np.diff(rows) > 0).all() and np.isfinite(values).all())


def doubts_of_store(state: Record, parameters: Any) -> str | None:
    """Warning about memories that left though they were to stay; None without one.

    Args:
        state: of the layer.
        parameters: with `memories`, `most` and `megabytes`.
    """
    if crowded := int(state["crowded"][0]):
        return f"its {parameters.megabytes} megabytes were full: {crowded} memories left early; set megabytes higher"
    if parameters.memories is None and int(state["gone"][0]):
        return f"of more than {parameters.most} memories some left; set memories to the number to keep"
    return None
