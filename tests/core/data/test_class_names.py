"""Class names in the label column: the same labels from every kind of table, names in what is written."""

import json

import numpy as np
import pytest

from hutch import Chain
from hutch.core.data.class_names import ClassNames
from hutch.core.errors import ConfigError, DataError
from hutch.core.kernel.abi import UNLABELED

ROWS = [("ham", 1), ("spam", 2), ("", 3), ("größe", 4), (" spam", 5)]
NAMES = ["ham", "spam", "größe"]
WANTED = [1, 2, UNLABELED, 3, 2]


def chain(names=NAMES, layers=({"one_against_all": {"classes": 3}}, "linear")):
    return Chain.from_config({"input": {"columns": {"label": "kind", "classes": names}}, "chain": list(layers)})


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"kind": kind, "x": x}, ensure_ascii=False) + "\n" for kind, x in rows))
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        kinds = pa.array([kind for kind, _ in rows]).dictionary_encode()
        write_table(pa.table({"kind": kinds, "x": [x for _, x in rows]}), path)
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text(f"kind{mark}x\n" + "".join(f"{kind}{mark}{x}\n" for kind, x in rows))
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_table_gives_the_same_labels(ending, tmp_path):
    path = write(tmp_path / f"rows.{ending}", ROWS)
    [batch] = chain().files([path], lambda problem: None)
    assert batch.labels.tolist() == WANTED


def test_records_and_frames_too():
    pa = pytest.importorskip("pyarrow")
    [batch] = chain().batches([{"kind": kind, "f": {"x": x}} for kind, x in ROWS])
    assert batch.labels.tolist() == WANTED
    table = pa.table({"kind": [kind or None for kind, _ in ROWS], "x": [x for _, x in ROWS]})
    [batch] = chain().batches(table)
    assert batch.labels.tolist() == WANTED


def test_one_record_is_learned_as_many_are():
    one, many = chain(), chain()
    records = [{"kind": kind, "f": {"x": x}} for kind, x in ROWS]
    for record in records:
        one.learn(record)
    many.learn(records)
    assert np.array_equal(one.weights, many.weights) and one.weights.any()
    with pytest.raises(DataError, match="kind: got 'eggs', wanted a class; valid: größe, ham, spam"):
        one.learn({"kind": "eggs", "f": {"x": 1}})


@pytest.mark.parametrize(
    ("ending", "place"), [("csv", ":3: column 'kind' (label)"), ("jsonl", ":2: kind"), ("parquet", ":2: the label")]
)
def test_a_name_that_is_none(ending, place, tmp_path):
    path = write(tmp_path / f"rows.{ending}", [("ham", 1), ("spm", 2)])
    with pytest.raises(DataError) as caught:
        list(chain().files([path], lambda problem: None))
    assert str(caught.value) == f"{path}{place}: got 'spm', wanted a class; did you mean 'spam'?"


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["a", "a"], "multiclass", "got 'a', wanted names that differ"),
        (["a", " b"], "multiclass", "got ' b', wanted names that differ, without blanks"),
        (["a", "b", "c"], "simple", "got 3 for a chain that predicts a number, wanted two"),
        (["a", "b"], "cost_sensitive", "got names of classes, the chain's labels are cost sensitive"),
    ],
)
def test_names_that_cannot_be_used(names, kind, message):
    with pytest.raises(ConfigError, match=message):
        ClassNames(names, kind)


def test_numbers_may_be_names():
    names = ClassNames([3, 7], "simple")
    assert [names.label(name) for name in ("3", 3, 7)] == [-1, -1, 1]


def test_words_without_names_say_what_helps(tmp_path):
    path = write(tmp_path / "rows.csv", ROWS)
    plain = Chain.from_config({"input": {"columns": {"label": "kind"}}, "chain": ["linear"]})
    with pytest.raises(DataError, match="got 'ham', wanted a number, or names of classes under columns.classes"):
        list(plain.files([path], lambda problem: None))
