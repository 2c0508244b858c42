"""The progress of a store's labelling, and whether it is time to stop."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hutch.active.estimate import LossSums
from hutch.active.simulate import stopping
from hutch.active.stopping import LEAST, expected_gains
from hutch.durable.entries import Counts
from hutch.durable.store import Store

PURCHASE = "label"
"""The key of a store under which `hutch label` keeps its settings."""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a store in figures.

    Attributes:
        counts: requests and answers by kind.
        estimate: as `hutch.active.simulate.stopping` returns it; the loss is that of the predictions at the time of
            asking, over all lines the requests were drawn from.
        classes: label -> answers with it.
        gain: expected decrease of the loss by the next label; None while there are too few labels.
        of_purchase: whether `hutch label` asked, which has no predictions that could be wrong.
    """

    counts: Counts
    estimate: dict[str, Any]
    classes: dict[str, int]
    gain: float | None
    of_purchase: bool = False


def report_of(store: Store) -> Report:
    """The report of a store.

    Requests that are still open are left out of the estimate as if their rounds had been drawn with so many fewer
    labels; it is right if the order of the answers does not depend on the label.
    """
    counts, outcomes, rounds = store.counts(), store.outcomes(), dict(store.rounds())
    of_purchase = bool(store.rows("SELECT 1 FROM store WHERE key = ?", [PURCHASE]))
    answered = {number: (done, all_) for number, done, all_ in store.progress_by_round()}
    share = {number: done / all_ for number, (done, all_) in answered.items() if done}
    sums = LossSums(float(sum(rounds[number].examples for number in share)))
    labels = []
    for number, probability, prediction, label, part in () if of_purchase else outcomes:
        threshold, truth = rounds[number].threshold, float(label)
        wrong = prediction != truth if threshold is None else (prediction > threshold) != (truth > threshold)
        labels.append((probability * share[number], float(wrong), part))
        sums = sums.add(*labels[-1])
    bought = sum(done for done, _ in answered.values())
    classes = Counter(label for _, _, _, label, _ in outcomes)
    estimate = stopping(sums, sum(part * wrong for _, wrong, part in labels), bought, int(sums.covered))
    gains = expected_gains(*zip(*labels, strict=True)) if labels else None
    gain = float(gains.gain[-1]) if gains and gains.labels[-1] >= LEAST else None
    return Report(counts, estimate, dict(sorted(classes.items(), key=lambda item: float(item[0]))), gain, of_purchase)


def is_enough(store: Store, predictions: float) -> bool:
    """Whether the next label is expected to save less than one mistake in that many future predictions."""
    gain = report_of(store).gain
    return gain is not None and gain * predictions < 1.0
