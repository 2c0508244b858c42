"""Random numbers in kernels: from a state, or as functions of their arguments alone."""

import numpy as np
from numpy import uint32, uint64

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

GOLDEN = uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: the step between two states of SplitMix64


@helper
def mixed(number):
    """64 bits in which each bit of a number counts (SplitMix64; G. Steele, D. Lea, C. Flood, 2014)."""
    number = (number ^ (number >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> uint64(27))) * uint64(0x94D049BB133111EB)
    return number ^ (number >> uint64(31))


@compiled
def uniform(seed, number, stream):
    """A number in [0, 1) that depends on its arguments alone, so that no generator has to be saved.

    Args:
        seed: of the run.
        number: of the example.
        stream: which of the numbers of that example.
    """
    z = mixed(uint64(seed) + GOLDEN * (uint64(number) * uint64(64) + uint64(stream) + uint64(1)))
    return np.float64(z >> uint64(11)) * 2.0**-53


@compiled
def merand48(state):
    """Vowpal Wabbit's generator: (next state, number in [0, 1))."""
    state = uint64(0xEECE66D5DEECE66D) * uint64(state) + uint64(2147483647)
    bits = uint32((state >> uint64(25)) & uint64(0x7FFFFF))
    return state, np.float32(bits) * np.float32(2.0**-23)
