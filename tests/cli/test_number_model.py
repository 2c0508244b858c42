"""`hutch crowd --model numbers`."""

import json

import numpy as np
import pytest
import yaml

from benchmarks.research.crowd.measured_numbers import simulated
from hutch.crowd import label_stream


def written(path, items=300, seed=0):
    """A file of labels, and the true numbers."""
    labels, truth, *_ = simulated(items, 10, 4, "", seed)
    rows = zip(labels.workers, labels.label_items, labels.labels, strict=True)
    path.write_text("worker\ttask\tlabel\n" + "".join(f"w{w}\tt{i}\t{x:.3f}\n" for w, i, x in rows))
    return truth


def table(path):
    """The columns of a file."""
    head, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    return dict(zip(head, zip(*rows, strict=True), strict=True))


def test_numbers_workers_and_a_report(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = written(tmp_path / "n.tsv")
    done = hutch("crowd", "n.tsv", "--model", "numbers", "-p", "p", "--workers", "w", "--report", "r", "--json")
    found, tasks, workers = json.loads(done.out), table(tmp_path / "p"), table(tmp_path / "w")
    assert (found["model"], found["tasks"], found["labels"]) == ("numbers", 300, 1200) and done.err == "wrote p, w, r\n"
    assert found["mean"] == pytest.approx(10, abs=1) and found["deviation"] == pytest.approx(3, abs=0.5)
    assert list(tasks) == ["task", "mean", "deviation", "low", "high", "ratings"]
    mean, low, high = (np.array(tasks[name], float) for name in ("mean", "low", "high"))
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.7 and np.mean((low < truth) & (truth < high)) > 0.85
    noise = np.array(workers["noise"], float)
    assert len(noise) == 10 and (np.diff(noise) <= 0).all() and (tmp_path / "r").read_text().startswith("worker\tlab")
    assert "noise  " in hutch("crowd", "n.tsv", "--model", "numbers").out


def test_known_numbers_are_learned_and_others_scored(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels, truth, *_ = simulated(300, 10, 4, "high", 0)
    rows = zip(labels.workers, labels.label_items, labels.labels, strict=True)
    (tmp_path / "n.tsv").write_text("".join(f"w{w}\tt{i}\t{x:.3f}\n" for w, i, x in rows))
    (tmp_path / "g.tsv").write_text(
        "".join(f"t{i}\t{x!r}\n" for i, x in enumerate(truth[:15].tolist())) + "elsewhere\t1\n"
    )
    (tmp_path / "s.tsv").write_text("".join(f"t{i}\t{x!r}\n" for i, x in enumerate(truth.tolist())))
    (tmp_path / "x.tsv").write_text("t1\t2\nt2\tx\n")
    command = ["crowd", "n.tsv", "--model", "numbers", "--json"]
    alone = json.loads(hutch(*command, "--score", "s.tsv").out)["score"]
    done = hutch(*command, "--score", "s.tsv", "--gold", "g.tsv", "-p", "p", "-f", "m")
    score = json.loads(done.out)["score"]
    assert alone["scored"] == 300 and score["scored"] == 285 and "gold without labels: 1 task" in done.err
    assert score["root_mean_squared_error"] < 0.6 < 1.8 < alone["root_mean_squared_error"]
    assert (
        score["mean_absolute_error"] < 0.5 and 0.88 < score["intervals_hold"] < 0.99 and alone["intervals_hold"] < 0.3
    )
    assert table(tmp_path / "p")["deviation"][:15] == ("0",) * 15
    assert "root mean squared error" in hutch(*command[:-1], "--score", "s.tsv").out
    (tmp_path / "g.tsv").write_text("".join(f"t{i}\t{100 * truth[i]}\n" for i in range(15)))
    assert "g.tsv: most answers to tasks whose number is known are far" in hutch(*command, "--gold", "g.tsv").err
    assert not hutch(*command).err
    for option in ("--gold", "--score"):
        assert hutch(*command, option, "x.tsv").err.startswith("x.tsv:2: got the label 'x', wanted a number")
    (tmp_path / "c.tsv").write_text("worker\ttask\tlabel\tgold\nann\tt\t1\t2\nbob\tt\t3\t2\n")
    assert "wanted --method batch" in hutch("crowd", "c.tsv", "--model", "numbers", "--method", "online").err
    assert hutch("crowd", "c.tsv", "--model", "numbers", "-p", "p").code == 0 and table(tmp_path / "p")["mean"] == (
        "2",
    )


def test_a_stream_resumes_bit_for_bit(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(label_stream, "CHUNK_BYTES", 5000)
    written(tmp_path / "all", 3000)
    lines = (tmp_path / "all").read_text().splitlines(keepends=True)
    (tmp_path / "first").write_text("".join(lines[: 1 + 4 * 1201]))
    (tmp_path / "rest").write_text(lines[0] + "".join(lines[1 + 4 * 1201 :]))
    new = ["--model", "numbers", "--method", "online"]
    for command in (["all", *new, "--stream", "-p", "p", "-f", "whole"], ["first", *new, "-f", "half"],
                    ["rest", "-i", "half", "-f", "resumed"]):  # fmt: skip
        assert hutch("crowd", *command).code == 0
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()
    assert len(table(tmp_path / "p")["task"]) == 3000
    facts = yaml.safe_load(hutch("inspect", "whole").out)
    assert facts["model"] == "numbers" and facts["mean"] == pytest.approx(10, abs=1) and 0 < facts["wild"] < 0.05
    before = (tmp_path / "whole").read_bytes()
    assert (
        hutch("crowd", "all", "-i", "whole", "-t", "-p", "q").code == 0 and (tmp_path / "whole").read_bytes() == before
    )


def test_online_the_workers_of_the_file_are_those_of_batch(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "n.tsv", 3000)
    for method, path in (("batch", "b"), ("online", "o")):
        assert hutch("crowd", "n.tsv", "--model", "numbers", "--method", method, "--workers", path).code == 0
    batch, online = (
        dict(zip(found["worker"], zip(*(found[n] for n in ("labels", "bias", "noise")), strict=True), strict=True))
        for found in (table(tmp_path / "b"), table(tmp_path / "o"))
    )
    assert batch.keys() == online.keys()
    for worker, values in batch.items():
        assert np.allclose(np.array(values, float), np.array(online[worker], float), atol=0.1), worker


def test_a_batch_model_continues(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "n.tsv")
    assert hutch("crowd", "n.tsv", "--model", "numbers", "-f", "m").code == 0
    assert hutch("crowd", "n.tsv", "-i", "m", "-t", "-p", "q").code == 0
    assert "tasks                300" in hutch("crowd", "n.tsv", "-i", "m", "-f", "m2").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "online", "--gold", "n.tsv"], "--gold: cannot be combined with --method online"),
        (["--stream"], "--stream: cannot be combined with --method batch"),
        (["--method", "online", "--stream", "--workers", "w"], "--workers: cannot be combined with --stream"),
        (["--method", "online", "--passes", "2"], "--passes: numbers learns a block once"),
        (["--report", "r.html"], "--report: wanted a text file"),
        (["--set", "rho=1"], "--set: cannot be combined"),
    ],
)
def test_what_numbers_cannot_do(hutch, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "n.tsv", 10)
    done = hutch("crowd", "n.tsv", "--model", "numbers", *options)
    assert done.code == 2 and message in done.err


