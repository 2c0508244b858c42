"""A row of a table is the same example at every door: a frame, JSON lines, a list of mappings, one mapping."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.data.roles import Roles
from hutch.core.data.rows import Rows
from hutch.core.errors import DataError

COLUMNS: list[dict[str, Any]] = [
    {"label": "y"},
    {"label": "y", "text": ["note"]},
    {"label": "y", "text": ["note"], "categorical": ["age"]},
    {"label": "y", "namespaces": {"who": ["age", "city"], "what": "*"}},
    {"label": "y", "ignore": ["city"], "text": ["note"]},
    {"label": "y", "text": ["note"], "namespaces": {"what": ["city", "note"], "": "*"}},
    {"label": "y", "text": ["note"], "namespaces": {"note": ["city"], "": "*"}},
    {"label": "y", "text": ["note"], "namespaces": {"what": ["note"]}},
]
ROWS = st.fixed_dictionaries(
    {
        "y": st.sampled_from([-1.0, 1.0]),
        "age": st.sampled_from([None, 0.5, 1.0, 37.25]),
        "city": st.sampled_from([None, "", "Oslo", "Rome"]),
        "note": st.sampled_from(["Pay, pay twice", "pay, please", "locked"]),
    }
)


def chain_of(columns: dict[str, Any]) -> Chain:
    return Chain.from_config({"input": {"columns": columns}, "chain": [{"linear": {"loss": "logistic"}}]})


@pytest.mark.parametrize("columns", COLUMNS, ids=range(len(COLUMNS)))
@settings(max_examples=15)
@given(rows=st.lists(ROWS, min_size=2, max_size=6))
def test_every_door_leads_to_the_same_example(
    columns: dict[str, Any], rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = {"y": 1.0, "age": 2.5, "city": "Rome", "note": "Locked twice"}  # no column is empty
    rows = [first, *({name: row[name] for name in first} for row in rows)]
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    by_frame, by_file, by_list, one_by_one = (chain_of(columns) for _ in range(4))
    schema = pa.schema([("y", pa.float64()), ("age", pa.float64()), ("city", pa.string()), ("note", pa.string())])
    found = [by_frame.learn(pa.Table.from_pylist(rows, schema)), by_file.learn(path), by_list.learn(rows)]
    found.append(np.concatenate([one_by_one.learn([row]) for row in rows]))
    found.append(np.array([chain_of(columns).learn([row])[0] for row in rows[:1]]))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0][: len(other)], other)
    unknown = [{name: value for name, value in row.items() if name != "y"} for row in rows]
    wanted = by_frame.predict(rows)
    np.testing.assert_array_equal(wanted, [by_frame.predict_one(row) for row in unknown])
    np.testing.assert_array_equal(wanted, np.concatenate([by_frame.predict([row]) for row in rows]))


def test_words_alone_are_cells_where_the_chain_has_learned_a_table() -> None:
    table, records = chain_of({"label": "y"}), chain_of({"label": "y"})
    rows = [{"y": 1.0, "city": "Oslo"}, {"y": -1.0, "city": "Rome"}] * 20
    table.learn(pa.Table.from_pylist(rows))
    records.learn(rows)  # a namespace of one name, as in text `|city Oslo`
    for one, other in ((table, pa.Table.from_pylist(rows)), (records, ["1 |city Oslo", "-1 |city Rome"])):
        assert one.predict(rows[:2]).tolist() == one.predict(other)[:2].tolist()
        assert one.predict([rows[0]])[0] == one.predict(rows)[0] > 0.5


def test_a_text_is_its_words_in_one_record_as_in_many() -> None:
    chain = chain_of({"label": "y", "text": ["note"]})
    for _ in range(10):
        chain.learn([{"y": 1, "note": "pay twice"}])
        chain.learn([{"y": -1, "note": "password locked"}])
    several = chain.predict([{"note": "Twice!"}, {"note": "locked"}])
    assert several[0] > 0.2 > -0.2 > several[1]
    assert several.tolist() == [chain.predict_one({"note": "Twice!"}), chain.predict_one({"note": "locked"})]


def test_a_feature_of_river_may_have_the_name_of_a_role() -> None:
    assert Rows(Roles(), labelled=False).record({"tag": "a", "label": 2}) == {"": [("tag", "a"), ("label", 2)]}


def test_cells_join_the_namespace_that_a_row_has_already() -> None:
    rows = Rows(Roles(namespaces={"ad": ["size"], "": "*"}))
    for row in ({"ad": {"kind": "big"}, "size": 2}, {"size": 2, "ad": ["kind"]}):
        assert set(dict(rows.record(row)["ad"])) == {"kind", "size"}


def test_the_last_example_is_not_taken_for_a_row(tmp_path: Path) -> None:
    chain = chain_of({"label": "y"})
    chain.learn([{"y": 1, "words": ["a", "b"], "who": "ann"}] * 3)
    assert chain.predict([{"words": ["a", "b"], "who": "ann"}]) == chain.predict("|words a b |who ann")


def test_a_missing_text_is_no_feature() -> None:
    chain = chain_of({"label": "y", "text": ["note"]})
    assert chain.learn([{"y": 1, "note": None}]) == chain_of({"label": "y"}).learn(["1 |"])
    assert chain.predict([{"note": None}, {"note": None}]).tolist() == [chain.predict("|").item()] * 2


def test_dates_truth_values_and_decimals_are_the_cells_that_they_are_in_a_frame() -> None:
    rows = [
        {
            "y": 2.0 * (k % 2) - 1,
            "seen": datetime.datetime(2026, 7, 2 + k, 9, 30),
            "day": datetime.date(2025, 1, k + 1),
            "took": datetime.timedelta(minutes=20 * k),
            "price": 1.5 * k,
            "open": bool(k % 3),
        }
        for k in range(8)
    ]
    odd = [{**row, "price": Decimal(str(row["price"])), "open": np.bool_(row["open"]), "no": pandas.NA} for row in rows]
    chains = [chain_of({"label": "y"}) for _ in range(4)]
    wanted = chains[0].learn(pandas.DataFrame(rows))
    assert len(set(wanted.tolist())) == 8
    np.testing.assert_array_equal(wanted, chains[1].learn(rows))
    np.testing.assert_array_equal(wanted, np.concatenate([chains[2].learn(row) for row in rows]))
    np.testing.assert_array_equal(wanted, np.concatenate([chains[3].learn(row) for row in odd]))
    alone = {name: value for name, value in odd[3].items() if name not in ("y", "no")}
    frame = pandas.DataFrame([alone]).astype({"price": float})
    assert chains[3].predict_one(alone) == chains[0].predict(frame)[0] == chains[0].predict([alone])[0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_an_empty_word_is_missing_in_every_kind_of_column(kind: pa.DataType) -> None:
    words = ["a", "", None, "b", ""]
    chain = chain_of({"label": "y"})
    table = pa.table({"z": pa.array(words).cast(kind), "x": [1.0] * 5, "y": [1.0] * 5})
    assert [len(batch.indices) for batch in chain.batches(table)] == [12]  # x and the constant in each row
    mapped = [{"z": word, "x": 1.0, "y": 1.0} for word in words]
    assert [len(batch.indices) for batch in chain.batches(mapped)] == [12]


@pytest.mark.parametrize("value", [None, "", float("nan"), np.float32("nan"), pandas.NA, pandas.NaT])
def test_what_is_missing_is_no_category(value: Any) -> None:
    chain = chain_of({"label": "y", "categorical": ["z"]})
    row = {"z": value, "x": 1.0, "y": 1.0}
    frame = pandas.DataFrame([row]) if value is not pandas.NaT else [row]  # that has a column of times
    for examples in (row, [row, row], frame):
        assert [len(batch.indices) / len(batch) for batch in chain.batches(examples)] == [2]  # x and the constant
    wanted = chain.learn([{"x": 1.0, "y": 1.0}] * 3)
    again = chain_of({"label": "y", "categorical": ["z"]})
    np.testing.assert_array_equal(wanted, np.concatenate([again.learn(row) for _ in range(3)]))


@pytest.mark.parametrize(
    "value", [True, 2.0, 2.5, 1e6, 7, "x", datetime.date(2025, 1, 3), Decimal("1.5"), np.float64(3)]
)
def test_a_cell_of_a_categorical_column_is_the_word_that_it_is_in_a_frame(value: Any) -> None:
    row = {"y": 1.0, "id": value, "other": 0.5}
    chains = [chain_of({"label": "y", "categorical": ["id"]}) for _ in range(2)]
    chains[0].learn(pa.Table.from_pylist([row]))
    chains[1].learn(row)
    np.testing.assert_array_equal(chains[0].weights, chains[1].weights)


def test_a_time_of_a_frame_is_no_word() -> None:
    table = pa.Table.from_pylist([{"y": 1.0, "id": datetime.datetime(2025, 1, 3, 9)}])
    with pytest.raises(
        DataError, match=r"column 'id' is timestamp.*wanted words, numbers or dates under 'categorical'"
    ):
        chain_of({"label": "y", "categorical": ["id"]}).learn(table)
