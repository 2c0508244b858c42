"""The experiments behind `hutch reproduce priors` and `hutch reproduce crowd`, on simulated data."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.lazy_prior import clock, ghost_after, mean_of
from hutch.crowd.models.model import Array
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import DEFAULT_SLOTS, Progress, Table, run, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import SimulatedCrowd, simulate


@dataclass(frozen=True)
class PriorTrajectories:
    """How one parameter and the mean of all move under their prior, when parameters are touched at random.

    Attributes:
        decay: rho of the step sizes.
        dense: every parameter is moved at every step (steps, 2): parameter 0 and the mean.
        sparse: only the touched parameter is read and moved, with the ghost (steps, 2).
        frozen: only the touched one, the mean frozen between its touches, as published (steps, 2).

    All three show parameter 0 as it would be read after each step.
    """

    decay: float
    dense: Array
    sparse: Array
    frozen: Array

    @property
    def sparse_error(self) -> float:
        """Largest distance of the sparse trajectory from the dense one."""
        return float(np.abs(self.sparse - self.dense).max())

    @property
    def frozen_error(self) -> float:
        """Largest distance of the published approximation from the dense one."""
        return float(np.abs(self.frozen - self.dense).max())


def prior_trajectories(decay: float, parameters: int = 20, steps: int = 400, seed: int = 0) -> PriorTrajectories:
    """Run the three forms of one prior side by side, over the same touches and jumps.

    Args:
        decay: rho in the step eta (t0 + t)^-rho, with eta = 1, t0 = 1.
        parameters: how many share the mean, ≥ 1.
        steps: how many touches.
        seed: of the touches and jumps.
    """
    random = np.random.default_rng(seed)
    touches, jumps = random.integers(parameters, size=steps), random.normal(0, 0.5, steps)
    start, nu = random.normal(1, 2, parameters), 1.0
    mean = (nu + start.sum()) / (parameters + 1)
    dense, frozen, distance = start.copy(), start.copy(), start - mean
    ghost, frozen_mean, last = mean, mean, np.zeros(parameters)
    found = np.empty((3, steps, 2))
    before = 0.0
    for step in range(steps):
        touched, now = touches[step], float(clock(step + 1.0, 1.0, 1.0, decay))
        elapsed = now - before

        average = nu + (dense.mean() - nu) * math.exp(-elapsed / (parameters + 1))
        dense = average + math.exp(-elapsed) * (dense - dense.mean())

        total = float(np.sum(distance * np.exp(last - before)))
        ghost = ghost_after(ghost, mean_of(ghost, total, parameters, nu), parameters, nu, elapsed)
        distance[touched] *= math.exp(last[touched] - now)

        pull = (1 - math.exp(last[touched] - now)) * (frozen_mean - frozen[touched])
        frozen[touched] += pull + jumps[step]
        frozen_mean += (pull + jumps[step]) / (parameters + 1)

        dense[touched] += jumps[step]
        distance[touched] += jumps[step]
        last[touched] = now
        total = float(np.sum(distance * np.exp(last - now)))
        found[0, step] = dense[0], (nu + dense.sum()) / (parameters + 1)
        found[1, step] = ghost + distance[0] * math.exp(last[0] - now), mean_of(ghost, total, parameters, nu)
        read = frozen[0] + (1 - math.exp(last[0] - now)) * (frozen_mean - frozen[0])
        found[2, step] = read, frozen_mean
        before = now
    return PriorTrajectories(decay, *found)


@dataclass(frozen=True)
class SizeRun:
    """The run of the source in its size: 9,859 items, about 5 labels each, 5 classes, 40 passes.

    Attributes:
        labels: how many.
        seconds: CPU seconds of the passes, without compilation.
        first, last: mean auxiliary function of the first and of the last pass.
        accuracy: against the truth.
    """

    labels: int
    seconds: float
    first: float
    last: float
    accuracy: float


def size_run(write: Callable[[str], None], items: int = 9859, passes: int = 40, seed: int = 1) -> SizeRun:
    """Run the nominal model online as `nominalonlineextract` was run; `write` takes the lines of its table."""
    crowd = simulate(items, 500, 5, 5, seed)
    model = Nominal(class_prior=(1,) * 5, learning_rate=1, initial_t=10000, n_items=items)
    warm = simulate(10, 5, 5, 2).labels
    run(stream_of(model, warm.classes, DEFAULT_SLOTS), warm, 1)
    table, means = Table(write), []
    stream = stream_of(model, crowd.labels.classes, DEFAULT_SLOTS)
    begin = time.process_time()

    def report(labels: Labels, progress: Progress) -> None:
        table(labels, progress)
        means.append(float(progress.objective.mean()))

    fit = run(stream, crowd.labels, passes, report)
    seconds = time.process_time() - begin
    table.finish()
    return SizeRun(len(crowd.labels), seconds, means[0], means[-1], accuracy(fit.posterior, crowd.truth))


@dataclass(frozen=True)
class SlotsPoint:
    """Quality of one online pass in a worker table of some size."""

    slots: int
    workers_per_slot: float
    two_level: float
    nominal: float


def slots_curve(
    crowd: SimulatedCrowd, sizes: tuple[int, ...] = (1, 4, 16, 64, 256, 1024, 4096, 1 << 16)
) -> list[SlotsPoint]:
    """Accuracy of one online pass against the size of the worker table, from one row for all to a row for each."""
    labels, points = crowd.labels, []
    for slots in sizes:
        found = [
            accuracy(run(stream_of(model, labels.classes, slots), labels, 1).posterior, crowd.truth)
            for model in (TwoLevel(), Nominal())
        ]
        points.append(SlotsPoint(slots, len(labels.worker_names) / slots, *found))
    return points


def model_table(crowd: SimulatedCrowd) -> list[tuple[str, float, float]]:
    """Name, accuracy and log-loss of the vote share and of every built-in model, batch and online."""
    from hutch.crowd.table import EXCHANGEABLE

    labels = crowd.labels
    posteriors = {"vote share": labels.vote_share()}
    for kind in EXCHANGEABLE:
        posteriors[kind.name] = kind().fit(labels).posterior
    for model in (TwoLevel(), Nominal()):
        stream = stream_of(model, labels.classes, DEFAULT_SLOTS)
        posteriors[f"{model.name} online"] = run(stream, labels, 1).posterior
    return [(name, accuracy(q, crowd.truth), log_loss(q, crowd.truth)) for name, q in posteriors.items()]
