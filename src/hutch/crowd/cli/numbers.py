"""`hutch crowd --model numbers`: labels that are numbers instead of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.core.errors import DataError, UsageError, at
from hutch.core.run.output import open_output
from hutch.crowd.aggregate import Options, check_history, save
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.tasks import line_of, returning
from hutch.crowd.cli.ways import NUMBERS, NUMBERS_BATCH, NUMBERS_ONLINE, NUMBERS_STREAM
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.spelling import with_decimal_comma
from hutch.crowd.data.values import number_in, unsure_in
from hutch.crowd.label_stream import Seen, number_blocks
from hutch.crowd.models.block_stream import BlockStream
from hutch.crowd.models.model import Array, CrowdModel, State
from hutch.crowd.models.numbers import CROWD, LARGEST, MOMENTS, SURE, Numbers
from hutch.crowd.models.online import stream_of
from hutch.crowd.output import cells
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.returning import Finished
from hutch.pages.page import is_page
from hutch.shell.sentences import Verdict, next_command, things


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Infer the number of every task, write the requested outputs, and return the summary.

    Arguments as of `hutch.crowd.cli.tasks.run`.

    Raises:
        UsageError: an option needs classes, or all labels at once.
        DataError: a label is not a number.
    """
    if not isinstance(model, Numbers):
        raise UsageError(f"--model {model.name}: a model of measurements must be a subclass of Numbers")
    given.refuse(*NUMBERS)
    online, seen = options.method == "online", Seen(over=Finished(history))
    given.refuse(*(NUMBERS_ONLINE if online else NUMBERS_BATCH))
    if given.stream:
        given.refuse(*NUMBERS_STREAM)
    if is_page(given.report):
        raise UsageError("--report: wanted a text file with --model numbers")
    if history:
        check_history(model, options, history)
    if given.stream:
        blocks = number_blocks(given.labels, ColumnNames.of(given.read_as), seen)
    else:
        gold = read_gold(given.gold, given.encoding) if given.gold else None
        whole = read_labels(given.labels, (), history.worker_names if history else (), gold, given.read_as)
        over = returning(given, whole, model, options, history) or Finished()
        seen, blocks = Seen(whole.problems, whole.form, whole.notices, over=over), iter([whole])
        given.notice_alike(whole)
        given.notice_strays(whole)
    found: Iterable[tuple[Labels, Array]]
    if online:
        stream = stream_of(model, MOMENTS, options.slots, history)

        def processed(block: Labels) -> tuple[Labels, Array]:
            labels = _numbers(given, block)
            if np.isfinite(labels.gold).any():
                raise UsageError(f"{given.labels}: got true numbers, wanted --method batch: a stream cannot learn them")
            slots = stream.in_slots(replace(labels, gold=np.full(labels.items, -1, np.int32)))
            once = options.passes == 1
            return labels, stream.score(slots)[0] if options.test else stream.learn(slots, once).posterior

        found = map(processed, blocks)
    else:
        labels = _numbers(given, next(blocks))
        fit = model.infer(labels, history) if options.test and history else model.fit(labels, history)
        found = [(labels, fit.posterior)]
        of_known = fit.state.labels["weight"][np.isfinite(labels.gold)[labels.label_items]]
        if len(of_known) and of_known.mean() < 0.5:
            text = "most answers to tasks whose number is known are far from it: are both in the same unit?"
            given.notice(f"{given.gold or given.labels}: {text}")
    tasks, answers, score, widths = 0, 0, _Score(given), _Widths()
    with open_output(given.predictions) if given.predictions else nullcontext() as file:
        for labels, posterior in found:
            mean, deviation = posterior[:, 0], np.sqrt(posterior[:, 1])
            ends = {"low": mean - SURE * deviation, "high": mean + SURE * deviation}
            score.add(labels, mean, ends["low"], ends["high"])
            widths.add(SURE * deviation[np.diff(labels.item_ptr) > 0])
            if file:
                columns = {"mean": mean, "deviation": deviation, **ends, "ratings": np.diff(labels.item_ptr)}
                file.write(_text("task", labels.item_names, columns, header=not tasks))
            tasks, answers = tasks + labels.items, answers + len(labels)
    state, crowd = (stream.state, stream.class_prior()) if online else (fit.state, model.class_prior(fit.state))
    for path in filter(None, (given.workers, given.report)):
        if online:
            assert isinstance(stream, BlockStream)
            names, (known, places) = whole.worker_names, stream.state_of(stream.slots_of(whole.worker_names))
        else:
            names, known, places = state.worker_names, state, np.arange(len(state.worker_names))
        columns = {name: column[places] for name, column in model.workers(known).items()}
        order = np.lexsort((-columns["noise"], columns["labels"] == 0))[: np.count_nonzero(columns["labels"])]
        people = [names[w] for w in order]
        with open_output(path) as file:
            file.write(_text("worker", people, {name: column[order] for name, column in columns.items()}))
    if given.final:
        if online:
            seen.over.keep(state)
        save(given.final, model, options, state)
    given.notice_seen(seen)
    if not answers:
        given.notice(f"{given.labels}: no labels")
    summary = {"read_as": seen.form, "model": model.name, "method": options.method, "tasks": tasks, "labels": answers}
    if given.stream:
        summary["split_tasks"] = seen.split
    learned = dict(zip(CROWD, crowd.tolist(), strict=True)) if crowd.any() else {}
    summary |= {"left_out": seen.problems.total, **unsure_in(seen.problems), **learned, **score.summary}
    return summary | _verdict(given, widths).as_json()


