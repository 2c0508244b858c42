"""A chain that has been checked."""

import copy
from dataclasses import dataclass, field
from typing import Any

from hutch.core.chain.reduction import LayerConfig
from hutch.core.config.sections import InputOptions, PluginOptions, WeightOptions


@dataclass(frozen=True, slots=True)
class ChainConfig:
    """A checked chain.

    Attributes:
        weights: the weight table.
        input: how text becomes features.
        seed: of every random decision.
        plugins: which plugins are loaded.
        chain: the layers, from top to base.
        written: the plain values of `to_dict`, with and without defaults.
    """

    weights: WeightOptions
    input: InputOptions
    seed: int
    plugins: PluginOptions
    chain: tuple[LayerConfig, ...]
    written: tuple[dict[str, Any], dict[str, Any]] = field(compare=False, repr=False)

    def to_dict(self, defaults: bool = True) -> dict[str, Any]:
        """Plain values from which `validate` makes the same chain; without `defaults`, only those given."""
        return copy.deepcopy(self.written[0 if defaults else 1])
