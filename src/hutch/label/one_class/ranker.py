"""Documents in the order of how likely they are of a class: ridge logistic regression on their words (tf-idf).

The learner that reviewers' tools use with few labels (G. Cormack, M. Grossman, "Autonomy and reliability of continuous
active learning for technology-assisted review", 2015). Both classes weigh the same, because few documents are relevant.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.documents import line_of
from hutch.core.batch import joined
from hutch.core.data.roles import Roles
from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions
from hutch.label.posterior import Array

RIDGE, FOLDS = 0.3, 3
"""Of the weights; parts of the labelled documents, each scored by a model that has not seen it."""
_NEWTON, _INNER, _ENOUGH = 12, 25, 1e-3


def words_in(documents: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """Lines of the words of documents; None if they have no words but their ids.

    >>> words_in([{"id": 1, "title": "Low rates", "year": 1998}, {"id": 2, "title": ""}])
    ['| year:1998 |title low rates', '|']
    >>> words_in([{"id": "a"}])
    """
    fields = {name for each in documents for name, value in each.items() if isinstance(value, str)} - {"id"}
    if not fields:
        return None
    roles = Roles(text=tuple(sorted(fields)))
    return [line_of({name: value for name, value in each.items() if name != "id"}, roles) for each in documents]


class Ranker:
    """Scores documents by their words.

    Args:
        lines: the documents, as Vowpal Wabbit's text.

    >>> ranker = Ranker(["|t red apple", "|t red rose", "|t blue sky", "|t blue sea", "|t red", "|t blue"])
    >>> scores = ranker.scores(np.arange(4), np.array([True, True, False, False]))
    >>> bool(scores[4] > 0 > scores[5])
    True
    """

    def __init__(self, lines: Sequence[str]) -> None:
        batch = joined(*[joined(each) for each in to_batches(list(lines), ParserOptions(), Roles())])
        rows = np.repeat(np.arange(len(batch)), np.diff(batch.row_ptr))
        names, words = np.unique(batch.indices, return_inverse=True)
        pairs, counts = np.unique(rows * len(names) + words, return_counts=True)
        row, word = np.divmod(pairs, max(len(names), 1))
        spread = np.bincount(word, minlength=len(names))
        rare = np.log(len(batch) / np.maximum(spread, 1)) * (spread > 1)  # a word of one document foretells nothing
        value = (1 + np.log(counts)) * rare[word]
        used = value > 0
        self._row, self._word, value = row[used], word[used], value[used]
        norms = np.sqrt(np.bincount(self._row, value * value, len(batch)))
        self._value = value / norms[self._row]
        self._start = np.searchsorted(self._row, np.arange(len(batch) + 1))
        self._words, self._documents = len(names), len(batch)

    def scores(self, known: NDArray[np.int64], true: NDArray[np.bool_]) -> Array:
        """Log-odds of all documents, if half of all were relevant (documents).

        Those that are labelled have the scores that a model gives them which was trained on other documents.

        Args:
            known: places of the labelled documents.
            true: whether they are relevant.
        """
        found = self._all(self._fit(known, true))
        for fold in range(FOLDS):
            out = np.arange(len(known)) % FOLDS == fold
            found[known[out]] = self._all(self._fit(known[~out], true[~out]))[known[out]]
        return found

    def _all(self, weights: Array) -> Array:
        return np.asarray(np.bincount(self._row, self._value * weights[self._word], self._documents) + weights[-1])

    def _fit(self, known: NDArray[np.int64], true: NDArray[np.bool_]) -> Array:
        """Weights of the words, and the constant, by Newton's method with conjugate gradients."""
        weights, positives = np.zeros(self._words + 1), int(true.sum())
        if not 0 < positives < len(known):
            return weights
        sizes = self._start[known + 1] - self._start[known]
        row = np.repeat(np.arange(len(known)), sizes)
        place = np.arange(len(row)) + np.repeat(self._start[known] - np.cumsum(sizes) + sizes, sizes)
        used, word = np.unique(self._word[place], return_inverse=True)
        value, many = self._value[place], len(known)
        share = np.where(true, many / (2 * positives), many / (2 * (many - positives)))
        sign, ridge = np.where(true, 1.0, -1.0), np.full(len(used) + 1, RIDGE)
        ridge[-1] = 1e-3

        def forth(b: Array) -> Array:
            return np.asarray(np.bincount(row, value * b[word], many) + b[-1])

        def back(r: Array) -> Array:
            return np.append(np.bincount(word, value * r[row], len(used)), r.sum())

        def loss(b: Array) -> float:
            return float(share @ np.logaddexp(0, -sign * forth(b)) + 0.5 * ridge @ (b * b))

        b = np.zeros(len(used) + 1)
        now = loss(b)
        for _ in range(_NEWTON):
            p = 1 / (1 + np.exp(-forth(b)))
            curve = share * p * (1 - p)
            step = _solved(lambda v: back(curve * forth(v)) + ridge * v, back(share * (true - p)) - ridge * b)  # noqa: B023
            while (new := loss(b + step)) > now and np.abs(step).max() > _ENOUGH:
                step = step / 2
            b, gain, now = b + step, now - new, new
            if gain < _ENOUGH * now:
                break
        weights[used], weights[-1] = b[:-1], b[-1]
        return weights


def _solved(matrix: Any, right: Array) -> Array:
    """The solution of a positive definite system, by conjugate gradients, to a few per cent."""
    found, rest = np.zeros_like(right), right.copy()
    way, size = rest.copy(), float(rest @ rest)
    first = size
    for _ in range(_INNER):
        if size <= 1e-3 * first or size == 0:
            break
        image = matrix(way)
        length = size / float(way @ image)
        found += length * way
        rest -= length * image
        size, before = float(rest @ rest), size
        way = rest + size / before * way
    return found
