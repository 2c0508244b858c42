import math

import numpy as np
import pytest

from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.report import krippendorff_alpha, report, wilson
from hutch.crowd.simulate import KINDS, simulate


def krippendorff(units):
    """Alpha from the coincidence matrix, pair by pair."""
    values = sorted({v for unit in units for v in unit})
    matrix = np.zeros((len(values), len(values)))
    for unit in units:
        for i, a in enumerate(unit):
            for j, b in enumerate(unit):
                if i != j:
                    matrix[values.index(a), values.index(b)] += 1 / (len(unit) - 1)
    n = matrix.sum(axis=0)
    observed = matrix.sum() - np.trace(matrix)
    expected = (n.sum() ** 2 - np.sum(n**2)) / (n.sum() - 1)
    return 1 - observed / expected


@pytest.mark.parametrize(
    "units",
    [
        ["ab", "aa", "bb", "aab", "b"],
        ["aaa", "bbb", "ccc"],
        ["ab", "ba", "ab"],
        ["abc", "aabb", "ccca", "bb", "c"],
    ],
)
def test_krippendorff_alpha_equals_its_coincidence_matrix(units):
    rows = [(f"w{j}", f"t{i}", value) for i, unit in enumerate(units) for j, value in enumerate(unit)]
    assert krippendorff_alpha(from_triples(rows)) == pytest.approx(krippendorff([u for u in units if len(u) > 1]))


@pytest.mark.parametrize("rows", [[], [("a", "t", "x")], [("a", "t", "x"), ("b", "t", "x")]])
def test_krippendorff_alpha_is_undefined_without_disagreement_to_expect(rows):
    assert math.isnan(krippendorff_alpha(from_triples(rows)))


def test_wilson_holds_the_share_and_narrows():
    low, high = wilson(np.array([0.7, 0.7, 1.0]), np.array([10, 1000, 5]))
    assert ((low <= [0.7, 0.7, 1.0]) & (high >= [0.7, 0.7, 1.0])).all()
    assert high[1] - low[1] < (high[0] - low[0]) / 5
    assert (low >= 0).all() and (high <= 1).all()


@pytest.fixture(scope="module")
def reported():
    crowd = simulate(3000, 200, 4, 5, seed=1)
    model = TwoLevel()
    fit = model.fit(crowd.labels)
    rows = report(
        crowd.labels, model.others(crowd.labels, fit.state), model.confusions(fit.state), model.class_prior(fit.state)
    )
    return crowd, rows


def test_spammers_stand_out_and_adversaries_are_no_spammers(reported):
    crowd, rows = reported
    spam = {kind: rows.spam[(crowd.kinds == i) & (rows.labels >= 20)] for i, kind in enumerate(KINDS)}
    assert spam["constant"].min() > 0.9
    assert spam["random"].mean() > 0.5
    assert spam["expert"].max() < 0.1
    assert spam["normal"].mean() < 0.1
    assert spam["adversary"].mean() < 0.1


def test_accuracy_follows_the_true_skill(reported):
    crowd, rows = reported
    true = np.einsum("k,wkk->w", np.bincount(crowd.truth) / len(crowd.truth), crowd.confusions)
    busy = rows.labels >= 20
    assert np.corrcoef(true[busy], rows.accuracy[busy])[0, 1] > 0.9
    assert ((rows.low <= rows.accuracy) & (rows.accuracy <= rows.high)).all()


def test_intervals_hold_the_share_of_right_labels(reported):
    crowd, rows = reported
    right = crowd.labels.labels == crowd.truth[crowd.labels.label_items]
    given = rows.labels > 0
    share = np.bincount(crowd.labels.workers, weights=right, minlength=len(rows.labels))[given] / rows.labels[given]
    held = (rows.low[given] <= share) & (share <= rows.high[given])
    assert 0.92 <= held.mean() <= 0.995


def test_gold_accuracy_counts_only_gold():
    rows = [("a", "t", "x"), ("a", "u", "y"), ("a", "v", "y"), ("b", "v", "x")]
    labels = from_triples(rows, gold={"t": "x", "u": "x"})
    model = TwoLevel()
    fit = model.fit(labels)
    found = report(labels, model.others(labels, fit.state), model.confusions(fit.state), model.class_prior(fit.state))
    assert found.gold_labels.tolist() == [2, 0]
    assert found.gold_accuracy[0] == 0.5
    assert math.isnan(found.gold_accuracy[1])


def test_top_confusions_are_wrong_labels_in_order(reported):
    crowd, rows = reported
    top = rows.top_confusions(3, crowd.labels.classes)
    assert len(top) == 3
    assert all(true != label for true, label, _ in top)
    assert [p for _, _, p in top] == sorted((p for _, _, p in top), reverse=True)
    assert rows.top_confusions(3, crowd.labels.classes, 99)[0] == top[0]
