"""What all explorers have in common: a distribution over actions from the scores that the layer below gives them."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Labels, Predictions, Reduction
from hutch.core.parameters import Within

Probability = Annotated[float, Within(ge=0, le=1)]
NonNegative = Annotated[float, Within(ge=0)]


class Explorer(Reduction):
    """A layer that turns scores of actions into probabilities, and hands the learning on.

    Attributes:
        keeps: fields of its state that belong in the model, and what they may hold.
    """

    keeps: ClassVar[Mapping[str, Limits]] = {}

    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES)

    def saved(self) -> dict[str, NDArray[Any]]:
        """What it keeps."""
        return {name: self.state[name] for name in self.keeps}

    def limits(self) -> Mapping[str, Limits]:
        """Of what it keeps."""
        return self.keeps
