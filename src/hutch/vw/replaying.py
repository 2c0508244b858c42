"""Vowpal Wabbit's options for experience replay, each of which has its own place in the chain, and back."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from hutch.core.config.override import layer_name
from hutch.core.errors import UsageError

REPLAY = "experience_replay"
_CLASSES = ("one_against_all",)
_COSTS = ("cost_sensitive_one_against_all", "cost_sensitive_active")
_KINDS = ("b", "m", "c")
_NOT_ABOVE = ("lrq", "lrqfa", "autolink", "marginal", "confidence", "nn", "stage_poly", "boosting",
              "bootstrap", "ect", "log_multi", "recall_tree", "emt", "memory_tree", "active_cover", "ksvm",
              "bfgs", "conjugate_gradient")  # fmt: skip
"""Options for layers that learn features or predictions of their own, of which a buffer would hold old ones."""


def replay_layer(options: Namespace) -> list[Any]:
    """The layer of `--replay_b`, `--replay_m` or `--replay_c`; empty if the buffer has no room.

    Args:
        options: the command line.

    Raises:
        UsageError: more than one of them, or one with a layer that learns features of its own.
    """
    asked = [kind for kind in _KINDS if getattr(options, f"replay_{kind}")]
    if len(asked) > 1:
        raise UsageError(f"got {' and '.join(f'--replay_{kind}' for kind in asked)}, wanted one of them")
    others = [name for name in _NOT_ABOVE if getattr(options, name)]
    if asked and others:
        raise UsageError(f"got --replay_{asked[0]} and --{others[0]}, wanted one of them")
    for kind in asked:
        parameters = {"size": getattr(options, f"replay_{kind}")}
        plays = getattr(options, f"replay_{kind}_count")
        parameters |= {"plays": plays} if plays is not None else {}
        return [{REPLAY: parameters | ({"late_range": True} if kind == "m" else {})}]
    return []


def put_in_place(layers: list[Any], options: Namespace) -> list[Any]:
    """Layers with that of replay where VW has it: above the learner, below the classes, or above their costs.

    Args:
        layers: from the top.
        options: the command line.
    """
    names = [layer_name(layer) for layer in layers]
    if REPLAY not in names:
        return layers
    layer = layers.pop(names.index(REPLAY))
    names.remove(REPLAY)
    if options.replay_c:
        place = next((k for k, name in enumerate(names) if name in _COSTS), 0)
    elif options.replay_m:
        place = next((k + 1 for k, name in enumerate(names) if name in _CLASSES), len(names) - 1)
    else:
        place = len(names) - 1 - ("baseline" in names)
    layers.insert(place, layer)
    return layers


def replay_words(layers: Sequence[tuple[str, Any]], given: Any) -> list[str]:
    """The options for a layer of replay.

    Args:
        layers: name and parameters of each, from the top.
        given: parameters of that of replay.
    """
    names = [name for name, _ in layers]
    kind = "c" if names[names.index(REPLAY) + 1] in _COSTS else "m" if given.late_range else "b"
    return [f"--replay_{kind}", str(given.size), f"--replay_{kind}_count", str(given.plays)]
