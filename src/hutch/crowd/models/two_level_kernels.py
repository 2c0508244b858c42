"""The arithmetic of the two-level model, item by item, on flat arrays.

An item has a class and a level. A clear item is answered from the worker's confusion row, a murky one mostly from their
habit:

    p(x = l | z = k, d, w) = g_d c_w[k, l] + (1 - g_d) h_w[l],    g_clear = 1,  g_murky = clarity

Rows have the additive prior `population_strength * m_k + coin_strength * coin(skill_w, k)`, habits the prior
`habit_strength * x0`. Everything here reads predictive means, (prior + counts) / total, with the label's own share
taken out where it is in the counts (leave-one-out, CVB0). Counts are stored as [slot, label, class], so one label meets
consecutive memory; posteriors of an item as [clear classes, murky classes].
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.models.blocks import most_labels
from hutch.crowd.models.special import digamma

POPULATION, COIN, SKILL, HABIT, CLARITY = range(5)
"""Places in `Crowd.strengths`: of the population row, of the coin, mean skill, of the habit's prior, of murky items."""
MAX_STRENGTH = 300.0
_FLOOR = 1e-4
_TINY, _HUGE = 1e-100, 1e100


class Crowd(NamedTuple):
    """Parameters of the workers; all float64, one-dimensional.

    Attributes:
        counts: expected labels [slot, label, class].
        rows: their sums over labels [slot, class].
        habits: expected labels given from habit [slot, label].
        masses: their sums [slot].
        skill: probability of the right label under the coin [slot].
        population: the mean confusion [label, class]; sums to 1 over labels.
        habit_prior: the mean habit [label].
        strengths: pseudo-counts and constants, see `POPULATION` and following.
    """

    counts: NDArray[np.float64]
    rows: NDArray[np.float64]
    habits: NDArray[np.float64]
    masses: NDArray[np.float64]
    skill: NDArray[np.float64]
    population: NDArray[np.float64]
    habit_prior: NDArray[np.float64]
    strengths: NDArray[np.float64]


@inlined
def coin(skill, right, classes):
    """Probability of one label under the one-coin model."""
    return skill if right else (1.0 - skill) / max(classes - 1, 1)


@inlined
def cell_of(table, slot, label, classes):
    """The values of one label of one slot in a table [slot, label, class]; a view, which compiles to faster loops."""
    start = (slot * classes + label) * classes
    return table[start : start + classes]


@inlined
def likelihood(slot, label, classes, crowd, own, own_habit, clear):
    """Predictive probability of a label under every class of a clear item (into `clear`); returns that of the habit.

    Args:
        slot, label: worker and label.
        own: float64 (classes), this label's share of the counts, zeros if it is not in them.
        own_habit: its share of the habit's counts.
    """
    strengths = crowd.strengths
    first, total = strengths[POPULATION], strengths[POPULATION] + strengths[COIN] + _FLOOR
    right = strengths[COIN] * crowd.skill[slot]
    wrong = (strengths[COIN] - right) / max(classes - 1, 1)
    counts, rows = cell_of(crowd.counts, slot, label, classes), crowd.rows[slot * classes : (slot + 1) * classes]
    population = crowd.population[label * classes : (label + 1) * classes]
    for k in range(classes):
        top = first * population[k] + (right if k == label else wrong) + counts[k] - own[k]
        clear[k] = (top if top > _FLOOR else _FLOOR) / (total + rows[k] - own[k])
    habit = crowd.habits[slot * classes + label] + strengths[HABIT] * crowd.habit_prior[label] - own_habit
    return max(habit, _FLOOR) / (crowd.masses[slot] + strengths[HABIT] - own_habit + _FLOOR)


@inlined
def share_of_confusion(clear, habit, clarity):
    """Probability that a murky item's label came from the confusion row and not from the habit."""
    return clarity * clear / (clarity * clear + (1.0 - clarity) * habit)


