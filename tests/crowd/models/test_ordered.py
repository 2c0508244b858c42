import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.ordered import leaned, ratings, scale, scale_of
from hutch.crowd.models.ordinal import Ordinal

_spec = importlib.util.spec_from_file_location("simulated_ratings", Path(__file__).with_name("simulated_ratings.py"))
_ratings = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _ratings
_spec.loader.exec_module(_ratings)
simulate_ratings = _ratings.simulate_ratings


@pytest.mark.parametrize(
    ("classes", "expected"),
    [(["1", "2", "3"], True), (["3", "2", "1"], False), (["0", "1"], False), (["a", "b", "c"], False)],
)
def test_whole_numbers_in_order_are_ordered(classes, expected):
    assert (scale_of(classes, None) is not None) is expected


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["1", "2", "5"], [1, 2, 5]),
        (["-1.5", "0", "2.5"], [-1.5, 0, 2.5]),
        (["3", "1"], [1, 2]),
        (["bad", "good"], [1, 2]),
        (["1", "nan"], [1, 2]),
        ([], []),
    ],
)
def test_the_value_of_each_class(classes, expected):
    assert scale(classes).tolist() == expected


def test_the_median_has_the_least_absolute_and_the_mean_the_least_squared_error():
    random = np.random.default_rng(0)
    probability, values = random.dirichlet(np.ones(5), 200), np.array([1.0, 2.0, 3.0, 4.0, 7.0])
    found = ratings(probability, values)
    distance = np.abs(values[:, None] - values[None])
    best = (probability @ distance).argmin(axis=1)
    assert found.median == pytest.approx(values[best])
    assert found.mean == pytest.approx((probability * values).sum(axis=1))
    inside = (values >= found.low[:, None]) & (values <= found.high[:, None])
    assert (np.sum(probability * inside, axis=1) >= 0.95 - 1e-9).all()
    for row, low, high in zip(probability, found.low, found.high, strict=True):  # no narrower range holds as much
        ranges = [(values[b] - values[a], -row[a : b + 1].sum()) for a in range(5) for b in range(a, 5)]
        assert (high - low, -row[(values >= low) & (values <= high)].sum()) == pytest.approx(
            min(each for each in ranges if -each[1] >= 0.95 - 1e-9)
        )


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_posteriors_lean_as_far_as_left_out_labels_say(share):
    random = np.random.default_rng(0)
    values, given = np.arange(10.0), random.integers(10, size=(60, 4))
    labels = from_triples(
        [(f"w{j}", f"t{i}", str(given[i, j])) for i in range(60) for j in range(4)], classes=[str(k) for k in range(10)]
    )
    wanted = random.uniform(2, 7, 240)  # what the model says of an item without a label; labels follow a mixture
    rest = (given.sum(axis=1, keepdims=True) - given).ravel() / 3
    place = share * wanted + (1 - share) * rest
    others = np.exp(-0.5 * (values - (given.ravel() + (place - rest))[:, None]) ** 2 / 0.3**2)
    probability = random.dirichlet(np.ones(10), 60)
    found = leaned(probability, values, labels, others)
    assert found.sum(axis=1) == pytest.approx(1)
    said = others @ values / others.sum(axis=1)
    kept = np.clip((said - rest) @ (given.ravel() - rest) / ((said - rest) @ (said - rest)), 0, 1)
    assert found @ values == pytest.approx(kept * (probability @ values) + (1 - kept) * given.mean(axis=1), abs=1e-3)
    ratio = np.log(found / probability)  # by exp(t u + constant): linear in the values
    assert np.diff(ratio, n=2, axis=1) == pytest.approx(0, abs=1e-5)


def test_sparse_scores_are_not_far_from_plain_means():
    random = np.random.default_rng(1)
    truth = np.where(random.random(100) < 0.7, random.gamma(1.0, 4.0, 100), random.uniform(10, 95, 100))
    felt = truth[:, None] + random.normal(size=(100, 8)) * (4 + truth[:, None] / 4)
    felt = np.where((truth[:, None] < 12) & (random.random((100, 8)) < 0.6), 0, felt)
    scores = np.clip(np.round(felt / 5) * 5, 0, 100).astype(int)
    labels = from_triples([(f"w{j}", f"t{i}", str(scores[i, j])) for i in range(100) for j in range(8)])
    result = aggregate(labels, options=Options(ordered=True))
    found, plain = ratings(result.probability, result.scale), labels.vote_share() @ result.scale
    errors = [np.sqrt(np.mean((mean - truth) ** 2)) for mean in (found.mean, plain)]
    assert errors[0] < 1.1 * errors[1]
    assert np.mean((found.low <= truth) & (truth <= found.high)) > 0.9


def test_few_degrees_keep_the_posterior_of_the_model():
    labels = simulate_ratings(60, 8, 5, 3.0, seed=0).labels
    result = aggregate(labels, options=Options(ordered=True))
    assert result.probability.tolist() == Ordinal().probability(labels, result.fit).tolist()
