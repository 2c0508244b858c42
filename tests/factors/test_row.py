"""The posterior of a new row, against brute force on a grid and against leaving answers out one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hutch.factors.row import Row, Table
from hutch.factors.table import learn_factors


def table(rows=30, columns=40, rank=1, seed=0):
    random = np.random.default_rng(seed)
    logits = 1.5 * random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns)) + random.normal(size=columns)
    return Table.of(
        learn_factors((random.random((rows, columns)) < 1 / (1 + np.exp(-logits))).astype(np.float32), rank)
    )


def on_a_grid(known, asked, answers):
    """Expected answers of all columns: the prior times the likelihood, on a fine grid of the two numbers of a row."""
    axis = np.linspace(-7, 7, 281)
    u = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.zeros(len(u))
    for part in known.prior:
        for mean in part.means:
            weight += np.exp(part.log_weight) * multivariate_normal(mean, np.linalg.inv(part.precision)).pdf(u)
    logits = known.factors.ease + u @ known.factors.directions.T
    log_likelihood = logits[:, asked] @ answers - np.logaddexp(0, logits[:, asked]).sum(axis=1)
    weight *= np.exp(log_likelihood - log_likelihood.max())
    return weight @ (1 / (1 + np.exp(-logits))) / weight.sum()


@pytest.mark.parametrize("count", [1, 4, 12, 30])
def test_predictions_are_those_of_brute_force(count):
    known, random = table(), np.random.default_rng(count)
    asked = random.permutation(40)[:count]
    answers = random.integers(0, 2, count).astype(float)
    row = Row(known).told(asked, answers).refined(10)
    others = np.setdiff1d(np.arange(40), asked)
    found, wanted = row.predictions(), np.clip(on_a_grid(known, asked, answers), 0.003, 0.997)
    np.testing.assert_allclose(found[others], wanted[others], atol=0.02)
    for k in range(min(count, 5)):
        wanted = on_a_grid(known, np.delete(asked, k), np.delete(answers, k))[asked[k]]
        assert found[asked[k]] == pytest.approx(wanted, abs=0.03)


def test_leaving_out_is_exact_given_the_sites():
    known, random = table(rank=3), np.random.default_rng(1)
    row = Row(known).told(random.permutation(40)[:15], random.integers(0, 2, 15).astype(float))
    mean, variance = row.left_out()
    for k in range(15):
        without = replace(
            row, **{name: np.delete(getattr(row, name), k) for name in ("asked", "answers", "precision", "shift")}
        )
        wanted_mean, wanted_variance = without.logits()
        assert mean[k] == pytest.approx(wanted_mean[row.asked[k]] - known.factors.ease[row.asked[k]], abs=1e-6)
        assert variance[k] == pytest.approx(wanted_variance[row.asked[k]], rel=1e-4)


def test_partial_answers_and_none():
    known = table()
    before, after = Row(known), Row(known).told(np.arange(20), np.full(20, 0.5))
    assert before.told(np.zeros(0, np.int64), np.zeros(0)) is before
    assert np.all((before.predictions() > 0) & (before.predictions() < 1))
    assert np.abs(after.predictions() - 0.5).mean() < np.abs(before.predictions() - 0.5).mean() + 0.1
