"""The two-level model in a stream."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ModelError
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.blocks import class_shares
from hutch.crowd.models.model import Array, State, grown
from hutch.crowd.models.online import Progress, Stream
from hutch.crowd.models.two_level import (
    TwoLevelParameters,
    crowd_of,
    empty_crowd,
    level_prior,
    level_weight,
    others,
    predictive_rows,
)
from hutch.crowd.models.two_level_kernels import (
    CLARITY,
    begin_posterior,
    end_posterior,
    expected_counts,
    fit_strengths,
    likelihood,
    share_of_confusion,
    start_posterior,
    take_label,
)

ITEMS, TOUCHES, LABELS, REFRESH = range(4)
"""Places in the stream's clock: items, items of all passes, labels, labels at which strengths are estimated next."""
FIRST_REFRESH = 500


@inlined
def retained(touches, mass, first_pass, decay):
    """The share of a slot's counts that stays when it meets its `touches`-th label, and the new label's weight.

    Stochastic approximation with the step touches^-decay on the slot's mean, kept as counts of `mass` labels; with
    decay 1 the first pass counts exactly.

    Args:
        touches: labels met so far, this one included.
        mass: labels that the counts represent, this one included.
    """
    step = touches**-decay
    if first_pass:
        return ((1.0 - step) * mass / (mass - 1.0) if mass > 1.0 else 0.0), step * mass
    return 1.0 - step, step * mass


@inlined
def learn_label(slot, label, classes, crowd, q, shares, keep, weight, counts):
    """The stochastic step of one slot: shrink its counts by `keep`, add the label's, times `weight`."""
    from_habit = expected_counts(q, shares, classes, counts)
    for cell in range(slot * classes * classes, (slot + 1) * classes * classes):
        crowd.counts[cell] *= keep
    cells = kernels.cell_of(crowd.counts, slot, label, classes)
    own = slice(slot * classes, (slot + 1) * classes)
    rows, habits = crowd.rows[own], crowd.habits[own]
    for k in range(classes):
        cells[k] += weight * counts[k]
        rows[k] = keep * rows[k] + weight * counts[k]
        habits[k] *= keep
    habits[label] += weight * from_habit
    crowd.masses[slot] = keep * crowd.masses[slot] + weight * from_habit


@helper
def likelihoods(slots, labels, classes, crowd, own, clear, q):
    """Multiply an item's posterior by the likelihood of all its labels; returns the logarithm of the normaliser.

    Args:
        slots, labels: integers (labels of the item).
        own: float64 (classes), zeros.
        clear: float64 (classes), scratch.
        q: in and out, float64 (2 classes).
    """
    taken_out = 0.0
    for j in range(len(slots)):
        habit = likelihood(np.int64(slots[j]), np.int64(labels[j]), classes, crowd, own, 0.0, clear)
        taken_out += take_label(clear, habit, crowd.strengths[CLARITY], classes, q)
    return taken_out


@helper
def learn_item(
    slots, labels, votes, crowd, touches, seen, class_counts, level_counts, clock, first_pass, schedule,
    own, scratch, q,
):  # fmt: skip
    """The stochastic step of an item: classes, levels, the workers of its labels, and strengths when they are due.

    Args:
        slots, labels: integers (labels of the item).
        votes: float64 (classes), vote shares.
        crowd, touches, seen, class_counts, level_counts, clock, first_pass: see `learn_items`.
        schedule: float64: decay, warm-up, class anchor.
        own: float64 (classes), zeros.
        scratch: float64 (4 classes).
        q: float64 (2 classes): the posterior; out: the learned one, with the rule of vote shares mixed in.
    """
    classes = len(class_counts)
    decay, warm_up, anchor = schedule[0], schedule[1], schedule[2]
    clear, shares, target = scratch[:classes], scratch[classes : 2 * classes], scratch[2 * classes :]
    trust = 0.0
    clock[TOUCHES] += 1.0
    if first_pass:
        trust = warm_up / (warm_up + clock[ITEMS]) if warm_up > 0.0 else 0.0
        clock[ITEMS] += 1.0
    start_posterior(votes, classes, target)
    for z in range(2 * classes):
        q[z] += trust * (target[z] - q[z])
    keep, weight = retained(clock[TOUCHES], clock[ITEMS], first_pass, decay)
    for k in range(classes):
        count = q[k] + q[classes + k] + anchor * votes[k]
        class_counts[k] = keep * class_counts[k] + weight * count
    for level in range(2):
        level_counts[level] = keep * level_counts[level] + weight * q[level * classes : (level + 1) * classes].sum()

    clarity = crowd.strengths[CLARITY]
    for j in range(len(slots)):
        slot, label = np.int64(slots[j]), np.int64(labels[j])
        habit = likelihood(slot, label, classes, crowd, own, 0.0, clear)
        for k in range(classes):
            shares[k] = share_of_confusion(clear[k], habit, clarity)
        touches[slot] += 1.0
        seen[slot] += 1.0 if first_pass else 0.0
        keep, weight = retained(touches[slot], seen[slot], first_pass, decay)
        learn_label(slot, label, classes, crowd, q, shares, keep, weight, target)
        if first_pass:
            clock[LABELS] += 1.0
    if clock[LABELS] >= clock[REFRESH]:
        fit_strengths(crowd, classes, touches)
        while clock[REFRESH] <= clock[LABELS]:
            clock[REFRESH] *= 2.0


