"""The directions of the sketch before the first example."""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.random import merand48

_0, _1 = np.float32(0), np.float32(1)
_TURN = float(np.float32(2) * np.float32(3.1415927))


@compiled
def fill_directions(weights, stride, size, random_state, draws):
    """Fill columns 1 to m of the table with an orthonormal basis.

    Args:
        weights: the table as one array, float32[rows · stride].
        stride: numbers per row.
        size: m.
        random_state: uint64 (1): of the run; it moves on.
        draws: whether the basis is that of random numbers.
    """
    for at in range(0, len(weights), stride):
        for j in range(size):
            if not draws:
                weights[at + 1 + j] = _1 if at == (j + 1) * stride else _0
                continue
            first, second = _0, _0
            while first == _0:
                random_state[0], first = merand48(random_state[0])
                random_state[0], second = merand48(random_state[0])
            root = np.float32(math.sqrt(np.float32(-2) * np.float32(math.log(first))))
            weights[at + 1 + j] = root * np.float32(math.cos(_TURN * np.float64(second)))
    for j in range(1, size + 1):
        for k in range(1, j):
            product = 0.0
            for at in range(0, len(weights), stride):
                product += np.float64(weights[at + j]) * np.float64(weights[at + k])
            for at in range(0, len(weights), stride):
                weights[at + j] -= np.float32(product) * weights[at + k]
        square = 0.0
        for at in range(0, len(weights), stride):
            square += np.float64(weights[at + j]) * np.float64(weights[at + j])
        norm = np.float32(math.sqrt(square))
        for at in range(0, len(weights), stride):
            weights[at + j] /= norm
