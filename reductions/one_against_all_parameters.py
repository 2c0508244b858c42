"""The parameters of `one_against_all` and `cost_sensitive_one_against_all`."""

from typing import Annotated, Literal

from pydantic import Field

from hutch.core.parameters import Parameters


class OneAgainstAllParameters(Parameters):
    """Parameters of `one_against_all`.

    Attributes:
        classes: how many.
        first_class: the smallest label, 0 or 1. `detect` does as VW: labels count from 1 until a 0 comes before the
            largest label does, and a label beyond the classes is a negative example of every class.
        probabilities: scores are logistic functions of the predictions, scaled to sum 1.
        predict_first: as VW, all sub-models predict before any learns, and a linear learner learns from the prediction
            as a link between makes it; it matters only with regularisation, first weights, a link or latent features
            below. False is faster, and never learns from a prediction that is not the learner's own.
    """

    classes: Annotated[int, Field(ge=2, le=1 << 20)]
    first_class: Literal[0, 1, "detect"] = "detect"
    probabilities: bool = False
    predict_first: bool = False


class CostSensitiveParameters(Parameters):
    """Parameters of `cost_sensitive_one_against_all`.

    Attributes:
        classes: how many.
        first_class: the smallest class, 0 or 1; `detect` does as VW: classes count from 1 until a 0 comes before the
            largest class does.
    """

    classes: Annotated[int, Field(ge=1, le=1 << 20)]
    first_class: Literal[0, 1, "detect"] = "detect"
