"""Outputs of a run of `hutch crowd`: posteriors, workers, a summary."""

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from hutch.core.errors import UsageError, did_you_mean
from hutch.crowd.aggregate import Aggregate
from hutch.crowd.data.codes import known_first
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.calibration import accuracy, calibration_error, log_loss
from hutch.crowd.models.model import Array
from hutch.crowd.models.ordered import ratings
from hutch.crowd.models.trust import Trust
from hutch.crowd.report import Level, WorkerReport, krippendorff_alpha

if TYPE_CHECKING:
    from hutch.crowd.requests import Pool

_BLOCK = 4096
_CLEAN = str.maketrans({"\t": " ", "\n": " ", "\r": " "})


def cells(names: Sequence[str]) -> Sequence[str]:
    """Names that can stand in a field of a tab-separated file."""
    together = "".join(names)
    return [name.translate(_CLEAN) for name in names] if any(map(together.__contains__, "\t\n\r")) else names


def write_posteriors(file: BinaryIO, result: Aggregate, detail: bool = False) -> None:
    """Write `task label confidence ratings q:<class>...`, one line per task; a tie goes to the first class.

    If the classes are ordered, also `mean median low high`; with detail `beta raw:<class>...`, how easy the task is and
    the model's own posterior, which is not calibrated.
    """
    file.write(posterior_header(result.labels.classes, result.scale is not None, detail))
    more = np.column_stack([result.beta(), result.fit.posterior]) if detail else None
    posterior_rows(file, result.labels, result.probability, result.scale, more)


def posterior_header(classes: list[str], ordered: bool = False, detail: bool = False) -> bytes:
    """The first line of a file of posteriors."""
    more = ["mean", "median", "low", "high"] if ordered else []
    more += ["beta", *(f"raw:{k}" for k in cells(classes))] if detail else []
    names = ["task", "label", "confidence", "ratings", *(f"q:{k}" for k in cells(classes)), *more]
    return ("\t".join(names) + "\n").encode()


def posterior_rows(
    file: BinaryIO, labels: Labels, probability: Array, scale: Array | None = None, detail: Array | None = None
) -> None:
    """Write the lines of some tasks; probability (items, classes), scale of ordered classes, detail (items, any)."""
    classes = cells(labels.classes)
    extra = np.zeros((labels.items, 0)) if detail is None else detail
    counts = labels.ratings
    line = "%s\t%s\t%.6g\t%d" + "\t%.6g" * (len(classes) + (0 if scale is None else 4) + extra.shape[1]) + "\n"
    for start in range(0, labels.items, _BLOCK):
        block = probability[start : start + _BLOCK]
        found = None if scale is None else ratings(block, scale)
        more = (found.mean, found.median, found.low, found.high) if found else ()
        rows = zip(
            cells(labels.item_names[start : start + _BLOCK]),
            [classes[k] for k in block.argmax(axis=1).tolist()],
            block.max(axis=1).tolist(),
            counts[start : start + _BLOCK].tolist(),
            *block.T.tolist(),
            *(column.tolist() for column in more),
            *extra[start : start + _BLOCK].T.tolist(),
            strict=True,
        )
        file.write("".join([line % row for row in rows]).encode())


def set_rows(file: BinaryIO, labels: Labels, names: list[str], share: Array) -> None:
    """Write the lines of some tasks with several labels; `share` is P(label) of each (items, labels)."""
    called, sure = np.array(cells(names)), np.maximum(share, 1 - share).prod(axis=1)
    for task, each, c, count in zip(cells(labels.item_names), share, sure, np.diff(labels.item_ptr), strict=True):
        fields = [task, "|".join(called[each > 0.5]), f"{c:.6g}", str(count), *(f"{q:.6g}" for q in each)]
        file.write(("\t".join(fields) + "\n").encode())


def write_questions(file: BinaryIO, results: Mapping[str, Aggregate]) -> None:
    """Write the posteriors of several questions, as `write_posteriors` does, with the question as the last column.

    Classes that a question does not have, and the mean, median, low and high of classes without an order, are empty.
    """
    every = known_first((), (name for result in results.values() for name in result.labels.classes))
    ordered = any(result.scale is not None for result in results.values())
    file.write(posterior_header(every, ordered).removesuffix(b"\n") + b"\tquestion\n")
    for question, result in results.items():
        labels, (asked,) = result.labels, cells([question])
        place = {name: k for k, name in enumerate(labels.classes)}
        found = None if result.scale is None else ratings(result.probability, result.scale)
        values = (found.mean, found.median, found.low, found.high) if found else ()
        more = zip(*(column.tolist() for column in values), strict=True) if values else repeat(("",) * 4 * ordered)
        classes, counts = cells(labels.classes), np.diff(labels.item_ptr).tolist()
        for task, q, count, rating in zip(cells(labels.item_names), result.probability, counts, more, strict=False):
            shares = [f"{q[place[name]]:.6g}" if name in place else "" for name in every]
            row = [task, classes[int(q.argmax())], f"{q.max():.6g}", str(count), *shares]
            row += [each if isinstance(each, str) else f"{each:.6g}" for each in rating]
            file.write(("\t".join([*row, asked]) + "\n").encode())


