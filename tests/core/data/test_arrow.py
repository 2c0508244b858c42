"""Arrow's buffers as arrays: Arrow's own casts say what must come out; pandas is never imported on the way."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from hutch import Chain  # noqa: E402
from hutch.core.data.arrow import TableReader, array_of, texts_of  # noqa: E402
from hutch.core.data.number_columns import numbers_of  # noqa: E402
from hutch.core.text.parser import ParserOptions  # noqa: E402

NUMBERS = [3, 0, None, 1, 127, None, 7, 1, 0, 5, 6, None, 1]
KINDS = ["int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "float64", "bool", "decimal128", "null"]


def column(kind: str) -> "pa.Array":
    """The numbers in a type of Arrow."""
    if kind == "null":
        return pa.nulls(len(NUMBERS))
    if kind == "decimal128":
        return pa.array(NUMBERS, pa.int64()).cast(pa.decimal128(20, 1))
    if kind == "bool":
        return pa.array([None if n is None else n > 1 for n in NUMBERS])
    if kind == "float16":
        return pa.array([None if n is None else np.float16(n / 3) for n in NUMBERS], pa.float16())
    if kind.startswith("float"):
        return pa.array([None if n is None else n / 3 + 1e9 * (n == 7) for n in NUMBERS], kind)
    return pa.array(NUMBERS, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("begin", "count"), [(0, 13), (1, 12), (2, 9), (3, 1), (9, 4), (5, 0)])
def test_numbers_are_those_of_arrows_cast(kind: str, begin: int, count: int) -> None:
    array = column(kind).slice(begin, count)
    reader = TableReader(pa.schema([("x", array.type)]), ParserOptions())
    plain = array.cast("uint8") if kind == "bool" else array.cast("float64") if kind == "decimal128" else array
    wanted = plain.cast("float32", safe=False).fill_null(-2.0).to_numpy(zero_copy_only=False)
    found = reader._floats(array, -2.0)
    assert found.dtype == np.float32
    assert np.array_equal(found, wanted)


def test_what_float32_cannot_hold_is_infinite() -> None:
    array = pa.array([1e39, -1e300, None, np.nan])
    reader = TableReader(pa.schema([("x", array.type)]), ParserOptions())
    np.testing.assert_array_equal(reader._floats(array, 0.0), [np.inf, -np.inf, 0.0, np.nan])


WORDS = ["one", None, "", "zwölf", None, "x" * 40, "ab"]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "dictionary"])
def test_words_are_alike_in_every_type_and_place(kind: str) -> None:
    plain = pa.array(WORDS, "string" if kind == "dictionary" else kind)
    array = plain.dictionary_encode() if kind == "dictionary" else plain
    lines = [f"{i} |f word:{word or ''}" for i, word in enumerate(WORDS)]
    chain = Chain.from_config({"chain": ["linear"], "input": {"columns": {"label": "y"}}})
    one, two = (pa.table({"y": pa.array(np.arange(7.0)), "word": array}) for _ in range(2))
    whole = chain.predict(one)
    chain.learn(one)
    assert not np.array_equal(chain.predict(one), whole), lines
    whole = chain.predict(two)
    for begin in range(7):
        assert np.array_equal(chain.predict(two.slice(begin, 3)), whole[begin : begin + 3])


def test_tags_and_text_that_are_missing_are_empty_whatever_their_slots_hold() -> None:
    words = pa.array(["a b", "hidden words", "c"])
    _, offsets, data = words.buffers()
    holey = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), offsets, data])
    assert holey.to_pylist() == ["a b", None, "c"]
    columns = {"tag": "name", "text": ["words"]}
    reader = TableReader(pa.schema([("name", pa.string()), ("words", pa.string())]), ParserOptions(), columns)
    [batch] = reader.batches(pa.RecordBatch.from_arrays([holey, holey], ["name", "words"]))
    assert [batch.tag(i) for i in range(3)] == [b"a b", b"", b"c"]
    assert np.diff(batch.row_ptr).tolist() == [3, 1, 2]


def test_arrays_made_without_pandas_are_those_of_arrow() -> None:
    assert texts_of(WORDS).equals(pa.array(WORDS, pa.string()))
    assert texts_of([]).equals(pa.array([], pa.string()))
    for values in (np.arange(5, dtype=np.float32), np.arange(10)[::2], np.empty(0, np.uint32)):
        kind = pa.from_numpy_dtype(values.dtype)
        assert array_of(values, kind).equals(pa.array(values, kind))
        assert np.array_equal(numbers_of(array_of(values, kind)), values)


def test_reading_parquet_does_not_import_pandas(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    days = pa.array([0, 400, None, 3], pa.int32()).cast(pa.date32())
    words = pa.array(["a", None, "b c", "a"])
    table = {"y": [1.0, 2.0, None, 1.0], "x": [1, None, 3, 4], "w": words, "k": words.dictionary_encode(), "day": days}
    parquet.write_table(pa.table(table), tmp_path / "data.parquet")
    program = """
import sys
from hutch.chain import Chain
from hutch.distributed import predict
chain = Chain.from_config({"chain": ["linear"], "input": {"columns": {"label": "y", "tag": "w"}}})
chain.learn(["data.parquet"])
chain.save("model")
predict(["data.parquet"], "model", "out")
assert "pyarrow" in sys.modules
sys.exit("pandas" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
