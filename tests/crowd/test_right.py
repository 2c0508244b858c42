"""How many labels are right: estimates that hold, measurements with gold, and what cannot be told."""

from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_codes, from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.right import counted, estimated, hidden, votes, wilson_of


def crowd(seed=0, items=400, workers=20, each=4, classes=3, right=(0.6, 0.95)):
    random = np.random.default_rng(seed)
    truth, skill = random.integers(classes, size=items), random.uniform(*right, workers)
    worker = np.argsort(random.random((items, workers)), axis=1)[:, :each]
    wrong = (truth[:, None] + random.integers(1, classes, worker.shape)) % classes
    said = np.where(random.random(worker.shape) < skill[worker], truth[:, None], wrong)
    codes = np.stack([worker.ravel(), np.repeat(np.arange(items), each), said.ravel()], axis=1).astype(np.int32)
    names = [[f"{letter}{n}" for n in range(size)] for letter, size in (("w", workers), ("t", items), ("c", classes))]
    return from_codes(codes, *names, classes=names[2]), truth.astype(np.int32)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_estimates_hold(classes):
    held = []
    for seed in range(8):
        labels, truth = crowd(seed, classes=classes)
        result = aggregate(labels)
        right = estimated(result)
        assert right.found and right.vote and not right.known and right.tasks == 400
        for share, of in ((right.found, result.probability), (right.vote, votes(labels))):
            assert 0 <= share.low <= share.estimate <= share.high <= 1
            held.append(share.low <= accuracy(of, truth) <= share.high)
    assert np.mean(held) >= 0.9


def test_an_estimate_is_the_mean_confidence():
    labels, _ = crowd()
    result = aggregate(labels)
    assert estimated(result).found.estimate == pytest.approx(result.probability.max(axis=1).mean())


def test_an_estimate_is_about_tasks_without_gold():
    labels, truth = crowd()
    gold = np.where(np.arange(400) < 100, truth, -1).astype(np.int32)
    result = aggregate(replace(labels, gold=gold))
    right = estimated(result)
    assert right.tasks == 300
    assert right.found.estimate == pytest.approx(result.probability[100:].max(axis=1).mean())


def without(labels, **changes):
    """Why an aggregation of labels cannot be told."""
    return estimated(replace(aggregate(labels, **changes))).why


def test_what_cannot_be_told_is_not_told():
    labels, _ = crowd()
    assert without(from_triples([])) == "only 0 tasks have labels"
    assert without(crowd(items=30)[0]) == "only 30 tasks have labels"
    assert without(crowd(each=1)[0]) == "most tasks have one label"
    assert without(crowd(workers=2, each=2)[0]) == "there are only 2 workers"
    assert without(from_triples([(f"w{w}", f"t{t}", "yes") for w in range(5) for t in range(60)])) == (
        "all labels are the same"
    )
    assert "judges share" in without(labels, model=TwoLevel(judges=True))
    assert "judges share" in without(labels, model=Mixed(reference=("w1",)))
    assert "dawid_skene" in without(labels, model=DawidSkene())
    assert not without(labels, options=Options("online"))
    random = crowd(right=(1 / 3, 1 / 3))[0]
    assert "two halves" in without(random) or "any share" in without(random)


def test_judges_who_guess_are_in_doubt():
    labels, _ = crowd(right=(0.5, 0.5), classes=2, workers=5, each=5)
    assert without(labels)


def test_known_classes_are_counted():
    labels, truth = crowd(right=(0.8, 0.8))
    gold = np.where(np.arange(400) < 150, truth, -1).astype(np.int32)
    result = aggregate(labels)
    right = counted(result, gold)
    assert (right.tasks, right.known) == (150, True)
    known = gold >= 0
    assert right.found.estimate == pytest.approx(accuracy(result.probability, gold))
    assert right.vote.estimate == pytest.approx(accuracy(votes(labels), gold))
    assert right.vote == wilson_of(right.vote.estimate, int(known.sum()))


def test_hidden_gold_is_not_seen():
    labels, truth = crowd(right=(0.4, 0.6))
    wrong = (truth + 1) % 3
    seen = []

    def fit(shown):
        seen.append(shown.gold.copy())
        return aggregate(shown)

    share = hidden(replace(labels, gold=wrong), fit)
    assert share is not None and len(seen) == 2
    assert ((seen[0] >= 0) ^ (seen[1] >= 0)).all()
    taught = aggregate(replace(labels, gold=wrong)).probability
    assert accuracy(taught, wrong) == 1.0
    assert accuracy(share, wrong) < 0.6
    assert hidden(replace(labels, gold=np.where(np.arange(400) < 19, truth, -1).astype(np.int32)), fit) is None


def test_tied_votes_share_the_point():
    labels = from_triples([("a", "t", "x"), ("b", "t", "y"), ("a", "u", "x"), ("b", "u", "x")])
    assert votes(labels).tolist() == [[0.5, 0.5], [1.0, 0.0]]
