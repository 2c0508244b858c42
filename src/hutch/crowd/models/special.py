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


@compiled
def incomplete_beta(a, b, x):
    """I_x(a, b), the regularised incomplete beta function for a, b > 0 and x from 0 to 1, to about 1e-10.

    By the continued fraction 8.17.22 of the NIST Handbook, with Lentz's method.
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    swapped = x > (a + 1.0) / (a + b + 2.0)
    if swapped:
        a, b, x = b, a, 1.0 - x
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x)) / a
    d = 1.0 - (a + b) * x / (a + 1.0)
    c, d = 1.0, 1.0 / (d if d != 0.0 else 1e-300)
    fraction = d
    for step in range(2, 600):
        m = step // 2
        if step % 2 == 0:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 + part * d
        d = 1.0 / (d if d != 0.0 else 1e-300)
        c = 1.0 + part / c
        c = c if c != 0.0 else 1e-300
        fraction *= c * d
        if step % 2 == 1 and abs(c * d - 1.0) < 1e-14:
            break
    return 1.0 - front * fraction if swapped else front * fraction


def student_tail(t: float, degrees: float) -> float:
    """P(T > t) of Student's distribution: half of I_x(degrees / 2, 1 / 2) with x = degrees / (degrees + t^2).

    Args:
        t: any number, infinite too.
        degrees: of freedom, > 0.

    >>> round(student_tail(2.0, 10), 6)
    0.036694
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    tail = float(incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))) / 2
    return tail if t >= 0 else 1 - tail


@compiled
def binomial_tail(count, trials, share):
    """P(X >= count) for X ~ Binomial(trials, share), 1 <= count <= trials."""
    return incomplete_beta(count, trials - count + 1.0, share)


@compiled
def binomial_interval(right, trials, low, high):
    """Clopper and Pearson's 95 % intervals of shares of `right` in `trials`, by bisection (Biometrika 26, 1934).

    Args:
        right, trials: float64, 0 <= right <= trials; they need not be whole.
        low, high: out.
    """
    for i in range(len(right)):
        missed = trials[i] - right[i]
        for end in range(2):
            below, above = 0.0, 1.0
            for _ in range(50):
                middle = 0.5 * (below + above)
                if end == 0:
                    inside = right[i] > 0.0 and incomplete_beta(right[i], missed + 1.0, middle) < 0.025
                else:
                    inside = missed > 0.0 and incomplete_beta(right[i] + 1.0, missed, middle) < 0.975
                if inside:
                    below = middle
                else:
                    above = middle
            if end == 0:
                low[i] = below
            else:
                high[i] = above if missed > 0.0 else 1.0
