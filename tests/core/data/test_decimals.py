"""Cells of tables: which are numbers, that these are rounded to the nearest float32, and that all tables agree."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hutch.core.batch import Batch
from hutch.core.data.arrow_files import read_parquet
from hutch.core.data.csv import read_csv
from hutch.core.data.sources import to_batches
from hutch.core.errors import DataError
from hutch.core.text.parser import ParserOptions

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
OPTIONS = ParserOptions(constant=False)
BEYOND = Fraction(2**128 - 2**103)
"""Halfway between the largest float32 and the one that would follow."""


def nearest(text: str) -> np.float32:
    """The float32 nearest to a decimal, of two the even one, by exact arithmetic."""
    exact = Fraction(text)
    if abs(exact) >= BEYOND:
        return np.float32(np.inf if exact > 0 else -np.inf)
    guess = np.float32(float(exact))
    near = [np.nextafter(guess, np.float32(to)) for to in (-np.inf, np.inf)] + [guess]
    return min(
        (value for value in near if np.isfinite(value)),
        key=lambda value: (abs(Fraction(float(value)) - exact), value.view(np.uint32) & 1),
    )


def column(folder: Path, cells: list[str]) -> Batch:
    """Rows of a CSV file with one column, each followed by an empty one, so that no line is blank."""
    path = folder / "a.csv"
    path.write_bytes("".join(f"{cell},\n" for cell in ["c", *cells]).encode())
    [batch] = read_csv(str(path), OPTIONS, {"ignore": [""]})
    return batch


def records(cells: list[Any]) -> Batch:
    """The same rows as records."""
    [batch] = to_batches([{"": {"c": cell}} for cell in cells], OPTIONS)
    return batch


def assert_same(got: Batch, wanted: Batch) -> None:
    for name in ("row_ptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), err_msg=name)


digits = st.text("0123456789", max_size=9)
decimals = st.builds("{}{}{}{}".format, st.sampled_from(["", "-", "+"]), digits, st.sampled_from(["", "."]), digits)
exponents = st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "-", "+"]), st.text("0123456789", max_size=2)
)
likely = st.one_of(decimals, st.builds("{}{}".format, decimals, exponents), st.text("0123456789eE+-.x", max_size=6))


@settings(max_examples=60, deadline=None)
@given(st.lists(likely.filter(bool), min_size=1, max_size=12))
@example(
    ["E11", "e4", "7e", "7E", "-e1", ".e4", "1e+", "1e-", "1e", "e", "1.e1", ".5e1", "5.", "+3", "1e4e", "--1", "1-"]
)
@example(["1.2.3", "1..2", "1.2.3e4", "info", "nano", "1e+-1"])
def test_a_cell_is_what_the_record_holds(tmp_path_factory: Any, cells: list[str]) -> None:
    folder = tmp_path_factory.mktemp("cells")
    numeric = [NUMBER.fullmatch(cell) is not None for cell in cells]
    values = [nearest(cell) if number else cell for cell, number in zip(cells, numeric, strict=True)]
    infinite = [isinstance(value, np.float32) and not np.isfinite(value) for value in values]
    if any(infinite):
        with pytest.raises(DataError, match=rf"a\.csv:{infinite.index(True) + 2}: column 'c': got -?inf, wanted"):
            column(folder, cells)
        return
    got = column(folder, cells)
    assert_same(got, records(values))
    for kind, type_ in ((True, pa.float32()), (False, pa.string())):
        chosen = [cell for cell, number in zip(cells, numeric, strict=True) if number == kind]
        if chosen:
            pa.parquet.write_table(
                pa.table({"c": pa.array([nearest(cell) if kind else cell for cell in chosen], type_)}),
                folder / "a.parquet",
            )
            [wanted] = read_parquet(str(folder / "a.parquet"), OPTIONS)
            assert_same(column(folder, chosen), wanted)


def test_codes_are_words(tmp_path: Path) -> None:
    cells = ["E11", "E10", "7e", "e4", "7"]
    assert len(set(column(tmp_path, cells).indices.tolist())) == 5
    assert column(tmp_path, cells).values.tolist() == [1, 1, 1, 1, 7]


def halfway() -> list[str]:
    """Decimals on the border between two numbers of float32, and as near to it as float64 and more can say."""
    found = []
    for low in map(np.float32, (0.1, 1.0, 3.14159, 16777216.0, 1e-10, 6.5e15, 1e-44, 3e38)):
        border = (Fraction(float(low)) + Fraction(float(np.nextafter(low, np.float32(np.inf))))) / 2
        text = f"{border.numerator * 10**200 // border.denominator}"
        for more in ("", "0" * 30, "0" * 30 + "1"):
            found += [f"{text}{more}e-{200 + len(more)}"]
    return [*found, "16777217", "16777217.0000000001", "33554435", "9007199254740993", "0.1", "2.5000000000000001e-5"]


def near_halfway() -> list[str]:
    """Decimals of 16 to 18 digits that float64 rounds to such a border, though they lie beside it."""
    random, found = np.random.default_rng(0), list[str]()
    for low in (10 ** random.uniform(-6, 30, 120)).astype(np.float32):
        border = (Fraction(float(low)) + Fraction(float(np.nextafter(low, np.float32(np.inf))))) / 2
        for power in range(-22, 23):
            digits = round(border / Fraction(10) ** power)
            if 10**15 <= digits < 10**18:
                found += [f"{digits + more}e{power}" for more in (-1, 0, 1)]
    return found


def test_exponents_beyond_any_integer_are_not_small_ones(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.csv:2: column 'c': got inf, wanted"):
        column(tmp_path, [f"1e{2**64}"])


def test_numbers_are_rounded_once(tmp_path: Path) -> None:
    texts = [*halfway(), *near_halfway()]
    twice = [text for text in texts if np.float32(float(text)) != nearest(text)]
    assert len(twice) > 50  # rounding to float64 first would be seen
    got = column(tmp_path, texts).values
    assert [text for text, value in zip(texts, got.tolist(), strict=True) if value != float(nearest(text))] == []


def test_decimals_of_seven_digits_are_exact(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    cells = [f"{value:.7f}" for value in random.random(5000)] + [f"{value:.6e}" for value in random.normal(size=5000)]
    assert column(tmp_path, cells).values.tolist() == np.array(cells, np.float64).astype(np.float32).tolist()


def test_lines_that_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"label,age\r1,3\r0,4\r")
    with pytest.raises(DataError, match=r"a\.csv:1: got a carriage return within the header, wanted lines that end"):
        list(read_csv(str(path), OPTIONS))
    path.write_bytes(b'label,"age\r\nin years"\r\n1,3\r\n')
    assert sum(len(batch) for batch in read_csv(str(path), OPTIONS)) == 1


def test_two_columns_of_one_name_are_refused_by_every_table(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    for read in (lambda: read_parquet(str(tmp_path / "a.parquet"), OPTIONS), lambda: to_batches(table, OPTIONS)):
        with pytest.raises(DataError, match="column 'a' appears twice, wanted names that differ"):
            list(read())