@inlined
def forget(slot, now, drift, classes, crowd, touches, seen, touched):
    """Let a slot's counts fall for the items since they were last brought up to date, in closed form."""
    keep = math.exp(drift * (touched[slot] - now))
    for cell in range(slot * classes * classes, (slot + 1) * classes * classes):
        crowd.counts[cell] *= keep
    for cell in range(slot * classes, (slot + 1) * classes):
        crowd.rows[cell] *= keep
        crowd.habits[cell] *= keep
    crowd.masses[slot] *= keep
    touches[slot] *= keep
    seen[slot] *= keep
    touched[slot] = now


@helper
def stream_priors(class_counts, level_counts, fixed_prior, prior, levels):
    """P(class) into `prior`, counts plus one each unless it is given; P(clear), P(murky) into `levels`."""
    class_shares(class_counts, fixed_prior, prior)
    total = level_counts.sum() + 20.0
    for level in range(2):
        levels[level] = (level_counts[level] + 10.0) / total


@compiled
def learn_items(
    item_ptr, slots, labels, gold, votes, fixed_prior, crowd, touches, seen, touched, class_counts, level_counts, clock,
    first_pass, schedule, drift, objectives, posteriors,
):  # fmt: skip
    """Read, score and learn every item in order.

    Args:
        item_ptr, slots, labels: the blocks.
        gold: int32 (items), -1 for none.
        votes: float64 (items, classes).
        fixed_prior: P(class), or empty if learned.
        crowd: the worker table, changed in place.
        touches, seen: float64 (slots): labels met; labels of first passes.
        touched: float64 (slots): items at which counts were last brought up to date; empty without drift.
        class_counts, level_counts, clock: the rest of the stream's state, changed in place.
        first_pass: these labels are new.
        schedule: float64: exponent of the step size; items over which the rule of vote shares is trusted as much as
            the posterior; weight of vote shares in the class prior.
        drift: rate per item at which counts fall.
        objectives: out, float64 (items): log-likelihood of an item's labels, before it is learned.
        posteriors: out, float64 (items, classes), before the item is learned.
    """
    classes = len(class_counts)
    own, q, scratch = np.zeros(classes), np.empty(2 * classes), np.empty(4 * classes)
    prior, levels = np.empty(classes), np.empty(2)
    for item in range(len(item_ptr) - 1):
        block = slice(item_ptr[item], item_ptr[item + 1])
        if drift > 0.0:
            for slot in slots[block]:
                forget(np.int64(slot), clock[TOUCHES], drift, classes, crowd, touches, seen, touched)
            if clock[LABELS] + len(slots[block]) >= clock[REFRESH]:  # strengths will be estimated from all slots
                for slot in range(len(touched)):
                    forget(slot, clock[TOUCHES], drift, classes, crowd, touches, seen, touched)
        stream_priors(class_counts, level_counts, fixed_prior, prior, levels)
        begin_posterior(prior, levels, gold[item], classes, q)
        value = likelihoods(slots[block], labels[block], classes, crowd, own, scratch[:classes], q)
        objectives[item] = value + end_posterior(q)
        for k in range(classes):
            posteriors[item, k] = q[k] + q[classes + k]
        learn_item(
            slots[block], labels[block], votes[item], crowd, touches, seen, class_counts, level_counts, clock,
            first_pass, schedule, own, scratch, q,
        )  # fmt: skip
        if drift > 0.0:  # skills are estimated with strengths, and must not lag behind
            clock[REFRESH] = min(clock[REFRESH], clock[LABELS] + FIRST_REFRESH)


