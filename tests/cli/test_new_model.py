"""`hutch estimate ANSWERS --new MODEL`: a loop by files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Earlier answers in a file, and the answers of a new model."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(150, 1)) + random.normal(size=(150, 2)) @ random.normal(size=(2, 31))
    right = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    with open("answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "subject", *(f"m{k}" for k in range(30))])
        writer.writerows([f"q{k}", ("maths", "law")[k % 2], *right[k, :30].tolist()] for k in range(150))
    return {f"q{k}": int(right[k, 30]) for k in range(150)}


def fill(truth, path="judged.csv", words=("0", "1"), columns=(3,)):
    """Fill in the file as people do."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[1:]:
        for column in columns:
            row[column] = words[truth[row[0]]]
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_a_row_that_is_deleted_is_missed(hutch, made):
    hutch(*COMMAND, "--ask", 40)
    fill(made)
    hutch(*COMMAND, "--ask", 40)
    fill(made)
    with open("judged.csv") as file:
        lines = file.readlines()
    for gone, said in ((5, "judged.csv:2: got 39 rows of round 1"), (50, "got 39 rows of round 2")):
        with open("judged.csv", "w") as file:
            file.writelines(lines[:gone] + lines[gone + 1 :])
        refused = hutch(*COMMAND, "--ask", 0)
        assert refused.code == 1 and said in refused.err, refused.err
        assert "but the chances are those of 40: wanted all that were drawn; leave unknown answers empty" in refused.err
    with open("judged.csv", "w") as file:
        file.writelines(lines)
    assert hutch(*COMMAND, "--ask", 0).code == 0


def test_a_spreadsheet_with_decimal_commas(hutch, made):
    hutch(*COMMAND, "--ask", 12)
    fill(made, words=("0.25", "1"))
    wanted = hutch(*COMMAND, "--ask", 0, "--json").out
    text = Path("judged.csv").read_text()
    Path("judged.csv").write_text(text.replace(",", ";").replace(".", ","), "utf-8-sig")
    assert hutch(*COMMAND, "--ask", 0, "--json").out == wanted


def test_questions_without_a_group_are_counted(hutch, made):
    text = Path("answers.csv").read_text().replace("q3,law,", "q3,,").replace("q5,law,", "q5,,")
    Path("answers.csv").write_text(text)
    found = hutch(*COMMAND, "--ask", 12)
    assert [line.split()[-1] for line in found.out.splitlines() if line.startswith("(none)")] == ["2"]


COMMAND = ("estimate", "answers.csv", "--new", "mine", "--by", "subject")


def test_the_loop(hutch, made):
    first = hutch(*COMMAND, "--ask", 12)
    assert first.code == 0 and "12 questions wait for an answer: fill in mine in judged.csv" in " ".join(
        first.out.split()
    )
    with open("judged.csv") as file:
        before = file.read()
    assert before.startswith("question,round,chance,mine\n") and len(before.splitlines()) == 13
    again = hutch(*COMMAND, "--ask", 12)
    with open("judged.csv") as file:
        assert file.read() == before and again.out == first.out
    fill(made, words=("no", "Yes"))
    second = json.loads(hutch(*COMMAND, "--ask", 12, "--json").out)
    assert (second["judged"], second["waiting"], len(second["next_questions"])) == (12, 12, 12)
    fill(made)
    found = hutch(*COMMAND, "--ask", 0)
    lines = found.out.splitlines()
    assert "judged               24" in lines and "waiting              0" in lines
    assert [line.split()[0] for line in lines[6:10]] == ["group", "(all)", "maths", "law"]
    assert "from 24 of 150 questions: worth " in " ".join(lines) and "Next:" not in found.out
    whole = json.loads(hutch(*COMMAND, "--ask", 0, "--json").out)
    row = whole["estimates"][0]
    assert row["low"] < np.mean([*made.values()]) < row["high"]
    assert whole["verdict"][0].startswith(row["shown"]) and whole["next_command"] is None


def test_width_stops_the_draws(hutch, made):
    hutch(*COMMAND, "--ask", 60)
    fill(made)
    found = hutch(*COMMAND, "--width", 0.4, "--json")
    assert "judge no more" in json.loads(found.out)["verdict"][1] and json.loads(found.out)["waiting"] == 0
    on = json.loads(hutch(*COMMAND, "--width", 0.01, "--anytime", "--json").out)
    assert on["waiting"] == 30 and on["next_command"]
    once = json.loads(hutch(*COMMAND, "--ask", 0, "--json").out)["estimates"][0]
    always = on["estimates"][0]
    assert always["high"] - always["low"] > once["high"] - once["low"]


