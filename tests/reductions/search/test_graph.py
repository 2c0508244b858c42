"""Graphs by learning to search: classes spread along edges, what a node sees of them, and what is refused."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.search.graph import SearchGraph


def chain_of(**parameters):
    layers = [{"search_graph": {"classes": 2, "alpha": 0.001, **parameters}}]
    return Chain.from_config({"chain": [*layers, {"cost_sensitive_one_against_all": {"classes": 2}}, "linear"]})


def trees(count, seed):
    """Nodes of which only the first shows its class; an edge says whether that of its nodes is the same."""
    draw, found = random.Random(seed), []
    for _ in range(count):
        classes, edges = [draw.randint(1, 2)], []
        for i in range(2, draw.randint(3, 6) + 1):
            j, same = draw.randint(1, i - 1), draw.random() < 0.5
            classes.append(classes[j - 1] if same else 3 - classes[j - 1])
            edges.append(f"{j},{i} |e {'same' if same else 'other'}")
        hidden = (f"{one} |n hidden" for one in classes[1:])
        found += [f"{classes[0]} |n seen{classes[0]}", *hidden, *edges, ""]
    return found


def share_right(chain, lines):
    found = [one for block in chain.predict_decisions(lines) for one in block.tolist()]
    labels = [line.split()[0] for line in lines if line]
    assert [one == 0 for one in found] == ["," in label for label in labels]  # edges have no class
    nodes = [(int(label), one) for label, one in zip(labels, found, strict=True) if one]
    return float(np.mean([label == one for label, one in nodes]))


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"loops": 1}, {"separate": True}, {"directed": True}], ids=str)
def test_classes_spread_along_edges(parameters):
    chain = chain_of(**parameters)
    chain.learn(trees(300, 1))
    assert share_right(chain, trees(100, 2)) == 1


@pytest.mark.slow
def test_without_structure_nodes_know_edges_alone():
    chain = chain_of(structure=False)
    chain.learn(trees(300, 1))
    assert share_right(chain, trees(100, 2)) < 0.75


@pytest.mark.slow
def test_edges_lead_from_sources_to_sinks():
    lines = []
    for k in range(100):
        one = 1 + k % 2
        lines += [f"{one} |n a{one}", "2 |n x", "1 |n x", f"{one},{2 if one == 1 else 3} |e to", "2,3 |e beside", ""]
        lines += [f"{3 - one} |n x", f"{one} |n a{one}", f"{2 if one == 1 else 1},0,{1 if one == 1 else 2} |e to", ""]
    chain, other = chain_of(directed=True), chain_of()
    chain.learn(lines)
    other.learn(lines)
    assert not np.array_equal(chain.weights, other.weights)


@pytest.mark.slow
def test_products_of_an_edge_reach_its_nodes():
    layers = [{"search_graph": {"classes": 2}}, {"cost_sensitive_one_against_all": {"classes": 2}}]
    lines = []
    for k in range(80):
        a, b = k % 2, k // 2 % 2
        lines += [f"{1 + (a ^ b)} |n x", "1 |n y", f"1,2 |e a{a} |f b{b}", ""]
    plain = Chain.from_config({"chain": [*layers, "linear"]})
    crossed = Chain.from_config({"chain": [*layers, {"linear": {"interactions": [["e", "f"]]}}]})
    for chain in (plain, crossed):
        for _ in range(3):
            chain.learn(lines)
    assert share_right(crossed, lines) == 1 > share_right(plain, lines)


@pytest.mark.slow
def test_the_loss_is_that_of_nodes_and_of_all_choices_so_far():
    chain = chain_of(loops=2)
    chain.learn(["1 |n a", "2 |n b", "1,2 |e e", ""])
    assert chain.last_run.sum_loss == pytest.approx(0.25 + 0.5 + 1 - (2 / 3) / 2)  # both are taken for 1


@pytest.mark.slow
def test_blocks_without_all_labels_are_predicted_only():
    chain = chain_of()
    with pytest.warns(UserWarning, match="no example had a label: nothing was learned"):
        chain.learn(["1 |n a", "|n b", "1,2 |e e", ""])
    assert not chain.weights.any()


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["1 |n a", "1,1 |e e", "2 |n b"], "label: got 1 numbers behind an edge, wanted nodes first, then edges"),
        (["1 |n a", "1,2 |e e"], "label: got an edge to node 2, wanted at most 1"),
        (["3 |n a", "1 |n b"], "label: got class 3 of a node, wanted 1 to 2"),
        (["0 |n a", "1 |n b"], "label: got class 0 of a node, wanted 1 to 2"),
    ],
    ids=str,
)
def test_what_is_no_graph_is_refused(lines, text):
    with pytest.raises(DataError, match=text):
        chain_of().learn(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"classes": 3, "alpha": 0.3, "loops": 3, "as_vw": True, "folds": True},
        {"classes": 2, "separate": True, "directed": True, "rollout": "none"},
    ],
    ids=str,
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(SearchGraph, parameters):
        if check.name != "magnitudes":
            check()
