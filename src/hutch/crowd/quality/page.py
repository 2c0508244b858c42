"""The quality of labels as one HTML page with plots inside; it loads nothing and runs nothing."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import BinaryIO

import numpy as np

from hutch.crowd.quality.text import Quality
from hutch.crowd.report import TOO_FEW
from hutch.crowd.verdict import GUESSES
from hutch.pages.page import Head, intervals_figure, plain, table, with_texts, write_html
from hutch.pages.plots import new_figure, svg_of

_ROWS = 100
_BARS = 40


def write_page(
    file: BinaryIO, quality: Quality, title: str, top: Head | None = None, texts: Mapping[str, str] | None = None
) -> None:
    """Write the page.

    Args:
        file: to write to.
        quality: its content.
        title: its heading.
        top: above the content.
        texts: of tasks, by name, shown beside them; None: no texts.

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
    parts = [
        table((), facts),
        *(f"<p>{escape(line)}</p>" for line in quality.workers.shared_confusions(labels.classes)),
    ]
    if usual := quality.population():
        numbers = range(1, len(usual))
        parts += ["<h2>What the usual worker calls each class</h2>", table(usual[0], usual[1:], numbers)]
    parts += ["<h2>Workers</h2>", _workers_plot(quality), _workers(quality)]
    pairs = table(
        ("worker", "worker", "tasks in common", "agreement", "kappa"), quality.pair_rows(_ROWS // 4), (2, 3, 4)
    )
    parts += ["<h2>Pairs of workers</h2>", _pairs_plot(quality), pairs]
    hardest = quality.hardest(_ROWS // 4)
    heads, rows = with_texts(
        ("task", "agreement", "labels"), quality.task_rows(_ROWS // 4), _names(quality, hardest), texts
    )
    tasks = table(heads, rows, (len(heads) - 2,))
    parts += ["<h2>Tasks</h2>", _tasks_plot(agreed), tasks, f"<h2>{_suspects(len(found))}</h2>"]
    heads = ("task", "worker", "label", "suggested", "probability wrong")
    names = _names(quality, found.items.tolist()[:_ROWS])
    heads, rows = with_texts(heads, quality.suspect_rows(_ROWS), names, texts)
    parts.append(table(heads, rows, (len(heads) - 1,)))
    write_html(file, title, parts, top)


def _names(quality: Quality, items: Sequence[int]) -> list[str]:
    return [quality.result.labels.item_names[item] for item in items]


def _suspects(count: int) -> str:
    some = f": the surest {_ROWS} of {count}" if count > _ROWS else ""
    return f"Labels that are probably wrong{some}"


def _workers(quality: Quality) -> str:
    report, labels = quality.workers, quality.result.labels
    shown = quality.by_accuracy()[:_ROWS]
    rows = [
        (labels.worker_names[w] or "(anonymous)", str(report.labels[w]),
         "too few" if np.isnan(report.accuracy[w]) else f"{report.accuracy[w]:.3f}",
         f"{report.low[w]:.3f} to {report.high[w]:.3f}", f"{report.spam[w]:.3f}",
         ", ".join(f"{k} as {label} {p:.2f}" for k, label, p in report.top_confusions(w, labels.classes, 2)))
        for w in shown
    ]  # fmt: skip
    guess = [k for k, w in enumerate(shown) if report.spam[w] >= GUESSES and report.labels[w] >= TOO_FEW]
    return table(("worker", "labels", "accuracy", "95 %", "spam", "confuses"), rows, (1, 2, 3, 4), guess)


def _workers_plot(quality: Quality) -> str:
    report, labels = quality.workers, quality.result.labels
    shown = quality.by_accuracy()[:_BARS]
    if not shown:
        return ""
    names = [labels.worker_names[w] for w in shown]
    ends = [(report.low[w], report.accuracy[w], report.high[w]) for w in shown]
    chance = 1 / max(len(labels.classes), 1)
    return svg_of(
        intervals_figure(names, ends, "accuracy on a task of usual difficulty, with its 95 % interval", 0, 1, chance)
    )


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
    shown = [plain(names[w]) for w in ranked]
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
