"""What a loss is, and how a layer chooses one by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.abi import LOSS
from hutch.core.errors import ConfigError, did_you_mean
from hutch.core.kernel_cache import AddressKernel


@dataclass(frozen=True, slots=True)
class LossChoice:
    """A loss by name with its parameters, as a chain's YAML gives it: `hinge` or `{quantile: {tau: 0.9}}`."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def resolve(self, losses: Mapping[str, "Loss"]) -> "Loss":
        """The installed loss of that name.

        Raises:
            ConfigError: no such loss.
        """
        if self.name not in losses:
            raise ConfigError(f"loss {self.name!r} is not installed; {did_you_mean(self.name, losses)}")
        return losses[self.name]
