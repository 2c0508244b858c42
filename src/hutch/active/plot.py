"""Curves of simulated label requests."""

from collections.abc import Mapping
from math import isnan
from pathlib import Path

from hutch.active.simulate import Run
from hutch.core.plots import new_figure, write_figure


def draw(runs: Mapping[str, Run], directory: Path) -> Path:
    """Draw loss against labels bought, as `active.png`.

    Args:
        runs: by name.
        directory: made if it is missing.

    Returns:
        The file.

    Raises:
        UsageError: Matplotlib is not installed.
        HutchError: the file cannot be written.
    """
    tested = not any(isnan(run.end.test_loss) for run in runs.values())
    figure = new_figure(5.5 * (1 + tested), 4)
    for column, (name, title) in enumerate([("progressive_loss", "progressive loss"), ("test_loss", "test loss")]):
        if name == "test_loss" and not tested:
            continue
        axes = figure.add_subplot(1, 1 + tested, column + 1)
        for label, run in runs.items():
            x = [point.queries for point in run.curve]
            axes.plot(x, [getattr(point, name) for point in run.curve], marker=".", label=label)
        axes.set(xlabel="labels bought", ylabel=title, xscale="symlog", ylim=(0, None))
        axes.legend()
    return write_figure(figure, directory / "active.png")
