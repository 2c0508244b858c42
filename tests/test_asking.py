"""A classifier that asks for labels: what it asks for, with what probability, and what it makes of the answers."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from hutch.sklearn import HutchClassifier

X, Y = load_digits(return_X_y=True)
X, CLASSES = (X / 16).astype(np.float32), np.arange(10)


def labelled(rule: str, rounds: int = 6, seed: int = 0) -> tuple[HutchClassifier, float]:
    """A classifier that asked for 20 digits in each round, and its accuracy on the others."""
    model = HutchClassifier([{"active": {"rule": rule}}, "one_against_all", {"linear": {"loss": "logistic"}}])
    left = np.arange(600 * seed % 900, 600 * seed % 900 + 800)
    for _ in range(rounds):
        rows, chances = model.ask(X[left], 20, classes=CLASSES)
        assert len(rows) == 20 and (np.diff(rows) > 0).all() and ((chances > 0) & (chances <= 1)).all()
        model.tell(X[left[rows]], Y[left[rows]], chances)
        left = np.delete(left, rows)
    rest = np.delete(np.arange(len(X)), left)
    return model, model.score(np.delete(X, rest, 0), np.delete(Y, rest))


@pytest.mark.slow
def test_what_is_asked_for_is_worth_more_than_rows_at_random() -> None:
    asked, drawn = ([labelled(rule, 8, seed)[1] for seed in range(3)] for rule in ("budget", "random"))
    assert np.mean(asked) > np.mean(drawn) + 0.02


@pytest.mark.parametrize("rule", ["budget", "margin", "iwal"])
def test_asking_changes_nothing_and_a_copy_asks_the_same(rule: str) -> None:
    model, _ = labelled(rule, 2)
    before = pickle.dumps(model.chain_)
    (rows, chances), (again, other) = model.ask(X[900:], 30), pickle.loads(pickle.dumps(model)).ask(X[900:], 30)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_array_equal(chances, other)
    assert pickle.dumps(model.chain_) == before


@pytest.mark.slow
def test_probabilities_are_those_of_the_draw() -> None:
    """1 / probability makes the sample one of the pool: the estimate of a mean has no bias."""
    model, _ = labelled("budget", 3)
    found = []
    for seed in range(200):
        model._seed = seed
        rows, chances = model.ask(X[900:1000], 10)
        found.append(np.sum((Y[900:1000] < 5)[rows] / chances) / 100)
    mean, error = np.mean(found), np.std(found) / np.sqrt(len(found))
    assert abs(mean - np.mean(Y[900:1000] < 5)) < 3 * error + 1e-9


@pytest.mark.parametrize("kind", ["matrix", "sparse", "frame"])
def test_pools_of_any_kind(kind: str) -> None:
    words = np.where(Y < 5, "low", "high")
    pool: Any = {"matrix": X, "sparse": csr_array(X), "frame": pa.table({f"p{k}": X[:, k] for k in range(64)})}[kind]
    part = pool.take if kind == "frame" else pool.__getitem__
    model = HutchClassifier().tell(part(np.arange(10)), words[:10], classes=["low", "high"])
    for first in range(10, 1610, 400):
        rows, _ = model.ask(part(np.arange(first, first + 400)), 15)
        model.tell(part(first + rows), words[first + rows])
    assert model.chain_.layers[0].name == "active"
    assert model.score(part(np.arange(1600, 1797)), words[1600:]) > 0.65
    assert model.predict_proba(part(np.arange(3))).shape == (3, 2)


def test_few_rows_are_all_asked_for() -> None:
    rows, chances = HutchClassifier().ask(X[:5], 50, classes=CLASSES)
    assert rows.tolist() == [0, 1, 2, 3, 4] and chances.tolist() == [1.0] * 5


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="classes must be passed on the first call to ask"):
        HutchClassifier().ask(X, 5)
    with pytest.raises(ValueError, match="n: got 0, wanted at least 1"):
        HutchClassifier().ask(X, 0, classes=CLASSES)
    with pytest.raises(ValueError, match="fitted without the layer 'active', wanted a first call to ask or tell"):
        HutchClassifier(passes=1).fit(X[:50], Y[:50]).ask(X, 5)
    with pytest.raises(ValueError, match="got the class 11"):
        HutchClassifier().tell(X[:1], [11], classes=CLASSES)
    with pytest.raises(ValueError, match="'iwal' weighs labels by it, wanted what `ask` returned"):
        labelled("iwal", 1)[0].tell(X[:1], Y[:1])
