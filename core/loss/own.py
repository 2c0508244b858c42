"""Kernels that stand before those that a plugin gives for its loss: what raises, or is not a number, teaches nothing.

Only losses with kernels of their own pay for it, one call by address for each of theirs.
"""

import math

from numpy import uint64

from hutch.core.kernel.abi import call_own_loss, loss_kernel, loss_of
from hutch.core.kernel.decorators import helper


@helper
def _checked(found, record, least):
    """A plugin's number; 0 where it raised, is not finite or less than it may be, and counted."""
    if not (math.isfinite(found) and found >= least):
        record.failures = record.failures + uint64(1)
        return 0.0
    return found


@loss_kernel
def own_value(prediction, label, scale, norm, loss):
    """The plugin's value; NaN where it raises."""
    return call_own_loss(loss_of(loss).own_value, prediction, label, scale, norm, loss)


@loss_kernel
def own_derivative(prediction, label, scale, norm, loss):
    """The plugin's derivative."""
    record = loss_of(loss)
    return _checked(call_own_loss(record.own_derivative, prediction, label, scale, norm, loss), record, -math.inf)


@helper
def _step(found, prediction, label, scale, norm, loss):
    """A plugin's step, not taken where its squared gradient, which sets the rate, has failed and was counted."""
    record = loss_of(loss)
    if record.own_square_gradient != uint64(0):
        square = call_own_loss(record.own_square_gradient, prediction, label, scale, norm, loss)
        if not 0.0 <= square < math.inf:
            return 0.0
    return _checked(found, record, -math.inf)


@loss_kernel
def own_update(prediction, label, scale, norm, loss):
    """The plugin's importance-aware step."""
    found = call_own_loss(loss_of(loss).own_update, prediction, label, scale, norm, loss)
    return _step(found, prediction, label, scale, norm, loss)


@loss_kernel
def own_unsafe_update(prediction, label, scale, norm, loss):
    """The plugin's gradient step."""
    found = call_own_loss(loss_of(loss).own_unsafe_update, prediction, label, scale, norm, loss)
    return _step(found, prediction, label, scale, norm, loss)


@loss_kernel
def own_square_gradient(prediction, label, scale, norm, loss):
    """What the plugin's loss lets the adaptive rates accumulate, which must not be negative."""
    record = loss_of(loss)
    return _checked(call_own_loss(record.own_square_gradient, prediction, label, scale, norm, loss), record, 0.0)


BEFORE = {
    "value": own_value,
    "derivative": own_derivative,
    "update": own_update,
    "unsafe_update": own_unsafe_update,
    "square_gradient": own_square_gradient,
}
"""By what they stand before; the LOSS record has the plugin's own as `own_` and this name."""