@pytest.mark.parametrize("label", ["1.5kg", "inf", "-2e15"])
def test_a_label_that_is_no_number_is_refused_with_its_line(hutch, tmp_path, monkeypatch, label):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.tsv").write_text(f"worker\ttask\tlabel\na\tt\t1.5\nb\tt\t{label}\n")
    done = hutch("crowd", "n.tsv", "--model", "numbers")
    assert (done.code, done.err) == (1, f"n.tsv:3: got the label {label!r}, wanted a number up to 1e+15\n")


def test_cells_without_a_number_are_told(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "n.tsv", 10)
    with open("n.tsv", "a") as file:
        file.write("w1\tt0\tnan\n")
    assert "n.tsv: left out: 1 without a label (first: line 42)" in hutch("crowd", "n.tsv", "--model", "numbers").err
    (tmp_path / "none.tsv").write_text("worker\ttask\tlabel\n")
    done = hutch("crowd", "none.tsv", "--model", "numbers")
    assert "none.tsv: no labels" in done.err and "mean" not in done.out


def test_a_short_stream_tells_what_it_has_learned(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "n.tsv")
    done = [hutch("crowd", "n.tsv", "--model", "numbers", "--json", *more) for more in ([], ["--method", "online"])]
    batch, stream = (json.loads(each.out) for each in done)
    assert stream["mean"] == pytest.approx(batch["mean"], abs=0.1)
    assert stream["noise"] == pytest.approx(batch["noise"], abs=0.1)


def test_without_stream_the_labels_of_a_task_may_stand_anywhere(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(label_stream, "CHUNK_BYTES", 500)
    written(tmp_path / "n.tsv", 100)
    head, *lines = (tmp_path / "n.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "m.tsv").write_text(head + "".join(lines[k] for place in range(4) for k in range(place, 400, 4)))
    assert hutch("crowd", "m.tsv", "--model", "numbers", "--method", "online", "-p", "p").code == 0
    assert table(tmp_path / "p")["ratings"] == ("4",) * 100


def test_one_label_per_task_tells_little(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"a\tt{k}\t{k}\n\tt{k + 10}\t{k}\n" for k in range(10))
    (tmp_path / "n.tsv").write_text("worker\ttask\tlabel\n" + rows)
    done = hutch("crowd", "n.tsv", "--model", "numbers", "--method", "online", "-p", "p")
    assert done.code == 2 and "wanted tasks with two labels" in done.err and "without a worker" in done.err
    assert min(np.array(table(tmp_path / "p")["deviation"], float)) > 1
