"""Tasks that may have several labels: each label a yes or no of its own."""

import json

import pytest

from hutch.core.errors import DataError
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.read.multi_label import read_multi_label, set_in
from tests.crowd.read.tools.test_exports import MTURK_CHOICES, annotation, lines


def answers(path, content, **options):
    """By label the (worker, task, answer)."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return {
        name: sorted(
            (labels.worker_names[w], labels.item_names[i], labels.classes[c])
            for w, i, c in zip(labels.workers, labels.label_items, labels.labels, strict=True)
        )
        for name, labels in read_multi_label(str(path), **options).items()
    }


EXPECTED = {
    "cat": [("ann", "1", "yes"), ("ann", "2", "no"), ("bob", "1", "yes"), ("bob", "2", "no")],
    "dog": [("ann", "1", "yes"), ("ann", "2", "no"), ("bob", "1", "no"), ("bob", "2", "yes")],
}
FILES = {
    "a row per label": "worker,task,label\nann,1,cat\nann,1,dog\nann,2,[]\nbob,1,cat\nbob,2,dog\nbob,2,dog\n",
    "cells": "worker,task,label\nann,1,dog|cat\nann,2,[]\nbob,1,\"[\"\"cat\"\"]\"\nbob,2,dog\n",
    "a column per worker": "id,ann,bob\n1,cat|dog,cat\n2,[],dog\n",
    "boxes of Label Studio": [
        {"id": 1, "annotations": [annotation("ann", ["cat", "dog"]), annotation("bob", ["cat"])]},
        {"id": 2, "annotations": [annotation("ann", [], result=[]), annotation("bob", ["dog"])]},
    ],
    "Prodigy": lines(*({"_input_hash": task, "_task_hash": 0, "options": [], "accept": accept, "answer": "accept",
                        "_annotator_id": who} for task, who, accept in
                       ((1, "ann", ["dog", "cat"]), (2, "ann", []), (1, "bob", ["cat"]), (2, "bob", ["dog"])))),
    "Mechanical Turk": "HITId,WorkerId,Answer.animal.cat,Answer.animal.dog\n1,ann,true,true\n2,ann,false,false\n"
                       "1,bob,true,false\n2,bob,false,true\n",
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_who_labels_a_task_says_no_to_all_other_labels(tmp_path, name):
    named = ColumnNames.of("label=ann,label=bob") if name == "a column per worker" else None
    assert answers(tmp_path / "labels", FILES[name], columns=named) == EXPECTED


def test_an_empty_cell_is_no_answer_and_is_counted(tmp_path):
    text = "worker,task,label\nann,1,cat\nbob,1,\ncy,1,N/A\n"
    assert answers(tmp_path / "labels", text) == {"cat": [("ann", "1", "yes")]}
    found = read_multi_label(str(tmp_path / "labels"))["cat"]
    assert found.problems.lines("x") == ["x: left out: 2 without a label (first: line 3)"]


def test_a_row_of_boxes_without_a_tick_says_no_to_all(tmp_path):
    found = answers(tmp_path / "labels", MTURK_CHOICES, columns=ColumnNames.of("label=animal"))
    assert ("w2", "h2", "no") in found["cat"] and ("w2", "h2", "no") in found["dog"]


def test_classes_and_gold(tmp_path):
    text = "worker,task,label\nann,1,cat\nbob,1,dog\n"
    gold = {"1": set_in("cat|fox"), "9": set_in("cat")}
    found = read_multi_label(str(tmp_path / "x"), gold=gold) if (tmp_path / "x").write_text(text) else {}
    assert {name: labels.gold.tolist() for name, labels in found.items()} == {"cat": [1], "dog": [0], "fox": [1]}
    assert found["cat"].unmatched_gold == 1
    assert list(read_multi_label(str(tmp_path / "x"), classes=["fox", "dog", "cat"])) == ["fox", "dog", "cat"]
    with pytest.raises(DataError, match="x: got label 'dog', wanted one of cat, dig; did you mean 'dig'"):
        read_multi_label(str(tmp_path / "x"), classes=["cat", "dig"])


def test_nothing(tmp_path):
    assert answers(tmp_path / "labels", "") == {} == answers(tmp_path / "labels", "worker,task,label\n")


@pytest.mark.parametrize("wide", [True, False])
def test_sets_in_tables_of_other_names(tmp_path, wide):
    sets = ["politics|economy", "politics", "sports", "[]"]
    rows = [[f"d{i}", *(sets[(i + (w == i % 3)) % 4] for w in range(3))] for i in range(20)]
    if not wide:
        rows = [[f"r{w}", row[0], row[w + 1]] for row in rows for w in range(3)]
    header = ["velvet", "r0", "r1", "r2"] if wide else ["velvet", "ladder", "kettle"]
    (tmp_path / "labels.csv").write_text("".join(",".join(row) + "\n" for row in [header, *rows]))
    found = read_multi_label(tmp_path / "labels.csv")
    assert [*found] == ["economy", "politics", "sports"] and found["sports"].items == 20
    assert found["sports"].worker_names == ["r0", "r1", "r2"] and len(found["sports"]) == 60
