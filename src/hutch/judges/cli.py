"""`hutch judges`: the worth of the judges in logs of evaluations."""

from __future__ import annotations

import sys
from shlex import quote
from typing import Annotated, Any

from hutch.core.errors import UsageError, counted
from hutch.core.strict_json import dumps
from hutch.crowd.cli.columns import COLUMNS
from hutch.shell.declared import Argument, Option


def judges(
    logs: Annotated[
        list[str],
        Argument(
            metavar="LOG...",
            help="Logs of Inspect, promptfoo, DeepEval or lm-eval, or labels: judge TAB item TAB label.",
        ),
    ],
    people: Annotated[
        str | None, Option(metavar="FILE", help="Labels of people: worker TAB item TAB label, or an export.")
    ] = None,
    gold: Annotated[str | None, Option(metavar="FILE", help="True classes or scores: item TAB label.")] = None,
    reference: Annotated[
        list[str] | None,
        Option(metavar="PATTERN", help="Worker, or glob of workers, in the logs who are people. Repeatable."),
    ] = None,
    order: Annotated[
        str | None, Option(metavar="NAME", help="Column of the order in which two answers were shown, such as swapped.")
    ] = None,
    swapped: Annotated[
        str | None,
        Option(metavar="SUFFIX", help="End of the names of judges who saw the two answers in the other order."),
    ] = None,
    answers: Annotated[
        str | None,
        Option(
            metavar="A,B",
            help="Labels for the answer that is usually shown first, and for the other.",
            show_default="the two classes; those of people",
        ),
    ] = None,
    by_place: Annotated[
        bool, Option("--by-place", help="Labels name the place of an answer: turn those of swapped runs.")
    ] = False,
    cluster: Annotated[
        str | None, Option(metavar="NAME", help="Column of what several items belong to, such as conversation.")
    ] = None,
    slice_: Annotated[
        list[str] | None,
        Option("--slice", metavar="NAME", help="Column by which to compare items, such as language. Repeatable."),
    ] = None,
    versions: Annotated[
        bool, Option("--versions", help="Judges of each log are their own, NAME@LOG; else they are repeated runs.")
    ] = False,
    compare: Annotated[
        list[str] | None, Option(metavar="A=B", help="Two judges, or versions of one, the older first. Repeatable.")
    ] = None,
    scores: Annotated[
        bool | None,
        Option(
            "--scores/--no-scores",
            help="Labels are scores on a scale, not classes.",
            show_default="if they are three numbers or more",
        ),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    unsure: Annotated[
        list[str] | None,
        Option(
            metavar="WORD",
            help="Label that means that a judge or a person does not know; it is never a class. Repeatable.",
            show_default="the usual words, unless gold has them",
        ),
    ] = None,
    predictions: Annotated[
        str | None, Option("-p", "--predictions", metavar="FILE", help="Write the panel's posteriors here.")
    ] = None,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the report here: a page with plots if FILE ends in .html.")
    ] = None,
    confidence: Annotated[float, Option(metavar="P", help="Confidence of the intervals, between 0 and 1.")] = 0.95,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of folds and permutations.")] = 0,
    quiet: Annotated[bool, Option("--quiet", help="Print no notices.")] = False,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Report what judges are worth: agreement with people, noise, position bias, slices, drift, and the panel.

    Example: hutch judges log.json --people people.tsv --slice language --report judges.html
    """
    from dataclasses import replace

    from hutch.core.atomic import check_outputs
    from hutch.core.run.output import open_output
    from hutch.crowd.data.asked import ColumnNames
    from hutch.crowd.output import write_posteriors
    from hutch.crowd.read.kinds import REFERENCE
    from hutch.judges import lab, output
    from hutch.judges.runs import Reading, read_questions
    from hutch.pages.plots import require_matplotlib

    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    if (answers or by_place) and not (order or swapped):
        raise UsageError("--answers, --by-place: need --order or --swapped, which say how answers were shown")
    if wrong := next((each for each in compare or () if each.count("=") != 1), None):
        raise UsageError(f"--compare: got {wrong!r}, wanted two judges, A=B")
    pairs = [(old, new) for old, new in (each.split("=") for each in compare or ())]
    page = bool(report and report.endswith(".html"))
    if page:
        require_matplotlib()
    check_outputs((report, predictions), (*logs, people, gold))
    how = Reading(
        reference=tuple(reference or ()),
        columns=replace(ColumnNames.of(columns).answering((), unsure or ()), scores=bool(scores)),
        order=order or "", swapped=swapped or "", answers=tuple((answers or "").split(",")) if answers else (),
        by_place=by_place, cluster=cluster or "", slices=tuple(dict.fromkeys(slice_ or ())), versions=versions,
        scores=scores,
    )  # fmt: skip
    found = read_questions(logs, people, gold, how)
    for notice in () if quiet else dict.fromkeys(notice for runs in found.values() for notice in runs.notices):
        print(notice, file=sys.stderr)
    several = len(found) > 1
    if several and (predictions or page):
        option = "-p" if predictions else "--report with a page"
        raise UsageError(f"{option}: cannot be combined with several questions ({', '.join(found)})")
    lines, whole = list[str](), dict[str, Any]()
    for question, runs in found.items():
        results, panel = lab.report(runs, pairs, confidence, seed)
        if predictions:
            if panel is None:
                raise UsageError("-p: a panel of scores has no posteriors")
            with open_output(predictions) as file:
                write_posteriors(file, panel)
        head = f"{counted(len(runs.judge), 'label')} of {counted(len(runs.judges), 'judge')} on {len(runs.items)} items"
        lines += [f"question {question}", ""] if several else []
        lines += [
            f"{head}; the truth is known for {int(runs.known.sum())}",
            *(f"read as {form}" for form in runs.forms),
        ]
        lines += [*output.text_lines(results), ""]
        whole[question] = output.as_json(results)
    lines.append(output.FOOTNOTE)
    if not any(runs.known.any() for runs in found.values()):
        names = dict.fromkeys(name for runs in found.values() for name in runs.judges)
        person = next((name for name in names if name.lower().startswith(REFERENCE)), "NAME")
        way = f"--reference {quote(person)} for one of these judges, --people FILE or --gold FILE"
        lines.append(f"no item has a true class, so nothing says how good the judges are: {way} gives some")
    if report:
        with open_output(report) as file:
            if page:
                output.write_page(file, results, f"Judges of {', '.join(logs)}")
            else:
                file.write("".join(f"{line}\n" for line in lines).encode())
    told = {"read_as": list(runs.forms)} | ({"questions": whole} if several else whole[question])
    text = dumps(told) if json else "\n".join(lines)
    print(text, file=sys.stderr if "-" in (report, predictions) else sys.stdout)
