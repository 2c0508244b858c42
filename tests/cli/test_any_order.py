"""`hutch crowd --method online` on labels in any order: parts, streams, and what the summary says."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hutch.core.chain.model_file import load_model, save_model
from hutch.crowd.simulate import simulate

ONLINE = ("--method", "online", "--quiet")
CLASSES = ("--classes", "c0,c1,c2")


@pytest.fixture(scope="module")
def crowd():
    return simulate(300, 25, 3, 5, seed=3)


@pytest.fixture
def rows(crowd):
    labels = crowd.labels
    triples = zip(labels.workers, labels.label_items, labels.labels, strict=True)
    lines = [f"w{w}\tt{i}\tc{k}\n" for w, i, k in triples]
    return [lines[place] for place in np.random.default_rng(0).permutation(len(lines))]


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, lines):
        (tmp_path / name).write_text("".join(lines))

    return write


def verdicts(path):
    lines = [line.split("\t") for line in Path(path).read_text().splitlines()[1:]]
    return {line[0]: line[1] for line in lines}, {line[0]: int(line[3]) for line in lines}


def counts(rows):
    return dict(Counter(row.split("\t")[1] for row in rows))


def right(found, crowd):
    return np.mean([label == f"c{crowd.truth[int(task[1:])]}" for task, label in found.items()])


def test_shuffled_parts_are_the_whole_to_the_byte_and_say_as_much(hutch, put, rows, crowd):
    put("all.tsv", rows)
    put("a.tsv", rows[:600])
    put("b.tsv", rows[600:])
    assert hutch("crowd", "all.tsv", *ONLINE, *CLASSES, "-f", "all.model", "-p", "all.txt").code == 0
    assert hutch("crowd", "a.tsv", *ONLINE, *CLASSES, "-f", "a.model").code == 0
    assert hutch("crowd", "b.tsv", "--quiet", "-i", "a.model", "-f", "b.model", "-p", "b.txt").code == 0
    assert Path("all.model").read_bytes() == Path("b.model").read_bytes()
    (whole, ratings), (last, more) = verdicts("all.txt"), verdicts("b.txt")
    assert len(last) > 250 and {task: whole[task] for task in last} == last
    assert ratings == counts(rows) and {task: ratings[task] for task in last} == more
    assert right(whole, crowd) > 0.8


def test_a_stream_of_shuffled_labels_is_the_same(hutch, put, rows):
    put("all.tsv", rows)
    assert hutch("crowd", "all.tsv", *ONLINE, *CLASSES, "-f", "all.model", "-p", "all.txt").code == 0
    assert hutch("crowd", "all.tsv", *ONLINE, *CLASSES, "--stream", "-f", "s.model", "-p", "s.txt").code == 0
    assert Path("all.model").read_bytes() == Path("s.model").read_bytes()
    assert Path("all.txt").read_text() == Path("s.txt").read_text()


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_with_few_open_tasks_the_surest_are_closed_and_counted(hutch, put, rows, crowd, stream):
    put("all.tsv", rows)
    done = hutch("crowd", "all.tsv", *ONLINE, *CLASSES, *stream, "--open", "60", "-p", "p.txt", "--json")
    found = json.loads(done.out)
    assert found["open_tasks"] == 60 and found["closed_tasks"] - found["reopened_tasks"] == len(counts(rows)) - 60
    labels, ratings = verdicts("p.txt")
    assert ratings == counts(rows)
    assert right(labels, crowd) > 0.7


def test_the_summary_counts_what_came_late(hutch, put, rows, crowd):
    worker, task, label = rows[0].split()
    other = next(k for k in ("c0", "c1", "c2") if k != label)
    put("a.tsv", [f"{worker}\t{task}\t{other}\n", *rows[1:700]])
    put("b.tsv", [*rows[700:], rows[0], f"{worker}\tnew\tc9\n"])
    put("gold.tsv", [f"t{i}\tc{crowd.truth[i]}\n" for i in range(20)])
    assert hutch("crowd", "a.tsv", *ONLINE, *CLASSES, "-f", "a.model").code == 0
    for stream in ((), ("--stream",)):
        done = hutch("crowd", "b.tsv", "--quiet", "-i", "a.model", "--gold", "gold.tsv", "--json", *stream)
        found = json.loads(done.out)
        assert found["corrected_labels"] == 1 and found["new_classes"] == ["c9"], stream
        assert 10 < found["late_gold"] <= 20 and found["class_names"] == ["c0", "c1", "c2", "c9"]


def test_gold_of_a_task_of_an_earlier_part_is_learned_and_no_stray(hutch, put, rows, crowd):
    put("a.tsv", [row for row in rows if row.split("\t")[1] != "t0"])
    put("b.tsv", [row for row in rows if row.split("\t")[1] == "t0"])
    put("gold.tsv", [f"t{i}\tc{crowd.truth[i]}\n" for i in range(1, 20)] + ["t999\tc0\n"])
    assert hutch("crowd", "a.tsv", "--method", "online", *CLASSES, "-f", "a.model", "--quiet").code == 0
    done = hutch("crowd", "b.tsv", "-i", "a.model", "--gold", "gold.tsv", "--json")
    assert json.loads(done.out)["late_gold"] == 19 and "gold without labels: 1 task" in done.err


def test_testing_judges_by_earlier_labels_too_and_learns_nothing(hutch, put, rows):
    put("a.tsv", rows[:1000])
    put("b.tsv", rows[1000:])
    assert hutch("crowd", "a.tsv", *ONLINE, *CLASSES, "-f", "a.model").code == 0
    assert hutch("crowd", "b.tsv", "--quiet", "-i", "a.model", "-t", "-p", "t.txt", "-f", "same.model").code == 0
    assert Path("a.model").read_bytes() == Path("same.model").read_bytes()
    found, whole = verdicts("t.txt")[1], counts(rows)
    assert found == {task: whole[task] for task in found}


@pytest.mark.parametrize("model", ["nominal", "one_coin"])
@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_other_models_say_which_tasks_came_back(hutch, put, rows, model, stream):
    rows = sorted(rows, key=lambda row: row.split("\t")[1])
    cut = next(place for place in range(700, 800) if rows[place].split("\t")[1] != rows[place - 1].split("\t")[1])
    put("a.tsv", rows[:cut])
    put("b.tsv", rows[cut:])
    put("c.tsv", rows[:10])
    options = (*ONLINE, "--model", model, *CLASSES, *stream)
    done = hutch("crowd", "a.tsv", *options, "-f", "a.model")
    assert not done.err
    done = hutch("crowd", "b.tsv", "--quiet", "-i", "a.model", *stream, "-f", "b.model")
    assert not done.err
    first = rows[0].split("\t")[1]
    done = hutch("crowd", "c.tsv", "--quiet", "-i", "b.model", *stream)
    assert f"c.tsv: got labels of task {first!r} at line 1, after those of other tasks" in done.err
    assert "two_level, the default, takes them in any order" in done.err


def test_what_cannot_be_is_refused(hutch, put, rows):
    put("all.tsv", rows)
    for more in ((), ("--method", "online", "--model", "nominal"), ("--method", "batch")):
        done = hutch("crowd", "all.tsv", "--open", "3", *more)
        assert done.code == 2 and "--open: wanted --method online and --model two_level" in done.err
    hutch("crowd", "all.tsv", *ONLINE, *CLASSES, "-f", "new.model")
    arrays, metadata = load_model("new.model", kind="crowd")
    old = {name: array for name, array in arrays.items() if not name.startswith("open.")}
    save_model("old.model", old, metadata, kind="crowd")
    done = hutch("crowd", "all.tsv", "-i", "old.model")
    assert done.code == 1 and "old.model: got an online two_level model that learned task by task" in done.err
    assert "make it again from the labels" in done.err


def test_a_stream_that_only_scores_wants_tasks_together(hutch, put, rows):
    put("all.tsv", rows)
    hutch("crowd", "all.tsv", *ONLINE, *CLASSES, "-f", "all.model")
    put("long.tsv", rows * 60)  # more than a piece of the file
    done = hutch("crowd", "long.tsv", "--quiet", "-i", "all.model", "-t", "--stream", "-p", "p.txt")
    assert "a stream that only scores takes them as another task: leave out --stream" in done.err


def test_several_labels_per_task_come_back_too(hutch, put, rows):
    parts = [row.replace("c0", "c0|c1") for row in rows]
    put("a.tsv", parts[:600])
    put("b.tsv", parts[600:])
    options = (*ONLINE, "--multi-label", "--model", "two_level", *CLASSES)
    assert hutch("crowd", "a.tsv", *options, "-f", "a.model").code == 0
    done = hutch("crowd", "b.tsv", "--quiet", "--multi-label", "-i", "a.model", "-f", "b.model", "-p", "b.txt")
    assert done.code == 0 and not done.err
    put("all.tsv", parts)
    assert hutch("crowd", "all.tsv", *options, "-p", "all.txt").code == 0
    whole, last = (
        dict(line.split("\t", 1) for line in Path(path).read_text().splitlines()[1:]) for path in ("all.txt", "b.txt")
    )
    assert (
        len(last) > 250
        and np.mean([whole[task].split("\t")[0] == row.split("\t")[0] for task, row in last.items()]) > 0.97
    )


def test_rows_with_a_time_are_learned_in_its_order(hutch, put):
    rows = [f"{w},t{i},{'ab'[i % 2]},{9 * i + k:05}\n" for i in range(40) for k, w in enumerate(("ann", "bob", "cy"))]
    put("times.csv", ["worker,task,label,time\n", *rows[1:][::-1], "ann,t1,a,99999\n", rows[0]])
    put("order.csv", ["worker,task,label\n", *(row.rsplit(",", 1)[0] + "\n" for row in rows), "ann,t1,a\n"])
    done = hutch("crowd", "times.csv", "--method", "online", "--columns", "time=time", "-f", "a.model", "--json")
    assert "of two answers of a worker to a task the last counts" in done.err
    assert json.loads(done.out)["corrected_labels"] == 1
    assert hutch("crowd", "order.csv", *ONLINE, "-f", "b.model").code == 0
    assert Path("a.model").read_bytes() == Path("b.model").read_bytes()
