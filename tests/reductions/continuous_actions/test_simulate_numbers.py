"""Bandit tests on data with numbers as labels: costs, what is learned, and what is refused."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError

RANGE = {"lowest": 0.0, "highest": 10.0}


def numbers(cost="squared", **more):
    density = {"action_density": RANGE | {"parts": 8, "epsilon": 0.1}}
    return [{"simulate_number_bandit": RANGE | {"cost": cost} | more}, "sample_density", density, "linear"]


def parts(cost="squared", tree=True, **more):
    below = ["binary"] if tree else [{"bandit_per_class": {"classes": 8}}]
    below = [{"action_tree": {"classes": 8}}, "linear"] if tree else [
        *below, {"cost_sensitive_one_against_all": {"classes": 8}}, "linear"]  # fmt: skip
    top = {"simulate_part_bandit": RANGE | {"cost": cost, "classes": 8} | more}
    return [top, {"explore_classes": {"classes": 8, "epsilon": 0.1}}, *below]


def examples(count=400, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        word = int(random.integers(2))
        yield {"f": [f"w{word}"], "label": float([2.0, 7.0][word] + random.uniform(-0.5, 0.5))}


def run(layers, records, learn=True):
    chain = Chain.from_config({"chain": layers})
    [batch] = list(chain.batches(records))
    return chain, chain.run_batch(batch, learn=learn, scores=True)[0]


@pytest.mark.parametrize("make", [numbers, parts])
@pytest.mark.parametrize("cost", ["squared", "absolute", "zero_one"])
@pytest.mark.parametrize("in_units", [False, True])
def test_the_loss_is_the_cost_of_the_number_drawn(make, cost, in_units):
    records = list(examples(50))
    _, found = run(make(cost, in_units=in_units, tolerance=0.2), records)
    for record, number, loss, scores in zip(records, found.predictions, found.losses, found.scores, strict=True):
        distance = abs(record["label"] - number) / 10
        wanted = {"squared": distance**2, "absolute": distance, "zero_one": float(distance > 0.2)}[cost]
        wanted *= {"squared": 100, "absolute": 10, "zero_one": 1}[cost] if in_units else 1
        assert loss == pytest.approx(wanted, rel=1e-4, abs=1e-6)
        assert scores[0] == np.float32(loss) and scores[1] > 0
        assert 0 <= number <= 10


@pytest.mark.parametrize("layers", [numbers("absolute"), parts("absolute"), parts("absolute", tree=False)])
def test_it_learns_from_its_own_choices_alone(layers):
    _, found = run(layers, list(examples(3000)))
    assert found.losses[-800:].mean() < 0.19  # one number for all costs 0.25 at best


@pytest.mark.parametrize("make", [numbers, parts])
def test_an_example_without_a_label_costs_nothing(make):
    chain, found = run(make(), [{"f": ["w0"]}, {"f": ["w1"]}])
    assert found.losses.tolist() == [0, 0] and not chain.weights.any()


@pytest.mark.parametrize("make", [numbers, parts])
def test_a_model_goes_on_as_if_it_had_not_been_saved(make, tmp_path):
    records = list(examples(200))
    _, whole = run(make(), records)
    chain, _ = run(make(), records[:100])
    chain.save(tmp_path / "model")
    [batch] = list(chain.batches(records[100:]))
    rest = Chain.load(tmp_path / "model").run_batch(batch, scores=True)[0]
    np.testing.assert_array_equal(whole.predictions[100:], rest.predictions)
    np.testing.assert_array_equal(whole.scores[100:], rest.scores)


def test_parts_begin_where_the_range_is_cut():
    _, found = run(parts(), list(examples(300)))
    np.testing.assert_allclose(np.unique(found.predictions), np.arange(8) * 1.25)


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        (
            [{"simulate_number_bandit": {"lowest": 0, "highest": 9}}, *numbers()[1:]],
            "got a range from 0 to 9, but that below is 0 to 10",
        ),
        (
            [{"simulate_number_bandit": RANGE}, "sample_density", "zeroth_order"],
            "got layers below it that know no range",
        ),
        ([{"simulate_part_bandit": RANGE | {"classes": 4}}, *parts()[1:]], "classes: got 4, but the layer below has 8"),
        (["sample_density", *numbers()], "sample_density needs a layer below it that takes labels 'logged_number'"),
        ([{"action_tree": {"classes": 6}}, "linear"], "classes: got 6, wanted a power of two such as 4 or 8"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, text):
    with pytest.raises(ConfigError, match=text):
        Chain.from_config({"chain": layers})


def test_a_tree_learns_the_class_that_costs_least():
    chain, random = Chain.from_config({"chain": [{"action_tree": {"classes": 8}}, "linear"]}), np.random.default_rng(0)
    best = {"p": 3, "q": 6}
    words, chosen = random.choice(["p", "q"], 1500).tolist(), random.integers(1, 9, 1500).tolist()
    pairs = zip(words, chosen, strict=True)
    chain.learn([f"{action}:{-float(action == best[word])}:0.125 |f {word}" for word, action in pairs])
    assert [int(chain.predict([f"|f {word}"])[0]) for word in best] == [3, 6]
