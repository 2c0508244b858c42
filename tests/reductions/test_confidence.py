"""Confidence: the distance from 0 over the change of the prediction by a small importance."""

import numpy as np
import pytest

from hutch import Chain
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.confidence import Confidence
from hutch.vw.main import run

PLAIN = {"adaptive": False, "normalized": False, "invariant": True, "power_t": 0.0, "learning_rate": 0.1}


def rows(count=40, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)).astype(np.float32)
    return X, np.where(X @ [1, -1, 0.5] > 0, 1.0, -1.0)


def chain_of(loss="logistic", **parameters):
    linear = {"linear": {**PLAIN, "loss": loss}}
    return Chain.from_config({"chain": [{"confidence": parameters}, linear], "input": {"constant": False}})


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_by_plain_steps(loss):
    """With plain steps of the rate η the change per unit of importance is η x·x, times VW's g = 1, 2 or 4."""
    X, y = rows()
    chain = chain_of(loss)
    chain.learn(X, y)
    p, [found] = chain.predict(X), chain.scores(X).T
    np.testing.assert_allclose(found * (X**2).sum(axis=1) / abs(p), (found * (X**2).sum(axis=1) / abs(p))[0], rtol=1e-4)


@pytest.mark.parametrize("after", [False, True])
def test_an_unlabelled_example_is_asked_about_with_the_label_it_speaks_against(after):
    """Adaptive rates fall with the square of the gradient, which is larger for the other label."""
    chain = Chain.from_config({"chain": [{"confidence": {"after": after}}, {"linear": {"loss": "logistic"}}]})
    lines = [f"{(-1) ** k} | w{k % 4} x{k % 7}" for k in range(90)]
    chain.learn(lines)
    features = [f"| w{k % 4} x{k % 7}" for k in range(0, 40, 3)]
    signs = np.where(chain.predict(features) > 0, 1, -1)
    against, alike = (
        chain.scores([f"{sign * other} {line}" for sign, line in zip(signs, features, strict=True)])
        for other in (-1, 1)
    )
    np.testing.assert_array_equal(chain.scores(features), against)
    assert (against > alike).all()


def test_learning_and_losses_are_those_of_the_layer_below():
    X, y = rows()
    plain = Chain.from_config({"chain": [{"linear": {**PLAIN, "loss": "logistic"}}], "input": {"constant": False}})
    for parameters in ({}, {"after": True}):
        chain = chain_of(**parameters)
        plain = Chain.from_config({"chain": [{"linear": {**PLAIN, "loss": "logistic"}}], "input": {"constant": False}})
        np.testing.assert_array_equal(chain.learn(X, y), plain.learn(X, y))
        np.testing.assert_array_equal(chain.weights, plain.weights)
        assert chain.statistics == plain.statistics


@pytest.mark.parametrize("below", [["linear"], ["link", {"linear": {"loss": "logistic"}}]], ids=["linear", "link"])
def test_contract_after_learning(below):
    for check in checks_of_reduction(Confidence, {"after": True}, below=below):
        check()


def test_the_command_writes_prediction_and_confidence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("1 'first|f a b\n-1 |f a c\n|f c\n")
    assert run("-d data --confidence --initial_t 1 -p out --quiet".split()) == 0
    lines = (tmp_path / "out").read_text().split("\n")
    assert lines[0] == "0.000000 0.000000 first" and lines[3] == ""
    prediction, confidence, tag = lines[1].split(" ")
    assert float(prediction) != 0 and float(confidence) > 0 and tag == ""
