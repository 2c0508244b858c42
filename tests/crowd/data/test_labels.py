import csv
import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.errors import DataError
from hutch.crowd.data.labels import from_triples, read_gold, read_labels, restricted

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
        ("a\tb\tc\na\tb\t\n", ":2:5:", "the label is empty"),
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


def test_anonymous_labels_are_never_duplicates():
    labels = from_triples([("", "t", "x"), ("", "t", "x"), ("", "t", "y")])
    assert (len(labels), labels.duplicates, labels.contradictions) == (3, 0, 0)


names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\n\r\0"), min_size=1, max_size=4)
HEADER = ("worker", "task", "label")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=30))
def test_reading_equals_coding_in_python(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "labels.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([HEADER, *rows])
    read, built = read_labels(path), from_triples(rows)
    assert as_triples(read) == as_triples(built)
    assert (read.duplicates, read.contradictions) == (built.duplicates, built.contradictions)
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


def annotation(worker, choice, **more):
    return {
        "completed_by": worker,
        "result": [{"type": "choices", "from_name": "q", "value": {"choices": choice}}],
    } | more


def test_label_studio_export(tmp_path):
    export = [
        {"id": 7, "annotations": [annotation(1, ["cat"]), annotation({"id": 2, "email": "b@x.org"}, ["dog"])]},
        {"id": 8, "annotations": [annotation(1, ["dog"], was_cancelled=True), annotation(None, ["cat"])]},
        {"id": 9, "annotations": [{"completed_by": 1, "result": [{"type": "rating", "value": {"rating": 4}}]}]},
    ]
    export[2]["annotations"][0]["result"][0]["from_name"] = "q"
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    expected = [("1", "7", "cat"), ("b@x.org", "7", "dog"), ("", "8", "cat"), ("1", "9", "4")]
    assert as_triples(read_labels(path)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"id": 1,\n]', r"export\.json:2:1: not JSON"),
        ('{"id": 1}', "got a JSON dict, wanted a list of tasks"),
        ('[{"id": 1, "text": "x"}]', "task 1: no annotations"),
        (json.dumps([{"annotations": [annotation(1, ["a", "b"])]}]), "task 1: got 2 choices"),
    ],
)
def test_bad_label_studio_export(tmp_path, text, words):
    path: Path = tmp_path / "export.json"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_labels(path)
