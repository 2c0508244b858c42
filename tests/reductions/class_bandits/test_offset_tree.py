"""The offset tree: the paths of its classes, and probabilities as products along them."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.class_bandits.offset_tree import PARENT, OffsetTree, tree_of
from hutch.vw.decisions import decision_layers
from hutch.vw.parse import parse

TWO = {"classes": 2}
BELOW = [{"bandit_per_class": TWO}, {"cost_sensitive_one_against_all": TWO}, {"linear": {"normalized": False}}]


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 7, 8, 13])
def test_each_class_is_a_leaf_of_a_tree_of_least_depth(classes):
    tree = tree_of(classes)
    assert len(tree) == 2 * classes - 1
    assert (tree[:classes, :PARENT] == -1).all() and (tree[-1, PARENT] == -1)
    depths = []
    for leaf in range(classes):
        node, depth = leaf, 0
        while tree[node, PARENT] >= 0:
            assert node in tree[tree[node, PARENT], :PARENT]
            node, depth = tree[node, PARENT], depth + 1
        assert node == 2 * classes - 2
        depths.append(depth)
    assert max(depths) == int(np.ceil(np.log2(classes)))


def decisions(classes, count=60):
    random = np.random.default_rng(classes)
    for _ in range(count):
        feature, chosen = int(random.integers(3)), int(random.integers(classes))
        label = {"class": chosen + 1, "cost": float(chosen != feature % classes), "probability": 1 / classes}
        yield {"a": [f"f{feature}"], "label": label}


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_probabilities_are_products_of_those_of_two_sides(classes):
    layers = [{"offset_tree": {"classes": classes}}, {"explore_classes": TWO | {"epsilon": 0.2}}]
    chain = Chain.from_config({"chain": [*layers, *BELOW]})
    depths = [0] * classes
    for leaf in range(classes):
        node, tree = leaf, tree_of(classes)
        while tree[node, PARENT] >= 0:
            node, depths[leaf] = tree[node, PARENT], depths[leaf] + 1
    for batch in chain.batches(decisions(classes)):
        outputs, _ = chain.run_batch(batch)
        for scores, best in zip(outputs.scores, outputs.predictions, strict=True):
            assert scores.sum() == pytest.approx(1, abs=1e-5)
            assert scores[int(best) - 1] == scores.max()
            steps = np.log(scores / 0.1 ** np.array(depths)) / np.log(9)  # how often each path takes the likelier side
            np.testing.assert_allclose(steps, np.round(steps), atol=1e-3)


def test_it_learns_the_cheapest_class():
    layers = [{"offset_tree": {"classes": 3}}, {"explore_classes": TWO}]
    chain = Chain.from_config({"chain": [*layers, *BELOW]})
    chain.learn(decisions(3, 300))
    [batch] = chain.batches([{"a": [f"f{k}"]} for k in range(3)])
    assert chain.run_batch(batch, learn=False)[0].predictions.tolist() == [1, 2, 3]


@pytest.mark.parametrize("classes", [2, 7])
def test_contract_with_other_parameters(classes):
    for check in checks_of_reduction(OffsetTree, {"classes": classes}, [{"explore_classes": TWO}, *BELOW]):
        if check.name != "magnitudes":
            check()


def test_explorers_with_a_state_are_refused():
    layers = [{"offset_tree": {"classes": 3}}, {"explore_classes": TWO | {"method": "cover"}}]
    with pytest.raises(ConfigError, match="^explore_classes: got 2 sub-models and method cover, of which only epsilon"):
        Chain.from_config({"chain": [*layers, *BELOW]})


def test_another_number_of_sides_is_refused():
    with pytest.raises(UsageError, match="^--ot: got --cb_explore 3, wanted 2: a node has two sides"):
        decision_layers(parse("--ot 4 --cb_explore 3".split()))
