"""`hutch crowd` where workers answered several questions about each task: a result for each question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hutch.core.errors import UsageError
from hutch.core.run.output import open_output
from hutch.crowd import output
from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.cli.model import suited_model
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.ways import questions
from hutch.crowd.data.codes import known_first
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.data.values import unsure_in
from hutch.crowd.models.model import CrowdModel


def run(given: CrowdOptions, model: CrowdModel, options: Options, found: dict[str, Labels]) -> dict[str, Any]:
    """Aggregate the answers to each question, write the requested outputs, and return the summary.

    Args:
        given, model, options: as of `hutch.crowd.cli.tasks.run`.
        found: the labels of each question.

    Raises:
        UsageError: an option needs one question.
    """
    way = questions(", ".join(found))
    given.refuse(*way)
    if options.method == "online" and options.passes > 1:
        raise UsageError(f"--passes: {way.why}")
    models = {question: suited_model(given, model, options, None, labels) for question, labels in found.items()}
    results = {
        question: aggregate(replace(labels, unsure=Unsure()), models[question], options)
        for question, labels in found.items()
    }
    for question, result in results.items():
        if result.doubt:
            given.notice(f"{given.labels}: {question}: {result.doubt}")
    if given.predictions:
        with open_output(given.predictions) as file:
            output.write_questions(file, results)
    if given.workers:
        every = known_first((), (name for labels in found.values() for name in labels.classes))
        with open_output(given.workers) as file:
            for number, (question, result) in enumerate(results.items()):
                output.write_workers(file, result, result.report(), question, not number, every)
    first = next(iter(found.values()))
    used = dict.fromkeys(each.name for each in models.values())
    return {
        "read_as": first.form, "model": ", ".join(used), "method": options.method, "questions": len(found),
        "left_out": first.problems.total,
        **unsure_in(first.problems),
        "each": [_row(*each) for each in results.items()],
    }  # fmt: skip


def _row(question: str, result: Aggregate) -> dict[str, Any]:
    """The numbers of a question."""
    names = (
        "tasks", "workers", "labels", "classes", "class_names", "class_prior", "duplicates", "contradictions", "gold",
        "krippendorff_alpha", "krippendorff_ordinal", "doubt",
    )  # fmt: skip
    whole = output.summary(result)
    return {"question": question} | {name: whole[name] for name in names if name in whole}
