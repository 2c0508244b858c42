"""Spam, accuracy and its interval over a grid of crowds, in which it is known who looks and who does not."""

import math

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_codes, from_triples
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.spam import SPAM_PRIOR, evidence, spam_probability


def crowd(workers, classes, right, tasks, ratings, spammers, kind, hard, seed):
    """Labels, truth, who is a spammer (the first), how often each is right on items that are not hard."""
    random = np.random.default_rng(seed)
    skill = random.uniform(*right, workers)
    spams = np.arange(workers) < spammers
    habits = {
        "random": np.full((workers, classes), 1 / classes),
        "constant": np.eye(classes)[random.integers(classes, size=workers)],
        "habit": random.dirichlet(np.full(classes, 2.0), workers),
    }[kind]
    truth = random.integers(classes, size=tasks)
    blind = random.random(tasks) < hard
    item = np.repeat(np.arange(tasks), ratings)
    worker = np.concatenate([random.choice(workers, ratings, replace=False) for _ in range(tasks)])
    by_habit = (np.cumsum(habits[worker], axis=1) < random.random(len(item))[:, None]).sum(axis=1)
    wrong = (truth[item] + 1 + random.integers(classes - 1, size=len(item))) % classes
    looks = np.where(random.random(len(item)) < skill[worker], truth[item], wrong)
    looks = np.where(blind[item], random.integers(classes, size=len(item)), looks)
    label = np.where(spams[worker], np.minimum(by_habit, classes - 1), looks)
    codes = np.stack([worker, item, label], axis=1).astype(np.int32)
    names = [[f"w{w}" for w in range(workers)], [f"t{i}" for i in range(tasks)], [str(k) for k in range(classes)]]
    return from_codes(codes, *names, classes=names[2]), truth, spams, skill


def rows_of(labels, model=None, **options):
    result = aggregate(labels, model or TwoLevel(), Options(**options))
    return result.report()


GRID = [
    (12, 3, (0.7, 0.7), 200, 4, 0, "random", 0.0),
    (12, 3, (0.7, 0.7), 200, 4, 0, "random", 0.2),
    (20, 2, (0.8, 0.8), 200, 4, 0, "random", 0.0),
    (20, 2, (0.8, 0.8), 500, 5, 2, "random", 0.0),
    (20, 2, (0.8, 0.8), 500, 5, 4, "constant", 0.2),
    (12, 3, (0.7, 0.7), 400, 4, 2, "habit", 0.0),
    (50, 4, (0.7, 0.7), 1000, 5, 5, "random", 0.2),
    (10, 5, (0.8, 0.8), 350, 3, 1, "random", 0.0),
    (100, 3, (0.6, 0.95), 2000, 5, 10, "random", 0.2),
    (30, 8, (0.6, 0.6), 800, 4, 3, "random", 0.0),
    (8, 2, (0.9, 0.9), 150, 5, 1, "constant", 0.0),
    (6, 3, (0.8, 0.8), 200, 6, 1, "random", 0.0),
    (40, 3, (0.8, 0.8), 400, 10, 4, "habit", 0.2),
    (30, 4, (0.5, 0.9), 800, 6, 15, "habit", 0.0),
    (25, 2, (0.85, 0.85), 250, 10, 5, "random", 0.0),
]


@pytest.fixture(scope="module")
def grid():
    """(cell, reports, spammers, truths, skills, labels) of four crowds of every cell."""
    found = []
    for cell in GRID:
        for seed in range(4):
            labels, truth, spams, skill = crowd(*cell, seed)
            found.append((cell, rows_of(labels), spams, truth, skill, labels))
    return found


@pytest.mark.slow
def test_honest_workers_are_no_spammers(grid):
    for cell in GRID:
        spam = np.concatenate([rows.spam[~spams] for c, rows, spams, *_ in grid if c == cell])
        assert np.median(spam) < 0.05, cell
        assert np.quantile(spam, 0.95) < 0.5, cell


@pytest.mark.slow
def test_spammers_with_100_labels_are_found(grid):
    spam = [rows.spam[spams & (rows.labels >= 100)] for _, rows, spams, *_ in grid]
    assert sum(map(len, spam)) > 100
    assert np.mean(np.concatenate(spam) > 0.5) >= 0.9
    for kind in ("random", "habit", "constant"):
        of_kind = [s for s, (cell, *_) in zip(spam, grid, strict=True) if cell[6] == kind]
        assert np.mean(np.concatenate(of_kind) > 0.5) >= 0.9, kind


