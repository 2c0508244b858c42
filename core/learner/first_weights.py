"""Random weights to begin with, as VW 9.11.9 makes them with `--random_weights` and its kin, to the bit."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["uniform", "normal", "truncated_normal"]

_FACTOR, _SUMMAND = np.uint64(0xEECE66D5DEECE66D), np.uint64(2147483647)
AT_ONCE = 1 << 20
"""Rows for which numbers are made at a time."""
_ONE, _TWO = np.float32(1), np.float32(2)


def fill_weights(weights: NDArray[np.float32], kind: Kind, state: NDArray[np.uint64], stride: int) -> None:
    """Set the first weights.

    Args:
        weights: float32 (rows), changed.
        kind: `uniform` from -0.5 to 0.5, drawn one after the other; `normal` with variance 1, each from its own
            seed, whatever the state; or `truncated_normal`: weights beyond two standard deviations are moved back by
            multiples of these.
        state: uint64 (1) of the generator; uniform numbers move it on.
        stride: numbers per row of the weight table.

    >>> import numpy as np
    >>> weights = np.zeros(2, np.float32)
    >>> fill_weights(weights, "uniform", np.zeros(1, np.uint64), 4)
    >>> [round(float(weight), 4) for weight in weights]
    [-0.5, -0.4516]
    """
    for begin in range(0, len(weights), AT_ONCE):
        part = weights[begin : begin + AT_ONCE]
        if kind == "uniform":
            states = _states_after(state, len(part))
            part[:] = _fractions(states) - np.float32(0.5)
            state[:] = states[-1:]
        else:
            part[:] = _gaussian(np.arange(begin, begin + len(part), dtype=np.uint64) * np.uint64(stride))
    if kind == "truncated_normal":
        _truncate(weights)


def next_numbers(states: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """The next states of VW's generator, each after one of these, and the numbers from 0 to 1 that they stand for."""
    states = states * _FACTOR + _SUMMAND
    return states, _fractions(states)


def _fractions(states: NDArray[np.uint64]) -> NDArray[np.float32]:
    return ((states >> np.uint64(25)) & np.uint64(0x7FFFFF)).astype(np.float32) * np.float32(2.0**-23)


def _states_after(state: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """The next `count` states of VW's generator, by doubling: k steps are one multiplication and one addition."""
    found = state * _FACTOR + _SUMMAND
    factor, summand = np.array([_FACTOR]), np.array([_SUMMAND])
    while len(found) < count:
        found = np.concatenate([found, found * factor + summand])
        factor, summand = factor * factor, factor * summand + summand
    return found[:count]


def _gaussian(states: NDArray[np.uint64]) -> NDArray[np.float32]:
    """A number from the standard normal distribution for each seed, by the polar method."""
    found, left = np.zeros(len(states), np.float32), np.arange(len(states))
    while len(left):
        states, a = next_numbers(states)
        states, b = next_numbers(states)
        a, b = _TWO * a - _ONE, _TWO * b - _ONE
        t = a * a + b * b
        inside = (t < _ONE) & (t != 0)
        logarithm = np.log(t[inside].astype(np.float64)).astype(np.float32)
        found[left[inside]] = a[inside] * np.sqrt(-_TWO * logarithm / t[inside])
        left, states = left[~inside], states[~inside]
    return found


def _truncate(weights: NDArray[np.float32]) -> None:
    """Move weights beyond two standard deviations back; sums are added one by one, as in VW."""
    numbers = weights.astype(np.float64)
    difference = numbers - np.cumsum(numbers)[-1] / len(numbers)
    bound = 2 * np.sqrt(np.cumsum(difference * difference)[-1] / len(numbers))
    beyond = np.abs(numbers) > bound
    weights[beyond] = (numbers - np.rint(numbers / bound) * bound)[beyond]
