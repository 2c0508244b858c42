"""Special functions for kernels."""

import math

from hutch.core.kernel.cache import compiled


@compiled
def digamma(x):
    """Derivative of the logarithm of the gamma function, x > 0, to about 1e-12.

    Recurrence up to 6, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18).
    """
    if not x > 0.0:
        return -math.inf
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    r = 1.0 / x
    s = r * r
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760 - s / 12))))))
    return result + math.log(x) - 0.5 * r - series
