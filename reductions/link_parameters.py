"""The parameters of `link` and `binary`."""

from typing import Literal

from hutch.core.parameters import Parameters


class LinkParameters(Parameters):
    """Parameters of `link`.

    Attributes:
        function: `logistic` gives 1 / (1 + e^-p), `glf1` 2 / (1 + e^-p) - 1, `poisson` e^p.
    """

    function: Literal["identity", "logistic", "glf1", "poisson"] = "logistic"


class BinaryParameters(Parameters):
    """`binary` has no parameters."""
