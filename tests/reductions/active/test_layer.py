"""The active layer: decisions by its rules, VW's simulations query for query, labels that stay hidden."""

import math
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from hutch.chain import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import EXAMPLE
from hutch.core.kernel.random import uniform
from hutch.reductions.active.memory import KEPT, Memory, recall, remember
from hutch.reductions.active.rules import FLOOR

shared = Path(__file__).parents[3].parent / "shared"
ADAGRAD = {"loss": "logistic", "normalized": False}
PLAIN = {"adaptive": False, "normalized": False, "power_t": 0.0, "learning_rate": 0.3}


def build(active, linear=ADAGRAD, **frame):
    return Chain.from_config({**frame, "chain": [{"active": active}, {"linear": linear}]})


def stream(n, seed=0, words=30):
    random = np.random.default_rng(seed)
    weights, lines = random.normal(size=words), []
    for _ in range(n):
        chosen = random.choice(words, 6, replace=False)
        label = 1 if weights[chosen].sum() + 0.3 * random.normal() > 0 else -1
        lines.append(f"{label} |f " + " ".join(f"w{j}" for j in chosen))
    return lines


def flipped(line):
    return line[1:] if line.startswith("-") else "-" + line


# Memory


def example_record(features, namespaces, costs, label):
    indices = np.arange(features, dtype=np.uint32) + int(label)
    arrays = (
        indices,
        indices.astype(np.float32) / 2,
        np.linspace(5, 5 + features, namespaces + 1).astype(np.int64),
        np.arange(namespaces, dtype=np.uint32),
        np.arange(costs, dtype=np.uint32),
        np.arange(costs, dtype=np.float32) * 3,
    )
    record = np.zeros(1, EXAMPLE)
    names = ("indices", "values", "namespaces", "namespace_ids", "cost_classes", "costs")
    for name, array in zip(names, arrays, strict=True):
        record[name] = array.ctypes.data
    record["length"], record["namespace_count"], record["cost_count"] = features, namespaces, costs
    record["base"], record["group"] = 0.5, -7
    return record, arrays


