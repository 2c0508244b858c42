"""`hutch crowd --stream`: labels learned in pieces, in fixed memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import Any

from hutch.core.errors import UsageError
from hutch.core.run.output import open_output
from hutch.crowd import aggregate as aggregation
from hutch.crowd.aggregate import Options
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.ways import STREAM
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.values import unsure_in
from hutch.crowd.label_stream import Seen, Totals, label_blocks, multi_label_blocks, run_blocks
from hutch.crowd.models.copies import copies_in_stream
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.models.online import Table, stream_of
from hutch.crowd.models.ordered import scale_of
from hutch.crowd.questions import apart, together
from hutch.crowd.read.labels import read_gold
from hutch.crowd.read.multi_label import ANSWERS, read_sets


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Learn a stream of labels; returns the summary. Arguments as of `hutch.crowd.cli.tasks.run`.

    Raises:
        UsageError: an option needs all labels at once.
    """
    path, columns = given.labels, given.read_as
    given.refuse(*STREAM)
    if options.method != "online":
        raise UsageError("--stream: wanted --method online; batch models need all labels at once")
    if options.passes > 1 and path == "-":
        raise UsageError("--passes: each pass reads the labels again: wanted a file, got standard input")
    gold_of = read_sets if given.multi_label else read_gold
    truth = gold_of(given.gold, given.encoding) if given.gold else None
    totals, seen, table = Totals(), Seen(), None if given.multi_label else Table(given.notice)
    known = history.classes if history else given.class_names

    def read(seen: Seen) -> Iterator[dict[str, Labels]]:
        if given.multi_label:
            return multi_label_blocks(path, known, truth, ColumnNames.of(columns), seen)
        return ({"": labels} for labels in label_blocks(path, known, truth, columns=columns, seen=seen))

    blocks = read(seen)
    first = next(blocks, {})
    if not first:
        given.notice(f"{path}: no labels")
    for name, labels in first.items():
        for group in copies_in_stream(labels, model.reference(labels.worker_names)):
            given.notice(f"{path}: {name}{': ' * bool(name)}{group.describe(labels.worker_names)}")
    known = known or ([*first] if given.multi_label else first[""].classes if first else [])
    if given.multi_label and not known:
        raise UsageError(f"--multi-label: {path} has no labels")
    given.notice_numbers(known)
    states = apart(history) if history and given.multi_label else {"": history}
    each = {name: ANSWERS for name in known} if given.multi_label else {"": known}
    learners = {name: stream_of(model, classes, options.slots, states.get(name)) for name, classes in each.items()}
    scale = None if given.multi_label else scale_of(known, options.ordered)
    for number in range(options.passes):
        if number:
            for learner in learners.values():
                learner.end_pass()
            blocks = read(Seen())
        pieces = chain([first], blocks) if first and not number else blocks
        last = given.predictions if number + 1 == options.passes else None
        with open_output(last) if last else nullcontext() as file:
            totals = run_blocks(learners, pieces, None if options.test else number == 0, table, file, scale)
    if table:
        table.finish()
    given.notice_seen(seen)
    if given.final:
        states = {name: learner.state for name, learner in learners.items()}
        aggregation.save(given.final, model, options, together(states) if given.multi_label else states[""])
    summary = {
        "read_as": seen.form,
        "model": model.name, "method": "online", "tasks": totals.tasks, "labels": totals.labels, "classes": len(known),
        "class_names": known, "iterations": options.passes, "left_out": seen.problems.total, "split_tasks": seen.split,
        **unsure_in(seen.problems),
    }  # fmt: skip
    priors = {name: learner.class_prior().tolist() for name, learner in learners.items()}
    if given.multi_label:
        return summary | {"each": [{"label": name, "share": prior[1]} for name, prior in priors.items()]}
    return summary | {"class_prior": priors[""], "objective": totals.objective}
