"""The quality of labels as one HTML page with plots inside; it loads nothing and runs nothing."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import BinaryIO

import numpy as np

from hutch.core.plots import new_figure, svg_of
from hutch.crowd.quality.agreement import lowest
from hutch.crowd.quality.text import Quality

_ROWS = 100
_BARS = 40
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td { overflow-wrap: anywhere; max-width: 24rem; }
svg { max-width: 100%; height: auto; }
"""


def write_page(file: BinaryIO, quality: Quality, title: str) -> None:
    """Write the page.

    Args:
        file: takes it.
        quality: what it says.
        title: its heading.

    Raises:
        UsageError: Matplotlib is not installed.
    """
    labels, found = quality.result.labels, quality.suspects
    agreed = quality.tasks[np.isfinite(quality.tasks)]
    facts = [
        ("tasks", str(labels.items)), ("workers", str(len(quality.by_accuracy()))), ("labels", str(len(labels))),
        ("classes", ", ".join(labels.classes)), ("left out", str(labels.problems.total)),
        ("agreement within tasks", f"{agreed.mean():.3f}" if len(agreed) else "undefined"),
        ("Krippendorff's alpha", f"{quality.alpha:.3f}"),
        ("labels that are probably wrong", f"{len(found)}, about {found.wrong.sum():.0f} of them really are"),
    ]  # fmt: skip
    parts = [_table((), facts), "<h2>Workers</h2>", _workers_plot(quality), _workers(quality)]
    parts += ["<h2>Pairs of workers</h2>", _pairs_plot(quality), _pairs(quality)]
    parts += ["<h2>Tasks</h2>", _tasks_plot(agreed), _tasks(quality), "<h2>Labels that are probably wrong</h2>"]
    parts.append(_suspects(quality))
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    body = f"<h1>{escape(title)}</h1>" + "\n".join(parts)
    file.write(f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>{body}</body></html>\n".encode())


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; columns of `numbers` are set to the right."""

    def cells(row: Sequence[str], tag: str) -> str:
        kind = [" class='n'" if n in numbers else "" for n in range(len(row))]
        return "".join(f"<{tag}{k}>{escape(text)}</{tag}>" for text, k in zip(row, kind, strict=True))

    top = f"<tr>{cells(header, 'th')}</tr>" if header else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table>{top}{body}</table>"


def _workers(quality: Quality) -> str:
    report, labels = quality.workers, quality.result.labels
    rows = [
        (labels.worker_names[w] or "(anonymous)", str(report.labels[w]), f"{report.accuracy[w]:.3f}",
         f"{report.low[w]:.3f} to {report.high[w]:.3f}", f"{report.spam[w]:.3f}",
         ", ".join(f"{k} as {label} {p:.2f}" for k, label, p in report.top_confusions(w, labels.classes, 2)))
        for w in quality.by_accuracy()[:_ROWS]
    ]  # fmt: skip
    return _table(("worker", "labels", "accuracy", "95 %", "spam", "confuses"), rows, (1, 2, 3, 4))


def _pairs(quality: Quality) -> str:
    pairs, names = lowest(quality.pairs, _ROWS // 4), quality.result.labels.worker_names
    rows = [
        (names[pairs.first[n]], names[pairs.second[n]], f"{pairs.tasks[n]:.0f}",
         f"{pairs.agreed[n] / pairs.tasks[n]:.3f}", f"{pairs.kappa[n]:.3f}")
        for n in range(len(pairs.tasks))
    ]  # fmt: skip
    return _table(("worker", "worker", "tasks in common", "agreement", "kappa"), rows, (2, 3, 4))


def _tasks(quality: Quality) -> str:
    names = quality.result.labels.item_names
    rows = [(names[i], f"{quality.tasks[i]:.3f}", quality.votes_of(i)) for i in quality.hardest(_ROWS // 4)]
    return _table(("task", "agreement", "labels"), rows, (1,))


def _suspects(quality: Quality) -> str:
    labels, found = quality.result.labels, quality.suspects
    rows = []
    for n in range(min(_ROWS, len(found))):
        place, item = found.labels[n], found.items[n]
        worker, label = labels.worker_names[labels.workers[place]], labels.classes[labels.labels[place]]
        rows.append(
            (labels.item_names[item], worker, label, labels.classes[found.suggested[n]], f"{found.wrong[n]:.3f}")
        )
    return _table(("task", "worker", "label", "suggested", "probability wrong"), rows, (4,))


def _workers_plot(quality: Quality) -> str:
    report, labels = quality.workers, quality.result.labels
    shown = quality.by_accuracy()[:_BARS]
    if not shown:
        return ""
    figure = new_figure(7, 0.8 + 0.2 * len(shown))
    axes = figure.add_subplot()
    accuracy, rows = report.accuracy[shown], np.arange(len(shown))
    ends = np.abs(np.stack([accuracy - report.low[shown], report.high[shown] - accuracy]))
    axes.errorbar(accuracy, rows, xerr=ends, fmt="o", markersize=4, capsize=2)
    axes.set(xlim=(0, 1), xlabel="accuracy on a task of usual difficulty, with its 95 % interval")
    axes.set_yticks(rows, [_plain(labels.worker_names[w]) for w in shown], fontsize=7)
    axes.invert_yaxis()
    return svg_of(figure)


def _pairs_plot(quality: Quality) -> str:
    pairs, names = quality.pairs, quality.result.labels.worker_names
    ranked = np.argsort(-quality.workers.labels, kind="stable")[:_BARS]
    place = np.full(len(names), -1)
    place[ranked] = np.arange(len(ranked))
    seen = np.flatnonzero((place[pairs.first] >= 0) & (place[pairs.second] >= 0))
    if not len(seen):
        return ""
    size, kappa = len(ranked), np.full((len(ranked), len(ranked)), np.nan)
    first, second = place[pairs.first[seen]], place[pairs.second[seen]]
    kappa[first, second] = kappa[second, first] = pairs.kappa[seen]
    figure = new_figure(2 + 0.16 * size, 1.5 + 0.16 * size)
    axes = figure.add_subplot()
    picture = axes.imshow(kappa, vmin=-1, vmax=1, cmap="RdBu")
    shown = [_plain(names[w]) for w in ranked]
    axes.set_xticks(range(size), shown, rotation=90, fontsize=6)
    axes.set_yticks(range(size), shown, fontsize=6)
    figure.colorbar(picture, ax=axes, label="kappa", shrink=0.6)
    return svg_of(figure)


def _tasks_plot(agreed: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    if not len(agreed):
        return ""
    figure = new_figure(6, 2.6)
    axes = figure.add_subplot()
    axes.hist(agreed, bins=np.linspace(0, 1, 21).tolist())
    axes.set(xlabel="share of pairs of labels that agree", ylabel="tasks")
    return svg_of(figure)


def _plain(name: str) -> str:
    """A name as an axis shows it: short, and no mathematics."""
    return (name[:24] + "…" if len(name) > 25 else name or "(anonymous)").replace("$", r"\$")
