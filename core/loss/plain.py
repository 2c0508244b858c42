"""The five kernels of a loss that is given as two plain functions, its value and its derivative."""

from hutch.core.kernel.abi import call_plain_loss, loss_kernel, loss_of
from hutch.core.kernel.decorators import helper
from hutch.core.loss.flow import flow_to


@helper
def _slope(prediction, label, record):
    """The plugin's derivative."""
    return call_plain_loss(record.plain_derivative, prediction, label, record.parameter)


@loss_kernel
def plain_value(prediction, label, scale, norm, loss):
    """The plugin's value."""
    record = loss_of(loss)
    return call_plain_loss(record.plain_value, prediction, label, record.parameter)


@loss_kernel
def plain_derivative(prediction, label, scale, norm, loss):
    """The plugin's derivative."""
    return _slope(prediction, label, loss_of(loss))


@loss_kernel
def plain_update(prediction, label, scale, norm, loss):
    """The step of the gradient flow, so that learning with importance 2 equals learning twice."""
    if not norm > 0.0:
        return -scale * _slope(prediction, label, loss_of(loss))
    return (flow_to(prediction, label, scale * norm, loss) - prediction) / norm


@loss_kernel
def plain_unsafe_update(prediction, label, scale, norm, loss):
    """The gradient step."""
    return -scale * _slope(prediction, label, loss_of(loss))


@loss_kernel
def plain_square_gradient(prediction, label, scale, norm, loss):
    """Square of the derivative."""
    derivative = _slope(prediction, label, loss_of(loss))
    return derivative * derivative


PLAIN_KERNELS = (plain_value, plain_derivative, plain_update, plain_unsafe_update, plain_square_gradient)
