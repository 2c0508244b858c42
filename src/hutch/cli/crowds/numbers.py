"""`hutch crowd --model numbers`: labels that are numbers instead of classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.cli.crowds.options import CrowdOptions
from hutch.cli.crowds.tasks import line_of
from hutch.core.errors import DataError, UsageError, at
from hutch.core.run.output import open_output
from hutch.crowd.aggregate import Options, check_history, save
from hutch.crowd.data.labels import Labels, read_labels
from hutch.crowd.data.prices import number_in
from hutch.crowd.exports.found import Columns, Problems
from hutch.crowd.label_stream import number_blocks
from hutch.crowd.models.model import Array, CrowdModel, State
from hutch.crowd.models.numbers import CROWD, LARGEST, MOMENTS, SURE, Numbers
from hutch.crowd.models.online import stream_of
from hutch.crowd.output import cells

_REFUSED = (
    "gold", "score", "all_judges", "next", "ask_of", "detail", "suspects", "shards", "ray", "classes", "ordered",
    "multi_label", "set",
)  # fmt: skip


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Infer the number of every task, write the requested outputs, and return the summary.

    Arguments as of `hutch.cli.crowds.tasks.run`.

    Raises:
        UsageError: an option needs classes, or all labels at once.
        DataError: a label is not a number.
    """
    assert isinstance(model, Numbers)
    given.refuse(_REFUSED, "cannot be combined with --model numbers")
    online, problems = options.method == "online", Problems()
    given.refuse(("workers", "report") if online else ("stream",), f"cannot be combined with --method {options.method}")
    if given.report and given.report.endswith(".html"):
        raise UsageError("--report: wanted a text file with --model numbers")
    if history:
        check_history(model, options, history)
    if given.stream:
        blocks = number_blocks(given.labels, Columns.of(given.read_as), problems)
    else:
        whole = read_labels(given.labels, (), history.worker_names if history else (), columns=given.read_as)
        problems, blocks = whole.problems, iter([whole])
        if "" in whole.worker_names:
            given.notice(f"{given.labels}: labels without a worker: all are taken as one person's")
    found: Iterable[tuple[Labels, Array]]
    if online:
        stream = stream_of(model, MOMENTS, options.slots, history)

        def processed(block: Labels) -> tuple[Labels, Array]:
            labels = _numbers(given, block)
            slots = stream.in_slots(labels)
            once = options.passes == 1
            return labels, stream.score(slots)[0] if options.test else stream.learn(slots, once).posterior

        found = map(processed, blocks)
    else:
        labels = _numbers(given, next(blocks))
        fit = model.infer(labels, history) if options.test and history else model.fit(labels, history)
        found = [(labels, fit.posterior)]
    tasks, answers = 0, 0
    with open_output(given.predictions) if given.predictions else nullcontext() as file:
        for labels, posterior in found:
            if file:
                mean, deviation = posterior[:, 0], np.sqrt(posterior[:, 1])
                ends = {"low": mean - SURE * deviation, "high": mean + SURE * deviation}
                columns = {"mean": mean, "deviation": deviation, **ends, "ratings": np.diff(labels.item_ptr)}
                file.write(_text("task", labels.item_names, columns, header=not tasks))
            tasks, answers = tasks + labels.items, answers + len(labels)
    state, crowd = (stream.state, stream.class_prior()) if online else (fit.state, model.class_prior(fit.state))
    for path in filter(None, (given.workers, given.report)):
        columns = model.workers(state)
        order = np.lexsort((-columns["noise"], columns["labels"] == 0))[: np.count_nonzero(columns["labels"])]
        people = [state.worker_names[w] for w in order]
        with open_output(path) as file:
            file.write(_text("worker", people, {name: column[order] for name, column in columns.items()}))
    if given.final:
        save(given.final, model, options, state)
    for line in [*problems.lines(given.labels), *([] if answers else [f"{given.labels}: no labels"])]:
        given.notice(line)
    summary = {"model": model.name, "method": options.method, "tasks": tasks, "labels": answers}
    known = dict(zip(CROWD, crowd.tolist(), strict=True)) if crowd.any() else {}
    return {**summary, "left_out": problems.total, **known}


def _numbers(given: CrowdOptions, labels: Labels) -> Labels:
    """Labels with the numbers that their classes are instead of codes; DataError where one is not a number."""
    values = np.array([number_in(name) for name in labels.classes])
    for wrong in np.flatnonzero(~(np.abs(values) <= LARGEST)).tolist():
        name = labels.classes[wrong]
        text = f"got the label {name!r}, wanted a number up to {LARGEST:g}"
        raise DataError(at(given.labels, line_of(given.labels, name), None, text))
    numbers: Any = values[labels.labels]
    return replace(labels, labels=numbers, classes=MOMENTS, divided=labels.divided[:0])


def _text(role: str, names: Sequence[str], columns: dict[str, Array], header: bool = True) -> bytes:
    """Names and numbers as tab-separated text."""
    lines = ["\t".join((role, *columns))] if header else []
    for name, *row in zip(cells(names), *(column.tolist() for column in columns.values()), strict=True):
        lines.append("\t".join((name, *(f"{each:.8g}" for each in row))))
    return "".join(f"{line}\n" for line in lines).encode()
