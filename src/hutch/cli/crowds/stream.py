"""`hutch crowd --stream`: labels learned in pieces, in fixed memory."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import chain
from typing import Any

from hutch.cli.crowds.options import CrowdOptions
from hutch.core.errors import UsageError
from hutch.core.run.output import open_output
from hutch.crowd import aggregate as aggregation
from hutch.crowd.aggregate import Options
from hutch.crowd.data.labels import read_gold
from hutch.crowd.exports.found import Problems
from hutch.crowd.label_stream import Totals, label_blocks, run_blocks
from hutch.crowd.models.copies import copies_in_stream
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.models.online import Table, stream_of
from hutch.crowd.models.ordered import scale_of


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Learn a stream of labels; returns the summary. Arguments as of `hutch.cli.crowds.tasks.run`.

    Raises:
        UsageError: an option needs all labels at once.
    """
    path, columns = given.labels, given.read_as
    kept = ("workers", "report", "suspects", "next", "score", "detail")
    given.refuse(kept, "a stream keeps no tasks and no workers; leave out --stream")
    if options.method != "online":
        raise UsageError("--stream: wanted --method online; batch models need all labels at once")
    if options.passes > 1 and path == "-":
        raise UsageError("--passes: each pass reads the labels again: wanted a file, got standard input")
    truth, table = read_gold(given.gold, given.encoding) if given.gold else None, Table(given.notice)
    totals, problems = Totals(), Problems()
    known = history.classes if history else given.class_names
    blocks = label_blocks(path, known, truth, columns=columns, problems=problems)
    first = next(blocks, None)
    if first is None:
        given.notice(f"{path}: no labels")
    else:
        for group in copies_in_stream(first, model.reference(first.worker_names)):
            given.notice(f"{path}: {group.describe(first.worker_names)}")
    known = known or (first.classes if first else [])
    learner, scale = stream_of(model, known, options.slots, history), scale_of(known, options.ordered)
    for number in range(options.passes):
        if number:
            learner.end_pass()
            blocks = label_blocks(path, known, truth, columns=columns)
        pieces = chain([first], blocks) if first and not number else blocks
        last = given.predictions if number + 1 == options.passes else None
        with open_output(last) if last else nullcontext() as file:
            totals = run_blocks(learner, pieces, None if options.test else number == 0, table, file, scale)
    table.finish()
    for line in problems.lines(path):
        given.notice(line)
    if given.final:
        aggregation.save(given.final, model, options, learner.state)
    return {
        "model": model.name, "method": "online", "tasks": totals.tasks, "labels": totals.labels, "classes": len(known),
        "class_names": known, "class_prior": learner.class_prior().tolist(), "iterations": options.passes,
        "objective": totals.objective, "left_out": problems.total,
    }  # fmt: skip
