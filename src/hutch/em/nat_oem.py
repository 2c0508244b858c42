"""Nat-oEM: online EM whose M-step is held near an anchor by the Fisher information, around any model.

Source: HAL hal-03012909 and its slides, whose step θ_reg = θ - β F⁻¹ (θ - θ*) is the form `literal`. That step is the
natural gradient of the *Euclidean* distance to the anchor: it holds back where information is low, is stable only for
β λmax(F⁻¹) ≤ 2, and its β has the unit of 1 / variance. The form `kl` replaces it by the divergence whose curvature is
F: S_reg = (S + β E_θ*[s]) / (1 + β), then the ordinary M-step.
"""

from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from hutch.core.errors import ConfigError, did_you_mean
from hutch.em.base.learner import State, pack, unpack
from hutch.em.base.model import Array, FisherModel, Model

P = TypeVar("P")
Mode = Literal["step", "class"]
Form = Literal["kl", "implicit", "literal"]
Metric = Literal["complete", "identity"]


class NatOEM(Generic[P]):
    """Holds every M-step near an anchor; β = 0 is plain online EM, bit for bit.

    Args:
        beta: strength, ≥ 0. For `kl` a ratio of sample counts, so it has no unit; for the Fisher forms 1 / variance,
            except with the metric `identity`.
        mode: `step` anchors at the previous parameters, `class` at those of the last boundary (none before the first).
        form: `kl`; `implicit`, the weight βf / (1 + βf) along eigenvectors of F⁻¹ with eigenvalue f, always stable;
            `literal`, the weight βf.
        metric: for the Fisher forms, `complete` (default), that of the complete data, or `identity`.

    Attributes:
        stability: the largest β λmax(F⁻¹) met so far by the form `literal`, which needs at most 2.

    Raises:
        ConfigError: a value out of range, a metric without a Fisher form; later, an unstable literal step.

    >>> NatOEM(beta=10.0, form="implicit", metric="identity").mode
    'step'
    """

    def __init__(
        self, beta: float = 1.0, *, mode: Mode = "step", form: Form = "kl", metric: Metric | None = None
    ) -> None:
        if not 0 <= beta < np.inf:
            raise ConfigError(f"beta: got {beta}, wanted a number ≥ 0")
        given = metric or "complete"
        choices = ("mode", mode, get_args(Mode)), ("form", form, get_args(Form)), ("metric", given, get_args(Metric))
        for name, value, valid in choices:
            if value not in valid:
                raise ConfigError(f"{name}: got {value!r}; {did_you_mean(str(value), valid)}")
        if metric is not None and form == "kl":
            raise ConfigError("metric: the form kl has none; wanted form implicit or literal with it")
        self.beta = beta
        self.mode = mode
        self.form = form
        self.metric = given
        self.stability = 0.0
        self._anchor: P | None = None

    def check(self, model: Model[P]) -> None:
        """Raise `ConfigError` if the model lacks what the form needs."""
        if self.form != "kl" and not isinstance(model, FisherModel):
            raise ConfigError(f"form: {self.form} needs a Fisher information, {type(model).__name__} has none; use kl")

    def maximise(self, model: Model[P], statistics: Array, current: P) -> P:
        """The M-step of the running mean statistics, which stay unchanged, held near the anchor.

        Args:
            model: the model.
            statistics: the running mean statistics.
            current: the present parameters.
        """
        anchor = current if self.mode == "step" else self._anchor
        if anchor is None:
            return model.maximise(statistics)
        if not isinstance(model, FisherModel) or self.form == "kl":
            return model.maximise((statistics + self.beta * model.expected_statistics(anchor)) / (1 + self.beta))
        if self.form == "literal":
            self._check_stability(model.stiffness(anchor, self.metric))
        pulled: P = model.pull(model.maximise(statistics), anchor, self._weight, self.metric)
        return pulled

    def _weight(self, inverse_information: float) -> float:
        step = self.beta * inverse_information
        return step if self.form == "literal" else step / (1 + step)

    def _check_stability(self, stiffness: float) -> None:
        product = self.beta * stiffness
        self.stability = max(self.stability, product)
        if product > 2:
            raise ConfigError(
                f"beta: got {self.beta:g}, wanted at most {2 / stiffness:.3g}: the literal form diverges where "
                f"beta × λmax(F⁻¹) = {product:.3g} exceeds 2; the forms implicit and kl do not"
            )

    def boundary(self, current: P) -> None:
        """A class of the stream ends with these parameters."""
        if self.mode == "class":
            self._anchor = current

    def state(self) -> State:
        """A copy of all that changes while learning."""
        anchor = {} if self._anchor is None else pack(self._anchor, "anchor")
        return {"stability": np.array(self.stability)} | anchor

    def restore(self, state: State, kind: type[P]) -> None:
        """Continue from a `state`; `kind` is the type of the parameters."""
        self.stability = float(state["stability"])
        anchored = any(name.startswith("anchor.") for name in state)
        self._anchor = unpack(kind, state, "anchor") if anchored else None

    def report(self) -> dict[str, Any]:
        """The settings and, for the form `literal`, the stability met."""
        settings: dict[str, Any] = {"beta": self.beta, "mode": self.mode, "form": self.form}
        if self.form != "kl":
            settings["metric"] = self.metric
        return settings | ({"stability": self.stability} if self.form == "literal" else {})
