"""What all explorers have in common: a distribution over actions from the scores that the layer below gives them."""

from typing import Annotated

from pydantic import Field

from hutch.core.chain.reduction import Labels, Predictions, Reduction

Probability = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Explorer(Reduction):
    """A layer that turns scores of actions into probabilities, and hands the learning on."""

    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES)
