"""One against all, tournaments, costs, links and binary decisions: against what they are made of."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import call, layer_of
from hutch.core.kernel.cache import compiled
from hutch.reductions.error_correcting_tournament import draw_up

F = np.float32


def make(*layers, seed=0, bits=12):
    config = {"chain": list(layers), "weights": {"bits": bits}, "input": {"namespaces": "letter"}, "seed": seed}
    return Chain.from_config(config)


def lines_of(count=80, classes=4, seed=0):
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        label = random.integers(1, classes + 1)
        noise = " ".join(f"n{k}" for k in random.integers(0, 9, 3))
        lines.append(
            f"{label} {random.choice([1, 1, 0.5, 3]):g} |a c{label} {noise} |b m{label % 2}:{random.random():.3f}"
        )
    return lines


def costs_of(count=60, seed=0):
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        best = random.integers(1, 5)
        costs = " ".join(f"{k}:{0 if k == best else 1 + random.random():.2f}" for k in range(1, 5))
        lines.append(f"{costs} | f{best} x{random.integers(5)}")
    return lines


def simple_of(lines):
    return [("1" if line[0] in "12" else "-1") + line[1:] for line in lines]


LAYERS = {
    "oaa": [{"one_against_all": {"classes": 4}}, {"linear": {"loss": "logistic"}}],
    "oaa hinge": [{"one_against_all": {"classes": 4}}, {"linear": {"loss": "hinge", "interactions": ["ab"]}}],
    "ect": [{"error_correcting_tournament": {"classes": 4}}, {"linear": {"loss": "hinge"}}],
    "ect 2": [{"error_correcting_tournament": {"classes": 4, "errors": 2}}, {"linear": {"loss": "hinge"}}],
    "ect link": [
        {"error_correcting_tournament": {"classes": 4, "errors": 1}},
        "link",
        {"linear": {"loss": "logistic"}},
    ],
    "csoaa": [{"cost_sensitive_one_against_all": {"classes": 4}}, "linear"],
    "ngrams": [
        {"ngrams": {"size": 3, "skips": 1, "namespaces": ["a"]}},
        {"one_against_all": {"classes": 4}},
        {"linear": {"loss": "logistic"}},
    ],
    "binary": ["binary", {"linear": {"loss": "logistic"}}],
}


def data_for(name):
    lines = lines_of()
    return costs_of() if name == "csoaa" else simple_of(lines) if name == "binary" else lines


@pytest.mark.parametrize("name", LAYERS)
def test_learns(name):
    lines = data_for(name)
    chain = make(*LAYERS[name])
    chain.learn(lines * 4)
    loss = chain.statistics.sum_loss
    chain.learn(lines)
    assert (chain.statistics.sum_loss - loss) / chain.statistics.weighted_labeled * 5 < 0.25


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=6, deadline=None)
@given(cut=st.integers(1, 59))
def test_saved_and_loaded_goes_on_exactly(tmp_path_factory, name, cut):
    path, lines = tmp_path_factory.mktemp("model") / "model", data_for(name)
    whole, first = make(*LAYERS[name]), make(*LAYERS[name])
    expected = whole.learn(lines)
    got = [first.learn(lines[:cut])]
    first.save(path)
    second = Chain.load(path)
    got.append(second.learn(lines[cut:]))
    np.testing.assert_array_equal(np.concatenate(got), expected)
    np.testing.assert_array_equal(second.weights, whole.weights)


@pytest.mark.parametrize("name", LAYERS)
def test_predicting_changes_nothing(name):
    chain, lines = make(*LAYERS[name]), data_for(name)
    chain.learn(lines)
    before = {name: array.copy() for name, array in chain.arrays().items()}
    first = chain.predict(lines)
    np.testing.assert_array_equal(chain.predict(lines), first)
    for key, array in chain.arrays().items():
        np.testing.assert_array_equal(array, before[key], err_msg=key)


def test_one_against_all_is_one_learner_a_class():
    lines = lines_of()
    chain = make({"one_against_all": {"classes": 4}}, {"linear": {"loss": "logistic"}})
    predictions = chain.learn(lines)
    scores = []
    for k in range(4):
        alone = make({"linear": {"loss": "logistic"}})
        relabelled = [("1" if line[0] == str(k + 1) else "-1") + line[1:] for line in lines]
        scores.append(alone.learn(relabelled))
        rows = np.flatnonzero(alone.weights[:, 0])
        np.testing.assert_array_equal(chain.weights[(rows * 4 + k) & 4095, 0], alone.weights[rows, 0])
    np.testing.assert_array_equal(predictions, 1 + np.argmax(scores, axis=0))


def test_some_negatives_take_turns(tmp_path):
    random = np.random.default_rng(0)
    lines = [f"{random.integers(1, 6)} |w {' '.join(f'a{i}' for i in random.integers(0, 9, 3))}" for _ in range(40)]
    layers = [{"one_against_all": {"classes": 5, "first_class": 1, "negatives": 2}}, "linear"]
    chain = Chain.from_config({"chain": layers, "weights": {"bits": 10}, "seed": 4})
    order, turn = chain.layers[0].saved()["order"].tolist(), 0
    assert sorted(order) == [0, 1, 2, 3, 4]
    separate = [Chain.from_config({"chain": ["linear"], "weights": {"bits": 10}}) for _ in range(5)]
    for line in lines:
        label, _, features = line.partition(" ")
        own, scores = int(label) - 1, [float(each.predict(features)[0]) for each in separate]
        assert chain.learn(line)[0] == 1 + int(np.argmax(scores))
        separate[own].learn(f"1 {features}")
        taught = 0
        while taught < 2:
            k, turn = order[turn], (turn + 1) % 5
            if k != own:
                separate[k].learn(f"-1 2.5 {features}")
                taught += 1
    chain.save(path := str(tmp_path / "model"))
    again = Chain.load(path)
    np.testing.assert_array_equal(again.learn(lines), chain.learn(lines))
    np.testing.assert_array_equal(again.weights, chain.weights)


@pytest.mark.parametrize("probabilities", [False, True])
def test_scores_of_one_against_all(probabilities):
    lines = lines_of()
    chain = make({"one_against_all": {"classes": 4, "probabilities": probabilities}}, {"linear": {"loss": "logistic"}})
    chain.learn(lines)
    scores = chain.scores(lines)
    np.testing.assert_array_equal(1 + scores.argmax(axis=1), chain.predict(lines))
    if probabilities:
        np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-6)
        assert scores.min() >= 0


@pytest.mark.filterwarnings("ignore:.*this chain is not made for")
@pytest.mark.parametrize("first", [0, 1, "detect"])
def test_labels_outside_the_classes(first):
    chain = make({"one_against_all": {"classes": 3, "first_class": first}}, "linear")
    chain.learn(["7 | a"])
    trained = np.count_nonzero(chain.weights) > 0
    assert trained == (first == "detect")


def test_detected_first_class_is_saved(tmp_path):
    chain = make({"one_against_all": {"classes": 3, "first_class": "detect"}}, "linear")
    chain.learn(["0 | a", "1 | b"] * 9)
    chain.save(tmp_path / "model")
    assert Chain.load(tmp_path / "model").predict(["| a", "| b"]).tolist() == [0, 1]


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_soft_labels(loss):
    """A certain soft label is the hard one; an even one pulls the prediction to the middle."""
    hard = make({"one_against_all": {"classes": 2}}, {"linear": {"loss": loss}})
    soft = make({"one_against_all": {"classes": 2}}, {"linear": {"loss": loss}})
    hard.learn(["2 | a b"])
    learn_softly(soft, "1 | a b", [0, 1])
    np.testing.assert_array_equal(soft.weights[:, 0], hard.weights[:, 0])
    for _ in range(200):
        learn_softly(soft, "1 | a b", [0.5, 0.5])
    assert np.abs(soft.scores(["| a b"])).max() < (0.35 if loss == "logistic" else 1)  # hinge is flat between


@compiled
def call_learn(layer, example, label):
    return call(layer_of(layer).learn, layer, example, np.float32(label), np.float32(1), np.uint64(0))


def learn_softly(chain, line, targets):
    """Learn one line with soft labels, through the kernel."""
    [batch] = chain.batches([line])
    targets = np.array(targets, F)
    chain.run_batch(batch, learn=False)
    chain.shared["testing"] = 0
    chain._example["targets"] = targets.ctypes.data
    call_learn(np.uint64(chain.stack.records.ctypes.data), np.uint64(chain._example.ctypes.data), 1.0)
    chain._example["targets"] = 0


@pytest.mark.parametrize(("classes", "errors"), [(2, 0), (5, 0), (5, 1), (7, 3), (16, 2)])
def test_drawn_up_tournaments(classes, errors):
    players, champions = draw_up(classes, errors)
    assert len(champions) == errors + 1
    assert len(players) - classes == (classes - 1) * (errors + 1)
    for player in range(classes):  # who always wins gets to the first champion
        match = players[player]["winner_to"]
        while players[match]["last"] == 0:
            match = players[match]["winner_to"]
        assert match == champions[0]


@pytest.mark.parametrize(
    "linear",
    [
        {"loss": "hinge"},
        {"loss": "hinge", "interactions": ["ab"], "initial_weight": 0.3},
        {"loss": "hinge", "sparse_l2": 0.01},
        {"loss": "hinge", "adaptive": False, "normalized": False},
        {"loss": "logistic", "min_prediction": 0.1, "max_prediction": 0.7},
        {"loss": "squared", "power_t": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize(("classes", "errors"), [(4, 0), (5, 0), (4, 1), (3, 2)])
def test_matches_predicted_at_once_are_those_predicted_one_by_one(linear, classes, errors):
    layers = {"error_correcting_tournament": {"classes": classes, "errors": errors}}, {"linear": linear}
    at_once, one_by_one = make(*layers), make(*layers)
    assert at_once.layers[0].state["at_once"] == 1
    one_by_one.layers[0].state["at_once"] = 0
    lines = lines_of(120, classes)
    for _ in range(2):
        np.testing.assert_array_equal(at_once.learn(lines), one_by_one.learn(lines))
    np.testing.assert_array_equal(at_once.predict(lines), one_by_one.predict(lines))
    assert np.count_nonzero(at_once.weights[:, 0])
    np.testing.assert_array_equal(at_once.weights, one_by_one.weights)
    assert at_once.statistics == one_by_one.statistics


@pytest.mark.parametrize(("classes", "linear"), [(4, {"l2": 1e-3}), (4, {"l1": 1e-3}), (12, {})], ids=str)
def test_matches_that_learn_from_each_other_or_are_many_are_predicted_one_by_one(classes, linear):
    chain = make({"error_correcting_tournament": {"classes": classes}}, {"linear": linear})
    assert chain.layers[0].state["at_once"] == 0


@pytest.mark.parametrize(("size", "skips", "grams"), [(2, 0, 2), (3, 0, 3), (2, 1, 3)])
def test_grams_of_neighbours(size, skips, grams):
    chain = make({"ngrams": {"size": size, "skips": skips}}, "linear")
    chain.learn(["1 |a x y z |b w"])
    assert chain.last_features == 4 + 1 + grams
    seen = chain.predict(["|a x y z |b w"])[0]
    assert seen > chain.predict(["|a z y x |b w"])[0]


def test_grams_are_those_of_the_line_for_every_sub_model():
    lines = lines_of()
    layers = [{"one_against_all": {"classes": 4}}, {"ngrams": {"size": 2}}, {"linear": {"loss": "logistic"}}]
    below, above = make(*layers), make(layers[1], layers[0], layers[2])
    np.testing.assert_array_equal(below.learn(lines), above.learn(lines))
    np.testing.assert_array_equal(below.weights, above.weights)


class Tournament:
    """Matches that are learned by plain steps of the hinge loss, and finals, in the order in which VW plays them."""

    def __init__(self, classes, errors, rate):
        self.players, self.champions = draw_up(classes, errors)
        self.classes, self.errors, self.rate = classes, errors, rate
        self.finals, self.height = (classes - 1) * (errors + 1), errors.bit_length()
        self.w = np.zeros((self.finals + errors, 4))

    def predict(self, x):
        champion = 0
        for i in reversed(range(self.height)):
            right = champion | 1 << i
            if right <= self.errors and self.w[self.finals + right - 1] @ x > 0:
                champion = right
        k = self.champions[champion]
        while k >= self.classes:
            k = self.players[k]["right" if self.w[k - self.classes] @ x > 0 else "left"]
        return k

    def teach(self, problem, side, importance, x):
        before = self.w[problem] @ x
        if side * before < 1:
            self.w[problem] += self.rate * importance * side * x
        return before

    def learn(self, x, k, importance):
        match, won = self.players[k]["winner_to"], []
        side = -1 if self.players[match]["left"] == k else 1
        while match:
            player = self.players[match]
            self.teach(match - self.classes, side, importance, x)
            wins = side * (self.w[match - self.classes] @ x) > 0
            coming = player["winner_to"] if wins else player["loser_to"]
            if player["last"] or (not wins and not coming):
                won.append(wins)
            if not player["last"]:  # else the side stays, as in VW
                side = -1 if self.players[coming]["left"] == match else 1
            match = coming
        for i in range(self.height):
            j = 0
            while j < len(won) // 2:
                left, right = won[2 * j], won[2 * j + 1]
                won[j] = left
                if left != right:
                    problem = self.finals + j * (1 << (i + 1)) + (1 << i) - 1
                    score = self.teach(problem, -1 if left else 1, 1 << (self.height - i - 1), x)
                    won[j] = right if score > 0 else left
                if len(won) % 2:
                    won[len(won) // 2] = won[-1]
                won = won[: (1 + len(won)) // 2]
                j += 1


@pytest.mark.parametrize("errors", [0, 1, 3])
def test_a_tournament_is_its_matches(errors):
    plain = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.25}
    limits = {"min_prediction": -50.0, "max_prediction": 50.0}
    layers = {"error_correcting_tournament": {"classes": 5, "errors": errors}}, {"linear": {"loss": "hinge"}}
    layers[1]["linear"] |= {**plain, **limits}
    chain = make(*layers)
    random, twin = np.random.default_rng(0), Tournament(5, errors, 0.25)
    for _ in range(300):
        x, importance = random.integers(-2, 3, 3).astype(float), float(random.choice([0.5, 1.0, 4.0]))
        k = int(random.integers(5)) if random.random() < 0.3 else int(abs(x @ [1, 2, 4]) % 5)
        line = f"{k + 1} {importance} |a " + " ".join(f"{j}:{v}" for j, v in enumerate(x))
        x = np.append(x, 1.0)
        assert chain.learn([line])[0] == twin.predict(x) + 1
        twin.learn(x, k, importance)
    found, wanted = (np.sort(w[w != 0]) for w in (chain.weights[:, 0], twin.w))
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_costs_choose_the_cheapest():
    chain = make({"cost_sensitive_one_against_all": {"classes": 3}}, "linear")
    chain.learn(["1:0 2:5 3:9 | a", "1:5 2:0 3:9 | b"] * 20)
    assert chain.predict(["| a", "| b", "2 3 | a"]).tolist() == [1, 2, 2]


def test_an_example_of_costs_weighs_as_its_last_class():
    """As in VW: where the last class has no cost, neither weight nor loss counts; the other classes are learned."""
    chain = make({"cost_sensitive_one_against_all": {"classes": 3}}, "linear")
    for line, weight in [("1:1 2 3:2 | a", 1), ("2 1:2 | a", 2), ("1:1 2 | b", 2), ("2:0 3:1 1 | c", 2)]:
        before = chain.weights.copy()
        chain.learn([line])
        assert chain.statistics.weighted_labeled == weight
        assert not np.array_equal(chain.weights, before)


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        ("identity", lambda p: p),
        ("logistic", lambda p: 1 / (1 + np.exp(-p))),
        ("glf1", lambda p: 2 / (1 + np.exp(-p)) - 1),
        ("poisson", np.exp),
    ],
)
def test_link_is_a_function_of_the_prediction(function, formula):
    lines = simple_of(lines_of())
    plain, linked = (
        make({"linear": {"loss": "logistic"}}),
        make({"link": {"function": function}}, {"linear": {"loss": "logistic"}}),
    )
    np.testing.assert_allclose(linked.learn(lines), formula(plain.learn(lines)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(linked.weights, plain.weights)


@pytest.mark.parametrize(
    ("function", "through"),
    [("logistic", 1 / (1 + np.exp(-0.7))), ("glf1", 2 / (1 + np.exp(-0.7)) - 1), ("poisson", np.exp(0.7))],
)
def test_what_moves_a_prediction_to_a_threshold_is_the_same_through_a_link(function, through):
    active, linear = {"replay": 0, "simulation": False}, {"linear": {"loss": "logistic"}}
    linked = make({"active": {**active, "threshold": float(through)}}, {"link": {"function": function}}, linear)
    plain = make({"active": {**active, "threshold": 0.7}}, linear)
    scores = []
    for chain in (linked, plain):
        chain.learn(simple_of(lines_of()))
        trace = chain.layers[0].trace(1)
        chain.predict(["|a c1 n3 |b m1:0.5"])
        scores.append(trace["score"][0])
    assert 0 < scores[0] < np.inf and scores[0] == pytest.approx(scores[1], rel=1e-4)


def test_binary_says_the_sign():
    lines = simple_of(lines_of())
    plain, binary = make({"linear": {"loss": "hinge"}}), make("binary", {"linear": {"loss": "hinge"}})
    predictions = plain.learn(lines)
    np.testing.assert_array_equal(binary.learn(lines), np.where(predictions > 0, 1, -1))


@compiled
def ask(layer, example, kind, label, value):
    record = layer_of(layer)
    address = record.importance_to if kind == 0 else record.sensitivity
    return call(address, layer, example, np.float32(label), np.float32(value), np.uint64(0))


@pytest.mark.parametrize(("loss", "label", "target"), [("hinge", 1, 0.5), ("logistic", -1, 0.0), ("squared", 2, 1.0)])
@pytest.mark.parametrize("link", [False, True])
def test_h_min_is_the_importance_that_gets_there(loss, label, target, link):
    """Without adaptive rates the promise is exact: learn with that importance, and the prediction is the target."""
    parameters = {
        "loss": loss,
        "adaptive": False,
        "normalized": False,
        "power_t": 0,
        "max_prediction": 9,
        "min_prediction": -9,
    }
    layers = [{"linear": {**parameters, "learning_rate": 0.1}}]
    chain = make(*([{"link": {"function": "poisson"}}] if link else []), *layers)
    kernels = replace(chain.layers[0].kernels, calls=("importance_to", "sensitivity"))
    with patch.object(type(chain.layers[0]), "kernels", kernels):
        chain.stack.link()
    chain.learn(["1 | a b:0.5", "-1 | a"])
    [batch] = chain.batches([f"{label} | a b:2"])
    wanted = F(np.exp(target)) if link else F(target)
    chain.run_batch(batch, learn=False)
    top, example = np.uint64(chain.stack.records.ctypes.data), np.uint64(chain._example.ctypes.data)
    h = float(ask(top, example, 0, label, wanted))
    slope = float(ask(top, example, 1, label, 1))
    assert slope == pytest.approx(0.1 * (1 + 4 + 1), rel=1e-6)
    chain.shared["testing"] = 0
    chain.learn([f"{label} {h:.7g} | a b:2"])
    assert chain.predict(["| a b:2"])[0] == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([{"one_against_all": {"classes": 1}}, "linear"], "classes"),
        ([{"error_correcting_tournament": {"classes": 3, "errors": -1}}, "linear"], "errors"),
        ([{"link": {"function": "logit"}}, "linear"], "function"),
        (["one_against_all", "linear"], "classes"),
    ],
)
def test_mistakes_are_named(layers, text):
    with pytest.raises(ConfigError, match=text):
        make(*layers)
