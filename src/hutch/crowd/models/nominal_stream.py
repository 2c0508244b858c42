"""The nominal model in a stream, in the manner of Mineiro's `nominalonlineextract`."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import nominal_kernels as kernels
from hutch.crowd.models.blocks import class_shares, most_labels
from hutch.crowd.models.lazy_prior import clock, ghost_after, mean_of, squares_about_mean
from hutch.crowd.models.model import Array, State, grown, without_own
from hutch.crowd.models.nominal import NominalParameters, label_likelihood, softmax_rows, usual_difficulty
from hutch.crowd.models.nominal_kernels import fit_item
from hutch.crowd.models.online import Progress, Stream

PRIOR_MEAN = 1.0
"""Mean of gamma[k, l], k != l."""
TIME, WORKERS, ITEMS = range(3)
"""Places in the stream's counters: items of all passes, slots touched, items."""
GHOST, DISTANCES, SQUARES = range(3)
"""Places in the stream's `prior` (3, classes, classes): see `lazy_prior`."""


@compiled
def advance(prior, workers, elapsed):
    """Advance the ghosts of all label pairs by `elapsed`."""
    shrink = math.exp(-elapsed)
    for k in range(prior.shape[1]):
        for label in range(prior.shape[1]):
            if k != label:
                ghost, distances = prior[GHOST, k, label], prior[DISTANCES, k, label]
                mean = mean_of(ghost, distances, workers, PRIOR_MEAN)
                prior[GHOST, k, label] = ghost_after(ghost, mean, workers, PRIOR_MEAN, elapsed)
                prior[DISTANCES, k, label] = shrink * distances
                prior[SQUARES, k, label] *= shrink * shrink


@compiled
def prior_time(t, schedule):
    """The time for which workers have moved towards the population's mean after `t` items.

    Args:
        schedule: see `learn_items`.
    """
    rate, initial_t, decay, items, drift = schedule[0], schedule[1], schedule[2], schedule[4], schedule[5]
    varied = min(t, 1.0 / drift) if drift > 0.0 else t
    steady = 0.0 if varied == t else (t - varied) * rate * (initial_t + varied) ** -decay
    return (clock(varied, rate, initial_t, decay) + steady) / items + drift * t


@compiled
def log_prior(prior, workers):
    """log P(alpha, gamma) up to a constant."""
    total = 0.0
    for k in range(prior.shape[1]):
        for label in range(prior.shape[1]):
            if k != label:
                ghost, distances = prior[GHOST, k, label], prior[DISTANCES, k, label]
                mean = mean_of(ghost, distances, workers, PRIOR_MEAN)
                total += squares_about_mean(ghost, mean, workers, distances, prior[SQUARES, k, label])
                total += (mean - PRIOR_MEAN) ** 2
    return -0.5 * total


@compiled
def read_worker(slot, now, prior, workers, distance, touched, alpha):
    """Write a slot's alpha, its prior applied up to `now`, into `alpha`; returns 1 if the slot is new, else 0.

    Args:
        distance: float64 (slots, classes, classes), alpha minus ghost at the last touch; brought up to date.
        touched: float64 (slots), time of the last touch, -1 for never.
    """
    classes = len(alpha)
    new = touched[slot] < 0.0
    shrink = 0.0 if new else math.exp(touched[slot] - now)
    for k in range(classes):
        for label in range(classes):
            if k != label:
                ghost = prior[GHOST, k, label]
                if new:
                    offset = mean_of(ghost, prior[DISTANCES, k, label], workers, PRIOR_MEAN) - ghost
                else:
                    offset = shrink * distance[slot, k, label]
                distance[slot, k, label] = offset
                alpha[k, label] = ghost + offset
    if new:
        for k in range(classes):
            for label in range(classes):
                offset = distance[slot, k, label]
                prior[DISTANCES, k, label] += offset
                prior[SQUARES, k, label] += offset * offset
    touched[slot] = now
    return 1 if new else 0


