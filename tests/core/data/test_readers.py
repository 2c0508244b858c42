"""CSV and Parquet files give the very batch that the text would give."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.batch import Batch
from hutch.core.data.csv import read_csv
from hutch.core.data.parquet import read_parquet
from hutch.core.data.sources import to_batches
from hutch.core.errors import ConfigError, DataError
from hutch.core.text.parser import ParserOptions, TextParser

FIELDS = (
    "labels",
    "importance",
    "base",
    "row_ptr",
    "indices",
    "values",
    "row_namespaces",
    "namespace_ptr",
    "namespace_id",
)
LETTER = ParserOptions(namespaces="letter", hash="all", hash_seed=3, bits=12)


def assert_same(got: Batch, wanted: Batch, *more: str) -> None:
    for name in (*FIELDS, *more):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), err_msg=name)


def parsed(text: str, options: ParserOptions | None = None) -> Batch:
    return TextParser(options).parse(text.encode())


CSV = (
    'label,importance,tag,age,city,"a ""q"" column"\n1,2,first,0.779,Oslo,x\r\n,,,-3, 7 ,\n0,1,,,"New|York: a,b",nan\n'
)
CSV_ROLES = {"namespaces": {"user": ["age"], "place": "*"}}


@pytest.mark.parametrize("options", [ParserOptions(), LETTER])
def test_csv_is_its_records(tmp_path: Path, options: ParserOptions) -> None:
    (tmp_path / "a.csv").write_text("\ufeff" + CSV)
    [got] = read_csv(str(tmp_path / "a.csv"), options, CSV_ROLES)
    records = [
        {
            "label": 1,
            "importance": 2,
            "tag": "first",
            "user": {"age": 0.779},
            "place": {"city": "Oslo", 'a "q" column': "x"},
        },
        {"user": {"age": -3}, "place": {"city": 7}},
        {"label": 0, "place": {"city": "New|York: a,b"}},
    ]
    [wanted] = to_batches(records, options)
    assert_same(got, wanted, "tags", "tag_ptr")


def test_tsv_and_categorical_columns(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("rater\tx\n12\t1\n7\t2\n")
    [got] = read_csv(str(tmp_path / "a.tsv"), ParserOptions(), {"categorical": ["rater"]}, "\t")
    [wanted] = to_batches([{"": {"rater": "12", "x": 1}}, {"": {"rater": "7", "x": 2}}], ParserOptions())
    assert_same(got, wanted)


def test_csv_cells_that_only_begin_like_numbers_are_words(tmp_path: Path) -> None:
    cells = ["12a", "-", ".", "e", "1:2", "-x", "1 2", "0x10"]
    (tmp_path / "a.csv").write_text("c,d\n" + "".join(f"{cell},\n" for cell in cells))
    [got] = read_csv(str(tmp_path / "a.csv"), ParserOptions())
    [wanted] = to_batches([{"": {"c": cell}} for cell in cells], ParserOptions())
    assert_same(got, wanted)


cells = st.text('ab,"\n\r |:é', max_size=5)


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6))
def test_quoted_cells_come_back(tmp_path_factory: Any, rows: list[tuple[str, str]]) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    quoted = [
        "".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' + end for cell, end in zip(row, ",\n", strict=True))
        for row in rows
    ]
    path.write_bytes(("tag,c\n" + "".join(quoted)).encode())
    [got] = read_csv(str(path), ParserOptions())
    assert [got.tag(i).decode() for i in range(len(got))] == [row[0] for row in rows]
    [wanted] = to_batches([{"": {"c": row[1] or None}} for row in rows], ParserOptions())
    assert_same(got, wanted)


def test_a_csv_file_of_many_chunks(tmp_path: Path) -> None:
    rows = 120_000
    text = "group,label,x,y\n" + "".join(f'{i // 3},{i % 2},"{i}\n",w{i % 7}\n' for i in range(rows))
    (tmp_path / "a.csv").write_text(text)
    batches = list(read_csv(str(tmp_path / "a.csv"), ParserOptions()))
    assert len(batches) > 1
    np.testing.assert_array_equal(np.concatenate([batch.labels for batch in batches]), np.arange(rows) % 2)
    np.testing.assert_array_equal(np.concatenate([batch.group for batch in batches]), np.arange(rows) // 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1\n", "a.csv:3:1: got 1 field, wanted 2 as in the first line"),
        ("a,b\n1,2\n1,2,3\n", "a.csv:3:1: got 3 fields, wanted 2"),
        ("label,b\n1,2\n\nyes,2\n", r"a.csv:4: column 'label' \(label\): got 'yes', wanted a number"),
        ("importance,b\n-1,2\n", "a.csv:2: importance: got -1, wanted a number ≥ 0"),
        ('importance,b\n1,"a\nb"\n\n-1,2\n', "a.csv:5: importance: got -1, wanted a number ≥ 0"),
        ('a,b\n1,"x\n"\n\ninf,2\n', "a.csv:5: column 'a': got inf, wanted a number below"),
        ('a,b\n1,"2\n', "a.csv:2:3: got a quote that is never closed"),
        ("a,a\n1,2\n", "a.csv:1: column 'a' appears twice, wanted names that differ"),
        ("", "a.csv: is empty, wanted a header and records"),
        ("\n\n", "a.csv: is empty, wanted a header and records"),
        ("a,b\n1,1e39\n", "a.csv:2: column 'b': got inf, wanted a number below"),
        ("a,b\n1,1e400\n", "a.csv:2: column 'b': got inf, wanted a number below"),
        ("a,b\n1," + "9" * 5000 + "\n", "a.csv:2: column 'b': got inf, wanted a number below"),
        ("a,b\n1," + "9" * 5000 + "e-60\n", "a.csv:2: column 'b': got inf, wanted a number below"),
        ("label,b\n0x10,1\n", "a.csv:2: column 'label' .*: got '0x10', wanted a number"),
    ],
)
def test_malformed_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_csv(str(tmp_path / "a.csv"), ParserOptions()))


def test_columns_that_are_not_in_the_header_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("clicked,x\n1,2\n")
    with pytest.raises(ConfigError, match=r"a\.csv: columns.label: no column 'clickd'; did you mean 'clicked'?"):
        list(read_csv(str(tmp_path / "a.csv"), ParserOptions(), {"label": "clickd"}))


def test_parquet_is_its_table(tmp_path: Path) -> None:
    table = pa.table(
        {"label": np.arange(50_000) % 2, "x": np.arange(50_000.0), "w": [f"w{i % 9}" for i in range(50_000)]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20_000)
    got = list(read_parquet(str(tmp_path / "a.parquet"), ParserOptions(), {"namespaces": {"f": "*"}}))
    wanted = list(to_batches(table, ParserOptions(), {"namespaces": {"f": "*"}}))
    for name in ("labels", "indices", "values"):
        joined = [np.concatenate([getattr(batch, name) for batch in batches]) for batches in (got, wanted)]
        np.testing.assert_array_equal(*joined)


def test_what_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(DataError, match="a.parquet: not a Parquet file"):
        list(read_parquet(str(tmp_path / "a.parquet"), ParserOptions()))
    with pytest.raises(DataError, match="b.parquet: cannot be read: No such file"):
        list(read_parquet(str(tmp_path / "b.parquet"), ParserOptions()))
