"""Whether the layers of a chain fit each other."""

from collections.abc import Sequence

from hutch.core.chain.contract import kernels_of
from hutch.core.chain.derived import lacking
from hutch.core.chain.reduction import Labels, LayerConfig, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.errors import ConfigError


def check_neighbours(layers: Sequence[LayerConfig], registry: Registry) -> tuple[Labels, Predictions]:
    """Check that every layer fits the one below it; returns what the whole chain takes and predicts.

    Raises:
        ConfigError: it names both layers and both kinds.
    """
    if not layers:
        raise ConfigError("chain: got no layer, wanted at least a base learner such as 'linear'")
    takes: Labels | None = None
    predicts: Predictions | None = None
    for position in range(len(layers) - 1, -1, -1):
        name = layers[position].name
        reduction = registry.reductions[name]
        below = layers[position + 1].name if position + 1 < len(layers) else None
        if below is None and not reduction.is_base:
            raise ConfigError(f"chain[{position}].{name}: got nothing below it, wanted a base learner such as 'linear'")
        if below is not None and reduction.is_base:
            raise ConfigError(f"chain[{position}].{name}: a base learner comes last, got {below!r} below it")
        wanted = reduction.asks
        if wanted and (takes != wanted[0] or wanted[1] not in (None, predicts)):
            raise ConfigError(
                f"chain[{position}].{name} needs a layer below it that takes labels {wanted[0].value!r} and predicts "
                f"{wanted[1].value if wanted[1] else 'anything'!r}, but chain[{position + 1}].{below} takes labels "
                f"{takes.value if takes else None!r} and predicts {predicts.value if predicts else None!r}"
            )
        if (
            takes is not None
            and takes.of_decisions
            and reduction.takes is None
            and not reduction.inputs.passes_decisions
        ):
            raise ConfigError(
                f"chain[{position}].{name} reads single examples, but chain[{position + 1}].{below} takes decisions; "
                "wanted it below the layers that decide"
            )
        takes, predicts = reduction.takes or takes, reduction.predicts or predicts
    assert takes is not None and predicts is not None
    return takes, predicts


def check_calls(layer: Reduction, position: int) -> None:
    """Check that the layer below offers the kernels that a layer calls.

    Raises:
        ConfigError: it names the layer and the one that lacks a kernel.
    """
    below = layer.context.below
    for name in kernels_of(layer).calls:
        if below is not None and (lacks := lacking(below, name)) is not None:
            raise ConfigError(
                f"chain[{position}].{layer.name} needs {name} from the layers below it, which {lacks.name!r} lacks"
            )
