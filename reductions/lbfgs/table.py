"""The parts of the search that go over all weights: sums in the order of the rows, and the next direction.

The order and the width of the arithmetic are those of VW 9.11.9: products of the table are float32, sums float64.
"""

import math

import numpy as np
from numpy import int64

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined

_0, _1 = np.float32(0), np.float32(1)
_LARGEST_RATIO = np.float32(10000)
"""No scale is more than this many times the smallest."""
WEIGHT, GRADIENT, DIRECTION, SCALE = range(4)
"""Columns of the table. SCALE sums up second derivatives, and is then 1 / their sum, by which steps are scaled."""
COLUMNS = 4


@inlined
def _strength(at, l2, prior):
    """Strength of the regularisation of a weight, and the value that it draws to."""
    k = 2 * (at // COLUMNS)
    return (prior[k], prior[k + 1]) if k < len(prior) else (l2, _0)


@compiled
def invert_scales(weights, l2, prior):
    """Turn the sums of second derivatives into scales, bounded from above.

    Args:
        weights: the table as one array, float32[rows · 4].
        l2: strength of regularisation, float32; a second derivative of every weight.
        prior: in place of `l2`, float32[rows · 2]: strength and centre of each weight; empty for none.
    """
    most = _0
    for at in range(0, len(weights), COLUMNS):
        strength, _ = _strength(at, l2, prior)
        weights[at + SCALE] += strength
        second = weights[at + SCALE]
        most = max(most, second)
        if second > _0:
            weights[at + SCALE] = _1 / second
    bound = _0 if most == _0 else _LARGEST_RATIO / most
    for at in range(0, len(weights), COLUMNS):
        if weights[at + SCALE] > bound:
            weights[at + SCALE] = bound


@compiled
def regularize(weights, l2, prior, first, count):
    """Add the regularisation to the gradient; returns its part of the loss.

    Args:
        weights: the table.
        l2: its strength, float32.
        prior: as for `invert_scales`.
        first: row of the constant's first weight.
        count: how many weights of the constant are not regularised.
    """
    total, rows = 0.0, len(weights) // COLUMNS
    for at in range(0, len(weights), COLUMNS):
        strength, centre = _strength(at, l2, prior)
        away = weights[at] - centre
        weights[at + GRADIENT] += strength * away
        total += 0.5 * np.float64(strength) * np.float64(away) * np.float64(away)
    for k in range(count):
        at = (first + k) % rows * COLUMNS
        strength, centre = _strength(at, l2, prior)
        away = weights[at] - centre
        weights[at + GRADIENT] -= strength * away
        total -= 0.5 * np.float64(strength) * np.float64(away) * np.float64(away)
    return total


@compiled
def begin(weights, memory, width, sums):
    """Keep weights and gradient, and set the first direction, down the scaled gradient.

    Args:
        weights: the table; its gradient becomes 0.
        memory: float32[rows · width]: gradients and weights, and their differences, the newest from `origin` on.
        width: numbers per row of it, 1 or even.
        sums: float64 (2): becomes the square of the gradient, and that of the scaled one.
    """
    square, scaled = 0.0, 0.0
    for at in range(0, len(weights), COLUMNS):
        first, gradient = at // COLUMNS * width, weights[at + GRADIENT]
        if width > 1:
            memory[first + 1] = weights[at]
        memory[first] = gradient
        scaled += np.float64(gradient) * np.float64(gradient) * np.float64(weights[at + SCALE])
        square += np.float64(gradient) * np.float64(gradient)
        weights[at + DIRECTION] = -weights[at + SCALE] * gradient
        weights[at + GRADIENT] = _0
    sums[0], sums[1] = square, scaled


@compiled
def compare(weights, memory, width, origin, sums):
    """The slopes along the direction before and after a step, and the squares of the gradient after it.

    Args:
        weights, memory, width: as of `begin`.
        origin: where the newest numbers of a row begin.
        sums: float64 (4): becomes slope before, slope after, square, scaled square.
    """
    before, after, square, scaled = 0.0, 0.0, 0.0, 0.0
    for at in range(0, len(weights), COLUMNS):
        gradient, direction = np.float64(weights[at + GRADIENT]), np.float64(weights[at + DIRECTION])
        before += np.float64(memory[at // COLUMNS * width + origin]) * direction
        after += gradient * direction
        scaled += gradient * gradient * np.float64(weights[at + SCALE])
        square += gradient * gradient
    sums[0], sums[1], sums[2], sums[3] = before, after, square, scaled


@compiled
def conjugate(weights, memory):
    """The next conjugate direction, with restarts; returns the part of the last one that is in it.

    Args:
        weights: the table; its gradient becomes 0.
        memory: float32[rows]: the last gradient.
    """
    change, square = 0.0, 0.0
    for at in range(0, len(weights), COLUMNS):
        last, scale = memory[at // COLUMNS], np.float64(weights[at + SCALE])
        difference = np.float64(weights[at + GRADIENT] - last)
        change += np.float64(weights[at + GRADIENT]) * scale * difference
        square += np.float64(last) * scale * np.float64(last)
    part = np.float32(change / square)
    if part < _0 or math.isnan(part):
        part = _0
    for at in range(0, len(weights), COLUMNS):
        gradient = weights[at + GRADIENT]
        memory[at // COLUMNS] = gradient
        weights[at + DIRECTION] *= part
        weights[at + DIRECTION] -= weights[at + SCALE] * gradient
        weights[at + GRADIENT] = _0
    return part


@helper
def _differences(weights, memory, width, y, s, sums):
    """Make the newest gradient and weights of the memory their differences to those now."""
    sums[0], sums[1], sums[2] = 0.0, 0.0, 0.0
    for at in range(0, len(weights), COLUMNS):
        first, gradient = at // COLUMNS * width, weights[at + GRADIENT]
        memory[first + y] = gradient - memory[first + y]
        memory[first + s] = weights[at] - memory[first + s]
        weights[at + DIRECTION] = gradient
        change, move = np.float64(memory[first + y]), np.float64(memory[first + s])
        sums[0] += change * move
        sums[1] += change * change * np.float64(weights[at + SCALE])
        sums[2] += move * np.float64(gradient)


@helper
def _add(weights, memory, width, factor, place, other):
    """Add a column of the memory to the direction, times a factor; returns the direction times another column."""
    total = 0.0
    for at in range(0, len(weights), COLUMNS):
        first = at // COLUMNS * width
        weights[at + DIRECTION] += factor * memory[first + place]
        total += np.float64(memory[first + other]) * np.float64(weights[at + DIRECTION])
    return total


@helper
def _scale_and_add(weights, memory, width, factor, gamma, place):
    """The same with the direction scaled after that, times the same column."""
    total = 0.0
    for at in range(0, len(weights), COLUMNS):
        first = at // COLUMNS * width
        weights[at + DIRECTION] += factor * memory[first + place]
        weights[at + DIRECTION] *= gamma * weights[at + SCALE]
        total += np.float64(memory[first + place]) * np.float64(weights[at + DIRECTION])
    return total


@compiled
def turn(weights, memory, width, origin, pairs, numbers):
    """The next direction from the last pairs of differences; returns the new origin, -1 without positive curvature.

    Args:
        weights, memory, width, origin: as of `compare`; the gradient becomes 0.
        pairs: index of the oldest pair of differences in the memory.
        numbers: float64 (3, at least width / 2 and 3): 1 / (y · s) of each pair, and scratch.
    """
    inverse, shares, sums = numbers[0], numbers[1], numbers[2]
    _differences(weights, memory, width, origin % width, (origin + 1) % width, sums)
    along, curvature, product = sums[0], sums[1], sums[2]
    if along <= 0.0 or curvature <= 0.0:
        return int64(-1)
    inverse[0] = 1.0 / along
    for j in range(pairs):
        shares[j] = inverse[j] * product
        place, other = (origin + 2 * j) % width, (origin + 2 * j + 3) % width
        product = _add(weights, memory, width, -np.float32(shares[j]), place, other)
    shares[pairs] = inverse[pairs] * product
    gamma, place = np.float32(along / curvature), (origin + 2 * pairs) % width
    rest = _scale_and_add(weights, memory, width, -np.float32(shares[pairs]), gamma, place)
    for j in range(pairs, 0, -1):
        factor = np.float32(shares[j] - inverse[j] * rest)
        rest = _add(weights, memory, width, factor, (origin + 2 * j + 1) % width, (origin + 2 * j - 2) % width)
    factor = np.float32(shares[0] - inverse[0] * rest)
    s, new = (origin + 1) % width, (origin + width - 2) % width
    for at in range(0, len(weights), COLUMNS):
        first = at // COLUMNS * width
        weights[at + DIRECTION] = -weights[at + DIRECTION] - factor * memory[first + s]
    for at in range(0, len(weights), COLUMNS):
        first = at // COLUMNS * width
        memory[first + new], memory[first + (new + 1) % width] = weights[at + GRADIENT], weights[at]
        weights[at + GRADIENT] = _0
    for j in range(min(pairs + 1, width // 2 - 1), 0, -1):
        inverse[j] = inverse[j - 1]
    return int64(new)


@compiled
def move(weights, step):
    """Move all weights along the direction; returns the square of its length.

    Args:
        weights: the table.
        step: float32.
    """
    square = 0.0
    for at in range(0, len(weights), COLUMNS):
        square += np.float64(weights[at + DIRECTION]) * np.float64(weights[at + DIRECTION])
        weights[at] += step * weights[at + DIRECTION]
    return square


@compiled
def slope(weights, memory, width, origin, sums):
    """The slope along the direction where it begins, and the square of the direction.

    Args:
        weights, memory, width, origin: as of `compare`.
        sums: float64 (2): becomes both.
    """
    sums[0], sums[1] = 0.0, 0.0
    for at in range(0, len(weights), COLUMNS):
        direction = np.float64(weights[at + DIRECTION])
        sums[0] += np.float64(memory[at // COLUMNS * width + origin]) * direction
        sums[1] += direction * direction


@compiled
def clear(weights, first):
    """Set the columns from one on to 0.

    Args:
        weights: the table.
        first: number of the column.
    """
    for at in range(0, len(weights), COLUMNS):
        for k in range(first, COLUMNS):
            weights[at + k] = _0


@compiled
def clear_column(weights, column):
    """Set a column to 0.

    Args:
        weights: the table.
        column: its number.
    """
    for at in range(0, len(weights), COLUMNS):
        weights[at + column] = _0