@inlined
def expected_counts(q, shares, classes, counts):
    """Expected contribution of one label to its worker's confusion rows (into `counts`); returns that to the habit.

    Args:
        q: posterior of the item, float64 (2 classes).
        shares: share of confusion of this label, float64 (classes).
    """
    from_habit = 0.0
    for k in range(classes):
        part = q[classes + k] * shares[k]
        counts[k] = q[k] + part
        from_habit += q[classes + k] - part
    return from_habit


@inlined
def begin_posterior(prior, levels, gold, classes, q):
    """The posterior of an item before its labels are read; a gold class excludes the others."""
    for k in range(classes):
        weight = prior[k] if gold < 0 or gold == k else 0.0
        q[k], q[classes + k] = weight * levels[0], weight * levels[1]


@inlined
def take_label(clear, habit, clarity, classes, q):
    """Multiply an item's posterior by one label's likelihood; returns the logarithm of the factor taken out."""
    other = (1.0 - clarity) * habit
    total = 0.0
    for k in range(classes):
        q[k] *= clear[k]
        q[classes + k] *= clarity * clear[k] + other
        total += q[k] + q[classes + k]
    if total >= _TINY:
        return 0.0
    for z in range(2 * classes):
        q[z] *= _HUGE
    return -math.log(_HUGE)


@inlined
def end_posterior(q):
    """Normalise an item's posterior; returns the logarithm of its sum."""
    total = 0.0
    for value in q:
        total += value
    scale = 1.0 / total
    for z in range(len(q)):
        q[z] *= scale
    return math.log(total)


@inlined
def start_posterior(votes, classes, q):
    """The posterior that vote shares alone suggest: unanimous items are clear, split ones murky.

    Args:
        votes: float64 (classes), vote shares; all on the gold class where it is known.
        q: out, float64 (2 classes).
    """
    top = 0.0
    for k in range(classes):
        top = max(top, votes[k])
    agreement = (top - 1.0 / classes) / (1.0 - 1.0 / classes) if classes > 1 else 1.0
    clear = 0.25 + math.exp(-8.0 * (agreement - 1.0) ** 2)
    murky = 0.25 + math.exp(-8.0 * (agreement - 0.15) ** 2)
    for k in range(classes):
        q[k], q[classes + k] = votes[k] * clear / (clear + murky), votes[k] * murky / (clear + murky)


@compiled
def start_posteriors(votes, q):
    """`start_posterior` of every item: votes (items, classes), q out (items, 2 classes)."""
    for item in range(len(votes)):
        start_posterior(votes[item], votes.shape[1], q[item])


@compiled
def refresh_shares(crowd, classes, shares):
    """Fill `shares` [slot, label, class] with each label's share of confusion under the present counts."""
    own, clear = np.zeros(classes), np.empty(classes)
    clarity = crowd.strengths[CLARITY]
    for slot in range(len(crowd.skill)):
        for label in range(classes):
            habit = likelihood(slot, label, classes, crowd, own, 0.0, clear)
            share = cell_of(shares, slot, label, classes)
            for k in range(classes):
                share[k] = share_of_confusion(clear[k], habit, clarity)


@compiled
def add_labels(item_ptr, workers, labels, q, shares, classes, crowd, totals):
    """Add every label's expected counts, under the posteriors `q`, to the crowd's, and `q` to `totals` (2 classes)."""
    own = np.empty(classes)
    for item in range(len(item_ptr) - 1):
        posterior = q[item]
        for z in range(2 * classes):
            totals[z] += posterior[z]
        for place in range(item_ptr[item], item_ptr[item + 1]):
            slot, label = np.int64(workers[place]), np.int64(labels[place])
            counts = cell_of(crowd.counts, slot, label, classes)
            rows = crowd.rows[slot * classes : (slot + 1) * classes]
            from_habit = expected_counts(posterior, cell_of(shares, slot, label, classes), classes, own)
            for k in range(classes):
                counts[k] += own[k]
                rows[k] += own[k]
            crowd.habits[slot * classes + label] += from_habit
            crowd.masses[slot] += from_habit


