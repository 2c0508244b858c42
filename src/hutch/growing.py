"""A chain of several classes that gets room for more of them, with all that it has learned."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain, with_classes
from hutch.core.chain.first_class import PerClass
from hutch.core.chain.reduction import Labels

_FIXED = ("shared.mask", "shared.multiplier", "shared.stride")


def can_grow(layers: Sequence[Mapping[str, Any] | str], chain: Chain) -> bool:
    """Whether `grown` can give a chain more classes.

    Args:
        layers: those from which it was built, as they were given: only one lacks the number of classes.
        chain: the chain.

    >>> layers = ["one_against_all", {"linear": {"loss": "logistic"}}]
    >>> can_grow(layers, Chain.from_config({"chain": with_classes(layers, 16)}))
    True
    """
    pairs = zip(with_classes(layers, 2), with_classes(layers, 4), strict=True)
    lacking = [k for k, (one, other) in enumerate(pairs) if one != other]
    if len(lacking) != 1:
        return False
    layer = chain.layers[lacking[0]]
    of_each = isinstance(layer, PerClass) and layer.takes is Labels.MULTICLASS
    return of_each and int(chain.shared["multiplier"][0]) == layer.answers.classes


def grown(chain: Chain) -> Chain:
    """A chain with room for twice as many classes, which goes on where the chain is.

    The last class must not have been a label yet: it has learned that each example is none of it, as further classes
    would have, and each of these gets its state. The weight table has the same size, now for twice as many sub-models:
    features that share a row by this get the sum of their weights.

    Args:
        chain: the layer on top of it that has `classes` makes all its sub-models, whose number is a power of two.

    >>> layers = [{"one_against_all": {"classes": 2}}, {"linear": {"loss": "logistic"}}]
    >>> chain = Chain.from_config({"chain": layers, "weights": {"bits": 10}})
    >>> _ = chain.learn(["1 |w a", "1 |w b"])
    >>> more = grown(chain)
    >>> more.layers[0].answers.classes, bool(np.all(more.scores("|w a")[:, :2] == chain.scores("|w a")))
    (4, True)
    """
    config = chain.config.to_dict(defaults=False)
    classes = int(chain.shared["multiplier"][0])
    for layer in config["chain"]:
        for settings in layer.values() if isinstance(layer, dict) else ():
            if "classes" in (settings or {}):
                settings["classes"] = 2 * classes
    found = Chain.from_config(config)
    live, arrays = found.arrays(), {}
    for name, array in chain.arrays().items():
        if name == "weights":
            arrays[name] = _spread(array, classes)
        elif name in _FIXED:
            arrays[name] = live[name].copy()
        elif live[name].shape != array.shape:
            arrays[name] = np.concatenate([array, np.repeat(array[-1:], len(array), axis=0)])
        else:
            arrays[name] = array.copy()
    found.restore(arrays)
    return found


def _spread(weights: NDArray[Any], classes: int) -> NDArray[Any]:
    """The weight table for twice as many classes."""
    shared = weights.reshape(2, len(weights) // classes // 2, classes, -1).sum(axis=0)
    found = np.concatenate([shared, np.repeat(shared[:, -1:], classes, axis=1)], axis=1)
    return np.ascontiguousarray(found.reshape(weights.shape), weights.dtype)
