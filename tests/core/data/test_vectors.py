"""Lists of numbers, as embeddings are, are the same features at every door; whole numbers and words are names."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest

from hutch.chain import Chain
from hutch.core.data.vectors import Vectors
from hutch.core.errors import DataError
from hutch.river import HutchRegressor
from hutch.serve.bodies import ARROW, JSON, batches_of

RANDOM = np.random.default_rng(0)
ROWS = [
    {"label": float(k % 2), "a": float(k), "e": RANDOM.normal(size=3).astype(np.float32).tolist(), "w": f"w{k % 3}"}
    for k in range(12)
]
ROWS[3]["e"], ROWS[5]["e"], ROWS[7]["e"] = None, [], [0.5, None, 1]


def chain_of() -> Chain:
    return Chain.from_config({"chain": ["linear"], "weights": {"bits": 12}})


def learned(examples: Any) -> Any:
    chain = chain_of()
    chain.learn(examples)
    return chain.weights


def test_a_list_of_numbers_is_a_namespace_of_places_at_every_door(tmp_path: Path) -> None:
    places = [
        {**row, "e": {str(k): value for k, value in enumerate(row["e"] or []) if value is not None}} for row in ROWS
    ]
    wanted = learned(places)
    assert np.count_nonzero(wanted) > 6
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    table = pa.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    whole = [{**row, "e": row["e"] or [None] * 3} for row in ROWS]
    fixed = pa.table(
        {
            **{n: table[n] for n in ("label", "a", "w")},
            "e": pa.array([r["e"] for r in whole], pa.list_(pa.float64(), 3)),
        }
    )
    arrays = [{**row, "e": np.array(row["e"], float)} if row["e"] else row for row in ROWS]
    doors: dict[str, Any] = {
        "records": ROWS,
        "arrays": arrays,
        "table": table,
        "large": table.cast(
            pa.schema([f if f.name != "e" else f.with_type(pa.large_list(pa.float64())) for f in table.schema])
        ),
        "fixed": fixed.select(["label", "a", "e", "w"]),
        "pandas": pandas.DataFrame(ROWS),
        "polars": polars.DataFrame(ROWS, strict=False),
        "pieces": [table.slice(0, 4), table.slice(4)],
        "json lines": tmp_path / "a.jsonl",
        "parquet": tmp_path / "a.parquet",
    }
    for name, examples in doors.items():
        np.testing.assert_array_equal(learned(examples), wanted, err_msg=name)
    one = chain_of()
    for row in ROWS:
        one.learn(row)
    np.testing.assert_array_equal(one.weights, wanted)


def test_whole_numbers_are_names() -> None:
    named = [{"label": 1, "items": ["7", "12", "x"]}, {"label": 0, "items": ["12"]}]
    numbers = [{"label": 1, "items": [7, 12, "x"]}, {"label": 0, "items": [12]}]
    np.testing.assert_array_equal(learned(numbers), learned(named))
    kept = Vectors()
    assert kept.features("e", [0.5, 2]) == [("0", 0.5), ("1", 2)]
    assert kept.features("e", [1, 0]) == [("0", 1), ("1", 0)]  # as JSON writes 1.0


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[0.5, 1.0], [0.5]], "'e': got 1 numbers, wanted 2 as before"),
        ([[0.5, "b"]], "'e': number 2: got 'b', wanted numbers alone, or names as text"),
        ([[0.5, True]], "'e': number 2: got True, wanted numbers alone"),
        ([[7, 12], [7, np.float32(0.5)]], "'e': got numbers such as 0.5, wanted names, as whole numbers were before"),
        ([[7, 12], [7, 0.5]], "'e': got numbers such as 0.5, wanted names, as whole numbers were before"),
        ([np.ones((2, 2))], "'e': got an array of float64 .2, 2., wanted a row of numbers"),
        ([np.array(["a"])], "'e': got an array of <U1 .1,., wanted a row of numbers"),
    ],
)
def test_what_is_neither_numbers_nor_names_is_refused(rows: list[Any], text: str) -> None:
    records = [{"label": 1, "e": row} for row in rows]
    with pytest.raises(DataError, match=f"<records>:{len(rows)}: namespace {text}"):
        chain_of().learn(records)
    chain = chain_of()
    with pytest.raises(DataError, match=text):
        for record in records:
            chain.learn(record)


def test_lists_of_other_lengths_in_a_table_are_refused() -> None:
    tables = [
        pa.table({"label": [1.0] * 3, "e": [[0.5, 1.0], None, [0.5, 1.0]]}),
        pa.table({"label": [1.0], "e": [[0.5]]}),
    ]
    with pytest.raises(DataError, match="<table>:4: column 'e': got 1 numbers, wanted 2 as before"):
        chain_of().learn(tables)
    with pytest.raises(
        DataError, match="column 'e' is list<item: int64>, wanted numbers, words, dates or lists of floats"
    ):
        chain_of().learn(pa.table({"label": [1.0], "e": [[5]]}))


def doors_of(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """The same rows as a list, a frame, one record, and two kinds of files."""
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    frame, files = pandas.DataFrame(rows), {name: folder / f"a.{name}" for name in ("jsonl", "parquet")}
    return {"records": rows, "frame": frame, "one": rows[:1], **files}


@pytest.mark.parametrize("door", ["records", "frame", "one", "jsonl", "parquet"])
def test_a_saved_model_knows_the_length_of_its_lists(tmp_path: Path, door: str) -> None:
    rows = [{"label": float(k % 2), "e": [0.5 + k, 1.0, 2.0]} for k in range(4)]
    (right := tmp_path / "right").mkdir()
    (wrong := tmp_path / "wrong").mkdir()
    chain = chain_of()
    chain.predict([{"e": [0.5]}])  # which is not learned
    chain.learn(doors_of(rows, right)[door])
    chain.save(tmp_path / "model")
    others = doors_of([{**row, "e": row["e"][:2]} for row in rows], wrong)
    for name, data in doors_of(rows, right).items():
        assert len(Chain.load(tmp_path / "model").predict(data)) == (1 if name == "one" else 4)
        for run in (Chain.load(tmp_path / "model").predict, Chain.load(tmp_path / "model").learn):
            with pytest.raises(DataError, match="'e': got 2 numbers, wanted 3 as before"):
                run(others[name])


def test_rows_and_frames_of_a_stream_have_lists_of_one_length() -> None:
    rows = [{"e": [0.5 + k, 1.0, 2.0]} for k in range(4)]
    short = [{"e": row["e"][:2]} for row in rows]
    by_row, by_frame = HutchRegressor(), HutchRegressor()
    by_frame.predict_many(pandas.DataFrame(short))  # which is not learned
    for row in rows:
        by_row.learn_one(row, 1.0)
    by_frame.learn_many(pandas.DataFrame(rows), pandas.Series([1.0] * 4))
    for model in (by_row, by_frame, pickle.loads(pickle.dumps(by_row)), pickle.loads(pickle.dumps(by_frame))):
        for wrong in (lambda m=model: m.predict_one(short[0]), lambda m=model: m.predict_many(pandas.DataFrame(short))):
            with pytest.raises(DataError, match="'e': got 2 numbers, wanted 3 as before"):
                wrong()
        assert len(model.predict_many(pandas.DataFrame(rows))) == 4


@pytest.mark.parametrize("count", [1, 2])
def test_a_body_has_lists_of_the_length_that_was_learned(count: int) -> None:
    chain = chain_of()
    chain.learn([{"label": 1.0, "e": [0.5, 1.0]}] * 2)
    new = [{"f": [0.5]}] * count
    batches_of(chain, JSON, json.dumps(new).encode())
    batches_of(chain, JSON, json.dumps([{"f": [0.5, 1.0]}] * count).encode())  # the one before was not learned
    wrong, table = json.dumps([{"e": [0.5]}] * count).encode(), pa.table({"e": [[0.5]] * count})
    with pa.ipc.new_stream(sink := pa.BufferOutputStream(), table.schema) as stream:
        stream.write_table(table)
    for kind, body in ((JSON, wrong), (ARROW, sink.getvalue().to_pybytes())):
        with pytest.raises(DataError, match="'e': got 1 numbers, wanted 2 as before"):
            batches_of(chain, kind, body)
    assert chain.watch.lengths == {"e": 2}


def test_lists_of_an_ignored_column_may_have_any_length(tmp_path: Path) -> None:
    table = pa.table({"label": [1.0, 0.0], "a": [1, 2], "e": [[0.5], [0.5, 1.0]]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    wanted = learned(table.select(["label", "a"]))
    for data in (table, tmp_path / "a.parquet"):
        chain = chain_of()
        chain.learn(data, columns={"ignore": ["e"]})
        np.testing.assert_array_equal(chain.weights, wanted)


def test_a_table_without_rows_has_columns() -> None:
    table = pa.table({"label": [1.0], "e": [[0.5, 1.0]]})
    assert len(chain_of().learn(table.slice(0, 0))) == 0
    with pytest.raises(DataError, match="appears twice"):
        chain_of().learn(table.slice(0, 0).rename_columns(["e", "e"]))


def test_an_embedding_in_a_decision_is_numbers() -> None:
    chains = [
        Chain.from_config(
            {
                "chain": [
                    "explore_squarecb",
                    "contextual_bandit",
                    "cost_sensitive_with_features",
                    {"linear": {"interactions": [["e", "a"]]}},
                ]
            }
        )
        for _ in range(2)
    ]
    for k in range(20):
        decision = {
            "shared": {"e": [0.25 * k, 1.0]},
            "actions": [{"a": ["x"]}, {"a": ["y"]}],
            "chosen": k % 2,
            "cost": -float(k % 2),
            "probability": 0.5,
        }
        chains[0].learn(decision)
        chains[1].learn([{**decision, "shared": {"e": {"0": 0.25 * k, "1": 1.0}}}])
    np.testing.assert_array_equal(chains[0].weights, chains[1].weights)
