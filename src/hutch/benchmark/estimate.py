"""The mean answer over all questions, from the judged ones and predictions of all: an estimate with its interval.

A round measures what was left of the questions by the difference estimator (C.-E. Särndal, B. Swensson, J. Wretman,
"Model assisted survey sampling", 1992): the sum of the predictions, plus the judged residuals, each divided by the
chance with which its question was drawn. That is right however bad the predictions are. The estimate is the mean of the
rounds, weighted by the precisions that the predictions expect of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.benchmark.checked import correction
from hutch.benchmark.draws import Round
from hutch.core.intervals import chernoff, every_look, quantile, wilson
from hutch.factors.logistic import Array

MODEL_FREEDOM, LEAST_FREEDOM = 20.0, 4.0
"""Degrees of freedom of the variance that the predictions expect; least ones of the residuals'."""
SOME = 1.25
"""Sum of squares that is added to those of residuals and of predictions before they are compared: of five answers."""
WIDER = 1.05
"""How much wider intervals are: predictions and draws depend on the answers, which the variance does not count."""


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval.

    Attributes:
        value, low, high: of the mean over all questions.
        labels: judged questions in it.
        questions: all questions in it.
        worth: questions drawn by lot that give an interval as wide; NaN if no number does.
    """

    value: float
    low: float
    high: float
    labels: int
    questions: int
    worth: float = math.nan

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def minus(self, known: float) -> "Estimate":
        """The estimate less a known number."""
        return replace(self, value=self.value - known, low=self.low - known, high=self.high - known)


@dataclass(frozen=True)
class Values:
    """What is estimated.

    Attributes:
        known: of the judged questions, NaN for all others (questions).
        forecast: predictions (questions); that of a judged question does not use its own answer.
        doubt: the variance that the predictions expect of each value (questions).
        ends: the least and the greatest value that a question may have.
        people: answers by people, if those known are a judge's, NaN where there is none (questions); None: all known
            answers are the truth.
    """

    known: Array
    forecast: Array
    doubt: Array
    ends: tuple[float, float] = (0.0, 1.0)
    people: Array | None = None

    @classmethod
    def of(cls, answers: Array, forecast: Array, people: Array | None = None) -> "Values":
        """Answers from 0 to 1 and their predictions; answers that are not 0 or 1 vary less than those that are."""
        found = cls(answers, forecast, forecast * (1 - forecast), people=people)
        return found._scaled() if np.any((answers > 0) & (answers < 1)) else found

    def minus(self, other: "Values") -> "Values":
        """The differences of two models' answers, which vary less than those of two that have nothing in common."""
        ends = self.ends[0] - other.ends[1], self.ends[1] - other.ends[0]
        apart = self.known - other.known, self.forecast - other.forecast, self.doubt + other.doubt
        people = None if self.people is None or other.people is None else self.people - other.people
        return Values(*apart, ends, people)._scaled()

    def _scaled(self) -> "Values":
        """The values with the doubt that the residuals show, if it is less."""
        judged = ~np.isnan(self.known)
        found = float(np.sum((self.known - self.forecast)[judged] ** 2))
        scale = min(1.0, (found + SOME) / (float(self.doubt[judged].sum()) + SOME))
        return replace(self, doubt=self.doubt * scale)


@dataclass(frozen=True)
class _Sums:
    """Sums over the rounds: the estimate, the variance of it, each label's weight in it, and what it stands for."""

    value: float
    expected: float
    weight: Array
    squares: Array
    reach: Array
    known: float
    per_answer: float


