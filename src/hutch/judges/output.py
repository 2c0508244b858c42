"""The report on judges as text, as JSON and as a page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any, BinaryIO, NamedTuple

from hutch.core.errors import shortened
from hutch.estimate.means import Interval
from hutch.judges.hardest import HEADER, TITLE
from hutch.judges.lab import Report
from hutch.judges.measures import FEW, Row
from hutch.pages.page import Head, intervals_figure, table, with_texts, write_html
from hutch.pages.plots import svg_of
from hutch.shell.help_text import width

_NAME = 26
"""Most letters of a name in the text."""
_FINE = 0.01
"""Half-width of an interval from which two decimals are enough."""
_NOTES = ("doubt",)
"""What is said below a table."""
_KEYS = ("slice", "versions", "of", "judge", "class", "people")
"""What names a row, and is repeated where a table is cut."""


class Section(NamedTuple):
    """A section's heading, the meaning of its figures, and the intervals that a page plots."""

    title: str
    meaning: str
    plotted: str


SECTIONS = {
    "judges": Section(
        "Agreement with people",
        "accuracy: share of verdicts that people share; items: labelled by both; kappa (Cohen), alpha (Krippendorff): "
        "agreement beyond chance",
        "accuracy",
    ),
    "classes": Section(
        "Errors by class",
        "recall: share of a class by people that the judge finds; precision: share of what it calls so that people do",
        "recall",
    ),
    "confusions": Section("Confusions", "number of items of each class by people, and what the judge says", ""),
    "rates": Section(
        "Rates over all items",
        "said: by the judge; corrected: by its recalls, if people's items were chosen by class or by lot (Rogan and "
        "Gladen); by verdict: by its precisions, if they were chosen by its verdict or by lot",
        "corrected",
    ),
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
    "panel": Section(
        "Panel",
        "all judges together; alpha: their agreement with each other (Krippendorff); taught by: items with a true "
        "class; accuracy: where it has not seen the class; votes: independent votes per item that the judges are "
        "worth; closed: part of the gap from the plurality to judges who err independently",
        "",
    ),
}
FOOTNOTE = f"too few: fewer than {FEW} items or clusters, so that nothing is judged"


def text_lines(report: Report, columns: int | None = None) -> Iterator[str]:
    """The report for people, a table for each section; one that is too wide is cut into several.

    Args:
        report: of `hutch.judges.lab`.
        columns: of a line at most; None: those of the terminal, at most 80.
    """
    columns = columns or width()
    few = False
    for name, rows in _told(report).items():
        title, meaning, _ = SECTIONS[name]
        yield from ("", title, *wrap(meaning, columns, initial_indent="  ", subsequent_indent="  "))
        few |= any(value is None for row in rows for value in row.values())
        for part in _parts(rows, columns):
            yield from part
        yield from (line for row in rows for note in _NOTES if note in row for line in wrap(row[note], columns))
    if few:
        yield from ("", FOOTNOTE)


def _told(report: Report) -> Report:
    """The sections that say something to people: no panel of one judge, no agreement where people are silent."""
    left_out = set() if "classes" in report else {"judges"}
    left_out |= {"panel"} if report["panel"][0]["judges"] == 1 else set()
    return {name: rows for name, rows in report.items() if name not in left_out}


