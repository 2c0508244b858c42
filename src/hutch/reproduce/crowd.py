"""`hutch reproduce priors` and `hutch reproduce crowd`: lazy priors and the nominal model online, as in the sources."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.strict_json import dumps
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.lazy_prior import clock, ghost_after, mean_of
from hutch.crowd.models.model import Array
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import DEFAULT_SLOTS, Progress, Table, run, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.simulate import SimulatedCrowd, simulate
from hutch.crowd.table import EXCHANGEABLE
from hutch.pages.plots import new_figure, write_figure

_SLOTS = (1, 4, 16, 64, 256, 1024, 4096, 1 << 16)


def prior_trajectories(decay: float, parameters: int = 20, steps: int = 400, seed: int = 0) -> dict[str, Array]:
    """Run three forms of one prior side by side, over the same touches and jumps of parameters drawn at random.

    Args:
        decay: rho in the step eta (t0 + t)^-rho, with eta = 1, t0 = 1.
        parameters: number of parameters that share the mean, ≥ 1.
        steps: number of touches.
        seed: of the touches and jumps.

    Returns:
        Parameter 0, as it would be read after each step, and the mean, (steps, 2): `dense`, where every parameter
        moves at every step; `sparse`, where only the touched one is read and moved, with the ghost; `mean frozen`, the
        same with the mean frozen between its touches, as published.
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
    return dict(zip(("dense", "sparse", "mean frozen"), found, strict=True))


def reproduce_priors(plots: Path | None, json: bool) -> None:
    """Move a parameter under a learned prior mean, densely and sparsely, and print the distance of the two.

    Args:
        plots: directory for the trajectories; None draws none.
        json: print JSON instead of a table.
    """
    rows = []
    for decay in (0.5, 0.8, 1.0):
        found = prior_trajectories(decay)
        sparse, frozen = (float(np.abs(found[name] - found["dense"]).max()) for name in ("sparse", "mean frozen"))
        rows.append({"decay": decay, "sparse_error": sparse, "frozen_error": frozen})
        if plots is not None:
            lines = {name: values[:, 0] for name, values in found.items()}
            _draw(plots / f"priors-{decay}.png", "touches", "parameter 0", lines)
        if not json:
            print(f"\nrho {decay}: parameter 0 and the mean of all, after some touches")
            print("touches     dense              sparse             mean frozen (published)")
            for step in (0, 9, 99, 399):
                cells = [f"{values[step, 0]:8.5f} {values[step, 1]:8.5f}" for values in found.values()]
                print(f"{step + 1:>7}  {'  '.join(cells)}")
            print(f"largest distance from dense: sparse {sparse:.1e}, frozen {frozen:.1e}")
    if json:
        print(dumps({"priors": rows}))


def size_run(write: Callable[[str], None], items: int = 9859, passes: int = 40, seed: int = 1) -> dict[str, float]:
    """Run the nominal model online as `nominalonlineextract` was run: 9,859 items, about 5 labels each, 5 classes.

    Args:
        write: takes the lines of its table.
        items, passes, seed: of the simulation.

    Returns:
        `labels`, CPU `seconds` of the passes, mean auxiliary function of the `first` and the `last` pass, `accuracy`.
    """
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
    right = accuracy(fit.posterior, crowd.truth)
    return {
        "labels": len(crowd.labels), "seconds": seconds, "first": means[0], "last": means[-1], "accuracy": right
    }  # fmt: skip


def slots_curve(crowd: SimulatedCrowd, sizes: Sequence[int] = _SLOTS) -> list[dict[str, float]]:
    """Accuracy of one online pass against the size of the worker table, from one row for all to a row for each."""
    labels, points = crowd.labels, []
    for slots in sizes:
        point: dict[str, float] = {"slots": slots, "workers_per_slot": len(labels.worker_names) / slots}
        for model in (TwoLevel(), Nominal()):
            fit = run(stream_of(model, labels.classes, slots), labels, 1)
            point[model.name] = accuracy(fit.posterior, crowd.truth)
        points.append(point)
    return points


def model_table(crowd: SimulatedCrowd) -> list[tuple[str, float, float]]:
    """Name, accuracy and log-loss of the vote share and of every built-in model, batch and online."""
    labels = crowd.labels
    posteriors = {"vote share": labels.vote_share()}
    for kind in EXCHANGEABLE:
        posteriors[kind.name] = kind().fit(labels).posterior
    for model in (TwoLevel(), Nominal()):
        stream = stream_of(model, labels.classes, DEFAULT_SLOTS)
        posteriors[f"{model.name} online"] = run(stream, labels, 1).posterior
    return [(name, accuracy(q, crowd.truth), log_loss(q, crowd.truth)) for name, q in posteriors.items()]


def reproduce_crowd(plots: Path | None, json: bool) -> None:
    """Run the nominal model online in the source's size, compare the models, and shrink the worker table.

    Args:
        plots: directory for the curve of table sizes; None draws none.
        json: print JSON instead of tables.
    """
    size = size_run((lambda line: None) if json else print)
    crowd = simulate(20000, 2000, 5, 5, seed=2)
    models, curve = model_table(crowd), slots_curve(crowd)
    if plots is not None:
        lines = {name: [point[name] for point in curve] for name in ("two_level", "nominal")}
        _draw(plots / "crowd-slots.png", "slots", "accuracy after one pass", lines, _SLOTS)
    if json:
        rows = [{"model": name, "accuracy": score, "log_loss": loss} for name, score, loss in models]
        print(dumps({"size": size, "models": rows, "slots": curve}))
        return
    print(f"\n{size['labels']} labels, 40 passes: {size['seconds']:.2f} CPU s (85.8 s in the source, 2011)")
    print(f"auxiliary function {size['first']:.4f} in the first pass, {size['last']:.4f} in the last")
    print(f"accuracy {size['accuracy']:.4f}")
    print(f"\n{'20,000 items, 2,000 workers':<28} accuracy  log-loss")
    for name, score, loss in models:
        print(f"{name:<28} {score:8.4f}  {loss:8.4f}")
    print("\nworkers  slots   workers/slot  two_level  nominal   (accuracy, one online pass)")
    row = "{0:>7}  {slots:<7} {workers_per_slot:>11.2f}  {two_level:9.4f}  {nominal:7.4f}"
    for point in curve:
        print(row.format(2000, **point))


def _draw(path: Path, x_label: str, y_label: str, lines: Mapping[str, Any], x: Sequence[int] | None = None) -> None:
    """Draw some lines into a file, each thinner than the one below it; a given x is drawn on a logarithmic scale."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    for below, (name, values) in enumerate(lines.items()):
        width = 1.5 + 1.75 * (len(lines) - 1 - below)
        axes.plot(range(1, len(values) + 1) if x is None else x, values, label=name, linewidth=width)
    axes.set(xscale="linear" if x is None else "log", xlabel=x_label, ylabel=y_label)
    axes.legend()
    write_figure(figure, path)
