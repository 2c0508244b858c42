"""Numbers instead of classes, such as weights, ages or prices: each worker has a bias and a noise."""

import math
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.core.intervals import quantile
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array, CrowdModel, State, Sums, grown

MOMENTS = ["mean", "variance"]
"""The columns of a posterior."""
CROWD = ("mean", "deviation", "noise", "bias", "level_deviation", "wild")
"""The numbers of `Numbers.class_prior`."""
SURE = 1.96
"""Deviations to either end of an interval of 95 %."""
LARGEST = 1e15
"""A number that a saved model can hold."""
_ENDS = {"": 0.0, "_low": -SURE, "_high": SURE}
_WIDE, _OFF_BY_FAR, _FREEDOM = 1e4, 0.05, 4.0  # of wild variances; share of wild biases; pseudo-answers of a noise
_ROUNDS, _TINY, _FAR = 5, 1e-12, 1e6


class Numbers(CrowdModel):
    """An answer is the true number of its item plus the worker's bias plus noise.

        y_iw = x_i + b_w + e,    x_i ~ N(mu, tau^2),    b_w ~ N(0, B^2),    e ~ N(0, s_w^2),    1 / s_w^2 ~ Gamma

    mu, tau, B and the mean of Gamma are learned (empirical Bayes). Some answers are wild, with a variance 1e4 times as
    large: they count nothing. So are some biases: a worker who is off by far does not move the rest. EM with a
    posterior that is a product over items, biases and noises. Answers show biases only relative to each other, and to
    items whose number is known: the level of all is where biases fit their prior and these items best, and its
    uncertainty is part of the variance of every other item.

    Labels are numbers instead of codes, classes `MOMENTS`; a posterior has these of each item's number (items, 2). Gold
    is float64, the known number of an item or NaN, or int32, of which none is a number.
    """

    name = "numbers"
    summary = "numbers: bias and noise of each worker"
    kind = "measurements"

    def start(self, labels: Labels, history: State | None) -> State:
        """Medians as posteriors; estimates of the history, or robust ones of these labels."""
        old, people = history or State([], []), len(labels.worker_names)
        workers = {name: grown(old.workers.get(name), (people, size)) for name, size in (("sums", 7), ("estimates", 3))}
        shared = {name: grown(old.shared.get(name), (size,)) for name, size in (("moments", 7), ("crowd", 8))}
        before = {"sums": workers["sums"].copy(), "moments": shared["moments"].copy()}
        state = State(labels.classes, labels.worker_names, workers, shared, {}, before)
        (bias, variance, noise2), crowd = workers["estimates"].T, shared["crowd"]
        item, counts = labels.label_items, np.diff(labels.item_ptr)
        if not len(labels):
            state.items["posterior"], state.labels["weight"] = np.zeros((labels.items, 2)), np.zeros(0)
            return state
        if not crowd.any():
            crowd[6] = np.median(labels.labels)
            crowd[7] = math.sqrt(_variance(labels.labels - crowd[6]))
            middles = _medians(labels, _answers(labels, state))
            known, told = _known(labels, state)
            middles[known] = told
            off = (_answers(labels, state) - middles[item]) * np.sqrt(counts / np.maximum(counts - 1, 1))[item]
            pairs = off[counts[item] > 1]
            level, noise = np.median(middles), _variance(pairs) if len(pairs) else 1.0
            crowd[:5] = level, _variance(middles - level), noise, noise / 2, 0.01
        fresh = workers["sums"][:, 0] == 0
        variance[fresh], noise2[fresh] = crowd[3], crowd[2]
        middles = _medians(labels, _answers(labels, state) - bias[labels.workers])
        _believe(labels, state, middles, np.full(labels.items, crowd[2]))
        return state

    def count(self, labels: Labels, state: State) -> Sums:
        """Of each worker answers, weights, residuals, squares, variances, and two of these on items that are known.

        Of the crowd items, moments, wild answers, answers, and items that are not known, with the sum of their means.
        """
        item, (mean, variance), weight = labels.label_items, state.items["posterior"].T, state.labels["weight"]
        off = _answers(labels, state) - mean[item]
        open_ = np.ones(labels.items, np.bool_)
        open_[_known(labels, state)[0]] = False
        sure = weight * ~open_[item]
        columns = (
            np.ones_like(off), weight, weight * off, weight * (off**2 + variance[item]), weight * variance[item], sure,
            sure * off,
        )  # fmt: skip
        sums = np.column_stack([np.bincount(labels.workers, each, len(state.worker_names)) for each in columns])
        moments = [labels.items, mean.sum(), (mean**2 + variance).sum(), len(off) - weight.sum(), len(off)]
        return {"sums": sums, "moments": np.array([*moments, open_.sum(), mean[open_].sum()])}

    def settle(self, state: State, sums: Sums) -> None:
        """Level, biases and noises, then the distributions that they come from.

        Raises:
            UsageError: no item has two answers, and none is known.
        """
        whole, moments = state.workers["sums"], state.shared["moments"]
        whole[...], moments[...] = state.scratch["sums"] + sums["sums"], state.scratch["moments"] + sums["moments"]
        if moments[4] <= moments[5]:
            raise UsageError("numbers: wanted tasks with two labels or more: they alone tell noise from truth")
        (bias, variance, noise2), crowd = state.workers["estimates"].T, state.shared["crowd"]
        given, count, off, square, spread, sure, sure_off = whole.T
        met, safe = given > 0, np.maximum(count - sure, _TINY)
        known = met * safe / noise2 * _certain(safe, spread, noise2)  # precision of a bias by answers to open items
        far = _wild((bias**2 + variance) / crowd[3], _OFF_BY_FAR)
        pull = (1 - far + far / _WIDE) / crowd[3]
        firm = pull + sure / noise2  # by its prior and answers to known items, whose level is fixed
        trust = met * firm * known / (firm + known)
        level = float(trust @ ((off - sure_off) / safe - sure_off / noise2 / firm) / max(trust.sum(), _TINY))
        for part, total in ((state.scratch["sums"], state.scratch["moments"]), (whole, moments)):
            loose = part[:, 1] - part[:, 5]
            part[:, 3] += level * (level * loose - 2 * (part[:, 2] - part[:, 6]))
            part[:, 2] -= level * loose
            total[2] += level * (2 * total[6] + level * total[5])
            total[[1, 6]] += level * total[5]
        variance[:] = 1 / (pull + count / noise2)
        bias[:] = variance / noise2 * off
        squares = square - 2 * bias * off + count * (bias**2 + variance)
        noise2[:] = (_FREEDOM * crowd[2] + squares) / (_FREEDOM + count)
        variance[:] = 1 / (firm + known)
        noise, mean = 1 / (1 / noise2[met]).mean(), moments[1] / moments[0]
        wide = ((pull * crowd[3] * (bias**2 + variance))[met].sum() + noise) / (met.sum() + 1)
        tau2 = max(moments[2] / moments[0] - mean**2, _TINY)
        # as far as the level comes from B, it has the tails of Student's distribution: B is learned from few biases
        wider = (quantile(0.95, int(met.sum())) / SURE) ** 2 - 1
        level2 = (1 + wider * float(trust @ (pull / firm)) / trust.sum()) / trust.sum() if moments[5] else 0.0
        crowd[:6] = mean, tau2, noise, wide, (moments[3] + 1) / (moments[4] + 100), level2

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """Normal posteriors of the items, and the probability that an answer is not wild; there is no objective."""
        (mean, tau2, *_), item, change = state.shared["crowd"].tolist(), labels.label_items, 0.0
        bias, variance, noise2 = state.workers["estimates"].T[:, labels.workers]
        for _ in range(1 if learned else _ROUNDS):
            weight = state.labels["weight"] / (noise2 + variance)
            total = np.bincount(item, weight, labels.items) + 1 / tau2
            fresh = np.bincount(item, weight * (_answers(labels, state) - bias), labels.items) + mean / tau2
            fresh /= total
            before = state.items["posterior"][:, 0]
            _believe(labels, state, fresh, 1 / total)
            after = state.items["posterior"][:, 0]
            change = float(np.abs(after - before).max(initial=0.0) / math.sqrt(tau2))
        return 0.0, change

    def posterior(self, state: State) -> Array:
        """Mean and variance of each item's number, the level's uncertainty included if it is not known (items, 2)."""
        *_, level2, middle, unit = state.shared["crowd"]
        mean, variance = state.items["posterior"].T
        return np.column_stack([middle + unit * mean, unit**2 * (variance + level2 * (variance > 0))])

    def class_prior(self, state: State) -> Array:
        """Mean and deviation of numbers, deviations of noises, biases and the level of all, share of wild answers."""
        mean, tau2, noise2, bias2, wild, level2, middle, unit = state.shared["crowd"].tolist()
        return np.array([middle + unit * mean, *(unit * np.sqrt([tau2, noise2, bias2, level2])), wild])

    def confusions(self, state: State) -> NoReturn:
        """There are none: numbers are no classes."""
        raise UsageError("numbers: has no confusions of classes")

    def workers(self, state: State) -> dict[str, Array]:
        """Labels, bias and noise with the ends of 95 %, and share of wild answers of each worker (workers)."""
        bias, variance, noise2 = state.workers["estimates"].T
        given, count, *_, spread, sure, _ = state.workers["sums"].T
        *_, level2, _, unit = state.shared["crowd"]
        level2 = level2 * (1 - variance * sure / np.maximum(noise2, _TINY)) ** 2  # known items fix it
        freedom = _FREEDOM + count * _certain(count, spread, noise2) ** 2
        part = 2 / 9 / freedom  # Wilson and Hilferty's cube root, 1931
        ends = {f"bias{end}": unit * (bias + z * np.sqrt(variance + level2)) for end, z in _ENDS.items()}
        ends |= {f"noise{end}": unit * (1 - part - z * part**0.5) ** -1.5 * noise2**0.5 for end, z in _ENDS.items()}
        return {"labels": given, **ends, "wild": 1 - count / np.maximum(given, 1)}


