"""Tables as they come, in all commands that read labels."""

import csv
import json

import pytest

PEOPLE = ("ann", "bob", "cy")


def answer(worker, item, classes=("neg", "neu", "pos")):
    """Three of four answers are that of the item."""
    return classes[(item + (worker == item % 4)) % len(classes)]


@pytest.fixture
def table(tmp_path):
    def write(name, *rows):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        return tmp_path / name

    return write


def read(path):
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t"))


@pytest.fixture
def rubric(table):
    rows = [[w, f"i{i}", answer(k, i), answer(k, i + 1, ("1", "2"))] for i in range(40) for k, w in enumerate(PEOPLE)]
    return table("rubric.csv", ["rater", "item", "helpful", "honest"], *rows)


COLUMNS = ("--columns", "worker=rater,task=item,label=h*")


def test_rows_are_items_and_the_summary_says_so(hutch, table, tmp_path):
    path = table("wide.csv", ["velvet", "ladder", "kettle"], *([answer(w, i) for w in range(3)] for i in range(50)))
    done = hutch("crowd", path, "-p", tmp_path / "p.tsv")
    told = "3 raters in columns velvet, ladder, kettle, 50 items in rows; no ids"
    assert done.code == 0 and f"read as              {told}\n" in done.out
    rows = read(tmp_path / "p.tsv")
    assert [row["task"] for row in rows] == [str(number) for number in range(1, 51)]
    assert json.loads(hutch("crowd", path, "--json").out)["read_as"] == told


