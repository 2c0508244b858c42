"""How sure the strengths are: their covariance from the information of all votes."""

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.pairs import kernels
from hutch.crowd.pairs.state import Array, Design, PairState

MOST = 2000
"""Size of the dense matrix at most; beyond it contexts are averaged over, then only the diagonal is used."""


def covariance_of(
    state: PairState,
    design: Design,
    x: Array,
    precision: Array,
    free: NDArray[np.bool_],
    curvature: Array,
    diagonal: Array,
    with_ties: bool,
) -> Array:
    """Covariance of the players' strengths (players, players), all else integrated out (Laplace's approximation).

    Strengths are sums of units, see `PairState.shares`. With more than `MOST` players and contexts, variance between
    contexts is added as the variance of a mean over the contexts in which a player was seen; with more than `MOST`
    players, strengths count as independent.
    """
    units, values, workers = state.sizes
    players = state.player_units
    if not len(design.workers):
        return np.diag(1 / precision[2 + players])
    if len(players) + 2 > MOST:
        return np.diag(1 / diagonal[2 + players]) + _contexts(state, design)
    order = np.argsort(design.workers, kind="stable")
    whole = 2 + 2 * units + values <= MOST
    left, right, held = design.left, design.right, design.values
    code, count = np.arange(units), units
    if not whole:
        code, count = np.zeros(units, np.int64), len(players) + 1
        code[players] = 1 + np.arange(len(players))
        left, right = left[:, :1], right[:, :1]
        held = held[:, :0]
        values = 0
    chosen = np.concatenate([[0, 1], 2 + _first(code, count), 2 + units + _first(code, count)])
    chosen = np.concatenate([chosen, 2 + 2 * units + np.arange(values)])
    people = np.arange(len(x) - 3 * workers, len(x))
    size = 2 + 2 * count + values
    matrix = np.zeros((size, size))
    places = np.concatenate([chosen, people])
    kernels.information(
        x[places], precision[places], free[places], count, values, workers,
        np.ascontiguousarray(code[left], np.int32), np.ascontiguousarray(code[right], np.int32),
        np.ascontiguousarray(held), design.workers, order, with_ties, curvature, matrix,
    )  # fmt: skip
    matrix += np.tril(matrix, -1).T
    wanted = np.zeros((size, len(players)))
    taken = np.arange(1, units) if whole else players
    wanted[2 + code[taken], state.owners[taken]] = state.shares[taken]
    found = wanted.T @ np.linalg.solve(matrix, wanted)
    return np.asarray((found + found.T) / 2 + (0.0 if whole else _contexts(state, design)))


def _first(code: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first unit of each code."""
    first = np.zeros(count, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    return first


def _contexts(state: PairState, design: Design) -> Array:
    """Variance of each player's strength through the contexts in which they were seen."""
    extra, place, is_whole = np.zeros(len(state.players)), state.owners, state.shares > 0
    for level in range(1, design.left.shape[1]):
        units = np.concatenate([design.left[:, level], design.right[:, level]])
        owners = place[np.concatenate([design.left[:, 0], design.right[:, 0]])]
        counts = np.bincount(units, minlength=state.sizes[0]).astype(np.float64)
        total = np.bincount(owners, minlength=len(extra))
        owner = np.zeros(state.sizes[0], np.int64)
        owner[units] = owners
        if is_whole[units].any():
            continue  # no sample: the strength is an average over all contexts
        shares = (counts / np.maximum(total[owner], 1)) ** 2
        extra += state.scales.get(f"strength.{level}", 0.0) * np.bincount(owner, shares, minlength=len(extra))
    return np.diag(extra)


def centred(covariance: Array) -> Array:
    """The covariance of strengths less their mean.

    >>> centred(np.eye(2)).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    rows = covariance - covariance.mean(axis=0)
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))
