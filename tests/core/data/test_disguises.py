"""Words of a column that look like numbers, dates or missing values, and columns that number the rows."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from hutch.chain import Chain
from hutch.core.data.disguises import disguise, row_numbers
from hutch.core.errors import DataError
from hutch.sklearn import HutchClassifier

LOOKS = {
    "thousands": (["1,200", "950,000", "1,200.50"], ["1 200", "13 400"], ["1.200.000"], ["(1,200)"], ["1'200"]),
    "comma": (["0,71", "1,2"], ["1.234,5"], ["-5,5"], ["0,5", "1,200"], ["3650,0"]),
    "currency": (["$1200", "$1,200.50"], ["12 €", "13.5 €"], ["EUR 12"], ["-$5"]),
    "brackets": (["(1.20)", "(300)"], ["(0,5)"]),
    "unit": (["52.3kg", "48 kg"], ["-3.5 °C"], ["12 min"], ["1,200 km"]),
    "percent": (["5%", "6.5 %"], ["-3%"]),
    "date": (["2024-05-31", "2024-06-01"], ["2024-05-31T10:00:00Z"], ["05/31/2024 10:00"], ["31.5.2024"], ["5/31/24"]),
    "time": (["10:30", "9:05"], ["10:30:00.5"]),
    "list": (["[0.1, -2, 3e-4]", "[1,2]"], ["[0.5 0.25]"], ["[1.5]"]),
    "number": (["0.71", "12"], ["1e-3"], ["300", "25"], ["-1", "5"]),
}
NAMES = (
    ["red", "blue"],
    ["a1", "7e"],
    ["01234", "98765"],
    ["10.0.0.1"],
    ["1.2.3"],
    ["555-1234"],
    ["1", "2"],
    ["v1,v2"],
    ["[a, b]", "[1, x]"],
    ["[]"],
)
MISSING = ["NA", "N/A", "nan", "null", "None", "?", "-", "missing", " ", "#N/A"]


@pytest.mark.parametrize(("kind", "words"), [(kind, words) for kind, several in LOOKS.items() for words in several])
def test_words_that_look_like_something_else(kind: str, words: list[str]) -> None:
    found = disguise(words)
    assert found is not None and (found.kind, found.missing) == (kind, None)
    assert found.example in words


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["1,200", "13,400.5", "NA"], [1200, 13400.5]),
        (["0,71", "1.234,5"], [0.71, 1234.5]),
        (["$1,200.50", "$3"], [1200.5, 3]),
        (["1.200,50 €", "-3 €"], [1200.5, -3]),
        (["6,5 %", "12%"], [6.5, 12]),
        (["0.5", "12"], [0.5, 12]),
    ],
)
def test_what_the_warning_says_to_take_gives_the_numbers(words: list[str], numbers: list[float]) -> None:
    found = disguise(words)
    assert found is not None
    said = found.text("a", "frame")
    taken = said[said.index(": take ") + 7 : said.index(", or list the column under")]
    pandas = pytest.importorskip("pandas")
    result = eval(taken, {"pandas": pandas, "X": pandas.DataFrame({"a": words})})
    assert result.dropna().tolist() == numbers


def test_numbers_in_brackets_have_no_short_remedy() -> None:
    found = disguise(["(1,200)", "300"])
    assert found is not None and ": take the numbers of X['a'], or list" in found.text("a", "frame")


@pytest.mark.parametrize("words", NAMES)
def test_names_are_names(words: list[str]) -> None:
    assert disguise(words) is None


@pytest.mark.parametrize("word", MISSING)
def test_missing_values_are_found_among_numbers_and_names(word: str) -> None:
    for others, numbers in ([], 50), (["red", "blue"], 0), (["0.5", "12"], 0):
        found = disguise([*others, word], numbers)
        assert found is not None and found.missing == word
        assert found.kind == ("number" if "0.5" in others else None)


def test_a_few_strange_words_do_not_hide_the_rest() -> None:
    found = disguise(["1,200", "unknown"], numbers=20)
    assert found is not None and found.kind == "thousands"
    assert disguise(["1,200", "unknown", "free"], numbers=3) is None
    assert disguise(["1,200", "unknown"], numbers=0, share=0.1) is None


def test_a_table_without_a_header_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2.5,-3\n-1,2,3\n1,4,5\n")
    config = {"weights": {"bits": 10}, "chain": ["linear"], "input": {"columns": {"label": "1"}}}
    with pytest.warns(
        UserWarning, match=r"a\.csv: the names of all columns are numbers, such as 2\.5: the first row of"
    ):
        Chain.from_config(config).learn(tmp_path / "a.csv")


def test_few_words_among_numbers_are_said() -> None:
    found = disguise(["unknown", "twelve"], numbers=60)
    assert found is not None and found.text("age", "file") == (
        "column 'age': words such as 'unknown' look like answers that are no numbers: leave their cells empty,"
        " or list the column under input.columns.categorical if they are names"
    )
    assert disguise(["unknown", "twelve"], numbers=10) is None and disguise(["unknown"], numbers=0) is None
    assert disguise(["(1.20)"], numbers=3) is not None and disguise(["5A", "7b"], numbers=3) is None


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["1,200", "999", "13,400"], "'1,200' look like numbers with thousands separators: write them as in 1200.5"),
        (["12", "NA", "13"], "'NA' looks missing: leave cells of missing values empty"),
        (["2024-05-31", "2024-06-01", ""], "'2024-05-31' look like dates: Parquet files and frames have dates"),
        (["0,5", "NA", "1,5"], "'0,5' look like numbers with a decimal comma, 'NA' like a missing value: write them"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_say_it_once_a_column(tmp_path: Path, cells: list[str], wanted: str, kind: str) -> None:
    path, rows = tmp_path / f"a.{kind}", cells * 20
    if kind == "csv":
        path.write_text("label,price,b\n" + "".join(f'{(-1) ** k},"{cell}",x\n' for k, cell in enumerate(rows)))
    elif kind == "jsonl":
        named = ({"label": (-1) ** k, "price": cell, "b": "x"} for k, cell in enumerate(rows))
        path.write_text("".join(json.dumps(row) + "\n" for row in named))
    else:
        labels = [(-1) ** k for k in range(len(rows))]
        pyarrow.parquet.write_table(pa.table({"label": labels, "price": rows, "b": ["x"] * len(rows)}), path)
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    with pytest.warns(UserWarning) as caught:
        chain.learn(path)
        chain.learn(path)
    [said] = [str(warning.message) for warning in caught]
    if kind == "csv":
        assert said.startswith(f"{path}: column 'price': ") and wanted in said
    assert said.endswith("or list the column under input.columns.categorical if they are names") or "missing" in said
    roles = {"columns": {"categorical": ["price"]}}
    Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"], "input": roles}).learn(path)  # says nothing


@pytest.mark.parametrize("others", ["5", "x"])
def test_a_blank_cell_is_said(tmp_path: Path, others: str) -> None:
    (tmp_path / "a.csv").write_text("label,a\n" + f"1,{others}\n" * 20 + "-1,  \n")
    with pytest.warns(UserWarning, match=r"a\.csv: column 'a': ' ' looks missing: leave cells of missing values empty"):
        Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).learn(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_are_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text(f"{name},label,a\n2,1,5\n0,-1,4\n1,1,3\n")
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]})
    with pytest.warns(UserWarning, match=r"a\.csv: column 1 .* looks like row numbers .*: leave it out with input"):
        chain.learn(tmp_path / "a.csv")
    config = {"weights": {"bits": 10}, "input": {"columns": {"ignore": [name]}}, "chain": ["linear"]}
    without = Chain.from_config(config)
    without.learn(tmp_path / "a.csv")
    assert without.statistics.features == 2 * 3  # a and the constant
    assert row_numbers("age", [0, 1, 2], "file") == "" and "is learned all the same" in row_numbers(
        "", [0.5, 0.5], "file"
    )


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (
            ["0.71", " "],
            r"'0.71' look like numbers, ' ' like a missing value: take pandas.to_numeric\(X\['a'\].replace",
        ),
        (["2024-05-31", None], r"look like dates: take pandas.to_datetime\(X\['a'\]\)"),
        (["12%", "3%"], "look like percentages"),
        (["red", "?"], r"'\?' looks missing: take X\['a'\].replace\('\?', None\)"),
    ],
)
def test_estimators_say_it_of_frames(column: list[Any], wanted: str) -> None:
    X, y = pa.table({"a": column * 10, "b": list(range(20))}), [0, 1] * 10
    with pytest.warns(UserWarning, match=f"X: column 'a': .*{wanted}") as caught:
        model = HutchClassifier(bits=10).fit(X, y)
        model.predict(X)
    assert len(caught) == 1
    HutchClassifier(bits=10, columns={"categorical": ["a"]}).fit(X, y)
    HutchClassifier(bits=10, columns={"ignore": ["a"]}).fit(X, y)
    HutchClassifier(bits=10, columns={"text": ["a"]}).fit(X, y)
    with pytest.warns(UserWarning, match="X: column 1 is called 'Unnamed: 0', and looks like row numbers"):
        HutchClassifier(bits=10).fit(pa.table({"Unnamed: 0": list(range(20)), "b": ["x", "y"] * 10}), y)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "a.csv",
            "y;a;b\n1;2;x\n",
            "a.csv:1: got one column, 'y;a;b', wanted commas between columns; --format ssv reads",
        ),
        (
            "a.csv",
            "y;a\n1;2,5\n",
            "a.csv:1: got one column, 'y;a', wanted commas between columns; --format ssv reads semi",
        ),
        ("a.csv", "y\ta\n1\t2\n", "wanted commas between columns; --format tsv reads tabs"),
        ("a.tsv", "y,a\n1,2\n", "wanted tabs between columns; --format csv reads commas"),
        ("a.csv", "y|a\n1|2\n", r"got one column, 'y|a', wanted commas between columns$"),
    ],
)
def test_another_delimiter_is_refused(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=wanted.replace("|", r"\|")):
        Chain.from_config({"chain": ["linear"]}).learn(tmp_path / name)


def test_semicolons_have_a_format_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,a,b\n1,2.5,x\n-1,3.5,z\n")
    (tmp_path / "a.ssv").write_text("label;a;b\n1;2.5;x\n-1;3.5;z\n")
    chain = Chain.from_config({"chain": ["linear"]})
    [commas], [semicolons] = ([*chain.files([str(tmp_path / name)])] for name in ("a.csv", "a.ssv"))
    assert commas.indices.tolist() == semicolons.indices.tolist()
    assert commas.values.tolist() == semicolons.values.tolist()
    chain = Chain.from_config({"chain": ["linear"]})
    (tmp_path / "b.ssv").write_text("label;a\n1;2,5\n-1;3,5\n")
    with pytest.warns(
        UserWarning, match="b.ssv: column 'a': words such as '2,5' look like numbers with a decimal comma"
    ):
        chain.learn(tmp_path / "b.ssv")


def test_numbers_too_far_from_0_for_32_bits_are_said(tmp_path: Path) -> None:
    times = [1_700_000_000 + k for k in range(300)]
    (tmp_path / "a.csv").write_text("label,time,year\n" + "".join(f"{(-1) ** t},{t},{t % 30 + 1990}\n" for t in times))
    table = pa.table({"label": [(-1) ** t for t in times], "time": times, "year": [1990 + t % 30 for t in times]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    wanted = r"column 'time' goes from 1700000000(\.0)? to 170000029[89](\.0)?; subtract 1700000000"
    for examples in (tmp_path / "a.csv", tmp_path / "a.parquet", table):
        with pytest.warns(UserWarning, match=wanted) as caught:
            Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).learn(examples)
        assert len(caught) == 1
    with pytest.warns(UserWarning, match=f"X: {wanted}") as caught:
        HutchClassifier(bits=10).fit(table.drop_columns("label"), table["label"].to_pylist())
    assert len(caught) == 1


def test_words_that_are_not_utf8_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("label,a\n1,Zürich\n-1,Köln\n".encode("latin-1"))
    with pytest.warns(
        UserWarning, match=r"a\.csv: column 'a': got 'Z.rich', wanted UTF-8: .*; iconv -f latin1 -t utf8$"
    ):
        Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).learn(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("label,a\n1,Zürich\n-1,Köln\n")
    Chain.from_config({"weights": {"bits": 10}, "chain": ["linear"]}).learn(tmp_path / "b.csv")  # says nothing
