"""A loss: squared near the label, straight further out."""

from hutch.plugin import Loss, LossParameter, registering


def value(prediction, label, width):
    """The loss of a prediction; the third argument is the parameter, which each loss gets even if it has none."""
    distance = abs(prediction - label)
    return 0.5 * distance * distance if distance <= width else width * (distance - 0.5 * width)


def derivative(prediction, label, width):
    """The derivative of `value` by the prediction: steps, h_min and rates follow from it."""
    return max(-width, min(width, prediction - label))


MINE = Loss.plain("mine", value, derivative, parameter=LossParameter("width", default=1.0, low=0.0))

hutch_register_losses = registering(MINE)
