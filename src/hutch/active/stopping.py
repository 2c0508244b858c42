"""When another label is not worth its price: its expected saving, estimated from the labels bought so far.

Each bought label counts 1/P times. The errors of the predictions made before the labels arrived, so weighted, show how
the loss over everything has fallen with the number n of labels. A curve a + b / √n, a and b at least 0, is fitted to
them by least squares; the next label is expected to lower the loss by b / √n - b / √(n + 1). Few labels cannot tell a
floor a from bad luck, so it is drawn to 0 with the weight of 100 labels: the rule stops too late rather than too early.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST = 30
"""Fewer labels give no estimate."""
_WEIGHT_OF_NO_FLOOR = 100.0


@dataclass(frozen=True, slots=True)
class Gains:
    """The expected value of another label, after each label bought; one entry per label.

    Attributes:
        labels: labels bought.
        loss: the fitted loss over everything.
        gain: the decrease of the loss by the next label.
    """

    labels: NDArray[np.float64]
    loss: NDArray[np.float64]
    gain: NDArray[np.float64]


def expected_gains(probabilities: ArrayLike, errors: ArrayLike, shares: ArrayLike = 1.0) -> Gains:
    """The expected value of another label after each label bought, in order.

    Args:
        probabilities: with which each label was asked for, above 0 to 1; the rule must ask for everything with some.
        errors: of the prediction made before the label came, 0 to 1.
        shares: of a label in the answers to its request, above 0 to 1.

    >>> gains = expected_gains([0.5] * 2000, [1.0, 0.0] * 1000)  # half are wrong, and no better with time
    >>> [round(float(gains.loss[n]), 2) for n in (99, 1999)], bool(gains.gain[-1] < 1e-5)
    ([0.26, 0.47], True)
    """
    inverse, error = 1.0 / np.asarray(probabilities, np.float64), np.asarray(errors, np.float64)
    share = np.broadcast_to(np.asarray(shares, np.float64), inverse.shape)
    n, weight = np.cumsum(share), share * inverse
    scale = n / np.cumsum(weight)  # weights of one on average
    x = 1.0 / np.sqrt(n)
    sum_x, sum_xx, sum_e, sum_xe = (scale * np.cumsum(weight * value) for value in (x, x * x, error, x * error))
    total = n + _WEIGHT_OF_NO_FLOOR
    floor = np.maximum((sum_xx * sum_e - sum_x * sum_xe) / (total * sum_xx - sum_x**2), 0.0)
    slope = np.maximum((sum_xe - floor * sum_x) / sum_xx, 0.0)
    return Gains(n, floor + slope * x, slope * (x - 1.0 / np.sqrt(n + 1.0)))


def stop_after(gains: Gains, predictions: float) -> int | None:
    """Number of labels after which to stop if a label costs as much as one mistake in that many future predictions.

    Args:
        gains: as `expected_gains` returns them.
        predictions: above 0.

    Returns:
        The first place from `LEAST` labels on where the next label was expected to save less than one mistake; None
        without one.
    """
    enough = (gains.labels >= LEAST) & (gains.gain * predictions < 1.0)
    return int(np.argmax(enough)) + 1 if enough.any() else None
