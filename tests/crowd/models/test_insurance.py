"""Judges alone: evidence from agreement, and the loss that is insured."""

from itertools import combinations

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate, load, save
from hutch.crowd.data.labels import from_codes, from_triples
from hutch.crowd.models import insurance
from hutch.crowd.models.calibration import log_loss
from hutch.crowd.models.insurance import agreement, evidence, insured, loss_if_right
from hutch.crowd.models.two_level import TwoLevel


def panel(judges, items, right, shared, classes=2, seed=0):
    """Labels and truth; a share of the items shows all judges one wrong class."""
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=items).astype(np.int32)
    misread = random.random(items) < shared
    seen = np.where(misread, (truth + random.integers(1, classes, size=items)) % classes, truth)
    said = np.where(random.random((judges, items)) < right, seen, random.integers(classes, size=(judges, items)))
    who, what = (each.ravel() for each in np.indices((judges, items)))
    names = [[str(n) for n in range(size)] for size in (judges, items, classes)]
    return from_codes(np.stack([who, what, said.ravel()], axis=1).astype(np.int32), *names, classes=names[2]), truth


def test_agreement_is_that_of_all_pairs_beyond_chance():
    labels, _ = panel(4, 50, 0.7, 0.1, classes=3)
    f = np.zeros((4, 3))
    np.add.at(f, (labels.workers, labels.labels), 1.0)
    f += 2 * f.sum(axis=0) / f.sum()
    f /= f.sum(axis=1, keepdims=True)
    vary, said = 1 - (f**2).sum(axis=1), labels.labels.reshape(50, 4)
    agreed = room = 0.0
    for row, (a, b) in ((row, pair) for row in said for pair in combinations(range(4), 2)):
        agreed += vary[a] * vary[b] * ((row[a] == row[b]) - f[a] @ f[b])
        room += vary[a] * vary[b] * (1 - f[a] @ f[b])
    assert agreement(labels)[0] == pytest.approx(agreed / room)


def test_without_agreement_there_is_no_evidence_and_many_are_believed():
    assert evidence(panel(6, 300, 0.0, 0.0)[0]) == 0.002
    assert evidence(panel(6, 300, 0.8, 0.0)[0]) == 1.0
    assert evidence(panel(30, 300, 0.0, 0.0)[0]) == 1.0


def test_copies_are_one_voice():
    alone, _ = panel(3, 300, 0.0, 0.0)
    rows = [(str(w), str(i), str(k)) for w, i, k in zip(alone.workers, alone.label_items, alone.labels, strict=True)]
    copied = [(f"{w}+", i, k) for w, i, k in rows if w == "0"]
    assert agreement(from_triples(rows + copied))[0] > 0.1 and evidence(from_triples(rows + copied)) == 0.002


def test_the_largest_factor_that_is_insured_is_found():
    random = np.random.default_rng(0)
    p = random.dirichlet([0.2, 0.2, 0.2], 200)

    def under(factor):
        q = p**factor
        return 0.95 * q / q.sum(axis=1, keepdims=True) + 0.05 / 3

    factor, most = insured(under, 0.5), np.log(3) + insurance.EPSILON
    assert 0 < factor < 1 and loss_if_right(under(factor), 0.5) <= most < loss_if_right(under(factor + 0.01), 0.5)
    assert insured(under, 1.0) == 1.0


@pytest.mark.parametrize("judges", [3, 7])
@pytest.mark.parametrize("shared", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_panel_is_never_sure_and_wrong(judges, shared, classes):
    labels, truth = panel(judges, 300, 0.9, shared, classes)
    assert log_loss(aggregate(labels, TwoLevel(judges=True)).probability, truth) < np.log(classes) + 0.02


def test_the_order_of_the_classes_stays_and_the_share_can_be_named():
    labels, truth = panel(5, 300, 0.9, 0.05)
    raw = TwoLevel().fit(labels).posterior
    losses = []
    for share in (0.5, 0.7, 0.9, 1.0):
        probability = aggregate(labels, TwoLevel(judges=True, least_accuracy=share)).probability
        assert np.array_equal(probability.argmax(axis=1), raw.argmax(axis=1))
        losses.append(log_loss(probability, truth))
    assert losses == sorted(losses, reverse=True) and losses[0] - losses[-1] > 0.1


def test_what_was_kept_is_saved(tmp_path):
    labels, _ = panel(5, 200, 0.9, 0.1)
    first = aggregate(labels, model := TwoLevel(judges=True))
    save(str(tmp_path / "model"), model, Options(), first.fit.state)
    _, history = load(str(tmp_path / "model"))
    few = aggregate(labels.between(0, 20), model, Options(test=True), history)
    assert few.fit.state.shared["trust"] == pytest.approx(first.fit.state.shared["trust"])
    assert few.probability == pytest.approx(first.probability[:20], abs=0.05)
