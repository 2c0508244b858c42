"""`hutch reproduce dyadic`: linear and dyadic learners on simulated ratings, and on a file of ratings of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hutch.core.errors import UsageError
from hutch.core.plots import new_figure, prepare_plots, write_figure
from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from hutch.reproduce.dyadic_evaluation import Sweep

PUBLISHED = {"best constant": 0.701, "linear": 0.214, "rank 1": 0.198, "rank 2": 0.198, "rank 3": 0.199}
"""Error on the ratings of the source, which were never published."""

_VERDICT = """
What reproduces: no rate over five orders of magnitude makes an importance-aware learner diverge, plain gradient steps
do. What does not: on simulated ratings the dyad is not better than the linear learner. With decay of the weights it is
a tie, without it overfits the few ratings of a task; in one pass the shifted dyad gains, as its first steps are
longer. In the source a rank of three costs 1.6 times the linear learner."""


def reproduce_dyadic(plots: Path | None, json: bool, ratings: Path | None = None) -> None:
    """Run the comparison and print its tables, or one JSON object.

    Args:
        plots: directory for the curves, made if it is not there; None draws none.
        json: print JSON instead of tables.
        ratings: a file of lines user TAB item TAB rating: measure on it instead of on simulated ratings.

    Raises:
        UsageError: Matplotlib is not installed, or there is nothing to draw.
        DataError: a line of the ratings is wrong.
    """
    if plots is not None and ratings is not None:
        raise UsageError("--plots draws the curves of the simulated ratings; leave it out with --ratings")
    if plots is not None:
        prepare_plots(plots)
    if ratings is not None:
        _on_ratings(ratings, json)
        return
    from hutch.reproduce.dyadic_evaluation import SETTINGS, compare, constant_error, split, sweep

    train, test = split()
    errors: dict[str, Any] = {"best constant": constant_error(train, test)}
    if not json:
        print(f"{len(train)} simulated ratings to learn from, {len(test)} kept aside, hinge loss under a filter tree")
        print(f"best constant {errors['best constant']:.4f} (source: {PUBLISHED['best constant']})\n")
        print(f"{'error':<34}  linear  rank 1  rank 2  rank 3   CPU of rank 3 to linear", flush=True)
    for name, setting in SETTINGS.items():
        found = compare(train, test, setting)
        errors[name] = {"error": found.errors, "seconds": found.seconds}
        if not json:
            cells = "  ".join(f"{error:6.4f}" for error in found.errors)
            print(f"{name:<34}  {cells}   {found.seconds[-1] / found.seconds[0]:.2f}", flush=True)
    if not json:
        print(f"{'source, on its own ratings':<34}  " + "  ".join(f"{v:6.3f}" for v in list(PUBLISHED.values())[1:]))
    curves = sweep(train, test)
    if plots is not None:
        _draw(plots / "dyadic-rates.png", curves)
    if json:
        rates = {"rates": curves.rates, "aware": curves.aware, "gradient": curves.gradient}
        print(dumps({"errors": errors, "sweep": rates, "published": PUBLISHED}))
        return
    print(f"\n{'learning rate, rank 2, one pass':<34}" + "".join(f"{rate:>9g}" for rate in curves.rates))
    print(f"{'importance aware':<34}" + "".join(f"{error:9.4f}" for error in curves.aware))
    print(f"{'plain gradient':<34}" + "".join(f"{_shown(error):>9}" for error in curves.gradient))
    print(_VERDICT)


def _shown(error: float | None) -> str:
    return "diverges" if error is None else f"{error:.4f}"


def _on_ratings(path: Path, json: bool) -> None:
    from hutch.reproduce.dyadic_evaluation import rate_errors, read_ratings

    found = rate_errors(*read_ratings(path))
    if json:
        print(dumps({name: {"rmse": rmse, "seconds": seconds} for name, rmse, seconds in found}))
        return
    print(f"{'90 % learned, 10 % kept aside':<34}    RMSE    CPU s")
    for name, rmse, seconds in found:
        print(f"{name:<34}  {rmse:.4f}  {seconds:7.2f}", flush=True)


def _draw(path: Path, curves: Sweep) -> None:
    """Draw the errors over the learning rate; where the gradient diverges, its curve ends."""
    figure = new_figure(7, 4)
    axes = figure.add_subplot()
    axes.plot(curves.rates, curves.aware, marker="o", label="importance aware")
    kept = [(rate, error) for rate, error in zip(curves.rates, curves.gradient, strict=True) if error is not None]
    axes.plot(*zip(*kept, strict=True), marker="x", label="plain gradient")
    axes.set(xscale="log", xlabel="learning rate", ylabel="error on ratings kept aside", title="rank 2, one pass")
    axes.legend()
    write_figure(figure, path)
