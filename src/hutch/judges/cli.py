"""`hutch judges`: the worth of the judges in logs of evaluations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError, counted
from hutch.core.strict_json import dumps
from hutch.crowd.cli.columns import COLUMNS
from hutch.shell.declared import Argument, Option
from hutch.shell.reports import reports

if TYPE_CHECKING:
    from hutch.judges.runs import Reading, Runs


@reports
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
    least_accuracy: Annotated[
        float | None,
        Option(
            "--least-accuracy",
            metavar="P",
            help="Share of items in which the panel's most probable class is surely right: see hutch crowd.",
            show_default="0.5; 0.77 of more than 20 judges",
        ),
    ] = None,
    predictions: Annotated[
        str | None, Option("-p", "--predictions", metavar="FILE", help="Write the panel's posteriors here.")
    ] = None,
    report: Annotated[
        str | None, Option(metavar="FILE", help="Write the report here: a page with plots if FILE ends in .html.")
    ] = None,
    texts: Annotated[
        str | None,
        Option(metavar="FILE", help="With --report FILE.html: show items' texts, from a table of ids and texts."),
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
    from hutch.judges import lab, output
    from hutch.judges.hardest import hardest
    from hutch.judges.runs import Reading, read_questions
    from hutch.judges.verdict import best_judge, sentences
    from hutch.pages.page import Head, is_page
    from hutch.pages.plots import require_matplotlib
    from hutch.shell.sentences import MOST, Verdict, typed_command
    from hutch.shell.waiting import waiting

    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    if (answers or by_place) and not (order or swapped):
        raise UsageError("--answers, --by-place: need --order or --swapped, which say how answers were shown")
    if wrong := next((each for each in compare or () if each.count("=") != 1), None):
        raise UsageError(f"--compare: got {wrong!r}, wanted two judges, A=B")
    pairs = [(old, new) for old, new in (each.split("=") for each in compare or ())]
    page = is_page(report)
    if page:
        require_matplotlib()
    elif texts:
        raise UsageError("--texts: needs --report FILE.html, which shows them")
    check_outputs((report, predictions), (*logs, people, gold, texts))
    how = Reading(
        reference=tuple(reference or ()),
        columns=replace(ColumnNames.of(columns).answering((), unsure or ()), scores=bool(scores)),
        order=order or "", swapped=swapped or "", answers=tuple((answers or "").split(",")) if answers else (),
        by_place=by_place, cluster=cluster or "", slices=tuple(dict.fromkeys(slice_ or ())), versions=versions,
        scores=scores,
    )  # fmt: skip
    with waiting("judges", quiet):
        found = read_questions(logs, people, gold, how)
    for notice in () if quiet else dict.fromkeys(notice for runs in found.values() for notice in runs.notices):
        print(notice, file=sys.stderr)
    several = len(found) > 1
    if several and (predictions or page):
        option = "-p" if predictions else "--report with a page"
        raise UsageError(f"{option}: cannot be combined with several questions ({', '.join(found)})")
    shown = dict[str, str]()
    if texts:
        from hutch.crowd.read.texts import read_texts

        shown, missing = read_texts(texts, next(iter(found.values())).items, how.columns.encoding)
        if missing and not quiet:
            print(missing, file=sys.stderr)
    lines, whole, said = list[str](), dict[str, Any](), list[str]()
    for question, runs in found.items():
        with waiting("judges", quiet):
            results, panel = lab.report(runs, pairs, confidence, seed, least_accuracy)
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
        lines += [*output.text_lines(results), *([""] if several else [])]
        own = sentences(runs, results)
        whole[question] = output.as_json(results) | ({"verdict": list(own)} if several else {})
        said += [f"{question}: {own[0]}"] if several else own
    command = _next(runs, best_judge(results), logs, people, how, columns, bool(report)) if not several else ""
    verdict = Verdict(tuple(said[:MOST]), command)
    lines += verdict.lines()
    if report:
        with open_output(report) as file:
            if page:
                top = Head(verdict.sentences, verdict.command, typed_command())
                output.write_page(file, results, f"Judges of {', '.join(logs)}", top, hardest(runs), shown)
            else:
                file.write("".join(f"{line}\n" for line in lines).encode())
    told = {"read_as": list(runs.forms)} | ({"questions": whole} if several else whole[question]) | verdict.as_json()
    text = dumps(told) if json else "\n".join(lines)
    print(text, file=sys.stderr if "-" in (report, predictions) else sys.stdout, flush=True)
    if (files := [path for path in (predictions, report) if path and path != "-"]) and not quiet:
        print(f"wrote {', '.join(files)}", file=sys.stderr)


def _next(
    runs: Runs, best: str, logs: list[str], people: str | None, how: Reading, columns: str | None, reported: bool
) -> str:
    """The next command: people's labels where there are none, an estimate for all items, or a page."""
    from hutch.crowd.read.kinds import REFERENCE
    from hutch.judges.verdict import by_lot
    from hutch.shell.sentences import next_command, other_command

    if not runs.known.any():
        person = next((name for name in runs.judges if name.lower().startswith(REFERENCE)), "")
        return next_command("--reference", person) if person else next_command("--people", "people.tsv")
    inside = bool(how.reference) and not people
    plain = not (how.order or how.swapped or how.versions) and runs.values is None and len(logs) == 1
    nameless = best == Path(logs[0]).stem or (runs.people is not None and "" in runs.people.worker_names)
    if (
        best
        and plain
        and not nameless
        and by_lot(runs)
        and (inside or (people and not columns))
        and not runs.known.all()
    ):
        files = [logs[0]] if inside else [people or "", "--judges", logs[0]]
        marks = [word for pattern in how.reference for word in ("--reference", pattern)] if inside else []
        marks += ["--columns", columns] if columns else []
        return other_command("hutch", "estimate", *files, *marks, "--of", f"accuracy={best}")
    return "" if reported else next_command("--report", "judges.html")