def _answers(labels: Labels, state: State) -> Array:
    """The answers from the middle of the first, in units of their deviation."""
    *_, middle, unit = state.shared["crowd"]
    return np.asarray(np.clip((labels.labels - middle) / (unit or 1.0), -_FAR, _FAR))


def _certain(count: Array, spread: Array, noise2: Array) -> Array:
    """The part of a worker's residuals that is their own: s^2 / (s^2 + v), v that of an item without their answer."""
    return np.clip(1 - spread / np.maximum(count * noise2, _TINY), 0.05, 1)


def _known(labels: Labels, state: State) -> tuple[NDArray[np.int64], Array]:
    """The items whose number is known, and these numbers in units of the answers' deviation."""
    if labels.gold.dtype != np.float64:
        return np.zeros(0, np.int64), np.zeros(0)
    *_, middle, unit = state.shared["crowd"]
    places = np.flatnonzero(np.isfinite(labels.gold))
    return places, (labels.gold[places] - middle) / (unit or 1.0)


def _believe(labels: Labels, state: State, mean: Array, variance: Array) -> None:
    """Set the items' posteriors, those of known items to what is known, and the probability that an answer is not wild.

    Args:
        mean, variance: of each item's number (items).
    """
    places, told = _known(labels, state)
    mean[places], variance[places] = told, 0.0
    state.items["posterior"] = np.column_stack([mean, variance])
    bias, wide, noise2 = state.workers["estimates"].T[:, labels.workers]
    item = labels.label_items
    square = ((_answers(labels, state) - mean[item] - bias) ** 2 + variance[item] + wide) / noise2
    state.labels["weight"] = 1 - _wild(square, state.shared["crowd"][4])


def _wild(square: Array, share: float) -> Array:
    """Probability of the wide part of a mixture, given squares over the narrow variance and the share of the wide."""
    return np.asarray(
        1 / (1 + (1 - share) / share * math.sqrt(_WIDE) * np.exp(np.maximum(square, 0) * (1 / _WIDE - 1) / 2))
    )


def _medians(labels: Labels, values: Array) -> Array:
    first, counts = labels.item_ptr[:-1], np.diff(labels.item_ptr)
    ordered = np.append(values[np.lexsort((values, labels.label_items))], 0.0)
    return np.where(counts > 0, (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2, 0.0)


def _variance(off: Array) -> float:
    """A variance by the median square of a normal variable; by the mean square if half are 0."""
    square = np.minimum(np.abs(off), 1e100) ** 2
    return float(np.median(square) / 0.455 or np.mean(square) or _TINY) if len(off) else _TINY
