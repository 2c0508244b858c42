"""Probit loss: -ln Φ(y p), Φ(y p) being the chance that the sign of p plus standard normal noise is the label's.

A label between -1 and 1 is a mixture of the two. Below -5 the ratio φ/Φ comes from Laplace's continued fraction, where
Φ itself would lose its digits.
"""

import math

from hutch.core.kernel.decorators import helper

_TAIL = -5.0
_TERMS = 24
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)


@helper
def _ratio(z):
    """φ(z) / Φ(z)."""
    if z > _TAIL:
        return math.exp(-0.5 * z * z - _HALF_LOG_TAU) / (0.5 * math.erfc(-z * _ROOT_HALF))
    fraction = -z
    for k in range(_TERMS, 0, -1):
        fraction = -z + k / fraction
    return fraction


@helper
def _log_cdf(z):
    """ln Φ(z)."""
    if z > _TAIL:
        return math.log(0.5 * math.erfc(-z * _ROOT_HALF))
    return -0.5 * z * z - _HALF_LOG_TAU - math.log(_ratio(z))


def probit_value(prediction: float, label: float, parameter: float) -> float:
    """The loss."""
    share = 0.5 + 0.5 * label
    value = 0.0
    if share != 0.0:
        value -= share * _log_cdf(prediction)
    if share != 1.0:
        value -= (1.0 - share) * _log_cdf(-prediction)
    return value


def probit_derivative(prediction: float, label: float, parameter: float) -> float:
    """Its derivative in the prediction."""
    share = 0.5 + 0.5 * label
    value = 0.0
    if share != 0.0:
        value -= share * _ratio(prediction)
    if share != 1.0:
        value += (1.0 - share) * _ratio(-prediction)
    return value
