"""Merges what chains have learned from shards of the data into one state.

A row of the weight table becomes the mean of its values in the shards that changed it; a step moves it further than
that, or less far. The layer declares how all other arrays are merged (`Parallel.merging`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.engine import Engine as ChainEngine
from hutch.core.chain.reduction import Reduction
from hutch.core.errors import ConfigError, PluginError
from hutch.core.kernel.cache import compiled

Arrays = dict[str, NDArray[Any]]
Sums = dict[str, Any]

KINDS = ("add", "mean", "least", "greatest", "keep")
SHARED = {
    **dict.fromkeys(
        ("mask", "multiplier", "stride", "pass", "decay", "fixed_range", "testing", "random_state"), "keep"
    ),
    **dict.fromkeys(("time", "sum_loss", "sum_loss_holdout", "examples", "features", "queries"), "add"),
    **dict.fromkeys(("weighted_unlabeled", "weighted_holdout", "weighted_labeled", "weighted_labels"), "add"),
    "min_label": "least",
    "max_label": "greatest",
}
"""How the counters of a chain are merged."""


def check_divisible(chain: ChainEngine) -> None:
    """Check whether a chain can learn from shards.

    Raises:
        ConfigError: layers cannot be merged; the message names all of them.
        PluginError: a layer's `merging` is not in the form of `Parallel`.
    """
    wrong = []
    for k, layer in enumerate(chain.layers):
        if layer.parallel.merging is None:
            wrong.append(f"chain[{k}].{layer.name}: declares no merging: it cannot learn from shards of the data")
        else:
            _check(layer, layer.parallel.merging)
    if wrong:
        raise ConfigError("\n".join(wrong))


def _check(layer: Reduction, merging: Mapping[str, str]) -> None:
    names = set(layer.saved())
    for name in sorted(names ^ set(merging)):
        text = "merging lacks" if name in names else "merging names an array that is not saved:"
        raise PluginError(f"{layer.name}: {text} {name!r}")
    for name, kind in merging.items():
        word, *others = kind.split(":")
        wanted = {"mean": (0, 1), "squares": (2,)}.get(word, (0,))
        if word not in (*KINDS, "squares") or len(others) not in wanted or not names >= set(others):
            raise PluginError(f"{layer.name}.merging: {name}: got {kind!r}, wanted one of {', '.join(KINDS)}, mean:W")


def kinds_of(chain: ChainEngine) -> Iterator[tuple[str, str, str]]:
    """Every array of a chain but the weights: its name in the model, the prefix there, and how it is merged."""
    for name, kind in SHARED.items():
        if f"shared.{name}" in chain.arrays():
            yield f"shared.{name}", "shared.", kind
    for k, layer in enumerate(chain.layers):
        prefix = f"layer.{k}.{layer.name}."
        for name, kind in (layer.parallel.merging or {}).items():
            yield prefix + name, prefix, kind


@compiled
def _differing(now, then, rows):
    """Write the numbers of the rows of `now` that differ from those of `then`; its last row represents all after
    it. Returns their number."""
    found = 0
    for i in range(now.shape[0]):
        k = min(i, then.shape[0] - 1)
        for j in range(now.shape[1]):
            if now[i, j] != then[k, j]:
                rows[found] = i
                found += 1
                break
    return found


def differing_rows(now: NDArray[np.float32], then: NDArray[np.float32] | None = None) -> NDArray[np.uint32]:
    """Numbers of the rows of a weight table whose bits are not those of another, or not all zero.

    >>> differing_rows(np.array([[0.0, 0.0], [0.0, 1.0], [-0.0, 0.0]], np.float32)).tolist()
    [1, 2]
    """
    rows = np.empty(len(now), np.uint32)
    before = np.zeros((1, now.shape[1]), np.uint32) if then is None else then.view(np.uint32)
    return rows[: _differing(now.view(np.uint32), before, rows)].copy()


def learned_from(chain: ChainEngine, before: Arrays) -> Sums:
    """What a chain has learned since a state, in a form that can be added up over chains.

    Returns:
        `rows` uint32 (rows changed), `values` (rows changed, stride): their present values, `counts`: number of chains
        that changed each, `arrays`: all others by name, `shards`: number of chains.
    """
    now, then = chain.weights, before["weights"]
    changed = differing_rows(now, then)
    live, arrays = chain.arrays(), {}
    for name, prefix, kind in kinds_of(chain):
        value, word = np.asarray(live[name]), kind.partition(":")[0]
        if word in ("mean", "squares"):
            arrays[name] = _moment(live, before, name, prefix, kind)
        else:  # a sum, too, not its growth, so that the sum over one chain is the same to the bit
            arrays[name] = value.copy()
    return {
        "rows": changed,
        "values": now[changed],
        "counts": np.ones(len(changed), np.uint32),
        "arrays": arrays,
        "kinds": {name: kind.partition(":")[0] for name, _, kind in kinds_of(chain)},
        "shards": 1,
    }


def _moment(live: Arrays, before: Arrays, name: str, prefix: str, kind: str) -> NDArray[Any]:
    """A mean or a sum of squares as a sum over values less the mean before (Chan, Golub and LeVeque, 1979)."""
    word, *others = kind.split(":")
    value = np.asarray(live[name], np.float64)
    if not others:
        return value
    weight = np.asarray(live[prefix + others[0]], np.float64)
    if word == "mean":
        return np.asarray(weight * (value - before[name]))
    off = np.asarray(live[prefix + others[1]], np.float64) - before[prefix + others[1]]
    return np.asarray(value + weight * off**2 - before[name])


def add(*parts: Sums) -> Sums:
    """Add up what several chains have learned since one state, from left to right."""
    rows = np.unique(np.concatenate([part["rows"] for part in parts]))
    stride = parts[0]["values"].shape[1]
    values, counts = np.zeros((len(rows), stride)), np.zeros(len(rows), np.uint32)
    for part in parts:
        places = np.searchsorted(rows, part["rows"])
        values[places] += part["values"]
        counts[places] += part["counts"]
    arrays = {}
    for name, kind in parts[0]["kinds"].items():
        found = [part["arrays"][name] for part in parts]
        if kind == "keep":
            arrays[name] = found[0]
        elif kind in ("least", "greatest"):
            arrays[name] = (np.minimum if kind == "least" else np.maximum).reduce(found)
        else:
            arrays[name] = np.add.reduce(found)
    shards = sum(part["shards"] for part in parts)
    return {**parts[0], "rows": rows, "values": values, "counts": counts, "arrays": arrays, "shards": shards}


def absorb(chain: ChainEngine, sums: Sums, step: float = 1.0) -> None:
    """Apply what chains have learned to a chain in the state before that.

    Args:
        chain: changed in place.
        sums: of all shards.
        step: how far rows are moved in the direction of their mean change; 1: to the mean.
    """
    rows, columns = sums["rows"], slice(chain.layers[-1].parallel.scaled)
    mean = sums["values"] / sums["counts"][:, None]
    if step != 1.0:
        then = chain.weights[rows]
        mean[:, columns] = then[:, columns] + step * (mean[:, columns] - then[:, columns])
    chain.weights[rows] = mean
    arrays = {name: np.array(array) for name, array in chain.arrays().items() if name != "weights"}
    for name, prefix, kind in kinds_of(chain):
        arrays[name] = _absorbed(arrays, sums, name, prefix, kind)
    chain.restore({"weights": chain.weights, **arrays})


def _absorbed(arrays: Arrays, sums: Sums, name: str, prefix: str, kind: str) -> NDArray[Any]:
    """One array after the merge; `arrays` holds those before it and the ones merged so far."""
    found, then = sums["arrays"][name], arrays[name]
    word, *others = kind.split(":")
    if word in ("least", "greatest", "keep"):
        return np.asarray(found, then.dtype)
    if word == "add":
        return np.asarray(found - then * then.dtype.type(sums["shards"] - 1), then.dtype)
    if not others:
        return np.asarray(found / sums["shards"], then.dtype)
    weight = arrays[prefix + others[0]]  # already merged: the layer names weights before the arrays that they weigh
    if word == "mean":
        return np.asarray(then + found / np.where(weight > 0, weight, 1), then.dtype)
    off = sums["arrays"][prefix + others[1]] / np.where(weight > 0, weight, 1)
    return np.asarray(then + found - weight * off**2, then.dtype)
