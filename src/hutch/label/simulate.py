"""Simulated items and judges whose truth is known, and the rules that people use otherwise."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hutch.core.errors import UsageError, did_you_mean
from hutch.label.loop import Loop, Settings
from hutch.label.market import Hidden, Seller
from hutch.label.posterior import WORTH, Array, Codes, Votes, posterior

DIFFICULTIES = ("calibrated", "miscalibrated", "common")
"""Judges' claims are exact; are twice their log-odds with noise; the same, and 15 % of items mislead all judges."""
COMMON, STEPS, PLANS = 0.15, 20, 3
"""Share of the items that mislead all judges; thresholds that a cascade tries; worlds of a kind for a plan."""


@dataclass(frozen=True)
class World:
    """Items whose truth is known.

    Attributes:
        classes: number of classes.
        truth: (items).
        votes: of each judge on all items.
    """

    classes: int
    truth: Codes
    votes: list[Votes]


def simulated(
    items: int, accuracies: list[float], classes: int = 2, difficulty: str = "calibrated", seed: int | list[int] = 0,
    shares: Array | None = None,
) -> World:  # fmt: skip
    """Draw items and the votes of judges on them.

    A judge is right on an item with probability 1/K + (1 - 1/K) Beta(1.5 m, 1.5 (1 - m)), with m such that the mean is
    their accuracy, and claims that probability, or a distortion of it.

    Args:
        items: number of items.
        accuracies: of the judges, above 1 / classes.
        classes: number of classes, at least 2; the first is 1.5 times as likely as the others.
        difficulty: one of `DIFFICULTIES`.
        seed: of all draws.
        shares: probabilities of the classes (items, classes), instead; on items that mislead the likeliest is wrong.

    Raises:
        UsageError: an unknown kind of errors, or a judge who is no better than chance.

    >>> world = simulated(1000, [0.7, 0.9], seed=1)
    >>> [round(float((each.label[:, 0] == world.truth).mean()), 2) for each in world.votes]
    [0.67, 0.91]
    """
    if difficulty not in DIFFICULTIES:
        raise UsageError(f"--errors: got {difficulty!r}; {did_you_mean(difficulty, DIFFICULTIES)}")
    if not all(1 / classes < accuracy < 1 for accuracy in accuracies):
        raise UsageError(
            f"--accuracy: got {accuracies}, wanted numbers above {1 / classes:g}, which is chance, below 1"
        )
    random = np.random.default_rng(seed)
    usual = np.array([1.5] + [1.0] * (classes - 1))
    misled = random.random(items) < (COMMON if difficulty == "common" else 0)
    truth = random.choice(classes, items, p=usual / usual.sum()).astype(np.int32)
    if shares is not None:
        likely = np.where(misled[:, None] & (shares >= shares.max(axis=1, keepdims=True)), 1e-12, shares)
        steps = np.cumsum(likely, axis=1)
        truth = (random.random((items, 1)) * steps[:, -1:] > steps[:, :-1]).sum(axis=1).astype(np.int32)
    votes = []
    for accuracy in accuracies:
        mean = (accuracy - 1 / classes) / (1 - 1 / classes)
        right = 1 / classes + (1 - 1 / classes) * random.beta(1.5 * mean, 1.5 * (1 - mean), items)
        right = np.clip(right, 1 / classes, 0.999)
        hit = (random.random(items) < right) & ~misled
        other = (truth + 1 + random.integers(0, classes - 1, items)) % classes
        claim = np.clip(right, 1 / classes + 0.001, 0.999)
        if difficulty != "calibrated":
            odds = np.log(claim * (classes - 1) / (1 - claim))
            odds = np.clip(2 * odds + random.normal(0, 1, items), 0.01, 6.9)
            claim = 1 / (1 + (classes - 1) * np.exp(-odds))
        label = np.where(hit, truth, other).astype(np.int32)[:, None]
        votes.append(Votes(label, claim[:, None], np.zeros((items, 1), np.int32)))
    return World(classes, truth, votes)


