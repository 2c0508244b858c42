"""The summary of an estimate: its figures by name, from a question such as `accuracy=gpt`."""

from typing import Any

from hutch.core.errors import UsageError, did_you_mean
from hutch.crowd.cli.summary import named
from hutch.estimate import questions
from hutch.estimate.lot import SUSPECT, Draw, examine
from hutch.estimate.means import Interval, planned
from hutch.estimate.questions import FEW, Answer, Items, Question

KINDS = ("rate", "mean", "accuracy", "difference", "count", "left")
"""The questions of `--of`."""


def summary_of(
    known: Items, of: str, confidence: float = 0.95, always: int | None = None, seed: int = 0, plan: bool = False
) -> dict[str, Any]:
    """Answer a question.

    Args:
        known: the labels of people and judges.
        of: `rate=CLASS`, `mean`, `accuracy=JUDGE`, `difference=A,B`, `count=CLASS` or `left=CLASS`; without a name the
            only judge or two judges, the last of two classes.
        confidence: of the interval, between 0 and 1.
        always: the interval holds at every look, and is narrowest at so many labels; None: it is for one look.
        seed: of the split into folds.
        plan: also how many labels drawn by lot each half-width needs.

    Raises:
        UsageError: an unknown question, class or judge.
    """
    kind, name = kind_of(of)
    if kind in ("accuracy", "difference") and not known.judges:
        raise UsageError(f"{kind}: wanted labels of those to be judged (--judges, --reference or --store)")
    about = [] if kind == "mean" else _names(kind, name, known)
    question: Question = getattr(questions, kind)(known, *about)
    answer = questions.ask(known, question, confidence, always, seed)
    summary = _summary(kind, about, known, question, answer, confidence)
    return summary | ({"plan": planned(answer.found, len(known.labelled))} if plan else {})


_LISTS = ("plan", "warnings", "notices")


def lines_of(summary: dict[str, Any], asked: str = "") -> list[str]:
    """A summary for people, one figure a line; `asked` is the question of a table with several."""
    table = [(f"labels for +-{row['half_width']:.2g}", row["labels"]) for row in summary.get("plan", [])]
    warnings = [("warning", text) for text in summary["warnings"]]
    warnings += [("notice", text) for text in summary.get("notices", ())]
    head = [("asked", asked)] if asked else []
    figures = {name: value for name, value in _rounded(summary).items() if name not in _LISTS}
    return [named(name, value, "not known") for name, value in [*head, *figures.items(), *table, *warnings]]


def _rounded(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary whose numbers of labels, and confidence, have no more digits than they mean."""
    shown = {name: f"{summary[name]:.3g}" for name in ("effective_labels", "confidence")}
    shown["effective_labels"] = f"{summary['effective_labels']:.1f}".removesuffix(".0")
    worth = summary["worth_labels"]
    return summary | shown | ({} if worth is None else {"worth_labels": f"{worth:.0f}"})


def kind_of(of: str) -> tuple[str, str]:
    """The question of `--of`: a kind, and the name after `=`, if any."""
    kind, equals, name = of.partition("=")
    if kind not in KINDS:
        raise UsageError(f"--of: got {kind!r}; {did_you_mean(kind, KINDS)}")
    if kind == "mean" and equals:
        raise UsageError(f"--of: got {of!r}, wanted mean alone")
    return kind, name


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
    } | ({"notices": list(items.notices)} if items.notices else {})


def _warnings(items: Items, question: Question, found: Interval, lot: Draw) -> list[str]:
    """Warnings about a figure."""
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
