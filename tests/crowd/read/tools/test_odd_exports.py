"""Exports and tables as they come out of spreadsheets and rarer settings of the tools."""

import json

import pytest

from hutch.core.errors import DataError
from hutch.crowd.read.labels import read_labels

ROWS = [("ann", "1", "cat"), ("bob", "1", "dog"), ("ann", "2", "cat")]
TEXTS = {
    "semicolons": b"worker;task;label\nann;1;cat\nbob;1;dog\nann;2;cat\n",
    "semicolons without a header": b"ann;1;cat\nbob;1;dog\nann;2;cat\n",
    "a line that names the separator": b"sep=;\r\nworker;task;label\r\nann;1;cat\r\nbob;1;dog\r\nann;2;cat\r\n",
    "UTF-16 with tabs": "worker\ttask\tlabel\nann\t1\tcat\nbob\t1\tdog\nann\t2\tcat\n".encode("utf-16"),
    "UTF-16 the other way round": b"\xfe\xff"
    + "worker,task,label\nann,1,cat\nbob,1,dog\nann,2,cat\n".encode("utf-16-be"),
    "commas in cells": b'worker;task;label;text\nann;1;cat;"a, b; c"\nbob;1;dog;"x\ny"\nann;2;cat;\n',
}


def triples(labels):
    return [
        (labels.worker_names[w], labels.item_names[i], labels.classes[c])
        for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_tables_of_spreadsheets(tmp_path, name):
    (tmp_path / "labels.csv").write_bytes(TEXTS[name])
    assert triples(read_labels(tmp_path / "labels.csv")) == ROWS


def label_studio(*results):
    annotations = [{"completed_by": k, "result": result} for k, result in enumerate(results)]
    return json.dumps([{"id": 1, "data": {}, "annotations": annotations}])


def result(kind, value, **more):
    return {"from_name": "q", "type": kind, "value": value} | more


EXPORTS = {
    "a taxonomy": (
        label_studio(
            [result("taxonomy", {"taxonomy": [["Animal", "Dog"]]})],
            [result("taxonomy", {"taxonomy": [["Animal", "Dog"], ["Plant"]]})],
            [result("choices", {"choices": [["Animal", "Cat"]]})],
        ),
        [("0", "1", "Animal/Dog"), ("2", "1", "Animal/Cat")],
        {"with two labels at once": 1},
    ),
    "several items in a task": (
        label_studio(
            [result("choices", {"choices": ["a"]}, item_index=0), result("choices", {"choices": ["b"]}, item_index=1)],
            [result("choices", {"choices": ["a"]}, item_index=0), result("choices", {"choices": ["a"]}, item_index=1)],
        ),
        [("1", "1", "a")],
        {"with two labels at once": 1},
    ),
    "boxes": (
        label_studio([result("rectanglelabels", {"rectanglelabels": ["car"]})], []),
        [],
        {"with a label that is neither a word nor a number": 1, "without a label": 1},
    ),
    "answers that were discarded": (
        json.dumps(
            [
                {
                    "id": "r",
                    "fields": {},
                    "responses": {
                        "q": [
                            {"value": "a", "user_id": "u", "status": "submitted"},
                            {"value": "b", "user_id": "v", "status": "discarded"},
                            {"value": "b", "user_id": "w", "status": "draft"},
                            {"value": "b", "user_id": "x"},
                        ]
                    },
                }
            ]
        ),
        [("u", "r", "a"), ("x", "r", "b")],
        {"skipped": 2},
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rarer_answers(tmp_path, name, encoding):
    text, wanted, problems = EXPORTS[name]
    (tmp_path / "export.json").write_text(text, encoding=encoding)
    labels = read_labels(tmp_path / "export.json")
    assert triples(labels) == wanted
    assert {why: count for why, (count, _) in labels.problems.found.items()} == problems


def test_a_header_without_workers_is_no_row(tmp_path):
    (tmp_path / "doccano.csv").write_text("id,data,label\n1,a,good\n2,b,bad\n")
    with pytest.raises(DataError, match=r"doccano.csv:1:1: got id, data, label: a row or a header\?.*--columns"):
        read_labels(tmp_path / "doccano.csv")
    found = read_labels(tmp_path / "doccano.csv", columns="worker=data,task=id,label=label")
    assert triples(found) == [("a", "1", "good"), ("b", "2", "bad")]
    (tmp_path / "rows.csv").write_text("ann,1,gold\nbob,1,silver\nann,2,gold\n")  # a class whose name is one of columns
    assert len(read_labels(tmp_path / "rows.csv")) == 3


def test_utf_16_that_ends_in_the_middle_is_refused(tmp_path):
    (tmp_path / "cut.csv").write_bytes("ann,1,cat\n".encode("utf-16")[:-1])
    with pytest.raises(DataError, match="cut.csv: got UTF-16 that cannot be read"):
        read_labels(tmp_path / "cut.csv")