def words_of(indices, values, offsets, ids, classes, costs):
    """Room for an example: at most 50 words of 8 bytes, with up to 39 features, 3 namespaces and 4 costs."""
    return len(offsets) + 2 * -(-len(indices) // 2) + -(-len(ids) // 2) + 2 * -(-len(costs) // 2)


def read(address, count, kind):
    size = count * np.dtype(kind).itemsize
    return np.frombuffer((np.ctypeslib.ctypes.c_char * size).from_address(int(address)), kind) if size else []


def test_memory_keeps_the_latest_examples_whole():
    random = np.random.default_rng(3)
    memory, kept = Memory(160), deque()
    at, out = np.uint64(memory.record.address), np.zeros(1, EXAMPLE)
    largest, forgotten = 0, False
    for number in range(300):
        features, namespaces, costs = (
            int(random.integers(0, 40)),
            int(random.integers(1, 4)),
            int(random.integers(0, 5)),
        )
        if number % 50 == 49:
            features = 400  # does not fit at all
        record, arrays = example_record(features, namespaces, costs, number)
        remember(at, np.uint64(record.ctypes.data), np.float32(number), np.float32(2))
        if features < 400:
            kept.append((number, arrays))
        while len(kept) > len(memory):
            kept.popleft()
            forgotten = True
        if forgotten and len(memory) < 10:  # no more than had to be: two gaps, each smaller than an example
            assert sum(words_of(*arrays) for _, arrays in kept) > 160 - 2 * 50
        largest = max(largest, len(kept))
        for k, (label, (indices, values, offsets, ids, classes, costs_)) in enumerate(kept):
            assert recall(at, np.uint64(k), np.uint64(out.ctypes.data)) == (label, 2)
            e = out[0]
            assert (read(e["indices"], int(e["length"]), "u4") == indices).all()
            assert (read(e["values"], int(e["length"]), "f4") == values).all()
            assert (read(e["namespaces"], int(e["namespace_count"]) + 1, "i8") == offsets - offsets[0]).all()
            assert (read(e["namespace_ids"], int(e["namespace_count"]), "u4") == ids).all()
            assert list(read(e["cost_classes"], int(e["cost_count"]), "u4")) == list(classes)
            assert list(read(e["costs"], int(e["cost_count"]), "f4")) == list(costs_)
            assert (e["base"], e["group"], e["label"]) == (0.5, -7, label)
    assert largest >= 4 and len(memory) >= 2
    assert sum(array.nbytes for array in memory.saved().values()) >= 160 * 8 + 10 * KEPT.itemsize


# Decisions


def test_decisions_follow_the_budget_rule():
    """The rule of the docs in plain NumPy, from the recorded scores."""
    lines, budget, window = stream(400), 0.2, 80
    chain = build({"budget": budget, "horizon": 400})
    trace = chain.layers[0].trace(400)
    chain.learn(lines)
    spent, cutoff = 0.0, None
    for t, entry in enumerate(trace):
        if t < 60 or t % 10 == 0:
            latest = trace["score"][max(0, t + 1 - window) : t + 1]
            wanted = max(FLOOR * budget, budget + (budget * t - spent) / window)
            low, high = -30.0, 30.0
            for _ in range(60):
                cutoff = math.exp((low + high) / 2)
                ratio = cutoff / np.maximum(latest, 1e-300)
                mean = np.maximum(FLOOR * budget, np.minimum(1.0, ratio) ** 4).mean()
                low, high = ((low + high) / 2, high) if mean < wanted else (low, (low + high) / 2)
        ratio = cutoff / max(entry["score"], 1e-300)
        expected = max(FLOOR * budget, min(1.0, ratio) ** 4)
        assert entry["probability"] == pytest.approx(expected, rel=1e-3), t
        assert entry["asked"] == (entry["uniform"] < entry["probability"])
        spent += entry["probability"]
    assert trace["probability"].min() >= FLOOR * budget
    assert chain.statistics.queries == trace["asked"].sum()


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_the_score_is_the_importance_that_reaches_the_threshold(loss):
    """A learner with a constant rate is moved to the threshold by exactly that importance of the other label."""
    linear = {**PLAIN, "loss": loss, "min_prediction": -50.0, "max_prediction": 50.0}
    lines = stream(40)
    for unseen in ("|f w1 w2 w3", "|f w4 w5 w6", "|f w7"):
        learner = Chain.from_config({"chain": [{"linear": linear}]})
        learner.learn(lines)
        active = build({}, linear)
        active.restore({name: active.arrays()[name] for name in active.arrays()} | shared_arrays(learner, active))
        trace = active.layers[0].trace(1)
        [prediction] = active.predict([unseen])
        other = -1 if prediction > 0 else 1
        assert abs(prediction) > 1e-3
        learner.learn([f"{other} {trace['score'][0]:.9g} {unseen}"])
        assert learner.predict([unseen])[0] == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize("normalized", [False, True])
def test_the_score_takes_adaptive_rates_after_the_gradient_at_the_threshold(normalized):
    """h = ln((y - p) / (y - t)) / (2 η Σ x² rate), where the square of the gradient at t = 0 is 4."""
    active = build({"replay": 0, "simulation": False}, {"normalized": normalized, "learning_rate": 0.2})
    active.learn([line.replace(" w", ":0.5 w") + ":2" for line in stream(60)])
    trace, linear = active.layers[0].trace(1), active.layers[1]
    [prediction] = active.predict(["|f w1:0.1 w2:0.7 w4:0.2"])
    rows, x, _ = linear.gathered()
    _, gradients, largest, _ = active.weights[rows].T.astype(float)
    assert gradients.max() > 1 and 0.05 < abs(prediction) < 0.95
    if normalized:
        scale = np.maximum(largest, abs(x))
        mean = linear.saved()["norms"][0] + [np.sum((x / scale) ** 2), 1]
        multiplier = np.sqrt(mean[1] / mean[0])
    else:
        scale, multiplier = 1, 1
    rate = multiplier * np.sum(x**2 / scale / np.sqrt(gradients + 4 * x**2))
    assert trace["score"][0] == pytest.approx(np.log1p(abs(prediction)) / (2 * 0.2 * rate), rel=1e-5)


@pytest.mark.parametrize(("rule", "weighted"), [("iwal", True), ("random", False)])
def test_bought_labels_are_learned_with_the_importance_of_their_rule(rule, weighted):
    lines = ["{} 2 |{}".format(*line.split(" |")) for line in stream(200)]
    chain, plain = (
        build({"rule": rule, "budget": 0.3, "replay": 0}),
        Chain.from_config({"chain": [{"linear": ADAGRAD}]}),
    )
    trace = chain.layers[0].trace(200)
    chain.learn(lines)
    for line, entry in zip(lines, trace, strict=True):
        if entry["asked"]:
            importance = np.float32(2) * (np.float32(1) / np.float32(entry["probability"])) if weighted else 2
            plain.learn([line.replace(" 2 |", f" {importance:.9g} |")])
    assert trace["probability"].min() < 0.5
    np.testing.assert_allclose(chain.weights, plain.weights, rtol=1e-4, atol=1e-6)  # importance is written in decimals


def shared_arrays(source, target):
    """The arrays of a chain without active layer, under the names they have below one."""
    renamed = {name.replace("layer.0.", "layer.1."): array for name, array in source.arrays().items()}
    return {name: array for name, array in renamed.items() if name in target.arrays()}


@pytest.mark.parametrize("rule", ["budget", "iwal", "margin", "random"])
def test_labels_that_were_not_asked_for_change_nothing(rule):
    lines = stream(300)
    first, second = build({"rule": rule, "budget": 0.3}), build({"rule": rule, "budget": 0.3})
    trace = first.layers[0].trace(300)
    first.learn(lines)
    hidden = [line if asked else flipped(line) for line, asked in zip(lines, trace["asked"], strict=True)]
    assert 0.1 < trace["asked"].mean() < 0.45
    second.learn(hidden)
    for name, array in first.arrays().items():
        assert array.tobytes() == second.arrays()[name].tobytes(), name


RULES = [
    {"rule": "budget", "budget": 0.3},
    {"rule": "budget", "budget": 60, "horizon": 300, "memory": 0.001},
    {"rule": "iwal", "budget": 0.3, "replay": 1},
    {"rule": "iwal", "mellowness": 1e-4},
    {"rule": "margin", "budget": 0.3},
    {"rule": "vw", "mellowness": 1e-3},
]


@pytest.mark.parametrize("active", RULES, ids=lambda active: "-".join(map(str, active.values())))
def test_training_goes_on_exactly_where_it_was_saved(active, tmp_path):
    lines = stream(300)
    whole, part = build(active, seed=5), build(active, seed=5)
    together = whole.learn(lines)
    first = part.learn(lines[:170])
    part.save(tmp_path / "model")
    rest = Chain.load(tmp_path / "model").learn(lines[170:])
    assert np.concatenate([first, rest]).tobytes() == together.tobytes()


def test_unlabelled_examples_are_decided_upon_and_predict_changes_nothing():
    chain = build({"budget": 0.2, "simulation": False})
    chain.learn(stream(50))
    before = {name: array.copy() for name, array in chain.arrays().items()}
    pool = [line.split(" ", 1)[1] for line in stream(200, seed=1)]
    [batch] = chain.batches(pool)
    frozen = chain.run_batch(batch, learn=False)[0].queries
    for name, array in chain.arrays().items():
        assert name.startswith("shared.") or array.tobytes() == before[name].tobytes(), name
    live = chain.run_batch(batch)[0].queries
    assert chain.layers[0].loss_sums()[0] == 0  # no estimate is made of labels that never come
    assert chain.layers[0].progress["seen"] == 200 and 20 <= (live > 0).sum() <= 60
    assert set(np.sign(frozen)) <= {-1.0, 1.0} and (frozen[frozen > 0] >= 1).all()


def test_replay_learns_bought_examples_again():
    """With every label bought, it is the same as learning each line and then one of those before."""
    lines = stream(60)
    chain = build({"rule": "random", "budget": 1.0, "replay": 2}, seed=9)
    chain.learn(lines)
    plain = Chain.from_config({"chain": [{"linear": ADAGRAD}]})
    for i, line in enumerate(lines):
        plain.learn([line, *(lines[int(uniform(9, i + 1, 1 + k) * (i + 1))] for k in range(2))])
    assert chain.weights.tobytes() == plain.weights.tobytes()


def test_a_bought_label_is_replayed_for_each_example_since_the_last():
    """One replay an example: as much is learned as from all labels, and only when a label comes in."""
    lines = stream(200)
    chain = build({"budget": 0.3, "replay": 1}, seed=9)
    trace = chain.layers[0].trace(200)
    chain.learn(lines)
    plain, bought, last = Chain.from_config({"chain": [{"linear": ADAGRAD}]}), [], 0
    for seen in np.flatnonzero(trace["asked"]) + 1:
        bought.append(lines[seen - 1])
        plain.learn([bought[-1]])
        for k in range(seen - last):
            plain.learn([bought[int(uniform(9, len(bought), 1 + k) * len(bought))]])
        last = seen
    assert chain.weights.tobytes() == plain.weights.tobytes()


def test_replay_of_answers_follows_what_they_stand_for():
    """No more than 63 examples are learned again after one label; an answer alone is one example."""
    lines = stream(3)

    def weights(stands_for):
        chain = build({"budget": 0.1, "simulation": False}, seed=9)
        chain.layers[0].examples_per_label = stands_for
        chain.learn(lines)
        return chain.weights.tobytes()

    assert weights(0) == weights(1) != weights(5.0)
    assert weights(63) == weights(1000)


@pytest.mark.parametrize(("budget", "low", "high"), [(0.1, 480, 520), (0.3, 1440, 1560), (200, 185, 200)])
def test_a_budget_is_spent_and_not_more(budget, low, high):
    chain = build({"budget": budget, "horizon": 5000})
    chain.learn(stream(5000))
    assert low <= chain.statistics.queries <= high


def test_the_loss_estimate_is_the_sum_over_bought_labels():
    chain = build({"budget": 0.2})
    trace = chain.layers[0].trace(2000)
    chain.learn(stream(2000))
    bought = trace[trace["asked"] == 1]
    covered, errors, spread, weight, _ = chain.layers[0].loss_sums()
    inverse = 1 / bought["probability"]
    assert covered == 2000
    assert errors == pytest.approx((bought["error"] * inverse).sum())
    assert spread == pytest.approx((bought["error"] * (1 - bought["probability"]) * inverse**2).sum())
    assert weight == pytest.approx(inverse.sum())
    assert abs(errors / covered - trace["error"].mean()) < 0.05
    assert chain.statistics.weighted_labeled == pytest.approx(weight, rel=1e-5)


def test_rules_buy_better_than_chance():
    train, test = stream(3000), stream(1000, seed=0)[:1000]
    labels = np.array([float(line.split(" ")[0]) for line in test])
    error = {}
    for rule in ("budget", "random"):
        chain = build({"rule": rule, "budget": 0.05})
        chain.learn(train)
        error[rule] = np.mean((chain.predict(test) > 0) != (labels > 0))
    assert error["budget"] < error["random"]


@pytest.mark.parametrize(
    ("active", "message"),
    [
        ({"budget": 0.1, "mellowness": 1.0}, "got both budget and mellowness, wanted one of them"),
        ({"rule": "vw", "budget": 0.1}, "rule 'vw' has no budget, wanted mellowness"),
        ({"rule": "random", "mellowness": 0.1}, "rule 'random' has no mellowness, wanted a budget"),
        ({"budget": 500}, "got 500 labels without horizon"),
        ({"labels": [1, -1]}, "wanted the lower and then the upper label"),
        ({"rule": "bugdet"}, "rule"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(active, message):
    with pytest.raises(ConfigError) as raised:
        build(active)
    assert message in str(raised.value)


# Classes


def class_stream(n, seed=0, classes=4):
    random = np.random.default_rng(seed)
    weights, lines = np.random.default_rng(0).normal(size=(classes, 30)), []
    for _ in range(n):
        chosen = random.choice(30, 6, replace=False)
        label = 1 + int(weights[:, chosen].sum(axis=1).argmax())
        lines.append(f"{label} |f " + " ".join(f"w{j}" for j in chosen))
    return lines


def class_chain(layer, active=None, linear=ADAGRAD):
    layers = [{"active": active}] if active else []
    return Chain.from_config({"chain": [*layers, {layer: {"classes": 4}}, {"linear": linear}]})


@pytest.mark.parametrize("layer", ["one_against_all", "filter_tree"])
def test_above_classes_there_is_one_decision_an_example(layer):
    lines = class_stream(1500)
    chain = class_chain(layer, {"budget": 0.2})
    trace = chain.layers[0].trace(1500)
    chain.learn(lines)
    assert chain.layers[0].progress["seen"] == 1500 and 0.18 <= trace["asked"].mean() <= 0.22
    labels = np.array([float(line.split(" ")[0]) for line in lines])
    assert (trace["error"] == (trace["prediction"] != labels)).all()
    assert trace["error"][trace["score"] < np.median(trace["score"])].mean() > 1.2 * trace["error"].mean()
    chance = class_chain(layer, {"rule": "random", "budget": 0.2})
    chance.learn(lines)
    test = class_stream(800, seed=7)
    truth = np.array([float(line.split(" ")[0]) for line in test])
    assert np.mean(chain.predict(test) != truth) < np.mean(chance.predict(test) != truth)


@pytest.mark.parametrize("layer", ["one_against_all", "filter_tree"])
def test_the_score_is_the_least_importance_that_changes_the_class(layer):
    """With a constant rate: a little less of any other label leaves the class as it is, a little more of one does not.

    In a tree the newcomer must win the matches that follow, too; there the score is a lower bound.
    """
    linear = {**PLAIN, "loss": "logistic"}
    for unseen in ("|f w1 w2 w3", "|f w4 w5 w6", "|f w7 w8 w9"):
        active = class_chain(layer, {"simulation": False, "replay": 0}, linear)
        active.learn(class_stream(60))
        trace = active.layers[0].trace(1)
        [prediction] = active.predict([unseen])
        changed = {}
        for factor in (0.98, 1.02):
            changed[factor] = False
            for label in {1, 2, 3, 4} - {int(prediction)}:
                other = class_chain(layer, {"simulation": False, "replay": 0}, linear)
                other.restore(active.arrays())
                other.learn([f"{label} {factor * trace['score'][0]:.9g} {unseen}"])
                changed[factor] |= other.predict([unseen])[0] != prediction
        assert not changed[0.98]
        assert changed[1.02] or layer == "filter_tree"


@pytest.mark.parametrize("layer", ["one_against_all", "filter_tree"])
def test_training_above_classes_goes_on_where_it_was_saved(layer, tmp_path):
    lines = class_stream(200)
    whole, part = (class_chain(layer, {"budget": 0.3}) for _ in range(2))
    together = whole.learn(lines)
    first = part.learn(lines[:90])
    part.save(tmp_path / "model")
    rest = Chain.load(tmp_path / "model").learn(lines[90:])
    assert np.concatenate([first, rest]).tobytes() == together.tobytes()


def test_the_margin_of_classes_is_the_gap_of_their_scores():
    chain = class_chain("one_against_all", {"rule": "margin", "budget": 0.2, "simulation": False})
    chain.learn(class_stream(100))
    top = np.sort(chain.scores(["|f w1 w2 w3"])[0])
    trace = chain.layers[0].trace(1)
    chain.predict(["|f w1 w2 w3"])
    assert trace["score"][0] == pytest.approx(top[-1] - top[-2], rel=1e-6)


def test_layers_that_cannot_serve_a_rule_are_named():
    with pytest.raises(ConfigError, match="rule 'vw' needs scalar predictions from the layer below, 'filter_tree'"):
        class_chain("filter_tree", {"rule": "vw"})
    with pytest.raises(ConfigError, match="rule 'margin' needs class scores from below, which 'filter_tree'"):
        class_chain("filter_tree", {"rule": "margin"})
    logged = [{"action_per_class": {"classes": 3}}, "contextual_bandit", "cost_sensitive_with_features", "linear"]
    with pytest.raises(ConfigError, match="active asks for labels, but 'action_per_class' below it learns from logged"):
        Chain.from_config({"chain": [{"active": {"rule": "margin", "budget": 0.5}}, *logged]})


def test_a_label_that_rule_vw_is_more_than_sure_to_ask_for_counts_once():
    layers = ["binary", {"active": {"rule": "vw", "mellowness": 1.0}}, {"linear": {"adaptive": False, "l1": 1e-4}}]
    chain = Chain.from_config({"chain": layers})
    progress, trace = chain.layers[1].progress, chain.layers[1].trace(40)
    chain.learn([f"{1 if k % 3 else -1} |f a{k % 5} b{k % 7}" for k in range(40)])
    chances = trace["probability"]
    assert chances.max() == 1
    assert progress["spent"][0] == pytest.approx(chances.sum())
    asked = chances[trace["asked"] == 1]
    assert progress["weight"][0] == pytest.approx((1 / asked).sum())
    assert progress["excess"][0] == pytest.approx(((1 - asked) / asked**2).sum()) and progress["excess"][0] >= 0


# VW

CASES = {
    "a00": ({"mellowness": 1e-6}, {"learning_rate": 10.0, "initial_t": 10.0}, {"seed": 3, "weights": {"bits": 12}}),
    "a01": ({}, {"loss": "logistic"}, {}),
    "a02": ({"mellowness": 0.01}, {"loss": "hinge"}, {}),
    "a03": ({"mellowness": 0.001}, {}, {}),
    "a04": ({"simulation": False}, {}, {"seed": 2}),
    "a05": ({"simulation": False}, {}, {}),
    "a06": ({"simulation": False, "mellowness": 0.01}, {"loss": "logistic"}, {}),
}


@pytest.mark.skipif(not shared.is_dir(), reason="VW's recorded runs are not distributed with Hutch")
@pytest.mark.parametrize("case", CASES)
def test_rule_vw_asks_as_vw_does(case):
    active, linear, frame = CASES[case]
    folder = shared / "cases" / "vw" / "active" / case
    chain = build({"rule": "vw", **active}, linear, input={"namespaces": "letter"}, **frame)
    lines = (folder / "input.vw").read_text().splitlines()
    [batch] = chain.batches(lines)
    outputs, _ = chain.run_batch(batch)
    for i, reply in enumerate((folder / "out1.pred").read_text().splitlines()):
        words = reply.split(" ")
        if len(words) > 1 and words[1] == "query?":  # --direct prints the importance as the prediction
            assert outputs.queries[i] == pytest.approx(float(words[0]), rel=1e-5)
            continue
        assert outputs.predictions[i] == pytest.approx(float(words[0]), abs=2e-6), i
        if "--simulation" not in (folder / "args").read_text():
            importance = float(words[2]) if len(words) > 2 else -1.0
            assert outputs.queries[i] == pytest.approx(importance, rel=1e-5), i
    said = dict(line.split(" = ") for line in (folder / "out1.stderr").read_text().splitlines() if " = " in line)
    assert chain.statistics.average_loss == pytest.approx(float(said["average loss"]), abs=1e-6)
    if "total queries" in said:
        assert chain.statistics.queries == int(said["total queries"])


@pytest.mark.parametrize(("floor", "least"), [(None, 0.04), (0.07, 0.07), (0.5, 0.1)])
def test_the_least_probability_of_a_pool_is_the_floor(floor, least):
    layer = build({"floor": floor}).layers[0]
    found = layer.pool_probabilities(np.random.default_rng(3).lognormal(0, 5, 1000), 100)
    assert found.sum() == pytest.approx(100)
    assert found.min() == pytest.approx(least, rel=1e-4)
