"""The recall tree: against the same tree in Python over linear models, one per inner node and one per class."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.recall_tree import RecallTree, RecallTreeParameters

PLAIN = {"loss": "squared", "adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0}
RATE = 0.05


class Node:
    def __init__(self, depth, numbers, parent=None):
        self.number, self.parent, self.counts, self.sides = next(numbers), parent, {}, []
        self.last: dict[int, int] = {}
        self.depth = depth

    def grow(self, features, numbers):
        """Children are numbered together, then what is below the left one."""
        if self.depth:
            self.sides = [Node(self.depth - 1, numbers, self) for _ in range(2)]
            self.weights = np.zeros(features)
            for side in self.sides:
                side.grow(features, numbers)

    def best(self, most):
        """The most frequent classes; of equally frequent ones, those that were so often there first."""
        return sorted(self.counts, key=lambda label: (-self.counts[label], self.last[label]))[:most]

    def reach(self, label, weight):
        self.counts[label] = self.counts.get(label, 0) + weight
        self.last[label] = sum(self.counts.values())

    def entropy(self, label=None, weight=0.0):
        counts = dict(self.counts)
        if label is not None:
            counts[label] = counts.get(label, 0) + weight
        total = sum(counts.values())
        return -sum(n / total * math.log(n / total) for n in counts.values())

    def path(self):
        """The numbers of the nodes from here to below the root."""
        return [] if self.parent is None else [self.number, *self.parent.path()]


class Twin:
    """A tree of nodes, and weights of classes that see the features and the nodes of a path."""

    def __init__(self, classes, most, depth, penalty, features):
        self.most, self.penalty, self.features = most, penalty, features
        numbers = iter(range(1 << 20))
        self.root = Node(depth, numbers)
        self.root.grow(features, numbers)
        self.classes = np.zeros((classes + 1, features + (2 << depth)))
        self.low = self.high = 0.0

    def step(self, weights, x, target, weight):
        """A step of a linear model whose predictions stay in the range of its labels."""
        self.low, self.high = min(self.low, target), max(self.high, target)
        weights += 2 * RATE * weight * (target - float(np.clip(weights @ x, self.low, self.high))) * x

    def recall(self, node):
        total = sum(node.counts.values())
        if not total:
            return 0.0
        share = sum(node.counts[label] for label in node.best(self.most)) / total
        deviation = math.sqrt(share * (1 - share) / total)
        return max(0.0, share - math.sqrt(self.penalty) * deviation - self.penalty * 15 / (math.sqrt(18) * total))

    def stops(self, node, child):
        return self.penalty > 0 and self.recall(node) >= self.recall(child)

    def seen(self, node, x):
        found = np.zeros(self.classes.shape[1])
        found[: self.features] = x
        found[[self.features + number for number in node.path()]] = 1
        return found

    def predict(self, x):
        node = self.root
        while node.sides:
            child = node.sides[int(node.weights @ x >= 0)]
            if self.stops(node, child):
                break
            node = child
        seen = self.seen(node, x)
        return max(node.best(self.most), key=lambda label: self.classes[label] @ seen, default=0)

    def learn(self, x, label, weight):
        node, reached = self.root, []
        while node.sides:
            added = [
                sum(side.counts.values()) * (side.entropy(label, weight) - side.entropy())
                + weight * side.entropy(label, weight)
                for side in node.sides
            ]
            self.step(node.weights, x, -1.0 if added[0] < added[1] - 1e-12 else 1.0, weight)
            child = node.sides[int(node.weights @ x >= 0)]
            reached.append(node)
            if self.stops(node, child):
                reached.append(child)
                break
            node = child
        else:
            reached.append(node)
        for each in reached:
            each.reach(label, weight)
        candidates = node.best(self.most)
        if label in candidates:
            seen = self.seen(node, x)
            self.step(self.classes[label], seen, 1.0, weight)
            for other in candidates:
                if other != label:
                    self.step(self.classes[other], seen, -1.0, weight)


def data(classes, count=200, seed=0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(classes, 6))
    labels = random.integers(classes, size=count)
    X = (centres[labels] + 0.3 * random.normal(size=(count, 6))).astype(np.float32)
    return X, labels + 1, random.uniform(0.3, 2, size=count).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"classes": 2},
        {"classes": 9, "candidates": 3},
        {"classes": 9, "candidates": 2, "depth": 3, "penalty": 0.0},
        {"classes": 5, "depth": 0, "candidates": 4},
        {"classes": 6, "candidates": 2, "penalty": 0.05},
    ],
    ids=str,
)
def test_predictions_by_a_tree_of_python(parameters):
    p = RecallTreeParameters(**parameters)
    linear = {"linear": PLAIN | {"learning_rate": RATE}}
    chain = Chain.from_config(
        {"chain": [{"recall_tree": parameters}, linear], "input": {"constant": False}, "weights": {"bits": 22}}
    )
    twin, found, wanted = Twin(p.classes, p.candidate_count, p.levels, p.penalty, 6), [], []
    for x, label, weight in zip(*data(p.classes), strict=True):
        [batch] = chain.batches([f"{label} {weight} |a " + " ".join(f"w{k}:{v}" for k, v in enumerate(x))])
        found.append(int(chain.run_batch(batch)[0].predictions[0]))
        wanted.append(twin.predict(x))
        twin.learn(x, int(label), float(weight))
    agree = np.array(found) == np.array(wanted)
    assert found[0] == 0  # nothing is known yet
    assert agree.all(), np.flatnonzero(~agree)
    assert len(set(found)) >= min(p.classes, 4)


@pytest.mark.slow
def test_examples_without_importance_and_unknown_classes_change_nothing():
    chain = Chain.from_config({"chain": [{"recall_tree": {"classes": 4}}, "linear"]})
    chain.learn([f"{1 + k % 3} |a x{k % 3}" for k in range(30)])
    before = {name: array.copy() for name, array in chain.layers[0].saved().items()}
    weights = chain.weights.copy()
    with pytest.warns(UserWarning, match="not made for it"):
        chain.learn(["9 |a x1", "1 0 |a x0", "|a x2"])
    assert all(np.array_equal(array, before[name]) for name, array in chain.layers[0].saved().items())
    assert np.array_equal(chain.weights, weights)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("kinds", 2), ("labels", 0), ("labels", 2)])
def test_models_whose_nodes_do_not_list_their_classes_are_refused(name, value):
    chain = Chain.from_config({"chain": [{"recall_tree": {"classes": 2}}, "linear"], "weights": {"bits": 8}})
    arrays = {each: array.copy() for each, array in chain.layers[0].saved().items()}
    arrays["kinds"][0], arrays["labels"][0] = (1 if name == "kinds" else 2), [2, 0 if name == "kinds" else 1]
    chain.layers[0].check_saved(arrays)
    arrays[name].reshape(3, -1)[0, -1] = value
    with pytest.raises(ModelError, match="recall_tree: got a node of 2 classes that does not list them"):
        chain.layers[0].check_saved(arrays)


def test_a_tree_that_would_not_fit_is_refused():
    with pytest.raises(ConfigError, match=r"recall_tree.depth: got 8191 nodes of 1000 classes, wanted at most 4194"):
        Chain.from_config({"chain": [{"recall_tree": {"classes": 1000, "depth": 12}}, "linear"]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [{"classes": 3, "candidates": 2, "whole_path": False}, {"classes": 7, "penalty": 0.0, "randomized": True}],
    ids=str,
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(RecallTree, parameters):
        check()
