"""HTML pages with tables and plots inside; they load nothing and run nothing."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hutch.core.errors import UsageError, shortened
from hutch.core.version import version
from hutch.pages.plots import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_OTHERS = (
    ".pdf",
    ".png",
    ".jpg",
    ".jpeg",
    ".svg",
    ".docx",
    ".xlsx",
    ".pptx",
    ".csv",
    ".tsv",
    ".json",
    ".ipynb",
    ".zip",
)
TEXT = "text"
"""The heading of a column of items' texts."""
_TEXT = 400
"""Most characters of an item's text in a table."""
_MARGIN, _LONG = 0.03, 34
"""Room beyond the ends of an axis, of its length; most letters of a name beside it."""
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td { max-width: 24rem; }
td.n { white-space: nowrap; }
td.t { min-width: 14rem; }
tr.matters { font-weight: 600; }
div { overflow-x: auto; }
code { white-space: pre-wrap; }
.verdict { font-size: 1.15rem; font-weight: 600; }
.made { opacity: .75; }
svg { max-width: 100%; height: auto; background: #fff; }
"""


def is_page(path: str | None) -> bool:
    """Whether a report goes to a page, by the ending of its file: .html or .htm; else it is text.

    Args:
        path: of the report; None: there is none.

    Raises:
        UsageError: the ending is that of another format.

    >>> is_page("judges.HTML"), is_page("judges.txt"), is_page("-"), is_page(None)
    (True, False, False, False)
    """
    ending = Path(path or "").suffix.lower()
    if ending in _OTHERS:
        wanted = "wanted .html for a page, which a browser prints or saves as PDF, or .txt for text"
        raise UsageError(f"--report: got {path!r}, {wanted}; --json has the numbers")
    return ending in (".html", ".htm")


class Head(NamedTuple):
    """What stands between the heading and the content of a page.

    Attributes:
        sentences: what was found.
        following: the command to type next.
        command: that made the page.
    """

    sentences: Sequence[str] = ()
    following: str = ""
    command: str = ""


def write_html(file: BinaryIO, title: str, parts: Iterable[str], top: Head | None = None) -> None:
    """Write a page.

    Args:
        file: to write to.
        title: its heading, as text.
        parts: its content below the heading, as HTML.
        top: above the content.
    """
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    body = f"<h1>{escape(title)}</h1>" + "\n".join([*(_top(top) if top else ()), *parts])
    file.write(f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>{body}</body></html>\n".encode())


def _top(top: Head) -> Iterator[str]:
    """The head as HTML, with the version of Hutch and the day."""
    made = datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC)
    if top.sentences:
        yield f"<p class='verdict'>{escape(' '.join(top.sentences))}</p>"
    if top.following:
        yield f"<p>Next: <code>{escape(top.following)}</code></p>"
    by = f" by <code>{escape(top.command)}</code>" if top.command else ""
    yield f"<p class='made'>Hutch {version()}, {made:%Y-%m-%d}{by}</p>"


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    matters: Sequence[int] = (),
) -> str:
    """A table of texts as HTML; the columns `numbers` are set to the right, the rows `matters` in bold.

    The column `TEXT` is wide on a phone, too.

    >>> table(("who", "n"), [("a & b", "1")], (1,))
    "<div><table><tr><th>who</th><th class='n'>n</th></tr><tr><td>a &amp; b</td><td class='n'>1</td></tr></table></div>"
    """

    def cells(row: Sequence[str], tag: str) -> str:
        texts = header.index(TEXT) if TEXT in header else -1
        kind = [" class='n'" if n in numbers else " class='t'" if n == texts else "" for n in range(len(row))]
        return "".join(f"<{tag}{k}>{escape(text)}</{tag}>" for text, k in zip(row, kind, strict=True))

    top = f"<tr>{cells(header, 'th')}</tr>" if header else ""
    mark = {k: " class='matters'" for k in matters}
    body = "".join(f"<tr{mark.get(k, '')}>{cells(row, 'td')}</tr>" for k, row in enumerate(rows))
    return f"<div><table>{top}{body}</table></div>"


def with_texts(
    header: Sequence[str], rows: Sequence[Sequence[str]], items: Sequence[str], texts: Mapping[str, str] | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Header and rows of a table about items, with the item's text behind its name, which is the first cell.

    Args:
        header, rows: of the table.
        items: the item of each row.
        texts: by item, of which the first `_TEXT` characters are shown; None: there are none.

    >>> with_texts(("item", "n"), [("t1", "3")], ["t1"], {"t1": "So it is."})
    (('item', 'text', 'n'), [('t1', 'So it is.', '3')])
    """
    if not texts:
        return header, rows
    shown = [shortened(texts.get(item, ""), _TEXT) for item in items]
    return (header[0], TEXT, *header[1:]), [(row[0], text, *row[1:]) for row, text in zip(rows, shown, strict=True)]


def intervals_figure(
    names: Sequence[str],
    ends: Sequence[tuple[float, float, float]],
    meaning: str,
    least: float,
    most: float,
    null: float | None = None,
) -> "Figure":
    """Estimates with their intervals, a line for each.

    Args:
        names: of the lines.
        ends: low, estimate and high of each.
        meaning: below the axis.
        least, most: where the axis ends, but for a margin.
        null: where there is no effect, drawn as a line; None: nowhere.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    figure = new_figure(7, 0.8 + 0.2 * len(names))
    axes = figure.add_subplot()
    errors = [[abs(middle - low) for low, middle, _ in ends], [abs(high - middle) for _, middle, high in ends]]
    rows = range(len(names))
    axes.errorbar([middle for _, middle, _ in ends], rows, xerr=errors, fmt="o", markersize=4, capsize=2)
    margin = _MARGIN * ((most - least) or 1.0)
    axes.set(xlim=(least - margin, most + margin), xlabel=meaning, ylim=(len(names) - 0.4, -0.6))
    if null is not None:
        axes.axvline(null, color="gray", linewidth=0.8, linestyle="--")
    axes.set_yticks(rows, [plain(name) for name in names], fontsize=7)
    return figure


def band_figure(
    places: Sequence[float], ends: Sequence[tuple[float, float, float]], along: str, meaning: str
) -> "Figure":
    """An estimate that moves, with the band of its interval.

    Args:
        places: along the horizontal axis, ascending.
        ends: low, estimate and high at each.
        along: what that axis means.
        meaning: what the estimate means.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    low, middle, high = zip(*ends, strict=True)
    axes.fill_between(places, low, high, alpha=0.25, linewidth=0)
    axes.plot(places, middle, marker="o", markersize=3)
    axes.set(xlabel=along, ylabel=plain(meaning))
    return figure


def plain(name: str) -> str:
    """A name as an axis shows it: short, and no mathematics."""
    return (name[:_LONG] + "…" if len(name) > _LONG + 1 else name or "(anonymous)").replace("$", r"\$")
