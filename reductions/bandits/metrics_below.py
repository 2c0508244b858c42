"""Layers that would teach a layer of metrics something else than what was seen, which are refused."""

from hutch.core.chain.capabilities import WeighsMetrics, has
from hutch.core.chain.reduction import Context
from hutch.core.errors import ConfigError


def refuse_metrics(setting: str, context: Context, wanted: str) -> None:
    """Refuse a layer that makes up costs, if one below learns metrics in their place.

    Args:
        setting: of the layer, for the message.
        context: of the layer.
        wanted: in its place.

    Raises:
        ConfigError: one does.
    """
    layer = context.below
    while layer is not None:
        if has(layer, WeighsMetrics):
            raise ConfigError(
                f"{setting} teaches costs that it makes up, but the chain learns metrics; wanted {wanted}"
            )
        layer = layer.context.below
