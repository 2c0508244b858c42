"""Newton steps by a sketch: a twin in NumPy with explicit directions, and what they are for."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

BITS = 6


def chain_of_layer(**parameters):
    layer = {"loss": "classic", "min_prediction": -99.0, "max_prediction": 99.0, "sketch": 3} | parameters
    return Chain.from_config(
        {"chain": [{"sketched_newton": layer}], "input": {"constant": False}, "weights": {"bits": BITS}}
    )


def data(count=80, seed=0):
    random = np.random.default_rng(seed)
    X = (random.normal(size=(count, 2)) @ random.normal(size=(2, 5)) + random.normal(size=(count, 5)) / 5).astype(
        np.float32
    )
    return X, (X @ [1, -2, 0.5, 0, 1] + random.normal(size=count) / 5).astype(np.float32)


def orthonormal(Z):
    """Rows of the same spans, one after the other."""
    q, r = np.linalg.qr(Z.T)
    return (q * np.sign(np.diag(r))).T


def twin(chain, X, y, h, alpha, rate, normalize):
    """Predictions by steps of (α + V' ev V)^-1 times the gradient, in the columns of the table that features have."""
    p = chain.layers[-1].parameters
    batch = next(iter(chain.batches(X[:1], y[:1])))
    columns = (batch.indices & ((1 << BITS) - 1)).astype(int)
    Z = chain.weights[:, 1 : 1 + p.sketch].T.astype(float).copy()
    u, norms, ev, found = np.zeros(1 << BITS), np.full(1 << BITS, 0.1), np.zeros(p.sketch), []
    for t, (row, label, weight) in enumerate(zip(X, y, h, strict=True), 1):
        x = np.zeros(1 << BITS)
        x[columns] = row
        scaled = x / np.sqrt(norms) if normalize else x
        found.append(u @ scaled)
        g = (found[-1] - label) * weight
        if normalize:
            norms += (x * g) ** 2
            scaled = x / np.sqrt(norms)
        share, gamma, V = g / 2, min(rate / t, 1), orthonormal(Z)
        along = (V @ scaled * share) ** 2
        ev = gamma * along if t == 1 else (1 - gamma) * t * ev / (t - 1) + gamma * t * along
        Z = Z + np.outer(gamma * share * (Z @ scaled), share * scaled)
        V = orthonormal(Z)
        u -= g * np.linalg.solve(alpha * np.eye(len(u)) + V.T @ np.diag(ev) @ V, scaled)
    return found


@pytest.mark.parametrize(
    "given", [{}, {"normalize": False, "alpha": 20.0, "rate": 0.1}, {"random_start": False, "rate": 0.5, "alpha": 3.0}]
)
def test_by_its_formula(given):
    X, y = data()
    h = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    chain = chain_of_layer(**given)
    wanted = twin(chain, X, y, h, given.get("alpha", 1.0), given.get("rate", 2.0), given.get("normalize", True))
    np.testing.assert_allclose(chain.learn(X, y, h), wanted, rtol=2e-3, atol=2e-3)


def test_the_first_directions_are_orthonormal_and_follow_the_seed():
    chain = chain_of_layer(sketch=5)
    Z = chain.weights[:, 1:6]
    np.testing.assert_allclose(Z.T @ Z, np.eye(5), atol=1e-6)
    np.testing.assert_array_equal(chain_of_layer(sketch=5).weights, chain.weights)
    other = Chain.from_config({**chain.config.to_dict(), "seed": 3})
    assert not np.allclose(other.weights, chain.weights)
    plain = chain_of_layer(random_start=False).weights
    np.testing.assert_array_equal(plain[1:4, 1:4], np.eye(3))


def test_large_products_are_taken_into_the_table_and_change_nothing():
    X, y = data(60, 2)
    one, other = chain_of_layer(normalize=False, alpha=50.0), chain_of_layer(normalize=False, alpha=50.0)
    one.learn(X, y)
    other.learn(X, y)
    other.layers[-1].state.targets["matrices"][1] *= 1e-9  # K is small again, which only the next basis depends on
    np.testing.assert_allclose(one.predict(X), other.predict(X))
    one.layers[-1].state.targets["matrices"][1, 0, 0] = 1e8
    before = one.predict(X)
    one.learn(X[:1], one.predict(X[:1]))  # a gradient of about 0
    np.testing.assert_allclose(one.predict(X), before, atol=1e-3)
    np.testing.assert_array_equal(one.layers[-1].state.targets["matrices"][0], np.eye(3))


def test_correlated_features_are_learned_faster_than_without_a_sketch():
    X, y = data(400, 3)
    losses = {}
    for sketch, alpha in ((1, 5.0), (5, 5.0)):
        chain = chain_of_layer(sketch=sketch, alpha=alpha, normalize=False)
        chain.learn(X, y)
        losses[sketch] = chain.statistics.average_loss
    assert losses[5] < losses[1]


def test_an_epoch_moves_directions_once_and_a_model_keeps_what_waits(tmp_path):
    X, y = data(40, 4)
    whole, part, single = chain_of_layer(epoch=7), chain_of_layer(epoch=7), chain_of_layer()
    whole.learn(X[:6], y[:6])
    single.learn(X[:6], y[:6])
    table = chain_of_layer(epoch=7)
    np.testing.assert_array_equal(whole.weights[:, 1:4], table.weights[:, 1:4])
    assert not np.array_equal(single.weights[:, 1:4], table.weights[:, 1:4])
    whole.learn(X[6:], y[6:])
    part.learn(X[:25], y[:25])
    part.save(path := str(tmp_path / "model"))
    again = Chain.load(path)
    again.learn(X[25:], y[25:])
    np.testing.assert_array_equal(again.weights, whole.weights)
    state = whole.layers[-1].state
    assert int(state["waiting"][0]) == 40 % 7 and int(state["turns"][0]) == 1 + 40 - 40 % 7


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="got 3 sub-models, wanted one: it keeps one sketch"):
        Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "sketched_newton"]})
    with pytest.raises(ConfigError, match="sketch: got 20, wanted fewer than the 16 rows"):
        Chain.from_config({"chain": [{"sketched_newton": {"sketch": 20}}], "weights": {"bits": 4}})
    assert chain_of(parse("--OjaNewton --alpha_inverse 4 --binary".split()))["chain"][-1] == {
        "sketched_newton": {"alpha": 0.25}
    }
