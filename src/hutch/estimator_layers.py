"""The layers of estimators: with parameters that are tuned, the number of classes, a link where the loss wants one."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hutch.chain import Chain
from hutch.core.chain.reduction import Labels
from hutch.core.errors import HutchError
from hutch.core.parameters import parameters_of
from hutch.plugins.manager import installed

Layers = Sequence[Mapping[str, Any] | str]


def regression_layers(loss: str | Mapping[str, Any] | None) -> list[Any]:
    """The layers of a regressor that was given none: predictions are means of the labels, whatever the loss."""
    name = next(iter(loss)) if isinstance(loss, Mapping) else loss
    return [{"link": {"function": "poisson"}}, "linear"] if name == "poisson" else ["linear"]


def tuned(layers: Layers, tuning: Mapping[str, Any]) -> list[Any]:
    """The layers, the base learner with these parameters."""
    *above, base = layers
    name, given = (base, None) if isinstance(base, str) else next(iter(base.items()))
    return [*above, {name: {**(given or {}), **tuning}}] if tuning else list(layers)


def with_classes(layers: Layers, classes: int) -> list[Any]:
    """The layers, with the number of classes where a layer needs it and lacks it."""
    reductions = installed().registry.reductions
    found: list[Any] = []
    for layer in layers:
        name, given = (layer, None) if isinstance(layer, str) else next(iter(layer.items()))
        known = [each.name for each in parameters_of(reductions[name].Parameters)] if name in reductions else []
        given = dict(given or {})
        if "classes" in known and "classes" not in given:
            given["classes"] = classes
        found.append({name: given})
    return found


@lru_cache(maxsize=64)
def _layers_have_scores(layers: str) -> bool:
    """Whether chains of these layers, given as JSON, have scores, so that methods are there before `fit`."""
    try:
        chain = Chain.from_config({"weights": {"bits": 22}, "chain": with_classes(json.loads(layers), 3)})
    except HutchError:
        return True  # `fit` says what is wrong
    return chain.takes == Labels.SIMPLE or chain.score_count > 0


def has_scores(estimator: Any) -> bool:
    """Whether chains of an estimator's layers have scores.

    Raises:
        AttributeError: they have none.
    """
    if estimator.layers is None:
        return True
    try:
        layers = json.dumps(list(estimator.layers))
    except TypeError:
        return True  # `fit` says what is wrong
    if not _layers_have_scores(layers):
        raise AttributeError("the layer on top has no scores")
    return True
