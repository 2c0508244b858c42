"""What a purchase of labels came to, in three sentences."""

from collections.abc import Mapping

from hutch.shell.sentences import things


def sentences(
    state: str, target: float, low: float, accuracy: float, confidence: float, labels: int, bill: Mapping[str, float],
    alone: float,
) -> tuple[str, ...]:  # fmt: skip
    """How many labels are right for sure, whether that is what was wanted, and the bill.

    Args:
        state: `proved`, `all` or `money`: why no more was bought.
        target: accuracy that was wanted.
        low, accuracy: lower bound of the accuracy, and its estimate.
        confidence: of the bound.
        labels: number of all.
        bill: what each seller got.
        alone: what people alone would have cost.

    >>> sentences("proved", 0.95, 0.9512, 0.97, 0.95, 600, {"gpt": 6.0, "people": 89.0}, 285.0)[1]
    'They cost 95 (gpt 6, people 89) instead of 285 from people alone.'
    """
    sure = f"At least {100 * low:.1f} % of the {things(labels, 'label')} are right, with a confidence of {confidence:g}"
    said = [f"{sure}; the estimate is {100 * accuracy:.1f} %."]
    if low < target:
        why = "the budget is spent" if state == "money" else "people have no more answers to give"
        said.append(f"That is less than the target of {100 * target:g} %: {why}.")
    parts = ", ".join(f"{name} {cost:.6g}" for name, cost in bill.items())
    spent = sum(bill.values())
    than = "instead of" if spent < alone else "where people alone cost"
    end = " from people alone" if spent < alone else ""
    return (*said, f"They cost {spent:.6g} ({parts}) {than} {alone:.6g}{end}.")
