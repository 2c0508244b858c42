"""`hutch crowd --stream`: labels learned in pieces of the file."""

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
from hutch.crowd.cli.verdict import verdict_in_stream, verdict_on_sets
from hutch.crowd.cli.ways import STREAM
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.values import unsure_in
from hutch.crowd.label_stream import (
    Seen,
    Totals,
    label_blocks,
    label_pieces,
    multi_label_blocks,
    read_tasks,
    run_blocks,
    run_pieces,
)
from hutch.crowd.models.any_order_stream import MOST_OPEN, AnyOrderStream
from hutch.crowd.models.copies import copies_in_stream
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.models.online import Table, since, stream_of
from hutch.crowd.models.ordered import scale_of
from hutch.crowd.questions import apart, together
from hutch.crowd.read.labels import read_gold
from hutch.crowd.read.multi_label import ANSWERS, read_sets
from hutch.crowd.returning import SCORED_APART, SEVERAL_ROWS, Finished
from hutch.crowd.running import Running


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Learn a stream of labels; returns the summary. Arguments as of `hutch.crowd.cli.tasks.run`.

    Raises:
        UsageError: an option needs all labels at once.
    """
    path, columns = given.labels, given.read_as
    given.refuse(*STREAM)
    if options.method != "online":
        raise UsageError("--stream: wanted --method online; batch models need all labels at once")
    gold_of = read_sets if given.multi_label else read_gold
    truth = gold_of(given.gold, given.encoding) if given.gold else None
    if model.any_order and not given.multi_label and not options.test:
        return _run_any_order(given, model, options, history, truth or {})
    if options.open:
        raise UsageError("--open: only --model two_level keeps tasks open, without -t or --multi-label")
    if options.passes > 1 and path == "-":
        raise UsageError("--passes: each pass reads the labels again: wanted a file, got standard input")
    totals, seen, table = Totals(), Seen(over=Finished(history)), None if given.multi_label else Table(given.notice)
    if model.any_order:
        seen.consequence = SCORED_APART if options.test else SEVERAL_ROWS
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
    running = {name: Running() for name in learners}
    for number in range(options.passes):
        if number:
            for learner in learners.values():
                learner.end_pass()
            blocks = read(Seen())
        pieces = chain([first], blocks) if first and not number else blocks
        ends = number + 1 == options.passes
        last = given.predictions if ends else None
        with open_output(last) if last else nullcontext() as file:
            once = None if options.test else number == 0
            totals = run_blocks(learners, pieces, once, table, file, scale, running if ends else None)
    if table:
        table.finish()
    given.notice_seen(seen)
    if given.final:
        states = {name: learner.final_state() for name, learner in learners.items()}
        state = together(states) if given.multi_label else states[""]
        if not model.any_order:
            seen.over.keep(state)
        aggregation.save(given.final, model, options, state)
    summary = {
        "read_as": seen.form,
        "model": model.name, "method": "online", "tasks": totals.tasks, "labels": totals.labels, "classes": len(known),
        "class_names": known, "iterations": options.passes, "left_out": seen.problems.total, "split_tasks": seen.split,
        **unsure_in(seen.problems),
    }  # fmt: skip
    priors = {name: learner.class_prior().tolist() for name, learner in learners.items()}
    if given.multi_label:
        rights = {name: each.tally.right(model.name, stream=True) for name, each in running.items()}
        said = verdict_on_sets(given, rights)
        shares = [{"label": name, "share": prior[1]} for name, prior in priors.items()]
        return summary | {"each": shares} | said.as_json()
    said = verdict_in_stream(given, running[""].findings(learners[""]))
    return summary | {"class_prior": priors[""], "objective": totals.objective} | said.as_json()


def _run_any_order(
    given: CrowdOptions, model: CrowdModel, options: Options, history: State | None, truth: dict[str, str]
) -> dict[str, Any]:
    """The same for a model whose tasks stay open for further labels."""
    path, seen, table = given.labels, Seen(), Table(given.notice)
    known = history.classes if history else given.class_names
    pieces = label_pieces(path, known, truth, given.read_as, seen)
    first = next(pieces, None)
    if first is None:
        given.notice(f"{path}: no labels")
    else:
        for group in copies_in_stream(first, model.reference(first.worker_names)):
            given.notice(f"{path}: {group.describe(first.worker_names)}")
        known = known or first.classes
    given.notice_numbers(known)
    stream = stream_of(model, known, options.slots, history)
    assert isinstance(stream, AnyOrderStream)
    stream.hold(options.open or MOST_OPEN)
    before = stream.events()
    stream.tell(truth)
    totals = run_pieces(stream, chain([first] if first else [], pieces), table, options.passes)
    with open_output(given.predictions) if given.predictions else nullcontext() as file:
        running, read_from = read_tasks(stream, totals.met, file, scale_of(stream.classes, options.ordered))
    said = verdict_in_stream(given, running.findings(read_from, totals.piece))
    table.finish()
    given.notice_seen(seen)
    if given.final:
        aggregation.save(given.final, model, options, stream.final_state())
    return {
        "read_as": seen.form,
        "model": model.name, "method": "online", "tasks": totals.tasks, "labels": totals.labels,
        "classes": len(stream.classes), "class_names": stream.classes, "iterations": options.passes,
        "left_out": seen.problems.total, **unsure_in(seen.problems),
        **since(before, stream.events()), "new_classes": seen.new_classes,
        "class_prior": stream.class_prior().tolist(), "objective": totals.objective,
        **said.as_json(),
    }  # fmt: skip
