"""The state of the sketch, and what each example does to it and to the weight table."""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import example_of, float32s_at, shared_of, state_of, weights_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import features_of, gather, rows_of, values_of

_0, _1 = np.float32(0), np.float32(1)
_MOST = 1e7
"""Numbers of the small matrices above it are taken into the weight table."""

STATE = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("size", "u8"),  # m
        ("turns", "i8"),  # 1 + examples learned
        ("vectors", "u8"),  # address of float32[6, m]: eigenvalues, b, Z x, A Z x, move, scratch
        ("matrices", "u8"),  # address of float32[2, m, m]: A, and K, the products of the directions
        ("epoch", "u8"),
        ("waiting", "u8"),  # examples that wait for the end of an epoch
        ("ends", "u8"),  # address of uint64[epoch]: where the features of each end
        ("shares", "u8"),  # address of float32[epoch]: the slope of each, halved twice
        ("rows", "u8"),  # BUFFER of the rows of their features, uint32
        ("values", "u8"),  # BUFFER of their values, float32
        ("alpha", "f4"),
        ("rate", "f4"),
        ("normalize", "u4"),
        ("predict_first", "u4"),
    ]
)
own = state_of(STATE)
EIGENVALUES, B, ZX, AZX, MOVE, SCRATCH = range(6)


@inlined
def vector(state, k):
    return float32s_at(state.vectors + uint64(4) * state.size * uint64(k), state.size)


@inlined
def matrix(state, k):
    """A (0) or K (1), row by row."""
    return float32s_at(state.matrices + uint64(4) * state.size * state.size * uint64(k), state.size * state.size)


@inlined
def scaled(state, weights, at, x):
    """A feature's value as the learner sees it."""
    if state.normalize == 1:
        return x / np.float32(math.sqrt(weights[at + state.size + uint64(1)]))
    return x


@helper
def score(layer, example, offset):
    """Gather the features; returns the score."""
    state, e = own(layer), example_of(example)
    features, shared, p, b = features_of(state.features), shared_of(e.shared), e.base, vector(state, B)
    n = uint64(gather(features, example, offset))
    rows, values, weights = rows_of(features, n), values_of(features, n), weights_of(shared)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = scaled(state, weights, at, values[i])
        p += weights[at] * x
        for j in range(state.size):
            p += weights[at + uint64(1) + j] * x * b[j]
    return p


@helper
def project(state, shared, step):
    """Z x of the features gathered last, after a step of their weights; returns |x|²."""
    features, weights, zx, square = features_of(state.features), weights_of(shared), vector(state, ZX), _0
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for j in range(state.size):
        zx[j] = _0
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = scaled(state, weights, at, values[i])
        for j in range(state.size):
            zx[j] += weights[at + uint64(1) + j] * x
        square += x * x
        weights[at] -= step * x / state.alpha
    a, azx = matrix(state, 0), vector(state, AZX)
    for i in range(state.size):
        azx[i] = _0
        for j in range(i + uint64(1)):
            azx[i] += a[i * state.size + j] * zx[j]
    return square


@helper
def sketch(state, shared, share, square):
    """Move eigenvalues and directions by the features gathered last, whose gradient is `share` of them."""
    t, vectors = np.float32(state.turns), vector(state, EIGENVALUES)
    gamma = min(state.rate / t, _1)
    zx, azx, move, b = vector(state, ZX), vector(state, AZX), vector(state, MOVE), vector(state, B)
    back = _0
    for i in range(state.size):
        along = azx[i] * share
        if state.turns == 1:
            vectors[i] = gamma * along * along
        else:
            vectors[i] = (_1 - gamma) * t * vectors[i] / np.float32(state.turns - 1) + gamma * t * along * along
        move[i] = gamma * zx[i] * share
        back += move[i] * b[i]
    products, length = matrix(state, 1), square * share * share
    for i in range(state.size):
        for j in range(state.size):
            at = i * state.size + j
            products[at] += move[i] * zx[j] * share
            products[at] += move[j] * zx[i] * share
            products[at] += move[i] * move[j] * length
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = share * scaled(state, weights, at, values[i])
        for j in range(state.size):
            weights[at + uint64(1) + j] += move[j] * x
        weights[at] -= x * back
    state.turns += 1


@helper
def orthonormalise(state):
    """Make A Z orthonormal again, row by row, by the products of the directions."""
    a, products, size = matrix(state, 0), matrix(state, 1), int64(state.size)
    z, v = vector(state, MOVE), vector(state, SCRATCH)
    for i in range(size):
        for j in range(i):
            z[j] = _0
            for k in range(i + 1):
                z[j] += a[i * size + k] * products[k * size + j]
        for j in range(i):
            v[j] = _0
            for k in range(j + 1):
                v[j] += a[j * size + k] * z[k]
        for j in range(i):
            for k in range(j, i):
                a[i * size + j] -= v[k] * a[k * size + j]
        norm = _0
        for j in range(i + 1):
            part = _0
            for k in range(i + 1):
                part += products[j * size + k] * a[i * size + k]
            norm += a[i * size + j] * part
        norm = np.float32(math.sqrt(norm))
        for j in range(i + 1):
            a[i * size + j] /= norm


@helper
def update_b(state, slope):
    """What the step leaves out along the directions, which the weights do not have."""
    a, b, azx, size = matrix(state, 0), vector(state, B), vector(state, AZX), int64(state.size)
    eigenvalues = vector(state, EIGENVALUES)
    for j in range(size):
        part = _0
        for i in range(j, size):
            value = eigenvalues[i]
            part += value * azx[i] * a[i * size + j] / (state.alpha * (state.alpha + value))
        b[j] += part * slope


@helper
def take_in(state, shared):
    """Take A and b into the table where numbers of K have become large, and begin with the identity again."""
    a, products, b, size = matrix(state, 0), matrix(state, 1), vector(state, B), int64(state.size)
    row, largest = vector(state, SCRATCH), 0.0
    for i in range(size):
        for j in range(i, size):
            largest = max(largest, np.float64(abs(products[i * size + j])))
    if largest < _MOST:
        return
    for side in range(2):
        for j in range(size):
            for i in range(size):
                row[i] = _0
                for h in range(size):
                    k = products[h * size + j] if side == 0 else products[j * size + h]
                    row[i] += a[i * size + h] * k
            for i in range(size):
                products[i * size + j if side == 0 else j * size + i] = row[i]
    weights, stride = weights_of(shared), int64(shared.stride)
    for at in range(0, len(weights), stride):
        for i in range(size):
            weights[at] += weights[at + 1 + i] * b[i]
            row[i] = _0
            for h in range(size):
                row[i] += a[i * size + h] * weights[at + 1 + h]
        for i in range(size):
            weights[at + 1 + i] = row[i]
    for i in range(size):
        b[i] = _0
        for j in range(size):
            a[i * size + j] = _1 if i == j else _0


@helper
def normalise(state, shared, slope):
    """Add the squared gradients of the features gathered last to their sums."""
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride + state.size + uint64(1)
        weights[at] += values[i] * values[i] * slope * slope
