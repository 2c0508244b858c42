"""What an estimate says, in three sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from hutch.estimate.questions import FEW
from hutch.shell.sentences import number, percent, things

WIDE = 0.5
"""A share whose interval is as wide as this cannot be told."""
_WORTH = 1.1
"""How many times people's labels judges must be worth for this to be said."""


def sentences(summary: Mapping[str, Any], confidence: float) -> tuple[str, ...]:
    """At most three sentences: the estimate, what the judges add, and the first warning.

    Args:
        summary: of `hutch estimate`.
        confidence: of its interval.

    >>> found = {"question": "rate", "of": "pass", "estimate": 0.7, "low": 0.66, "high": 0.73, "items": 1200,
    ...          "labels": 1200, "effective_labels": 1200.0, "judges": 0, "worth_labels": None, "warnings": []}
    >>> sentences(found, 0.95)
    ("70 % of 1,200 items are 'pass': people labelled all of them.",)
    """
    found = [_estimate(summary), *_judges(summary), *(_warning(text) for text in summary["warnings"][:1])]
    if confidence != 0.95:
        found[0] = f"{found[0].removesuffix('.')}, with a confidence of {confidence:g}."
    return tuple(found)[:3]


def _estimate(summary: Mapping[str, Any]) -> str:
    kind, of, items = summary["question"], summary["of"], summary["items"]
    low, middle, high = summary["low"], summary["estimate"], summary["high"]
    all_known = summary["labels"] >= items and kind != "difference"
    if summary["effective_labels"] < FEW and not all_known:
        few = f"people's labels count as {summary['effective_labels']:.3g}"
        return f"Cannot tell, because {few}: label at least {FEW} items, better 50, drawn by lot."
    if kind in ("rate", "accuracy") and high - low >= WIDE:
        ends = f"{100 * low:.0f} to {100 * high:.0f} %"
        return f"Cannot tell: from {things(summary['labels'], 'label')} by people, anything from {ends} is possible."
    some = "" if all_known else "an estimated "
    end = ": people labelled all of them." if all_known else "."
    share = f"{100 * middle:.3g} %" if all_known else percent(middle, low, high)
    whole = things(items, "item")
    if any("not drawn by lot" in text for text in summary["warnings"]):
        whole = f"items like the {number(summary['labels'])} that people labelled"
    if kind == "rate":
        return f"{some}{share} of {whole} are {of!r}{end}".replace("an est", "An est", 1)
    if kind == "accuracy":
        return f"{of} agrees with people on {some}{share} of {whole}{end}"
    if kind == "difference":
        return _difference(of.split(","), low, middle, high)
    if kind == "mean":
        ends = "" if all_known else f" ({low:.3g} to {high:.3g})"
        return f"The mean of {things(items, 'item')} is {middle:.3g}{ends}{end}"
    left = " that people have not labelled" if kind == "left" else ""
    ends = f"{number(middle)} ({number(low)} to {number(high)})"
    return f"{some}{ends} items{left} are {of!r}{end}".replace("an est", "An est", 1)


def _difference(pair: list[str], low: float, middle: float, high: float) -> str:
    first, second = pair if middle >= 0 else reversed(pair)
    low, middle, high = (low, middle, high) if middle >= 0 else (-high, -middle, -low)
    if low <= 0:
        ends = f"{first} may be right on {-100 * low:.1f} % fewer to {100 * high:.1f} % more of the items"
        return f"Cannot tell whether {first} or {second} is right more often: {ends}."
    return f"{first} is right more often than {second}, by {percent(middle, low, high)} of the items."


def _judges(summary: Mapping[str, Any]) -> Iterator[str]:
    """What the judges add to people's labels."""
    worth, labels = summary["worth_labels"], summary["labels"]
    if not summary["judges"] or worth is None or labels >= summary["items"] or not labels:
        return
    if worth < _WORTH * labels:
        yield "The judges add next to nothing to people's labels."
        return
    about = number(float(f"{worth:.2g}"))
    yield f"Without the judges, so narrow an interval takes about {about} labels instead of {number(labels)}."


def _warning(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
