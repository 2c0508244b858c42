"""`hutch estimate`: how good is it, over all items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError, did_you_mean
from hutch.core.strict_json import dumps
from hutch.crowd.cli.columns import COLUMNS
from hutch.crowd.cli.summary import named
from hutch.shell.declared import Argument, Option

if TYPE_CHECKING:
    from hutch.estimate.lot import Draw
    from hutch.estimate.means import Interval
    from hutch.estimate.questions import Answer, Items, Question

KINDS = ("rate", "mean", "accuracy", "difference", "count", "left")
"""The questions of `--of`."""


def estimate(
    people: Annotated[
        str,
        Argument(metavar="LABELS", help="People's labels: worker TAB item TAB label; with --store those of judges."),
    ],
    of: Annotated[
        str,
        Option(
            metavar="WHAT",
            help="What to estimate: rate=CLASS, mean, accuracy=JUDGE, difference=A,B, count=CLASS or left=CLASS. "
            "Without a name: the only judge or two judges, the last of two classes.",
        ),
    ],
    judges: Annotated[
        str | None, Option(metavar="FILE", help="Labels of judges, such as models, for all items, in the same form.")
    ] = None,
    reference: Annotated[
        list[str] | None,
        Option(
            metavar="PATTERN",
            help="Worker, or glob of workers, who are people; the others in LABELS are judges. Repeatable.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        Option(metavar="FILE", help="Label store of hutch active: people's labels, and how it drew the items."),
    ] = None,
    drawn: Annotated[
        str | None, Option(metavar="FILE", help="If items were drawn with unequal probability: item TAB probability.")
    ] = None,
    items: Annotated[
        int | None, Option(min=1, metavar="N", help="How many items there are, if the files do not name them all.")
    ] = None,
    noisy: Annotated[bool, Option("--noisy", help="People err too: let a crowd model infer the truth.")] = False,
    anytime: Annotated[
        bool, Option("--anytime", help="The interval holds at every look, however often you look.")
    ] = False,
    expect: Annotated[
        int, Option(min=1, metavar="N", help="With --anytime: the number of labels at which it is narrowest.")
    ] = 200,
    plan: Annotated[bool, Option("--plan", help="Estimate how many random labels each half-width needs.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    confidence: Annotated[float, Option(metavar="P", help="Confidence of the interval, between 0 and 1.")] = 0.95,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of the split into folds.")] = 0,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate a number over all items from the few that people labelled and the many that judges did.

    Example: hutch estimate people.tsv --judges judges.tsv --of accuracy=gpt
    """
    from hutch.estimate import questions
    from hutch.estimate.means import planned
    from hutch.estimate.verdict import sentences
    from hutch.shell.sentences import MOST, Verdict

    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    kind, name = _kind(of)
    summaries = {}
    for asked, known in _items(people, judges, drawn, items, noisy, reference or [], store, columns).items():
        if kind in ("accuracy", "difference") and not known.judges:
            raise UsageError(f"{kind}: wanted labels of those to be judged (--judges, --reference or --store)")
        about = [] if kind == "mean" else _names(kind, name, known)
        question: Question = getattr(questions, kind)(known, *about)
        answer = questions.ask(known, question, confidence, expect if anytime else None, seed)
        summary = _summary(kind, about, known, question, answer, confidence)
        if plan:
            if anytime or drawn or store:
                raise UsageError("--plan: cannot be combined with --anytime, --drawn or --store")
            summary["plan"] = planned(answer.found, len(known.labelled))
        summaries[asked] = summary
    verdicts = {asked: sentences(summary, confidence) for asked, summary in summaries.items()}
    several = len(summaries) > 1
    said = [f"{asked}: {each[0]}" for asked, each in verdicts.items()] if several else next(iter(verdicts.values()))
    first = next(iter(summaries.values()))
    verdict = Verdict(tuple(said[:MOST]), _next(first, people, judges, plan or anytime or bool(drawn or store)))
    if json:
        print(dumps(({"questions": summaries} if several else first) | verdict.as_json()))
        return
    for number, (asked, summary) in enumerate(summaries.items()):
        table = [(f"labels for +-{row['half_width']:.2g}", row["labels"]) for row in summary.pop("plan", [])]
        warnings = [("warning", text) for text in summary.pop("warnings")]
        head = [("asked", asked)] if len(summaries) > 1 else []
        rows = [*head, *_rounded(summary).items(), *table, *warnings]
        print(("\n" if number else "") + "\n".join(named(name, value, "not known") for name, value in rows))
    print("\n".join(verdict.lines()))