def write_workers(
    file: BinaryIO,
    result: Aggregate,
    report: WorkerReport,
    question: str = "",
    header: bool = True,
    every: Sequence[str] = (),
) -> None:
    """Write `worker labels accuracy spam c:<true>:<label>... low high gold_labels gold_accuracy confusions noise`.

    One line for each worker of the present labels; `accuracy` is empty for a worker with too few labels to judge,
    `low` and `high` bound it with 95 %, `confusions` are the three most probable wrong labels, `noise`
    how often two of their labels of one task differ. With a question, whose answers the labels are, it is the last
    column; `every` names the classes of all questions.
    """
    names, classes = cells(result.labels.worker_names), cells(result.labels.classes)
    place = {name: k for k, name in enumerate(classes)}
    pairs = [(true, label) for true in cells(every) or classes for label in cells(every) or classes]
    extra = ["low", "high", "gold_labels", "gold_accuracy", "confusions", "noise"]
    if header:
        columns = [
            "worker",
            "labels",
            "accuracy",
            "spam",
            *(f"c:{true}:{label}" for true, label in pairs),
            *extra,
            *(["question"] if question else []),
        ]
        file.write(("\t".join(columns) + "\n").encode())
    for w in np.flatnonzero(report.labels).tolist():
        accuracy = "" if math.isnan(report.accuracy[w]) else f"{report.accuracy[w]:.4f}"
        fields = [names[w], str(report.labels[w]), accuracy, f"{report.spam[w]:.4f}"]
        rates = report.confusions[w]
        fields += [f"{rates[place[a], place[b]]:.4f}" if a in place and b in place else "" for a, b in pairs]
        fields += [f"{report.low[w]:.4f}", f"{report.high[w]:.4f}", str(report.gold_labels[w])]
        fields.append(f"{report.gold_accuracy[w]:.4f}" if report.gold_labels[w] else "")
        fields.append(" ".join(f"{k}>{label}:{p:.2f}" for k, label, p in report.top_confusions(w, classes)))
        fields.append("" if math.isnan(report.noise[w]) else f"{report.noise[w]:.4f}")
        file.write(("\t".join([*fields, *cells([question] if question else [])]) + "\n").encode())


def summary(result: Aggregate) -> dict[str, Any]:
    """The numbers of a run; None where one is not defined."""
    labels, gold = result.labels, result.labels.gold
    probability = result.probability
    top = probability.max(axis=1, initial=0.0, keepdims=True)
    summary: dict[str, Any] = {
        "tasks": labels.items,
        "workers": int(np.count_nonzero(np.bincount(labels.workers))),
        "labels": len(labels),
        "classes": len(labels.classes),
        "class_names": labels.classes,
        "class_prior": result.class_prior.tolist(),
        "iterations": result.fit.iterations,
        "objective": result.fit.objective,
        "converged": result.fit.converged,
        "duplicates": labels.duplicates,
        "contradictions": labels.contradictions,
        "left_out": labels.problems.total,
        "ties": int(np.sum(np.sum(probability >= top - 1e-12, axis=1) > 1)),
        "effective_labels": _effective(result),
        "copies": [
            vars(group) | {"workers": [labels.worker_names[w] for w in group.workers]} for group in result.copies
        ],
        "doubt": result.doubt,
        "krippendorff_alpha": _defined(krippendorff_alpha(labels)),
        **({} if result.scale is None else _ordered_alphas(labels)),
        "gold": int(np.sum(gold >= 0)),
        "gold_without_labels": labels.unmatched_gold,
    }
    return summary


def _effective(result: Aggregate) -> float | None:
    """Effective number of independent labels per task, on average; None where this is not estimated."""
    trust = result.fit.state.shared.get("trust")
    if trust is None or not trust.any() or not result.labels.items:
        return None
    ratings = np.diff(result.labels.item_ptr)
    return float((Trust(*trust.tolist()).exponents(ratings) * ratings).mean())


def _ordered_alphas(labels: Labels) -> dict[str, float | None]:
    levels: tuple[Level, ...] = ("ordinal", "interval")
    return {f"krippendorff_{level}": _defined(krippendorff_alpha(labels, level)) for level in levels}


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None