def cascade(
    label: Codes, sure: Array, truth: Codes, target: float, confidence: float, audits: int, random: np.random.Generator,
    credit: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """A cascade with a guarantee: a judge's label is kept where it is confident enough, the rest goes to people.

    Thresholds fall from the most confident twentieth of the items downwards, each tested by betting on an even sample
    of the items above it, in the manner of BARGAIN (S. Zeighami, S. Shankar, A. Parameswaran, "Cut costs, not accuracy:
    LLM-powered data processing with guarantees", 2025).

    Args:
        label: of the judge (items).
        sure: its confidence, in any unit (items).
        truth: people's labels (items).
        target: share of right labels wanted, among those kept.
        confidence: of the guarantee.
        audits: the most labels of people for tests.
        random: generator of the samples.
        credit: count labels by people as right, so that more of the kept ones may be wrong.

    Returns:
        Number of items that people label, and of wrong delivered labels.
    """
    items, needed = len(truth), -math.log(1 - confidence)
    order = np.lexsort((random.random(items), -sure))
    wrong = (label != truth)[order]
    lot, sampled, kept = random.random(items), np.zeros(items, np.bool_), 0
    for step in range(1, STEPS + 1):
        size = items * step // STEPS
        limit = (1 - target) * (items if credit else size)
        if limit >= size:
            kept = size
            continue
        here = np.argsort(lot[:size])
        error = wrong[here].astype(np.float64)
        before, drawn = np.concatenate([[0.0], np.cumsum(error)[:-1]]), np.arange(size)
        share = np.clip((limit - before) / (size - drawn), 1e-9, 1 - 1e-9)
        bet = np.minimum((before + 0.5) / (drawn + 5 / max(limit / size, 0.05) + 1), 0.9 * share)
        wealth = np.cumsum(np.where(error > 0, np.log(bet / share), np.log((1 - bet) / (1 - share))))
        ends = np.flatnonzero((wealth >= needed) | (limit - before < 0))
        last = int(ends[0]) if len(ends) else size - 1
        good = len(ends) > 0 and bool(wealth[last] >= needed)
        new = np.cumsum(~sampled[here])
        if new[last] > (room := audits - int(sampled.sum())):
            good, last = False, int(np.searchsorted(new, room, "right")) - 1
        sampled[here[: last + 1]] = True
        if not good:
            break
        kept = size
    checked = sampled
    checked[kept:] = True
    return int(checked.sum()), int((wrong & ~checked).sum())


@dataclass(frozen=True)
class Rule:
    """Results of a rule in some runs.

    Attributes:
        held: share of the runs in which at least the target share of the delivered labels was right.
        bill: mean price of all labels.
        share: that over people's price of all items.
        accuracy: mean share of the delivered labels that were right.
        audited: mean number of items drawn at random.
        plan: median of the likely cost planned after the pilot over the bill; NaN without a plan.
        within: share of the runs whose bill was between the lowest and the highest cost planned.
        runs: number of runs.
    """

    held: float
    bill: float
    share: float
    accuracy: float
    audited: float = 0.0
    plan: float = math.nan
    within: float = math.nan
    runs: int = 0


def invented(
    items: int, classes: int, judges: Sequence[Seller], people: Seller, settings: Settings, given: Sequence[Votes] = ()
) -> tuple[float, float]:
    """The cost of a run, before anything is bought, if judges err independently and if many items mislead them all.

    Each is the median over some simulated worlds, in which judges have their guessed accuracy. Votes that are given
    stay, and the truth is drawn from their posterior: that of claims at their word, and the usual one, which is more
    careful, with the likeliest class wrong on the items that mislead.
    """
    nobody = np.zeros(0, np.int64)
    shares = posterior(given, classes, nobody, nobody.astype(np.int32)) if given else None
    guesses = [max(each.accuracy, 1 / classes + 0.05) for each in judges]
    costs = []
    for difficulty, power in (("calibrated", 1 / WORTH), ("common", 1.0)):
        spent, chances = [], None
        if shares is not None:
            chances = shares**power
            chances /= chances.sum(axis=1, keepdims=True)
        for run in range(PLANS):
            world = simulated(items, guesses, classes, difficulty, [settings.seed, run, *b"plan"], chances)
            market = Hidden(judges, people, world.votes, world.truth)
            free = replace(settings, seed=run, budget=math.inf)
            spent.append(Loop(items, classes, judges, people, market, free, given).run().spent)
        costs.append(float(np.median(spent)))
    return min(costs), max(costs)


def compare(
    draw: Callable[[int], World], judges: Sequence[Seller], people: Seller, settings: Settings, runs: int
) -> dict[str, Rule]:
    """Compare Hutch with common alternatives on items whose truth is known.

    Of the cascades the one that was cheapest over all runs is shown, which flatters them: of each judge, with 100 and
    300 audits. With credit they count people's labels as right, which the literature does not, and all judges together
    make one more.

    Args:
        draw: returns the items of a run.
        judges, people: their prices.
        settings: targets of the runs; the seed of the first run.
        runs: number of runs.

    Returns:
        The rules by name: `hutch`, `random`, `cascade`, `cascade with credit`, `majority`, `people`.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    nobody = np.zeros(0, np.int64)
    for run in range(runs):
        world = draw(run)
        items, all_ = len(world.truth), len(world.truth) * people.price * people.labels

        def note(rule: str, bill: float, right: float, *more: float) -> None:
            found.setdefault(rule, []).append((bill, bill / all_, right, *more))  # noqa: B023

        for rule, informed in (("hutch", True), ("random", False)):
            mine = replace(settings, seed=settings.seed + run, informed=informed)
            market = Hidden(judges, people, world.votes, world.truth)
            outcome = Loop(items, world.classes, judges, people, market, mine).run()
            right = float(np.mean(outcome.label == world.truth))
            low, likely, high = outcome.planned
            within = low <= outcome.spent <= high
            note(rule, outcome.spent, right, outcome.audited, likely / outcome.spent, within)
        prices = [each.price * int((votes.label >= 0).sum()) for each, votes in zip(judges, world.votes, strict=True)]
        parties = [([k], price) for k, price in enumerate(prices)]
        parties += [(list(range(len(prices))), sum(prices))] if len(prices) > 1 else []
        for party, price in parties:
            q = posterior([world.votes[k] for k in party], world.classes, nobody, nobody.astype(np.int32))
            label, sure = q.argmax(axis=1).astype(np.int32), q.max(axis=1)
            if len(party) == len(prices):
                note("majority", price, float(np.mean(label == world.truth)))
            for credit in (False, True)[len(party) > 1 :]:  # the literature's has one judge
                for audits in (100, 300):
                    random = np.random.default_rng([settings.seed + run, audits, *b"cascade"])
                    most = min(audits, items // 3)
                    target, level = settings.target, settings.confidence
                    asked, wrong = cascade(label, sure, world.truth, target, level, most, random, credit)
                    name = f"cascade{' with credit' if credit else ''} {party} {audits}"
                    note(name, price + asked * people.price * people.labels, 1 - wrong / items)
        note("people", all_, 1.0)
    for name in ("cascade", "cascade with credit"):
        tried = {key: found.pop(key) for key in list(found) if key.startswith(f"{name} [")}
        if tried:
            found[name] = min(tried.values(), key=lambda rows: float(np.mean([row[0] for row in rows])))
    rules = {}
    for name in ("hutch", "random", "cascade", "cascade with credit", "majority", "people"):
        if name in found:
            rows = np.array(found[name])
            held = float(np.mean(rows[:, 2] >= settings.target - 1e-9))
            plan = {}
            if rows.shape[1] > 3:
                audited, within = rows[:, [3, 5]].mean(axis=0).tolist()
                plan = {"audited": audited, "plan": float(np.median(rows[:, 4])), "within": within}
            bill, share, accuracy = rows[:, :3].mean(axis=0).tolist()
            rules[name] = Rule(held, bill, share, accuracy, runs=len(rows), **plan)
    return rules
