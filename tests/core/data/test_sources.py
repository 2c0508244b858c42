"""Records, matrices and tables give the very batch that the text would give."""

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.batch import Batch
from hutch.core.data.sources import to_batches
from hutch.core.errors import ConfigError, DataError, HutchError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.hashing import hash_feature, hash_namespace
from hutch.core.text.parser import ParserOptions, TextParser

OPTIONS = [
    ParserOptions(),
    ParserOptions(namespaces="letter", bits=10),
    ParserOptions(hash="all", hash_seed=7, constant=False),
]
FIELDS = ("labels", "importance", "base", "row_ptr", "indices", "values")
SPACES = ("row_namespaces", "namespace_ptr", "namespace_id", "tag_ptr", "tags", "group")


def parsed(text: str, options: ParserOptions) -> Batch:
    return TextParser(options).parse(text.encode())


def whole(examples: Any, options: ParserOptions, **columns: Any) -> Batch:
    """All examples in one batch."""
    batches = list(to_batches(examples, options, **columns))
    assert len(batches) == 1
    return batches[0]


def assert_same(got: Batch, wanted: Batch) -> None:
    for name in (*FIELDS, *SPACES):
        have, want = getattr(got, name), getattr(wanted, name)
        assert have.dtype == want.dtype, name
        np.testing.assert_array_equal(have, want, err_msg=name)


def number(text: str) -> float:
    """The float32 that the text reader makes of a number."""
    batch = parsed(f"| x:{text}", ParserOptions(constant=False))
    return float(batch.values[0]) if len(batch.values) else 0.0


words = st.text("abcxyz0123456789éß_=.-", min_size=1, max_size=6)
names = words.filter(lambda name: name.strip(".-0123456789e") != "")
values = words.filter(lambda word: word[0] not in "0123456789-.")  # else text would take it for a number
numbers = st.sampled_from(["1", "0", "-3", "0.779", "12.25", "1e-3", "65536.5", "0.1"])
spaces = st.sampled_from(["f", "far", "g", "", "12"])
feature = st.tuples(names, st.one_of(numbers.map(lambda n: ("number", n)), values.map(lambda w: ("word", w))))
features = st.lists(feature, max_size=4, unique_by=lambda item: item[0])
example = st.tuples(
    st.one_of(st.none(), numbers), numbers.filter(lambda n: n[0] != "-"), st.dictionaries(spaces, features, max_size=4)
)


def as_line(item: Any) -> str:
    label, importance, namespaces = item
    pieces = [f"|{name} " + " ".join(f"{n}:{v}" for n, (_, v) in inside) for name, inside in namespaces.items()]
    return (f"{label} {importance} 't" if label else "") + " " + " ".join(pieces)


def as_record(item: Any) -> dict[str, Any]:
    label, importance, namespaces = item
    record: dict[str, Any] = {
        space: {n: number(v) if kind == "number" else v for n, (kind, v) in inside}
        for space, inside in namespaces.items()
    }
    if label:
        record |= {"label": number(label), "importance": number(importance), "tag": "t"}
    return record


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "letter", "hash-all"])
@settings(max_examples=40, deadline=None)
@given(examples=st.lists(example, min_size=1, max_size=5))
def test_records_are_their_lines(options: ParserOptions, examples: Any) -> None:
    wanted = parsed("".join(as_line(item) + "\n" for item in examples), options)
    assert_same(whole([as_record(item) for item in examples], options), wanted)


COLUMNS = {"label": "y", "importance": "w", "tag": "id", "namespaces": {"far": ["a", "b"], "g": "*", "fur": ["c"]}}


