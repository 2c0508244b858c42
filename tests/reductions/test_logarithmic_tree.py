"""The tree that grows: against the same tree in Python over linear models, one per inner node."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ModelError, UsageError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.logarithmic_tree import INNER, LEFT, PARENT, RIGHT, LogarithmicTree
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

PLAIN = {"loss": "squared", "adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0}
RATE = 0.1


class Node:
    def __init__(self, top=1, reached=0, parent=None):
        self.top, self.reached, self.parent, self.sides, self.weights = top, reached, parent, None, None
        self.counts, self.scores = {}, {}

    def least(self):
        return self.reached if self.sides is None else min(side.least() for side in self.sides)


class Twin:
    """A tree of nodes; those without sides are leaves."""

    def __init__(self, classes, resistance, features):
        self.root, self.free, self.resistance = Node(), [np.zeros(features) for _ in range(classes - 1)], resistance
        self.low = self.high = 0.0

    def score(self, node, x):
        return float(np.clip(node.weights @ x, self.low, self.high))

    def predict(self, x):
        node = self.root
        while node.sides:
            node = node.sides[self.score(node, x) >= 0]
        return node.top

    def least_used(self):
        node = self.root
        while node.sides:
            left, right = node.sides
            node = left if left.least() < right.least() else right
        return node

    def split(self, node):
        if self.free:
            weights = self.free.pop(0)
        else:
            leaf = self.least_used()
            above = leaf.parent
            other = above.sides[above.sides[0] is leaf]
            top = above.parent
            top.sides[top.sides[1] is above] = other
            other.parent, weights = top, above.weights
        node.weights, half = weights, node.reached // 2
        node.sides = [Node(node.top, half, node), Node(node.top, node.reached - half, node)]
        node.scores = {}

    def enters(self, node, label):
        node.counts[label] = node.counts.get(label, 0) + 1
        if node.counts[label] > node.counts.get(node.top, 0) or sum(node.counts.values()) == 1:
            node.top = label
        if node.sides is None and len(node.counts) > 1:
            mistakes = node.reached - max(node.counts.values())
            least = self.least_used()
            enough = mistakes % 2**32 > self.resistance * (self.root.least() + 1)
            if self.free or (enough and least is not node and least.parent is not self.root):
                self.split(node)
        return node.sides is not None

    def learn(self, x, label):
        node = self.root
        while self.enters(node, label):
            everything = [score for each in node.scores.values() for score in each]
            own = node.scores.setdefault(label, [])
            target = -1.0 if np.mean(everything or [0]) > np.mean(own or [0]) + 1e-9 else 1.0
            self.low, self.high = min(self.low, target), max(self.high, target)
            node.weights += 2 * RATE * (target - self.score(node, x)) * x
            own.append(float(node.weights @ x))
            node = node.sides[self.score(node, x) >= 0]
        node.reached += 1


def data(classes, count=150, seed=0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(classes, 6))
    labels = random.integers(classes, size=count)
    return centres[labels] + 0.3 * random.normal(size=(count, 6)), labels + 1


@pytest.mark.parametrize(("classes", "resistance"), [(2, 4), (5, 4), (6, 0)])
def test_predictions_by_a_tree_of_python(classes, resistance):
    linear = {"linear": PLAIN | {"learning_rate": RATE}}
    tree = {"logarithmic_tree": {"classes": classes, "swap_resistance": resistance}}
    chain = Chain.from_config({"chain": [tree, linear], "input": {"constant": False}})
    twin, found, wanted = Twin(classes, resistance, 6), [], []
    for x, label in zip(*data(classes), strict=True):
        words = {f"w{k}": float(v) for k, v in enumerate(x)}
        [batch] = chain.batches([{"a": words, "label": int(label)}])
        found.append(int(chain.run_batch(batch)[0].predictions[0]))
        wanted.append(twin.predict(x))
        twin.learn(x, int(label))
    agree = np.array(found) == np.array(wanted)
    assert agree[:100].all(), np.flatnonzero(~agree)
    assert len(set(found)) == classes


def test_a_leaf_takes_the_place_of_another():
    tree = {"logarithmic_tree": {"classes": 3, "swap_resistance": 0}}
    chain = Chain.from_config({"chain": [tree, "linear"]})
    chain.learn([f"{1 + k % 2} |a x{k % 2}" for k in range(20)])
    chain.learn([f"{1 + k % 3} |a x{k % 3}" for k in range(300)])
    nodes = chain.layers[0].saved()["nodes"][0]
    assert chain.layers[0].saved()["counts"].tolist() == [[5, 2]]
    inner = [k for k in range(5) if nodes[k, INNER]]
    assert len(inner) == 2 and all(nodes[nodes[k, side], PARENT] == k for k in inner for side in (LEFT, RIGHT))


@pytest.mark.parametrize(("column", "value"), [(LEFT, 0), (RIGHT, 4), (INNER, 2)])
def test_models_that_are_no_tree_are_refused(column, value):
    chain = Chain.from_config({"chain": [{"logarithmic_tree": {"classes": 4}}, "linear"]})
    chain.learn([f"{1 + k % 2} |a x{k % 2}" for k in range(9)])
    arrays = {name: array.copy() for name, array in chain.layers[0].saved().items()}
    chain.layers[0].check_saved(arrays)
    arrays["nodes"][0, 0, column] = value
    with pytest.raises(ModelError, match="logarithmic_tree: got 3 nodes that are no tree"):
        chain.layers[0].check_saved(arrays)


@pytest.mark.parametrize("parameters", [{"classes": 3}, {"classes": 7, "swap_resistance": 0}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(LogarithmicTree, parameters):
        check()


def test_another_loss_is_refused_as_vw_ignores_it():
    with pytest.raises(UsageError, match="^--loss_function: --log_multi learns by quantile loss, the median"):
        chain_of(parse("--log_multi 3 --loss_function logistic".split()))