def test_differences_and_several_models(hutch, made):
    words = ("estimate", "answers.csv", "--new", "a", "--new", "b", "--by", "subject", "--judged", "both.csv")
    hutch(*words)
    fill(made, "both.csv", columns=(3, 4))
    found = json.loads(hutch(*words, "--against", "b", "--ask", 0, "--json").out)
    assert (
        found["verdict"][0].startswith("Cannot tell whether a or b is better")
        and found["estimates"][0]["estimate"] == 0
    )
    both = hutch(*words, "--ask", 0).out
    assert [line.split()[:2] for line in both.splitlines()[7:13]] == [
        [model, group] for model in "ab" for group in ("(all)", "maths", "law")
    ]
    old = json.loads(hutch(*words, "--against", "m3", "--ask", 0, "--json").out)
    assert {row["model"] for row in old["estimates"]} == {"a", "b"} and "m3" in old["verdict"][0]


def test_a_judges_answers_checked_by_people(hutch, made):
    words = (*COMMAND, "--check", 0.25, "--ask", 40)
    first = hutch(*words)
    assert "10 checks by people are missing: fill in mine by people." in " ".join(first.out.split())
    with open("judged.csv", newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[1:]:
        row[3] = "1"  # this judge passes everything
    with open("judged.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    waiting = json.loads(hutch(*words, "--json").out)
    assert (waiting["judged"], waiting["waiting"], waiting["checks_waiting"]) == (40, 0, 10)
    assert (waiting["estimates"][0]["low"], waiting["estimates"][0]["high"]) == (0, 1)
    for row in rows[1:]:
        row[4] = row[4] or str(made[row[0]])
    with open("judged.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = json.loads(hutch(*words, "--json").out)
    assert found["checks_by_people"] == 10 and found["waiting"] == 40
    assert found["estimates"][0]["low"] < np.mean([*made.values()]) < found["estimates"][0]["high"] < 0.95


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--of", "mean"), "--of: cannot be combined with --new"),
        (("--noisy",), "--noisy: cannot be combined with --new"),
        (("--store", "x.db"), "--store: cannot be combined with --new"),
        (("--width", "2"), "--width: got 2, wanted a number between 0 and 1"),
        (("--check", "20"), "--check: got 20, wanted a number from 0 to 1"),
        (("--against", "mine"), "--against: got 'mine', the new model, wanted another one"),
        (("--against", "m33"), "no model is 'm33'"),
        (("--judged", "answers.csv"), "--judged: got answers.csv, the file of the earlier answers"),
        (("--new", "m3"), "'m3' is a model of the earlier answers"),
        (("--new", "mine"), "wanted different names"),
        (("--new", " "), "new: got an empty name"),
        (("--confidence", "95"), "--confidence: got 95"),
        (("--ask", "-1"), "--ask"),
    ],
)
def test_a_wrong_command(hutch, made, words, said):
    found = hutch(*COMMAND, *words)
    assert found.code == 2 and said in found.err and not found.out
    assert not Path("judged.csv").exists()


def test_options_that_need_a_new_model(hutch, made):
    for words, said in ((("--judged", "x"), "--judged: wanted --new MODEL beside it"), ((), "--of: missing")):
        found = hutch("estimate", "answers.csv", *words)
        assert found.code == 2 and said in found.err


def test_wrong_places_in_files(hutch, made):
    hutch(*COMMAND)
    with open("judged.csv") as file:
        text = file.read()
    for change, said in (
        (text.replace(",\n", ",2\n", 1), "judged.csv:2:4: got '2', wanted a number from 0 to 1"),
        (text.replace("\nq", "\nx", 1), "judged.csv:2:1: no question is"),
        (text.replace("mine", "other"), "judged.csv:1:4: got columns of other, wanted mine"),
        ("", "judged.csv:1:1: got the columns , wanted question,round,chance"),
    ):
        with open("judged.csv", "w") as file:
            file.write(change)
        found = hutch(*COMMAND)
        assert found.code == 1 and said in found.err, found.err
        with open("judged.csv") as file:
            assert file.read() == change, "a file that is wrong stays as it is"
    assert hutch("estimate", "nothing.csv", "--new", "mine").code == 1
    found = hutch("estimate", "answers.csv", "--new", "mine")
    assert found.code == 1 and "judged.csv:1:1" in found.err
    plain = hutch("estimate", "answers.csv", "--new", "mine", "--judged", "other.csv")
    assert plain.code == 0 and plain.out.startswith("not read             subject: words")
