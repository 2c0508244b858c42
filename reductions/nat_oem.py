"""Nat-oEM in a chain: the layer directly below learns by EM, and its M-step is held near an anchor.

In mode `step` the anchor is the model before the step, in mode `class` the model at the last boundary between classes.
The form is `kl` over the statistics of the observed data, solved exactly by the layer below (see `hutch.em.natural`):

    S_reg = (S + β E_anchor[s]) / (1 + β)

With the count weight, the default of mode `class`, β is the number of rows before the boundary over the number since.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import float64, int64, uint64
from numpy.typing import NDArray
from pydantic import Field, model_validator

from hutch.core.abi import (
    UNLABELED,
    example_at,
    importance_to_next,
    int64s_at,
    kernel,
    layer_at,
    learn_next,
    predict_next,
    sensitivity_next,
    shared_at,
    uint32s_at,
    view,
)
from hutch.core.constraint import CLASS, CONSTRAINT, COUNTS, STEP, constraint_at
from hutch.core.errors import ConfigError
from hutch.core.hashing import namespace_id
from hutch.core.hooks import hookimpl
from hutch.core.kernel_helper import njit
from hutch.core.reduction import Context, Kernels, Parameters, Reduction
from hutch.reductions.nat_oem_drift import DRIFT, drifted

Boundary = Literal["group", "label", "namespace", "drift"]
_NOWHERE, _GROUP, _LABEL, _NAMESPACE, _DRIFT = range(5)
_KINDS = {None: _NOWHERE, "group": _GROUP, "label": _LABEL, "namespace": _NAMESPACE, "drift": _DRIFT}


class NatOEMParameters(Parameters):
    """Parameters of `nat_oem`.

    Attributes:
        mode: `class` holds to the model at the last boundary, `step` to that before each step.
        form: `kl`; `implicit` and `literal` are forms of `hutch em fit` only.
        beta: weight of the anchor; None: in mode class every row the same weight, in mode step 1.
        boundary: of classes: where the number of the block of lines, the label or the first feature of a namespace
            changes, or where the likelihood of rows drops; `group` if not given. Mode class only.
        namespace: for boundary namespace. The layers below see it; list it in no `ignore`.
        threshold: of boundary drift; lower finds more boundaries, true and false.
    """

    mode: Literal["step", "class"] = "class"
    form: Literal["kl", "implicit", "literal"] = "kl"
    beta: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    boundary: Boundary | None = None
    namespace: str | None = None
    threshold: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 6.0

    @model_validator(mode="after")
    def _check(self) -> "NatOEMParameters":
        if self.form != "kl":
            raise ValueError(
                f"form: {self.form!r} pulls parameters after an M-step, but in a chain the two are solved in one; "
                f"wanted kl, or 'hutch em fit --regularizer nat_oem --form {self.form}'"
            )
        if self.mode == "step" and self.boundary is not None:
            raise ValueError("boundary: mode 'step' has no use for boundaries; wanted mode class with it")
        if (self.boundary == "namespace") != (self.namespace is not None):
            raise ValueError("namespace: belongs to boundary 'namespace', and that to it; got one without the other")
        return self

    @property
    def weight(self) -> float:
        """Beta as the record has it."""
        if self.beta is not None:
            return self.beta
        return COUNTS if self.mode == "class" else 1.0


NAT_OEM = np.dtype(
    [
        ("constraint", "u8"),  # address of the CONSTRAINT record that the layer below sees
        ("boundary", "i8"),
        ("namespace", "i8"),
        ("key", "f8"),  # what the last row's class was told by
        ("known", "i8"),  # 1: there was a row
        ("last", "u8"),  # 1 + number of the example whose likelihood was looked at last
        ("drift", "u8"),  # address of a DRIFT record
    ]
)
nat_oem_at = view(NAT_OEM)


@njit
def _key(s, e, label):  # type: ignore[no-untyped-def]
    """What tells the class of an example; NaN if nothing does."""
    if s.boundary == _GROUP:
        return float64(e.group)
    if s.boundary == _LABEL and label != UNLABELED:
        return float64(label)
    if s.boundary == _NAMESPACE:
        starts, count = int64s_at(e.namespaces, e.namespace_count + uint64(1)), e.namespace_count
        for j in range(count):
            if int64(uint32s_at(e.namespace_ids, count)[j]) == s.namespace and starts[j + 1] > starts[j]:
                return float64(uint32s_at(e.indices, e.length)[starts[j] - starts[0]])
    return np.nan


@njit
def _before(s, example, label):  # type: ignore[no-untyped-def]
    """Tell the layer below if a class ends before this example."""
    e, constraint = example_at(example)[0], constraint_at(s.constraint)[0]
    key = _key(s, e, label)
    if not np.isnan(key):
        if s.known == 1 and key != s.key:
            constraint.boundaries += uint64(1)
        s.key, s.known = key, 1
    constraint.score = np.nan


@njit
def _after(s, example):  # type: ignore[no-untyped-def]
    """Look at the likelihood of a row that the layer below took, once; a boundary comes before the next example."""
    e, constraint = example_at(example)[0], constraint_at(s.constraint)[0]
    if s.boundary != _DRIFT or np.isnan(constraint.score) or s.last == e.number + uint64(1):
        return
    s.last = e.number + uint64(1)
    if drifted(s.drift, constraint.score):
        constraint.boundaries += uint64(1)


@kernel
def predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Pass the example on; in a run that learns, one without a label may open a class, too."""
    s, e = nat_oem_at(layer_at(layer)[0].state)[0], example_at(example)[0]
    if shared_at(e.shared)[0].testing == uint64(1) or label != UNLABELED:
        return predict_next(layer, example, label, importance, offset)
    _before(s, example, label)
    prediction = predict_next(layer, example, label, importance, offset)
    _after(s, example)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Pass the example on, behind the boundary if it opens a class."""
    s = nat_oem_at(layer_at(layer)[0].state)[0]
    _before(s, example, label)
    prediction = learn_next(layer, example, label, importance, offset)
    _after(s, example)
    return prediction


@kernel
def importance_to(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """h_min of the layer below."""
    return importance_to_next(layer, example, label, importance, offset)


@kernel
def sensitivity(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Sensitivity of the layer below."""
    return sensitivity_next(layer, example, label, importance, offset)


