"""Random first weights against Vowpal Wabbit's, and against its generator one number at a time."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import HutchError
from hutch.core.learner.first_weights import fill_weights

MASK = 2**64 - 1


def drawn(state):
    state = (0xEECE66D5DEECE66D * state + 2147483647) & MASK
    return state, np.float32((state >> 25) & 0x7FFFFF) * np.float32(2.0**-23)


def gaussian(state):
    t = 0
    while not 0 < t < 1:
        state, u = drawn(state)
        state, v = drawn(state)
        a, b = np.float32(2) * u - np.float32(1), np.float32(2) * v - np.float32(1)
        t = a * a + b * b
    return float(a) * math.sqrt(-2 * math.log(t) / t)


def filled(kind, rows, seed=0, stride=4):
    weights, state = np.zeros(rows, np.float32), np.array([seed], np.uint64)
    fill_weights(weights, kind, state, stride)
    return weights, int(state[0])


@pytest.mark.parametrize("rows", [1, 2, 63, 1000])
def test_uniform_is_the_generator_number_by_number(rows):
    state, wanted = 77, []
    for _ in range(rows):
        state, number = drawn(state)
        wanted.append(number - np.float32(0.5))
    weights, after = filled("uniform", rows, 77)
    assert weights.tolist() == [float(number) for number in wanted]
    assert after == state


def test_normal_is_the_polar_method_seeded_by_the_place():
    weights, after = filled("normal", 500, seed=5)
    assert np.allclose(weights, [gaussian(4 * row) for row in range(500)], rtol=1e-6)
    assert after == 5


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_a_table_in_parts_is_the_table_at_once(kind, monkeypatch):
    whole = filled(kind, 300)
    monkeypatch.setattr("hutch.core.learner.first_weights.AT_ONCE", 64)
    in_parts = filled(kind, 300)
    assert np.array_equal(whole[0], in_parts[0]) and whole[1] == in_parts[1]


def test_truncated_is_normal_brought_back():
    normal, truncated = filled("normal", 2000)[0].astype(float), filled("truncated_normal", 2000)[0]
    bound = 2 * normal.std()
    beyond = np.abs(normal) > bound
    assert 50 < beyond.sum() < 150
    assert np.array_equal(truncated[~beyond], normal[~beyond].astype(np.float32))
    assert np.allclose(truncated[beyond], [math.remainder(number, bound) for number in normal[beyond]], atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "of_vw"),
    [
        ("uniform", {0: "-0x1.2df79p-2", 1: "-0x1.6b7308p-2", 2: "-0x1.4c4378p-2", 3: "0x1.aa914p-4"}),
        ("normal", {0: "0x1.b7e9cap-2", 1: "0x1.8fc9fcp-2", 2: "-0x1.018d28p+0", 3: "0x1.472354p+0"}),
        ("truncated_normal", {0: "0x1.b7e9cap-2", 19: "-0x1.9d8f0ap-1", 23: "0x1.b9b0bap-4", 132: "-0x1.371922p-1"}),
    ],
)
def test_weights_that_vw_has_written(kind, of_vw):
    chain = Chain.from_config({"weights": {"bits": 8}, "seed": 3, "chain": [{"linear": {"random_weights": kind}}]})
    assert {row: float(chain.weights[row, 0]).hex() for row in of_vw} == {
        row: float.fromhex(number).hex() for row, number in of_vw.items()
    }


def test_either_random_or_the_same():
    with pytest.raises(HutchError, match="initial_weight and random_weights"):
        Chain.from_config({"chain": [{"linear": {"random_weights": "normal", "initial_weight": 0.1}}]})
    with pytest.raises(HutchError, match="random_weights"):
        Chain.from_config({"chain": [{"linear": {"random_weights": "gaussian"}}]})


def test_training_goes_on_from_what_was_saved(tmp_path):
    lines = [f"{k % 2} |a x{k % 7} y{k % 5}" for k in range(40)]
    config = {"weights": {"bits": 10}, "chain": [{"linear": {"random_weights": "uniform"}}]}
    whole, half = Chain.from_config(config), Chain.from_config(config)
    whole.learn(lines)
    half.learn(lines[:20])
    half.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    again.learn(lines[20:])
    assert np.array_equal(whole.weights, again.weights)
