"""Means of clusters and tests of them, beside SciPy, formulas and draws with known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, fisher_exact, t

from hutch.estimate.clusters import DRAWS, group_tests, holm, mean_of_clusters, sign_test
from hutch.estimate.means import mean_of_all


@pytest.mark.parametrize("right", [0, 3, 17, 40])
def test_without_clusters_it_is_the_interval_of_any_mean(right):
    outcomes = np.repeat([1.0, 0.0], [right, 40 - right])
    found = mean_of_clusters(outcomes, np.arange(40))
    other = mean_of_all(outcomes, np.arange(40), np.zeros(1_000_000))
    assert (found.estimate, found.low, found.high) == pytest.approx((other.estimate, other.low, other.high), abs=1e-4)


def test_without_ends_it_is_the_sandwich_with_students_quantile():
    random = np.random.default_rng(0)
    clusters = np.repeat(np.arange(12), 5)
    y = random.normal(3, 1, 60) + random.normal(0, 2, 12)[clusters]
    found = mean_of_clusters(y, clusters, ends=None)
    means = y.reshape(12, 5).mean(axis=1)
    half = t.ppf(0.975, 11) * means.std(ddof=1) / np.sqrt(12)
    assert found.half_width == pytest.approx(half, rel=1e-3) and found.estimate == pytest.approx(y.mean())


def test_copies_of_the_items_of_a_cluster_teach_nothing():
    random = np.random.default_rng(1)
    y = (random.random(30) < 0.8).astype(float)
    once = mean_of_clusters(y, np.arange(30))
    often = mean_of_clusters(np.repeat(y, 20), np.repeat(np.arange(30), 20))
    assert often.half_width > 0.75 * once.half_width


@pytest.mark.parametrize("count", [20, 50, 100])
@pytest.mark.parametrize("likeness", [0.0, 0.3])
def test_intervals_cover(count, likeness):
    random, hits = np.random.default_rng(count), 0
    for _ in range(200):
        clusters = np.repeat(np.arange(count), random.integers(1, 9, count))
        strength = 1 / likeness - 1 if likeness else 1e9
        chance = random.beta(0.85 * strength, 0.15 * strength, count)[clusters]
        found = mean_of_clusters((random.random(len(clusters)) < chance).astype(float), clusters)
        hits += found.low <= 0.85 <= found.high
    assert hits >= 0.92 * 200  # nominal .95, a standard error is .015


def test_nothing_known_is_everything_possible():
    none = np.zeros(0)
    assert mean_of_clusters(none, none.astype(int)).half_width == 0.5
    assert mean_of_clusters(none, none.astype(int), ends=None).half_width == np.inf


def test_holm_is_that_of_its_definition():
    random = np.random.default_rng(3)
    for _ in range(20):
        chances = random.random(7) ** 3
        order = np.argsort(chances)
        wanted = [max(min((7 - r) * chances[order[r]], 1) for r in range(k + 1)) for k in range(7)]
        assert holm(chances)[order] == pytest.approx(wanted)
    assert len(holm(np.zeros(0))) == 0


@pytest.mark.parametrize(("ups", "downs"), [(8, 2), (0, 6), (5, 5), (30, 12)])
def test_signs_of_one_size_are_mcnemars_exact_test(ups, downs):
    differences = np.repeat([1.0, -1.0, 0.0], [ups, downs, 7])
    found = sign_test(differences, np.arange(len(differences)))
    assert found == pytest.approx(binomtest(ups, ups + downs).pvalue, abs=1e-9)


@pytest.mark.parametrize("count", [9, 60])
def test_signs_of_several_sizes_are_tried(count):
    y = np.random.default_rng(count).normal(0.3, 1, count)
    signs = np.random.default_rng(5).integers(0, 2, (20_000, count)) * 2 - 1
    assert sign_test(y, np.arange(count)) == pytest.approx(np.mean(abs(signs @ y) >= abs(y.sum())), abs=0.015)


def test_groups_of_single_items_are_close_to_fishers_exact_test():
    y = np.r_[np.repeat([1.0, 0.0], [18, 2]), np.repeat([1.0, 0.0], [30, 30])]
    found = group_tests(y, np.ones(80), np.repeat([0, 1], [20, 60]), 2)
    peer = fisher_exact([[18, 2], [30, 30]]).pvalue
    assert found[0] == found[1] == pytest.approx(peer, rel=0.6)


@pytest.mark.slow
def test_groups_raise_false_alarms_no_more_often_than_they_say():
    random, hits = np.random.default_rng(4), 0
    for draw in range(150):
        sizes = random.integers(1, 6, 30).astype(float)
        sums = random.binomial(sizes.astype(int), random.beta(4, 1, 30)).astype(float)
        chances = group_tests(sums, sizes, random.integers(0, 4, 30), 4, draw)
        hits += bool((holm(chances) <= 0.05).any())
    assert hits <= beta.ppf(0.999, 1 + 0.05 * 150, 1 + 0.95 * 150) * 150


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30), st.randoms())
def test_order_and_names_of_clusters_do_not_matter(rows, shuffler):
    def interval(rows, names):
        found = mean_of_clusters(np.array([y for y, _ in rows]), np.array([names[c] for _, c in rows]))
        return found.low, found.estimate, found.high

    moved = list(rows)
    shuffler.shuffle(moved)
    low, middle, high = interval(rows, range(5))
    assert 0 <= low <= middle <= high <= 1
    assert interval(moved, [7, 3, 9, 0, 1]) == pytest.approx((low, middle, high), abs=1e-12)


def test_a_random_test_never_says_that_something_is_impossible():
    """As many clusters as are not tried in all ways, all of one sign: none of the drawn signs is as extreme."""
    found = sign_test(np.linspace(1.0, 2.0, 60), np.arange(60))
    assert found == 1 / (1 + DRAWS)
