"""A model of decisions under other explorers, or under one where it had none: what the layers below learned stays."""

import re
from collections.abc import Mapping
from typing import Any

from hutch.chain import Chain
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.chain.stored import Stored

_LAYER = re.compile(r"layer\.(\d+)\.(.*)", re.DOTALL)


def explorers(chain: Chain) -> int:
    """The number of layers on top that make probabilities of actions, each from one model below.

    >>> chain = Chain.from_config({"chain": ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features",
    ...     "linear"]})
    >>> explorers(chain)
    1
    """
    count = 0
    for layer in chain.layers:
        explores = layer.takes is Labels.LOGGED_ACTION and layer.predicts is Predictions.ACTION_PROBABILITIES
        if not explores or layer.width(layer.parameters) != 1:
            break
        count += 1
    return count


def with_explorers(
    arrays: Mapping[str, Stored], metadata: Mapping[str, Any], config: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The content of a model, its explorers replaced by those of another chain as they are at the start.

    Args:
        arrays, metadata: of the model.
        config: the other chain.

    Returns:
        Arrays and metadata for `Chain.from_arrays`; None where the layers below the explorers are not the same.
    """
    old, new = Chain.from_config(metadata["chain"]), Chain.from_config(config)
    before, after = explorers(old), explorers(new)
    rest = [[layer.name for layer in chain.layers[k:]] for chain, k in ((old, before), (new, after))]
    if rest[0] != rest[1] or not rest[0]:
        return None
    found: dict[str, Any] = {}
    for name, array in new.arrays().items():
        layer = _LAYER.fullmatch(name)
        if layer and int(layer[1]) < after:
            found[name] = array
    for name, stored in arrays.items():
        layer = _LAYER.fullmatch(name)
        if layer is None:
            found[name] = stored
        elif int(layer[1]) >= before:
            found[f"layer.{int(layer[1]) - before + after}.{layer[2]}"] = stored
    written = dict(metadata["chain"])
    written["chain"] = [*config["chain"][:after], *written["chain"][before:]]
    return found, {**metadata, "chain": written}