@compiled
def expect(item_ptr, workers, labels, gold, prior, levels, classes, crowd, shares, remove_own, q):
    """E step over all items.

    Args:
        prior: class prior, float64 (1, classes), or (items, classes) for one of each item.
        levels: level prior, float64 (2).
        shares: those that made the counts; read only if `remove_own`.
        remove_own: the labels are in the counts, under `q` and `shares`.
        q: in and out, float64 (items, 2 classes).

    Returns:
        mean log-likelihood of an item's labels, largest change of a posterior.
    """
    own, clear, fresh = np.zeros(classes), np.empty(classes), np.empty(2 * classes)
    objective, change = 0.0, 0.0
    clarity = crowd.strengths[CLARITY]
    for item in range(len(item_ptr) - 1):
        posterior = q[item]
        begin_posterior(prior[min(item, len(prior) - 1)], levels, gold[item], classes, fresh)
        for place in range(item_ptr[item], item_ptr[item + 1]):
            slot, label = np.int64(workers[place]), np.int64(labels[place])
            own_habit = 0.0
            if remove_own:
                own_habit = expected_counts(posterior, cell_of(shares, slot, label, classes), classes, own)
            habit = likelihood(slot, label, classes, crowd, own, own_habit, clear)
            objective += take_label(clear, habit, clarity, classes, fresh)
        objective += end_posterior(fresh)
        for z in range(2 * classes):
            change = max(change, abs(fresh[z] - posterior[z]))
            posterior[z] = fresh[z]
    return objective / max(len(item_ptr) - 1, 1), change


@helper
def read_item(
    start, stop, workers, labels, gold, prior, levels, classes, crowd, shares, remove_own, own, posterior, factors,
    fresh,
):  # fmt: skip
    """The likelihood of every label of an item, and the item's posterior under them.

    Args:
        start, stop: the item's labels are those at these places.
        gold: its class, -1 if unknown.
        prior: class prior, float64 (classes).
        own: float64 (classes), zeros.
        posterior: under which the labels are in the counts, if `remove_own`; float64 (2 classes).
        factors: out, float64 (labels of the item, 2 classes).
        fresh: out, float64 (2 classes).
    """
    clarity = crowd.strengths[CLARITY]
    begin_posterior(prior, levels, gold, classes, fresh)
    for i in range(stop - start):
        slot, label = np.int64(workers[start + i]), np.int64(labels[start + i])
        own_habit = 0.0
        if remove_own:
            own_habit = expected_counts(posterior, cell_of(shares, slot, label, classes), classes, own)
        clear = factors[i, :classes]
        habit = likelihood(slot, label, classes, crowd, own, own_habit, clear)
        take_label(clear, habit, clarity, classes, fresh)
        for k in range(classes):
            factors[i, classes + k] = clarity * clear[k] + (1.0 - clarity) * habit
    end_posterior(fresh)


@compiled
def held_out(item_ptr, workers, labels, gold, prior, levels, classes, crowd, shares, q):
    """Log-probability of each label given the other labels of its item and of its worker, summed over all.

    Without its own share in the counts, the rest of an item predicts a label l as 1 / E[1 / p(l | class, level)], the
    mean over the posterior that knows l, too.

    Args: as for `expect`; the labels are in the counts.
    """
    own, fresh = np.zeros(classes), np.empty(2 * classes)
    factors = np.empty((max(most_labels(item_ptr), 1), 2 * classes))
    total = 0.0
    for item in range(len(item_ptr) - 1):
        start, stop = item_ptr[item], item_ptr[item + 1]
        read_item(
            start, stop, workers, labels, gold[item], prior[min(item, len(prior) - 1)], levels, classes, crowd, shares,
            True, own, q[item], factors, fresh,
        )  # fmt: skip
        for i in range(stop - start):
            inverse = 0.0
            for z in range(2 * classes):
                inverse += fresh[z] / factors[i, z]
            total -= math.log(inverse)
    return total


