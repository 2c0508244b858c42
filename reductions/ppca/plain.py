"""Plain online EM in `ppca`: statistics of rows and latent variables, an M-step, and Nat-oEM's anchor for it."""

from hutch.core.kernel.abi import float64s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.em.constrained.fisher_kernel import fisher_workspace_size, pull, stiffness
from hutch.em.constrained.natural_kernel import dot
from hutch.em.constrained.online_kernel import (
    add_expected,
    expectation,
    latent_map,
    maximisation,
    online_workspace_size,
)
from hutch.em.constrained.record import CLASS, COUNTS, KL, LITERAL, constraint_of
from hutch.reductions.ppca.state import matrix_at, sketch_at, workspace_at

_SCALE = 0.1
"""Length of the random loadings at the start, in standard deviations of the data: as `PPCA.start`."""


def plain_workspace_size(rank: int, dimension: int) -> int:
    """Numbers that a step needs."""
    return max(online_workspace_size(rank, dimension), fisher_workspace_size(rank, dimension))


@helper
def _statistics_at(s, address):
    return float64s_at(address, s.statistics_size)


@helper
def _origin(s):
    return float64s_at(s.first_mean, s.dimension)


@helper
def start_plain(s):
    """Short random loadings; the model's expected statistics count as one sample."""
    mean, loadings, noise = sketch_at(s, s.current)
    start, length = matrix_at(s.start, s.rank, s.dimension), _SCALE * noise[0] ** 0.5
    for k in range(s.rank):
        for t in range(s.dimension):
            loadings[k, t] = length * start[k, t]
    statistics = _statistics_at(s, s.statistics)
    statistics[:] = 0.0
    add_expected(_origin(s), mean, loadings, noise[0], 1.0, statistics, workspace_at(s))


@helper
def learn_plain(s, rows, step):
    """Take rows into the statistics; after the burn-in, an M-step."""
    mean, loadings, noise = sketch_at(s, s.current)
    statistics, workspace = _statistics_at(s, s.statistics), workspace_at(s)
    expectation(rows, _origin(s), mean, loadings, noise[0], step, statistics, workspace)
    if s.samples + len(rows) > s.warm_up:
        _maximise(s, statistics, mean, loadings, noise, workspace)


@helper
def _maximise(s, statistics, mean, loadings, noise, workspace):
    origin, floor = _origin(s), noise[1]
    if s.constraint == 0:
        maximisation(statistics, origin, floor, mean, loadings, noise, workspace)
        return
    constraint = constraint_of(s.constraint)
    by_class = constraint.mode == CLASS
    if by_class and s.classes == 0:  # nothing to be held to
        maximisation(statistics, origin, floor, mean, loadings, noise, workspace)
        return
    beta = 1.0 if constraint.beta == COUNTS else constraint.beta
    anchor = sketch_at(s, s.past)
    if not by_class:
        copy(mean, anchor[0])
        for k in range(len(loadings)):
            copy(loadings[k], anchor[1][k])
        copy(noise, anchor[2])
    if constraint.form == KL:
        held = _statistics_at(s, s.held)
        copy(statistics, held)
        if beta > 0.0:
            add_expected(origin, anchor[0], anchor[1], anchor[2][0], beta, held, workspace)
            held /= 1.0 + beta
        maximisation(held, origin, floor, mean, loadings, noise, workspace)
        return
    if constraint.form == LITERAL:
        product = beta * stiffness(anchor[1], anchor[2][0], constraint.metric, workspace)
        constraint.stability = max(constraint.stability, product)
        if constraint.stability > 2.0:  # whoever looks next gets an error; until then nothing diverges
            return
    maximisation(statistics, origin, floor, mean, loadings, noise, workspace)
    pull(mean, loadings, noise, anchor, beta, constraint.form, constraint.metric, workspace)


@helper
def show_plain(s):
    """Renew what latent features are made from. EM moves its latent coordinates smoothly: no need to rotate."""
    _, loadings, noise = sketch_at(s, s.current)
    shown = matrix_at(s.shown, s.rank, s.dimension)
    s.determinant = latent_map(loadings, noise[0], shown, workspace_at(s))


@helper
def plain_quadratic(s, centred, latent):
    """(x - mean)' C⁻¹ (x - mean); `centred` is destroyed, `latent` is scratch (q)."""
    _, loadings, noise = sketch_at(s, s.current)
    shown, workspace, quadratic = matrix_at(s.shown, s.rank, s.dimension), workspace_at(s), 0.0
    for k in range(s.rank):
        latent[k] = dot(shown[k], centred, workspace)
        quadratic += latent[k] * latent[k]
    for k in range(s.rank):
        for t in range(s.dimension):
            centred[t] -= latent[k] * loadings[k, t]
    return quadratic + dot(centred, centred, workspace) / noise[0]
