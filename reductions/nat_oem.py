"""Nat-oEM in a chain: the layer directly below learns by EM, and its M-step is held near an anchor.

In mode `step` the anchor is the model before the step, in mode `class` the model at the last boundary between classes.
The regularised statistics are

    S_reg = (S + β E_anchor[s]) / (1 + β),

the form `kl` of `hutch.em.nat_oem`, which has others too.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import Limits
from hutch.core.chain.m_step import MStepReduction
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, layer_of, learn_next, predict_next, shared_of
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity
from hutch.core.parameters import Parameters, Within
from hutch.em.constrained.boundary import Boundaries, Source, after_example, before_example
from hutch.em.constrained.record import CLASS, CONSTRAINT, COUNTS, STEP


class NatOEMParameters(Parameters):
    """Parameters of `nat_oem`.

    Attributes:
        mode: `class` holds to the model at the last boundary, `step` to that before each step.
        beta: weight of the anchor; None: in mode class as many samples as the anchor represents, else 1.
        boundary: of classes: where the number of the block of lines, the label or the first feature of a namespace
            changes, or where the likelihood of rows drops; `group` if not given. Mode class only.
        namespace: for boundary namespace. The layers below see it; list it in no `ignore`.
        threshold: of boundary drift; lower finds more boundaries, true and false.
    """

    mode: Literal["step", "class"] = "class"
    beta: Annotated[float, Within(ge=0)] | None = None
    boundary: Source | None = None
    namespace: str | None = None
    threshold: Annotated[float, Within(gt=0)] = 6.0

    def __post_init__(self) -> None:
        if self.mode == "step" and self.boundary is not None:
            raise ValueError("boundary: mode 'step' has no use for boundaries; wanted mode class with it")
        if (self.boundary == "namespace") != (self.namespace is not None):
            raise ValueError("namespace: belongs to boundary 'namespace', and that to it; got one without the other")

    @property
    def weight(self) -> float:
        """Beta as stored in the record."""
        if self.beta is not None:
            return self.beta
        return COUNTS if self.mode == "class" else 1.0

    @property
    def source(self) -> Source | None:
        """Of boundaries."""
        return (self.boundary or "group") if self.mode == "class" else None


@kernel
def predict(layer, example, label, importance, offset):
    """Pass the example on; in a run that learns, one without a label may open a class, too."""
    at, e = layer_of(layer).state, example_of(example)
    if shared_of(e.shared).testing == 1 or label != UNLABELED:
        return predict_next(layer, example, label, importance, offset)
    before_example(at, e, label)
    prediction = predict_next(layer, example, label, importance, offset)
    after_example(at, e)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Pass the example on, behind the boundary if it opens a class."""
    at, e = layer_of(layer).state, example_of(example)
    before_example(at, e, label)
    prediction = learn_next(layer, example, label, importance, offset)
    after_example(at, e)
    return prediction


class NatOEMLayer(Reduction):
    """Holds the M-step of the layer directly below near an anchor.

    Raises:
        ConfigError: the layer below has no M-step over statistics, or none that can be held like this.
    """

    name: ClassVar[str] = "nat_oem"
    Parameters: ClassVar[type[Parameters]] = NatOEMParameters
    kernels = Kernels(learn, predict, pass_importance_to, pass_sensitivity)

    def __init__(self, parameters: NatOEMParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, below = parameters, context.below
        self.inputs = Inputs(namespaces=() if p.namespace is None else (p.namespace,))  # its first feature is the class
        self.constraint = np.zeros(1, CONSTRAINT)
        self.constraint["beta"], self.constraint["mode"] = p.weight, CLASS if p.mode == "class" else STEP
        self._boundaries = Boundaries(self.constraint, p.source, p.namespace, p.threshold, context.parser)
        self.state = self._boundaries.record
        if below is None:
            return  # the chain has its own message for this
        if not isinstance(below, MStepReduction):
            raise ConfigError(
                f"nat_oem needs statistics of an M-step from the layer directly below, which {below.name!r} lacks; "
                "wanted one such as 'ppca' or 'crowd_em'"
            )
        if below.inputs.whole_groups and p.source in ("group", "label"):
            raise ConfigError(
                f"nat_oem.boundary: got {p.source!r}, but a block of lines is one item of {below.name!r}, and its "
                "labels are answers; wanted namespace or drift"
            )
        below.constrain(self.constraint)

    @property
    def boundaries(self) -> int:
        """The number of classes that have ended."""
        return self._boundaries.count

    def saved(self) -> dict[str, NDArray[Any]]:
        """The boundaries so far, the boundary value of the last row, the drift test."""
        return self._boundaries.saved()

    def limits(self) -> Mapping[str, Limits]:
        """Those of the boundaries."""
        return self._boundaries.limits()
