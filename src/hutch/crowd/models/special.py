"""Special functions."""

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


def student_tail(t: float, degrees: float) -> float:
    """P(T > t) of Student's distribution, to about 1e-10: half of the incomplete beta function I_x(degrees / 2, 1 / 2).

    x = degrees / (degrees + t^2); by the continued fraction 8.17.22 of the NIST Handbook, with Lentz's method.

    Args:
        t: any number, infinite too.
        degrees: of freedom, > 0.

    >>> round(student_tail(2.0, 10), 6)
    0.036694
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    a, b, x = degrees / 2, 0.5, degrees / (degrees + t * t)
    swapped = x > (a + 1) / (a + b + 2)
    if swapped:
        a, b, x = b, a, 1 - x
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(max(x, 1e-300)) + b * math.log1p(-x)) / a if x > 0 else 0.0
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or 1e-300)
    fraction = d
    for m in range(1, 300):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + part * d or 1e-300)
            c = 1 + part / c or 1e-300
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    tail = front * fraction
    tail = (1 - tail if swapped else tail) / 2
    return tail if t >= 0 else 1 - tail
