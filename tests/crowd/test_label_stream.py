import numpy as np
import pytest

from hutch.core.errors import DataError
from hutch.crowd.label_stream import Seen, label_blocks, run_blocks
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import Table, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_labels
from hutch.crowd.simulate import simulate


@pytest.fixture
def path(tmp_path):
    labels = simulate(400, 30, 3, 4, seed=2).labels
    rows = zip(labels.workers, labels.label_items, labels.labels, strict=True)
    (tmp_path / "labels.csv").write_text(
        "task,worker,label\n" + "".join(f'"t{i}, a",w{w},c{label}\n' for w, i, label in rows)
    )
    return tmp_path / "labels.csv"


@pytest.mark.parametrize("chunk_bytes", [20, 100, 1000, 1 << 20])
def test_blocks_hold_whole_tasks_in_order(path, chunk_bytes):
    whole = read_labels(path)
    blocks = list(label_blocks(path, whole.classes, chunk_bytes=chunk_bytes))
    assert (len(blocks) > 3) == (chunk_bytes < 1 << 20)
    assert [name for block in blocks for name in block.item_names] == whole.item_names
    workers = [block.worker_names[w] for block in blocks for w in block.workers]
    assert workers == [whole.worker_names[w] for w in whole.workers]
    assert np.array_equal(np.concatenate([block.labels for block in blocks]), whole.labels)


@pytest.mark.parametrize("model", [TwoLevel(), Nominal()])
def test_a_stream_learns_what_all_at_once_learns(path, model):
    labels = read_labels(path)
    whole, pieces = (stream_of(model, labels.classes, 64) for _ in range(2))
    progress = whole.learn(whole.in_slots(labels), True)
    blocks = ({"": block} for block in label_blocks(path, labels.classes, chunk_bytes=300))
    totals = run_blocks({"": pieces}, blocks, True, Table(lambda _: None), None)
    assert (totals.tasks, totals.labels) == (labels.items, len(labels))
    assert totals.objective == pytest.approx(progress.objective.mean())
    for part in ("workers", "shared"):
        for name, array in getattr(whole.state, part).items():
            assert np.array_equal(array, getattr(pieces.state, part)[name]), name


def test_classes_must_be_known_and_errors_name_the_line(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"w{i % 3}\tt{i}\tyes\n" for i in range(50)) + "w1\tt50\tno\n")
    with pytest.raises(DataError, match="got label 'no', wanted one of yes; .* --classes"):
        list(label_blocks(path, chunk_bytes=100))
    assert sum(map(len, label_blocks(path, ["no", "yes"], chunk_bytes=100))) == 51
    path.write_text(path.read_text() + "w1\tt51\n")
    with pytest.raises(DataError, match=r"labels.tsv:52:\d+: got 2 fields, wanted 3"):
        list(label_blocks(path, ["no", "yes"], chunk_bytes=100))


@pytest.mark.parametrize("text", ["", "\n\n", "worker\ttask\tlabel\n"])
def test_nothing_to_read(tmp_path, text):
    (tmp_path / "labels.tsv").write_text(text)
    assert not list(label_blocks(tmp_path / "labels.tsv"))


def test_gold_is_seen_in_its_block(path):
    whole = read_labels(path)
    gold = {whole.item_names[7]: "c2", whole.item_names[300]: "c0", "elsewhere": "c1"}
    blocks = label_blocks(path, whole.classes, gold, chunk_bytes=200)
    found = np.concatenate([block.gold for block in blocks])
    assert (found[7], found[300], np.sum(found >= 0)) == (2, 0, 2)


def test_a_task_that_comes_back_after_others_is_seen(tmp_path):
    path, rows = tmp_path / "labels.tsv", [f"w{w}\tt{i}\tc{i % 2}\n" for w in range(3) for i in range(100)]
    path.write_text("".join(rows))
    seen = Seen()
    assert len(list(label_blocks(path, ["c0", "c1"], chunk_bytes=200, seen=seen))) > 10
    assert seen.split > 100 and seen.first == ("t0", "line 101")
    assert "got labels of task 't0' at line 101, after those of other tasks" in seen.warning()
    path.write_text("".join(sorted(rows, key=lambda row: row.split("\t")[1])))
    list(label_blocks(path, ["c0", "c1"], chunk_bytes=200, seen=(seen := Seen())))
    assert (seen.split, seen.warning()) == (0, "")


def test_a_stream_has_no_other_order(tmp_path):
    (tmp_path / "labels.csv").write_text("worker,task,label,when\nann,1,a,2\nbob,1,b,1\n")
    with pytest.raises(DataError, match="labels.csv: --columns time: a stream takes rows as they come"):
        list(label_blocks(tmp_path / "labels.csv", ["a", "b"], columns="time=when"))


def test_a_stream_has_one_question(tmp_path):
    path = tmp_path / "labels.csv"
    rows = [f"{w},t{i},{q},{'ab'[i % 2]}\n" for q in ("tone", "safe") for i in range(30) for w in ("ann", "bob")]
    path.write_text("worker,task,criterion,label\n" + "".join(rows))
    with pytest.raises(DataError, match=r"got answers to several questions \(tone, safe\), wanted one"):
        list(label_blocks(path, ["a", "b"], chunk_bytes=200, columns="question=criterion"))


def test_rows_that_are_items_are_numbered_through(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("ann,bob\n" + "".join(f"{i % 2},{i % 3 % 2}\n" for i in range(300)))
    names = [name for block in label_blocks(path, ["0", "1"], chunk_bytes=200) for name in block.item_names]
    assert names == [str(number) for number in range(1, 301)]