@pytest.mark.slow
def test_intervals_hold_the_share_of_right_labels_in_every_crowd(grid):
    held, bias = [], []
    for cell, rows, spams, truth, skill, labels in grid:
        right = np.bincount(labels.workers, labels.labels == truth[labels.label_items], minlength=len(spams))
        share = right / rows.labels
        known = ~spams & (rows.labels > 0)
        held.append(np.mean((rows.low <= share)[known] & (share <= rows.high)[known]))
        bias.append((rows.accuracy - skill)[known].mean())
        assert ((rows.low <= rows.accuracy) & (rows.accuracy <= rows.high)).all()
        if not cell[7]:  # the interval bounds the accuracy on an item that is not hard
            assert np.mean((rows.low <= skill)[known] & (skill <= rows.high)[known]) > 0.8, cell
    assert np.mean(held) > 0.92
    assert abs(np.mean(bias)) < 0.03


@pytest.mark.parametrize(
    ("model", "options"),
    [(DawidSkene(), {}), (Nominal(), {}), (TwoLevel(), {"method": "online"}), (Nominal(), {"method": "online"})],
)
def test_every_model_and_method_tells_spammers(model, options):
    labels, _, spams, _ = crowd(20, 3, (0.8, 0.8), 500, 5, 3, "random", 0.0, 0)
    spam = rows_of(labels, model, **options).spam
    assert np.median(spam[~spams]) < 0.05
    assert spam[spams].min() > 0.5


def test_adversaries_are_no_spammers():
    labels, *_ = crowd(20, 3, (0.8, 0.8), 500, 5, 0, "random", 0.0, 1)
    turned = labels.labels.copy()
    adversary = labels.workers == 0
    turned[adversary] = (turned[adversary] + 1) % 3
    names = labels.worker_names, labels.item_names, labels.classes
    codes = np.stack([labels.workers, labels.label_items, turned], axis=1)
    assert rows_of(from_codes(codes, *names, classes=labels.classes)).spam[0] < 0.01


def test_where_a_crowd_cannot_tell_the_prior_stays():
    labels, *_ = crowd(30, 3, (0.7, 0.7), 600, 1, 3, "random", 0.0, 0)
    assert np.median(rows_of(labels).spam) == pytest.approx(SPAM_PRIOR, abs=0.03)
    alone = from_triples([("a", f"t{i}", "xy"[i % 2]) for i in range(200)])
    assert 0.02 < rows_of(alone).spam[0] < 0.2
    assert rows_of(from_triples([])).spam.tolist() == []


def test_evidence_equals_plain_python():
    random = np.random.default_rng(0)
    labels, *_ = crowd(4, 3, (0.7, 0.9), 20, 2, 1, "random", 0.0, 0)
    others = random.dirichlet(np.ones(4), len(labels))[:, :3]
    habits, rows = 4 * random.dirichlet(np.ones(3), 4), 5 * random.dirichlet(np.ones(3), (4, 3))
    found, (pointer, places, _) = np.empty(4), labels.by_worker
    evidence(pointer, places, labels.labels, others, rows, habits, found)
    for worker in range(4):
        counts, habit, value = rows[worker].copy(), habits[worker].copy(), 0.0
        for place in places[pointer[worker] : pointer[worker + 1]]:
            label = labels.labels[place]
            parts = others[place] * counts[:, label] / counts.sum(axis=1)
            whole = parts.sum() + (1 - others[place].sum()) * habit[label] / habit.sum()
            value += math.log(whole)
            counts[:, label] += parts / whole
            habit[label] += 1
        assert found[worker] == pytest.approx(value)


def test_labels_on_items_too_hard_for_anyone_say_nothing():
    labels, *_ = crowd(4, 3, (0.7, 0.9), 20, 2, 1, "random", 0.0, 0)
    confusions = np.tile(np.eye(3) * 0.7 + 0.1, (4, 1, 1))
    spam = spam_probability(labels, np.zeros((len(labels), 3)), confusions)
    assert spam == pytest.approx(np.full(4, SPAM_PRIOR))
