"""`polynomial_link` against a learner that is given the powers of its own predictions; what it is for."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import HutchError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.features.polynomial_link import PolynomialLink
from hutch.vw.model_binary import vw_model


def records(count=60, seed=0):
    random = np.random.default_rng(seed)
    return [
        {"label": float(words.sum() % 5 - 2), "w": {f"w{k}": 1.0 for k in words}, "n": {"x": float(random.normal())}}
        for words in random.integers(0, 8, (count, 3))
    ]


def chain_of(degree, *above, **linear):
    return Chain.from_config({"chain": [*above, {"polynomial_link": {"degree": degree}}, {"linear": linear}]})


@pytest.mark.parametrize("linear", [{}, {"adaptive": False, "normalized": False, "learning_rate": 0.05}], ids=str)
@pytest.mark.parametrize("degree", [1, 3])
def test_by_a_learner_that_is_given_the_powers(degree, linear):
    twin, wanted, low, high = Chain.from_config({"chain": [{"linear": linear}]}), [], 0.0, 0.0
    for record in records():
        low, high = min(low, record["label"]), max(high, record["label"])
        twin.shared["min_label"], twin.shared["max_label"] = low, high  # a label counts before it is predicted
        [p] = twin.predict([{name: value for name, value in record.items() if name != "label"}])
        powers = {"powers": {f"p{k}": float(p**k) for k in range(1, degree + 1)}} if p else {}
        wanted += [*twin.learn([record | powers])]
    np.testing.assert_allclose(chain_of(degree, **linear).learn(records()), wanted, rtol=1e-5, atol=1e-6)


def test_the_features_shown_afterwards_are_those_of_the_example():
    chain = chain_of(2)
    chain.learn([{"label": 1.0, "w": {"a": 1.0}}] * 3)
    assert chain.last_features == 2


def test_it_bends_a_line():
    """A line cannot have this shape; a parabola of a line can."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (4000, 1))
    y = X[:, 0] ** 2
    losses = [
        np.mean((Chain.from_config({"chain": layers}).learn(X, y)[-1000:] - y[-1000:]) ** 2)
        for layers in (["linear"], [{"polynomial_link": {"degree": 2}}, "linear"])
    ]
    assert losses[1] < losses[0] / 3


def test_contract_above_other_learners():
    for below in (["one_hidden_layer", "linear"], ["coin_betting"]):
        layers = [{"one_hidden_layer": {"units": 2}}, below[1]] if len(below) > 1 else below
        for check in checks_of_reduction(PolynomialLink, {"degree": 3}, below=layers):
            if check.name not in ("magnitudes", "loss_while_learning"):  # those below fail these on purpose
                check()


def test_vw_has_no_place_for_the_weights_in_its_models():
    with pytest.raises(HutchError, match="VW models do not keep the state of polynomial_link"):
        vw_model(chain_of(1))
