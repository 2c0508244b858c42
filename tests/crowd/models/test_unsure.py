"""What answers of workers who do not know say: nothing by chance, else how hard a task is, or its class."""

from dataclasses import replace

import numpy as np
import pytest

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_codes
from hutch.crowd.data.unsure import AS_CLASS, AS_LEVEL, AS_MISSING, Unsure
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.two_level import TwoLevel

ITEMS, WORKERS, EACH, CLASSES = 600, 20, 5, 3


def crowd(chance, seed=0):
    """Labels, and the truth; a worker does not know with chance(worker, hardness, class)."""
    random = np.random.default_rng(seed)
    truth, hard = random.integers(0, CLASSES, ITEMS), random.random(ITEMS)
    skill, rows, unsure = random.uniform(0.6, 0.95, WORKERS), [], []
    for item in range(ITEMS):
        for worker in random.choice(WORKERS, EACH, replace=False):
            right = 1 / CLASSES + (skill[worker] - 1 / CLASSES) * (1 - hard[item] ** 3)
            if random.random() < chance(worker, hard[item], truth[item]):
                unsure.append((worker, item))
                continue
            wrong = (truth[item] + random.integers(1, CLASSES)) % CLASSES
            rows.append((worker, item, truth[item] if random.random() < right else wrong))
    names = [[f"{letter}{k}" for k in range(count)] for letter, count in (("w", WORKERS), ("i", ITEMS), ("c", CLASSES))]
    labels = from_codes(np.array(rows, np.int32), *names)
    answers = np.array(unsure, np.int32).T
    return replace(labels, unsure=Unsure(answers[0], answers[1])), truth.astype(np.int32)


def chances(kind):
    return {
        AS_LEVEL: lambda worker, hard, k: 0.8 * hard**2 * (worker % 2 + 0.3) / 1.3,
        AS_CLASS: lambda worker, hard, k: 0.5 if k == 0 else 0.05,
        AS_MISSING: lambda worker, hard, k: 0.5 * (worker % 3 == 0),
    }[kind]


@pytest.mark.parametrize("model", [TwoLevel, OneCoin])
@pytest.mark.parametrize("kind", [AS_LEVEL, AS_CLASS, AS_MISSING])
def test_answers_are_taken_as_what_they_foretell(kind, model):
    labels, truth = crowd(chances(kind))
    plain, found = aggregate(replace(labels, unsure=Unsure()), model()), aggregate(labels, model())
    assert found.unsure == kind
    if kind == AS_MISSING:
        assert np.array_equal(found.probability, plain.probability)
        return
    assert log_loss(found.probability, truth) < log_loss(plain.probability, truth) - 0.005
    better = accuracy(found.probability, truth) - accuracy(plain.probability, truth)
    assert better > 0.03 if kind == AS_CLASS else better == 0  # that a task is hard leaves its class


def test_they_are_missing_where_the_state_is_to_be_continued_or_classes_are_many():
    labels, _ = crowd(chances(AS_CLASS))
    first = aggregate(labels, TwoLevel())
    again = aggregate(labels, TwoLevel(), history=first.fit.state)
    assert again.unsure == AS_MISSING
    many = replace(labels, classes=[*labels.classes, *map(str, range(40))])
    assert aggregate(many, OneCoin()).unsure == AS_MISSING


def test_gold_stays():
    labels, truth = crowd(chances(AS_CLASS))
    gold = np.where(np.arange(ITEMS) < 50, truth, -1).astype(np.int32)
    posterior = aggregate(replace(labels, gold=gold), TwoLevel()).fit.posterior
    assert np.allclose(posterior[np.arange(50), truth[:50]], 1)
