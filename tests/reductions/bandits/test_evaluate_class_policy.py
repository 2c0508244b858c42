"""The evaluation of a policy on logged classes."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, DataError

CLASSES = 3
COSTS = {"cost_sensitive_one_against_all": {"classes": CLASSES}}


def test_a_policy_is_evaluated_without_bias():
    """IPS and DR agree with the true mean cost of a fixed policy on a log made at random."""
    random, lines, true = np.random.default_rng(0), [], []
    for _ in range(4000):
        x = int(random.integers(3))
        logged, policy = int(random.integers(CLASSES)), x % CLASSES
        cost = lambda k: 0.2 + 0.5 * (k != x)  # noqa: B023, E731
        lines.append(f"{policy + 1} {logged + 1}:{cost(logged):g}:{1 / CLASSES:.6f} |x x{x}")
        true.append(cost(policy))
    for kind in ("ips", "dr"):
        layer = {"evaluate_class_policy": {"classes": CLASSES, "type": kind}}
        engine = Chain.from_config({"chain": [layer, COSTS, "linear"]})
        assert engine.learn(lines[:3]).tolist() == [float(line[0]) for line in lines[:3]]
        engine.learn(lines[3:])
        assert engine.statistics.average_loss == pytest.approx(np.mean(true), abs=0.03)


def test_a_record_names_the_class_of_the_policy():
    engines = [
        Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": CLASSES}}, COSTS, "linear"]}) for _ in "ab"
    ]
    words, choice = {"x": ["a"]}, {"class": 1, "cost": 0.5, "probability": 0.25}
    engines[0].learn(["2 1:0.5:0.25 |x a", "3 |x a"])
    engines[1].learn([{"label": {"policy": 2, **choice}, **words}, {"label": {"policy": 3}, **words}])
    np.testing.assert_array_equal(engines[0].weights, engines[1].weights)
    assert engines[0].statistics == engines[1].statistics
    with pytest.raises(DataError, match="<records>:1: label: got .*'policy': 'x'"):
        engines[0].learn([{"label": {"policy": "x", **choice}, **words}])


def test_a_policy_needs_a_class_at_the_front():
    engine = Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": CLASSES}}, COSTS, "linear"]})
    with pytest.raises(DataError, match="begin with a class alone .example 2"):
        engine.learn(["2 1:0.5:0.5 |x a", "1:0.5:0.5 |x a"])


def test_the_layer_below_must_have_a_model_for_each_class():
    with pytest.raises(ConfigError, match=r"evaluate_class_policy.classes: got 4, wanted 3: so many has cost_sensitiv"):
        Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": 4}}, COSTS, "linear"]})
    with pytest.raises(ConfigError, match="needs cost_sensitive_one_against_all below it: got 'cost_sensitive_filter"):
        Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": 3}},
                                     {"cost_sensitive_filter_tree": {"classes": 3}}, "linear"]})  # fmt: skip
