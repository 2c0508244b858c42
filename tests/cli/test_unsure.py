"""`--unsure` and `--classes`: a label that is no answer is no class; one that is no class is refused with its place."""

import json

import pytest
from typer.testing import CliRunner

from hutch.core.errors import DataError, HutchError, UsageError
from hutch.crowd.cli.crowd import crowd
from hutch.crowd.data.asked import ColumnNames
from hutch.estimate.files import read_items
from hutch.label.votes import read_votes
from hutch.shell.declared import as_app

app = as_app(crowd, "crowd")


def invoke(*args):
    """stdout and stderr of the command; a HutchError is raised as it is."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if isinstance(result.exception, HutchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def answer(worker, task, word):
    """Three of four workers are right; one in three of the first worker's answers is the word."""
    if worker == 0 and task % 3 == 0:
        return word
    return "yes" if (task % 2 == 0) != (worker == task % 5) else "no"


@pytest.fixture
def data(tmp_path):
    def written(word="Not sure", header="worker,task,label"):
        rows = [f"w{worker},t{task},{answer(worker, task, word)}" for task in range(40) for worker in range(4)]
        path = tmp_path / "votes.csv"
        path.write_text("\n".join([header, *rows]) + "\n")
        return path

    return written


def classes_of(*args):
    found = json.loads(invoke(*args, "--json")[0])
    return found["class_names"], found.get("unsure", {}).get("counts", {}), found["left_out"]


def test_usual_words_are_found(data):
    out, err = invoke(data())
    assert "unsure               14 labels of 'Not sure' are taken as missing" in out
    assert "left out: 14 of 'Not sure', which is no answer (first: line 2)" in err
    assert "'Not sure' is no class, unless --classes names it as one" in err
    assert classes_of(data()) == (["no", "yes"], {"Not sure": 14}, 14)


@pytest.mark.parametrize("more", [["--unsure", "skip"], ["--columns", "unsure=skip"]])
def test_any_word_is_named(data, more):
    assert classes_of(data("skip"))[0] == ["no", "skip", "yes"]
    assert classes_of(data("skip"), *more) == (["no", "yes"], {"skip": 14}, 14)
    assert "unless --classes" not in invoke(data("skip"), *more)[1]


def test_it_may_be_repeated_and_must_exist(data):
    path = data("skip")
    path.write_text(path.read_text().replace("w0,t0,skip", "w0,t0,?"))
    assert classes_of(path, "--unsure", "skip", "--unsure", "?")[1] == {"?": 1, "skip": 13}
    with pytest.raises(DataError, match="unsure: no label is 'skp'; did you mean 'skip'"):
        invoke(path, "--unsure", "skp")


def test_classes_make_it_one(data):
    assert classes_of(data(), "--classes", "yes,no,Not sure") == (["yes", "no", "Not sure"], {}, 0)
    with pytest.raises(UsageError, match="--unsure: got 'no', which --classes names as a class"):
        invoke(data(), "--classes", "yes,no", "--unsure", "no")


@pytest.mark.parametrize("more", [[], ["--method", "online", "--stream"], ["--method", "online"]])
def test_a_label_that_is_no_class_is_refused_with_its_place(data, more):
    wanted = "votes.csv:2:7: got the label 'skip', wanted one of --classes no,yes; --unsure 'skip' leaves it out"
    with pytest.raises(DataError, match=wanted):
        invoke(data("skip"), "--classes", "no,yes", *more)
    assert classes_of(data(), "--classes", "no,yes", *more)[1] == {"Not sure": 14}


def test_a_wide_table_and_records_tell_the_place(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("item,ann,bob\n1,yes,no\n2,yes,skip\n3,no,no\n")
    with pytest.raises(DataError, match="wide.csv:3:7: got the label 'skip'"):
        invoke(wide, "--classes", "no,yes")
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{"worker": "ann", "task": "1", "label": each} for each in ("yes", "skip")]))
    with pytest.raises(DataError, match="records.json: record 2: got the label 'skip'"):
        invoke(records, "--classes", "no,yes")


@pytest.mark.parametrize("option", ["--gold", "--score"])
def test_a_true_class_is_a_class(data, tmp_path, option):
    gold = tmp_path / "gold.tsv"
    gold.write_text("t0\tNot sure\nt1\tno\nt2\tyes\n")
    assert "Not sure" in classes_of(data(), option, gold)[0]
    names, counts, _ = classes_of(data(), option, gold, "--unsure", "Not sure")
    assert names == ["no", "yes"] and counts == {"Not sure": 14}
    assert (
        f"{gold}: left out: 1 of 'Not sure', which is no answer"
        in invoke(data(), option, gold, "--unsure", "Not sure")[1]
    )
    gold.write_text("t0\tno\nt1\tmaybe\n")
    with pytest.raises(DataError, match=r"gold.tsv:2: got the label 'maybe', wanted one of --classes no,yes"):
        invoke(data(), option, gold, "--classes", "no,yes")


def test_gold_in_the_table_is_a_class(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("worker,task,label,gold\nann,1,unsure,unsure\nbob,1,yes,unsure\nann,2,no,\nbob,2,no,\n")
    assert classes_of(path)[0] == ["no", "unsure", "yes"]


@pytest.mark.parametrize("more", [["--multi-label"], ["--method", "online"], ["--method", "online", "--stream"]])
def test_every_way_takes_it_as_missing(data, more):
    out, _ = invoke(data(), *more)
    assert "14 labels of 'Not sure' are taken as missing" in out
    assert "Not sure\t" not in out


def test_several_questions(tmp_path):
    rows = ["worker,task,question,label"]
    for task in range(30):
        for worker in range(3):
            rows += [f"w{worker},t{task},{ask},{answer(worker, task, 'unsure')}" for ask in ("safe", "kind")]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(rows) + "\n")
    found = json.loads(invoke(path, "--json")[0])
    assert found["unsure"] == {"counts": {"unsure": 20}, "how": "missing"}
    assert [row["class_names"] for row in found["each"]] == [["no", "yes"]] * 2


def test_a_task_that_nobody_knows_has_no_label(data, tmp_path):
    path = data()
    path.write_text(path.read_text() + "w0,t99,idk\nw1,t99,unsure\n")
    invoke(path, "-p", tmp_path / "p.tsv")
    row = (tmp_path / "p.tsv").read_text().splitlines()[-1].split("\t")
    assert (row[0], row[3]) == ("t99", "0")


def test_votes_on_pairs_have_no_such_word(data):
    with pytest.raises(UsageError, match="--unsure: cannot be combined with --pairs"):
        invoke(data(), "--pairs", "--unsure", "x")


def test_hutch_label_refuses_such_a_word_until_it_is_left_out(data):
    path = str(data())
    with pytest.raises(DataError, match="got the label 'Not sure', wanted a class: --columns unsure='Not sure' leaves"):
        read_votes(path)
    assert read_votes(path, ColumnNames(unsure=("Not sure",))).names[2] == ["no", "yes"]
    assert "Not sure" in read_votes(path, ColumnNames().keeping(["Not sure"])).names[2]


def test_hutch_estimate_counts_it_as_any_label(tmp_path):
    people = tmp_path / "people.tsv"
    people.write_text("".join(f"ann\tt{i}\t{('yes', 'no', 'unsure')[i % 3]}\n" for i in range(30)))
    assert "unsure" in read_items(people).classes
    assert "unsure" not in read_items(people, columns=ColumnNames(unsure=("unsure",))).classes
