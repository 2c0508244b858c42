"""Which questions to have judged next: drawn with known chances, more often where the answer is uncertain."""

from dataclasses import dataclass

import numpy as np

from hutch.factors.logistic import Array
from hutch.factors.row import Places
from hutch.sampling.chances import chances_of
from hutch.sampling.draws import in_order

EVEN, FIRST, PAIRS = 0.1, 10.0, 2.0
"""Least share of a round that is drawn evenly; answers at which half is; their number in effect, in right or wrong
ones, whichever are rarer."""


@dataclass(frozen=True)
class Round:
    """Questions drawn together.

    Attributes:
        left: the questions that had not been drawn before, ascending.
        chance: with which each of them was drawn, above 0 and at most 1.
        drawn: those drawn, in the order of their predictions.
        chances: theirs.
    """

    left: Places
    chance: Array
    drawn: Places
    chances: Array


def draw(left: Places, predictions: Array, count: int, even: float, random: np.random.Generator) -> Round:
    """Draw questions without replacement.

    A question's chance grows with the standard deviation of its answer, which makes the variance of the estimate least
    (J. Neyman, Journal of the Royal Statistical Society 97, 1934). The draw is systematic, in the order of the
    predictions.

    Args:
        left: questions that can be drawn, ascending.
        predictions: the expected answers of all questions, or of several models (models, questions).
        count: of questions, at least 1; of all that are left if there are fewer.
        even: share that is drawn with equal chances, above 0 to 1.
        random: the source of the draw.

    >>> found = draw(np.arange(6), np.array([0.01, 0.01, 0.5, 0.5, 0.5, 0.01]), 2, 0.1, np.random.default_rng(0))
    >>> len(found.drawn), found.chance.round(2).tolist()
    (2, [0.13, 0.13, 0.53, 0.53, 0.53, 0.13])
    """
    p = np.atleast_2d(predictions)[:, left]
    chance = chances_of(np.sqrt((p * (1 - p)).mean(axis=0)), count, even)
    order = np.lexsort((random.random(len(left)), p.mean(axis=0)))
    taken = in_order(chance, order, random)
    return Round(left, chance, left[taken], chance[taken])


def even_share(answers: Array) -> float:
    """Share of the next round that is drawn evenly: predictions are trusted as answers of both kinds come in.

    A model that is right nearly always, or never, tells little of where it is wrong.

    Args:
        answers: so far, of one model or several, from 0 to 1 (models, n).

    >>> even_share(np.zeros((1, 0))), even_share(np.array([[1.0, 0.0] * 20])), even_share(np.ones((1, 40)))
    (1.0, 0.2, 1.0)
    """
    right = np.atleast_2d(answers).sum(axis=1)
    rarer = float(np.minimum(right, answers.shape[-1] - right).min()) if answers.size else 0.0
    return max(EVEN, FIRST / (FIRST + PAIRS * rarer))