class NatOEMLayer(Reduction):
    """Holds the M-step of the layer directly below near an anchor.

    Raises:
        ConfigError: the layer below has no M-step over statistics.
    """

    name: ClassVar[str] = "nat_oem"
    Parameters: ClassVar[type[Parameters]] = NatOEMParameters
    calls = ("importance_to", "sensitivity")

    def __init__(self, parameters: NatOEMParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, below = parameters, context.below
        self.constraint = np.zeros(1, CONSTRAINT)
        self.constraint["beta"], self.constraint["mode"] = p.weight, CLASS if p.mode == "class" else STEP
        self.constraint["scoring"] = p.boundary == "drift"
        self._drift = np.zeros(1, DRIFT)
        self._drift["threshold"] = p.threshold
        self.state: NDArray[Any] = np.zeros(1, NAT_OEM)
        s = self.state[0]
        s["constraint"], s["drift"] = self.constraint.ctypes.data, self._drift.ctypes.data
        s["boundary"] = _KINDS[(p.boundary or "group") if p.mode == "class" else None]
        s["namespace"] = namespace_id(p.namespace or "", context.parser.namespaces)
        if below is None:
            return  # the chain says so in its own words
        if not below.statistics:
            raise ConfigError(
                f"nat_oem asks of the layer directly below statistics of an M-step, which {below.name!r} has not; "
                "wanted one such as 'ppca'"
            )
        below.constrain(self.constraint)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        below = self.context.below.kernels if self.context.below else Kernels(learn, predict)
        return Kernels(
            learn,
            predict,
            importance_to if below.importance_to else None,
            sensitivity if below.sensitivity else None,
        )

    @property
    def boundaries(self) -> int:
        """How many classes have ended."""
        return int(self.constraint["boundaries"][0])

    def saved(self) -> dict[str, NDArray[Any]]:
        """The boundaries so far, what the last row was told by, and the drift test."""
        found = {name: self.state[name] for name in ("key", "known", "last")}
        found |= {f"drift.{name}": self._drift[name] for name in ("sum", "seen", "reference")}
        return found | {"boundaries": self.constraint["boundaries"]}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register Nat-oEM."""
    register(NatOEMLayer)
