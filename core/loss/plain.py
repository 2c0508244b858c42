"""The five kernels of a loss that is given as two plain functions, its value and its derivative."""

from hutch.core.kernel.abi import call_plain_loss, loss_kernel, loss_of
from hutch.core.loss.flow import flow_to


@loss_kernel
def plain_value(prediction, label, scale, norm, loss):
    """The plugin's value."""
    record = loss_of(loss)
    return call_plain_loss(record.plain_value, prediction, label, record.parameter)


@loss_kernel
def plain_derivative(prediction, label, scale, norm, loss):
    """The plugin's derivative."""
    record = loss_of(loss)
    return call_plain_loss(record.plain_derivative, prediction, label, record.parameter)


@loss_kernel
def plain_update(prediction, label, scale, norm, loss):
    """The step of the gradient flow, so that learning with importance 2 equals learning twice."""
    if not norm > 0.0:
        record = loss_of(loss)
        return -scale * call_plain_loss(record.plain_derivative, prediction, label, record.parameter)
    return (flow_to(prediction, label, scale * norm, loss) - prediction) / norm


@loss_kernel
def plain_unsafe_update(prediction, label, scale, norm, loss):
    """The gradient step."""
    record = loss_of(loss)
    return -scale * call_plain_loss(record.plain_derivative, prediction, label, record.parameter)


@loss_kernel
def plain_square_gradient(prediction, label, scale, norm, loss):
    """Square of the derivative."""
    record = loss_of(loss)
    derivative = call_plain_loss(record.plain_derivative, prediction, label, record.parameter)
    return derivative * derivative


PLAIN_KERNELS = (plain_value, plain_derivative, plain_update, plain_unsafe_update, plain_square_gradient)