def _parts(rows: list[Row], columns: int) -> Iterator[list[str]]:
    """The lines of a table, cut into tables that fit; what names a row comes again in each."""
    cells = [[shortened(text, _NAME) for text in row] for row in _cells(rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    header = cells[0]
    names = [k for k, key in enumerate(header) if key in _KEYS]
    rest = [k for k in range(len(header)) if k not in names]
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= columns else " "
    while True:
        taken, room = list(names), columns - sum(widths[k] + len(gap) for k in names)
        while rest and (taken == names or widths[rest[0]] <= room):
            room -= widths[rest[0]] + len(gap)
            taken.append(rest.pop(0))
        yield [gap.join(row[k].ljust(widths[k]) for k in taken).rstrip() for row in cells]
        if not rest:
            return
        yield [""]


def as_json(report: Report) -> dict[str, list[dict[str, Any]]]:
    """The report as JSON objects; an interval is an object, a figure that cannot be estimated is null."""
    return {name: [{key: _plain(value) for key, value in row.items()} for row in rows] for name, rows in report.items()}


def _plain(value: Any) -> Any:
    if not isinstance(value, Interval):
        return None if isinstance(value, float) and math.isnan(value) else value
    ends = {"estimate": value.estimate, "low": value.low, "high": value.high}
    return {key: x if math.isfinite(x) else None for key, x in ends.items()} | {"items": value.labelled}


def write_page(
    file: BinaryIO,
    report: Report,
    title: str,
    top: Head | None = None,
    hardest: Sequence[Sequence[str]] = (),
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write the report as one HTML page with this title.

    Args:
        file: to write to.
        report: of `hutch.judges.lab`.
        title: the heading.
        top: above the content.
        hardest: rows of `hutch.judges.hardest.HEADER`: items on which judges differ from people.
        texts: of items, by name, shown beside them; None: no texts.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    parts = []
    for name, rows in _told(report).items():
        heading, meaning, plotted = SECTIONS[name]
        numbers = [k for k, key in enumerate(_header(rows)) if not isinstance(rows[0].get(key), str)]
        header, *lines = _cells(rows)
        parts += [f"<h2>{escape(heading)}</h2>", f"<p>{escape(meaning)}</p>", _picture(rows, plotted)]
        matters = [k for k, row in enumerate(rows) if (row.get("p of all") or 1.0) < 0.05]
        parts.append(table(header, lines, numbers, matters))
        parts += [f"<p>{escape(row[note])}</p>" for row in rows for note in _NOTES if note in row]
    if hardest:
        parts += [f"<h2>{TITLE}</h2>", table(*with_texts(HEADER, hardest, [row[0] for row in hardest], texts))]
    write_html(file, title, parts, top)


def _header(rows: Sequence[Row]) -> list[str]:
    return [key for key in dict.fromkeys(key for row in rows for key in row) if key not in _NOTES]


def _cells(rows: list[Row]) -> list[list[str]]:
    """The header and the rows of a table."""
    keys = _header(rows)
    return [keys, *([shown(row[key]) if key in row else "" for key in keys] for row in rows)]


def _picture(rows: list[Row], key: str) -> str:
    drawn = [row for row in rows if isinstance(row.get(key), Interval) and math.isfinite(row[key].half_width)]
    if not drawn:
        return ""
    names = [" ".join(str(row[name]) for name in ("judge", "versions", "of", "class") if name in row) for row in drawn]
    ends = [(row[key].low, row[key].estimate, row[key].high) for row in drawn]
    if key in ("accuracy", "recall", "corrected", "flips", "first"):
        return svg_of(intervals_figure(names, ends, key, 0.0, 1.0, 0.5 if key == "first" else None))
    lowest, highest = min(low for low, _, _ in ends), max(high for _, _, high in ends)
    return svg_of(intervals_figure(names, ends, key, min(lowest, 0), max(highest, 0), 0.0))


def shown(value: Any) -> str:
    """A cell.

    >>> shown(Interval(0.5, 0.25, 0.75, 0.1, 9, 9)), shown(Interval(0.5, 0.495, 0.505, 0.1, 9, 9))
    ('0.50 [0.25, 0.75]', '0.500 [0.495, 0.505]')
    >>> shown(0.00002), shown(17.0), shown(None)
    ('2e-05', '17', 'too few')
    """
    if value is None:
        return "too few"
    if isinstance(value, Interval):
        ends = (value.low, value.estimate, value.high)
        digits = 3 if value.half_width < _FINE else 2 if value.half_width < 10 * _FINE**0.5 else 1
        low, middle, high = (f"{x:.{digits}f}" if math.isfinite(x) else "open" for x in ends)
        return f"{middle} [{low}, {high}]"
    if isinstance(value, float):
        if math.isnan(value):
            return "undefined"
        if value == round(value) and (value >= 1 or value == 0):
            return str(int(value))
        if abs(value) >= 1:
            return f"{value:.{1 if abs(value) >= 10 else 2}f}"
        return f"{value:.3f}" if value >= 0.001 or value <= 0 else f"{value:.1g}"
    return str(value)
