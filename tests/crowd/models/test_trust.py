"""How far posteriors are to be trusted: crowds that are independent, that err together, that know nothing."""

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models import trust
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.two_level import TwoLevel
from tests.crowd.models.test_copies import crowd


def test_fifty_independent_labels_are_believed():
    labels, truth = crowd(items=400, workers=60, ratings=50, right=0.45, copies=0)
    result = aggregate(labels)
    assert accuracy(result.probability, truth) > 0.97
    assert log_loss(result.probability, truth) < 0.08
    assert log_loss(aggregate(labels, TwoLevel(rho=0.1)).probability, truth) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("workers", [3, 4, 5, 8])
@pytest.mark.parametrize("items", [10, 300])
def test_who_knows_nothing_is_hardly_believed(workers, items):
    losses, believed = [], []
    for seed in range(24 if items == 10 else 4):
        labels, truth = crowd(seed, items=items, workers=workers, ratings=workers, right=0.25, copies=0)
        losses.append(log_loss(aggregate(labels).probability, truth))
        believed.append(log_loss(aggregate(labels, TwoLevel(rho=0.1)).probability, truth))
    assert np.mean(losses) < np.log(4) + (0.1 if items == 10 else 0.05)
    assert np.mean(believed) > np.mean(losses) + 0.02


def test_few_who_know_among_many_who_guess_are_believed():
    losses = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        truth = random.integers(4, size=300)
        rows = []
        for worker in range(10):
            right = 0.95 if worker < 2 else random.uniform(0.25, 0.3)
            said = np.where(random.random(300) < right, truth, (truth + random.integers(1, 4, size=300)) % 4)
            rows += [(f"w{worker}", f"{item:03}", "abcd"[label]) for item, label in enumerate(said.tolist())]
        result = aggregate(from_triples(rows))
        places = [int(name) for name in result.labels.item_names]
        losses.append(log_loss(result.probability, truth[places]))
    assert np.mean(losses) < 0.4  # .6 and more, where both who know may stand in one half


def test_errors_in_common_equal_plain_python():
    labels, _ = crowd(items=40, workers=6, ratings=4, right=0.6, copies=0)
    model = DawidSkene()
    fit = model.fit(labels)
    rows, q = model.confusions(fit.state), fit.posterior
    excess, room = [], 0.0
    for i in range(40):
        own = slice(labels.item_ptr[i], labels.item_ptr[i + 1])
        given = list(zip(labels.workers[own].tolist(), labels.labels[own].tolist(), strict=True))
        here = 0.0
        for a in range(4):
            for b in range(a):
                explained = sum(q[i, k] * rows[given[a][0], k] @ rows[given[b][0], k] for k in range(4))
                here += (given[a][1] == given[b][1]) - explained
                room += 1 - explained
        excess.append(here)
    seen, error = trust.errors_in_common(labels, q, rows)
    assert seen == pytest.approx(sum(excess) / room)
    assert error == pytest.approx(np.sqrt(np.sum(np.square(excess))) / room)


def test_exponents_of_items():
    counts = np.array([0, 1, 2, 11, 51])
    assert trust.Trust(1.0, 0.5, 0.0).exponents(counts) == pytest.approx([0.5] * 5)
    assert trust.Trust(0.4, 0.5, 0.0).exponents(counts) == pytest.approx([0.2] * 5)
    assert trust.Trust(1.0, 1.0).exponents(counts) == pytest.approx([1, 1, 1 / 1.12, 1 / 2.2, 1 / 7])


@pytest.mark.parametrize(
    ("workers", "items", "size"), [(4, 1000, 0.5), (12, 1000, 0.75), (4, 20, 0.4), (4, 10, 0.25), (4, 3, 0.25)]
)
def test_few_workers_and_few_items_are_believed_less(workers, items, size):
    labels, _ = crowd(items=items, workers=workers, ratings=workers, copies=0)
    assert trust.size_of(labels) == pytest.approx(size, abs=1e-4)
    assert aggregate(labels).fit.state.shared["trust"][0] == pytest.approx(size, abs=1e-4)


def test_one_correlation_for_all_leaves_no_doubt():
    labels, _ = crowd(copies=0)
    assert not aggregate(labels, TwoLevel(rho=0.1)).doubt


def test_a_saved_model_keeps_its_trust():
    labels, _ = crowd(copies=0)
    model = TwoLevel()
    first = aggregate(labels, model)
    kept = first.fit.state.shared["trust"]
    again = aggregate(labels, model, history=first.fit.state)
    assert kept.any() and np.array_equal(again.fit.state.shared["trust"], kept)


def moderated(seed, moderators, per_item, items, sensitivity, specificity, share=0.03):
    """Comments, few of them toxic, each seen by some moderators: (labels as triples, whether each is toxic)."""
    random = np.random.default_rng(seed)
    truth, rows = random.random(items) < share, []
    for item in range(items):
        for worker in random.choice(moderators, per_item, replace=False):
            toxic = random.random() < (sensitivity if truth[item] else 1 - specificity)
            rows.append((f"m{worker}", f"{item:04}", "toxic" if toxic else "ok"))
    return rows, truth


@pytest.mark.parametrize(("moderators", "items"), [(3, 500), (20, 2000)])
def test_rare_classes_stay_rare(moderators, items):
    losses, votes, shares = [], [], []
    for seed in range(3):
        rows, truth = moderated(seed, moderators, 3, items, 0.8, 0.92)
        result = aggregate(from_triples(rows, classes=["ok", "toxic"]))
        truth = truth[[int(name) for name in result.labels.item_names]].astype(int)
        losses.append(log_loss(result.probability, truth))
        counts = result.labels.vote_share() * 3
        votes.append(log_loss((counts + counts.sum(axis=0) / counts.sum()) / 4, truth))
        shares.append(result.probability[:, 1].mean())
    assert np.mean(losses) < np.mean(votes) - 0.02
    assert max(shares) < 0.12  # .25 and more, were they drawn towards one half


def test_judges_are_drawn_towards_equal_shares():
    rows, truth = moderated(0, 3, 3, 500, 0.8, 0.92)
    labels = from_triples(rows, classes=["ok", "toxic"])
    people, judges = aggregate(labels).probability, aggregate(labels, TwoLevel(judges=True)).probability
    assert judges[:, 1].mean() > people[:, 1].mean() + 0.1
    assert (people.argmax(axis=1) == judges.argmax(axis=1)).all()
