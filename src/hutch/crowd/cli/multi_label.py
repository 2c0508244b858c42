"""`hutch crowd --multi-label`: one yes/no question per label, reported together."""

from __future__ import annotations

from typing import Any

import numpy as np

from hutch.core.errors import UsageError
from hutch.core.run.output import open_output
from hutch.crowd import output
from hutch.crowd.aggregate import Aggregate, Options, aggregate, save
from hutch.crowd.cli import stream
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.tasks import returning, true_classes
from hutch.crowd.cli.verdict import verdict_on_sets
from hutch.crowd.cli.ways import MULTI_LABEL
from hutch.crowd.data.values import NO_LABEL, unsure_in
from hutch.crowd.models.model import CrowdModel, State
from hutch.crowd.questions import apart, together
from hutch.crowd.read.multi_label import ANSWERS, read_multi_label, read_sets, set_of
from hutch.crowd.right import estimated
from hutch.crowd.verdict import SETTLED
from hutch.shell.sentences import Verdict, number, things


def run(given: CrowdOptions, model: CrowdModel, options: Options, history: State | None) -> dict[str, Any]:
    """Aggregate the answers to each label, write the requested outputs, and return the summary.

    Arguments as of `hutch.crowd.cli.tasks.run`; each label has parameters of its own.

    Raises:
        UsageError: options that need one class per task.
        DataError: labels or gold that cannot be used.
    """
    given.refuse(*MULTI_LABEL)
    if model.wants_people:
        raise UsageError(f"--multi-label: wanted no column kind, and no model {model.name}")
    assert given.read_as is not None
    if given.stream:
        return stream.run(given, model, options, history)
    before = apart(history) if history else {}
    gold = read_sets(given.gold, given.encoding) if given.gold else {}
    workers = history.worker_names if history else ()
    labels = read_multi_label(given.labels, [*before] or given.class_names, gold, given.read_as, workers)
    if not labels:
        raise UsageError(f"--multi-label: {given.labels} has no labels")
    first = next(iter(labels.values()))
    for line in [*first.notices, *first.problems.lines("")]:
        given.notice(f"{given.labels}: {line.removeprefix(': ')}")
    if "" in first.worker_names:
        given.notice(f"{given.labels}: labels without a worker: those of a task count as one person's")
    parts = ((name, part.strip()) for name in labels for sign in ",;/" for part in name.split(sign))
    if joined := next(((name, part) for name, part in parts if part != name and part in labels), None):
        taken = "{!r} is taken as one label, although {!r} is another".format(*joined)
        given.notice(f"{given.labels}: {taken}; sets have | between labels, or are JSON lists")
    over = returning(given, first, model, options, history)
    found = {name: aggregate(each, model, options, before.get(name)) for name, each in labels.items()}
    for name, result in found.items():
        if result.doubt:
            given.notice(f"{given.labels}: {name}: {result.doubt}; gold (--gold) can tell")
    _write(given, found)
    if given.final:
        state = together({name: result.fit.state for name, result in found.items()})
        if over:
            over.keep(state)
        save(given.final, model, options, state)
    scored = read_sets(given.score, given.encoding) if given.score else {}
    truth = {task: set_of(each) for task, each in scored.items() if task not in gold}
    rows: list[dict[str, Any]] = []
    copies: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, result in found.items():
        whole = output.summary(result)
        copies |= {tuple(group["workers"]): group for group in whole["copies"]}
        row = {"label": name, "share": float(result.probability[:, 1].mean())}
        row |= {key: whole[key] for key in ("krippendorff_alpha", "effective_labels", "iterations", "objective")}
        known = true_classes(result.labels, {task: ANSWERS[name in each] for task, each in truth.items()})
        row["score"] = (
            {key: output.score(result, known)[key] for key in ("accuracy", "log_loss")} if given.score else {}
        )
        rows.append(row)
    summary = {
        "read_as": first.form,
        "model": model.name, "method": options.method, "tasks": first.items, "workers": whole["workers"],
        "labels": len(first), "classes": len(found), "class_names": [*found], "left_out": first.problems.total,
        "gold": whole["gold"], "copies": [*copies.values()], **unsure_in(first.problems), "each": rows,
    }  # fmt: skip
    if given.score:
        chosen = np.stack([result.probability[:, 1] > 0.5 for result in found.values()], axis=1)
        pairs = zip(first.item_names, chosen, strict=True)
        right = [
            truth[task] == {n for n, yes in zip(found, each, strict=True) if yes}
            for task, each in pairs
            if task in truth
        ]
        summary["score"] = {"subset_accuracy": float(np.mean(right)) if right else None}
    empty = first.problems.found.get(NO_LABEL, (0, ""))[0]
    return summary | _verdict(given, found, empty).as_json()


def _verdict(given: CrowdOptions, found: dict[str, Aggregate], empty: int) -> Verdict:
    """Of which label the fewest answers are right, how many tasks have a label that is not settled, and empty cells."""
    open_ = np.zeros(0, np.bool_)
    for result in found.values():
        each = result.probability.max(axis=1, initial=0.0) < SETTLED
        open_ = each if not len(open_) else open_ | each
    count = int(open_.sum())
    said = f"{number(count)} of {things(len(open_), 'task')} have a label that is not settled." if count else ""
    if empty:
        cells = f"{things(empty, 'empty cell')} {'is' if empty == 1 else 'are'} no answer"
        said = f"{said} {cells}: write [] where a worker ticked none of the labels.".strip()
    return verdict_on_sets(given, {name: estimated(result) for name, result in found.items()}, said)


def _write(given: CrowdOptions, found: dict[str, Aggregate]) -> None:
    """Write the files that were asked for."""
    first = next(iter(found.values())).labels
    if given.predictions:
        with open_output(given.predictions) as file:
            file.write(output.posterior_header([*found]))
            share = np.stack([result.probability[:, 1] for result in found.values()], axis=1)
            output.set_rows(file, first, [*found], share)
    if given.workers:
        with open_output(given.workers) as file:
            for number, (name, result) in enumerate(found.items()):
                output.write_workers(file, result, result.report(), name, not number)