@compiled
def move_worker(slot, prior, distance, step):
    """Add `step` (classes, classes) to a slot that is up to date; the population's mean follows."""
    for k in range(len(step)):
        for label in range(len(step)):
            d, before = step[k, label], distance[slot, k, label]
            distance[slot, k, label] = before + d
            prior[DISTANCES, k, label] += d
            prior[SQUARES, k, label] += d * (2.0 * before + d)


@compiled
def learn_items(
    item_ptr, slots, labels, gold, fixed_prior, prior, distance, touched, met, class_counts, counters, schedule,
    steps, symmetric, first_pass, objectives, posteriors,
):  # fmt: skip
    """For each item: EM on (beta, q) with the workers fixed, then one step of its workers, then drop it.

    Args:
        item_ptr, slots, labels: the blocks.
        gold: int32 (items), -1 for none.
        fixed_prior: P(class), or empty if learned.
        prior, distance, touched: the workers, see `read_worker`; changed in place.
        met: float64 (slots), labels met, of all passes; changed in place.
        class_counts, counters: the rest of the stream's state, changed in place.
        schedule: learning_rate, initial_t, decay, largest step of a slot times the root of its labels, prior strength
            (number of items that share the prior of the workers), drift, tolerance of log beta.
        steps: the most EM steps of an item.
        objectives, posteriors: out (items), (items, classes): F_i and q before the item is learned.
    """
    classes = len(class_counts)
    longest = most_labels(item_ptr)
    alpha, order = np.zeros((longest, classes, classes)), np.arange(longest)
    rows, moments = np.empty((longest, classes, classes)), np.empty((2, classes))
    step, class_prior = np.zeros((classes, classes)), np.empty(classes)
    rate, initial_t, decay, largest, items, drift = schedule[:6]
    lasting = 1.0 / drift if drift > 0.0 else math.inf
    for item in range(len(item_ptr) - 1):
        first, ratings = item_ptr[item], item_ptr[item + 1] - item_ptr[item]
        before = prior_time(counters[TIME], schedule)
        counters[TIME] += 1.0
        now = prior_time(counters[TIME], schedule)
        if counters[WORKERS] > 0.0:
            advance(prior, counters[WORKERS], now - before)
        eta = rate * (initial_t + min(counters[TIME], lasting)) ** -decay
        for j in range(ratings):
            counters[WORKERS] += read_worker(
                np.int64(slots[first + j]), now, prior, counters[WORKERS], distance, touched, alpha[j]
            )
        class_shares(class_counts, fixed_prior, class_prior)
        q = posteriors[item]
        log_beta, objective = fit_item(
            0, ratings, order, labels[first : first + ratings], gold[item], class_prior, alpha,
            kernels.MEAN_LOG_BETA, steps, schedule[6], rows, moments, q,
        )  # fmt: skip
        sides = 2.0 if symmetric else 1.0
        objectives[item] = objective + log_prior(prior, counters[WORKERS]) / (items * sides)

        beta = math.exp(log_beta)
        for j in range(ratings):
            slot, label = np.int64(slots[first + j]), labels[first + j]
            met[slot] += 1.0
            own_eta = min(eta, largest / math.sqrt(min(met[slot], lasting)))
            for k in range(classes):
                weight = own_eta * q[k] * beta
                for other in range(classes):
                    if other != k:
                        step[k, other] = weight * (rows[j, k, other] - (1.0 if other == label else 0.0))
            if symmetric:
                for k in range(classes):
                    for other in range(k):
                        step[k, other] += step[other, k]
                        step[other, k] = step[k, other]
            move_worker(slot, prior, distance, step)

        keep = 1.0
        if first_pass:
            counters[ITEMS] += 1.0
        else:
            keep = 1.0 - 1.0 / counters[ITEMS]
        for k in range(classes):
            class_counts[k] = keep * class_counts[k] + q[k]


