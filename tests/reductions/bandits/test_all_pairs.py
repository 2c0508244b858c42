"""Weighted all pairs: decisions as examples of differences, which a plain learner learns."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.vw.command_line import words_of
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

LINEAR = {"linear": {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.05}}
WIDE = {"min_prediction": -50.0, "max_prediction": 50.0}


def chain_with(*below, **linear):
    layers = [{"cost_sensitive_with_features": {"method": "all_pairs"}}, *below]
    layers.append({"linear": {**LINEAR["linear"], **WIDE, **linear}})
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 12}})


def decisions(count=30, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        n = int(random.integers(2, 5))
        yield random.choice([0.0, 0.5, 1.0, 3.0], n), random.normal(size=(n, 4)).round(3)


def text_of(costs, features):
    rows = (" ".join(f"f{i}:{x}" for i, x in enumerate(row)) for row in features)
    return "".join(f"{k + 1}:{cost} |a {row}\n" for k, (cost, row) in enumerate(zip(costs, rows, strict=True))) + "\n"


def by_hand():
    """Scores of each decision before it is learned."""
    weights = np.zeros(4)
    for costs, features in decisions():
        yield features @ weights
        ordered = np.sort(costs)
        steps = np.diff(ordered) / np.arange(1, len(costs))
        value = dict(zip(ordered, np.concatenate([[0], np.cumsum(steps)]), strict=True))
        for i in range(len(costs)):
            for j in range(i + 1, len(costs)):
                weight = abs(value[costs[i]] - value[costs[j]])
                difference = features[i] - features[j]
                label = -1 if costs[i] < costs[j] else 1
                weights += 0.1 * weight * (label - difference @ weights) * difference


def test_differences_are_learned_with_their_values():
    chain = chain_with()
    texts = [text_of(*each) for each in decisions()]
    found = [chain.learn(text) for text in texts]
    for scores, wanted in zip(found, by_hand(), strict=True):
        np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5)


def test_interactions_of_both_actions_count():
    both = [(np.array([0.0, 1.0]), np.array([[1.0, 2.0], [3.0, 0.5]]))]
    chain = chain_with(interactions=[["a", "b"]])
    for costs, rows in both:
        chain.learn("".join(f"{k + 1}:{costs[k]} |a x:{x} |b y:{y}\n" for k, (x, y) in enumerate(rows)))
    names = {"x": -2.0, "y": 1.5, "xy": 0.5}  # x1 - x2, y1 - y2, x1 y1 - x2 y2
    norm = sum(value * value for value in names.values())
    assert norm == 6.5
    scores = chain.predict("1: |a x:1 |b z\n2: |a w |b y:1\n3: |a x:1 |b y:1\n")
    np.testing.assert_allclose(scores, 0.1 * -1 * np.array([-2.0, 1.5, -2.0 + 1.5 + 0.5]), atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*nothing is learned from the decision", "ignore:no example had a label")
def test_a_decision_whose_costs_are_not_all_known_teaches_nothing():
    chain = chain_with()
    chain.learn("1:0 |a x\n2: |a y\n")
    assert not chain.weights.any()


def test_layers_that_make_features_are_refused():
    with pytest.raises(ConfigError, match="got 'ngrams' below it, wanted none that makes or leaves out features"):
        chain_with({"ngrams": {"size": 2}})


def test_the_option_of_vw():
    wanted = chain_of(parse(["--wap_ldf", "mc", "-q", "ab"]))
    assert wanted["chain"][0] == {"cost_sensitive_with_features": {"method": "all_pairs", "lists": "best"}}
    config = Chain.from_config(wanted).config
    assert Chain.from_config(chain_of(parse(words_of(config)))).config.chain == config.chain
    with pytest.raises(Exception, match="got --csoaa_ldf and --wap_ldf, wanted one of them"):
        chain_of(parse("--wap_ldf m --csoaa_ldf m".split()))