class TwoLevelStream(Stream):
    """One pass, fixed memory: each label moves its slot's counts by touches^-decay, strengths follow at doublings."""

    parameters: TwoLevelParameters

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """Empty slots: every worker is the population; or the slots of the history."""
        state = empty_crowd(slots, classes, self.parameters, history)
        old = history or State([], [])
        for name in ("touches", "seen", *(["touched"] if self.parameters.drift > 0 else [])):
            state.workers[name] = grown(old.workers.get(name), (slots,))
        for name in ("rows", "masses") if history else ():
            # sums are carried over, not recomputed: rounding would differ, and with it the continuation
            state.workers[name] = grown(old.workers[name], state.workers[name].shape)
        state.shared["clock"] = grown(old.shared.get("clock"), (4,))
        if not history:
            state.shared["clock"][REFRESH] = FIRST_REFRESH
        if not (got := state.shared["clock"][REFRESH]) >= FIRST_REFRESH:  # it is doubled until it is in the future
            raise ModelError(f"clock: got {got:g} labels until strengths are estimated, wanted {FIRST_REFRESH} or more")
        return state

    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """See `learn_items`."""
        state, parameters, classes = self.state, self.parameters, len(self.state.classes)
        progress = Progress(np.empty(labels.items), np.empty((labels.items, classes)))
        learn_items(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, labels.vote_share(gold=True),
            self.fixed_prior(), crowd_of(state), state.workers["touches"], state.workers["seen"],
            state.workers.get("touched", np.zeros(0)), state.shared["class_counts"], state.shared["level_counts"],
            state.shared["clock"], first_pass,
            np.array([parameters.decay, parameters.warm_up, parameters.class_anchor]), parameters.drift,
            progress.objective, progress.posterior,
        )  # fmt: skip
        return progress

    def _now(self) -> dict[str, Array]:
        """The workers' present arrays, where drift has changed them; the stream's own stay unchanged."""
        workers, drift = dict(self.state.workers), self.parameters.drift
        if drift > 0:
            keep = np.exp(drift * (workers["touched"] - self.state.shared["clock"][TOUCHES]))
            for name in ("counts", "rows", "habits", "masses", "touches", "seen"):
                workers[name] = workers[name] * keep.reshape(-1, *[1] * (workers[name].ndim - 1))
        return workers

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """E step under freshly estimated strengths; the stream itself keeps its own until they are due."""
        classes, workers = len(self.state.classes), self._now()
        workers["skill"] = workers["skill"].copy()
        shared = {name: array.copy() for name, array in self.state.shared.items()}
        state = State(self.state.classes, [], workers, shared)
        crowd = crowd_of(state)
        if len(labels):
            fit_strengths(crowd, classes, state.workers["touches"])
        q = np.zeros((labels.items, 2 * classes))
        objective, _ = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self.class_prior()[None], level_prior(state),
            classes, crowd, np.zeros(0), False, q,
        )  # fmt: skip
        return q[:, :classes] + q[:, classes:], level_weight(q, crowd.strengths[CLARITY]), objective

    def others(self, labels: Labels) -> Array:
        """Evidence of all other labels about each label's item."""
        state = replace(self.state, workers=self._now())
        return others(labels, state, self.class_prior(), np.zeros(0), remove_own=False)

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Predictive rows of a clear item."""
        workers = self._now()
        return predictive_rows(workers["counts"][slots], workers["skill"][slots], self.state.shared)

    def end_pass(self) -> None:
        """Strengths from all counts."""
        fit_strengths(crowd_of(self.state), len(self.state.classes), self.state.workers["touches"])
