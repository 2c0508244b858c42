import math
from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_codes, from_triples
from hutch.crowd.models.special import binomial_interval, binomial_tail
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.report import TOO_FEW, krippendorff_alpha
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


def test_binomial_intervals_equal_their_definition():
    right, trials = np.array([0.0, 3.0, 5.0, 88.0]), np.array([4.0, 8.0, 5.0, 100.0])
    low, high = np.empty(4), np.empty(4)
    binomial_interval(right, trials, low, high)
    for x, n, a, b in zip(right, trials, low, high, strict=True):
        assert (a == 0) if x == 0 else binomial_tail(x, n, a) == pytest.approx(0.025, abs=1e-9)
        assert (b == 1) if x == n else 1 - binomial_tail(x + 1, n, b) == pytest.approx(0.025, abs=1e-9)


@pytest.fixture(scope="module")
def reported():
    crowd = simulate(3000, 200, 4, 5, seed=1)
    return crowd, aggregate(crowd.labels).report()


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
    assert (
        np.isnan(rows.accuracy[rows.labels < TOO_FEW]).all()
        and np.isfinite(rows.accuracy[rows.labels >= TOO_FEW]).all()
    )
    assert np.corrcoef(true[busy], rows.accuracy[busy])[0, 1] > 0.9
    judged = rows.labels >= TOO_FEW
    assert ((rows.low <= rows.accuracy) & (rows.accuracy <= rows.high))[judged].all()


@pytest.mark.slow
@pytest.mark.parametrize("labels_each", [3, 8, 20, 100])
def test_intervals_hold_how_often_a_worker_is_right(labels_each):
    held = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        truth = random.integers(3, size=500)
        rates = np.concatenate([random.uniform(0.6, 0.9, 30), np.repeat([0.5, 0.8, 0.95], 6)])
        worker = np.concatenate([random.choice(30, 4, replace=False) for _ in truth])
        item = np.repeat(np.arange(500), 4)
        for few in range(30, 48):
            worker = np.append(worker, np.full(labels_each, few))
            item = np.append(item, random.choice(500, labels_each, replace=False))
        wrong = (truth[item] + random.integers(1, 3, size=len(item))) % 3
        said = np.where(random.random(len(item)) < rates[worker], truth[item], wrong)
        codes = np.stack([worker, item, said], axis=1).astype(np.int32)
        names = [str(n) for n in range(500)]
        found = aggregate(from_codes(codes, names[:48], names, names[:3])).report()
        held.append((found.low <= rates)[30:] & (rates <= found.high)[30:])
    assert np.mean(held) >= 0.95
    assert np.isnan(found.accuracy[30:]).all() == (labels_each < TOO_FEW)


def test_gold_that_contradicts_is_told():
    crowd = simulate(300, 10, 2, 5, seed=3).labels
    agreed = TwoLevel().fit(crowd).posterior.argmax(axis=1)
    gold = np.where(np.arange(300) < 40, agreed, -1).astype(np.int32)
    assert not aggregate(replace(crowd, gold=gold)).report().contradicted.any()
    found = aggregate(crowd)
    turned = replace(found, labels=replace(crowd, gold=np.where(gold >= 0, 1 - gold, -1).astype(np.int32)))
    assert turned.report().contradicted.any()


def test_gold_accuracy_counts_only_gold():
    rows = [("a", "t", "x"), ("a", "u", "y"), ("a", "v", "y"), ("b", "v", "x")]
    labels = from_triples(rows, gold={"t": "x", "u": "x"})
    found = aggregate(labels).report()
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


@pytest.mark.parametrize(
    ("kind", "told"), [("honest", []), ("task", ["'c' is called 'd'", "'d' is called 'c'"]), ("few", [])]
)
def test_what_everybody_confuses_is_the_task(kind, told):
    random = np.random.default_rng(7)
    rows = []
    for item in range(400):
        truth = int(random.integers(4))
        for worker in random.choice(12, 5, replace=False).tolist():
            label = truth if random.random() < 0.8 else int(random.integers(4))
            if kind == "task" and truth > 1 and random.random() < 0.35:
                label = 5 - truth
            if kind == "few" and worker < 4 and truth == 2:
                label = 3  # not everybody
            rows.append((f"w{worker}", f"t{item}", "abcd"[label]))
    result = aggregate(from_triples(rows))
    found = result.report().shared_confusions(result.labels.classes)
    assert [sentence.partition(" by everybody")[0] for sentence in found] == told
