"""Judges who err independently, and judges who misread one class."""

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.mixed import consensus
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy

ANN = Mixed(reference=("0",), ordered=False)


def crowd(classes: int, person: float, judged: list[float], misread: float = 0.0, hard: float = 0.0, seed: int = 0):
    """Labels of one person and some judges, who misread the last class or share wrong answers; and the truth."""
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=800)
    wrong = (truth + random.integers(1, classes, size=800)) % classes
    seen = np.where((truth == classes - 1) & (random.random(800) < misread), 0, truth)
    said = []
    for place, right in enumerate([person, *judged]):
        meant = seen if place else truth
        pair = (place + 1) // 2  # judges err in pairs
        if place and hard:
            meant = np.where(np.random.default_rng(100 + pair).random(800) < hard, wrong, truth)
        noise = (meant + random.integers(1, classes, size=800)) % classes
        said.append(np.where(random.random(800) < right, meant, noise))
    workers = len(said)
    codes = np.stack([np.repeat(np.arange(workers), 800), np.tile(np.arange(800), workers), np.concatenate(said)], 1)
    names = [[str(n) for n in range(size)] for size in (workers, 800, classes)]
    return from_codes(codes.astype(np.int32), *names, classes=names[2]), truth.astype(np.int32)


def found(labels: Labels):
    return bool(aggregate(labels, ANN).fit.state.shared["meaning"].any())


@pytest.mark.parametrize(("classes", "misread", "better"), [(4, 0.0, 0.12), (3, 0.5, 0.04), (2, 0.5, 0.0)])
def test_neither_below_the_person_nor_below_all_alike(classes, misread, better):
    labels, truth = crowd(classes, 0.85, [0.7, 0.76, 0.82, 0.88], misread)
    person = np.mean(labels.labels[labels.workers == 0] == truth)
    mixed = accuracy(aggregate(labels, ANN).probability, truth)
    alike = accuracy(aggregate(labels, options=Options(ordered=False)).probability, truth)
    assert found(labels)
    assert mixed >= max(person + better, alike - 0.005)


def test_what_people_mean_by_the_judges_classes_is_found():
    labels, truth = crowd(3, 0.85, [0.7, 0.76, 0.82, 0.88], misread=0.5)
    state = aggregate(labels, ANN).fit.state
    assert state.shared["meaning"][0] == pytest.approx([2 / 3, 0, 1 / 3], abs=0.08)
    assert state.workers["skill"][0] == pytest.approx(0.85, abs=0.05)


def test_errors_in_common_or_no_word_of_people_leave_the_forecast():
    assert not found(crowd(3, 0.85, [0.9] * 6, hard=0.3)[0])
    assert not found(crowd(4, 0.25, [0.8] * 4)[0])
    assert not found(crowd(4, 0.8, [0.25] * 4)[0])
    assert not found(crowd(2, 0.8, [0.8])[0])


def test_what_is_saved_says_the_same_of_the_same_labels():
    labels, truth = crowd(3, 0.85, [0.7, 0.76, 0.82, 0.88], misread=0.3)
    learned = aggregate(labels, ANN)
    people = np.arange(5) == 0
    state = learned.fit.state
    again = consensus.apply(labels, people, state.workers["rows"], state.shared["agreed"], state.shared["meaning"])
    assert np.mean(again.argmax(axis=1) == state.items["forecast"].argmax(axis=1)) > 0.97
    tested = aggregate(labels, ANN, Options(test=True), state)
    assert accuracy(tested.probability, truth) == pytest.approx(accuracy(learned.probability, truth), abs=0.01)
    assert np.isfinite(learned.factors()).all() and np.isfinite(learned.others()).all()