def table(rows: int = 60) -> tuple[pa.Table, str]:
    """A table with gaps and zeros, and the lines it stands for under COLUMNS."""
    rng = np.random.default_rng(3)
    texts = rng.choice(["1", "0", "-3", "0.779", "0.1", "2e-3"], (rows, 2))
    colour, size = rng.choice(["red", "grün", "", "x=1"], rows), rng.choice(["s", "m", "12"], rows)
    known, gap, flag = rng.random(rows) < 0.8, rng.random(rows) < 0.3, rng.random(rows) < 0.5
    whole_number = rng.integers(-2, 3, rows)
    lines = []
    for i in range(rows):
        head = f"{i % 2} 2 t{i}" if known[i] else f"t{i}"
        third = "" if gap[i] else f" c:{size[i]}"
        if size[i] == "12" and third:  # a word made of digits has no form in text
            third = ""
        named = f"colour:{colour[i]}" if colour[i] else ""
        rest = named + (" flag" if flag[i] else "") + f" n:{whole_number[i]}"
        lines.append(f"{head}|far a:{texts[i, 0]} b:{texts[i, 1]} |g {rest} |fur{third}\n")
    floats = [[number(text) for text in texts[:, k]] for k in (0, 1)]
    data = pa.table(
        {
            "id": [f"t{i}" for i in range(rows)],
            "y": pa.array([i % 2 if known[i] else None for i in range(rows)], pa.int32()),
            "w": [2.0 if known[i] else 1.0 for i in range(rows)],
            "c": pa.array([None if gap[i] or size[i] == "12" else size[i] for i in range(rows)]),
            "colour": pa.array(colour).dictionary_encode(),
            "a": pa.array(floats[0], pa.float64()),
            "b": pa.array([None if text == "0" else value for text, value in zip(texts[:, 1], floats[1], strict=True)]),
            "flag": flag,
            "n": pa.array(whole_number, pa.int16()),
        }
    )
    return data, "".join(lines)


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "letter", "hash-all"])
def test_a_table_is_its_lines(options: ParserOptions) -> None:
    data, text = table()
    wanted = parsed(text, options)
    assert_same(whole(data, options, columns=COLUMNS), wanted)


CASTS: dict[str, Callable[[pa.Table], Any]] = {
    "large strings": lambda t: t.cast(
        pa.schema([f.with_type(pa.large_string()) if f.name in ("id", "c") else f for f in t.schema])
    ),
    "string views": lambda t: t.cast(
        pa.schema([f.with_type(pa.string_view()) if f.name in ("id", "c") else f for f in t.schema])
    ),
    "plain strings": lambda t: t.set_column(4, "colour", t["colour"].cast("string")),
    "slices": lambda t: pa.concat_tables([t.slice(0, 7), t.slice(7)]).slice(0),
    "decimals": lambda t: t.set_column(2, "w", pa.array([Decimal(int(x)) for x in t["w"].to_pylist()])),
}


@pytest.mark.parametrize("cast", CASTS)
def test_types_of_columns_do_not_matter(cast: str) -> None:
    data, text = table()
    wanted = parsed(text, ParserOptions())
    batches = list(to_batches(CASTS[cast](data), ParserOptions(), columns=COLUMNS))
    np.testing.assert_array_equal(np.concatenate([b.indices for b in batches]), wanted.indices)
    np.testing.assert_array_equal(np.concatenate([b.values for b in batches]), wanted.values)
    np.testing.assert_array_equal(np.concatenate([b.labels for b in batches]), wanted.labels)


def test_a_dictionary_with_a_gap_in_it() -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["x", None, "y"]))
    got = whole(pa.table({"c": codes}), ParserOptions())
    assert_same(got, parsed("| c:x\n|\n|\n| c:y\n", ParserOptions()))


def test_only_the_protocol_is_asked_for() -> None:
    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"label": [1.0], "a": [2.0]}).__arrow_c_stream__(requested_schema)

    assert_same(whole(Foreign(), ParserOptions()), parsed("1 | a:2\n", ParserOptions()))


