"""What a purchase of labels for one class came to: a table of numbers, lines and three sentences."""

from collections.abc import Mapping
from typing import Any

from hutch.label.one_class.loop import ClassOutcome
from hutch.shell.sentences import number, things

NOTHING = 0.01
"""A measure below it says nothing."""
WHY, NO_MORE = {"money": "The budget is spent"}, "People have no more answers to give"


def summary(outcome: ClassOutcome, positive: str, confidence: float) -> dict[str, Any]:
    """The numbers of a run, as one JSON object.

    Args:
        outcome: of the run.
        positive: name of the class.
        confidence: of all promises together.
    """
    kept = {
        each.promise.measure: {"target": each.promise.level, "low": each.low, "estimate": each.estimate}
        for each in outcome.kept
    }
    return {
        "state": outcome.state, "positive": positive, "confidence": confidence, **kept,
        "found": outcome.found, "delivered": outcome.delivered,
        "missed": {"at_most": outcome.missed, "estimate": outcome.missed_estimate},
        "false": {"at_most": outcome.false, "estimate": outcome.false_estimate},
        "audited": outcome.audited, "unjudged": outcome.unjudged,
        "labelled": int(outcome.checked.sum()), "spent": outcome.spent,
        "planned": outcome.planned, "reachable": outcome.reachable,
    }  # fmt: skip


def class_sentences(
    outcome: ClassOutcome, positive: str, confidence: float, bill: Mapping[str, float]
) -> tuple[str, ...]:
    """What is certified of the class, whether that is what was wanted, and the bill.

    Args:
        outcome: of the run.
        positive: name of the class.
        confidence: of all promises together.
        bill: what each seller got.
    """
    certified = all(each.low >= each.promise.level - 1e-9 for each in outcome.kept)
    if not certified and all(each.low < NOTHING for each in outcome.kept):
        said = [f"nothing is certified of {positive!r} yet"]
    elif certified:
        what = " and ".join(f"{name(each.promise.measure)} {each.promise.level:g} or more" for each in outcome.kept)
        said = [f"{what} of {positive!r} {'are' if len(outcome.kept) > 1 else 'is'} certified"]
    else:
        what = " and ".join(f"{name(each.promise.measure)} {cut(each.low)} or more" for each in outcome.kept)
        wanted = " and ".join(f"{each.promise.level:g}" for each in outcome.kept)
        said = [f"Only {what} of {positive!r} is certified, not {wanted}"]
    measured = {each.promise.measure for each in outcome.kept}
    parts = [f"{number(outcome.delivered)} delivered, {number(outcome.found)} of them found by people"]
    missed, false = (f"about {number(each)}" for each in (outcome.missed_estimate, outcome.false_estimate))
    if "recall" in measured:
        missed = f"at most {number(outcome.missed)}"
    if "precision" in measured or outcome.false == 0:
        false = f"at most {number(outcome.false)}" if outcome.false else "none"
    parts += [f"{missed} missed", f"{false} of the delivered wrong"]
    said[0] = f"{said[0][0].upper()}{said[0][1:]}, with a confidence of {confidence:g}: {', '.join(parts)}."
    if outcome.unjudged:
        said.append(f"{things(outcome.unjudged, 'item')} that people could not judge count as errors.")
    costs = ", ".join(f"{who} {cost:.6g}" for who, cost in bill.items())
    labels, items = int(outcome.checked.sum()), things(len(outcome.label), "item")
    why = "" if certified else WHY.get(outcome.state, NO_MORE) + ": "
    who_did = f"{why}{'people' if why else 'People'} labelled {number(labels)} of {items}"
    said.append(f"{who_did}; the bill is {sum(bill.values()):.6g} ({costs}).")
    return tuple(said)


def class_lines(outcome: ClassOutcome, positive: str, confidence: float, bill: Mapping[str, float]) -> list[str]:
    """The state, what is promised, estimates, and the bill, a line each."""
    end = {"proved": "the certificate holds", "all": "people labelled enough", "money": "the budget is spent"}
    lows = ", ".join(f"{name(each.promise.measure)} at least {cut(each.low)}" for each in outcome.kept)
    guesses = ", ".join(f"{name(each.promise.measure)} {each.estimate:.4f}" for each in outcome.kept)
    costs = ", ".join(f"{who} {cost:.6g}" for who, cost in bill.items())
    missed = not all(each.low >= each.promise.level - 1e-9 for each in outcome.kept)
    state = "people have no more answers" if missed and outcome.state == "all" else end[outcome.state]
    return [
        f"{state}: {lows} for {positive!r}, with confidence {confidence:g}",
        f"estimate {guesses}; {outcome.audited} audited by lot, {int(outcome.checked.sum())} by people",
        f"bill {outcome.spent:.6g} ({costs}){planned(outcome.planned)}",
        f"the next 100 items for people would find about {outcome.next_hundred:.1f} that are missed",
    ]


def name(measure: str) -> str:
    """A measure as it is written."""
    return "F1" if measure == "f1" else measure


def cut(low: float) -> str:
    """A lower bound with four decimals, never rounded up."""
    return f"{int(low * 1e4 + 1e-6) / 1e4:.4f}"


def planned(costs: tuple[float, float, float] | None) -> str:
    """The costs that were planned, as the end of a line.

    >>> planned((95.0, 120.5, 170.0)), planned(None)
    ('; planned 120.5, between 95 and 170', '')
    """
    if costs is None:
        return ""
    low, likely, high = (f"{round(cost, 2):.10g}" for cost in costs)
    return f"; planned {likely}, between {low} and {high}"
