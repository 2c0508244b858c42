"""`hutch estimate`: how good is it, over all items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from hutch.cli.shell.declared import Argument, Option
from hutch.core.errors import UsageError
from hutch.core.strict_json import dumps

if TYPE_CHECKING:
    from hutch.estimate.questions import Answer, Items, Question


def estimate(
    people: Annotated[str, Argument(metavar="LABELS", help="People's labels: worker TAB item TAB label.")],
    judges: Annotated[
        str | None,
        Option(metavar="FILE", help="Labels of judges, such as models, for all items, in the same form."),
    ] = None,
    rate: Annotated[str | None, Option(metavar="CLASS", help="The share of a class.")] = None,
    mean: Annotated[bool, Option("--mean", help="The mean of labels that are numbers.")] = False,
    accuracy: Annotated[str | None, Option(metavar="JUDGE", help="How often a judge is right.")] = None,
    difference: Annotated[
        str | None, Option(metavar="A,B", help="The accuracy of judge A less that of judge B.")
    ] = None,
    left: Annotated[
        str | None, Option(metavar="CLASS", help="How many items of a class people have not labelled yet.")
    ] = None,
    drawn: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="If items were not drawn alike: item TAB the probability that people were asked about it.",
        ),
    ] = None,
    items: Annotated[
        int | None, Option(min=1, metavar="N", help="How many items there are, if files do not name all.")
    ] = None,
    noisy: Annotated[bool, Option("--noisy", help="People err too: let a crowd model infer what is true.")] = False,
    anytime: Annotated[
        bool, Option("--anytime", help="The interval holds at every look, however often one looks.")
    ] = False,
    expect: Annotated[
        int, Option(min=1, metavar="N", help="With --anytime: the number of labels at which it is narrowest.")
    ] = 200,
    confidence: Annotated[float, Option(metavar="P", help="Confidence of the interval, between 0 and 1.")] = 0.95,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of the division into folds.")] = 0,
    json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate a number over all items from the few that people labelled and the many that judges did.

    Example: hutch estimate people.tsv --judges judges.tsv --accuracy gpt
    """
    from hutch.estimate import questions
    from hutch.estimate.files import read_items

    asked = {"rate": rate, "mean": mean, "accuracy": accuracy, "difference": difference, "left": left}
    kinds = [kind for kind, given in asked.items() if given not in (None, False)]
    if len(kinds) != 1:
        got = " and ".join(f"--{kind}" for kind in kinds) or "none"
        raise UsageError(f"got {got}, wanted one of {', '.join(f'--{kind}' for kind in asked)}")
    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    if kinds[0] in ("accuracy", "difference") and not judges:
        raise UsageError(f"--{kinds[0]}: wanted --judges FILE with the labels of those to be judged")
    known = read_items(people, judges, drawn, items, noisy)
    question = _question(questions, known, kinds[0], asked[kinds[0]])
    answer = questions.ask(known, question, confidence, expect if anytime else None, seed)
    summary = _summary(kinds[0], known, question, answer, confidence)
    print(
        dumps(summary)
        if json
        else "\n".join(f"{name.replace('_', ' '):<20} {_shown(v)}" for name, v in summary.items())
    )


def _question(questions: Any, items: Items, kind: str, given: Any) -> Question:
    if kind == "mean":
        return questions.mean(items)  # type: ignore[no-any-return]
    if kind == "difference":
        names = given.split(",")
        if len(names) != 2:
            raise UsageError(f"--difference: got {given!r}, wanted two judges, A,B")
        return questions.difference(items, *names)  # type: ignore[no-any-return]
    return getattr(questions, kind)(items, given)  # type: ignore[no-any-return]


def _summary(kind: str, items: Items, question: Question, answer: Answer, confidence: float) -> dict[str, Any]:
    found, alone = answer.found, answer.people_alone
    worth = (alone.half_width / found.half_width) ** 2 if found.half_width > 0 else None
    return {
        "question": kind,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "confidence": confidence,
        "items": int(question.inside.sum()) if kind != "difference" else len(items.judged),
        "labelled": found.labelled,
        "judges": len(items.judges),
        "people_alone": alone.estimate,
        "people_alone_low": alone.low,
        "people_alone_high": alone.high,
        "worth_labels": None if worth is None else found.labelled * worth,
    }


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "not known" if value is None else str(value)