class NominalStream(Stream):
    """Fixed memory: hashed workers, priors applied when a slot is read, steps of size eta_t = eta (t0 + t)^-rho."""

    parameters: NominalParameters

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """Untouched slots: every worker is the population; or the slots of the history."""
        count, old = len(classes), history or State([], [])
        prior = grown(old.shared.get("prior"), (3, count, count))
        known = len(old.classes)
        prior[GHOST, known:, :] = prior[GHOST, :, known:] = PRIOR_MEAN
        prior[GHOST] *= 1 - np.eye(count)
        workers = {
            "distance": grown(old.workers.get("distance"), (slots, count, count)),
            "touched": grown(old.workers.get("touched"), (slots,), -1.0),
            "met": grown(old.workers.get("met"), (slots,)),
        }
        class_counts, counters = (
            grown(old.shared.get(n), (size,)) for n, size in (("class_counts", count), ("counters", 3))
        )
        return State(classes, [], workers, {"prior": prior, "class_counts": class_counts, "counters": counters})

    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """See `learn_items`."""
        state, parameters, classes = self.state, self.parameters, len(self.state.classes)
        progress = Progress(np.empty(labels.items), np.empty((labels.items, classes)))
        steps = parameters.item_steps if parameters.difficulty else 0
        learn_items(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self.fixed_prior(), state.shared["prior"],
            state.workers["distance"], state.workers["touched"], state.workers["met"], state.shared["class_counts"],
            state.shared["counters"], self._schedule(), steps, parameters.symmetric, first_pass, progress.objective,
            progress.posterior,
        )  # fmt: skip
        return progress

    def _schedule(self) -> Array:
        """As `learn_items` takes it."""
        names = ("learning_rate", "initial_t", "decay", "largest_step", "n_items", "drift", "item_tolerance")
        return np.array([float(getattr(self.parameters, name)) for name in names])

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """EM on (beta, q) of every item; workers that were never met are the population."""
        _, q, log_beta, objective = self._fitted(labels)
        return q, usual_difficulty(log_beta), objective

    def beta(self, labels: Labels) -> Array:
        """beta itself."""
        return np.exp(self._fitted(labels)[2])

    def others(self, labels: Labels) -> Array:
        """The posteriors over p(l | k) at each item's beta."""
        compact, q, log_beta, _ = self._fitted(labels)
        return without_own(compact, q, label_likelihood(compact, self.alpha(np.unique(labels.workers)), log_beta))

    def _fitted(self, labels: Labels) -> tuple[Labels, Array, Array, float]:
        """The labels with places among their own slots for workers, q, log beta and the objective of their items."""
        parameters, classes = self.parameters, len(self.state.classes)
        used, places = np.unique(labels.workers, return_inverse=True)
        compact = replace(labels, workers=places.astype(np.int32))
        q, log_beta = np.zeros((labels.items, classes)), np.full(labels.items, kernels.MEAN_LOG_BETA)
        objective, _ = kernels.expect(
            labels.item_ptr, compact.workers, labels.labels, labels.gold,
            self.class_prior(), self.alpha(used), 20 if parameters.difficulty else 0, log_beta, q,
        )  # fmt: skip
        return compact, q, log_beta, objective

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Rows at the prior mean of log beta."""
        return softmax_rows(self.alpha(slots))

    def alpha(self, slots: NDArray[np.int32]) -> Array:
        """alpha of some slots, their priors applied up to now (slots, classes, classes)."""
        prior, counters = self.state.shared["prior"], self.state.shared["counters"]
        touched, now = self.state.workers["touched"][slots], prior_time(counters[TIME], self._schedule())
        shrink = np.exp(np.minimum(touched - now, 0))[:, None, None]
        known = prior[GHOST] + shrink * self.state.workers["distance"][slots]
        return np.where(touched[:, None, None] < 0, self.gamma(), known)

    def gamma(self) -> Array:
        """The population's mean (classes, classes)."""
        prior, counters = self.state.shared["prior"], self.state.shared["counters"]
        mean = mean_of.py_func(prior[GHOST], prior[DISTANCES], counters[WORKERS], PRIOR_MEAN)
        return np.asarray(mean * (1 - np.eye(len(mean))))
