"""`hutch crowd --multi-label`."""

import json

import numpy as np
import pytest


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


@pytest.mark.parametrize("option", [["--next", "3"], ["--stream"], ["--reference", "a*"],
                                    ["-f", "m"], ["--suspects", "s.tsv"], ["--ordered"], ["--pairs"]])  # fmt: skip
def test_what_needs_one_class_per_task_is_refused(hutch, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.tsv").write_text("worker\ttask\tlabel\nann\t1\tcat\n")
    result = hutch("crowd", "labels.tsv", "--multi-label", *option)
    assert result.code == 2 and "--multi-label" in result.err


def test_online_each_label_is_a_stream_of_its_own(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth, votes, text = simulated(4)
    (tmp_path / "labels.tsv").write_text(text)
    result = hutch("crowd", "labels.tsv", "--multi-label", "--method", "online", "-p", "p.tsv")
    assert result.code == 0 and "method               online" in result.out, result.err
    lines = [line.split("\t") for line in (tmp_path / "p.tsv").read_text().splitlines()[1:]]
    found = np.array([[float(q) > 0.5 for q in line[4:]] for line in lines])
    assert (found == truth).all(axis=1).mean() > (votes == truth).all(axis=1).mean()
