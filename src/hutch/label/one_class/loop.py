"""The loop for one class: people look at what is probably of the class, and audit others, until promises are proved."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hutch.core.errors import UsageError
from hutch.core.threads import one_thread
from hutch.label.certificate import best_stake, needed_wealth
from hutch.label.loop import GROWTH, LEAST_AUDITS, LEAST_BATCH, MODEL_AUDITS, PILOT, QUARTER, Loop, Settings
from hutch.label.market import UNKNOWN, Market, Places, Seller
from hutch.label.one_class.certificate import ClassCertificate
from hutch.label.one_class.plan import TILT, ClassPlan, plan_class
from hutch.label.one_class.promise import Promise
from hutch.label.one_class.ranker import Ranker
from hutch.label.one_class.relevance import evidence_of, relevance
from hutch.label.plan import SLACK
from hutch.label.posterior import Array, Codes, Votes, posterior
from hutch.sampling.chances import weights_of
from hutch.sampling.draws import draw_by_lot

_HALVINGS = 8
ENOUGH = 10
"""So many items of the class have to be found before a plan without judges is worth saying."""
RANGE = (0.55, 1.6)
"""Of the likely cost: the lowest and the highest that are likely."""


@dataclass(frozen=True)
class Kept:
    """A promise and what is proved of it.

    Attributes:
        promise: as asked.
        low: the proved value of the measure.
        estimate: of the measure.
    """

    promise: Promise
    low: float
    estimate: float


@dataclass
class ClassOutcome:
    """Labels, and the guarantees for one class.

    Attributes:
        label: codes of classes, or -1 without a label (items).
        posterior: P(class) (items, classes).
        checked: whether people labelled the item (items).
        state: `proved`; `all`: people labelled so many that nothing is left to prove; `money`: the budget is spent.
        kept: the promises.
        found: items of the class that people found.
        delivered: items that are delivered as of the class.
        missed, false: the most errors of each kind that are possible, as proved.
        missed_estimate, false_estimate: how many there probably are.
        audited: number of items drawn at random.
        unjudged: items that people could not judge.
        planned: the total cost planned first: the lowest likely, likely, and the highest likely; None: the run ended
            before enough was known.
        next_hundred: number of missed items that the next hundred labels of people would find.
        spent: the price of everything.
        reachable: where the budget is less than the likely cost, the largest level of the first promise that it is
            likely to reach, as known before the first audit; None: the promise itself.
    """

    label: Codes
    posterior: Array
    checked: np.ndarray
    state: str
    kept: list[Kept]
    found: int
    delivered: int
    missed: int
    false: int
    missed_estimate: float
    false_estimate: float
    audited: int
    unjudged: int
    planned: tuple[float, float, float] | None
    next_hundred: float
    spent: float
    reachable: float | None = None


def proofs_of(promises: Sequence[Promise], votes: bool) -> int:
    """Number of promises that need a proof.

    Args:
        promises: about one class.
        votes: there are some, or will be; otherwise only people deliver items, and none of these is false.

    Raises:
        UsageError: none of them needs one.
    """
    found = sum(votes or each.missed > 0 for each in promises)
    if not found:
        text = f"got {' and '.join(map(str, promises))} without judges, wanted recall: all that people deliver is right"
        raise UsageError(f"--target: {text}")
    return found


@dataclass
class _Frozen:
    """The decisions of machines, and the proofs about them."""

    posterior: Array
    label: Codes
    claimed: np.ndarray
    proofs: list[ClassCertificate]
    audited: int = 0


class ClassLoop(Loop):
    """One run over some items, for promises about one class.

    Args:
        items, classes, judges, people, market, settings, given: as for `Loop`; the target of the settings is not used.
        promises: about the class; several share the probability of being wrong evenly (Bonferroni).
        positive: the code of the class.
        words: of each item, as Vowpal Wabbit's text: where nobody votes, the labels of people teach which words tell.

    Attributes:
        reachable: as in `ClassOutcome`.
    """

    def __init__(
        self, items: int, classes: int, judges: Sequence[Seller], people: Seller, market: Market, settings: Settings,
        given: Sequence[Votes] = (), *, promises: Sequence[Promise], positive: int, words: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(items, classes, judges, people, market, settings, given)
        self.words = words
        self.promises, self.positive = tuple(promises), positive
        self.reachable: float | None = None
        needed_wealth(settings.confidence)
        self.level = 1 - (1 - settings.confidence) / proofs_of(promises, bool(judges) or bool(given))

    @one_thread()  # as in Loop
    def find(self) -> ClassOutcome:
        """Buy until every promise is proved, or the budget is spent."""
        if self.votes:
            self._pilot()
            self._buy_votes()
        frozen = self._freeze()
        features = evidence_of(frozen.posterior, self.votes, self.positive)
        order = self.random.permutation(self.items)  # among equals, by lot: files are often sorted
        ranker = Ranker(self.words) if self.words and not self.votes else None
        while True:
            left = order[self.truth[order] < -1]
            known = np.flatnonzero(self.truth >= 0)
            true = self.truth[known] == self.positive
            if ranker:
                features[:, 1] = ranker.scores(known, true)
            p = relevance(features, known, true, left)
            claimed = frozen.claimed[left]
            wrong = np.where(claimed, 1 - p, p)
            plans = [plan_class(wrong, claimed, each, SLACK) for each in frozen.proofs if not each.proved]
            if self.planned is None and (self.votes or int(true.sum()) >= ENOUGH):
                likely = min(sum(each.labels for each in plans), len(left)) * self.price
                most = self.market.spent + len(left) * self.price
                low, high = (min(self.market.spent + likely * each, most) for each in RANGE)
                self.planned = low, self.market.spent + likely, high
                if self.planned[1] > self.settings.budget:
                    self.reachable = self._reachable(wrong, claimed, frozen.claimed)
            affordable = len(left)
            if math.isfinite(self.settings.budget) and self.price > 0:
                affordable = int((self.settings.budget - self.market.spent) / self.price + 1e-9)
            if not plans or not len(left) or affordable < 1:
                break
            proof = next(each for each in frozen.proofs if not each.proved)
            self._class_batch(plans[0], wrong, left, frozen, proof, affordable)
        return self._found(frozen, p, left, not plans, not len(left))

    def _pilot_items(self) -> Places:
        """Half of them drawn at random, half by how likely they are of the class: that of rare classes shows there."""
        count = min(PILOT, self.items // 5)
        nobody = np.zeros(0, np.int64)
        chance = np.full(self.items, 1 / self.classes)
        if any(each.there.any() for each in self.votes):
            there = [each for each in self.votes if each.there.any()]
            chance = posterior(there, self.classes, nobody, nobody.astype(np.int32))[:, self.positive]
        keys = self.random.exponential(size=self.items)
        by_lot = np.argsort(keys)[: count // 2]
        keys[by_lot] = np.inf
        likely = np.argsort(keys / np.maximum(chance, 1e-9))[: count - count // 2]
        return np.sort(np.concatenate([by_lot, likely]))

    def _proofs(self, claimed: np.ndarray) -> list[ClassCertificate]:
        """New proofs for decisions, with what people have found."""
        open_, unknown = self.truth < -1, self.truth == UNKNOWN
        lost = int((claimed & unknown).sum()), int((~claimed & unknown).sum())
        counts = int((claimed & open_).sum()), int((~claimed & open_).sum())
        found = int((self.truth == self.positive).sum())
        return [ClassCertificate(each, *counts, found, lost, self.level) for each in self.promises]

    def _threshold(self, p: Array, q: Array, open_: np.ndarray) -> float:
        claimed = q.argmax(axis=1) == self.positive
        found = 0.0
        for proof in self._proofs(claimed):
            goal = plan_class(p[open_], claimed[open_], proof, SLACK)
            if goal.fixes:
                found = max(found, float(p[open_][goal.order[goal.fixes - 1]]))
        return found

    def _reachable(self, wrong: Array, claimed: np.ndarray, delivered: np.ndarray) -> float:
        """The largest level of the first promise that the budget is likely to reach."""
        low, high = 0.0, self.promises[0].level
        proof, *others = self._proofs(delivered)
        rest = sum(plan_class(wrong, claimed, each, SLACK).labels for each in others)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            proof.promise = replace(self.promises[0], level=middle)
            labels = min(plan_class(wrong, claimed, proof, SLACK).labels + rest, len(wrong))
            pays = self.market.spent + labels * self.price <= self.settings.budget
            low, high = (middle, high) if pays else (low, middle)
        return low

    def _freeze(self) -> _Frozen:
        """From here on only people change which items are delivered; without votes only people deliver."""
        q = self._posterior()
        decided = q.copy()
        if not self.votes:
            decided[:, self.positive] = -1.0
        label = decided.argmax(axis=1).astype(np.int32)
        claimed = label == self.positive
        return _Frozen(q, label, claimed, self._proofs(claimed))

    def _class_batch(
        self, goal: ClassPlan, wrong: Array, left: Places, frozen: _Frozen, proof: ClassCertificate, affordable: int
    ) -> None:
        """People look at the items that help most, and at others that are drawn at random.

        Draws are evidence for one promise; for the others they are items that somebody chose.
        """
        asked = int((self.truth > -2).sum())
        size = min(max(LEAST_BATCH, GROWTH * asked, QUARTER * goal.labels), max(goal.labels, 10), affordable)
        size = min(size, max(PILOT, asked))  # what is known doubles at most
        blind = not self.votes and not (self.truth == self.positive).any()  # nothing says yet which items help
        fixes = 0 if blind else min(round(size * min(1.0, goal.fixes / max(goal.labels, 1))), goal.fixes)
        claimed = frozen.claimed[left]
        price = np.where(claimed, proof.promise.false, proof.promise.missed)
        rest = goal.order[fixes:]
        rest = rest[price[rest] > 0]
        draws = min(max(int(size) - fixes, min(LEAST_AUDITS, affordable - fixes)), len(rest))
        pool, costs = wrong[rest], price[rest]
        fixed = left[goal.order[:fixes]]
        places, chances = np.zeros(0, np.int64), np.zeros(0)
        stake, largest = 0.0, np.zeros(0)
        if draws:
            weights = costs * weights_of(pool, TILT)
            places, chances, _ = draw_by_lot(weights, draws, self.random)
            largest = float((costs / weights).max()) * weights[places] / chances
            later = rest[: max(goal.fixes - fixes, 0)]
            sign = np.where(claimed, -1.0, 1.0)
            share = min(1.0, goal.audits / max(len(rest), 1))
            met = float((wrong[later] * sign[later]).sum() + share * (pool * sign[rest]).sum())
            paid = float((wrong[later] * price[later]).sum() + share * (pool * costs).sum())
            stake = best_stake(pool, weights / weights.sum(), proof.allowed + proof.promise.credit * met + paid, costs)
        drawn = left[rest[places]]
        answers = self.market.people(fixed, drawn, chances)

        def note(item: int, said: int, draw: tuple[float, float] | None = None) -> None:
            self.truth[item] = said
            true = None if said == UNKNOWN else said == self.positive
            for each in frozen.proofs:
                if each is proof and draw is not None:
                    each.draw(bool(frozen.claimed[item]), true, *draw, stake)
                else:
                    each.answer(bool(frozen.claimed[item]), true)

        for item in fixed.tolist():
            note(item, next(answers))
        for number, item in enumerate(drawn.tolist(), 1):
            note(item, next(answers), (float(chances[number - 1]), float(largest[number - 1])))
            frozen.audited += 1
            rest_drawn = drawn[number:]
            done = all(each.proved for each in frozen.proofs)
            if proof.proved and (done or not self.market.waits(rest_drawn)):  # who was asked must answer first
                for other, told in self.market.answered(rest_drawn):
                    note(other, told)
                return

    def _found(self, frozen: _Frozen, p: Array, left: Places, proved: bool, ended: bool) -> ClassOutcome:
        """The delivered labels and their guarantees."""
        checked = self.truth >= 0
        label = np.where(checked, self.truth, frozen.label)
        q = frozen.posterior.copy()
        q[left, self.positive] = p
        others = np.delete(np.arange(self.classes), self.positive)
        rest = q[np.ix_(left, others)]
        q[np.ix_(left, others)] = rest / np.maximum(rest.sum(axis=1, keepdims=True), 1e-12) * (1 - p[:, None])
        q[checked] = np.eye(self.classes)[self.truth[checked]]
        trivial = all(each.possible <= each.allowed + 1e-9 for each in frozen.proofs)
        state = "all" if ended or trivial else "proved" if proved else "money"
        claimed = frozen.claimed[left]
        unknown = self.truth == UNKNOWN
        false = float((1 - p)[claimed].sum()) + int((unknown & frozen.claimed).sum())
        missed = float(p[~claimed].sum()) + int((unknown & ~frozen.claimed).sum())
        kept, guesses = [], (missed, false)
        for proof in frozen.proofs:
            promise = proof.promise
            model = promise.false * false + promise.missed * missed
            seen = (proof.audited * (proof.estimate or 0.0) + MODEL_AUDITS * model) / (proof.audited + MODEL_AUDITS)
            scale = seen / model if model > 0 else 1.0
            value = promise.value(proof.delivered, false * scale, missed * scale)
            guesses = (missed * scale if promise.missed else guesses[0], false * scale if promise.false else guesses[1])
            kept.append(Kept(promise, proof.low, max(value, proof.low)))
        return ClassOutcome(
            label=label, posterior=q, checked=checked, state=state, kept=kept,
            found=int((self.truth == self.positive).sum()), delivered=frozen.proofs[0].delivered,
            missed=min(each.missed for each in frozen.proofs), false=min(each.false for each in frozen.proofs),
            missed_estimate=guesses[0], false_estimate=guesses[1],
            audited=frozen.audited, unjudged=int(unknown.sum()), planned=self.planned,
            next_hundred=float(np.sort(p[~claimed])[::-1][:100].sum()),
            spent=self.market.spent, reachable=self.reachable,
        )  # fmt: skip
