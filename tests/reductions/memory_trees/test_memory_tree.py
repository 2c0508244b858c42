"""The memory tree: against the same tree in Python over linear models, its memory, and models of it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.random import merand48
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.memory_trees.memory_tree import MemoryTree, MemoryTreeParameters

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
    layers = [{"memory_tree": {"nodes": 15} | parameters}, {"linear": PLAIN | (base or {})}]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 20}})


def dot(x, z):
    return sum(value * z[row] for row, value in x.items() if row in z)


class Node:
    def __init__(self, number, parent=None):
        self.number, self.parent, self.sides, self.memories, self.flow = number, parent, None, [], [0.001, 0.001]
        self.weights = {}


class Memory:
    def __init__(self, x, label):
        self.x, self.label, self.leaf = x, label, None


class Twin:
    """A tree of nodes with a linear model each, and one of what is similar."""

    def __init__(self, **parameters):
        self.p, self.root, self.state, self.memories = MemoryTreeParameters(**parameters), Node(0), np.uint64(0), []
        self.nodes, self.similar, self.low, self.high, self.learned = 1, {}, 0.0, 0.0, 0
        self.used, self.first = [], True

    def draw(self):
        self.state, found = merand48(self.state)
        return np.float32(found)

    def clipped(self, score):
        return min(max(score, self.low), self.high)

    def step(self, weights, x, label, weight=1.0, base=0.0):
        self.low, self.high = min(self.low, label), max(self.high, label)
        change = 2 * RATE * weight * (label - self.clipped(dot(x, weights) + base))
        for row, value in x.items():
            weights[row] = weights.get(row, 0.0) + change * value

    def score(self, node, x):
        return self.clipped(dot(x, node.weights))

    def leaf(self, node, x):
        while node.sides:
            node = node.sides[int(self.score(node, x) >= 0)]
        return node

    def teach(self, node, x):
        alpha = float(np.float32(self.p.alpha))
        balance = (1 - alpha) * math.log2(max(node.flow[0], 1e-300) / (node.flow[1] + 0.1))
        self.step(node.weights, x, -1.0 if balance + alpha * self.score(node, x) < 0 else 1.0)
        return self.score(node, x)

    def count(self, node, score):
        side = int(score >= 0)
        node.flow[side] += 1
        return node.sides and node.sides[side]

    def put(self, memory, node, spare):
        node.memories.append(memory)
        memory.leaf = node
        if len(node.memories) >= self.p.most_in_leaf and self.nodes + 2 + spare <= self.p.nodes:
            self.divide(node)

    def divide(self, node):
        node.sides = (Node(self.nodes, node), Node(self.nodes + 1, node))
        self.nodes += 2
        memories, node.memories = node.memories, []
        for memory in memories:
            side = node.sides[int(self.score(node, memory.x) >= 0)]
            side.memories.append(memory)
            memory.leaf = side
            side.flow[int(self.teach(side, memory.x) >= 0)] += 1
        node.flow = [max(float(len(side.memories)), 0.001) for side in node.sides]

    def insert(self, memory):
        node = self.root
        while node.sides:
            node = self.count(node, self.teach(node, memory.x))
        node.memories.append(memory)
        memory.leaf = node
        self.count(node, self.teach(node, memory.x))
        if len(node.memories) >= self.p.most_in_leaf and self.nodes + 2 <= self.p.nodes:
            self.divide(node)

    def put_back(self, memory):
        node = self.root
        while node.sides:
            node = self.count(node, self.score(node, memory.x))
        self.put(memory, node, 1)

    def drawn(self):
        node = self.root
        while node.sides:
            left = False
            if node.flow[0] >= 1:
                left = node.flow[1] < 1 or float(self.draw()) < node.flow[0] / sum(node.flow)
            node.flow[int(not left)] -= 1
            node = node.sides[int(not left)]
        if not node.memories:
            return None
        return node.memories.pop(int(self.draw() * np.float32(len(node.memories))))

    def products(self, x, z):
        lengths = math.sqrt(dot(x, x) * dot(z, z))
        return {row: value * z[row] / lengths for row, value in x.items() if row in z}

    def nearest(self, leaf, x):
        def similarity(memory):
            products = self.products(x, memory.x)
            learned = self.p.learns_similarity and not self.first
            return sum(products.values()) + (dot(products, self.similar) if learned else 0.0)

        return max(leaf.memories, key=similarity, default=None)

    def teach_similarity(self, memory, other, weight):
        products = self.products(memory.x, other.x)
        reward = float(memory.label == other.label)
        self.step(self.similar, products, reward, weight, -sum(products.values()))

    def query(self, memory):
        path = [self.root]
        while path[-1].sides:
            path.append(path[-1].sides[int(self.score(path[-1], memory.x) >= 0)])
        if len(path) < 2:
            return
        node = path[int(self.draw() * np.float32(len(path)))]
        if not node.sides:
            if self.p.learns_similarity and node.memories:
                other = node.memories[int(self.draw() * np.float32(len(node.memories)))]
                self.teach_similarity(memory, other, 1.0)
            return
        right = self.draw() < 0.5
        found = self.nearest(self.leaf(node.sides[int(right)], memory.x), memory.x)
        reward = float(found is not None and found.label == memory.label)
        if self.p.learns_similarity and found is not None:
            self.teach_similarity(memory, found, len(path) / (len(path) - 1))
        alpha = float(np.float32(self.p.alpha))
        balance = math.log(max(node.flow[0], 1e-300) / max(node.flow[1], 1e-300))
        objective = (1 - alpha) * balance + alpha * (reward if right else -reward)
        self.step(node.weights, memory.x, -1.0 if objective < 0 else 1.0, min(max(abs(objective), 0.01), 100.0))

    def forget(self, memory):
        memory.leaf.memories.remove(memory)
        node = memory.leaf
        while node.parent:
            side = node.parent.sides.index(node)
            node.parent.flow[side] = max(node.parent.flow[side] - 1, 0.001)
            node = node.parent
        place, last = self.memories.index(memory), self.memories.pop()
        if last is not memory:
            self.memories[place] = last

    def learn(self, x, label):
        found = self.nearest(self.leaf(self.root, x), x)
        if found:
            self.used.remove(found)
            self.used.append(found)
        self.learned += 1
        if self.first:
            if len(self.memories) == self.p.most:
                self.forget(self.used.pop(0))
            memory = Memory(x, label)
            self.memories.append(memory)
            self.used.append(memory)
            if self.p.online:
                self.query(memory)
            self.insert(memory)
        else:
            self.query(self.memories[self.learned % len(self.memories)])
        for _ in range(self.p.replays):
            if (drawn := self.drawn()) is not None:
                (self.insert if self.first or self.p.learns_replays else self.put_back)(drawn)
        return found.label if found else 0


def data(count=120, seed=0, width=6):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(4, width)).astype(np.float32)
    labels = random.integers(4, size=count)
    X = centres[labels] + 0.8 * random.normal(size=(count, width)) * (random.random((count, width)) < 0.7)
    return [
        f"{label + 1} |a " + " ".join(f"w{k}:{v:.4f}" for k, v in enumerate(x))
        for label, x in zip(labels, X, strict=True)
    ]


def features_of(batch):
    mask = (1 << 20) - 1
    return dict(zip((batch.indices.astype(int) & mask).tolist(), batch.values.astype(float).tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"nodes": 15, "leaf_multiplier": 3},
        {"nodes": 40, "replays": 3, "online": True, "alpha": 0.5},
        {"nodes": 15, "learns_similarity": True, "online": True, "learns_replays": True, "leaf_multiplier": 2},
        {"nodes": 20, "memories": 30, "replays": 2},
        {"nodes": 1, "replays": 0},
    ],
    ids=str,
)
def test_predictions_by_a_tree_of_python(parameters):
    chain, twin, found, wanted = chain_with(**parameters), Twin(**parameters), [], []
    for number in range(2):
        for line in data():
            [batch] = chain.batches([line])
            found.append(int(chain.run_batch(batch)[0].predictions[0]))
            wanted.append(twin.learn(features_of(batch), int(batch.labels[0])))
        if number == 0:
            chain.end_pass()
            twin.first = False
    assert found[0] == 0  # nothing is kept yet
    assert np.array_equal(found, wanted), np.flatnonzero(np.array(found) != np.array(wanted))
    if twin.p.learns_similarity:  # by the sub-model behind those of 15 nodes
        rows = np.array([*twin.similar]) * 16 + 15 & (1 << 20) - 1
        np.testing.assert_allclose(chain.weights[rows, 0], [*twin.similar.values()], atol=1e-4)
        assert np.abs(chain.weights[rows, 0]).max() > 0.1
    saved = chain.layers[0].saved()
    assert len(saved["places"]) == len(twin.memories) == parameters.get("memories", 120)
    assert len(saved["tree"]) == twin.nodes


@pytest.mark.slow
def test_only_the_first_pass_is_kept():
    chain = chain_with()
    chain.learn(data(20))
    chain.end_pass()
    chain.learn(data(20, 1))
    assert len(chain.layers[0].saved()["places"]) == 20


@pytest.mark.slow
def test_predicting_changes_nothing():
    chain = chain_with(learns_similarity=True)
    chain.learn(data(30))
    chain.end_pass()
    before = {name: array.copy() for name, array in chain.arrays().items()}
    np.testing.assert_array_equal(*(chain.predict(data(20, 1)) for _ in range(2)))
    for name, array in chain.arrays().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


@pytest.mark.slow
def test_more_memories_than_there_is_room_for_are_said():
    chain = chain_with(megabytes=1, nodes=1)
    words = [" ".join(f"w{k}:{1 + part}" for k in range(15000)) for part in range(4)]
    with pytest.warns(UserWarning, match="its 1 megabytes were full: 2 memories left early; set megabytes higher"):
        chain.learn([f"{part + 1} |a {text}" for part, text in enumerate(words)])
    assert sorted(chain.layers[0].saved()["places"][:, 3].tolist()) == [3, 4]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:memory_tree:UserWarning")
@pytest.mark.parametrize("parameters", [{"memories": 25, "online": True}, {"learns_similarity": True}], ids=str)
def test_resuming_is_exact_whatever_the_gaps_in_memory(parameters, tmp_path):
    lines = [line + " |b v:0.5 u" for line in data(400, 2)]
    whole, part = (chain_with({"interactions": [["a", "b"]]}, **parameters) for _ in range(2))
    for chain in (whole, part):
        chain.layers[0].state["limit"] = 1500  # so that pieces are moved together, and memories leave
        chain.learn(lines[:250])
    part.save(tmp_path / "model")
    again = Chain.load(tmp_path / "model")
    again.layers[0].state["limit"] = 1500
    found = [(chain.learn(lines[250:350]), chain.end_pass(), chain.learn(lines[350:])) for chain in (whole, again)]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][2], found[1][2])
    arrays = again.arrays()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("places", lambda each: each.__setitem__((0, 0), 0), "do not list each memory once"),
        ("places", lambda each: each.__setitem__((2, 4), 1), "no example that was read"),
        ("words", lambda each: each.view(np.int64).__setitem__(1, 9), "no example that was read"),
        ("tree", lambda each: each.__setitem__((0, 1), 2), "do not fit each other"),
    ],
)
def test_untrue_models_are_refused(name, change, said):
    chain = chain_with()
    chain.learn([f"{1 + k % 3} |a x:{k + 1} y:{k * k % 7}" for k in range(12)])
    arrays = {each: array.copy() for each, array in chain.layers[0].saved().items()}
    chain.layers[0].check_saved(arrays)
    change(arrays[name])
    with pytest.raises(ModelError, match=said):
        chain.layers[0].check_saved(arrays)


def test_several_sub_models_are_refused():
    layer = chain_with().layers[0]
    with pytest.raises(ConfigError, match="memory_tree: got 2 sub-models, wanted one"):
        MemoryTree(layer.parameters, replace(layer.context, submodels=2))


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"nodes": 5, "learns_similarity": True}, {"nodes": 9, "online": True}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(MemoryTree, parameters):
        check()
