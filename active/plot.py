"""Curves of simulated label requests."""

from collections.abc import Mapping
from math import isnan
from pathlib import Path

from hutch.active.simulate import Run
from hutch.core.errors import HutchError, UsageError, at


def require_plots() -> None:
    """Raise a `UsageError` that says how to install what plots need, if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("plots need matplotlib: pip install 'hutch[plots]'") from None


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
    require_plots()
    from matplotlib.figure import Figure

    tested = not any(isnan(run.end.test_loss) for run in runs.values())
    figure = Figure(figsize=(5.5 * (1 + tested), 4), layout="constrained")
    for column, (name, title) in enumerate([("progressive_loss", "progressive loss"), ("test_loss", "test loss")]):
        if name == "test_loss" and not tested:
            continue
        axes = figure.add_subplot(1, 1 + tested, column + 1)
        for label, run in runs.items():
            x = [point.queries for point in run.curve]
            axes.plot(x, [getattr(point, name) for point in run.curve], marker=".", label=label)
        axes.set(xlabel="labels bought", ylabel=title, xscale="symlog", ylim=(0, None))
        axes.legend()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        figure.savefig(directory / "active.png", dpi=150)
    except OSError as error:
        raise HutchError(at(str(directory), None, None, f"cannot be written: {error.strerror}")) from None
    return directory / "active.png"
