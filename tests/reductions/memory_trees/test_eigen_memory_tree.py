"""The eigen memory tree: against the same tree in Python, its order of use, its memory, and models of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.random import merand48
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.memory_trees.eigen_memory_tree import EigenMemoryTree, EigenMemoryTreeParameters

RATE = 0.05
PLAIN = {
    "loss": "squared",
    "adaptive": False,
    "normalized": False,
    "invariant": False,
    "power_t": 0.0,
    "learning_rate": RATE,
}


def chain_with(base=None, **parameters):
    layers = [{"eigen_memory_tree": parameters}, {"linear": PLAIN | (base or {})}]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 20}})


def dot(x, z):
    return sum(value * z[row] for row, value in x.items() if row in z)


def difference(x, z):
    return {row: x.get(row, 0) - z.get(row, 0) for row in sorted(x.keys() | z.keys())}


class Node:
    def __init__(self):
        self.memories, self.sides = [], None


class Twin:
    """Memories are pairs of features, as a dictionary, and a label."""

    def __init__(self, **parameters):
        self.p, self.root, self.state, self.used = EigenMemoryTreeParameters(**parameters), Node(), np.uint64(0), []
        self.weights = {}

    def draw(self):
        self.state, found = merand48(self.state)
        return float(found)

    def shuffle(self, values):
        for i in range(len(values) - 1):
            j = int(self.draw() * 0.999 * (len(values) - i))
            values[i], values[j] = values[j], values[i]

    def leaf(self, x):
        node = self.root
        while node.sides:
            node = node.sides[int(dot(x, node.router) >= node.median)]
        return node

    def fixed(self, x, z):
        apart, lengths = difference(x, z), math.sqrt(dot(x, x) * dot(z, z))
        apart = math.sqrt(dot(apart, apart))
        if self.p.initial == "cosine" and lengths:
            return 1 - dot(x, z) / lengths
        return {"none": 0, "euclidean": apart}.get(self.p.initial, 1 - math.exp(-apart))

    def shown(self, x, z):
        if self.p.scorer == "not_self_consistent_rank":
            return {row: value * z[row] for row, value in x.items() if row in z}
        return {row: abs(value) for row, value in difference(x, z).items()}

    def learned(self, x, z):
        sum_of_products = sum(value * self.weights.get(row, 0) for row, value in self.shown(x, z).items())
        return min(max(self.fixed(x, z) + sum_of_products, 0), 3)

    def distance(self, x, z):
        if self.p.scorer == "random":
            return self.draw()
        if self.p.scorer == "distance":
            return self.fixed(x, z)
        return -math.inf if x == z else self.learned(x, z)

    def predict(self, x, node):
        self.shuffle(node.memories)
        scores = [self.distance(x, z) for z, _ in node.memories]
        return node.memories[int(np.argmin(scores))] if scores else ({}, 0)

    def teach(self, x, label, weight, node):
        if "rank" not in self.p.scorer or len(node.memories) < 2:
            return
        self.shuffle(node.memories)
        scores = [self.distance(x, z) for z, _ in node.memories]
        best = int(np.argmin(scores))
        others = [k for k in range(len(scores)) if k != best]
        other = min(others, key=lambda k: (node.memories[k][1] != label, scores[k]))
        wrong = {k: node.memories[k][1] != label for k in (best, other)}
        if wrong[best] == wrong[other]:
            return
        for k in (best, other) if self.draw() < 0.5 else (other, best):
            z = node.memories[k][0]
            step = 2 * RATE * weight * (float(wrong[k]) - self.learned(x, z))
            for row, value in self.shown(x, z).items():
                self.weights[row] = self.weights.get(row, 0) + step * value

    def direction(self, rows, examples):
        w = np.array([self.draw() for _ in rows])
        w /= np.linalg.norm(w)
        if self.p.router == "random":
            return w
        X = np.array([[x.get(row, 0) for row in rows] for x in examples])
        order, X = list(range(len(X))), X - X.mean(axis=0)
        for _ in range(40):
            self.shuffle(order)
            for n, k in enumerate(order, 1):
                w += X[k] @ w / n * X[k]
                w /= np.linalg.norm(w)
        return w

    def divide(self, node):
        examples = [x for x, _ in node.memories]
        rows = sorted({row for x in examples for row in x})
        node.router = dict(zip(rows, self.direction(rows, examples), strict=True))
        node.median = float(np.median([dot(x, node.router) for x in examples]))
        memories, node.memories, node.sides = node.memories, [], (Node(), Node())
        for x, label in memories:
            self.leaf_below(node, x).memories.append((x, label))

    @staticmethod
    def leaf_below(node, x):
        return node.sides[int(dot(x, node.router) >= node.median)]

    def learn(self, x, label, weight):
        node = self.leaf(x)
        nearest = self.predict(x, node)
        self.teach(x, label, weight, node)
        if nearest[1]:
            self.used.append(self.used.pop(next(k for k, each in enumerate(self.used) if each is nearest[0])))
        if not any(z == x for z, _ in node.memories):
            if len(self.used) == self.p.most:
                gone = self.used.pop(0)
                leaf = self.leaf(gone)
                leaf.memories = [each for each in leaf.memories if each[0] is not gone]
            self.used.append(x)
            node.memories.append((x, label))
            if len(node.memories) > self.p.leaf:
                self.divide(node)
        return nearest[1]


def data(count=150, seed=0, width=6):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(4, width)).astype(np.float32)
    labels = random.integers(4, size=count)
    X = centres[labels] + 0.8 * random.normal(size=(count, width)) * (random.random((count, width)) < 0.7)
    return [
        f"{label + 1} {random.choice((0.5, 1, 2))} |a " + " ".join(f"w{k}:{v:.4f}" for k, v in enumerate(x))
        for label, x in zip(labels, X, strict=True)
    ]


def features_of(batch):
    rows = (batch.indices.astype(int) & ((1 << 20) - 1)).tolist()
    return dict(sorted(zip(rows, batch.values.astype(float).tolist(), strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"leaf": 12},
        {"leaf": 20, "initial": "gaussian", "router": "random", "memories": 60},
        {"leaf": 7, "initial": "euclidean", "scorer": "not_self_consistent_rank"},
        {"leaf": 5, "scorer": "distance", "memories": 20},
        {"leaf": 30, "scorer": "random", "router": "random"},
        {"leaf": 200, "initial": "none"},
    ],
    ids=str,
)
def test_predictions_by_a_tree_of_python(parameters):
    chain, twin, found, wanted = chain_with(**parameters), Twin(**parameters), [], []
    for line in data():
        [batch] = chain.batches([line])
        found.append(int(chain.run_batch(batch)[0].predictions[0]))
        wanted.append(twin.learn(features_of(batch), int(batch.labels[0]), float(batch.importance[0])))
    assert found[0] == 0  # nothing is kept yet
    assert np.array_equal(found, wanted), np.flatnonzero(np.array(found) != np.array(wanted))
    assert len(set(found)) == 5
    kept = chain.layers[0].saved()
    assert len(kept["places"]) == len(twin.used)
    assert len(kept["tree"]) > 3 or parameters["leaf"] == 200


@pytest.mark.slow
def test_the_memory_used_least_recently_leaves_first():
    chain = chain_with(memories=3, scorer="distance", initial="euclidean")
    found = chain.learn([f"{k} |a x:{k}" for k in (1, 5, 9)])
    assert found.tolist() == [0, 1, 5]
    assert chain.learn(["2 |a x:1.5"]).tolist() == [1]  # which 1 was used for, so that 5, used for 9, leaves
    assert sorted(chain.layers[0].saved()["places"][:, 3].tolist()) == [1, 2, 9]
    assert chain.predict(["|a x:5", "|a x:9.5"]).tolist() == [2, 9]
    assert chain.learn(["2 |a x:1.5"]).tolist() == [2]  # it is kept already
    assert len(chain.layers[0].saved()["places"]) == 3


@pytest.mark.slow
def test_predicting_changes_nothing():
    chain = chain_with(leaf=4)
    chain.learn(data(30))
    before = {name: array.copy() for name, array in chain.arrays().items()}
    first, second = (chain.predict(data(20, 1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    for name, array in chain.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.slow
def test_features_beyond_the_megabytes_push_others_out_and_this_is_said():
    chain = chain_with(megabytes=1, scorer="distance")
    words = [" ".join(f"w{k}:{1 + part}" for k in range(30000)) for part in range(4)]
    with pytest.warns(UserWarning, match="its 1 megabytes were full: 2 memories left early; set megabytes higher"):
        chain.learn([f"{part + 1} |a {text}" for part, text in enumerate(words)])
    layer = chain.layers[0]
    assert len(layer.saved()["places"]) == 2
    chain.learn(["1 |a " + " ".join(f"v{k}" for k in range(70000))])
    assert len(layer.saved()["places"]) == 2 and "3 memories" in layer.doubts()


@pytest.mark.slow
def test_a_tree_without_nodes_divides_no_more_leaves_until_two_are_empty(monkeypatch, tmp_path):
    monkeypatch.setattr(EigenMemoryTreeParameters, "most_nodes", property(lambda self: 5))
    chain = chain_with(memories=12, leaf=2, scorer="distance", initial="euclidean")
    with pytest.warns(UserWarning, match="its tree was full, and leaves hold more than 2 memories"):
        chain.learn([f"{1 + k % 3} |a x:{k} y:{k * k % 7}" for k in range(40)])
    layer = chain.layers[0]
    saved = layer.saved()
    assert len(saved["tree"]) == 5 and len(saved["places"]) == 12
    chain.learn([f"{1 + k % 3} |a x:{-k} y:{k * k % 5}" for k in range(200, 300)])
    arrays = layer.saved()
    layer.check_saved(arrays)
    chain.save(tmp_path / "model")
    assert Chain.load(tmp_path / "model").layers[0].doubts() == layer.doubts()
    assert not np.array_equal(saved["medians"], arrays["medians"])
    assert len(arrays["tree"]) == 5 and arrays["routers"][:, 1].sum() == len(arrays["router_rows"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:eigen_memory_tree:UserWarning")
@pytest.mark.parametrize("parameters", [{"memories": 25, "leaf": 3}, {"leaf": 6, "megabytes": 1}], ids=str)
def test_resuming_is_exact_whatever_the_gaps_in_memory(parameters, tmp_path):
    base = {"interactions": [["a", "b"]]}
    lines = [line + " |b v:0.5 u" for line in data(400, 2)]
    whole, part = (chain_with(base, **parameters) for _ in range(2))
    for layer in (whole.layers[0], part.layers[0]):
        layer.state["limit"] = 400  # so that pieces are moved together, and memories leave
    whole.learn(lines[:250])
    part.learn(lines[:250])
    part.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    again.layers[0].state["limit"] = 400
    np.testing.assert_array_equal(whole.learn(lines[250:]), again.learn(lines[250:]))
    arrays = again.arrays()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("places", lambda each: each.__setitem__((0, 0), 0), "do not list each memory once"),
        ("places", lambda each: each.__setitem__((1, 2), 1), "do not list each memory once"),
        ("places", lambda each: each.__setitem__((2, 5), 3), "do not rise, or are not finite"),
        ("words", lambda each: each.view(np.uint32).__setitem__(slice(0, 2), [7, 7]), "do not rise, or are not finite"),
        ("tree", lambda each: each.__setitem__((0, 1), 2), "do not fit each other"),
        ("tree", lambda each: each.__setitem__((1, 5), 9), "do not list each memory once"),
        ("routers", lambda each: each.__setitem__((0, 1), 1 << 30), "got directions that do not fit"),
    ],
)
def test_untrue_models_are_refused(name, change, said):
    chain = chain_with(leaf=3)
    chain.learn([f"{1 + k % 3} |a x:{k} y:{k * k % 7}" for k in range(12)])
    arrays = {each: array.copy() for each, array in chain.layers[0].saved().items()}
    chain.layers[0].check_saved(arrays)
    change(arrays[name])
    with pytest.raises(ModelError, match=said):
        chain.layers[0].check_saved(arrays)


def test_several_sub_models_are_refused():
    layer = chain_with().layers[0]
    with pytest.raises(ConfigError, match="eigen_memory_tree: got 2 sub-models, wanted one"):
        EigenMemoryTree(layer.parameters, replace(layer.context, submodels=2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [{"memories": 50, "leaf": 20, "router": "random"}, {"scorer": "not_self_consistent_rank", "initial": "gaussian"}],
    ids=str,
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(EigenMemoryTree, parameters):
        check()
