"""Dependency trees by learning to search: transitions lead to right trees, which are learned; what is refused."""

from itertools import pairwise

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, DataError
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.record import Record
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.search.dependencies import SearchDependencies
from hutch.reductions.search.transitions import (
    ARC_EAGER,
    ARC_HYBRID,
    COLUMNS,
    HEADS,
    PARSE,
    RIGHT_HEADS,
    SHIFT,
    begin_tree,
    find_valid,
    is_done,
    move,
    parse_of,
    price_transitions,
    right_transitions,
    top_of,
)

SENTENCES = (
    ("2,2 |w a", "3,3 |w dog", "0,1 |w barks"),
    ("2,2 |w the", "3,3 |w cat", "0,1 |w sees", "5,2 |w a", "3,4 |w bird"),
    ("2,2 |w a", "3,3 |w bird", "0,1 |w sings", "3,5 |w loudly"),
)
LINES = [line for sentence in SENTENCES for line in (*sentence, "")]
RIGHT = [[[int(number) for number in line.split()[0].split(",")] for line in sentence] for sentence in SENTENCES]


def chain_of(**parameters):
    given = {"classes": 5, "alpha": 0.001, **parameters}
    below = {"cost_sensitive_one_against_all": {"classes": given["classes"]}}
    return Chain.from_config({"chain": [{"search_dependencies": given}, below, "linear"]})


def learned(chain, lines=LINES, times=15):
    for _ in range(times):
        chain.learn(lines)
    return [found.tolist() for found in chain.predict_decisions(lines)]


@compiled
def _follow(at, last):
    """Build a tree by right transitions, the first of several, or the last."""
    p = parse_of(np.uint64(at))
    begin_tree(p)
    lost = np.float32(0)
    while not is_done(p):
        find_valid(p)
        right, chosen = right_transitions(p, price_transitions(p)), np.uint64(0)
        for k in range(SHIFT, 5):
            if (right >> np.uint64(k)) & np.uint64(1) == np.uint64(1) and (last == 1 or chosen == np.uint64(0)):
                chosen = np.uint64(k)
        lost += max(move(p, chosen, np.uint64(0)), np.float32(0))
    return lost + np.float32(top_of(p)) * np.float32(0)


def nested(random, low, high, head, heads):
    """A tree without crossing arcs over the words from `low` to `high`."""
    if low <= high:
        word = int(random.integers(low, high + 1))
        heads[word] = head
        nested(random, low, word - 1, word, heads)
        nested(random, word + 1, high, word, heads)


@pytest.mark.slow
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("system", [ARC_HYBRID, ARC_EAGER])
def test_right_transitions_lead_to_the_right_tree(system, last):
    random = np.random.default_rng(system)
    for _ in range(200):
        words = int(random.integers(1, 10))
        table = np.zeros((COLUMNS, words + 2), np.uint32)
        nested(random, 1, words, 0, table[RIGHT_HEADS])
        record = Record(PARSE, table=table, costs=np.zeros(5, np.float32), system=system, root=1)
        record.set(words=words, end=words + 1, labels=1)
        assert _follow(record.address, last) == 0
        found = table[HEADS, 1 : words + 1]
        found[found == 9999999] = 0  # the root of arc-hybrid, which the task attaches
        assert found.tolist() == table[RIGHT_HEADS, 1 : words + 1].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"root": 0},
        {"transitions": "arc_eager"},
        {"one_model": True, "classes": 12, "labels": 5},
        {"one_model": True, "classes": 12, "transitions": "arc_eager"},
        {"cost_to_go": True, "rollout": "none"},
        {"classes": 7, "labels": 5},
    ],
    ids=str,
)
def test_trees_are_learned(parameters):
    assert learned(chain_of(**parameters)) == RIGHT


@pytest.mark.slow
def test_as_vw_the_last_word_may_have_no_head():
    assert learned(chain_of(as_vw=True))[1] == [*RIGHT[1][:4], [9999999, 9999999]]


@pytest.mark.slow
def test_labels_may_be_packed_or_records():
    packed = [line if not line else f"{256 * int(line[2]) + int(line[0]) + 1}{line[3:]}" for line in LINES]
    records = [
        {"label": arc, "group": number, "w": {line.split()[-1]: 1.0}}
        for number, (arcs, sentence) in enumerate(zip(RIGHT, SENTENCES, strict=True))
        for arc, line in zip(arcs, sentence, strict=True)
    ]
    first, second, third = chain_of(), chain_of(packed=True), chain_of()
    assert first.learn(LINES).tolist() == second.learn(packed).tolist() == third.learn(records).tolist()
    assert all(np.array_equal(one.weights, other.weights) for one, other in pairwise((first, second, third)))


@pytest.mark.slow
def test_blocks_without_all_labels_are_predicted_only():
    chain = chain_of()
    with pytest.warns(UserWarning, match="no example had a label: nothing was learned"):
        chain.learn(["2,1 |w a", "|w b", ""])
    assert not chain.weights.any()
    chain.learn(["2,1 |w a", "|w b", "", *LINES])
    assert (chain.last_run.examples, chain.last_run.weighted_labeled) == (4, 3.0)
    assert chain.weights.any()


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"classes": 2}, "classes: got 2, wanted at least 3"),
        ({"classes": 3, "transitions": "arc_eager"}, "classes: got 3, wanted at least 4"),
        ({"classes": 6, "labels": 3, "one_model": True}, "classes: got 6, wanted at least 7"),
        ({"labels": 2, "root": 3}, "root: got 3, wanted at most 2, the labels of arcs"),
        ({"classes": 3, "one_model": True}, "root: got 1, wanted 0 or more labels"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(parameters, text):
    with pytest.raises(ConfigError, match=text):
        chain_of(**parameters)


def test_labels_of_arcs_that_there_are_not_are_refused():
    with pytest.raises(DataError, match="label: got an arc with the label 6, wanted 1 to 5"):
        chain_of().learn(["0,6 |w a"])
    with pytest.raises(DataError, match="label: got a head alone, wanted the label of its arc, too"):
        chain_of(root=0).learn(["0 |w a"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"classes": 3, "alpha": 0.3, "history": 3, "bias_length": 2, "as_vw": True},
        {"classes": 6, "one_model": True, "transitions": "arc_eager", "rollout": "mix_per_roll"},
        {"classes": 4, "cost_to_go": True, "rollout": "none", "neighbours": ["-1:words"]},
    ],
    ids=str,
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(SearchDependencies, parameters):
        if check.name not in ("magnitudes", "zero_importance"):  # values count as 1; heads may stay what they were
            check()
