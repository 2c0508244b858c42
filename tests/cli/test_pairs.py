"""`hutch crowd --pairs`."""

import json

import pytest

VOTES = "worker\tleft\tright\twinner\ttopic\n" + "".join(
    f"{worker}\t{left}\t{right}\t{winner}\t{topic}\n"
    for worker, left, right, winner, topic in [
        ("ann", "x", "y", "left", "code"), ("bob", "y", "x", "right", "prose"), ("ann", "y", "z", "tie", "code"),
        ("bob", "x", "z", "x", "prose"), ("cy", "z", "y", "left", "code"),
    ] * 6
)  # fmt: skip


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.tsv"
    path.write_text(VOTES)
    return path


def test_batch(hutch, votes, tmp_path):
    strengths, workers = tmp_path / "strengths.tsv", tmp_path / "workers.tsv"
    result = hutch(
        "crowd", votes, "--pairs", "-p", strengths, "--workers", workers, "--next", 2, "--score", votes, "--json"
    )
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert (found["model"], found["votes"], found["features"]) == ("hierarchical", 30, ["topic"])
    assert found["strengths"][0]["player"] == "x" and len(found["next"]) == 2
    assert found["score"]["log_loss"] < 1
    assert strengths.read_text().splitlines()[1].startswith("x\t")
    assert {line.split("\t")[0] for line in workers.read_text().splitlines()[1:]} == {"ann", "bob", "cy"}


def test_people_read_a_table(hutch, votes):
    result = hutch("crowd", votes, "--pairs", "--features", "", "--next", 1)
    assert result.code == 0, result.err
    assert "features             none\n" in result.out and "player  strength  95 % interval" in result.out
    assert "ask next\n" in result.out


def test_a_stream_goes_on_where_it_was(hutch, votes, tmp_path):
    header, *lines = VOTES.splitlines(keepends=True)
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text(header + "".join(lines[:11]))
    second.write_text(header + "".join(lines[11:]))
    model, whole = tmp_path / "m", tmp_path / "whole"
    online = ("--pairs", "--method", "online", "--json")
    assert hutch("crowd", first, *online, "-f", model).code == 0
    parts = json.loads(hutch("crowd", second, *online, "-i", model, "-f", model).out)
    everything = json.loads(hutch("crowd", votes, *online, "-f", whole).out)
    assert parts["strengths"] == everything["strengths"]
    scored = hutch("crowd", votes, "--pairs", "-i", model, "-t", "--json")
    assert json.loads(scored.out)["log_loss"] < 1.1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--gold", "g.tsv"], 2, "--gold: cannot be combined with --pairs"),
        (["--reference", "ann"], 2, "--reference: cannot be combined with --pairs"),
        (["--model", "two_level"], 2, "no pairs model 'two_level'"),
        (["--method", "onlin"], 2, "did you mean 'online'?"),
        (["--features", "topik"], 2, "did you mean 'topic'?"),
        (["-t"], 2, "-t: nothing to test with"),
        (["-p", "-", "--workers", "-"], 2, "wanted a file for one"),
        (["--model", "davidson", "--workers", "w.tsv"], 2, "treats all workers alike"),
    ],
)
def test_what_does_not_go(hutch, votes, tmp_path, monkeypatch, options, code, message):
    monkeypatch.chdir(tmp_path)
    result = hutch("crowd", votes, "--pairs", *options)
    assert result.code == code and message in result.err


def test_a_model_of_another_kind(hutch, votes, tmp_path):
    labels = tmp_path / "labels.tsv"
    labels.write_text("ann\tt1\tcat\nbob\tt1\tdog\n")
    assert hutch("crowd", labels, "-f", tmp_path / "m", "--quiet").code == 0
    result = hutch("crowd", votes, "--pairs", "-i", tmp_path / "m", "-t")
    assert result.code == 1 and "got a crowd model, wanted a model of pairs" in result.err
    assert hutch("crowd", votes, "--pairs", "-f", tmp_path / "p").code == 0
    result = hutch("crowd", votes, "--pairs", "-i", tmp_path / "p")
    assert result.code == 2 and "batch fits all votes at once" in result.err
    assert hutch("crowd", labels, "--features", "a").code == 2


def test_blank_votes_are_reported_and_counted(hutch, tmp_path):
    (tmp_path / "votes.csv").write_bytes(
        "quién,left,right,winner\nJosé,x,y,left\nJosé,x,y,\nann,y,x,N/A\n".encode("cp1252")
    )
    result = hutch(
        "crowd", tmp_path / "votes.csv", "--pairs", "--encoding", "cp1252", "--columns", "worker=quién", "--json"
    )
    assert result.code == 0 and "left out: 2 without a side or a winner (first: line 3)" in result.err
    found = json.loads(result.out)
    assert (found["votes"], found["left_out"], found["workers"]) == (1, 2, 1)
    assert hutch("crowd", tmp_path / "votes.csv", "--pairs").code == 1
