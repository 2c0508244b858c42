"""`hutch estimate`."""

import json

import numpy as np
import pytest


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 400)
    people, judges = tmp_path / "people.tsv", tmp_path / "judges.tsv"
    people.write_text("".join(f"ann\tt{i}\t{truth[i]}\n" for i in range(80)))
    judges.write_text("".join(
        f"{name}\tt{i}\t{truth[i] if random.random() < right else 1 - truth[i]}\n"
        for name, right in (("gpt", 0.95), ("llama", 0.7)) for i in range(400)
    ))  # fmt: skip
    return people, judges, truth


@pytest.mark.parametrize(
    ("question", "wanted"),
    [(["--rate", "1"], 0.5), (["--mean"], 0.5), (["--accuracy", "gpt"], 0.95), (["--difference", "gpt,llama"], 0.25)],
)
def test_questions(hutch, files, question, wanted):
    people, judges, _ = files
    result = hutch("estimate", people, "--judges", judges, *question, "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["low"] - 0.05 < wanted < found["high"] + 0.05
    assert (found["items"], found["judges"]) == (400, 2)
    always = json.loads(hutch("estimate", people, "--judges", judges, *question, "--anytime", "--json").out)
    assert always["low"] < found["low"] and always["high"] > found["high"]


def test_judges_are_worth_labels(hutch, files):
    people, judges, truth = files
    found = json.loads(hutch("estimate", people, "--judges", judges, "--left", "1", "--json").out)
    assert found["low"] <= truth[80:].sum() <= found["high"] and found["worth_labels"] > 160
    alone = json.loads(hutch("estimate", people, "--rate", "1", "--items", 400, "--json").out)
    assert alone["estimate"] == pytest.approx(truth[:80].mean()) and alone["worth_labels"] == pytest.approx(80)
    assert "people alone low" in hutch("estimate", people, "--rate", "1", "--items", 400).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "got none, wanted one of --rate, --mean"),
        (["--mean", "--rate", "1"], "got --rate and --mean, wanted one of"),
        (["--rate", "2"], "no class is '2'"),
        (["--accuracy", "gpt"], "--accuracy: wanted --judges FILE"),
        (["--rate", "1", "--confidence", "95"], "--confidence: got 95, wanted a number between 0 and 1"),
        (["--rate", "1", "--noisy"], "--noisy: got 1.00 labels per item"),
    ],
)
def test_what_cannot_be_asked(hutch, files, options, message):
    result = hutch("estimate", files[0], *options)
    assert result.code == 2 and message in result.err


def test_a_difference_has_two_judges(hutch, files):
    result = hutch("estimate", files[0], "--judges", files[1], "--difference", "gpt")
    assert result.code == 2 and "wanted two judges, A,B" in result.err