def test_without_pyarrow_a_table_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pa.table({"a": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HutchError, match=r"tables need pyarrow: pip install 'hutch\[arrow\]'"):
        list(to_batches(data, ParserOptions()))


def test_values_may_hold_any_bytes() -> None:
    value = "two words: a|b\n"
    [index] = whole(pa.table({"c": [value]}), ParserOptions(constant=False)).indices
    seed = hash_feature("", "c")
    assert index == hash_namespace(value, seed) & (2**18 - 1)
    assert whole([{"": {"c": value}}], ParserOptions(constant=False)).indices == [index]


def test_categorical_numbers_are_words() -> None:
    got = whole(pa.table({"rater": [12, 7]}), ParserOptions(), columns={"categorical": ["rater"]})
    want = whole([{"": {"rater": "12"}}, {"": {"rater": "7"}}], ParserOptions())
    assert_same(got, want)


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "letter", "hash-all"])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_a_matrix_is_its_lines(options: ParserOptions, kind: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(5)
    dense = rng.integers(-1, 3, (40, 12)).astype(float)
    labels = rng.integers(0, 2, 40).astype(float)
    labels[3] = np.nan
    lines = []
    for row, label in zip(dense, labels, strict=True):
        head = "" if np.isnan(label) else f"{label:g} 3"
        lines.append(f"{head} |far " + " ".join(f"{j}:{x:g}" for j, x in enumerate(row)) + "\n")
    got = whole(
        kind(dense),
        options,
        columns={"namespaces": {"far": "*"}},
        labels=labels,
        importance=np.where(np.isnan(labels), 1, 3),
    )
    assert_same(got, parsed("".join(lines), options))


def test_a_matrix_divided_into_namespaces() -> None:
    columns = {"namespaces": {"b": [2], "a": "*"}, "ignore": [1]}
    want = parsed("|b 2:3 |a 0:1 3:4\n", ParserOptions())
    got = whole(np.array([[1.0, 2.0, 3.0, 4.0]]), ParserOptions(), columns=columns)
    assert_same(got, want)
    sparse = whole(scipy.sparse.csr_array([[1.0, 2.0, 3.0, 4.0]]), ParserOptions(), columns=columns)
    assert_same(sparse, parsed("|a 0:1 3:4 |b 2:3\n", ParserOptions()))  # a sparse row keeps its own order


@pytest.mark.parametrize("rows", [1, 9000, 40_000])
def test_many_rows_come_in_several_batches(rows: int) -> None:
    matrix = np.ones((rows, 5))
    for examples in (matrix, scipy.sparse.csr_array(matrix), pa.table({"a": np.ones(rows), "b": np.ones(rows)})):
        sizes = [len(batch) for batch in to_batches(examples, ParserOptions())]
        assert sum(sizes) == rows
        assert max(sizes) <= 1 << 17


def test_groups_go_on_from_batch_to_batch() -> None:
    rows = 200_000
    data = pa.table({"group": [f"t{i // 3}" for i in range(rows)], "a": np.ones(rows)})
    groups = np.concatenate([batch.group for batch in to_batches(data, ParserOptions())])
    np.testing.assert_array_equal(groups, np.arange(rows) // 3)
    records = [{"group": i // 3, "f": "a"} for i in range(20_000)]
    groups = np.concatenate([batch.group for batch in to_batches(records, ParserOptions())])
    np.testing.assert_array_equal(groups, np.arange(20_000) // 3)


def test_costs_in_records() -> None:
    options = ParserOptions(label="cost_sensitive")
    records = [{"label": {1: 0.5, 3: 0.25}, "f": "a"}, {"label": {2: None}, "f": "b"}, {"f": "b"}]
    got, want = whole(records, options), parsed("1:0.5 3:0.25 |f a\n2 |f b\n|f b\n", options)
    assert_same(got, want)
    for name in ("cost_ptr", "cost_classes", "costs"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name))


LINES = ["1 |f a", "-1 |f b"]


@pytest.mark.parametrize(
    "examples",
    ["\n".join(LINES), "\n".join(LINES).encode(), LINES, tuple(LINES), iter(LINES), [line.encode() for line in LINES]],
    ids=["str", "bytes", "list", "tuple", "iterator", "bytes-lines"],
)
def test_text_in_every_shape(examples: Any) -> None:
    assert_same(whole(examples, ParserOptions()), parsed("1 |f a\n-1 |f b\n", ParserOptions()))


def test_batches_pass_through() -> None:
    batch = parsed("1 |f a\n", ParserOptions())
    assert list(to_batches(batch, ParserOptions())) == [batch]
    assert list(to_batches([batch, batch], ParserOptions())) == [batch, batch]
    assert list(to_batches([], ParserOptions())) == []


@pytest.mark.parametrize("examples", [3, None, [3], object(), {1, 2}], ids=["int", "None", "list", "object", "set"])
def test_anything_else_is_refused(examples: Any) -> None:
    with pytest.raises(TypeError, match="wanted a Batch, a line or lines of text"):
        list(to_batches(examples, ParserOptions()))


MULTICLASS = ParserOptions(label="multiclass")
PLAIN = ParserOptions()


@pytest.mark.parametrize(
    ("examples", "columns", "options", "message"),
    [
        (pa.table({"a": [1.0, np.inf]}), None, PLAIN, "<table>:2: column 'a': got inf, wanted a number below 3.4e38"),
        (pa.table({"a": [1e300]}), None, PLAIN, "<table>:1: column 'a': got inf, wanted"),
        (pa.table({"label": ["x"]}), None, PLAIN, "<table>: the label column is string, wanted numbers"),
        (pa.table({"importance": [-1.0]}), None, PLAIN, "<table>:1: importance: got -1, wanted a number ≥ 0"),
        (pa.table({"importance": [None, 1.0]}), None, PLAIN, "<table>:1: importance: got nan, wanted"),
        (pa.table({"label": [1.5]}), None, MULTICLASS, "<table>:1: label: got 1.5, wanted a class, an integer from 0"),
        (pa.table({"label": [np.inf]}), None, PLAIN, "<table>:1: label: got inf, wanted a number"),
        (pa.table({"a": [[1]]}), None, PLAIN, "<table>: column 'a' is list<.*>, wanted numbers, words, dates or"),
        ([{"f": {"a": np.inf}}], None, PLAIN, "<records>:1: feature 1: got inf, wanted"),
        ([{"f": "a"}, {"f": b"a"}], None, PLAIN, "<records>:2: namespace 'f': got bytes, wanted a mapping"),
        ([{"f": {"a": [1]}}], None, PLAIN, "<records>:1: f.a: got list, wanted a number, a word or None; a list"),
        ([{"f": "a"}, 3], None, PLAIN, "<records>:2: got int, wanted a record"),
        ([{"label": "good"}], None, PLAIN, "<records>:1: label: got 'good', wanted a number"),
        (["1 |f a", 3], None, PLAIN, "<lines>:2: got int, wanted str or bytes"),
        (np.ones(3), None, PLAIN, r"<matrix>: got shape \(3,\), wanted two dimensions"),
        (np.array([[1.0, np.inf]]), None, PLAIN, "<matrix>:1: column 1: got inf, wanted"),
        (np.array([[1, 2], [3, "x"]], object), None, PLAIN, "<matrix>:2: column 1: got 'x', wanted a number"),
        (np.array([["x"]]), None, PLAIN, "<matrix>:1: column 0: got 'x', wanted a number"),
        (np.array([["2020-01-01"]], "M8[D]"), None, PLAIN, r"<matrix>: got datetime64\[D\], wanted numbers"),
        ([{"f": "a"}, {3: "a"}], None, PLAIN, "<records>:2: got the key 3, wanted the name of a namespace"),
        ("train.vw", None, PLAIN, "got 'train.vw', wanted lines such as"),
        (r"C:\data", None, PLAIN, "a chain reads a file by pathlib.Path"),
        (pa.chunked_array([[1.0]]), None, PLAIN, "<table>: got ChunkedArray, wanted a table of named columns"),
    ],
)
def test_what_cannot_be_used_is_named(examples: Any, columns: Any, options: ParserOptions, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(to_batches(examples, options, columns=columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": "colour"}, "columns.label: no column 'colour'; did you mean 'color'?"),
        ({"lable": "y"}, "columns.lable: unknown key; did you mean 'label'?"),
        ({"namespaces": {"f": ["a", "a"]}}, "columns.namespaces.f: column 'a' is named twice"),
        ({"namespaces": {"f": "*", "g": "*"}}, r"columns.namespaces: '\*' appears in two places, wanted one"),
        ({"categorical": ["q"]}, "columns.categorical: no column 'q'"),
        ("label=y", "columns: got str, wanted a mapping"),
    ],
)
def test_roles_that_do_not_fit_are_named(columns: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        list(to_batches(pa.table({"a": [1.0], "color": ["x"]}), ParserOptions(), columns=columns))


def test_labels_go_with_a_matrix() -> None:
    with pytest.raises(TypeError, match="got them with list, wanted them with a matrix or a table"):
        to_batches(["1 |f a"], ParserOptions(), labels=[1])
    with pytest.raises(DataError, match=r"<matrix>: got labels of shape \(2,\), wanted \(1,\)"):
        list(to_batches(np.ones((1, 1)), ParserOptions(), labels=[1, 2]))


def test_labels_are_numbers() -> None:
    with pytest.raises(DataError, match="<matrix>:2: labels: got 'b', wanted a number; class names go with hutch.sk"):
        list(to_batches(np.ones((2, 1)), ParserOptions(), labels=["1", "b"]))
    [batch] = to_batches(np.array([[1, "2"]], object), ParserOptions(), labels=["-1"], importance=[2])
    assert batch.labels == [-1] and batch.importance == [2]


@pytest.mark.parametrize("text", ["1 ", " -1.5 2 'tag", "", " ", "1e-3 ", ".5 2 "])
def test_a_line_may_have_no_features(text: str) -> None:
    assert len(list(to_batches(text, ParserOptions()))) <= 1


def test_malformed_lines_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="<lines>:.*: bad label") as found:
        list(to_batches(["1 |f a", "good |f a"] + ["bad |f b"] * 20, ParserOptions()))
    assert found[0].message.args[0].startswith("<lines>:2:1") and len(found) == 5  # type: ignore[union-attr]
    assert all(warning.filename == __file__ for warning in found)


class Pieces:
    """A dataset of Hugging Face, as far as it is asked for."""

    __module__ = "datasets.arrow_dataset"

    def __init__(self, *tables: pa.Table) -> None:
        self.tables = tables

    def with_format(self, name: str) -> "Pieces":
        assert name == "arrow"
        return self

    def iter(self, batch_size: int) -> Any:
        return iter(self.tables)


@pytest.mark.parametrize("kind", [list, iter, lambda tables: Pieces(*tables)], ids=["list", "iterator", "datasets"])
def test_tables_in_pieces_are_one_table(kind: Callable[[Any], Any]) -> None:
    first = pa.table({"label": [1.0, 2.0], "group": ["a", "a"], "x": pa.array(["u", "v"])})
    second = pa.table({"label": [3.0], "group": ["a"], "x": pa.array(["u"]).dictionary_encode()})
    third = pa.table({"label": [np.inf], "group": ["b"], "x": pa.array(["u"])})
    batches = list(to_batches(kind([first, second]), ParserOptions()))
    assert [int(group) for batch in batches for group in batch.group] == [0, 0, 0]
    assert [float(label) for batch in batches for label in batch.labels] == [1, 2, 3]
    assert batches[0].indices[0] == batches[1].indices[0]
    with pytest.raises(DataError, match="<table>:4: label: got inf"):
        list(to_batches(kind([first, second, third]), ParserOptions()))


def test_records_are_json() -> None:
    record = json.loads('{"label": 1, "f": {"a": 2, "b": null, "c": true}, "g": ["x", "y"]}')
    assert_same(whole([record], ParserOptions()), parsed("1 |f a:2 c |g x y\n", ParserOptions()))


def test_a_table_without_labels_is_unlabeled() -> None:
    assert whole(pa.table({"label": [1.0]}), ParserOptions(), columns={"label": ""}).labels == [UNLABELED]
