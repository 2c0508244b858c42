"""Decisions as records."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import DataError

LAYERS = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
ACTIONS = [{"item": ["a"]}, {"item": {"b": 0.5}}]


def _learn(*records, layers=LAYERS):
    chain = Chain.from_config({"chain": layers, "input": {"namespaces": "letter"}})
    chain.learn(list(records))
    return chain


def test_records_are_the_lines_of_text():
    records = [
        {"shared": {"user": {"age": 0.3}}, "actions": ACTIONS, "chosen": 1, "cost": 2.0, "probability": 0.25},
        {"actions": ACTIONS, "chosen": 0, "cost": -1, "probability": 1},
        {"actions": ACTIONS},
    ]
    text = (
        "shared |user age:0.3\n|item a\n1:2:0.25 |item b:0.5\n\n0:-1:1 |item a\n|item b:0.5\n\n|item a\n|item b:0.5\n"
    )
    one, other = _learn(*records), Chain.from_config({"chain": LAYERS, "input": {"namespaces": "letter"}})
    other.learn(text)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.statistics == other.statistics


def test_costs_of_all_actions():
    chain = _learn({"actions": ACTIONS, "costs": [1, 0]}, layers=LAYERS[1:])
    assert chain.statistics.weighted_labeled == 1
    assert np.argmin(chain.predict([{"actions": ACTIONS}])) == 1


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"actions": []}, "actions: got"),
        ({"shared": {"u": ["a"]}}, "actions: got None"),
        ({"actoins": ACTIONS}, "'actoins'; did you mean 'actions'"),
        ({"actions": ["a"]}, "got str, wanted a mapping"),
        ({"actions": [{"label": 1}]}, "got the key 'label'"),
        ({"actions": [{"item": 3}]}, "namespace 'item': got int"),
        ({"actions": ACTIONS, "chosen": 2, "cost": 1, "probability": 1}, "chosen: got 2, wanted the number"),
        ({"actions": ACTIONS, "chosen": 0, "cost": float("nan"), "probability": 1}, "cost: got nan"),
        ({"actions": ACTIONS, "chosen": 0, "cost": 1, "probability": 0}, "probability: got 0"),
        ({"actions": ACTIONS, "chosen": 0, "cost": 1, "probability": 1.5}, "probability: got 1.5"),
        ({"actions": ACTIONS, "cost": 1}, "chosen: got None"),
    ],
)
def test_a_wrong_record_is_named_by_its_number(record, text):
    good = {"actions": ACTIONS, "chosen": 0, "cost": 1, "probability": 0.5}
    with pytest.raises(DataError, match=f"<records>:2: .*{text}"):
        _learn(good, record)


def test_costs_must_be_as_many_as_actions():
    with pytest.raises(DataError, match="costs: got .*wanted a number for each of 2 actions"):
        _learn({"actions": ACTIONS, "costs": [1]}, layers=LAYERS[1:])


def test_a_logged_class_is_a_mapping():
    layers = [{"action_per_class": {"classes": 3}}, *LAYERS]
    label = {"class": 2, "cost": 1.0, "probability": 0.5}
    chain = _learn({"label": label, "f": ["x"]}, layers=layers)
    other = Chain.from_config({"chain": layers, "input": {"namespaces": "letter"}})
    other.learn("2:1:0.5 |f x\n")
    np.testing.assert_array_equal(chain.weights, other.weights)
    with pytest.raises(DataError, match="label: got"):
        _learn({"label": {**label, "probability": 0}, "f": ["x"]}, layers=layers)


RECORDS = [
    {"shared": {"user": {"age": 0.3}}, "actions": ACTIONS, "chosen": 1, "cost": 2.0, "probability": 0.25, "tag": "t"},
    {"actions": [*ACTIONS, {"item": "a"}], "chosen": 0, "cost": -1.0, "probability": 1.0, "importance": 2.0},
    {"actions": ACTIONS},
]


def _fields(action):
    """An action as a struct of lists and maps."""
    item = action["item"]
    if isinstance(item, dict):
        return {"size": list(item.items())}
    return {"item": item if isinstance(item, list) else [item]}


def _table(pa):
    action = pa.struct([("item", pa.list_(pa.string())), ("size", pa.map_(pa.string(), pa.float64()))])
    shared = pa.struct([("user", pa.struct([("age", pa.float64())]))])
    columns = {
        "shared": pa.array([record.get("shared") for record in RECORDS], shared),
        "actions": pa.array([[_fields(one) for one in record["actions"]] for record in RECORDS], pa.list_(action)),
        "note": pa.array(["x"] * 3),
    }
    for name in ("chosen", "cost", "probability", "importance", "tag"):
        columns[name] = pa.array([record.get(name) for record in RECORDS])
    return pa.table(columns)


def test_tables_are_records(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    plain = [
        {**record, "actions": [{"size": a["item"]} if isinstance(a["item"], dict) else a for a in record["actions"]]}
        for record in RECORDS
    ]
    table, one = _table(pa), _learn(*plain)
    parquet.write_table(table, tmp_path / "decisions.parquet")
    for examples in (table, tmp_path / "decisions.parquet"):
        other = Chain.from_config({"chain": LAYERS, "input": {"namespaces": "letter", "columns": {"ignore": ["note"]}}})
        other.learn(examples)
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.statistics == other.statistics
    with pytest.raises(DataError, match="<table>:1: got the key 'note'"):
        Chain.from_config({"chain": LAYERS}).learn(table)
    with pytest.raises(DataError, match="got labels beside a table of decisions"):
        Chain.from_config({"chain": LAYERS}).learn(table, [1, 2, 3])
