"""Ordered classes: the model's rows and tilts against plain twins, and crowds that rate by degrees."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models import ordinal_kernels as kernels
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.ordered import ratings, scale
from hutch.crowd.models.ordinal import START, Ordinal, places
from hutch.crowd.models.two_level import TwoLevel

_spec = importlib.util.spec_from_file_location("simulated_ratings", Path(__file__).with_name("simulated_ratings.py"))
_ratings = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _ratings
_spec.loader.exec_module(_ratings)
simulate_ratings = _ratings.simulate_ratings


def twin(tilt: np.ndarray, thresholds: np.ndarray, classes: int) -> np.ndarray:
    """P(label | class) (classes, labels), by the formula."""
    u = places(classes)
    h, b, c = tilt
    scores = thresholds - h * (u[None, :] - u[:, None]) ** 2 / 2 + b * u + c * u**2
    chances = np.exp(scores)
    return chances / chances.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_rows_are_the_formula(classes: int) -> None:
    random = np.random.default_rng(classes)
    tilts, thresholds = random.normal(size=(4, 3)), random.normal(size=classes)
    rows = np.empty((4, classes, classes))
    kernels.rows(places(classes), thresholds, tilts, rows)
    np.testing.assert_allclose(rows, [twin(tilt, thresholds, classes) for tilt in tilts], rtol=1e-12)


def test_tilts_are_the_mode() -> None:
    random = np.random.default_rng(0)
    counts = random.gamma(1.0, 5.0, (3, 4, 4))  # (workers, labels, classes)
    thresholds, mean, precision = random.normal(size=4) / 3, np.array([3.0, 0.0, 0.0]), np.array([0.5, 1.0, 2.0])
    tilts, spread = np.tile(mean, (3, 1)), np.empty((3, 3))
    pull, bend = np.empty(4), np.empty((4, 4))
    for _ in range(5):
        kernels.fit_tilts(counts, places(4), thresholds, mean, precision, tilts, spread, pull, bend)

    def value(worker: int, tilt: np.ndarray, thresholds: np.ndarray = thresholds) -> float:
        likelihood = float(np.sum(counts[worker].T * np.log(twin(tilt, thresholds, 4))))
        return likelihood - 0.5 * float(precision @ (tilt - mean) ** 2)

    step = 1e-4
    for worker in range(3):
        best = value(worker, tilts[worker])
        bent = np.empty((3, 3))
        for i, along in enumerate(np.eye(3) * step):
            assert abs(value(worker, tilts[worker] + along) - value(worker, tilts[worker] - along)) < 1e-7
            for j, other in enumerate(np.eye(3) * step):
                corner = [value(worker, tilts[worker] + s * along + t * other) for s in (1, -1) for t in (1, -1)]
                bent[i, j] = -(corner[0] - corner[1] - corner[2] + corner[3]) / (4 * step**2)
        np.testing.assert_allclose(spread[worker], np.diag(np.linalg.inv(bent)), rtol=1e-3)
        assert best > value(worker, mean)
    for label, along in enumerate(np.eye(4) * step):
        slope = sum(value(w, tilts[w], thresholds + along) - value(w, tilts[w], thresholds - along) for w in range(3))
        assert pull[label] == pytest.approx(slope / (2 * step), abs=1e-5)


def error(labels: object, truth: np.ndarray, probability: np.ndarray) -> float:
    values = scale(labels.classes)  # type: ignore[attr-defined]
    return float(np.abs(ratings(probability, values).median - values[truth]).mean())


def test_better_than_names_on_degrees() -> None:
    found: dict[str, list[float]] = {}
    for seed in range(6):
        crowd = simulate_ratings(300, 20, 5, 3, seed=seed)
        for model in (Ordinal(), TwoLevel(), DawidSkene()):
            result = aggregate(crowd.labels, model)
            found.setdefault(model.name, []).append(error(crowd.labels, crowd.truth, result.probability))
        found.setdefault("votes", []).append(error(crowd.labels, crowd.truth, crowd.labels.vote_share()))
    mean = {name: float(np.mean(errors)) for name, errors in found.items()}
    assert mean["ordinal"] < 0.9 * min(mean[name] for name in ("two_level", "dawid_skene", "votes"))


def test_a_kind_worker_has_a_bias() -> None:
    crowd = simulate_ratings(600, 5, 5, 4, noise=0.5, bias=0.0, seed=1)
    kind = crowd.labels.workers == 0
    crowd.labels.labels[kind] = np.minimum(crowd.labels.labels[kind] + 1, 4)
    bias = aggregate(crowd.labels, Ordinal()).fit.state.workers["tilts"][:, 1]
    assert bias[0] > 1 + bias[1:].max()


def test_nobody_is_known_at_first() -> None:
    crowd = simulate_ratings(5, 3, 4, 2)
    assert (Ordinal().start(crowd.labels, None).workers["tilts"] == START).all()


@pytest.mark.parametrize(("shared", "least"), [(0.0, 0.98), (0.8, 0.9)])
def test_low_to_high_holds_the_truth_where_an_error_is_shared(shared: float, least: float) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(5, size=400)
    seen, rows = truth + shared * random.normal(size=400), []
    for item in range(400):
        for worker in random.choice(12, 5, replace=False):
            said = np.clip(round(seen[item] + 0.8 * random.normal()), 0, 4)
            rows.append((f"w{worker}", f"t{item:03}", str(int(said) + 1)))
    result = aggregate(from_triples(rows, classes=list("12345")), options=Options(ordered=True))
    found, true = ratings(result.probability, result.scale), truth + 1
    assert np.mean((found.low <= true) & (true <= found.high)) > least


def test_the_model_of_classes_that_are_declared_to_be_ordered() -> None:
    labels = simulate_ratings(50, 6, 4, 3).labels
    declared = aggregate(labels, options=Options(ordered=True))
    assert (declared.probability == aggregate(labels, Ordinal()).probability).all()
    assert (aggregate(labels).probability == aggregate(labels, TwoLevel()).probability).all()
    online = Options("online", ordered=True)
    assert (aggregate(labels, options=online).probability == aggregate(labels, Ordinal(), online).probability).all()


def test_sparse_scores_are_not_shifted_to_the_middle():
    random = np.random.default_rng(0)
    true = np.where(random.random(100) < 0.6, random.exponential(3, 100), random.gamma(2, 18, 100)).clip(0, 100)
    rows = []
    for item, score in enumerate(true):
        for worker in random.choice(30, 8, replace=False):
            said = 0 if random.random() < 0.25 else score + random.normal(0, 12)
            rows.append((f"w{worker}", f"t{item}", str(int(np.clip(5 * round(said / 5), 0, 100)))))
    labels = from_triples(rows)
    result = aggregate(labels, options=Options(ordered=True))
    found = ratings(result.probability, result.scale)
    true = true[[int(name[1:]) for name in labels.item_names]]
    plain = labels.vote_share() @ result.scale
    assert abs((found.mean - true).mean()) < 5
    assert np.sqrt(((found.mean - true) ** 2).mean()) < 1.1 * np.sqrt(((plain - true) ** 2).mean())
