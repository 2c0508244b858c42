"""What all explorers have in common: a distribution over actions from the scores that the layer below gives them."""

from typing import Annotated

from hutch.core.chain.reduction import Labels, Predictions, Reduction
from hutch.core.parameters import Within

Probability = Annotated[float, Within(ge=0, le=1)]
NonNegative = Annotated[float, Within(ge=0)]
Finite = float


class Explorer(Reduction):
    """A layer that turns scores of actions into probabilities, and hands the learning on."""

    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES)
