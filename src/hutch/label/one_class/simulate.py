"""What a promise about one class costs: before anything is bought, on invented items, and where the truth is known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hutch.label.loop import Settings
from hutch.label.market import Hidden, Seller
from hutch.label.one_class.loop import ClassLoop
from hutch.label.one_class.promise import MEASURES, Promise
from hutch.label.posterior import WORTH, Votes, posterior
from hutch.label.simulate import PLANS, World, simulated

RATES = (0.01, 0.05, 0.2)
"""Shares of the class to plan for where no votes show it."""
LEVELS = (0.99, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Levels among which the largest that the money reaches is looked for."""


def planned_costs(
    items: int, classes: int, judges: Sequence[Seller], people: Seller, settings: Settings, given: Sequence[Votes],
    promises: Sequence[Promise], positive: int, words: bool = False,
) -> dict[str, float]:  # fmt: skip
    """The median cost of some invented runs, by what is assumed.

    Votes that are given stay, and the truth is drawn from their posterior, at its word and more carefully; without
    votes some shares of the class are assumed, and judges that err independently as often as was guessed.

    Args:
        items, classes, judges, people, settings, given: as for `Loop`.
        promises: about the class.
        positive: its code.
        words: nobody votes, but words may tell the class: the least that any order of documents costs.
    """
    if words and not judges and not given:
        each = people.price * people.labels
        return {
            f"if {rate:.0%} are of the class": each * least_labels(items, rate, promises, settings.confidence)
            for rate in RATES
        }
    nobody, guesses = np.zeros(0, np.int64), [max(each.accuracy, 1 / classes + 0.05) for each in judges]
    cases = {}
    if given:
        shares = posterior(given, classes, nobody, nobody.astype(np.int32))
        for text, power in (("if votes mean what they say", 1 / WORTH), ("if they mean less", 1.0)):
            cases[text] = shares**power / (shares**power).sum(axis=1, keepdims=True)
    else:
        for rate in RATES:
            chances = np.full((items, classes), (1 - rate) / (classes - 1))
            chances[:, positive] = rate
            cases[f"if {rate:.0%} are of the class"] = chances
    return {
        text: float(np.median([
            _run(simulated(items, guesses, classes, "calibrated", [settings.seed, run, *b"plan"], chances),
                 judges, people, replace(settings, seed=run, budget=math.inf), given, promises, positive)
            for run in range(PLANS)
        ]))
        for text, chances in cases.items()
    }  # fmt: skip


def least_labels(items: int, rate: float, promises: Sequence[Promise], confidence: float) -> int:
    """Labels that people give at least, with the best order of items: all of the class, then audits without a find.

    If m may be missed, m + 1 must be met by even audits of a share f of the others with the confidence:
    1 - (1 - f)^(m + 1) >= confidence.

    Args:
        items: number of items.
        rate: share of the class.
        promises: about it.
        confidence: of the proof, between 0 and 1.

    >>> least_labels(10_000, 0.02, [Promise("recall", 0.95)], 0.95)
    2529
    """
    most, positives = 0, rate * items
    for promise in promises:
        if promise.missed > 0:
            ratio = promise.credit / promise.missed
            missed = math.floor(ratio * positives / (1 + ratio) + 1e-9)
            share = 1 - (1 - confidence) ** (1 / (missed + 1))
            most = max(most, math.ceil(positives - missed + share * (items - positives + missed)))
    return most


@dataclass(frozen=True)
class ClassRule:
    """Means over some runs of a rule.

    Attributes:
        held: share of the runs in which every promise was kept.
        bill: price of all labels.
        share: that over people's price of all items.
        recall, precision, f1: of what was delivered.
        audited: number of items drawn at random.
    """

    held: float
    bill: float
    share: float
    recall: float
    precision: float
    f1: float
    audited: float


def compare_class(
    draw: Callable[[int], World], judges: Sequence[Seller], people: Seller, settings: Settings, runs: int,
    promises: Sequence[Promise], positive: int,
) -> dict[str, ClassRule]:  # fmt: skip
    """Compare Hutch with judges alone, all of whose votes are believed, on items whose truth is known.

    Args:
        draw: returns the items of a run.
        judges, people: their prices.
        settings: confidence, budget, and the seed of the first run.
        runs: number of runs.
        promises: about the class.
        positive: its code.

    Returns:
        The rules by name: `hutch`, `judges` if there are any, `people`.
    """
    rows: dict[str, list[tuple[float, ...]]] = {}
    nobody = np.zeros(0, np.int64)
    for run in range(runs):
        world = draw(run)
        true, all_ = world.truth == positive, len(world.truth) * people.price * people.labels

        def note(rule: str, bill: float, said: np.ndarray, audited: float = 0.0) -> None:
            false, missed = float((said & ~true).sum()), float((true & ~said).sum())  # noqa: B023
            found = {name: Promise(name, 0.5).value(float(said.sum()), false, missed) for name in MEASURES}
            held = all(found[each.measure] >= each.level - 1e-9 for each in promises)
            rows.setdefault(rule, []).append((held, bill, bill / all_, *found.values(), audited))  # noqa: B023

        market = Hidden(judges, people, world.votes, world.truth)
        loop = ClassLoop(
            len(true), world.classes, judges, people, market, replace(settings, seed=settings.seed + run),
            promises=promises, positive=positive,
        )  # fmt: skip
        outcome = loop.find()
        note("hutch", outcome.spent, outcome.label == positive, outcome.audited)
        if judges:
            q = posterior(world.votes, world.classes, nobody, nobody.astype(np.int32))
            cost = sum(
                each.price * int((votes.label >= 0).sum()) for each, votes in zip(judges, world.votes, strict=True)
            )
            note("judges", cost, q.argmax(axis=1) == positive)
        note("people", all_, true)
    return {name: ClassRule(*np.mean(np.array(each, float), axis=0).tolist()) for name, each in rows.items()}


def _run(
    world: World, judges: Sequence[Seller], people: Seller, settings: Settings, given: Sequence[Votes],
    promises: Sequence[Promise], positive: int,
) -> float:  # fmt: skip
    market = Hidden(judges, people, world.votes, world.truth)
    loop = ClassLoop(
        len(world.truth), world.classes, judges, people, market, settings, given, promises=promises, positive=positive
    )
    return loop.find().spent


def reached(
    budget: float, items: int, classes: int, judges: Sequence[Seller], people: Seller, settings: Settings,
    given: Sequence[Votes], promises: Sequence[Promise], positive: int, words: bool = False,
) -> float | None:  # fmt: skip
    """The largest level of the first promise whose plan the money pays in the cheapest case; None: none of `LEVELS`."""
    for level in LEVELS:
        if level >= promises[0].level:
            continue
        less = [replace(promises[0], level=level), *promises[1:]]
        costs = planned_costs(items, classes, judges, people, settings, given, less, positive, words)
        if min(costs.values()) <= budget:
            return level
    return None
