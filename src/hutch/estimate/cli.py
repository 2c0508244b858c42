"""`hutch estimate`: how good is it, over all items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from hutch.core.errors import UsageError
from hutch.core.strict_json import dumps
from hutch.crowd.cli.columns import COLUMNS
from hutch.shell.declared import Argument, Option
from hutch.shell.reports import reports

if TYPE_CHECKING:
    from hutch.estimate.questions import Items

NEW = "A new model"


@reports
def estimate(
    people: Annotated[
        str,
        Argument(
            metavar="LABELS",
            help="People's labels: worker TAB item TAB label; with --store those of judges; with --new the answers of "
            "earlier models, from 0 to 1: a row per question and a column per model, or question, model and answer.",
        ),
    ],
    of: Annotated[
        str | None,
        Option(
            metavar="WHAT",
            help="What to estimate: rate=CLASS, mean, accuracy=JUDGE, difference=A,B, count=CLASS or left=CLASS. "
            "Without a name: the only judge or two judges, the last of two classes. Needed but for --new.",
        ),
    ] = None,
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
    new: Annotated[
        list[str] | None,
        Option(metavar="MODEL", help="Estimate the score of this new model. Repeatable.", rich_help_panel=NEW),
    ] = None,
    judged: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="The questions drawn so far, CSV with a column to fill in for each new model; by default judged.csv. "
            "What is filled in counts, and the next questions are added.",
            rich_help_panel=NEW,
        ),
    ] = None,
    ask: Annotated[
        int | None,
        Option(
            min=0,
            metavar="N",
            help="Questions to draw once all have been judged; by default 30, 0 draws none.",
            rich_help_panel=NEW,
        ),
    ] = None,
    check: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            help="The answers are a judge's: people check this share of them, drawn by lot, in a column of their own.",
            rich_help_panel=NEW,
        ),
    ] = None,
    against: Annotated[
        str | None,
        Option(metavar="MODEL", help="The difference to another model's score, earlier or new.", rich_help_panel=NEW),
    ] = None,
    by: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Also the score of each group of questions, by a column.", rich_help_panel=NEW),
    ] = None,
    width: Annotated[
        float | None,
        Option(
            metavar="W",
            help="Draw no more once the interval reaches at most W to either side.",
            rich_help_panel=NEW,
        ),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    confidence: Annotated[float, Option(metavar="P", help="Confidence of the interval, between 0 and 1.")] = 0.95,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of the split into folds, and of the draws.")] = 0,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate a number over all items from the few that people labelled and the many that judges did.

    With --new: the score of a new model from a fraction of the questions, with the
    answers of earlier models.

    Example: hutch estimate people.tsv --judges judges.tsv --of accuracy=gpt
    """
    from hutch.estimate.new_model import ASKED, Asked, check_options, check_values, estimate_new
    from hutch.estimate.new_model import lines_of as lines_of_new
    from hutch.estimate.summary import kind_of, lines_of, summary_of
    from hutch.estimate.verdict import sentences
    from hutch.shell.sentences import MOST, Verdict

    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    if new:
        others = {"of": of, "judges": judges, "reference": reference, "store": store, "drawn": drawn, "items": items}
        check_options(others | {"noisy": noisy, "plan": plan, "columns": columns})
        wish = Asked(
            new, judged or "judged.csv", ASKED if ask is None else ask, check or 0.0, against, by or "", width,
            expect if anytime else None, confidence, seed,
        )  # fmt: skip
        check_values(wish)
        summary, verdict = estimate_new(people, wish)
        print(dumps(summary | verdict.as_json()) if json else "\n".join([*lines_of_new(summary), *verdict.lines()]))
        return
    for name, given in {
        "judged": judged,
        "ask": ask,
        "check": check,
        "against": against,
        "by": by,
        "width": width,
    }.items():
        if given is not None:
            raise UsageError(f"--{name}: wanted --new MODEL beside it")
    if of is None:
        raise UsageError("--of: missing, wanted what to estimate, such as rate=CLASS; or --new MODEL")
    if plan and (anytime or drawn or store):
        raise UsageError("--plan: cannot be combined with --anytime, --drawn or --store")
    always = expect if anytime else None
    kind_of(of)  # before anything is read
    summaries = {
        asked: summary_of(known, of, confidence, always, seed, plan)
        for asked, known in _items(people, judges, drawn, items, noisy, reference or [], store, columns).items()
    }
    verdicts = {asked: sentences(summary, confidence) for asked, summary in summaries.items()}
    several = len(summaries) > 1
    said = [f"{asked}: {each[0]}" for asked, each in verdicts.items()] if several else next(iter(verdicts.values()))
    first = next(iter(summaries.values()))
    verdict = Verdict(tuple(said[:MOST]), _next(first, people, judges, plan or anytime or bool(drawn or store)))
    if json:
        print(dumps(({"questions": summaries} if several else first) | verdict.as_json()))
        return
    for number, (asked, summary) in enumerate(summaries.items()):
        print(("\n" if number else "") + "\n".join(lines_of(summary, asked if several else "")))
    print("\n".join(verdict.lines()))


def _next(summary: dict[str, Any], people: str, judges: str | None, planned: bool) -> str:
    """The next command: what is known of judges whose items were not drawn by lot, or a plan."""
    from hutch.estimate.lot import SUSPECT
    from hutch.shell.sentences import next_command, other_command

    chance = summary["drawn_by_lot_p"]
    if judges and chance is not None and chance < SUSPECT:
        return other_command("hutch", "judges", judges, "--people", people)
    return "" if planned or summary["labels"] >= summary["items"] else next_command("--plan")


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
    from hutch.estimate.files import items_of, notices_of, read_questions

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
    items = items_of(said, told, chances, count, noisy, store)
    return {"": replace(items, form=told.form, notices=notices_of(told, people))}
