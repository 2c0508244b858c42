import csv
import gzip
import io
import sys

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import DataError, UsageError
from hutch.crowd.data.labels import from_triples, restricted
from hutch.crowd.data.values import MISSING
from hutch.crowd.label_stream import label_blocks
from hutch.crowd.read.labels import read_gold, read_labels

TRIPLES = [("ann", "t1", "cat"), ("bob", "t1", "dog"), ("ann", "t2", "dog"), ("cy", "t2", "cat"), ("bob", "t2", "dog")]
TSV = "".join("\t".join(row) + "\n" for row in TRIPLES)
CSV = TSV.replace("\t", ",")


def as_triples(labels):
    items = labels.label_items
    return [
        (labels.worker_names[w], labels.item_names[i], labels.classes[c])
        for w, i, c in zip(labels.workers, items, labels.labels, strict=True)
    ]


@pytest.mark.parametrize(
    "text",
    [
        TSV,
        CSV,
        TSV.removesuffix("\n"),
        TSV.replace("\n", "\r\n"),
        "\ufeff" + TSV,
        "\n" + TSV.replace("\n", "\n\n"),
        "worker\ttask\tlabel\n" + TSV,
        "Worker_ID,Task-Id,Answer\n" + CSV,
        "label,id,task,worker\n" + "".join(f"{c},7,{t},{w}\n" for w, t, c in TRIPLES),
        "".join(f'"{w}",{t},"{c}"\n' for w, t, c in TRIPLES),
    ],
)
def test_every_layout_reads_the_same(tmp_path, text):
    path = tmp_path / "labels"
    path.write_bytes(text.encode())
    assert as_triples(read_labels(path)) == TRIPLES


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress), ("", bytes)]
)
def test_compressed_files(tmp_path, suffix, pack):
    path = tmp_path / f"labels.tsv{suffix}"
    path.write_bytes(pack(TSV.encode()))
    assert as_triples(read_labels(path)) == TRIPLES


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TSV.encode())))
    assert as_triples(read_labels("-")) == TRIPLES


