"""One decision at a time through a chain: fast, and to the bit what a batch of it is."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.batch import Batch
from hutch.core.data.sources import record_batches
from hutch.core.errors import DataError

COSTS = [["cost_sensitive_with_features", "linear"]]
LOGGED = [
    ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"],
    ["sample_action", {"explore_softmax": {}}, "contextual_bandit", "cost_sensitive_with_features", "linear"],
]


def decisions(costs: bool) -> list[list[str]]:
    """Decisions of two to four actions, some shared lines, some unlabelled."""
    random = np.random.default_rng(4)
    found = []
    for i in range(40):
        actions, chosen = int(random.integers(2, 5)), 0
        lines = [f"shared |u x{i % 3}"] if i % 2 else []
        for a in range(actions):
            label = ""
            if costs and i % 5:
                label = f"{a + 1}:{(a + i) % 3} "
            elif i % 5 and a == chosen:
                label = f"0:{i % 2}:0.5 "
            lines.append(f"{label}|a a{a} b:{0.5 + a}")
        found.append(lines)
    return found


def records(costs: bool) -> list[dict[str, Any]]:
    """The same as records, with tags, importances, and features of both, of text and of number."""
    random = np.random.default_rng(4)
    found = []
    for i in range(40):
        count = int(random.integers(2, 5))
        actions: list[dict[str, Any]] = [
            {"a": [f"a{a}"], "n": {"b": 0.5 + a, "zero": 0, "c": "w"}} for a in range(count)
        ]
        decision: dict[str, Any] = {"actions": actions}
        if i % 2:
            decision["shared"] = {"u": f"x{i % 3}", "n": {"b": -1}} if i % 4 == 1 else {}
        if i % 3 == 0:
            decision |= {"tag": f"t{i}", "importance": 0.5 * (i % 4)}
            actions[0]["tag"] = "é"
        if costs and i % 5:
            decision["costs"] = [(a + i) % 3 for a in range(count)]
        elif i % 5:
            decision |= {"chosen": i % count, "cost": i % 2, "probability": 1 if i % 7 else 0.3}
        found.append(decision)
    return found


@pytest.mark.parametrize("layers", [*COSTS, *LOGGED[:1]])
def test_a_decision_as_a_record_is_a_batch_of_one(layers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    given = records(layers in COSTS)[1:]
    one, many, together = (Chain.from_config({"weights": {"bits": 10}, "chain": layers}) for _ in range(3))
    monkeypatch.setattr(many, "predictions_of_one", lambda examples, learn: None)
    for k, record in enumerate(given):
        assert one.predictions_of_one([record], False) is not None
        what = record if k % 2 else [record]
        np.testing.assert_array_equal(one.predict(what), many.predict(what))
        np.testing.assert_array_equal(one.learn(what), many.learn(what))
    together.learn(given)
    assert one.statistics == many.statistics == together.statistics
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, many.arrays()[name], name)
        np.testing.assert_array_equal(array, together.arrays()[name], name)


@pytest.mark.parametrize("layers", [*COSTS, *LOGGED[:1]])
def test_a_decision_as_a_batch_of_its_own_is_the_readers(layers: list[Any]) -> None:
    chain, made = Chain.from_config({"weights": {"bits": 10}, "chain": layers}), 0
    for record in records(layers in COSTS):
        if (found := chain.batch_of_decision(record)) is not None:
            made += 1
            [wanted] = record_batches([record], chain.parser, chain.columns)
            for field in fields(Batch):
                one, other = getattr(found, field.name), getattr(wanted, field.name)
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other, field.name)
    assert made > 20


def test_decisions_as_records_and_as_text_take_turns() -> None:
    layers = LOGGED[0]
    one, other = (Chain.from_config({"weights": {"bits": 10}, "chain": layers}) for _ in range(2))
    for k in range(20):
        text = f"shared |u x{k % 3}\n{'0:1:0.5 ' if k % 3 else ''}|a b\n|a c\n|a d"
        record: dict[str, Any] = {"shared": {"u": f"x{k % 3}"}, "actions": [{"a": "b"}, {"a": "c"}, {"a": "d"}]}
        if k % 3:
            record |= {"chosen": 0, "cost": 1, "probability": 0.5}
        if k:
            np.testing.assert_array_equal(one.predict(text), other.predict(record))
        one.learn(text if k % 2 else record) if k else one.learn("0:1:0.5 |a b\n|a c")
        other.learn(record) if k else other.learn("0:1:0.5 |a b\n|a c")
    np.testing.assert_array_equal(one.arrays()["weights"], other.arrays()["weights"])


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": 2}, {"chosen": 0.5}, {"chosen": True}, {"cost": "1"}, {"cost": 10**400},
        {"probability": 0}, {"probability": 2}, {"probability": None},
        {"actions": []}, {"actions": [{}, {"a": "b"}]}, {"actions": [{"a": []}, {"a": "b"}]}, {"actions": ["a", "b"]},
        {"actions": [{"a": "b"}, {"a": {"x": float("inf")}}]}, {"actions": [{"a": "b", "label": 1}, {"a": "c"}]},
        {"shared": "x"}, {"importance": -1}, {"importance": float("nan")}, {"action": 1},
    ],
)  # fmt: skip
def test_a_wrong_record_is_refused_with_its_place_also_alone(change: dict[str, Any]) -> None:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": LOGGED[0]})
    good = {"actions": [{"a": "b"}, {"a": "c"}], "chosen": 1, "cost": 0.5, "probability": 0.5}
    chain.learn(good)
    kept = {name: array.copy() for name, array in chain.arrays().items()}
    with pytest.raises(DataError, match="<records>:1: "):
        chain.learn({**good, **change})
    for name, array in chain.arrays().items():
        np.testing.assert_array_equal(array, kept[name], name)


@pytest.mark.parametrize("layers", [*COSTS, *LOGGED])
def test_a_decision_is_a_batch_of_one(layers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = (Chain.from_config({"weights": {"bits": 10}, "chain": layers}) for _ in range(2))
    monkeypatch.setattr(many, "predictions_of_one", lambda examples, learn: None)
    fast = 0
    for k, lines in enumerate(decisions(layers in COSTS)[1:]):
        given: Any = "\n".join(lines) if k % 2 else lines
        fast += one.predictions_of_one(lines, False) is not None
        if k % 3:
            before, counters = one.predict(given), one.shared.copy()
            assert before.dtype == np.float32
            if layers[0] != "sample_action":  # draws again
                np.testing.assert_array_equal(before, many.predict(given))
            assert counters == one.shared
        if layers[0] != "sample_action":
            np.testing.assert_array_equal(one.learn(given), many.learn(given))
    assert fast == 39 and one.statistics == many.statistics
    for name, array in one.arrays().items():
        if layers[0] != "sample_action":
            np.testing.assert_array_equal(array, many.arrays()[name], name)


def test_what_is_no_usual_decision_is_left_to_batches() -> None:
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": LOGGED[0]})
    with pytest.warns(UserWarning, match="no example had a label"):
        chain.learn("|a x\n|a y")
    chain.learn("0:1:0.5 |a x\n|a y")
    assert chain.predictions_of_one("|a x\n|a y\n\n|a z\n|a w", False) is None  # two decisions
    assert len(chain.predict("|a x\n|a y\n\n|a z\n|a w")) == 4
    assert chain.predictions_of_one("file.vw", False) is None
    with pytest.warns(UserWarning, match="bad probability"):
        chain.learn("0:1:7 |a x\n|a y")
