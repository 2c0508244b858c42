"""The two-level model of one item after another, whose labels are all at hand: the steps of `crowd_em`."""

import numpy as np

from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.models import two_level_kernels as kernels
from hutch.crowd.models.blocks import class_shares
from hutch.crowd.models.two_level_kernels import (
    CLARITY,
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
        crowd: the worker table, changed in place.
        touches, seen: float64 (slots): labels met; labels of first passes.
        class_counts, level_counts, clock: the rest of the stream's state, changed in place.
        first_pass: these labels are new.
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


@helper
def stream_priors(class_counts, level_counts, fixed_prior, prior, levels):
    """P(class) into `prior`, counts plus one each unless it is given; P(clear), P(murky) into `levels`."""
    class_shares(class_counts, fixed_prior, prior)
    total = level_counts.sum() + 20.0
    for level in range(2):
        levels[level] = (level_counts[level] + 10.0) / total