def score(result: Aggregate, truth: np.ndarray[Any, np.dtype[np.int32]]) -> dict[str, float | None]:
    """Accuracy, log-loss and calibration error of the posteriors against true classes (items, -1 unknown).

    If the classes are ordered, the mean absolute error of the posteriors' medians, too.
    """
    if not np.any(truth >= 0):
        more = [] if result.scale is None else ["mean_absolute_error"]
        return dict.fromkeys(["accuracy", "log_loss", "calibration_error", *more])
    found: dict[str, float | None] = {
        "accuracy": accuracy(result.probability, truth),
        "log_loss": log_loss(result.probability, truth),
        "calibration_error": calibration_error(result.probability, truth),
    }
    if result.scale is None:
        return found
    known = truth >= 0
    error = ratings(result.probability[known], result.scale).median - result.scale[truth[known]]
    return found | {"mean_absolute_error": float(np.abs(error).mean())}


def label_pool(result: Aggregate) -> "Pool":
    """The effect of one more label on every task; the average worker is weighted by labels."""
    from hutch.crowd.requests import pool  # not at the top: only --next needs it

    labels, classes = result.labels, len(result.labels.classes)
    weight = np.bincount(labels.workers, minlength=len(labels.worker_names)) + 1e-9
    row = np.einsum("w,wkl->kl", weight / weight.sum(), result.confusions)
    habit = np.bincount(labels.labels, minlength=classes) + 1.0
    ratings = np.diff(labels.item_ptr)
    return pool(result.fit.posterior, ratings, row, result.fit.informative, habit / habit.sum())


def workers_to_ask(result: Aggregate, items: np.ndarray[Any, np.dtype[np.int64]], names: list[str]) -> list[str | None]:
    """For each item the most informative available worker who has not labelled it; None if all have.

    Args:
        result: of the aggregation.
        items: the items to request.
        names: the available workers; a worker without labels counts as average.
    """
    from hutch.crowd.requests import best_worker

    labels = result.labels
    code = {name: number for number, name in enumerate(labels.worker_names)}
    counts = np.append(np.bincount(labels.workers, minlength=len(code)), 0)
    average = np.average(result.confusions, axis=0, weights=counts[:-1] + 1e-9)
    rows = np.concatenate([result.confusions, average[None]])
    people = np.array([code.get(name, len(code)) for name in names])
    found: list[str | None] = []
    for item in items.tolist():
        asked = labels.workers[labels.item_ptr[item] : labels.item_ptr[item + 1]]
        free = np.flatnonzero(~np.isin(people, asked))
        best = best_worker(free, rows[people], result.fit.posterior[item], counts[people]) if len(free) else -1
        found.append(names[best] if best >= 0 else None)
    return found


def next_rows(
    result: Aggregate, scores: "Pool", count: int, names: list[str], prices: Mapping[str, float]
) -> list[dict[str, Any]]:
    """The tasks to label next as records, with the worker to ask if some are available or labels have prices.

    Args:
        result: of the aggregation.
        scores: of `label_pool`.
        count: number of tasks.
        names: the available workers.
        prices: of a label, by worker; may be empty.
    """
    if prices:
        return offer_rows(result, prices, names, count)
    items = scores.next(count)
    rows = pool_rows(result, scores, items)
    if names and len(result.labels):
        for row, worker in zip(rows, workers_to_ask(result, items, names), strict=True):
            row["worker"] = worker
    return rows


def offer_rows(result: Aggregate, prices: Mapping[str, float], names: list[str], count: int) -> list[dict[str, Any]]:
    """The tasks and workers whose labels gain most for their price, as records.

    Args:
        result: of the aggregation.
        prices: of a label, by worker.
        names: the available workers; empty: all with a price.
        count: number of tasks.

    Raises:
        UsageError: a worker has no price.
    """
    from hutch.crowd.offers import offers

    code = {name: number for number, name in enumerate(result.labels.worker_names)}
    for name in names:
        if name not in prices:
            raise UsageError(f"--ask-of: {name!r} has no price in the labels; {did_you_mean(name, prices)}")
    available = [name for name in names or prices if name in code]
    found = offers(result, [code[name] for name in available], [prices[name] for name in available])
    items = found.best(count)
    rows = pool_rows(result, label_pool(result), items)
    for row, item in zip(rows, items.tolist(), strict=True):
        row["worker"] = result.labels.worker_names[found.worker[item]]
        row["gain"], row["price"] = float(found.gain[item]), float(found.price[item])
    return rows


def pool_rows(result: Aggregate, scores: "Pool", items: np.ndarray[Any, np.dtype[np.int64]]) -> list[dict[str, Any]]:
    """Some tasks of the pool as records: task, confidence, ratings, expected gain in nats, labels needed."""
    labels = result.labels
    return [
        {
            "task": labels.item_names[i],
            "confidence": float(result.probability[i].max()),
            "ratings": int(labels.item_ptr[i + 1] - labels.item_ptr[i]),
            "gain": float(scores.gain[i]),
            "labels_needed": _defined(float(scores.needed[i])),
        }
        for i in items.tolist()
    ]
