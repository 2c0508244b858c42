"""Columns of text and of dates: the same words from every kind of table, and what a date is made of."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch import Chain
from hutch.core.data.csv import read_csv
from hutch.core.data.sources import to_batches
from hutch.core.data.words import words_of
from hutch.core.errors import ConfigError, DataError
from hutch.core.text.parser import ParserOptions

OPTIONS = ParserOptions(bits=24)
COLUMNS = {"text": ["comment", "title"]}
TEXTS = [("Don't panic", "A"), ("", "ÜBER alles, ÉTÉ"), ("so so good 42", ""), ("snake_case x-y", "naïve")]


def as_text(rows: list[tuple[str, str]]) -> str:
    return "".join(
        f"1 | n:{i + 1} |comment {' '.join(words_of(comment))} |title {' '.join(words_of(title))}\n"
        for i, (comment, title) in enumerate(rows)
    )


def assert_same(got: Any, wanted: Any) -> None:
    for name in ("row_ptr", "indices", "values", "namespace_id", "namespace_ptr"):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name))


def table_of(rows: list[tuple[str, str]]) -> Any:
    n = np.arange(1.0, len(rows) + 1)
    return pa.table(
        {"label": [1.0] * len(rows), "n": n, "comment": [r[0] for r in rows], "title": [r[1] for r in rows]}
    )


def test_words_are_those_of_the_text(tmp_path: Path) -> None:
    [wanted] = to_batches(as_text(TEXTS), OPTIONS)
    [got] = to_batches(table_of(TEXTS), OPTIONS, COLUMNS)
    assert_same(got, wanted)
    lines = [f'1,{i + 1},"{comment}","{title}"\n' for i, (comment, title) in enumerate(TEXTS)]
    (tmp_path / "a.csv").write_text("label,n,comment,title\n" + "".join(lines))
    [got] = read_csv(str(tmp_path / "a.csv"), OPTIONS, COLUMNS)
    assert_same(got, wanted)
    records = [{"label": 1, "": {"n": i + 1}, "comment": c, "title": t} for i, (c, t) in enumerate(TEXTS)]
    [got] = to_batches(records, OPTIONS, COLUMNS)
    assert_same(got, wanted)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=12), st.text("aB c_é\0.", max_size=6)), min_size=1, max_size=5))
def test_kernels_split_as_python_does(rows: list[tuple[str, str]]) -> None:
    records = [{"": {"n": i + 1}, "comment": c, "title": t} for i, (c, t) in enumerate(rows)]
    rows = [(c.replace("\udfff", ""), t) for c, t in rows]
    [wanted] = to_batches(records, OPTIONS, COLUMNS)
    [got] = to_batches(table_of(rows), OPTIONS, COLUMNS)
    assert_same(got, wanted)


def test_text_goes_where_it_is_listed_and_missing_text_has_no_words() -> None:
    table = pa.table({"comment": ["a b", None], "n": [1.0, 2.0]})
    [got] = to_batches(table, OPTIONS, {"text": ["comment"], "namespaces": {"w": ["comment"], "": "*"}})
    [wanted] = to_batches("|w a b | n:1\n| n:2\n", OPTIONS)
    np.testing.assert_array_equal(np.sort(got.indices), np.sort(wanted.indices))
    np.testing.assert_array_equal(got.row_ptr, wanted.row_ptr)


def test_what_is_no_text_is_named() -> None:
    with pytest.raises(DataError, match="column 'n' is double, wanted text"):
        list(to_batches(pa.table({"n": [1.0]}), OPTIONS, {"text": ["n"]}))
    with pytest.raises(ConfigError, match="columns.text: no column 'comments'; did you mean 'comment'"):
        list(to_batches(pa.table({"comment": ["a"]}), OPTIONS, {"text": ["comments"]}))


def test_dates_are_taken_apart() -> None:
    when = datetime.datetime(2024, 3, 4, 17, 30)
    table = pa.table(
        {
            "d": [when.date(), None],
            "t": [when, None],
            "h": [when.time(), None],
            "s": pa.array([datetime.timedelta(minutes=1), None]),
        }
    )
    [got] = to_batches(table, OPTIONS)
    year = float(np.float32(24 + (31 + 29 + 3) / 365.25))
    date = {"year": year, "month": "3", "weekday": "0"}
    first = {f"{column}.{part}": value for column in "dt" for part, value in date.items()}
    [wanted] = to_batches([{"": first | {"t.hour": "17", "h.hour": "17", "s": 60.0}}, {"": {}}], OPTIONS)
    assert_same(got, wanted)


def test_the_index_of_a_pandas_frame_is_no_feature() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    [wanted] = to_batches(frame, OPTIONS)
    [shuffled] = to_batches(frame.iloc[[2, 0, 1]], OPTIONS)
    np.testing.assert_array_equal(np.sort(shuffled.indices), np.sort(wanted.indices))
    [named] = to_batches(frame.set_index("b"), OPTIONS)
    assert len(named.indices) == 6
    [tagged] = to_batches(frame.set_index("b"), OPTIONS, {"tag": "b"})
    assert tagged.tag(1) == b"y"


def test_labels_beside_a_table() -> None:
    table = pa.table({"label": ["a", "b"] * 50, "n": np.arange(100.0)})
    chain = Chain.from_config({"chain": ["linear"]})
    chain.learn(table, np.arange(100.0), columns={"label": ""})
    assert chain.statistics.examples == 100 and chain.statistics.average_loss > 0
    with pytest.raises(DataError, match="got 99 labels, wanted"):
        chain.learn(table, np.arange(99.0), columns={"label": ""})
    with pytest.raises(DataError, match="got 101 labels, wanted 100"):
        chain.learn(table, np.arange(101.0), columns={"label": ""})
