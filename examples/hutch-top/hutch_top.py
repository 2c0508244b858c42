"""Explore among the best: the actions with the lowest scores share all probability equally."""

from typing import Annotated

from hutch.plugin import (
    Explorer,
    Kernels,
    Parameters,
    State,
    Within,
    conclude,
    decision_of,
    kernel,
    predict_and_teach,
    predict_next,
    registering,
    values_of,
)


class ExploreTopParameters(Parameters):
    """Parameters of `explore_top`.

    Attributes:
        count: how many of the best actions share the probability.
    """

    count: Annotated[int, Within(ge=1)] = 2


state = State(ExploreTopParameters)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, label, importance, offset)  # ranks the actions; values are their scores
    values = values_of(decision_of(example))
    count = min(state(layer, offset).count, len(values))
    for k in range(len(values)):
        values[k] = 1 / count if k < count else 0
    return conclude(example, importance)


class ExploreTop(Explorer):
    """Chooses among the best actions, each as likely as the others."""

    name = "explore_top"
    declares = state
    kernels = Kernels(predict_and_teach, predict)


hutch_register_reductions = registering(ExploreTop)
