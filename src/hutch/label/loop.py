"""The loop: judges' votes by gain per price, labels frozen, then people, until the certificate holds.

Every decision follows from the settings and the answers so far, so an interrupted run starts again from the beginning
and finds the answers that it had bought.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hutch.core.errors import UsageError
from hutch.core.threads import one_thread
from hutch.label.certificate import Certificate, best_stake, needed_wealth
from hutch.label.market import UNKNOWN, Market, Places, Seller
from hutch.label.plan import SLACK, Plan, plan
from hutch.label.posterior import Array, Codes, ErrorModel, Votes, error_features, posterior
from hutch.sampling.chances import weights_of
from hutch.sampling.draws import draw_by_lot

PILOT = 30
"""Items that people and all judges label first, drawn at random: training data for the labels, so no evidence."""
TILT = 0.65
"""Share of the draws that follow the probability of an error."""
LEAST_BATCH, LEAST_AUDITS, GROWTH, QUARTER, FIRST = 25, 3, 0.15, 0.25, 1.5
"""Of a batch: people's labels at least, audits at least, share of those so far, share of the plan, haste of fixes."""
MOST_THRESHOLD, LEAST_THRESHOLD = 0.5, 0.02
SAMPLES, QUANTILES, LUCK = 40, (0.05, 0.65, 0.95), np.array([1 / 1.2, 1, 1.2])
"""Draws of the errors' model, which knows 30 answers only; quantiles of their plans, the middle one closest to bills;
of draws by lot, which make a run dearer or cheaper than a plan that is right."""

MODEL_AUDITS = 40
"""So many audits the model of errors is worth in the estimate: fewer are further from the truth than the model."""


@dataclass(frozen=True)
class Settings:
    """Targets of a run.

    Attributes:
        target: share of the delivered labels that must be right, between 0 and 1.
        confidence: of the certificate, between 0 and 1.
        budget: the most money to spend.
        seed: of the draws.
        informed: use posteriors to predict which labels are wrong; otherwise all items are alike.
    """

    target: float
    confidence: float = 0.95
    budget: float = math.inf
    seed: int = 0
    informed: bool = True

    def allowed(self, items: int) -> int:
        """Number of items that may be wrong."""
        return math.floor((1 - self.target) * items + 1e-9)


@dataclass
class Outcome:
    """Labels, and the guarantees for them.

    Attributes:
        label: codes of classes, or -1 without a label (items).
        posterior: P(class) (items, classes).
        checked: whether people labelled the item (items).
        state: `proved`; `all`: people labelled so many that nothing is left to prove; `money`: the budget is spent.
        low: proved share of right labels, at the confidence.
        accuracy: estimate of that share.
        audited: number of items drawn at random.
        planned: the total cost planned after the pilot: the lowest likely, likely, and the highest likely.
        next_hundred: number of wrong labels that the next hundred labels of people would correct.
    """

    label: Codes
    posterior: Array
    checked: np.ndarray
    state: str = ""
    low: float = 0.0
    accuracy: float = 0.0
    audited: int = 0
    planned: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    next_hundred: float = 0.0
    spent: float = 0.0