def _rounded(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary whose numbers of labels, and confidence, have no more digits than they mean."""
    shown = {name: f"{summary[name]:.3g}" for name in ("effective_labels", "confidence")}
    shown["effective_labels"] = f"{summary['effective_labels']:.1f}".removesuffix(".0")
    worth = summary["worth_labels"]
    return summary | shown | ({} if worth is None else {"worth_labels": f"{worth:.0f}"})


def _next(summary: dict[str, Any], people: str, judges: str | None, planned: bool) -> str:
    """The next command: what is known of judges whose items were not drawn by lot, or a plan."""
    from hutch.estimate.lot import SUSPECT
    from hutch.shell.sentences import next_command, other_command

    chance = summary["drawn_by_lot_p"]
    if judges and chance is not None and chance < SUSPECT:
        return other_command("hutch", "judges", judges, "--people", people)
    return "" if planned or summary["labels"] >= summary["items"] else next_command("--plan")


def _kind(of: str) -> tuple[str, str]:
    """The question of `--of`: a kind, and the name after `=`, if any."""
    kind, equals, name = of.partition("=")
    if kind not in KINDS:
        raise UsageError(f"--of: got {kind!r}; {did_you_mean(kind, KINDS)}")
    if kind == "mean" and equals:
        raise UsageError(f"--of: got {of!r}, wanted mean alone")
    return kind, name


def _items(
    people: str,
    judges: str | None,
    drawn: str | None,
    total: int | None,
    noisy: bool,
    reference: list[str],
    store: str | None,
    columns: str | None,
) -> dict[str, Items]:
    """The labels of people and judges for each question, from files or from a store."""
    from hutch.crowd.data.asked import ColumnNames
    from hutch.estimate.files import items_of, read_questions

    if store is None:
        return read_questions(people, judges, drawn, total, noisy, reference, ColumnNames.of(columns))
    for name, given in {"judges": judges, "drawn": drawn, "items": total, "reference": reference}.items():
        if given:
            raise UsageError(
                f"--{name}: cannot be combined with --store, which knows how items were drawn; LABELS are judges'"
            )
    from hutch.active.drawn import labels_drawn
    from hutch.crowd.read.labels import read_labels
    from hutch.durable.store import Store

    with Store(store) as labelled:
        said, chances, count = labels_drawn(labelled)
    asked = replace(ColumnNames.of(columns), usual=False)
    told = read_labels(people, classes=said.classes, columns=asked)
    return {"": replace(items_of(said, told, chances, count, noisy, store), form=told.form)}


def _names(kind: str, given: str, items: Items) -> list[str]:
    """The names that a question is about: those given, or the only ones possible."""
    if kind == "difference":
        pair = given.split(",") if given else items.judges
        if len(pair) != 2:
            got = repr(given) if given else f"{len(pair)} judges"
            raise UsageError(f"difference: got {got}, wanted two judges, A,B")
        return pair
    if given:
        return [given]
    known, what, most = (items.judges, "JUDGE", 1) if kind == "accuracy" else (items.classes, "CLASS", 2)
    if len(known) > most:
        raise UsageError(f"--of: got {kind}, wanted {kind}={what}; valid: {', '.join(known)}")
    return known[-1:]


def _summary(
    kind: str, about: list[str], items: Items, question: Question, answer: Answer, confidence: float
) -> dict[str, Any]:
    found, alone = answer.found, answer.people_only
    from hutch.estimate.lot import examine

    lot = examine(items)
    worth = (alone.half_width / found.half_width) ** 2 if found.half_width > 0 else None
    return {
        "read_as": items.form,
        "question": kind,
        "of": ",".join(about) or None,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "confidence": confidence,
        "items": int(question.inside.sum()) if kind != "difference" else len(items.judged),
        "labels": found.labelled,
        "effective_labels": found.effective,
        "judges": len(items.judges),
        "people_only": alone.estimate,
        "people_only_low": alone.low,
        "people_only_high": alone.high,
        "worth_labels": None if worth is None else found.labelled * worth,
        "drawn_by_lot_p": lot.p_value if lot.judge else None,
        "warnings": _warnings(items, question, found, lot),
    }


def _warnings(items: Items, question: Question, found: Interval, lot: Draw) -> list[str]:
    """Warnings about a figure."""
    from hutch.estimate.lot import SUSPECT
    from hutch.estimate.questions import FEW

    said = []
    if found.effective < FEW and found.total > found.labelled:
        said.append(f"{found.effective:.3g} labels in effect; below {FEW} an estimate is almost meaningless")
    if items.judges and (missing := int((items.judged[items.labelled] < 0).all(axis=1).sum())):
        said.append(f"{missing} of {len(items.labelled)} labelled items have no label of a judge")
    if items.inconsistent:
        some = ", ".join(items.inconsistent[:3]) + (" and others" if len(items.inconsistent) > 3 else "")
        said.append(f"{some} labelled items repeatedly and differently: the most frequent label counts, not each run")
    if lot.p_value < SUSPECT:
        said.append(
            f"labels were not drawn by lot: {lot.judge} says other things of the labelled items than of all"
            f" (p = {lot.p_value:.2g}); the interval holds for items like those that were labelled"
        )
    return said
