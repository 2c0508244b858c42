"""What a judge gets wrong: against other libraries, published numbers, and the truth of simulations."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hutch.estimate.means import Interval
from hutch.judges import errors, measures
from tests.judges.test_lab import bench


def runs_of(said, truth, known=None, cluster=None):
    """One judge's labels of items, and people's of some."""
    said, truth = np.asarray(said), np.asarray(truth)
    classes = int(max(said.max(), truth.max())) + 1
    told = np.append(said, classes - 1)  # so that all classes are there
    runs = bench.runs_of(np.zeros(len(told), int), np.arange(len(told)), told, np.append(truth, 0), None, cluster)
    keep = np.arange(len(said), dtype=np.int32)
    runs = replace(
        runs, judge=runs.judge[keep], item=runs.item[keep], label=runs.label[keep], swapped=runs.swapped[keep],
        items=runs.items[:-1], truth=runs.truth[:-1].copy(), cluster=runs.cluster[: len(said)],
    )  # fmt: skip
    if known is not None:
        runs.truth[~known] = np.nan
    return runs, measures.judged(runs, 0)


def beyond(said, truth, confidence=0.95):
    runs, of = runs_of(said, truth)
    return errors.beyond_chance(runs, of, confidence)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_kappa_is_that_of_scikit_learn(classes):
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    for seed in range(5):
        random = np.random.default_rng(seed)
        truth = random.integers(classes, size=80)
        said = np.where(random.random(80) < 0.6, truth, random.integers(classes, size=80))
        assert beyond(said, truth)["kappa"].estimate == pytest.approx(metrics.cohen_kappa_score(said, truth))


def test_kappa_of_a_published_table():
    """Two readers of 50 proposals: 20 yes and yes, 5 yes and no, 10 no and yes, 15 no and no give 0.4."""
    said = np.repeat([1, 1, 0, 0], [20, 5, 10, 15])
    truth = np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert beyond(said, truth)["kappa"].estimate == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("one", "other", "alpha"),
    [
        ("0100000010", "1110010000", 0.095),
        ("aabbdcccedda", "babbbccceddd", 0.692),
    ],
)
def test_alpha_is_krippendorffs(one, other, alpha):
    """Examples of "Computing Krippendorff's alpha-reliability" (2011)."""
    names = sorted({*one, *other})
    found = beyond([names.index(c) for c in one], [names.index(c) for c in other])
    assert found["alpha"].estimate == pytest.approx(alpha, abs=5e-4)


def test_alpha_of_four_coders_with_gaps():
    """Krippendorff's example of four observers; fast-krippendorff gives 0.743421."""
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    votes = np.zeros((12, 5))
    for row in rows:
        for item, value in enumerate(row):
            if value:
                votes[item, value - 1] += 1
    found = errors.among(votes, np.arange(12), 0.95)
    assert found.estimate == pytest.approx(0.743421, abs=1e-6)
    assert found.low < found.estimate < found.high <= 1


def test_agreement_beyond_chance_is_not_defined_for_one_class():
    found = beyond([0] * 20, [0] * 20)
    assert math.isnan(found["kappa"]) and math.isnan(found["alpha"])
    assert math.isnan(errors.among(np.zeros((0, 2)), np.zeros(0, int), 0.95))


def test_full_agreement_has_an_interval():
    found = beyond([0, 1] * 10, [0, 1] * 10)
    for each in found.values():
        assert each.estimate == each.high == 1
        assert 0.4 < each.low < 0.9


@pytest.mark.parametrize(("right", "prior"), [(0.9, 0.5), (0.7, 0.3), (0.95, 0.1)])
def test_intervals_of_kappa_and_alpha_hold(right, prior):
    said_one = prior * right + (1 - prior) * (1 - right)
    chance = prior * said_one + (1 - prior) * (1 - said_one)
    middle = (prior + said_one) / 2
    true = {"kappa": (right - chance) / (1 - chance), "alpha": 1 - (1 - right) / (1 - middle**2 - (1 - middle) ** 2)}
    held = {name: [] for name in true}
    for seed in range(150):
        random = np.random.default_rng(seed)
        truth = (random.random(120) < prior).astype(int)
        said = np.where(random.random(120) < right, truth, 1 - truth)
        for name, found in beyond(said, truth).items():
            held[name].append(found.low <= true[name] <= found.high)
    assert min(np.mean(each) for each in held.values()) > 0.9


