"""`hutch reproduce priors` and `hutch reproduce crowd`: lazy priors and the nominal model online, as in the sources."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hutch.core.plots import new_figure, prepare_plots, write_figure
from hutch.core.strict_json import dumps


def reproduce_priors(plots: Path | None, json: bool) -> None:
    """Move a parameter under a learned prior mean, densely and sparsely, and print how far the two come apart.

    Args:
        plots: directory for the trajectories, made if it is not there; None draws none.
        json: print JSON instead of a table.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    if plots is not None:
        prepare_plots(plots)
    from hutch.reproduce.crowd_evaluation import prior_trajectories

    found = [prior_trajectories(decay) for decay in (0.5, 0.8, 1.0)]
    if plots is not None:
        for trajectories in found:
            lines = {"dense": trajectories.dense, "sparse": trajectories.sparse, "mean frozen": trajectories.frozen}
            _draw(
                plots / f"priors-{trajectories.decay}.png",
                "touches",
                "parameter 0",
                {k: v[:, 0] for k, v in lines.items()},
            )
    if json:
        rows = [{"decay": t.decay, "sparse_error": t.sparse_error, "frozen_error": t.frozen_error} for t in found]
        print(dumps({"priors": rows}))
        return
    for trajectories in found:
        print(f"\nrho {trajectories.decay}: parameter 0 and the mean of all, after some touches")
        print("touches     dense              sparse             mean frozen (published)")
        for step in (0, 9, 99, 399):
            triple = (trajectories.dense, trajectories.sparse, trajectories.frozen)
            cells = [f"{t[step, 0]:8.5f} {t[step, 1]:8.5f}" for t in triple]
            print(f"{step + 1:>7}  {'  '.join(cells)}")
        errors = f"sparse {trajectories.sparse_error:.1e}, frozen {trajectories.frozen_error:.1e}"
        print(f"largest distance from dense: {errors}")


def reproduce_crowd(plots: Path | None, json: bool) -> None:
    """Run the nominal model online in the source's size, compare the models, and shrink the worker table.

    Args:
        plots: directory for the curve of table sizes, made if it is not there; None draws none.
        json: print JSON instead of tables.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    if plots is not None:
        prepare_plots(plots)
    from hutch.crowd.simulate import simulate
    from hutch.reproduce.crowd_evaluation import model_table, size_run, slots_curve

    size = size_run((lambda line: None) if json else print)
    crowd = simulate(20000, 2000, 5, 5, seed=2)
    models, curve = model_table(crowd), slots_curve(crowd)
    if plots is not None:
        lines = {"two_level": [p.two_level for p in curve], "nominal": [p.nominal for p in curve]}
        _draw(plots / "crowd-slots.png", "slots", "accuracy after one pass", lines, [p.slots for p in curve])
    if json:
        rows = [{"model": name, "accuracy": score, "log_loss": loss} for name, score, loss in models]
        print(dumps({"size": asdict(size), "models": rows, "slots": [asdict(p) for p in curve]}))
        return
    print(f"\n{size.labels} labels, 40 passes: {size.seconds:.2f} CPU s (85.8 s in the source, 2011)")
    print(f"auxiliary function {size.first:.4f} in the first pass, {size.last:.4f} in the last")
    print(f"accuracy {size.accuracy:.4f}")
    print(f"\n{'20,000 items, 2,000 workers':<28} accuracy  log-loss")
    for name, score, loss in models:
        print(f"{name:<28} {score:8.4f}  {loss:8.4f}")
    print("\nworkers  slots   workers/slot  two_level  nominal   (accuracy, one online pass)")
    for point in curve:
        print(
            f"{2000:>7}  {point.slots:<7} {point.workers_per_slot:>11.2f}  {point.two_level:9.4f}  {point.nominal:7.4f}"
        )


def _draw(path: Path, x_label: str, y_label: str, lines: dict[str, Any], x: list[int] | None = None) -> None:
    """Draw some lines into a file, each thinner than the one below it; a given x is drawn on a logarithmic scale."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    for below, (name, values) in enumerate(lines.items()):
        width = 1.5 + 1.75 * (len(lines) - 1 - below)
        axes.plot(range(1, len(values) + 1) if x is None else x, values, label=name, linewidth=width)
    if x is not None:
        axes.set_xscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend()
    write_figure(figure, path)
