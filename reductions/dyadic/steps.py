"""The steps of the dyadic learner, each a kernel called by address: a chain compiles only those of its own loss.

Each takes the address of a DYADIC record in place of a layer's, reads the example as the step sees it there (kind,
label, budget, U, V, X and w·x), and leaves there t, the step in the dyads' own measure, and its `growth_`.
"""

import math

import numpy as np

from hutch.core.dyad.curve import PRECISE, ROUGH, growth_
from hutch.core.dyad.linear import loss_slope
from hutch.core.dyad.step import (
    TOLERANCE_EXACT,
    TOLERANCE_FAST,
    step_generic,
    step_smooth_exact,
    step_smooth_fast,
    step_straight,
)
from hutch.core.kernel.abi import kernel, loss_of
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds
from hutch.reductions.dyadic.state import dyadic_of

_0 = np.float32(0)


@helper
def _loss_of(state):
    """The parameter of the loss and the addresses of its derivative."""
    record = loss_of(state.loss)
    return record.parameter, (record.derivative, state.loss)


@helper
def _make(state, t):
    state.t = t
    state.shrink, state.grow = growth_(t) if state.U > 0.0 or state.V > 0.0 else (0.0, 0.0)


@kernel
def straight(record, example, label, importance, offset):
    """Hinge and quantile loss."""
    s = dyadic_of(record)
    tau, loss = _loss_of(s)
    precision = PRECISE if s.tolerance == TOLERANCE_EXACT else ROUGH
    _make(s, step_straight(s.kind, s.budget, s.label, s.U, s.V, s.X, s.wx, tau, loss, precision))
    return _0


@kernel
def smooth_fast(record, example, label, importance, offset):
    """Losses with a closed form for a constant metric, to three digits."""
    s = dyadic_of(record)
    tau, loss = _loss_of(s)
    _make(s, step_smooth_fast(s.kind, s.budget, s.label, s.U, s.V, s.X, s.wx, tau, loss))
    return _0


@kernel
def smooth_exact(record, example, label, importance, offset):
    """The same losses to full precision."""
    s = dyadic_of(record)
    tau, loss = _loss_of(s)
    _make(s, step_smooth_exact(s.kind, s.budget, s.label, s.U, s.V, s.X, s.wx, tau, loss))
    return _0


@kernel
def generic(record, example, label, importance, offset):
    """Losses known by their derivative, to the precision that the record asks for."""
    s = dyadic_of(record)
    tau, loss = _loss_of(s)
    _make(s, step_generic(s.budget, s.label, s.U, s.V, s.X, s.wx, tau, loss, s.tolerance))
    return _0


@kernel
def gradient(record, example, label, importance, offset):
    """A plain gradient step of any loss."""
    s = dyadic_of(record)
    tau, loss = _loss_of(s)
    slope = loss_slope(s.kind, 0.25 * (s.U - s.V) + s.wx, s.label, tau, loss)
    s.t = s.budget * slope if abs(slope) < math.inf else 0.0
    s.shrink, s.grow = -0.5 * s.t, 0.5 * s.t
    return _0


def kernels_of(kind: int, dynamics: str) -> tuple[AddressKernel, AddressKernel | None, float]:
    """The step of a loss, its step for labels that its closed form does not know, and the tolerance of generic steps.

    Args:
        kind: of `core.loss.kinds`.
        dynamics: as the parameter of `dyadic`.
    """
    tolerance = TOLERANCE_EXACT if dynamics == "exact" else TOLERANCE_FAST
    if dynamics == "gradient":
        return gradient, gradient, tolerance
    if kind == kinds.GENERIC:
        return generic, generic, tolerance
    if kind in (kinds.HINGE, kinds.QUANTILE):
        return straight, None, tolerance
    smooth = smooth_exact if dynamics == "exact" else smooth_fast
    return smooth, generic if kind == kinds.LOGISTIC else None, tolerance
