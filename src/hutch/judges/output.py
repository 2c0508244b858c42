"""The report on judges as text, as JSON and as a page."""

import math
from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import Any, BinaryIO, NamedTuple

from hutch.estimate.means import Interval
from hutch.judges.lab import Report
from hutch.judges.measures import FEW, Row
from hutch.pages.page import intervals_plot, table, write_html


class Section(NamedTuple):
    """A section's heading, the meaning of its figures, and the intervals that a page plots."""

    title: str
    meaning: str
    plotted: str


SECTIONS = {
    "judges": Section("Agreement with people", "accuracy: share of verdicts that people share", "accuracy"),
    "scores": Section(
        "Scores",
        "bias: judge less people; noise: deviation between runs; people's score is about intercept + slope x score; "
        "error: mean distance; calibrated: after this",
        "bias",
    ),
    "repeats": Section(
        "Repeats",
        "flips: two runs differ; errors are bias if a second run errs too, noise if it does not",
        "flips",
    ),
    "order": Section(
        "Order of the two answers",
        "flips: the order changes the verdict; first: share of first places among equally good answers; shift: its "
        "logit; turned: verdicts that show it; usual, swapped: accuracy in that order; both: right in both",
        "first",
    ),
    "slices": Section("Slices", "p: against the rest; p of all: for all rows at once (Holm)", ""),
    "versions": Section("Versions", "change: second less first; p of all: for all rows at once (Holm)", "change"),
    "panel": Section("Panel", "taught by: items with a true class; accuracy: where it has not seen the class", ""),
}


def text_lines(report: Report) -> Iterator[str]:
    """The report for people, a table for each section."""
    for name, rows in report.items():
        title, meaning, _ = SECTIONS[name]
        yield from ("", title, *wrap(meaning, 110, initial_indent="  ", subsequent_indent="  "))
        cells = _cells(rows)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def as_json(report: Report) -> dict[str, list[dict[str, Any]]]:
    """The report as JSON objects; an interval is an object, a figure that cannot be estimated is null."""
    return {name: [{key: _plain(value) for key, value in row.items()} for row in rows] for name, rows in report.items()}


def _plain(value: Any) -> Any:
    if not isinstance(value, Interval):
        return value
    ends = {"estimate": value.estimate, "low": value.low, "high": value.high}
    return {key: x if math.isfinite(x) else None for key, x in ends.items()} | {"items": value.labelled}


def write_page(file: BinaryIO, report: Report, title: str) -> None:
    """Write the report as one HTML page with this title.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    parts = []
    for name, rows in report.items():
        heading, meaning, plotted = SECTIONS[name]
        numbers = [k for k, value in enumerate(rows[0].values()) if not isinstance(value, str)]
        header, *lines = _cells(rows)
        parts += [f"<h2>{escape(heading)}</h2>", f"<p>{escape(meaning)}</p>", _picture(rows, plotted)]
        parts.append(table(header, lines, numbers))
    write_html(file, title, parts)


def _cells(rows: list[Row]) -> list[list[str]]:
    """The header and the rows of a table."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [keys, *([shown(row[key]) if key in row else "" for key in keys] for row in rows)]


def _picture(rows: list[Row], key: str) -> str:
    drawn = [row for row in rows if isinstance(row.get(key), Interval) and math.isfinite(row[key].half_width)]
    if not drawn:
        return ""
    names = [str(row.get("judge") or f"{row['versions']} {row['of']}") for row in drawn]
    ends = [(row[key].low, row[key].estimate, row[key].high) for row in drawn]
    if key in ("accuracy", "flips", "first"):
        return intervals_plot(names, ends, key, 0.0, 1.0)
    lowest, highest = min(low for low, _, _ in ends), max(high for _, _, high in ends)
    margin = 0.05 * (highest - lowest) or 1.0
    return intervals_plot(names, ends, key, min(lowest, 0) - margin, max(highest, 0) + margin)


def shown(value: Any) -> str:
    """A cell.

    >>> shown(Interval(0.5, 0.25, 0.75, 0.1, 9, 9)), shown(0.00002), shown(None)
    ('0.500 [0.250, 0.750]', '2e-05', 'too few')
    """
    if value is None:
        return "too few"
    if isinstance(value, Interval):
        ends = (value.low, value.estimate, value.high)
        low, middle, high = (f"{x:.3f}" if math.isfinite(x) else "open" for x in ends)
        return f"{middle} [{low}, {high}]"
    if isinstance(value, float):
        return f"{value:.3f}" if value >= 0.001 or value <= 0 else f"{value:.1g}"
    return str(value)


FOOTNOTE = f"too few: fewer than {FEW} items or clusters, nothing is judged"
