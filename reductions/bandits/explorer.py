"""Base of all explorers: a distribution over actions from the scores of the layer below."""

from typing import Annotated, Any, ClassVar

import numpy as np

from hutch.core.chain.reduction import Context, Labels, Predictions
from hutch.core.declared.layer import Layer
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import Within

Probability = Annotated[float, Within(ge=0, le=1)]
NonNegative = Annotated[float, Within(ge=0)]


class Explorer(Layer):
    """A layer that turns scores of actions into probabilities, and passes learning on to the layer below.

    Args:
        parameters: those with the name of a field of the state go there.
        context: of the layer.
        fields: further fields of its state.

    Attributes:
        leaves_out: some actions are no candidates: these have the probability 0, and no others.
        dtype: of its state, where it does not declare one; a field `scratch` is the address of a BUFFER.
    """

    leaves_out: ClassVar[bool] = False
    dtype: ClassVar[np.dtype[Any] | None] = None
    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES)

    def __init__(self, parameters: Any, context: Context, **fields: Any) -> None:
        super().__init__(parameters, context)
        if self.dtype is None:
            return
        same = {name: vars(parameters)[name] for name in self.dtype.names or () if name in vars(parameters)}
        room = {"scratch": Buffer()} if "scratch" in (self.dtype.names or ()) else {}
        self.state = Record(self.dtype, **(room | same | fields))
