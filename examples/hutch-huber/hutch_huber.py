"""The Huber loss: squared near the label, straight further out, so that a few wild labels do not pull the model away.

Source: P. J. Huber, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35, 1964.
"""

from hutch.plugin import Loss, LossParameter, registering


def value(prediction: float, label: float, delta: float) -> float:
    """r² / 2 within delta of the label, then delta (|r| - delta / 2)."""
    distance = abs(prediction - label)
    return 0.5 * distance * distance if distance <= delta else delta * (distance - 0.5 * delta)


def derivative(prediction: float, label: float, delta: float) -> float:
    """The residual, cut off at delta."""
    return max(-delta, min(delta, prediction - label))


HUBER = Loss.plain("huber", value, derivative, parameter=LossParameter("delta", default=1.0, low=0.0))


hutch_register_losses = registering(HUBER)
