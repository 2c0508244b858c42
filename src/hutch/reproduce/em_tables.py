"""`hutch reproduce nat-oem`: the four evaluations of Nat-oEM, against plain, tuned and averaged online EM."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.strict_json import dumps
from hutch.pages.plots import new_figure, write_figure
from hutch.reproduce import em_contenders as contenders
from hutch.reproduce import em_evaluation as evaluation
from hutch.reproduce.em_contenders import BASELINE, TUNED, Outcome, compare_incremental, compare_shuffled

_IID = {"to_target": "samples to target", "one_pass": "after one pass"}
_INCREMENTAL = {"area": "along", "final": "final", "earlier": "earlier", "learned": "learned", "later": "later"}
_LOWER_IS_BETTER = {"to_target"}
SEEDS = 5
"""Splits and orders of each data set."""
DATA = {"digits": evaluation.digits, "synthetic": evaluation.synthetic}
_LINES = {"oEM": ":", "Nat-oEM": "--", "exact": "-"}


def reproduce_nat_oem(plots: Path | None, json: bool) -> None:
    """Run the evaluations and print their tables, or one JSON object.

    Args:
        plots: directory for the curves; None draws none.
        json: print JSON instead of tables.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    data = {name: [make(seed) for seed in range(SEEDS)] for name, make in DATA.items()}
    results: dict[str, Any] = {}
    for name, tasks in data.items():
        iid = []
        for number, family in enumerate(contenders.FAMILIES, 1):
            print(f"{name}, iid: {family.name} ({number} of {len(contenders.FAMILIES)})", file=sys.stderr)
            iid.append(compare_shuffled(tasks, family))
        print(f"{name}, class by class", file=sys.stderr)
        classes = list(compare_incremental(tasks, contenders.FAMILIES))
        results[name] = {"iid": _plain(iid, _IID), "incremental": _plain(classes, _INCREMENTAL)}
        if not json:
            _print(f"{name}: iid stream, rank {tasks[0].rank}", iid, _IID)
            _print(f"{name}: class by class, once", classes, _INCREMENTAL)
        if plots is not None:
            _draw(plots, name, iid, classes)
    if json:
        print(dumps(results))


def _plain(outcomes: list[Outcome], figures: dict[str, str]) -> dict[str, Any]:
    out = {}
    for outcome in outcomes:
        values = {name: [v if v < float("inf") else None for v in outcome.values(name).tolist()] for name in figures}
        out[outcome.family] = {"setting": outcome.chosen, **values}
    return out


def _print(title: str, outcomes: list[Outcome], figures: dict[str, str]) -> None:
    """Print a table: mean ± standard deviation over seeds, and the seeds in which a row beats the two references."""
    count = len(outcomes[0].runs)
    lines = [["learner", *figures.values(), "setting"]]
    for outcome in outcomes:
        cells = ["unstable"] * len(figures)
        for i, name in enumerate(figures if outcome.runs else ()):
            tuned = {f"{TUNED} for {name if name in ('final', 'earlier') else 'sum'}", TUNED}
            cells[i] = _cell(outcome, [other for other in outcomes if other.family in {BASELINE} | tuned], name)
        lines.append([outcome.family, *cells, outcome.chosen])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}; in brackets: in how many of {count} seeds better than {BASELINE} and than {TUNED}\n")
    for first, *cells, last in lines:
        row = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=False)]
        print("  ".join([first.ljust(widths[0]), *row, last]))


def _cell(outcome: Outcome, references: list[Outcome], name: str) -> str:
    values, sign = outcome.values(name), -1 if name in _LOWER_IS_BETTER else 1
    wins = [str(int(np.sum(sign * values > sign * other.values(name)))) for other in references]
    won = f" ({', '.join(wins)})"
    reached = values[np.isfinite(values)]
    if len(reached) < len(values):
        return f"{len(reached)} of {len(values)} get there{won}"
    spread = reached.std(ddof=1) if len(reached) > 1 else 0.0
    digits = 0 if name in _LOWER_IS_BETTER else 1
    return f"{reached.mean():.{digits}f} ± {spread:.{digits}f}{won}"


def _draw(directory: Path, name: str, iid: list[Outcome], classes: list[Outcome]) -> None:
    """One figure for each evaluation, means over seeds."""
    evaluations = (
        ("iid-convergence", iid, "curve", "samples"),
        ("incremental-convergence", classes, "curve", "classes learned"),
        ("consolidation", classes, "earlier_curve", "classes learned before"),
        ("interference", classes, "later_curve", "classes learned"),
    )
    for title, outcomes, curve, axis in evaluations:
        figure = new_figure(11, 5)
        axes = figure.add_subplot()
        lows, tops = [], []
        for number, outcome in enumerate(outcomes):
            if outcome.runs:
                style = next(style for start, style in _LINES.items() if outcome.family.startswith(start))
                y = np.mean([getattr(run, curve) for run in outcome.runs], axis=0)
                x = outcome.runs[0].seen if outcomes is iid else np.arange(1, len(y) + 1)
                axes.plot(x, y, style, color=f"C{number % 10}", label=f"{outcome.family} ({outcome.chosen})")
                lows.append(float(np.quantile(y, 0.25)))
                tops.append(float(y.max()))
        top = max(tops)
        axes.set_ylim(min(lows), top + 0.05 * (top - min(lows)))
        axes.set_xscale("log" if outcomes is iid else "linear")
        axes.set_xlabel(axis)
        axes.set_ylabel("held-out log-likelihood, nats per sample")
        axes.set_title(f"{name}: {title.replace('-', ' ')}")
        figure.legend(loc="outside right upper", fontsize=7)
        write_figure(figure, directory / f"nat-oem-{name}-{title}.png")
