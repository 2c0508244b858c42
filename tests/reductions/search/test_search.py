"""Learning to search: blocks of lines in Python, the order of steps, what is learned of the order of labels."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.cache import compiled
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.search.run import _spread
from hutch.reductions.search.sequence import SearchSequence
from hutch.reductions.search.spans import SearchSpans

CYCLE = ["1 |w a", "2 |w a", "3 |w a", ""]


def chain_of(name, classes, below=None, **parameters):
    layers = [
        {name: {"classes": classes, **parameters}},
        {"cost_sensitive_one_against_all": {"classes": below or classes}},
        "linear",
    ]
    return Chain.from_config({"chain": layers})


def blocks(chain, lines):
    return [found.tolist() for found in chain.predict_decisions(lines)]


def test_labels_follow_from_those_before():
    chain = chain_of("search_sequence", 3)
    chain.learn(CYCLE * 20)
    assert blocks(chain, ["|w a"] * 3 + [""] + ["|w a"] * 2) == [[1, 2, 3], [1, 2]]
    alone = chain_of("search_sequence", 3, history=0)
    alone.learn(CYCLE * 20)
    [found] = blocks(alone, ["|w a"] * 3)
    assert len(set(found)) == 1


@pytest.mark.parametrize("rollout", ["none", "oracle", "policy"])
def test_records_and_lines_are_learned_alike(rollout):
    records = [{"label": 1 + k % 3, "group": k // 3, "w": {"a": 1.0}} for k in range(30)]
    first = chain_of("search_sequence", 3, rollout=rollout)
    second = chain_of("search_sequence", 3, rollout=rollout)
    assert first.learn(records).tolist() == second.learn(CYCLE * 10).tolist()
    assert np.array_equal(first.weights, second.weights)


def test_lines_beside_a_line_are_seen():
    lines = [line for k in range(120) for line in (f"{1 + k % 2} |w a", f"1 |w b{k % 2}", "")]
    chain = chain_of("search_sequence", 2, neighbours=["1:w"], history=0)
    chain.learn(lines)
    assert blocks(chain, ["|w a", "|w b0", "", "|w a", "|w b1"]) == [[1, 1], [2, 1]]


def test_blocks_without_all_labels_are_predicted_only():
    chain = chain_of("search_sequence", 3)
    chain.learn(["1 |w a", "|w b", "", *CYCLE])
    seen = chain.last_run
    assert (seen.examples, seen.weighted_labeled, seen.weighted_examples) == (2, 1.0, 2.0)
    other = chain_of("search_sequence", 3)
    other.learn(CYCLE)
    assert np.array_equal(chain.weights, other.weights)


def test_spans_begin_before_they_go_on():
    chain, random = chain_of("search_spans", 5, alpha=0.1), np.random.default_rng(1)
    words = {1: "out", 2: "begin", 3: "inner", 4: "begins", 5: "inners"}
    lines = [f"{one} |w {words[one]}" if one else "" for one in random.integers(0, 6, 600).tolist()]
    chain.learn(lines)
    found = blocks(chain, lines)
    assert {one for block in found for one in block} == {1, 2, 3, 4, 5}
    for block in found:
        for before, one in zip([1, *block], block, strict=False):
            assert one % 2 == 0 or one == 1 or before in (one, one - 1), block


def test_an_even_number_of_classes_of_spans_is_refused():
    with pytest.raises(ConfigError, match="classes: got 4, wanted an odd number: 1, and two for each kind of span"):
        chain_of("search_spans", 4)


def test_bilou_has_labels_of_its_own():
    chain = chain_of("search_spans", 3, below=5, encoding="bilou")
    chain.learn(["1 |w met", "2 |w Ada", "3 |w B", "1 |w today", "", "2 |w Bob", "1 |w met", ""] * 30)
    assert blocks(chain, ["|w met", "|w Ada", "|w B", "", "|w Bob", "|w met"]) == [[1, 2, 3], [2, 1]]


def test_the_greatest_class_is_that_of_every_line():
    chain = chain_of("search_maximum", 2)
    chain.learn(["1 |w good", "2 |w bad", "1 |w fair", "", "1 |w good", "1 |w fair", ""] * 40)
    assert blocks(chain, ["|w good", "|w bad", "", "|w good", "|w fair"]) == [[2, 2], [1, 1]]


def test_a_class_bit_by_bit():
    chain = chain_of("search_bits", 5)
    chain.learn([line for k in range(100) for line in (f"{1 + k % 5} |w a{k % 5}", "")])
    assert blocks(chain, [line for k in range(5) for line in (f"|w a{k}", "")]) == [[1], [2], [3], [4], [5]]


def test_relations_fit_their_entities():
    chain = chain_of("search_relations", 10, constraints=True)
    chain.learn(["2 'E_0 |w Ada", "4 'E_1 |w London", "5 'R_0_1 |w in", ""] * 20 + ["3 'E_0 |w firm", ""] * 20)
    lines = ["|w Ada", "|w London", "'R_0_1 |w in", "", "|w firm", "|w London", "'R_0_1 |w in"]
    assert blocks(chain, lines)[0] == [2, 4, 5] and blocks(chain, lines)[1][2] in (6, 10)
    with pytest.warns(
        UserWarning, match="1 relation whose tags name no two entities of the block, wanted tags such as"
    ):
        chain.learn(["2 |w Ada", "4 |w London", "5 'R_0_7 |w in", ""])


def test_choices_are_put_off_where_that_is_cheap():
    lines = ["2 'E_0 |w Ada", "4 'E_1 |w London", "5 'R_0_1 |w in", ""] * 20
    chain = chain_of("search_relations", 11, order="skip")
    chain.learn(lines)
    assert blocks(chain, lines[:3]) == [[2, 4, 5]]
    with pytest.raises(ConfigError, match="classes: got 10, wanted at least 11: one of them puts a choice off"):
        chain_of("search_relations", 10, order="skip")


@compiled
def _spread_of(order, other):
    _spread(order, other, len(order))
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_neighbours_in_the_order_of_steps_lie_far_apart(count):
    order = np.arange(count)
    _spread_of(order, np.zeros(2 * count + 2, np.int64))
    assert sorted(order.tolist()) == list(range(count))
    assert count < 4 or np.abs(np.diff(order)).mean() > 1.5 * count / 4


@pytest.mark.parametrize(
    ("parameters", "below", "text"),
    [
        ({}, 4, "search_sequence.classes: got 4 classes in 'cost_sensitive_one_against_all' below, wanted 3"),
        ({"neighbours": ["w:1"]}, 3, "neighbours: got 'w:1', wanted a distance and a namespace, as in -1:w"),
        ({"neighbours": ["200"]}, 3, "neighbours: got '200', wanted a distance"),
        ({"policies": 2}, 3, "policies: got 2, wanted passes_per_policy with it"),
        ({"history": 25}, 3, "history"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(parameters, below, text):
    with pytest.raises(ConfigError, match=text):
        chain_of("search_sequence", 3, below=below, **parameters)


def test_products_beside_interactions_are_refused():
    layers = [
        {"search_sequence": {"classes": 3, "product_length": 1}},
        {"cost_sensitive_one_against_all": {"classes": 3}},
        {"linear": {"interactions": [["a", "b"]]}},
    ]
    with pytest.raises(ConfigError, match="search_sequence.product_length: got interactions in 'linear'"):
        Chain.from_config({"chain": layers})


def test_importance_is_said_to_count_as_1():
    chain = chain_of("search_sequence", 3)
    with pytest.warns(UserWarning, match="1 line with importance, which counts as 1, as in Vowpal Wabbit"):
        chain.learn(["1 0.5 |w a", "2 |w a", ""])


def test_policies_follow_each_other():
    chain = chain_of("search_sequence", 3, policies=2, passes_per_policy=1)
    chain.learn(CYCLE * 10)
    assert int(chain.layers[0].state["policy"][0]) == 0
    chain.end_pass()
    assert blocks(chain, ["|w a"] * 3) == [[1, 2, 3]]
    chain.learn(CYCLE)
    assert int(chain.layers[0].state["newest"][0]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "parameters"),
    [
        (
            SearchSequence,
            {"classes": 3, "alpha": 0.3, "history": 3, "bias_length": 2, "product_length": 2, "folds": True},
        ),
        (SearchSequence, {"classes": 3, "cost_to_go": True, "rollout": "mix_per_roll", "caching": False}),
        (SearchSpans, {"classes": 5, "sweeps": 2, "rollout": "none"}),
    ],
    ids=str,
)
def test_contract_with_other_parameters(layer, parameters):
    for check in checks_of_reduction(layer, parameters):
        if check.name != "magnitudes":  # small costs of values of 1e-20: the rate of a step of `linear` is infinite
            check()
