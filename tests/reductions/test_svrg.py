"""Stochastic variance reduced gradient: its formula in float64, and what it is for."""

import numpy as np
import pytest

from hutch import Chain


def rows(count=50, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)).astype(np.float32)
    y = (X @ [1, -2, 0.5] + random.normal(size=count) / 5).astype(np.float32)
    return X, y, random.choice([0.5, 1.0, 2.0], count)


def chain_of(*above, **parameters):
    return Chain.from_config({"chain": [*above, {"svrg": parameters}], "input": {"constant": False}})


def records(X, y, importance):
    return [
        {"label": float(label), "importance": float(h), "": dict(zip("abc", row.tolist(), strict=True))}
        for row, label, h in zip(X, y, importance, strict=True)
    ]


@pytest.mark.parametrize("stage", [1, 2])
def test_by_its_formula(stage):
    X, y, importance = rows()
    chain = chain_of(stage=stage, learning_rate=0.02, decay=0.9)
    w = u = exact = np.zeros(3)
    low, high, rate = min(0, y.min()), max(0, y.max()), 0.02
    low = high = 0.0
    for pass_number in range(6):
        found, wanted = chain.learn(records(X, y, importance)), []
        if pass_number % (stage + 1) == 0:
            u, exact, count = w, np.zeros(3), 0
        for row, label, h in zip(X, y, importance, strict=True):
            low, high = min(low, label), max(high, label)
            inner, stable = (2 * h * (np.clip(weights @ row, low, high) - label) for weights in (w, u))
            wanted.append(np.clip(w @ row, low, high))
            if pass_number % (stage + 1) == 0:
                exact, count = exact + stable * row, count + 1
            else:
                w = w - rate * ((inner - stable) * row + exact / count)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
        chain.end_pass()
        rate *= 0.9
    assert np.abs(w - [1, -2, 0.5]).max() < 0.5


def test_its_steps_vanish_at_the_optimum_where_those_of_plain_descent_do_not():
    """With a constant rate, plain steps never rest; these do."""
    X, y, _ = rows(200, 1)
    ends, bounds = {}, {"min_prediction": -99.0, "max_prediction": 99.0}
    plain = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.02}
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    for name, layer in (
        ("svrg", {"svrg": {"learning_rate": 0.02, **bounds}}),
        ("linear", {"linear": {**plain, **bounds}}),
    ):
        chain = Chain.from_config({"chain": [layer], "input": {"constant": False}})
        for _ in range(60):
            chain.learn(X, y)
            chain.end_pass()
        ends[name] = np.abs(chain.predict(np.eye(3, dtype=np.float32)) - best).max()
    assert ends["svrg"] < 1e-5 < 1e-3 < ends["linear"]


def test_resumes_in_the_middle_of_a_stage(tmp_path):
    lines = records(*rows())
    whole, first = chain_of(stage=2, learning_rate=0.02), chain_of(stage=2, learning_rate=0.02)
    for chain in (whole, first):
        chain.learn(lines)
        chain.end_pass()
    whole.learn(lines)
    first.learn(lines[:20])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(lines[20:])
    for chain in (whole, second):
        chain.end_pass()
        chain.learn(lines)
    np.testing.assert_array_equal(second.weights, whole.weights)


def test_sub_models_count_their_examples_apart():
    """One against all over it is one learner per class, whatever VW's common count does."""
    X, y, importance = rows()
    classes = np.digitize(y, [-1, 1]) + 1
    whole = chain_of({"one_against_all": {"classes": 3, "first_class": 1}}, learning_rate=0.02)
    alone = [chain_of(learning_rate=0.02) for _ in range(3)]
    for _ in range(4):
        whole.learn(records(X, classes, importance))
        for k, chain in enumerate(alone):
            chain.learn(records(X, np.where(classes == k + 1, 1, -1), importance))
        for chain in (whole, *alone):
            chain.end_pass()
    test = [{"": dict(zip("abc", row.tolist(), strict=True))} for row in X]
    scores = whole.scores(test)
    for k, chain in enumerate(alone):
        np.testing.assert_array_equal(scores[:, k], chain.predict(test))
