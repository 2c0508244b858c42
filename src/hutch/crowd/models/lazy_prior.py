"""A prior whose mean is learned, applied to sparse parameters only when they are read, and exact.

Parameters lambda_1 .. lambda_n, each drawn to the mean mu of all of them, and mu held at its optimum under a prior
mean nu, mu = (nu + sum lambda) / (n + 1). In the time s that the step sizes add up to, all of them move:

    d lambda_i / d s = mu - lambda_i        hence    d mu / d s = (nu - mu) / (n + 1)

and between two touches each would need a step of every parameter. Mineiro ("Lazily applied priors", 2011) freezes mu
between two touches of lambda_i, which is an approximation. Here one ghost parameter m, drawn like the others but never
touched, makes it exact: the distance of any untouched parameter from the ghost only shrinks,

    lambda_i(s) = m(s) + exp(-(s - s_i)) (lambda_i(s_i) - m(s_i)),

so that only a distance and the time of its last touch are stored; m itself has the closed form of `ghost_after`.
A touch that moves lambda_i moves mu at once. A parameter that joins starts at mu, which leaves mu where it is.
"""

import math

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import inlined


@compiled
def clock(t, learning_rate, initial_t, decay):
    """Sum of the steps learning_rate (initial_t + u)^-decay from u = 0 to t, as an integral; decay 1 is a logarithm.

    Only differences count. With initial_t = 0, where the first step may be infinite, the sum begins at u = 1.
    """
    origin = initial_t if initial_t > 0.0 else 1.0
    if initial_t + t == 0.0:
        return 0.0
    if decay == 1.0:
        return learning_rate * math.log((initial_t + t) / origin)
    power = 1.0 - decay
    return learning_rate * ((initial_t + t) ** power - origin**power) / power


@compiled
def mean_of(ghost, distances, count, prior_mean):
    """mu = (nu + sum lambda) / (n + 1).

    Args:
        ghost: m.
        distances: sum over parameters of lambda_i - m.
        count: n.
        prior_mean: nu.
    """
    return (prior_mean + distances + count * ghost) / (count + 1.0)


@compiled
def ghost_after(ghost, mean, count, prior_mean, elapsed):
    """m after `elapsed`: the solution of dm/ds = mu - m with mu = nu + (mu_0 - nu) exp(-s / (n + 1)).

    Args:
        ghost, mean: m and mu before.
    """
    if count == 0:
        return prior_mean + (ghost - prior_mean) * math.exp(-elapsed)
    slow, fast = math.exp(-elapsed / (count + 1.0)), math.exp(-elapsed)
    return fast * ghost + prior_mean * (1.0 - fast) + (mean - prior_mean) * (slow - fast) * (count + 1.0) / count


@inlined
def squares_about_mean(ghost, mean, count, distances, squares):
    """sum over parameters of (lambda_i - mu)^2.

    Args:
        distances, squares: sums of lambda_i - m and of its square.
    """
    off = ghost - mean
    return squares + 2.0 * off * distances + count * off * off
