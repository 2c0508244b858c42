"""What layers of logged classes have in common."""

from typing import Any, ClassVar

from hutch.core.chain.reduction import Context, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError


def require_classes(name: str, classes: int, context: Context) -> None:
    """Refuse a chain whose layer below has another number of classes.

    Raises:
        ConfigError: it names both numbers.
    """
    below = context.below
    if below is not None and below.answers.classes != classes:
        raise ConfigError(
            f"{name}.classes: got {classes}, wanted {below.answers.classes}: so many has {below.name} below it"
        )


def require_models_of_classes(name: str, classes: int, context: Context) -> None:
    """Refuse a chain whose layer below does not have a model for each class.

    Raises:
        ConfigError: it names the layer that does.
    """
    below = context.below
    if below is None or below.name != "cost_sensitive_one_against_all":
        got = below.name if below else None
        raise ConfigError(f"{name} needs cost_sensitive_one_against_all below it: got {got!r}")
    require_classes(name, classes, context)


class ClassExplorer(Reduction):
    """A layer that turns the class that a bandit below it chooses into probabilities, and hands the learning on."""

    takes: ClassVar[Labels | None] = Labels.LOGGED_CLASS
    predicts: ClassVar[Predictions | None] = Predictions.ACTION_PROBABILITIES
    asks: ClassVar[Any] = (Labels.LOGGED_CLASS, Predictions.CLASS)

    @property
    def class_count(self) -> int:
        """How many classes the layers below tell apart."""
        below = self.context.below
        return int(below.answers.classes or 0) if below else 0
