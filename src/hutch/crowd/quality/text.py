"""The quality of labels as text and as a table of suspects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from hutch.crowd.aggregate import Aggregate
from hutch.crowd.models.copies import Pairs
from hutch.crowd.output import cells
from hutch.crowd.quality.agreement import Suspects, lowest, pair_agreement, suspects, task_agreement
from hutch.crowd.report import WorkerReport, krippendorff_alpha

SHOWN = 10
"""Rows of a list in the text."""


@dataclass(frozen=True)
class Quality:
    """The content of a report.

    Attributes:
        result: of the aggregation.
        workers: one row each.
        pairs: agreement of workers.
        tasks: agreement within tasks (items).
        suspects: labels that are probably wrong.
        alpha: Krippendorff's.
    """

    result: Aggregate
    workers: WorkerReport
    pairs: Pairs
    tasks: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    suspects: Suspects
    alpha: float

    def population(self) -> list[list[str]]:
        """The usual worker's labels of each class, as rows of a table, a header first; none with many classes."""
        computed, classes = self.result.population, cells(self.result.labels.classes)
        if computed is None or not 2 <= len(classes) <= SHOWN:
            return []
        rows = zip(classes, computed().tolist(), strict=True)
        return [["class", *classes], *([name, *(f"{p:.3f}" for p in row)] for name, row in rows)]

    def hardest(self, count: int) -> list[int]:
        """Tasks on which labels agree least; of equal ones those with more labels first."""
        ratings = np.diff(self.result.labels.item_ptr)
        known = np.flatnonzero(np.isfinite(self.tasks))
        return [int(i) for i in known[np.lexsort((-ratings[known], self.tasks[known]))[:count]]]

    def by_accuracy(self) -> list[int]:
        """Workers with labels, the least accurate first, those with too few to judge last."""
        given = np.flatnonzero(self.workers.labels)
        return [int(w) for w in given[np.argsort(self.workers.accuracy[given], kind="stable")]]

    def pair_rows(self, count: int) -> list[list[str]]:
        """The pairs of workers with the least agreement: names, tasks in common, agreement and kappa."""
        pairs, names = lowest(self.pairs, count), self.result.labels.worker_names
        share = pairs.agreed / pairs.tasks
        columns = zip(pairs.first, pairs.second, pairs.tasks, share, pairs.kappa, strict=True)
        return [[*cells([names[a], names[b]]), f"{n:.0f}", f"{same:.3f}", f"{k:.3f}"] for a, b, n, same, k in columns]

    def task_rows(self, count: int) -> list[list[str]]:
        """The hardest tasks: name, agreement and labels."""
        names = self.result.labels.item_names
        return [[*cells([names[i]]), f"{self.tasks[i]:.3f}", self.votes_of(i)] for i in self.hardest(count)]

    def suspect_rows(self, count: int) -> list[list[str]]:
        """The labels that are wrong most probably: task, worker, label, suggested label, probability."""
        labels, found, rows = self.result.labels, self.suspects, []
        for place, item, better, wrong in zip(found.labels, found.items, found.suggested, found.wrong, strict=True):
            worker, label = labels.worker_names[labels.workers[place]], labels.classes[labels.labels[place]]
            names = cells([labels.item_names[item], worker])
            rows.append([*names, label, labels.classes[better], f"{wrong:.3f}"])
            if len(rows) == count:
                break
        return rows

    def votes_of(self, item: int) -> str:
        """The labels of a task with their numbers, the most frequent first."""
        labels = self.result.labels
        given = np.bincount(
            labels.labels[labels.item_ptr[item] : labels.item_ptr[item + 1]], minlength=len(labels.classes)
        )
        order = [k for k in np.argsort(-given, kind="stable").tolist() if given[k]]
        return ", ".join(f"{labels.classes[k]} {given[k]}" for k in order)


def quality_of(result: Aggregate) -> Quality:
    """Assess labels and the results inferred from them."""
    labels = result.labels
    workers = result.report()
    return Quality(
        result, workers, pair_agreement(labels), task_agreement(labels), suspects(result), krippendorff_alpha(labels)
    )


def write_suspects(file: BinaryIO, found: Suspects, result: Aggregate) -> None:
    """Write `task worker label suggested wrong gold`, a line for each suspect, the surest first."""
    labels = result.labels
    tasks, workers, classes = cells(labels.item_names), cells(labels.worker_names), cells(labels.classes)
    file.write(b"task\tworker\tlabel\tsuggested\twrong\tgold\n")
    rows = zip(found.labels.tolist(), found.items.tolist(), found.suggested.tolist(), found.wrong.tolist(), strict=True)
    for place, item, suggested, wrong in rows:
        worker, label = workers[labels.workers[place]], classes[labels.labels[place]]
        gold = "yes" if labels.gold[item] >= 0 else ""
        file.write(f"{tasks[item]}\t{worker}\t{label}\t{classes[suggested]}\t{wrong:.4f}\t{gold}\n".encode())


def text_lines(quality: Quality) -> Iterator[str]:
    """The report as text, for people."""
    labels, found = quality.result.labels, quality.suspects
    agreed = quality.tasks[np.isfinite(quality.tasks)]
    mean = f"{agreed.mean():.3f}" if len(agreed) else "undefined"
    yield f"{len(labels)} labels of {len(quality.by_accuracy())} workers on {labels.items} tasks"
    yield f"agreement within tasks {mean}, Krippendorff's alpha {quality.alpha:.3f}"
    yield from (group.describe(labels.worker_names) for group in quality.result.copies)
    if quality.result.doubt:
        yield quality.result.doubt
    yield from quality.workers.shared_confusions(labels.classes)
    if usual := quality.population():
        yield from ("", "what the usual worker calls each class", *map("\t".join, usual))
    yield from ("", "workers, the least accurate first", "worker\tlabels\taccuracy\tlow\thigh\tspam")
    for w in quality.by_accuracy()[:SHOWN]:
        at = quality.workers
        accuracy = "too few" if np.isnan(at.accuracy[w]) else f"{at.accuracy[w]:.3f}"
        numbers = f"{accuracy}\t{at.low[w]:.3f}\t{at.high[w]:.3f}\t{at.spam[w]:.3f}"
        yield f"{cells([labels.worker_names[w]])[0]}\t{at.labels[w]}\t{numbers}"
    yield from ("", "pairs of workers, the least agreement first", "worker\tworker\ttasks\tagreement\tkappa")
    yield from map("\t".join, quality.pair_rows(SHOWN))
    yield from ("", "tasks, the least agreement first", "task\tagreement\tlabels")
    yield from map("\t".join, quality.task_rows(SHOWN))
    yield ""
    yield f"labels that are probably wrong: {len(found)}, about {found.wrong.sum():.0f} of them really are"
    if len(found):
        yield "task\tworker\tlabel\tsuggested\twrong"
    yield from map("\t".join, quality.suspect_rows(SHOWN))
