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
from hutch.crowd.right import estimated
from hutch.crowd.verdict import findings, verdict
from hutch.shell.sentences import MOST, Verdict, next_command, number, percent, things


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
        **_verdict(given, results).as_json(),
    }  # fmt: skip


def _verdict(given: CrowdOptions, results: dict[str, Aggregate]) -> Verdict:
    """How many labels are right, for as many questions as there is room, the worst answered first."""
    right = {question: estimated(result) for question, result in results.items()}
    told = sorted(((each.found, name) for name, each in right.items() if each.found), key=lambda pair: pair[0])
    said = [f"{name}: Hutch is right on an estimated {percent(*found)} of {things(right[name].tasks, 'task')}."
            for found, name in told]  # fmt: skip
    said += [f"{name}: cannot tell how many labels are right, because {each.why}." for name, each in right.items()
             if not each.found]  # fmt: skip
    if len(said) > MOST:
        said[MOST - 1 :] = [f"--json has a verdict for each of the other {number(len(said) - MOST + 1)} questions."]
    return Verdict(tuple(said), "" if given.predictions else next_command("-p", "answers.tsv"))


def _row(question: str, result: Aggregate) -> dict[str, Any]:
    """The numbers of a question."""
    names = (
        "tasks", "workers", "labels", "classes", "class_names", "class_prior", "duplicates", "contradictions", "gold",
        "krippendorff_alpha", "krippendorff_ordinal", "doubt",
    )  # fmt: skip
    whole = output.summary(result)
    said = {"verdict": list(verdict(findings(result)).sentences)}
    return {"question": question} | {name: whole[name] for name in names if name in whole} | said
