"""`random_features` against features computed in NumPy; curves; resuming; under `hedge`."""

from statistics import NormalDist

import numpy as np
import pytest

from hutch import Chain
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.features.random_features import RandomFeatures

COUNT, SEED = 8, 5


def mixed(number):
    """splitmix64 of a whole number."""
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) % 2**64
    return number ^ (number >> 31)


def twin(X, indices, length, scale):
    """The new features of rows that all have a value in each column."""
    omega = np.empty((X.shape[1], COUNT // 2))
    for j, index in enumerate(indices):
        state = mixed(SEED + int(index))
        for r in range(COUNT // 2):
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            omega[j, r] = NormalDist().inv_cdf((mixed(state) % 4096 + 0.5) / 4096)
    n = X.shape[1]
    lengths = length * np.sqrt(2 * n) * np.where(np.arange(COUNT // 2) % 2, 0.5, 1)
    angles = X.astype(float) @ omega / lengths
    return np.sqrt(2 * scale * n / COUNT) * np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(X), COUNT)


def base(dimension, **parameters):
    return {"bayesian_linear": {"dimension": dimension, "prior_variance": 0.5, **parameters}}


def rings(rows=600):
    """Rows within a ring, or not."""
    X = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    return X, np.where((X**2).sum(axis=1) > 1.4, 1.0, -1.0)


@pytest.mark.parametrize(("length", "scale"), [(1.0, 3.2), (0.5, 1.0)])
def test_features_are_those_of_the_twin(length, scale):
    X, y = rings(100)
    layer = {"random_features": {"count": COUNT, "length": length, "scale": scale}}
    chain = Chain.from_config({"seed": SEED, "chain": [layer, base(30, features="named")]})
    [batch] = chain.batches(X[:1])
    given = Chain.from_config({"chain": [base(2 + COUNT)]})
    whole = np.column_stack([X, twin(X, batch.indices[:2], length, scale)]).astype(np.float32)
    np.testing.assert_allclose(chain.learn(X, y), given.learn(whole, y), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(chain.predict(X), given.predict(whole), rtol=1e-3, atol=1e-4)


def test_curves_are_learned_and_nothing_changes_without_features():
    X, y = rings()
    plain = Chain.from_config({"chain": [base(2, features="named")]})
    none = Chain.from_config({"chain": [{"random_features": {"count": 0}}, base(2, features="named")]})
    np.testing.assert_array_equal(none.learn(X, y), plain.learn(X, y))
    curved = Chain.from_config({"chain": ["random_features", base(300, features="named")]})
    assert np.mean(curved.learn(X, y)[300:] * y[300:] < 0) < 0.1 < 0.3 < np.mean(plain.predict(X) * y < 0)
    copies = [{"random_features": {"count": 0}}, {}]
    mix = Chain.from_config({"chain": [{"hedge": {"copies": copies}}, "random_features", base(300, features="named")]})
    assert np.mean(mix.learn(X, y)[300:] * y[300:] < 0) < 0.1


def test_half_a_stream_a_file_and_the_other_half(tmp_path):
    X, y = rings()
    layers = ["standardise", "random_features", base(300, features="named")]
    whole, first = (Chain.from_config({"chain": layers}) for _ in range(2))
    whole.learn(X, y)
    first.learn(X[:250], y[:250])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(X[250:], y[250:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


def test_contract():
    for check in checks_of_reduction(RandomFeatures, {"namespace": "words", "count": 4}, below=["linear"]):
        check()