@compiled
def others(item_ptr, workers, labels, gold, prior, levels, classes, crowd, shares, remove_own, q, decided):
    """For each label, the probability that the item's class k decided it, from all other labels.

    The posterior without the label is proportional to q / p(l | class, level); of a murky item only `clarity` counts.

    Args:
        decided: out, float64 (labels, classes); the other arguments as for `expect`.
    """
    own, fresh = np.zeros(classes), np.empty(2 * classes)
    factors = np.empty((max(most_labels(item_ptr), 1), 2 * classes))
    clarity = crowd.strengths[CLARITY]
    for item in range(len(item_ptr) - 1):
        start, stop = item_ptr[item], item_ptr[item + 1]
        read_item(
            start, stop, workers, labels, gold[item], prior[min(item, len(prior) - 1)], levels, classes, crowd, shares,
            remove_own, own, q[item], factors, fresh,
        )  # fmt: skip
        for i in range(stop - start):
            total = 0.0
            for z in range(2 * classes):
                total += fresh[z] / factors[i, z]
            for k in range(classes):
                without = fresh[k] / factors[i, k] + clarity * fresh[classes + k] / factors[i, classes + k]
                decided[start + i, k] = without / total


@compiled
def fit_strengths(crowd, classes, used):
    """Re-estimate skills, strengths, the population's confusion and habit from the counts, in place.

    Expected table counts of a Dirichlet-multinomial (Minka's fixed point), split over the two additive parts of the
    prior: for a cell with count n and prior alpha, t = psi(n + alpha) - psi(alpha) tables come from the population part
    and from the coin in proportion to their pseudo-counts.

    Args:
        used: float64 (slots), above 0 for slots that have labels.
    """
    strengths = crowd.strengths
    first, second, habit_strength = strengths[POPULATION], strengths[COIN], strengths[HABIT]
    total, mean_skill = first + second, strengths[SKILL]
    psi_total = digamma(total)
    tables, habit_tables = np.zeros(classes * classes), np.ones(classes)
    from_population, from_coin, rows, all_right, all_wrong = 0.0, 0.0, 0.0, 0.0, 0.0
    psi_habit = np.empty(classes)
    for label in range(classes):
        psi_habit[label] = digamma(habit_strength * crowd.habit_prior[label])
    for slot in range(len(crowd.skill)):
        if not used[slot] > 0.0:
            continue
        right, wrong = 0.0, 0.0
        for label in range(classes):
            for k in range(classes):
                count = crowd.counts[(slot * classes + label) * classes + k]
                if count <= 0.0:
                    continue
                part = first * crowd.population[label * classes + k]
                other = second * coin(crowd.skill[slot], k == label, classes)
                t = digamma(count + part + other) - digamma(part + other)
                tables[label * classes + k] += part * t
                from_population += part * t
                if k == label:
                    right += other * t
                else:
                    wrong += other * t
            count = crowd.habits[slot * classes + label]
            if count > 0.0:
                part = habit_strength * crowd.habit_prior[label]
                habit_tables[label] += part * (digamma(count + part) - psi_habit[label])
        for k in range(classes):
            if crowd.rows[slot * classes + k] > 0.0:
                rows += digamma(crowd.rows[slot * classes + k] + total) - psi_total
        crowd.skill[slot] = min(max((right + 2.0 * mean_skill) / (right + wrong + 2.0), 0.001), 0.999)
        from_coin += right + wrong
        all_right += right
        all_wrong += wrong
    strengths[POPULATION] = min((from_population + 0.5) / (rows + 0.25), MAX_STRENGTH)
    strengths[COIN] = min((from_coin + 0.5) / (rows + 0.25), MAX_STRENGTH)
    strengths[SKILL] = (all_right + 2.0) / (all_right + all_wrong + 3.0)
    for k in range(classes):
        norm = 0.0
        for label in range(classes):
            tables[label * classes + k] += 2.0 if label == k else 1.0 / (classes - 1)
            norm += tables[label * classes + k]
        for label in range(classes):
            crowd.population[label * classes + k] = tables[label * classes + k] / norm
    norm = habit_tables.sum()
    for label in range(classes):
        crowd.habit_prior[label] = habit_tables[label] / norm
