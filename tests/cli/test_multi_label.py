"""`hutch crowd --multi-label`."""

import json

import numpy as np
import pytest
import yaml

from hutch.core.chain.model_file import load_model
from hutch.crowd import label_stream


def simulated(seed, tasks=400, labels=3, people=5):
    """Truth (tasks, labels) and the rows of people who hear each label with a skill of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.random((tasks, labels)) < np.array([0.5, 0.2, 0.35])[:labels]
    miss, alarm = rng.uniform(0.05, 0.45, (people, labels)), rng.uniform(0.01, 0.15, (people, labels))
    said = rng.random((people, tasks, labels)) < np.where(truth, 1 - miss[:, None], alarm[:, None])
    names = np.array(["cat", "dog", "fox"])
    rows = [f"w{w}\tt{t}\t{'|'.join(names[said[w, t]]) or '[]'}" for t in range(tasks) for w in range(people)]
    return truth, said.mean(axis=0) > 0.5, "worker\ttask\tlabel\n" + "\n".join(rows) + "\n"


def test_the_truth_of_a_simulated_crowd_is_found_better_than_by_votes(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth, votes, text = simulated(3)
    (tmp_path / "labels.tsv").write_text(text)
    names = np.array(["cat", "dog", "fox"])
    gold = [f"t{t}\t{'|'.join(names[row]) or '[]'}\n" for t, row in enumerate(truth)]
    (tmp_path / "truth.tsv").write_text("task\tlabel\n" + "".join(gold))
    command = ["crowd", "labels.tsv", "--multi-label", "--score", "truth.tsv", "-p", "p.tsv", "--workers", "w.tsv"]
    result = hutch(*command)
    assert result.code == 0 and "label\tshare\tkrippendorff alpha\taccuracy" in result.out, result.err
    summary = json.loads(hutch(*command, "--json").out)
    lines = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()]
    assert lines[0] == ["task", "label", "confidence", "ratings", "q:cat", "q:dog", "q:fox"] and len(lines) == 401
    found = np.array([[float(q) > 0.5 for q in line[4:]] for line in lines[1:]])
    assert [line[0] for line in lines[1:]] == [f"t{t}" for t in range(400)] and {line[3] for line in lines[1:]} == {"5"}
    assert [line[1] for line in lines[1:]] == ["|".join(names[row]) for row in found]
    right, voted = (found == truth).all(axis=1).mean(), (votes == truth).all(axis=1).mean()
    assert summary["score"]["subset_accuracy"] == pytest.approx(right) and right > voted + 0.02
    for name, each, column in zip(names, summary["each"], range(3), strict=True):
        share = truth[:, column].mean()
        nothing = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        assert each["label"] == name and each["score"]["accuracy"] == pytest.approx((found == truth)[:, column].mean())
        assert each["score"]["log_loss"] < 0.6 * nothing and abs(each["share"] - share) < 0.06
    confidence = np.array([float(line[2]) for line in lines[1:]])
    assert 0.5 < confidence.mean() < right + 0.02  # sets are right at least as often as they are said to be
    workers = [line.split("\t") for line in (tmp_path / "w.tsv").read_text().splitlines()]
    assert workers[0][-1] == "question" and [(row[0], row[-1]) for row in workers[1:]] == [
        (f"w{w}", name) for name in names for w in range(5)
    ]


@pytest.mark.parametrize("option", [["--next", "3"], ["--reference", "a*"], ["--suspects", "s.tsv"], ["--ordered"],
                                    ["--pairs"], ["--report", "r"], ["--shards", "2"], ["--model", "mixed"]],
                         ids=str)  # fmt: skip
def test_what_needs_one_class_per_task_is_refused(hutch, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("worker\ttask\tlabel\nann\t1\tcat\n")
    result = hutch("crowd", "labels.tsv", "--multi-label", *option)
    assert result.code == 2 and ("--multi-label" in result.err or "--reference NAME" in result.err)


def test_sets_with_other_signs_and_copies_are_reported(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random, rows = np.random.default_rng(0), []
    for task in range(200):
        truth = random.random(2) < 0.5
        said = (truth == (random.random((6, 2)) < 0.8))[[0, 1, 2, 3, 4, 5, 5, 5]]
        names = [",".join(name for name, yes in zip("ab", row, strict=True) if yes) or "c" for row in said]
        rows += [f"w{w}\tt{task}\t{name}\n" for w, name in enumerate(names)]
    (tmp_path / "x.tsv").write_text("".join(rows))
    assert "'a,b' is taken as one label, although 'a' is another" in hutch("crowd", "x.tsv", "--multi-label").err
    (tmp_path / "x.tsv").write_text("".join(rows).replace(",", "|"))
    done = hutch("crowd", "x.tsv", "--multi-label")
    assert not done.err and "copies               w5, w6, w7\n" in done.out


def test_online_each_label_is_a_stream_of_its_own(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth, votes, text = simulated(4)
    (tmp_path / "labels.tsv").write_text(text)
    result = hutch("crowd", "labels.tsv", "--multi-label", "--method", "online", "-p", "p.tsv")
    assert result.code == 0 and "method               online" in result.out, result.err
    lines = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()[1:]]
    found = np.array([[float(q) > 0.5 for q in line[4:]] for line in lines])
    assert (found == truth).all(axis=1).mean() > (votes == truth).all(axis=1).mean()


def arrays(path):
    """The arrays and the metadata of a saved crowd."""
    found, metadata = load_model(path, kind="crowd")
    return {name: array.tobytes() for name, array in found.items()}, metadata


STREAM = ("--method", "online", "--stream")


@pytest.mark.parametrize("options", [STREAM, STREAM[:2], (*STREAM, "--model", "two_level"), ()],
                         ids=["stream", "online", "two_level", "batch"])  # fmt: skip
def test_a_saved_model_continues_bit_for_bit(hutch, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(label_stream, "CHUNK_BYTES", 3000)
    lines = simulated(5, tasks=800)[2].splitlines(keepends=True)
    (tmp_path / "all").write_text("".join(lines))
    (tmp_path / "first").write_text("".join(lines[: 1 + 5 * 371]))
    (tmp_path / "rest").write_text("".join(lines[:1] + lines[1 + 5 * 371 :]))
    common = ["--multi-label", "--classes", "cat,dog,fox", *options]
    for command in (["all", "-f", "whole"], ["first", "-f", "half"], ["rest", "-i", "half", "-f", "resumed"]):
        result = hutch("crowd", *command, *common[: 1 if "-i" in command and not options[2:] else None])
        assert result.code == 0, result.err
    (whole, about), (resumed, again) = arrays("whole"), arrays("resumed")
    assert about == again and about["classes"] == ["cat", "dog", "fox"]
    if options:
        assert whole == resumed
    else:  # EM over the second half alone, with the counts of the first
        assert whole.keys() == resumed.keys()
    if "--stream" in options:
        hutch("crowd", "all", *common[:3], *(each for each in options if each != "--stream"), "-f", "online")
        assert arrays("online")[0] == whole
    told = yaml.safe_load(hutch("inspect", "whole").out)
    assert {told[name]["usual_worker"]["yes"]["yes"] > 0.6 for name in about["classes"]} == {True}


@pytest.mark.slow
def test_a_stream_knows_as_much_as_the_batch_form(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth, votes, text = simulated(6, tasks=6000)
    (tmp_path / "labels.tsv").write_text(text)
    hutch("crowd", "labels.tsv", "--multi-label", "-p", "batch.tsv")
    common = ["crowd", "labels.tsv", "--multi-label"]
    done = hutch(*common, *STREAM, "-p", "before.tsv", "-f", "model")
    assert "label\tshare\ncat\t0." in done.out and "tasks                6000" in done.out, done.err
    assert hutch(*common, "--stream", "-i", "model", "-t", "-p", "after.tsv").code == 0
    right = {}
    for name in ("batch", "before", "after"):
        lines = [line.split("\t") for line in (tmp_path / f"{name}.tsv").read_text().splitlines()]
        assert lines[0] == ["task", "label", "confidence", "ratings", "q:cat", "q:dog", "q:fox"]
        found = np.array([[float(q) > 0.5 for q in line[4:]] for line in lines[1:]])
        right[name] = (found == truth).all(axis=1)
    voted = (votes == truth).all(axis=1)
    assert right["after"].mean() > right["batch"].mean() - 0.01 > voted.mean() + 0.02
    assert right["before"][2000:].mean() > voted[2000:].mean() + 0.02
    shares = [row["share"] for row in json.loads(hutch(*common, *STREAM, "--json").out)["each"]]
    assert np.allclose(shares, truth.mean(axis=0), atol=0.04)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stream"], "--stream: wanted --method online"),
        ([*STREAM, "--workers", "w"], "--workers: a stream keeps no tasks"),
        ([*STREAM, "--passes", "2", "--classes", "cat,dog"], "--passes: dawid_skene learns a block once"),
        ([*STREAM, "--classes", "cat"], "got label 'dog', wanted one of cat; "),
        (["-i", "plain"], "--multi-label: plain was made without it"),
        (["-i", "sets", "--method", "online"], "--method: got online, but sets was made with batch"),
        (["-t"], "-t: nothing to test with"),
    ],
)
def test_what_a_stream_of_sets_cannot_do(hutch, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("worker\ttask\tlabel\nann\t1\tcat\nann\t2\tdog\n")
    hutch("crowd", "labels.tsv", "-f", "plain")
    hutch("crowd", "labels.tsv", "--multi-label", "-f", "sets")
    result = hutch("crowd", "labels.tsv", "--multi-label", *options)
    assert result.code > 0 and message in result.err
    assert "sets was made with it" in hutch("crowd", "labels.tsv", "-i", "sets").err


@pytest.mark.parametrize("more", [STREAM, ()])
def test_settings_reach_the_model_and_gold_the_stream(hutch, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("worker\ttask\tlabel\nann\t1\tcat\nbob\t1\tdog\n")
    (tmp_path / "gold.tsv").write_text("1\tdog\n")
    options = ["--multi-label", "--method", "online", "--set", "rho=0", *more, "--gold", "gold.tsv", "-p", "p.tsv"]
    assert hutch("crowd", "labels.tsv", *options, "-f", "m").code == 0
    assert arrays("m")[1]["parameters"]["rho"] == 0
    assert (tmp_path / "p.tsv").read_text().splitlines()[1] == "1\tdog\t1\t2\t0\t1"


def test_a_stream_without_labels_is_refused(hutch, tmp_path):
    (tmp_path / "labels.tsv").write_text("")
    result = hutch("crowd", tmp_path / "labels.tsv", "--multi-label", *STREAM, "-f", tmp_path / "m")
    assert result.code == 2 and "has no labels" in result.err


@pytest.mark.parametrize("cell", ["", "[]"])
def test_empty_cells_are_told_in_the_verdict(cell, hutch, tmp_path, monkeypatch):
    """Who ticked nothing said no to all; an empty cell is no answer, and leaves out what is most often right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text(
        f"worker\ttask\tlabel\nann\tt1\tcat\nbob\tt1\t{cell}\nann\tt2\tdog\nbob\tt2\t{cell}\n"
    )
    said = " ".join(hutch("crowd", "a.tsv", "--multi-label", "-p", "p.tsv").out.split())
    assert ("2 empty cells are no answer: write [] where a worker ticked none of the labels." in said) is (cell == "")
