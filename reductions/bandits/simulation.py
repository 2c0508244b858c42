"""What layers have in common that turn known costs into a bandit: they stand at the top, and count their draws."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Parameters, Reduction
from hutch.core.errors import ConfigError


class Simulation(Reduction):
    """A layer that draws what it predicts; its state has a field `draws`.

    Raises:
        ConfigError: there is a layer above it, or one below it evaluates a policy, whose class no label would name.
    """

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        below = context.below
        while below is not None:
            if below.inputs.evaluates_policy:
                raise ConfigError(
                    f"{self.name} cannot stand above {below.name}, whose labels name the class that a policy chose; "
                    f"wanted class_bandit in its place"
                )
            below = below.context.below

    def saved(self) -> dict[str, NDArray[Any]]:
        """How often it has drawn."""
        return {"draws": self.state["draws"]}

    def limits(self) -> Mapping[str, Limits]:
        """A count."""
        return {"draws": COUNT}
