"""`learn_zeros: false`: weights that are 0 stay 0, all others learn as if they were alone."""

import numpy as np
import pytest

from hutch import Chain

FIRST = "1 |f a b\n-1 |f b c\n"
MORE = "1 |f a c\n0.5 |f b\n-1 |f a b:0.5 c:2\n" * 5
BOTH = "1 |f a c new\n0.5 |f b\n-1 |f a b:0.5 c:2 |g other:3\n" * 5


def made(**parameters):
    return Chain.from_config({"input": {"constant": False}, "chain": [{"linear": parameters}]})


@pytest.mark.parametrize(
    "rates", [{}, {"power_t": 0.3}, {"normalized": False}, {"adaptive": False, "learning_rate": 0.1}]
)
def test_only_weights_that_are_not_0_learn(rates):
    plain, masked = made(**rates), made(**rates, learn_zeros=False)
    assert masked.learn(FIRST).tolist() == [0, 0] and not masked.weights[:, 0].any()
    plain.learn(FIRST)
    masked.weights[...] = plain.weights
    for name in masked.shared.dtype.names:
        if name not in ("weights", "mask"):
            masked.shared[name] = plain.shared[name]
    for name, array in plain.layers[-1].saved().items():
        masked.layers[-1].saved()[name][...] = array
    assert masked.learn(BOTH).tolist() == plain.learn(MORE).tolist()
    assert masked.weights.tolist() == plain.weights.tolist()


def test_the_prediction_after_learning_is_that_of_all_features():
    chain = made(learn_zeros=False)
    chain.weights[:, 0] = 0
    chain.learn("1 |f a")
    again = Chain.from_config({"chain": [{"linear": {"learn_zeros": False, "random_weights": "uniform"}}]})
    before = again.predict(["|f a b c"])[0]
    again.learn(["1 |f a b c"] * 30)
    assert abs(again.predict(["|f a b c"])[0] - 1) < abs(before - 1)
    assert np.count_nonzero(again.weights[:, 0]) == len(again.weights)