class _Widths:
    """Half-widths of intervals, counted in bins of half a percent, so that memory does not grow with tasks."""

    _PER_E, _ZERO = 200, -(1 << 30)

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.count = 0

    def add(self, half: Array) -> None:
        """Count half-widths; those of known numbers are 0."""
        logs = np.log(half, out=np.full(len(half), self._ZERO / self._PER_E), where=half > 0)
        bins, counts = np.unique(np.round(logs * self._PER_E).astype(np.int64), return_counts=True)
        self._counts.update(dict(zip(bins.tolist(), counts.tolist(), strict=True)))
        self.count += len(half)

    def quantile(self, share: float) -> float:
        """The half-width that a share of them do not exceed."""
        bins = sorted(self._counts)
        reached = np.cumsum([self._counts[each] for each in bins])
        return float(np.exp(bins[int(np.searchsorted(reached, share * self.count))] / self._PER_E))  # of _ZERO: 0


def _verdict(given: CrowdOptions, widths: _Widths) -> Verdict:
    """How exactly the numbers are known."""
    if not widths.count:
        return Verdict(("There are no labels.",))
    usual, most = (widths.quantile(share) for share in (0.5, 0.95))
    known = f"Half of {things(widths.count, 'task')} are known to within {usual:.2g} or better"
    said = f"{known}, and 95 % of them to within {most:.2g}, at 95 %, if workers' errors are not shared."
    if not given.workers and not given.stream:
        return Verdict((said,), next_command("--workers", "workers.tsv"))
    return Verdict((said,), "" if given.predictions else next_command("-p", "numbers.tsv"))


class _Score:
    """How far numbers are from those of a file, which is not learned from; tasks whose number is given do not count."""

    def __init__(self, given: CrowdOptions) -> None:
        self._path, self._off, self._held = given.score, list[float](), list[bool]()
        self._truth: dict[str, float] = {}
        if given.score:
            truth = read_gold(given.score, given.encoding)
            self._truth = {task: _number(given, name, given.score) for task, name in truth.items()}

    def add(self, labels: Labels, mean: Array, low: Array, high: Array) -> None:
        """Compare the numbers of some tasks."""
        for place, name in enumerate(labels.item_names) if self._truth else ():
            if name in self._truth and np.isnan(labels.gold[place]):
                truth = self._truth[name]
                self._off.append(float(mean[place] - truth))
                self._held.append(bool(low[place] <= truth <= high[place]))

    @property
    def summary(self) -> dict[str, Any]:
        """Number of tasks, errors, and how often intervals hold; empty without a file."""
        if not self._path:
            return {}
        off, some = np.array(self._off), len(self._off) > 0
        return {"score": {
            "scored": len(off), "root_mean_squared_error": float(np.sqrt(np.mean(off**2))) if some else None,
            "mean_absolute_error": float(np.mean(np.abs(off))) if some else None,
            "intervals_hold": float(np.mean(self._held)) if some else None,
        }}  # fmt: skip


def _numbers(given: CrowdOptions, labels: Labels) -> Labels:
    """Labels and gold with the numbers that their classes are instead of codes; DataError where one is no number."""
    values = np.array([_number(given, name, given.labels, given.gold) for name in labels.classes])
    numbers: Any = values[labels.labels]
    gold: Any = np.where(labels.gold >= 0, np.append(values, 0.0)[labels.gold], np.nan)
    return replace(labels, labels=numbers, gold=gold, classes=MOMENTS, divided=labels.divided[:0])


def _number(given: CrowdOptions, name: str, *paths: str | None) -> float:
    """The number that a label is; DataError with its place in the first of the files that has it."""
    value = number_in(name)
    if not abs(value) <= LARGEST:
        lines = {path: line_of(path, name) for path in paths if path}
        path = next(filter(lines.get, lines), given.labels)
        wanted = "decimal points" if with_decimal_comma([name]) else f"a number up to {LARGEST:g}"
        raise DataError(at(path, lines.get(path), None, f"got the label {name!r}, wanted {wanted}"))
    return value


def _text(role: str, names: Sequence[str], columns: dict[str, Array], header: bool = True) -> bytes:
    """Names and numbers as tab-separated text."""
    lines = ["\t".join((role, *columns))] if header else []
    for name, *row in zip(cells(names), *(column.tolist() for column in columns.values()), strict=True):
        lines.append("\t".join((name, *(f"{each:.8g}" for each in row))))
    return "".join(f"{line}\n" for line in lines).encode()