def test_every_question_has_its_result(hutch, rubric, tmp_path):
    done = hutch("crowd", rubric, *COLUMNS, "-p", tmp_path / "p.tsv", "--workers", tmp_path / "w.tsv", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [row["question"] for row in found["each"]] == ["helpful", "honest"]
    assert [row["tasks"] for row in found["each"]] == [40, 40] and found["questions"] == 2
    rows = read(tmp_path / "p.tsv")
    assert [row["question"] for row in rows] == ["helpful"] * 40 + ["honest"] * 40
    assert rows[0]["q:1"] == "" and rows[40]["q:neg"] == "" and float(rows[0]["q:neg"]) > 0
    right = [row["label"] == answer(9, int(row["task"][1:])) for row in rows[:40]]
    assert sum(right) >= 38
    workers = read(tmp_path / "w.tsv")
    assert [(row["worker"], row["question"]) for row in workers] == [
        (w, q) for q in ("helpful", "honest") for w in PEOPLE
    ]
    assert workers[0]["c:1:1"] == "" and workers[3]["c:1:1"] != ""
    assert "question\ttasks" in hutch("crowd", rubric, *COLUMNS).out


@pytest.mark.parametrize("option", [("--next", 3), ("-f", "model"), ("--report", "-")])
def test_what_needs_one_question_is_refused(hutch, rubric, option):
    done = hutch("crowd", rubric, *COLUMNS, *option)
    assert done.code == 2 and "cannot be combined with several questions (helpful, honest)" in done.err


def test_several_ways_are_refused_with_commands_that_work(hutch, rubric):
    done = hutch("crowd", rubric)
    ways = [line.split() for line in done.err.splitlines() if line.startswith("  hutch crowd ")]
    assert done.code == 1 and len(ways) == 3
    assert [hutch(*way[1:], "--quiet").code for way in ways] == [0, 0, 0]


def test_judges_and_estimates_know_questions_and_columns(hutch, rubric):
    done = hutch("judges", rubric, *COLUMNS, "--reference", "ann", "--json", "--quiet")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [*found["questions"]] == ["helpful", "honest"] and "2 questions" in found["read_as"][0]
    done = hutch("estimate", rubric, *COLUMNS, "--reference", "ann", "--of", "accuracy=bob", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["questions"]
    same = sum(answer(0, i) == answer(1, i) for i in range(40)) / 40
    assert found["helpful"]["estimate"] == pytest.approx(same)
    text = hutch("estimate", rubric, *COLUMNS, "--reference", "ann", "--of", "accuracy=bob").out
    assert text.count("read as ") == 2 and "asked                honest\n" in text


def test_a_judge_beside_a_sparse_column_of_people(hutch, table):
    rows = [[f"q{i}", i % 2, (i + i % 3 // 2) % 2 if i < 60 else ""] for i in range(400)]
    path = table("runs.csv", ["example_id", "judge_passed", "human_passed"], *rows)
    done = hutch("estimate", path, "--reference", "human_passed", "--of", "accuracy=judge_passed", "--json")
    found = json.loads(done.out)
    assert (found["labels"], found["items"]) == (60, 400) and found["people_only"] == pytest.approx(2 / 3)
    assert "truth is known for 60" in hutch("judges", path, "--reference", "human_passed").out


def test_votes_of_hutch_label_have_columns(hutch, table, tmp_path):
    items = table("items.csv", ["id"], *([f"i{i}"] for i in range(40)))
    table("judge.csv", ["velvet", "item", "helpful"], *(["gpt", f"i{i}", "yes" if i % 3 else "no"] for i in range(40)))
    table("ann.csv", ["velvet", "item", "helpful"], *(["ann", f"i{i}", "yes" if i % 3 else "no"] for i in range(40)))
    judge, people = tmp_path / "judge.csv", tmp_path / "ann.csv"
    who = tmp_path / "who.yaml"
    who.write_text(f"j: {{kind: judge, price: 0.1, votes: {judge}}}\np: {{kind: person, price: 1, votes: {people}}}\n")
    ask = ("label", items, "--who", who, "--store", tmp_path / "s.db", "--plan", "--json")
    columns = "worker=velvet,task=item,label=helpful"
    done = hutch(*ask, "--columns", columns)
    assert done.code == 0, done.err
    assert json.loads(done.out)["read_as"][str(judge)] == "worker 'velvet', task 'item', label 'helpful'"
    done = hutch(*ask, "--columns", columns.replace("helpful", "helpfull"))
    assert done.code == 1 and "no column 'helpfull' for the label; did you mean 'helpful'" in done.err


@pytest.mark.slow
def test_a_stream_says_of_tasks_that_come_back(hutch, table):
    rows = [[w, f"task-number-{i}", answer(k, i)] for k, w in enumerate(PEOPLE) for i in range(20000)]
    path = table("by_worker.csv", ["worker", "task", "label"], *rows)
    options = ("--method", "online", "--stream", "--quiet", "--json")
    done = hutch("crowd", path, *options, "--model", "nominal")
    assert "got labels of task 'task-number-" in done.err and "takes them as another task" in done.err
    assert json.loads(done.out)["split_tasks"] > 1000
    done = hutch("crowd", path, *options)
    assert json.loads(done.out)["tasks"] == json.loads(done.out)["open_tasks"] == 20000 and not done.err
    done = hutch("crowd", path, "--method", "online", "--quiet", "--json")
    assert json.loads(done.out)["tasks"] == 20000 and "task-number" not in done.err


def test_players_that_were_never_compared_are_said(hutch, table):
    votes = [["u", *sides, "left"] for sides in ("ab", "ba", "xy")] * 4
    path = table("votes.csv", ["worker", "left", "right", "winner"], *votes)
    done = hutch("crowd", path, "--pairs")
    assert "never compared" in done.err and "a against x would join them" in done.err
    assert "never compared with those above" in done.out
    found = json.loads(hutch("crowd", path, "--pairs", "--json").out)
    assert found["bridges"] == [{"left": "a", "right": "x"}] and found["strengths"][2]["group"] == 2
    assert found["read_as"] == "worker 'worker', left 'left', right 'right', winner 'winner'"


def test_labels_that_are_lists_are_read_from_cells_and_shown(hutch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.yaml").write_text(
        "chain: [{multilabel_one_against_all: {classes: 3}}, linear]\nweights: {bits: 10}\n"
    )
    (tmp_path / "a.csv").write_text('label,word\n"0,2",a\n1,b\n,c\n')
    found = hutch("train", "a.csv", "-C", "chain.yaml", "-f", "model", "-P", "1")
    shown = [line.split()[4] for line in found.err.splitlines() if line[:1].isdigit()]
    assert found.code == 0 and shown == ["0,2", "1", "unknown"], found.err
    (tmp_path / "b.csv").write_text("word\na\nb\n")
    assert hutch("predict", "b.csv", "-i", "model", "-p", "out").code == 0
    (tmp_path / "a.csv").write_text("label,word\n0;2,a\n")
    refused = hutch("train", "a.csv", "-C", "chain.yaml")
    assert (
        refused.code == 1 and "a.csv:2: column 'label' (label): got '0;2', wanted classes such as [0, 2]" in refused.err
    )
