"""Labels of decisions in text: what is wrong is named with its place and not learned from."""

import warnings

import numpy as np
import pytest

from hutch import Chain
from hutch.core.text.parser import ParserOptions, TextParser

BANDIT = {"chain": ["contextual_bandit", "cost_sensitive_with_features", "linear"]}
COSTS = {"chain": ["cost_sensitive_with_features", "linear"]}


def _parse(text, label):
    parser = TextParser(ParserOptions(label=label, namespaces="letter"))
    return parser.parse(text.encode()), [str(problem) for problem in parser.problems.kept]


def test_labels_are_read():
    batch, told = _parse("shared 'tag |u a\n0:1.5:0.25 |a x\n|a y\n\n7:-2:1 |a z\nname |a w\n", "logged_action")
    assert told == []
    assert np.diff(batch.cost_ptr).tolist() == [1, 1, 0, 1, 1]
    assert batch.costs.tolist() == pytest.approx([np.finfo(np.float32).max, 1.5, -2, np.finfo(np.float32).max])
    assert batch.probabilities.tolist() == [-1, 0.25, 1, 0]
    assert batch.group.tolist() == [0, 0, 0, 1, 1]
    assert batch.tag(0) == b"tag"


@pytest.mark.parametrize(
    ("label", "text", "place"),
    [
        ("logged_action", "0:1:0 |a x\n|a y\n", "1:1: bad probability"),
        ("logged_action", "|a y\n0:1:1.5 |a x\n", "2:1: bad probability"),
        ("logged_action", "|a y\n0:1:-1 |a x\n", "2:1: bad probability"),
        ("logged_action", "|a y\n0:1 |a x\n", "2:1: bad probability"),
        ("logged_action", "|a y\n0:nan:0.5 |a x\n", "2:1: bad action"),
        ("logged_action", "|a y\n0:one:0.5 |a x\n", "2:1: bad action"),
        ("logged_action", "|a y\n0:1:0.5:2 |a x\n", "2:1: bad action"),
        ("logged_action", "|a y\n\n0:1:0.5 |a x\n1:1:0.5 |a y\n", "4:1: several labels"),
        ("logged_action", "|a y\n0:1:0.5 1:1:0.5 |a x\n", "2:1: several labels"),
        ("logged_action", "|a y\n\n\nshared |u x\n\n|a x\n", "4:1: shared line alone"),
        ("logged_action", "|a y\nshared |u x\n", "2:1: shared line after actions"),
        ("action_costs", "1:2 |a x\n2 |a y\n", "1:1: some costs"),
        ("action_costs", "1:2 |a x\n2:1 3:4 |a y\n", "2:1: several labels"),
        ("action_costs", "1:2 |a x\n2:x |a y\n", "2:1: bad action"),
        ("action_costs", "1:2 |a x\n2:1:1 |a y\n", "2:1: bad action"),
    ],
)
def test_what_is_wrong_is_named_and_not_learned(label, text, place):
    _, told = _parse(text, label)
    assert told and told[0].startswith(f"<input>:{place}")
    chain = Chain.from_config(BANDIT if label == "logged_action" else COSTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain.learn(text)
    assert not chain.weights[:, 0].any()
    assert chain.statistics.weighted_labeled == 0


def test_strict_parsing_stops():
    from hutch.core.errors import DataError

    parser = TextParser(ParserOptions(label="logged_action", strict=True), "log.vw")
    with pytest.raises(DataError, match="log.vw:3:1: several labels"):
        parser.parse(b"\n0:1:0.5 |a x\n1:1:0.5 |a y\n")


def test_places_are_counted_over_texts():
    parser = TextParser(ParserOptions(label="logged_action"))
    parser.parse(b"|a x\n\n|a y\n\n")
    parser.parse(b"shared |u\n\n")
    assert str(parser.problems.kept[0]).startswith("<input>:5:1: shared line alone")


def test_commas_alone_name_no_action_and_have_room() -> None:
    text = "ccb shared |\nccb action |a x\nccb slot " + ",1" + "," * 100_000 + "2 |s y\n"
    batch, _ = _parse(text, "logged_slots")
    assert batch.cost_classes.tolist() == [0, 0, 1, 2]