def estimate(
    rounds: Sequence[Round],
    values: Values,
    inside: NDArray[np.bool_] | None = None,
    confidence: float = 0.95,
    expected: int | None = None,
) -> Estimate:
    """The mean over all questions, or over those of a slice, with its interval.

    The variance is that of the judged residuals, with two more answers, one at either end of the range, each with the
    weight of the labels that determine the variance; it is averaged with the variance that the predictions expect, by
    degrees of freedom. The interval is Wilson's with Student's quantile, `WIDER`.

    Args:
        rounds: in the order in which they were drawn.
        values: of the questions.
        inside: the questions that count (questions); None: all.
        confidence: between 0 and 1.
        expected: the interval is to hold at every look, and is narrowest at so many labels; None: it is for one look.

    Source: the two answers are those of D. Bonett and R. Price, Statistics in Medicine 31, 2012; the degrees of freedom
    of a sum of squares are those of F. Satterthwaite, Biometrics Bulletin 2, 1946.

    >>> answers = np.array([1.0, 0.0, np.nan, np.nan])
    >>> rounds = [Round(np.arange(4), np.full(4, 0.5), np.array([0, 1]), np.array([0.5, 0.5]))]
    >>> found = estimate(rounds, Values.of(answers, np.full(4, 0.5)))
    >>> found.value, found.low, found.high, found.labels
    (0.5, 0.25, 0.75, 2)
    """
    within = np.ones(len(values.known), np.bool_) if inside is None else inside
    total, (least, most) = int(within.sum()), values.ends
    sums = _sums(rounds, values, within)
    n = len(sums.weight)
    checked = None if values.people is None else correction(rounds, values.known, values.people, sums.reach, within)
    if values.people is not None and checked is None:
        return Estimate(min(max(sums.value, least), most), least, most, n, total)
    lowest, highest = ((sums.known + (total - n) * end) / total for end in values.ends)
    if checked:  # a judge's answers bound nothing
        lowest, highest = values.ends
    value = min(max(sums.value + (checked.shift if checked else 0.0), lowest), highest)
    if not n or n == total and not checked:
        return Estimate(value, lowest, highest, n, total, float(n) if n else math.nan)
    at = (n * value + least + most) / (n + 2)
    parts = sums.weight * sums.squares
    found = float(parts.sum())
    if sums.weight.any():
        heavy = float(sums.weight @ sums.weight / sums.weight.sum())
        widened = (found + heavy * ((at - least) ** 2 + (most - at) ** 2)) * n / (n + 2)
    else:  # all labelled questions were certain to be drawn
        widened = found
    unequal = float(parts @ parts) - found**2 / n
    freedom = max(LEAST_FREEDOM, 2 * found**2 / max(unequal, 1e-300))
    trusted = min(MODEL_FREEDOM, n / 2)
    variance = (freedom * widened + trusted * sums.expected) / (freedom + trusted)
    freedom = min(freedom, n) + trusted
    if checked:
        both = variance + checked.variance
        freedom = both**2 / max(variance**2 / freedom + checked.variance**2 / checked.freedom, 1e-300)
        variance = both
    student = quantile(confidence, freedom)
    reach = WIDER * student
    if expected is not None:
        reach *= _at_every_look(n, total, confidence, expected) / quantile(confidence)
    low, high = wilson(value, variance, at, values.ends, reach)
    if expected is not None:
        other = chernoff(value, variance, at, values.ends, reach)
        low, high = min(low, other[0]), max(high, other[1])
    low, high = min(max(low, lowest), value), max(min(high, highest), value)
    return Estimate(value, low, high, n, total, _worth(sums.per_answer, (high - low) / 2 / reach * WIDER, total))


def _sums(rounds: Sequence[Round], values: Values, within: NDArray[np.bool_]) -> _Sums:
    """Measure the questions inside by every round, and average."""
    total, done = int(within.sum()), 0.0
    found, expected, weights, squares, used = [], [], [], [], []
    counted, first, second = 0.0, 0.0, 0.0
    for each in rounds:
        judged = ~np.isnan(values.known[each.drawn])
        if not judged.any():
            continue
        share, use = float(judged.mean()), within[each.left]  # an open round counts as one of fewer questions
        left, chance = each.left[use], each.chance[use] * share
        judged &= within[each.drawn]
        drawn, chances = each.drawn[judged], each.chances[judged] * share
        said = values.known[drawn]
        residuals = said - values.forecast[drawn]
        found.append((done + float(values.forecast[left].sum()) + float((residuals / chances).sum())) / total)
        expected.append(float((values.doubt[left] * (1 - chance) / chance).sum()) / total**2)
        weights.append((1 - chances) / chances**2 / total**2)
        squares.append(residuals**2)
        used.append((drawn, chances))
        done += float(said.sum())
        counted, first = counted + float((1 / chances).sum()), first + float((said / chances).sum())
        second += float((said**2 / chances).sum())
    if not found:
        nothing = np.zeros(0)
        return _Sums(float(values.forecast[within].mean()), 0.0, nothing, nothing, nothing, 0.0, 0.0)
    trust = 1 / np.maximum(np.array(expected), 1e-300)
    trust /= trust.sum()
    weight = np.concatenate([share**2 * each for share, each in zip(trust, weights, strict=True)])
    per_answer = max(second / counted - (first / counted) ** 2, 0.0) if counted else 0.0
    value, variance = float(trust @ np.array(found)), float(trust**2 @ np.array(expected))
    reach, later = np.zeros(len(values.known)), 1.0
    for share, (drawn, chances) in zip(trust, used, strict=True):
        later -= float(share)
        reach[drawn] = share / chances + later
    return _Sums(value, variance, weight, np.concatenate(squares), reach, done, per_answer)


def _at_every_look(labels: int, total: int, confidence: float, expected: int) -> float:
    """Standard deviations of an interval that holds at all looks; time is the inverse of the variance that is left."""
    now, best = (n / max(1 - n / total, 1e-9) for n in (labels, min(expected, total - 1)))
    return every_look(now, confidence, best)


def _worth(per_answer: float, deviation: float, total: int) -> float:
    """Labels drawn by lot, without replacement, whose mean has that standard deviation."""
    if not (per_answer > 0 and deviation > 0 and total > 1):
        return math.nan
    return 1 / (deviation**2 * (total - 1) / (total * per_answer) + 1 / total)
