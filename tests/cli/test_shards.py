"""`hutch train --shards`."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.vw"
    path.write_text("".join(f"{i % 2 * 2 - 1} |words w{i % 2} n{i % 7} |user u{i % 5}\n" for i in range(400)))
    return path


def test_the_table_the_model_and_the_outcome(hutch, data, tmp_path):
    model = tmp_path / "model"
    done = hutch("train", data, "--shards", 2, "--by", "user", "--passes", 2, "-f", model, "--json")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.err.splitlines()[:3]] == ["pass", "1", "2"]
    outcome = json.loads(done.out)
    assert outcome["shards"] == 2 and outcome["examples"] == 720 and len(outcome["steps"]) == outcome["passes"] == 2
    assert outcome["average_loss"] < 0.5
    again = hutch("train", data, "--shards", 2, "-i", model, "--quiet", "--holdout_off")
    assert again.code == 0 and again.err == ""


def test_with_nothing_held_out_all_passes_are_made_and_the_loss_is_that_in_shards(hutch, data):
    done = hutch("train", data, "--shards", 2, "--passes", 5, "--holdout_off", "--json")
    outcome = json.loads(done.out)
    assert outcome["passes"] == 5 and 0 < outcome["average_loss"] < 0.5
    assert "nan" not in done.err and done.err.endswith("(in shards, in the last pass)\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "user"], "--by: needs --shards N"),
        (["--ray", "auto"], "--ray: needs --shards N"),
        (["--shards", 2, "-p", "out"], "-p: cannot be combined with --shards"),
        (["--shards", 2, "-t"], "-t: cannot be combined with --shards"),
        (["--shards", 2, "--set", "linear.l1=1e-6"], "chain[0].linear: declares no merging"),
        (["--shards", 2, "--by", "a,b,c"], "by: got a, b, c"),
    ],
)
def test_what_makes_no_sense_is_refused(hutch, data, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = hutch("train", data, *options)
    assert done.code == 2 and message in done.err


def test_many_files_are_predicted_into_a_folder_and_not_twice(hutch, data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    model, out = tmp_path / "model", tmp_path / "out"
    assert hutch("train", data, "-f", model, "--quiet").code == 0
    done = hutch("predict", f"{tmp_path}/*.vw", "-i", model, "--into", out, "--json")
    assert done.code == 0 and json.loads(done.out) == {"examples": 400, "files": 1, "made": 1}
    assert done.err == f"{out / 'data.vw.parquet'}: 400 examples\n"
    assert "(done before)" in hutch("predict", data, "-i", model, "--into", out).err
    assert "-p: cannot be combined with --into" in hutch("predict", data, "-i", model, "--into", out, "-p", "x").err
    assert "--ray: needs --into" in hutch("predict", data, "-i", model, "--ray", "auto").err
    assert "--shards: needs --into" in hutch("predict", data, "-i", model, "--shards", "2").err
    again = hutch("predict", f"{tmp_path}/*.vw", "-i", model, "--into", tmp_path / "again", "--shards", "2", "--json")
    assert again.out == done.out
    assert all((tmp_path / "again" / path.name).read_bytes() == path.read_bytes() for path in out.iterdir())