def test_quoted_fields_keep_separators_quotes_and_newlines(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('"Doe, J","say ""hi""","two\nlines"\nann,t2,no\n')
    assert as_triples(read_labels(path)) == [("Doe, J", 'say "hi"', "two\nlines"), ("ann", "t2", "no")]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a\tb\tc\na\tb\n", ":2:1:", "got 2 fields, wanted 3"),
        ("a\tb\tc\n\na\tb\tc\td\n", ":3:1:", "got 4 fields"),
        ("a\tb\tc\na\t\tc\n", ":2:3:", "the task is empty"),
        ('a,b,c\na,b,"c\n', ":2:5:", "never closed"),
        ('a,b,c\na,"b"x,c\n', ":2:6:", "after a closing quote"),
        ("a\tb\n", ":1:1:", "or a header that names them"),
        ("worker\ttask\tlable\nx\ty\tz\n", ":1:1:", "did you mean 'lable'?"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, place, words):
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_labels(path)
    assert f"labels.tsv{place}" in str(error.value)
    assert words in str(error.value)


def test_bytes_that_are_no_text_are_named(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_bytes(b"a\tb\tc\na\t\xff\xfe\tc\n")
    with pytest.raises(DataError, match="labels.tsv:2:3: got bytes that are not UTF-8"):
        read_labels(path)


def test_missing_file():
    with pytest.raises(DataError, match=r"nowhere\.tsv"):
        read_labels("nowhere.tsv")


def test_empty_input_has_no_labels(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("\n\n")
    labels = read_labels(path)
    assert (len(labels), labels.items, labels.classes) == (0, 0, [])


def test_duplicates_are_dropped_and_contradictions_kept():
    rows = [("a", "t", "x"), ("a", "t", "x"), ("a", "t", "y"), ("a", "u", "x"), ("a", "t", "y"), ("b", "t", "x")]
    labels = from_triples(rows)
    assert (labels.duplicates, labels.contradictions) == (2, 1)
    assert as_triples(labels) == [("a", "t", "x"), ("a", "t", "y"), ("b", "t", "x"), ("a", "u", "x")]


def test_nine_of_ten_is_no_tie_and_runs_that_differ_are_noise():
    rows = [("judge", "t", "yes")] * 9 + [("judge", "t", "no"), ("ann", "t", "no"), ("judge", "u", "no")]
    rows += [("ann", "u", "no"), ("judge", "u", "yes"), ("judge", "u", "yes"), ("ann", "v", "yes"), ("ann", "v", "no")]
    labels = from_triples(rows)
    assert as_triples(labels) == [
        ("judge", "t", "yes"), ("ann", "t", "no"), ("ann", "u", "no"), ("judge", "u", "yes"), ("ann", "v", "yes"),
        ("ann", "v", "no"),
    ]  # fmt: skip
    assert (labels.duplicates, labels.contradictions) == (9, 3)
    assert labels.repeats.tolist() == [[45 + 3, 36 + 1], [1, 0]]


def test_anonymous_labels_are_never_duplicates():
    labels = from_triples([("", "t", "x"), ("", "t", "x"), ("", "t", "y")])
    assert (len(labels), labels.duplicates, labels.contradictions) == (3, 0, 0)


names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\n\r\0"), min_size=1, max_size=4)
classes = names.filter(lambda text: text.strip() not in {"", *MISSING})
HEADER = ("worker", "task", "label")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(names, names, classes), min_size=1, max_size=30))
def test_reading_equals_coding_in_python(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "labels.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([HEADER, *rows])
    read, built = read_labels(path), from_triples(rows)
    assert as_triples(read) == as_triples(built)
    assert (read.duplicates, read.contradictions) == (built.duplicates, built.contradictions)
    if not read.contradictions:  # of one worker's labels of a task those are kept that were given most often
        assert read.duplicates == len(rows) - len(set(rows))
        assert len(read) == len(set(rows))


def test_known_classes_and_workers_keep_their_numbers():
    labels = from_triples(TRIPLES, classes=["zebra", "dog"], workers=["zoe", "cy"])
    assert labels.classes == ["zebra", "dog", "cat"]
    assert labels.worker_names == ["zoe", "cy", "ann", "bob"]
    assert sorted(as_triples(labels)) == sorted(TRIPLES)


def test_gold_adds_classes_and_counts_what_it_cannot_use():
    labels = from_triples(TRIPLES, gold={"t2": "emu", "t9": "cat"})
    assert labels.classes == ["cat", "dog", "emu"]
    assert labels.gold.tolist() == [-1, 2]
    assert labels.unmatched_gold == 1
    assert labels.vote_share(gold=True)[1].tolist() == [0, 0, 1]


def test_gold_file(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("task,truth\nt1,cat\nt1,cat\nt2,dog\n")
    assert read_gold(path) == {"t1": "cat", "t2": "dog"}
    path.write_text("t1,cat\nt1,dog\n")
    with pytest.raises(DataError, match="got both 'cat' and 'dog'"):
        read_gold(path)


def test_restricting_to_known_classes_drops_labels_and_keeps_items():
    labels, dropped = restricted(from_triples(TRIPLES, gold={"t1": "dog"}), 1)
    assert dropped == 3
    assert np.diff(labels.item_ptr).tolist() == [1, 1]
    assert labels.gold.tolist() == [-1, -1]


def test_by_worker_lists_every_label_once():
    labels = from_triples(TRIPLES)
    pointer, positions, items = labels.by_worker
    assert np.diff(pointer).tolist() == [2, 2, 1]
    assert sorted(positions.tolist()) == list(range(5))
    assert (labels.label_items[positions] == items).all()


@pytest.mark.parametrize("text", ["a\tt1\tx\na\tt2\t\nb\tt2\t \nb\tt1\ty\n", 'a,t1,x\na,t2,""\nb,t2, \nb,t1,y\n'])
def test_an_empty_label_is_counted_with_its_first_line(tmp_path, text):
    path = tmp_path / "labels"
    path.write_text(text)
    labels = read_labels(path)
    assert as_triples(labels) == [("a", "t1", "x"), ("b", "t1", "y")]
    assert labels.classes == ["x", "y"]
    assert labels.problems.lines("labels") == ["labels: left out: 2 without a label (first: line 2)"]


def test_columns_are_named(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("who,label,thing,verdict,sure\nann,odd,t1,cat,dog\nbob,odd,t1,dog,\n")
    columns = "worker=who,task=thing,label=verdict"
    assert as_triples(read_labels(path, columns=columns)) == [("ann", "t1", "cat"), ("bob", "t1", "dog")]
    assert read_labels(path, columns=columns + ",gold=sure").gold.tolist() == [1]
    with pytest.raises(DataError, match="no column 'verdct' for the label; did you mean 'verdict'"):
        read_labels(path, columns="worker=who,task=thing,label=verdct")


@pytest.mark.parametrize(("columns", "words"), [("label", "wanted ROLE=NAME"), ("lable=x", "did you mean 'label'")])
def test_columns_that_cannot_be(tmp_path, columns, words):
    with pytest.raises(UsageError, match=words):
        read_labels(tmp_path / "labels", columns=columns)


def test_gold_in_a_column(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("gold,worker,task,label\ndog,ann,t1,cat\n,bob,t1,cat\n,bob,t2,dog\ncat,cy,t1,cat\n")
    labels = read_labels(path)
    assert as_triples(labels)[0] == ("ann", "t1", "cat")
    assert [labels.classes[k] if k >= 0 else None for k in labels.gold] == ["dog", None]
    assert labels.problems.lines("x") == ["x: left out: 1 with a second, different gold label (first: line 5)"]
    assert read_labels(path, gold={"t1": "cat"}).gold.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("worker\ttask\tlabel\nann\tt1\tcat\n\nworker\ttask\tlabel\nbob\tt1\tdog\n", "worker, task, label"),
        ('label,"task",sure,worker\ncat,t1,1,ann\n\nlabel,task,sure,worker\n', "worker, task, label"),
    ],
)
def test_a_header_that_comes_again_is_no_label(tmp_path, text, header):
    path = tmp_path / "labels.tsv"
    path.write_text(text)
    wanted = rf"labels.tsv:4:1: got the header once more \({header}\)"
    with pytest.raises(DataError, match=wanted):
        read_labels(path)
    with pytest.raises(DataError, match=wanted):
        list(label_blocks(path, chunk_bytes=24))
    path.write_text("ann\tt1\tcat\nann\tt1\tcat\n")
    assert read_labels(path).duplicates == 1


def test_a_header_that_comes_again_is_no_gold(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text("task\tlabel\nt1\tcat\ntask\tlabel\n")
    with pytest.raises(DataError, match=r"gold.tsv:3:1: got the header once more \(task, label\)"):
        read_gold(path)


@pytest.mark.parametrize(("text", "got"), [("ann\n", "1 field"), ("ann\tt1\n", "2 fields"), ("ann,t1\n", "2 fields")])
def test_fields_of_a_line_with_too_few_are_counted(tmp_path, text, got):
    (tmp_path / "labels.tsv").write_text(text)
    with pytest.raises(DataError, match=f"got {got}, wanted 3"):
        read_labels(tmp_path / "labels.tsv")


@pytest.mark.parametrize("quoted", [False, True])
def test_files_larger_than_a_piece(tmp_path, quoted):
    path, count = tmp_path / "labels.csv", 120_000
    task = '"t{}, ""of\nmany"""' if quoted else "task-of-many-{}"
    rows = [f"worker{i % 7},{task.format(i // 3)},{'ab'[i % 2]}\n" for i in range(count)]
    path.write_text("worker,task,label\n" + "".join(rows))
    labels = read_labels(path)
    name = (lambda i: f't{i}, "of\nmany"') if quoted else "task-of-many-{}".format
    assert path.stat().st_size > 1 << 21 and len(labels) == count
    assert list(labels.item_names) == [name(i) for i in range(count // 3)]
    assert labels.worker_names == [f"worker{i}" for i in range(7)] and labels.classes == ["a", "b"]
    np.testing.assert_array_equal(np.sort(labels.label_items), np.repeat(np.arange(count // 3), 3))
    lines = 1 + quoted
    for bad, column, words in (
        ("w,,a\n", 3, "the task is empty"),
        ("w,\udcff,a\n", 3, "got bytes that are not UTF-8"),
        ("w,t\n", 1, "got 2 fields, wanted 3 as in the first line"),
    ):
        text = "worker,task,label\n" + "".join(rows) + bad + "w,t,a\n"
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(DataError, match=rf"labels\.csv:{2 + lines * count}:{column}: {words}"):
            read_labels(path)


def test_a_row_may_have_some_of_the_names_of_the_header(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("worker\ttask\tlabel\nworker\tt1\tx\na\ttask\tx\na\tt2\tlabel\n")
    labels = read_labels(path)
    assert (labels.worker_names, list(labels.item_names), labels.classes) == (
        ["worker", "a"],
        ["t1", "task", "t2"],
        ["label", "x"],
    )


def test_semicolons_within_cells_separate_nothing(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("ann,1,a;b;c\nbob,1,d\n")
    assert read_labels(path).classes == ["a;b;c", "d"]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_rows_of_separators_alone_as_spreadsheets_end_in_are_no_labels(tmp_path, separator):
    rows = ["worker,task,label,note", *(f"{','.join(row)}," for row in TRIPLES[:3]), ",,,", ",,,", ",,,"]
    rows[4:4] = [",,,", " ,  ,,\t".replace("\t", "" if separator == "\t" else "\t")] + [
        f"{','.join(row)},late" for row in TRIPLES[3:]
    ]
    (tmp_path / "labels.csv").write_text("\n".join(rows).replace(",", separator) + "\n")
    labels = read_labels(tmp_path / "labels.csv")
    assert sorted(as_triples(labels)) == sorted(TRIPLES) and not len(labels.problems.lines("x"))
    (tmp_path / "labels.csv").write_text("\n".join([*rows, "ann,,cat,"]).replace(",", separator) + "\n")
    with pytest.raises(DataError, match=r"labels.csv:12:5: the task is empty"):
        read_labels(tmp_path / "labels.csv")


def test_empty_rows_of_a_sheet_with_annotators_in_columns_are_no_items(tmp_path):
    text = "item;ann;bob\nt1;cat;dog\n;;\nt2;dog;dog\n;;\n"
    (tmp_path / "wide.csv").write_text(text)
    labels = read_labels(tmp_path / "wide.csv")
    assert list(labels.item_names) == ["t1", "t2"] and len(labels) == 4