class Loop:
    """One run over some items.

    Args:
        items: number of items.
        classes: number of classes.
        judges: in the order in which they are asked, by price.
        people: whose labels are the truth.
        market: sells the answers.
        settings: targets of the run.
        given: existing votes, which cost nothing.

    Attributes:
        planned: as in `Outcome`; None before the answers of the pilot are there.
    """

    def __init__(
        self,
        items: int,
        classes: int,
        judges: Sequence[Seller],
        people: Seller,
        market: Market,
        settings: Settings,
        given: Sequence[Votes] = (),
    ) -> None:
        self.items, self.classes, self.judges, self.people = items, classes, judges, people
        self.market, self.settings = market, settings
        self.random = np.random.default_rng([settings.seed, *b"label"])
        self.votes = [*given, *(Votes.none(items, each.labels) for each in judges)]
        self.first = len(given)
        self.truth = np.full(items, -2, np.int32)  # people's labels; -2: not asked
        self.price = people.price * people.labels
        self.allowed = settings.allowed(items)
        self.planned: tuple[float, float, float] | None = None

    @one_thread()  # rounding of sums, and hence the requests, must not depend on the machine's threads
    def run(self) -> Outcome:
        """Buy until the certificate holds, or the budget is spent."""
        self._pilot()
        self._buy_votes()
        return self._prove()

    def _can_pay(self, cost: float) -> bool:
        return self.market.spent + cost <= self.settings.budget * (1 + 1e-9)

    def _buy(self, judge: int, items: Places) -> None:
        """Votes of a judge on items without any."""
        cost = self.judges[judge].price * self.judges[judge].labels * len(items)
        if not self._can_pay(cost):
            wanted = f"wanted at least {self.market.spent + cost:.6g} before the first audit"
            raise UsageError(f"--budget: got {self.settings.budget:g}, {wanted}")
        if len(items):
            self.votes[self.first + judge].put(items, self.market.votes(judge, items))

    def _pilot(self) -> None:
        """Some items go to people and to all judges."""
        everything = 1 if self.judges and not self.first else 0  # judges that vote on all items
        for judge in range(everything):
            self._buy(judge, np.arange(self.items))
        chosen = self._pilot_items()
        for judge in range(everything, len(self.judges)):
            self._buy(judge, chosen)
        if not self._can_pay(self.price * len(chosen)):
            wanted = f"wanted at least {self.market.spent + self.price * len(chosen):.6g} for {len(chosen)} labels"
            raise UsageError(f"--budget: got {self.settings.budget:g}, {wanted} of people")
        self.truth[chosen] = list(self.market.people(chosen, chosen[:0], np.zeros(0)))

    def _pilot_items(self) -> Places:
        """Items drawn at random."""
        return np.sort(self.random.permutation(self.items)[: min(PILOT, self.items // 5)])

    def _posterior(self) -> Array:
        known = np.flatnonzero(self.truth >= 0)
        if not self.votes:
            shares = np.bincount(self.truth[known], minlength=self.classes) + 1.0
            return np.tile(shares / shares.sum(), (self.items, 1))
        return posterior(self.votes, self.classes, known, self.truth[known])

    def _buy_votes(self) -> None:
        """Buy each further judge's votes on the items where a vote is worth more than its price.

        An item with error probability p costs people min(1, p / p*), where p* is that of the last item that the plan
        gives to people. A vote is bought if it is expected to save more than it costs.
        """
        for judge in range(0 if self.first else 1, len(self.judges)):
            q, open_ = self._posterior(), self.truth < -1
            known = np.flatnonzero(self.truth >= 0)
            right = (np.sum(q[known].argmax(axis=1) == self.truth[known]) + 1) / (len(known) + 2)
            p = np.clip(0.95 * (1 - q.max(axis=1)) + 0.05 * (1 - right), 1e-3, 1 - 1 / self.classes)
            star = min(max(self._threshold(p, q, open_), LEAST_THRESHOLD), MOST_THRESHOLD)
            votes = self.votes[self.first + judge].of(known)
            there = votes.there
            hits = (np.sum((votes.label == self.truth[known, None]).any(axis=1) & there) + 2) / (there.sum() + 3)
            worth = vote_gain(p, self._skill(votes, hits), star, self.classes)
            seller = self.judges[judge]
            self._buy(judge, np.flatnonzero(open_ & (worth * self.price > seller.price * seller.labels)))

    def _threshold(self, p: Array, q: Array, open_: np.ndarray) -> float:
        """The error probability of the last item that goes to people because of it, among those still open."""
        return plan(p[open_], self.allowed, needed_wealth(self.settings.confidence) + SLACK).threshold

    def _skill(self, votes: Votes, hits: float) -> Array:
        """A judge's accuracy on items of several kinds: the claimed probabilities, shifted to the accuracy seen."""
        said = votes.probability[np.isfinite(votes.probability)]
        if len(said) < 5 or self.classes < 2:
            return np.array([hits])
        odds = np.log(np.clip(said, 1 / self.classes, 0.999) / np.clip(1 - said, 0.001, 1 - 1 / self.classes))
        scales = np.linspace(0, 2, 41)
        means = (1 / (1 + np.exp(-scales[:, None] * odds))).mean(axis=1)
        return np.asarray(1 / (1 + np.exp(-scales[np.argmin(np.abs(means - hits))] * odds)))

    def _prove(self) -> Outcome:
        """Freeze the labels; let people fix and audit."""
        q = self._posterior()
        label = q.argmax(axis=1).astype(np.int32)
        features = error_features(q, self.votes)
        pilot = self.truth > -2
        unknown = int((self.truth == UNKNOWN).sum())
        proof = Certificate(self.items - int(pilot.sum()), self.allowed - unknown, self.settings.confidence)
        while True:
            left = np.flatnonzero(self.truth < -1)
            known = np.flatnonzero(self.truth >= 0)
            model = ErrorModel(features, known, (self.truth != label)[known])
            p = model.probability[left]
            if not self.settings.informed:
                p = np.full(len(left), p.mean() if len(left) else 0.0)
            if self.planned is None:
                random = np.random.default_rng([self.settings.seed, *b"plan"])
                samples = [each[left] for each in model.samples(SAMPLES, random)]
                labels = [plan(each, proof.allowed, proof.needed + SLACK).labels for each in samples]
                costs = np.minimum(np.quantile(labels, QUANTILES) * LUCK, len(left)) * self.price
                low, likely, high = (self.market.spent + costs).tolist()
                self.planned = low, likely, high
            allowed = proof.allowed - proof.unsettled
            goal = plan(p, allowed, max(proof.needed + SLACK - proof.log_wealth, 0.3))
            state = "proved" if proof.proved else "all" if len(left) <= max(allowed, 0) else ""
            affordable = len(left)
            if math.isfinite(self.settings.budget) and self.price > 0:
                affordable = int((self.settings.budget - self.market.spent) / self.price + 1e-9)
            if not state and affordable < 1:
                state = "money"
            if state:
                break
            self._batch(goal, p, left, label, proof, affordable)
        return self._outcome(q, label, p, left, proof, state)

    def _batch(self, goal: Plan, p: Array, left: Places, label: Codes, proof: Certificate, affordable: int) -> None:
        """The least certain items are fixed, others are drawn at random and audited."""
        asked = int((self.truth > -2).sum())
        size = min(max(LEAST_BATCH, GROWTH * asked, QUARTER * goal.labels), max(goal.labels, 10), affordable)
        fixes = min(round(size * min(1.0, goal.fixes / max(goal.labels, 1) * FIRST)), goal.fixes)
        draws = min(max(int(size) - fixes, min(LEAST_AUDITS, affordable - fixes)), len(left) - fixes)
        order = np.argsort(-p, kind="stable")
        fixed, rest = left[order[:fixes]], left[order[fixes:]]
        later = float(p[order[fixes : goal.fixes]].sum())
        pool = p[order[fixes:]]
        weights = weights_of(pool, TILT if self.settings.informed else 0.0)
        places, chances, least = draw_by_lot(weights, draws, self.random)
        meets = later + min(goal.audits, len(rest)) * float(np.average(pool, weights=weights))
        stake = best_stake(pool, weights / weights.sum(), proof.allowed + 1 + meets)
        drawn = rest[places]
        answers = self.market.people(fixed, drawn, chances)

        def correct(item: int, said: int) -> None:
            self.truth[item] = said
            proof.fix(int(said not in (UNKNOWN, label[item])), int(said == UNKNOWN))

        for item in fixed.tolist():
            correct(item, next(answers))
        audits = zip(drawn.tolist(), chances.tolist(), least.tolist(), strict=True)
        for number, (item, chance, low) in enumerate(audits, 1):
            self.truth[item] = said = next(answers)
            proof.draw(said != label[item], chance, low, stake, said == UNKNOWN)
            if proof.proved:
                for other, told in self.market.answered(drawn[number:]):
                    correct(other, told)
                return

    def _outcome(self, q: Array, label: Codes, p: Array, left: Places, proof: Certificate, state: str) -> Outcome:
        """The delivered labels and their guarantees."""
        assert self.planned is not None
        checked = self.truth >= 0
        final = np.where(checked, self.truth, label)
        q = q.copy()
        q[checked] = np.eye(self.classes)[self.truth[checked]]
        lost = self.allowed - proof.allowed  # of the pilot, and of items that could not be judged
        worst = min(proof.errors_left or self.items, len(left) + proof.unsettled) + lost
        audited = proof.audited
        by_model = float(p.sum()) + proof.unsettled
        expected = (audited * (proof.estimate or 0.0) + MODEL_AUDITS * by_model) / (audited + MODEL_AUDITS)
        mistakes = min(expected, len(left) + proof.unsettled) + lost
        best = np.sort(p)[::-1]
        least = 1 - worst / self.items
        return Outcome(
            label=final, posterior=q, checked=checked, state=state, low=least,
            accuracy=max(1 - mistakes / self.items, least), audited=audited,
            planned=self.planned, next_hundred=float(best[:100].sum()), spent=self.market.spent,
        )  # fmt: skip


def vote_gain(p: Array, skill: Array, star: float, classes: int) -> Array:
    """Expected saving, in people's labels, of one more vote on each item (items).

    An item with error probability p costs min(1, p / star). Wrong classes are assumed to be equally likely.

    Args:
        p: error probabilities (items).
        skill: the voter's accuracy, on items of several kinds.
        star: the error probability from which an item goes to people.
        classes: number of classes.

    >>> vote_gain(np.array([0.01, 0.2, 0.5]), np.array([0.9]), 0.1, 2).round(2).tolist()
    [0.0, 0.54, 0.0]
    """
    most = 1 - 1 / classes
    grid, others = np.linspace(1e-3, max(most, 2e-3), 60)[:, None], max(classes - 1, 1)
    other = (1 - skill) / others
    agree = (1 - grid) * skill + grid * other
    differ = np.maximum(1 - agree, 1e-12)  # names another class, and each as likely
    right, old = grid * skill / differ, (1 - grid) * (1 - skill) / differ
    after = 1 - np.maximum(np.maximum(right, old), 0)
    mean = agree * np.minimum(1, grid * other / agree / star) + differ * np.minimum(1, after / star)
    return np.asarray(np.interp(p, grid[:, 0], (np.minimum(1, grid / star) - mean).mean(axis=1)))
