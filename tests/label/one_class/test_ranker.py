"""Documents ranked by their words: against a plain solver, with scores that their own labels have not touched."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hutch.label.one_class.ranker import RIDGE, Ranker, words_in


def documents(count, seed, rate=0.3):
    """Texts in which some words are commoner in those that are relevant."""
    random = np.random.default_rng(seed)
    true = random.random(count) < rate
    words = [
        " ".join(f"w{k}" for k in np.concatenate([random.integers(0, 60, 12), random.integers(60, 75, 3) + 15 * each]))
        for each in true
    ]
    return [{"id": k, "title": text} for k, text in enumerate(words)], true


def test_weights_are_the_minimum_of_the_balanced_ridge_loss():
    texts, true = documents(80, 0)
    ranker, known = Ranker(words_in(texts)), np.arange(80)
    found = ranker._fit(known, true)
    dense = np.zeros((80, ranker._words))
    dense[ranker._row, ranker._word] = ranker._value
    share = np.where(true, 40 / true.sum(), 40 / (~true).sum())

    def loss(b):
        scores = dense @ b[:-1] + b[-1]
        fit = share @ np.logaddexp(0, -np.where(true, 1, -1) * scores)
        return fit + 0.5 * RIDGE * b[:-1] @ b[:-1] + 0.5e-3 * b[-1] ** 2

    best = minimize(loss, np.zeros(len(found)), method="L-BFGS-B", options={"maxiter": 2000})
    assert loss(found) == pytest.approx(best.fun, rel=2e-3)


def test_rows_are_tf_idf_of_length_one():
    ranker = Ranker(["|t a a b", "|t a c", "|t c only", "|t nothing else here"])
    norms = np.bincount(ranker._row, ranker._value**2, 4)
    assert norms[:3] == pytest.approx([1, 1, 1]) and norms[3] == 0  # words of one document only
    first = ranker._value[ranker._row == 0]
    assert len(first) == 1 or first.max() > first.min()


def test_what_was_not_seen_is_ranked_and_what_was_is_scored_by_others():
    texts, true = documents(400, 1)
    ranker, known = Ranker(words_in(texts)), np.arange(120)
    scores = ranker.scores(known, true[:120])
    rest = scores[120:][true[120:]][:, None] > scores[120:][~true[120:]]
    seen = scores[:120][true[:120]][:, None] > scores[:120][~true[:120]]
    assert rest.mean() > 0.9 and abs(seen.mean() - rest.mean()) < 0.08
    lies = ranker.scores(known, np.random.default_rng(0).random(120) < 0.5)
    fair = np.corrcoef(lies[:120], np.random.default_rng(0).random(120) < 0.5)[0, 1]
    assert abs(fair) < 0.3  # a model that has seen the labels would know them by heart


def test_without_both_answers_nothing_is_said():
    ranker = Ranker(["|t a b", "|t b c", "|t c a"])
    assert (ranker.scores(np.array([0, 1]), np.array([False, False])) == 0).all()
    assert (ranker.scores(np.zeros(0, np.int64), np.zeros(0, np.bool_)) == 0).all()


def test_ids_are_no_words():
    assert words_in([{"id": "a b c d e f"}]) is None
    assert words_in([{"id": 1, "title": "Of mice: and men"}, {"id": 2, "title": None}]) == [
        "|title of mice and men",
        "|",
    ]
