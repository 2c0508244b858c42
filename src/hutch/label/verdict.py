"""What a purchase of labels came to: three sentences, and a file of labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from hutch.core.atomic import write_text
from hutch.label.posterior import Array, Codes
from hutch.shell.sentences import things


class Bought(Protocol):
    """Labels of a run."""

    label: Codes
    posterior: Array
    checked: np.ndarray


def write_labels(
    path: Path, items: Sequence[str], classes: Sequence[str], outcome: Bought, others: str = "judges"
) -> None:
    """Write a row per item: task, label, confidence, its annotator, and the probability of each class.

    Args:
        path: of the file.
        items, classes: their names.
        outcome: of the run.
        others: who decided where people did not.
    """
    rows = [["task", "label", "confidence", "by", *(f"q:{name}" for name in classes)]]
    for name, k, q, checked in zip(items, outcome.label.tolist(), outcome.posterior, outcome.checked, strict=True):
        by = "people" if checked else others
        rows.append([name.replace("\t", " "), classes[k], f"{q[k]:.6f}", by, *(f"{x:.6f}" for x in q.tolist())])
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


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