def test_confusions_are_counts():
    runs, of = runs_of([0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 0, 1], np.array([1, 1, 1, 1, 1, 0], bool))
    assert errors.confusions(runs, of).tolist() == [[1, 1], [1, 2]]
    first, last = errors.by_class(runs, of, 0.95)
    assert (first["also"], last["also"]) == ("specificity", "sensitivity")
    assert (first["items"], last["items"]) == (2, 3)
    assert last["recall"].estimate == pytest.approx(2 / 3) == last["precision"].estimate
    assert first["recall"].estimate == pytest.approx(1 / 2) == first["precision"].estimate


def labelled(seed, how, items=1500, people=150, prior=0.8, sensitivity=0.92, specificity=0.7):
    """A judge and people, whose items were drawn by lot, by class or by verdict."""
    random = np.random.default_rng(seed)
    truth = (random.random(items) < prior).astype(int)
    right = random.random(items) < np.where(truth == 1, sensitivity, specificity)
    said = np.where(right, truth, 1 - truth)
    by = {"lot": None, "class": truth, "verdict": said}[how]
    known = np.zeros(items, bool)
    if by is None:
        known[random.permutation(items)[:people]] = True
    else:
        for k in (0, 1):
            known[random.permutation(np.flatnonzero(by == k))[: people // 2]] = True
    return (*runs_of(said, truth, known), truth.mean())


def test_the_correction_is_rogan_and_gladens():
    runs, of, _ = labelled(0, "lot")
    row = errors.corrected(runs, of, 0.95)
    first, last = errors.by_class(runs, of, 0.95)
    tpr, tnr, observed = last["recall"].estimate, first["recall"].estimate, row["said"].estimate
    assert row["corrected"].estimate == pytest.approx((observed + tnr - 1) / (tpr + tnr - 1))
    assert row["items"] == 1500 and row["class"] == "1"


@pytest.mark.parametrize(
    ("how", "holds", "fails"),
    [("lot", ("corrected", "by verdict"), ()), ("class", ("corrected",), ("by verdict",)),
     ("verdict", ("by verdict",), ("corrected",))],
)  # fmt: skip
def test_corrected_rates_hold_where_their_assumption_does(how, holds, fails):
    held = {"corrected": [], "by verdict": []}
    for seed in range(100):
        runs, of, true = labelled(seed, how)
        row = errors.corrected(runs, of, 0.95)
        for name in held:
            found = row[name]
            held[name].append(isinstance(found, Interval) and found.low <= true <= found.high)
    assert all(np.mean(held[name]) > 0.9 for name in holds)
    assert all(np.mean(held[name]) < 0.5 for name in fails)


def test_there_is_no_correction_without_unlabelled_items_or_errors_of_both_classes():
    runs, of = runs_of([0, 1] * 20, [0, 1] * 20)
    assert errors.corrected(runs, of, 0.95) is None
    runs, of = runs_of([0, 1] * 20, [1, 1] * 20, np.arange(40) < 30)
    assert errors.corrected(runs, of, 0.95) is None
    runs, of = runs_of([0, 1, 2] * 20, [0, 1, 2] * 20, np.arange(60) < 30)
    assert errors.corrected(runs, of, 0.95) is None


def test_a_judge_no_better_than_chance_corrects_nothing():
    random = np.random.default_rng(0)
    runs, of = runs_of(random.integers(2, size=400), random.integers(2, size=400), np.arange(400) < 100)
    assert math.isnan(errors.corrected(runs, of, 0.95)["corrected"])


def test_no_share_is_said_where_recalls_contradict_what_the_judge_says():
    """People's items are half passed by the judge, who passes nearly all: recalls are far too low for that."""
    runs, of, _ = labelled(1, "verdict", prior=0.97, sensitivity=0.98, specificity=0.5, people=200)
    assert math.isnan(errors.corrected(runs, of, 0.95)["corrected"])
