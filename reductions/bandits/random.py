"""Random numbers of exploration: VW's generator, from the run's state or from a seed.

Source: VW 9.11.9, `--cb_explore_adf` with `--bag` and `--cb_sample`.
"""

import numpy as np

from hutch.core.kernel.decision import ranked_of, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48

_0, _1 = np.float32(0), np.float32(1)

_POISSON = (
    0.3678794411714423215955,
    0.735758882342884643191,
    0.919698602928605803989,
    0.9810118431238461909214,
    0.9963401531726562876545,
    0.9994058151824183070012,
    0.9999167588507119768923,
    0.9999897508033253583053,
    0.9999988747974020309819,
    0.9999998885745216612793,
    0.9999999899522336243091,
    0.9999999991683892573118,
)
"""Probabilities that a Poisson number of mean 1 is at most 0, 1, 2, …"""


@helper
def draw_poisson(shared):
    """A Poisson number of mean 1, drawn with the run's random state."""
    shared.random_state, u = merand48(shared.random_state)
    count = 0
    while count < len(_POISSON) and np.float64(u) > _POISSON[count]:
        count += 1
    return count


@helper
def draw_action(probabilities, u):
    """Return the first place at which the running sum of probabilities exceeds a share `u` of their sum; and that sum.

    Negative values, which `explore_squarecb` may give the best action when it eliminates others, become 0.
    """
    total = _0
    for k in range(len(probabilities)):
        probabilities[k] = max(probabilities[k], _0)
        total += probabilities[k]
    if total == _0:
        probabilities[0] = _1
        return 0, _1
    target, run = min(total * u, total), _0
    for k in range(len(probabilities)):
        run += probabilities[k]
        if run > target:
            return k, total
    return len(probabilities) - 1, total


@inlined
def bring_forward(decision, place):
    """List an action first, and the one that was there in its place."""
    ranked, values = ranked_of(decision), values_of(decision)
    ranked[0], ranked[place] = ranked[place], ranked[0]
    values[0], values[place] = values[place], values[0]


@helper
def draw_first(decision, u):
    """Draw an action by a number in [0, 1), list it first, and divide all probabilities by their sum."""
    values = values_of(decision)
    place, total = draw_action(values, u)
    for k in range(len(values)):
        values[k] /= total
    bring_forward(decision, place)
