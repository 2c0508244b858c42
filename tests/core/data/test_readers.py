"""CSV and Parquet files give the very batch that the text would give."""

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.batch import Batch
from hutch.core.data.arrow_files import read_feather, read_parquet
from hutch.core.data.csv import read_csv
from hutch.core.data.files import ending_of
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


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_is_its_table(tmp_path: Path, compression: str) -> None:
    table = pa.table({"label": np.arange(500) % 2, "x": np.arange(500.0), "w": [f"w{i % 9}" for i in range(500)]})
    [wanted] = to_batches(table, ParserOptions())
    pyarrow.feather.write_feather(table, str(tmp_path / "a.feather"), compression=compression)
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    for name in ("a.feather", "a.arrow"):
        [got] = read_feather(str(tmp_path / name), ParserOptions())
        assert_same(got, wanted)


@pytest.mark.parametrize("cut", [0, 3, 200, -40])
def test_what_is_no_feather_file_is_named(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(pa.table({"x": np.arange(5000.0)}), str(path))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match="a.feather: not a Feather file"):
        list(read_feather(str(path), ParserOptions()))
    with pytest.raises(DataError, match=r"b\.feather: cannot be read: .*No such file"):
        list(read_feather(str(tmp_path / "b.feather"), ParserOptions()))


def test_a_zip_archive_of_one_file_is_that_file(tmp_path: Path) -> None:
    text = "label,x,w\n" + "".join(f"{i % 2},{i},w{i % 9}\n" for i in range(2000))
    (tmp_path / "a.csv").write_text(text)
    with zipfile.ZipFile(tmp_path / "a.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/a.csv", text)
        archive.writestr("__MACOSX/folder/._a.csv", "x")
    [wanted] = read_csv(str(tmp_path / "a.csv"), ParserOptions())
    [got] = read_csv(str(tmp_path / "a.csv.zip"), ParserOptions())
    assert_same(got, wanted)
    assert ending_of("Train.CSV.zip") == ".csv"


def test_other_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "label,x\n" + "1,2\n" * 2000)
    whole = path.read_bytes()
    path.write_bytes(whole[:4000] + b"?" + whole[4001:])
    with pytest.raises(DataError, match="a.csv.zip: zip archive that cannot be read: Bad CRC-32"):
        list(read_csv(str(path), ParserOptions()))
    path.write_bytes(whole[:4000])
    with pytest.raises(DataError, match="a.csv.zip: zip archive that cannot be read: File is not a zip file"):
        list(read_csv(str(path), ParserOptions()))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.csv", "label,x\n1,2\n")
        archive.writestr("c.csv", "label,x\n1,2\n")
    with pytest.raises(DataError, match=r"a.csv.zip: got 2 files in an archive: b.csv, c.csv, wanted one: unpack it"):
        list(read_csv(str(path), ParserOptions()))


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.sampled_from(["", "a.b", "1.200.5", "1e5", "-.5", "7", "Oslo. Norway", "+3.5E-2"]),
)


@given(rows=st.lists(st.tuples(DECIMALS, DECIMALS), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_decimal_commas_are_points(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("decimals")
    numbers = [(f"{k}.25", *row) for k, row in enumerate(rows)]
    commas = [[re.sub(r"^([-+\deE]*)\.([-+\deE]*)$", r"\1,\2", cell) for cell in row] for row in numbers]
    commas = [[*row[:2], again[2]] for row, again in zip(commas, numbers, strict=True)]  # those of a word stay
    for name, cells in (("a.csv", numbers), ("b.csv", commas)):
        lines = ["label;x;id", *(";".join(row) for row in cells)]
        (folder / name).write_text("\n".join(lines) + "\n")
    roles = {"categorical": ["id"]}
    [wanted] = read_csv(str(folder / "a.csv"), ParserOptions(), roles, ";")
    [got] = read_csv(str(folder / "b.csv"), ParserOptions(), {**roles, "decimal": ","}, ";")
    assert_same(got, wanted)


@pytest.mark.parametrize("cell", ["1.200", "-12.345", "+100.000"])
def test_a_point_that_may_part_thousands_is_refused_where_decimals_have_a_comma(tmp_path: Path, cell: str) -> None:
    (tmp_path / "a.csv").write_text(f"label;x\n1,5;2\n2,5;{cell}\n")
    decimals = {"decimal": ","}
    whole, part = cell.replace(".", ""), cell.replace(".", ",")
    wanted = f"a.csv:3: column 'x': got '{cell}', wanted {whole} or {part}, as decimals have a comma; list"
    with pytest.raises(DataError, match=re.escape(wanted)):
        list(read_csv(str(tmp_path / "a.csv"), ParserOptions(), decimals, ";"))
    list(read_csv(str(tmp_path / "a.csv"), ParserOptions(), decimals | {"categorical": ["x"]}, ";"))
    (tmp_path / "b.csv").write_text(f"label;x\n{cell};2\n")
    with pytest.raises(DataError, match=r"b.csv:2: column 'label': got .* have a comma$"):
        list(read_csv(str(tmp_path / "b.csv"), ParserOptions(), decimals, ";"))
    (tmp_path / "c.csv").write_text("label;x\n0.5;0.125\n1;1.25\n")
    [read] = read_csv(str(tmp_path / "c.csv"), ParserOptions(constant=False), decimals, ";")
    np.testing.assert_array_equal(read.values, np.float32([0.125, 1.25]))


def test_a_decimal_comma_without_its_option_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label;x\n1,5;2\n2,5;1\n")
    with pytest.raises(DataError, match=r"a.csv:2: .* got '1,5', wanted a number as in 1200.5 .decimal commas"):
        list(read_csv(str(tmp_path / "a.csv"), ParserOptions(), None, ";"))
    (tmp_path / "b.csv").write_text("label;x\n1,5;a,b\n2,5;1,2,3\n")
    [got] = read_csv(str(tmp_path / "b.csv"), ParserOptions(), {"decimal": ","}, ";")
    [words] = read_csv(str(tmp_path / "b.csv"), ParserOptions(), {"label": "", "ignore": ["label"]}, ";")
    np.testing.assert_array_equal(got.indices, words.indices)  # words keep their commas
    np.testing.assert_array_equal(got.labels, [1.5, 2.5])
