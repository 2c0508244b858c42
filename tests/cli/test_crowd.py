import csv
import json
import re
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.core.chain.model_file import load_model
from hutch.core.errors import ConfigError, DataError, HutchError, ModelError, UsageError
from hutch.crowd.cli.crowd import crowd
from hutch.crowd.simulate import simulate
from hutch.shell.declared import as_app

app = as_app(crowd, "crowd")


def invoke(*args):
    """stdout of the command; a HutchError is raised as it is."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if isinstance(result.exception, HutchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def write(path, labels, begin=0, end=None):
    lines = zip(labels.workers, labels.label_items, labels.labels, strict=True)
    end = labels.items if end is None else end
    path.write_text("".join(f"w{w}\tt{i}\tc{c}\n" for w, i, c in lines if begin <= i < end))
    return path


@pytest.fixture(scope="module")
def simulated():
    return simulate(300, 20, 3, 4, seed=5)


@pytest.fixture
def data(tmp_path, simulated):
    (tmp_path / "gold.tsv").write_text("".join(f"t{i}\tc{k}\n" for i, k in enumerate(simulated.truth.tolist())))
    return write(tmp_path / "labels.tsv", simulated.labels)


def test_json_has_its_keys(data, simulated):
    out, _ = invoke(data, "--json")
    found = json.loads(out)
    assert (found["tasks"], found["classes"], found["labels"]) == (300, 3, len(simulated.labels))
    assert {"workers", "iterations", "objective", "krippendorff_alpha", "duplicates", "contradictions"} <= set(found)


def test_summary_is_for_people(data, tmp_path):
    out, _ = invoke(data, "--score", tmp_path / "gold.tsv", "--next", 3)
    assert "krippendorff alpha" in out
    assert "label next:" in out
    assert float(next(line.split()[1] for line in out.splitlines() if line.startswith("accuracy"))) > 0.85


def test_the_output_ends_in_a_verdict(hutch, data, tmp_path):
    out = hutch("crowd", data).out
    assert "Majority voting is right on an estimated" in " ".join(out.split())
    assert out.splitlines()[-1].startswith("Next: ") or "Next: " in out
    found = json.loads(hutch("crowd", data, "--json").out)
    assert " ".join(found["verdict"]) in " ".join(out.split())
    assert len(found["verdict"]) <= 3
    assert all(sentence.endswith(".") for sentence in found["verdict"])
    assert found["next_command"].startswith(f"hutch crowd {data} --")


def test_the_next_command_runs(hutch, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, seen = f"hutch crowd {data}", set()
    while command and command not in seen:
        seen.add(command)
        result = hutch(*shlex.split(command)[1:], "--json")
        assert result.code == 0, result.err
        command = json.loads(result.out)["next_command"]
    assert not command
    assert len(seen) > 1


def test_known_classes_are_measured(hutch, data, tmp_path):
    scored = json.loads(hutch("crowd", data, "--score", tmp_path / "gold.tsv", "--json").out)
    right = f"On the 300 tasks whose class is known, Hutch is right on {100 * scored['score']['accuracy']:.0f} %"
    assert scored["verdict"][0].startswith(right)
    gold = json.loads(hutch("crowd", data, "--gold", tmp_path / "gold.tsv", "--json").out)
    assert gold["verdict"][0].startswith("On the 300 tasks whose class is known")
    assert "100 %" not in gold["verdict"][0]


def test_files_have_their_columns(data, tmp_path):
    invoke(data, "-p", tmp_path / "p.tsv", "--workers", tmp_path / "w.tsv", "--gold", tmp_path / "gold.tsv")
    posteriors = list(csv.DictReader((tmp_path / "p.tsv").read_text().splitlines(), delimiter="\t"))
    assert list(posteriors[0]) == ["task", "label", "confidence", "ratings", "q:c0", "q:c1", "q:c2"]
    assert len(posteriors) == 300
    for row in posteriors:
        q = [float(row[f"q:c{k}"]) for k in range(3)]
        assert sum(q) == pytest.approx(1, abs=1e-4)
        assert float(row["confidence"]) == max(q)
        assert row["label"] == f"c{np.argmax(q)}"
    workers = list(csv.DictReader((tmp_path / "w.tsv").read_text().splitlines(), delimiter="\t"))
    assert list(workers[0])[:5] == ["worker", "labels", "accuracy", "spam", "c:c0:c0"]
    assert sum(int(row["labels"]) for row in workers) == sum(int(row["ratings"]) for row in posteriors)
    assert all(row["gold_labels"] == row["labels"] for row in workers)


@pytest.mark.parametrize("options", [["-p", "-"], ["--workers", "-"], ["-p", "-", "--method", "online", "--stream"]])
def test_a_report_may_be_standard_output(data, options):
    out, err = invoke(data, *options, "--quiet")
    table = out.splitlines()
    assert table[0].split("\t")[0] in ("task", "worker") and len({line.count("\t") for line in table}) == 1
    assert "two_level" in err


def test_names_cannot_break_the_table(tmp_path):
    (tmp_path / "labels.csv").write_text('"a\tb","t\n1",x\n')
    invoke(tmp_path / "labels.csv", "-p", tmp_path / "p.tsv", "--workers", tmp_path / "w.tsv")
    assert (tmp_path / "p.tsv").read_text().splitlines()[1].split("\t")[:2] == ["t 1", "x"]
    assert (tmp_path / "w.tsv").read_text().splitlines()[1].startswith("a b\t1\t")


@pytest.mark.parametrize("model", ["two_level", "nominal"])
def test_online_continues_exactly(data, tmp_path, simulated, model):
    options = ["--method", "online", "--model", model, "--slots", 256, "--json"]
    parts = write(tmp_path / "a.tsv", simulated.labels, 0, 200), write(tmp_path / "b.tsv", simulated.labels, 200)
    invoke(data, *options, "-f", tmp_path / "whole")
    invoke(parts[0], *options, "-f", tmp_path / "first", "--classes", "c0,c1,c2")
    invoke(parts[1], "-i", tmp_path / "first", "-f", tmp_path / "second")
    (whole, once), (second, twice) = (load_model(tmp_path / name, kind="crowd") for name in ("whole", "second"))
    assert once == twice
    assert whole.keys() == second.keys()
    assert all(np.array_equal(array, second[name]) for name, array in whole.items())


def test_online_prints_the_table_on_stderr(data):
    out, err = invoke(data, "--method", "online", "--json")
    counters = [line.split()[2] for line in err.splitlines()[2:]]
    assert counters == ["2", "5", "10", "19", "36", "69", "134", "263", "300"]
    assert json.loads(out)["method"] == "online"
    assert invoke(data, "--method", "online", "--json", "--quiet")[1] == ""


def test_testing_uses_the_saved_model_and_ignores_new_classes(data, tmp_path):
    invoke(data, "-f", tmp_path / "model")
    (tmp_path / "new.tsv").write_text("w1\tx\tc0\nw2\tx\tc0\nw2\ty\tnever_seen\nstranger\tx\tc1\n")
    before = (tmp_path / "model").read_bytes()
    out, err = invoke(tmp_path / "new.tsv", "-i", tmp_path / "model", "-t", "-p", tmp_path / "p.tsv", "--json")
    found = json.loads(out)
    assert (found["tasks"], found["labels"], found["classes"], found["iterations"]) == (2, 3, 3, 0)
    assert "ignored labels of classes that the model does not know: 1" in err
    assert (tmp_path / "model").read_bytes() == before
    assert "never_seen" not in (tmp_path / "p.tsv").read_text()


def test_gold_clamps(data, tmp_path):
    (tmp_path / "some.tsv").write_text("t0\tc2\nelsewhere\tc1\n")
    out, err = invoke(data, "--gold", tmp_path / "some.tsv", "-p", tmp_path / "p.tsv", "--set", "rho=0", "--json")
    assert (tmp_path / "p.tsv").read_text().splitlines()[1].split("\t")[1:3] == ["c2", "1"]
    assert (json.loads(out)["gold"], json.loads(out)["gold_without_labels"]) == (1, 1)
    assert "gold without labels: 1 task\n" in err


def test_empty_input_is_said_and_written(tmp_path):
    (tmp_path / "labels.tsv").write_text("")
    out, err = invoke(tmp_path / "labels.tsv", "--json", "-p", tmp_path / "p.tsv", "--next", 2)
    assert "no labels" in err
    assert json.loads(out)["tasks"] == 0
    assert (tmp_path / "p.tsv").read_text() == "task\tlabel\tconfidence\tratings\n"


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        (["--method", "bach"], UsageError, "did you mean 'batch'"),
        (["--model", "two_lvel"], UsageError, "did you mean 'two_level'"),
        (["--model", "one_coin", "--method", "online", "--passes", "2"], UsageError, "one_coin learns a block once"),
        (["--set", "clarity=2"], ConfigError, "two_level.clarity: input should be less than or equal to 1, got 2"),
        (["--set", "clarity"], ConfigError, "wanted NAME=VALUE"),
        (["-t"], UsageError, "wanted a saved model"),
        (["-i", "nowhere"], ModelError, "nowhere: cannot be read"),
        (["--gold", "nowhere"], DataError, "nowhere"),
        (["-p", "nowhere/p.tsv"], HutchError, "cannot be written"),
    ],
)
def test_errors_are_for_people(data, args, error, words):
    with pytest.raises(error) as caught:
        invoke(data, *args)
    assert words in str(caught.value)


def test_a_saved_model_is_not_bent(data, tmp_path):
    invoke(data, "-f", tmp_path / "model")
    with pytest.raises(UsageError, match="--model: got nominal, but .* was made with two_level"):
        invoke(data, "-i", tmp_path / "model", "--model", "nominal")


def test_a_stream_saves_the_model_of_all_at_once(data, tmp_path, simulated):
    common = ["--method", "online", "--slots", 4096, "--classes", "c0,c1,c2", "--quiet"]
    invoke(data, *common, "-f", tmp_path / "whole")
    out, _ = invoke(data, *common, "--stream", "-f", tmp_path / "stream", "-p", tmp_path / "p.tsv", "--json")
    found = json.loads(out)
    assert (found["tasks"], found["labels"]) == (300, len(simulated.labels))
    whole, stream = load_model(tmp_path / "whole", kind="crowd")[0], load_model(tmp_path / "stream", kind="crowd")[0]
    assert all(np.array_equal(array, stream[name]) for name, array in whole.items())
    rows = list(csv.DictReader((tmp_path / "p.tsv").read_text().splitlines(), delimiter="\t"))
    right = [row["label"] == f"c{k}" for row, k in zip(rows, simulated.truth, strict=True)]
    assert np.mean(right) > 0.7
    again = ["-i", tmp_path / "stream", "--stream", "--quiet", "-p", tmp_path / "q.tsv"]
    invoke(data, *again, "-t")
    rows = list(csv.DictReader((tmp_path / "q.tsv").read_text().splitlines(), delimiter="\t"))
    assert np.mean([row["label"] == f"c{k}" for row, k in zip(rows, simulated.truth, strict=True)]) > 0.7
    out, _ = invoke(data, *common, "--stream", "--passes", 3)
    assert "iterations           3" in out


def test_a_stream_says_who_copies(tmp_path):
    random = np.random.default_rng(0)
    truth, source = random.integers(3, size=(2, 200))
    wrong = (truth + random.integers(1, 3, size=(9, 200))) % 3
    said = np.where(random.random((9, 200)) < 0.8, truth, wrong)
    said[:3] = source
    rows = [f"w{w}\tt{i}\tc{said[w, i]}\n" for i in range(200) for w in range(9)]
    (tmp_path / "labels.tsv").write_text("".join(rows))
    options = ["--method", "online", "--stream", "--classes", "c0,c1,c2"]
    _, notices = invoke(tmp_path / "labels.tsv", *options)
    assert "w0, w1, w2 agree on 100 %" in notices and "each counts in a stream" in notices


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stream"], "--method online"),
        (["--stream", "--method", "online", "--next", "3"], "--next: a stream keeps no tasks"),
    ],
)
def test_what_a_stream_cannot_do(data, options, message):
    with pytest.raises(UsageError, match=message):
        invoke(data, *options)


def test_next_says_whom_to_ask(tmp_path):
    dull = np.random.default_rng(0).integers(2, size=60)
    rows = [(w, i, i % 2) for i in range(60) for w in ("ann", "bob", "cyd")]
    rows += [("dull", i, x) for i, x in enumerate(dull.tolist())] + [("dull", 60, 0)]
    (tmp_path / "labels.tsv").write_text("".join(f"{w}\tt{i}\tc{c}\n" for w, i, c in rows))
    for people, best in (("dull,bob", "bob"), ("new,dull", "new"), ("dull", None)):
        out, _ = invoke(tmp_path / "labels.tsv", "--next", 1, "--ask-of", people, "--json")
        assert [(row["task"], row["worker"]) for row in json.loads(out)["next"]] == [("t60", best)]
    assert "nobody" in invoke(tmp_path / "labels.tsv", "--next", 1, "--ask-of", "dull")[0]
    with pytest.raises(UsageError, match="--ask-of: needs --next"):
        invoke(tmp_path / "labels.tsv", "--ask-of", "ann")


def test_reference_and_kind_declare_people(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    rows = [("ann", i, truth[i] if random.random() < 0.9 else 1 - truth[i]) for i in range(200)]
    rows += [
        (f"judge{j}", i, 1 - truth[i] if random.random() < 0.9 else truth[i]) for i in range(200) for j in range(4)
    ]
    plain, kinds, gold = tmp_path / "plain.tsv", tmp_path / "kinds.tsv", tmp_path / "gold.tsv"
    plain.write_text("".join(f"{w}\tt{i}\t{x}\n" for w, i, x in rows))
    header = "worker\ttask\tlabel\tkind\n"
    kinds.write_text(header + "".join(f"{w}\tt{i}\t{x}\t{'human' if w == 'ann' else 'llm'}\n" for w, i, x in rows))
    gold.write_text("".join(f"t{i}\t{k}\n" for i, k in enumerate(truth)))
    scores = []
    for arguments in ([plain, "--reference", "an?"], [kinds], [plain]):
        scores.append(json.loads(invoke(*arguments, "--score", gold, "--json", "--quiet")[0]))
    assert [found["model"] for found in scores] == ["mixed", "mixed", "two_level"]
    assert scores[0]["reference"] == 1 and "reference" not in scores[2]
    assert scores[0]["score"] == scores[1]["score"]
    assert scores[0]["score"]["accuracy"] > 0.9
    assert scores[2]["score"]["accuracy"] < 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reference", "anm"], "did you mean 'ann'"),
        (["--reference", "ann", "--model", "two_level"], "wanted mixed"),
        (["--reference", "ann", "--method", "online", "--passes", "2"], "learns a block once"),
        (["--reference", "anm", "--method", "online"], "no worker is 'anm'"),
        (["--reference", "anm", "--method", "online", "--stream"], "no worker is 'anm'"),
        (["--model", "mixed"], "--reference NAME"),
    ],
)
def test_a_reference_that_cannot_be_is_refused(tmp_path, options, message):
    path = tmp_path / "labels.tsv"
    path.write_text("ann\tt1\tx\nbob\tt1\ty\n")
    with pytest.raises(UsageError, match=message):
        invoke(path, *options)


def test_whom_to_ask_by_prices(tmp_path):
    random = np.random.default_rng(1)
    truth, lines = random.integers(2, size=150), []
    for i in range(150):
        for name, kind, right, price in (
            ("ann", "person", 0.95, 1.0),
            ("gpt", "llm", 0.9, 0.01),
            ("ll", "llm", 0.7, 0.01),
        ):
            if name == "gpt" or random.random() < 0.6:
                lines.append(
                    f"{name}\tt{i}\t{truth[i] if random.random() < right else 1 - truth[i]}\t{kind}\t{price}\n"
                )
    path = tmp_path / "labels.tsv"
    path.write_text("worker\ttask\tlabel\tkind\tprice\n" + "".join(lines))
    out, _ = invoke(path, "--next", 4, "--json", "--quiet")
    assert {row["worker"] for row in json.loads(out)["next"]} <= {"ann", "ll"}
    assert "\task\tprice\tgain per price" in invoke(path, "--next", 4, "--ask-of", "ann")[0]
    with pytest.raises(UsageError, match="--ask-of: 'bob' has no price"):
        invoke(path, "--next", 4, "--ask-of", "bob")


@pytest.mark.parametrize("option", ["--gold", "--score"])
def test_a_misspelt_class_of_gold_is_refused_with_its_line(tmp_path, hutch, option):
    (tmp_path / "labels.tsv").write_text("a\tt1\tcat\nb\tt1\tcat\na\tt2\tdog\nb\tt2\tdog\n")
    (tmp_path / "gold.tsv").write_text("t1\tcat\nt2\tdgo\n")
    done = hutch("crowd", tmp_path / "labels.tsv", option, tmp_path / "gold.tsv")
    assert done.code == 1
    assert "gold.tsv:2: got the class 'dgo', which no label has; did you mean 'dog'?" in done.err
    (tmp_path / "gold.tsv").write_text("t2\tbird\n")
    done = hutch("crowd", tmp_path / "labels.tsv", option, tmp_path / "gold.tsv")
    assert (done.code, done.err) == (0, f"{tmp_path}/gold.tsv:1: got the class 'bird', which no label has\n")


def test_what_was_learned_as_gold_is_not_scored(tmp_path, hutch):
    (tmp_path / "labels.tsv").write_text("a\tt1\tcat\nb\tt1\tcat\na\tt2\tdog\nb\tt2\tcat\n")
    (tmp_path / "gold.tsv").write_text("t1\tcat\nt2\tdog\n")
    (tmp_path / "some.tsv").write_text("t1\tcat\n")
    found = json.loads(
        hutch("crowd", tmp_path / "labels.tsv", "--gold", tmp_path / "gold.tsv", "--score", tmp_path / "gold.tsv",
              "--json").out
    )  # fmt: skip
    assert found["score"]["accuracy"] is None
    done = hutch("crowd", tmp_path / "labels.tsv", "--gold", tmp_path / "some.tsv", "--score", tmp_path / "gold.tsv")
    assert "left out of the score: 1 task also in" in done.err and "accuracy" in done.out


def test_an_export_is_read_and_what_is_left_out_is_said(tmp_path):
    answers = [("ann", "t1", ["x"]), ("bob", "t1", ["y"]), ("ann", "t2", ["x", "y"]), ("bob", "t2", [])]
    export = [
        {"id": task, "annotations": [
            {"completed_by": {"email": worker}, "ground_truth": worker == "bob" and task == "t1",
             "result": [{"type": "choices", "from_name": "q", "value": {"choices": label}}]}
            for worker, where, label in answers if where == task]}
        for task in ("t1", "t2")
    ]  # fmt: skip
    path = tmp_path / "export"
    path.write_text(json.dumps(export))
    out, err = invoke(path, "--json")
    found = json.loads(out)
    assert (found["labels"], found["left_out"], found["gold"]) == (1, 2, 1)
    assert err.splitlines() == [
        f"{path}: read as Label Studio",
        f"{path}: left out: 1 with two labels at once (first: task t2)",
        f"{path}: left out: 1 without a label (first: task t2)",
    ]


@pytest.mark.parametrize("more", [[], ["--method", "online", "--stream"]])
def test_columns_are_named_on_the_command_line(tmp_path, more):
    path = tmp_path / "votes.csv"
    path.write_text("who,kind,thing,verdict\nann,human,t1,x\njim,llm,t1,\nann,human,t2,y\njim,llm,t2,y\n")
    options = ["--columns", "worker=who,task=thing,label=verdict", "--json", *more]
    if more:
        options += ["--model", "two_level", "--classes", "x,y"]
        path.write_text(path.read_text().replace("kind", "sort"))
    out, err = invoke(path, *options)
    assert (json.loads(out)["labels"], json.loads(out)["left_out"]) == (3, 1)
    assert json.loads(out)["model"] == ("two_level" if more else "mixed")
    assert f"{path}: left out: 1 without a label (first: line 3)" in err
    with pytest.raises(UsageError, match="no role 'wrker'; did you mean 'worker'"):
        invoke(path, "--columns", "wrker=who")


def test_shards_stand_in_the_model_and_change_nothing_beyond_rounding(tmp_path, data):
    whole, _ = invoke(data, "--json", "-p", tmp_path / "one.tsv")
    parts, _ = invoke(data, "--json", "-p", tmp_path / "many.tsv", "--shards", 3, "-f", tmp_path / "model")
    assert (tmp_path / "one.tsv").read_text() == (tmp_path / "many.tsv").read_text()
    assert json.loads(whole)["iterations"] == json.loads(parts)["iterations"]
    assert load_model(tmp_path / "model", kind="crowd")[1]["shards"] == 3
    invoke(data, "-i", tmp_path / "model", "-f", tmp_path / "next", "--shards", 2)
    assert load_model(tmp_path / "next", kind="crowd")[1]["shards"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ray", "auto"], "--ray: only says where shards are computed; wanted --shards N"),
        (["--shards", "2", "--method", "online"], "--shards: wanted --method batch"),
    ],
)
def test_shards_that_make_no_sense_are_refused(data, options, message):
    with pytest.raises(UsageError, match=message):
        invoke(data, *options)


def test_the_report_is_text_or_a_page(data, tmp_path):
    out, _ = invoke(data, "--report", "-", "--suspects", tmp_path / "s.tsv", "--quiet")
    assert "pairs of workers, the least agreement first" in out
    suspects = list(csv.DictReader((tmp_path / "s.tsv").read_text().splitlines(), delimiter="\t"))
    assert list(suspects[0]) == ["task", "worker", "label", "suggested", "wrong", "gold"]
    invoke(data, "--report", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    with pytest.raises(UsageError, match="--report, --suspects: got standard output for all"):
        invoke(data, "--report", "-", "--suspects", "-")
    with pytest.raises(UsageError, match="--report: a stream keeps no tasks"):
        invoke(data, "--report", "-", "--stream", "--method", "online")


def test_classes_that_differ_in_case_or_blanks_are_told(tmp_path, hutch):
    (tmp_path / "labels.csv").write_text("worker,task,label\nann,1,cat\nbob,1,cat \nann,2, dog\nbob,2,Dog\n")
    said = hutch("crowd", tmp_path / "labels.csv", "-p", tmp_path / "p")
    assert said.code == 0
    assert (
        "labels.csv: the classes 'cat' and 'cat ' differ only in how they are written; are they the same?" in said.err
    )


@pytest.mark.parametrize(("word", "question"), [("postive", "is it 'positive'?"), ("x", "is it a mistake?")])
def test_a_class_that_stands_once_among_many_labels_is_told_with_its_line(tmp_path, hutch, word, question):
    rows = [f"w{k % 5},{k // 3},{('positive', 'negative')[k % 7 < 3]}" for k in range(150)]
    rows[40] = rows[40].rpartition(",")[0] + f",{word}"
    (tmp_path / "labels.csv").write_text("\n".join(["worker,task,label", *rows]) + "\n")
    said = hutch("crowd", tmp_path / "labels.csv", "-p", tmp_path / "p")
    assert said.code == 0 and f"labels.csv:42: the class {word!r} stands once; {question}" in said.err
    (tmp_path / "few.csv").write_text("\n".join(["worker,task,label", *rows[20:80]]) + "\n")
    assert "stands once" not in hutch("crowd", tmp_path / "few.csv", "-p", tmp_path / "p").err


def test_labels_without_a_worker_are_told(tmp_path, hutch):
    (tmp_path / "labels.csv").write_text("worker,task,label\nann,1,cat\n,1,cat\n,2,dog\n")
    said = hutch("crowd", tmp_path / "labels.csv", "-p", tmp_path / "p")
    assert "labels.csv: 2 labels without a worker: all are taken as one person's" in said.err


def test_classes_declared_to_be_ordered_have_a_model_of_degrees(tmp_path):
    path = tmp_path / "ratings.tsv"
    path.write_text(
        "".join(f"w{w}\tt{i}\t{1 + (i + (w == 0) * (i % 3 > 0)) % 4}\n" for i in range(40) for w in range(5))
    )
    models = {}
    for name, options in {
        "declared": ["--ordered"],
        "found": [],
        "named": ["--ordered", "--model", "dawid_skene"],
        "online": ["--ordered", "--method", "online"],
    }.items():
        models[name] = json.loads(invoke(path, "--json", *options)[0])["model"]
    assert models == {"declared": "ordinal", "found": "two_level", "named": "dawid_skene", "online": "ordinal"}
    invoke(path, "--ordered", "-f", tmp_path / "crowd.model")
    again = json.loads(invoke(path, "--json", "-i", tmp_path / "crowd.model", "-t", "--ordered")[0])
    assert (again["model"], again["iterations"]) == ("ordinal", 0)


def test_who_has_labelled_everything_is_not_asked(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("worker\ttask\tlabel\tprice\nann\tt1\tx\t1\nbob\tt1\ty\t1\nann\tt2\ty\t1\n")
    assert (
        "label next: none; who is available has labelled every task" in invoke(path, "--next", 2, "--ask-of", "ann")[0]
    )
    assert "t2\t" in invoke(path, "--next", 2, "--ask-of", "bob")[0]


@pytest.mark.parametrize(("higher", "said"), [(2, True), (0, False)])
def test_a_level_that_nobody_knows_is_said(tmp_path, higher, said):
    path = tmp_path / "ratings.tsv"
    rows = [(name, i, min(1 + i % 3 + higher * (name < "c"), 5)) for i in range(60) for name in "abcd"]
    path.write_text("".join(f"{name}\tt{i}\t{label}\n" for name, i, label in rows))
    notices = invoke(path, "--ordered", "--classes", "1,2,3,4,5")[1]
    assert ("all values may be shifted by" in notices) is said
    assert "shifted" not in invoke(path, "--classes", "1,2,3,4,5")[1]


def test_an_order_that_only_the_alphabet_gives_is_said(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_text("ann\tt1\tlow\nbob\tt1\tmid\nann\tt2\thigh\n")
    said = "the order of the classes is that of the alphabet: high, low, mid; --classes sets another"
    assert said in invoke(path, "--ordered")[1]
    assert "alphabet" not in invoke(path, "--ordered", "--classes", "low,mid,high")[1]
    path.write_text("ann\tt1\t1.5\nbob\tt1\t2\nann\tt2\t10\n")
    assert "alphabet" not in invoke(path, "--ordered")[1]


def test_a_first_row_that_never_comes_again_is_a_header(tmp_path, hutch):
    labels, rows = tmp_path / "labels.csv", "ann,1,cat\nbob,1,cat\nann,2,dog\n"
    labels.write_text("ann,1,cat\nbob,2,dog\n")  # nothing tells
    told = "the first row, ann, 1, cat, is taken as a label; if it is a header, name its columns"
    assert told in hutch("crowd", labels, "-p", tmp_path / "p").err
    labels.write_text(f"performer,INPUT:image,verdict\n{rows}")
    said = hutch("crowd", labels, "-p", tmp_path / "p")
    assert said.code == 0 and (tmp_path / "p").read_text().count("\n") == 3
    named = hutch("crowd", labels, "--columns", "worker=performer,task=INPUT:image,label=verdict", "-p", tmp_path / "p")
    assert "the first row" not in named.err and (tmp_path / "p").read_text().count("\n") == 3
    labels.write_text(f"performer,1,cat\nperformer,2,dog\n{rows}")  # a worker of that name
    assert "the first row" not in hutch("crowd", labels, "-p", tmp_path / "p").err


def test_votes_on_pairs_are_told_from_labels(tmp_path, hutch):
    (tmp_path / "votes.csv").write_text("judge,left,right,winner\nann,x,y,left\n")
    said = hutch("crowd", tmp_path / "votes.csv")
    assert said.code == 1 and "got 4 fields" in said.err and "need --pairs" in said.err


def test_all_judges_and_copies_are_told(tmp_path):
    random = np.random.default_rng(0)
    path, gold = tmp_path / "labels.tsv", tmp_path / "gold.tsv"
    truth, shared = random.integers(3, size=300), random.integers(3, size=300)
    with path.open("w") as file:
        file.write("worker\ttask\tlabel\tkind\n")
        for w in range(8):
            said = np.where(random.random(300) < 0.8, truth, (truth + 1) % 3) if w > 2 else shared
            kind = "person" if w == 7 else "judge"
            file.write("".join(f"w{w}\tt{i}\tc{k}\t{kind}\n" for i, k in enumerate(said.tolist())))
    gold.write_text("".join(f"t{i}\tc{k}\n" for i, k in enumerate(truth[:60].tolist())))
    assert json.loads(invoke(path, "--json")[0])["model"] == "mixed"
    out, err = invoke(path, "--all-judges", "--json")
    found = json.loads(out)
    assert found["model"] == "two_level" and found["doubt"] == "" and 0.1 < found["effective_labels"] < 8
    assert [each["workers"] for each in found["copies"]] == [["w0", "w1", "w2"]]
    assert "w0, w1, w2 agree on 100 % of what they share; their skills explain" in err
    assert "\ncopies               w0, w1, w2\n" in invoke(path, "--all-judges")[0]
    assert json.loads(invoke(path, "--all-judges", "--gold", gold, "--json")[0])["model"] == "mixed"
    with pytest.raises(UsageError, match="--all-judges: cannot be combined with --reference"):
        invoke(path, "--all-judges", "--reference", "w7")


def test_the_encoding_of_labels_and_gold_is_named(tmp_path):
    rows = "worker,task,label\nJosé,café,sí\nann,café,sí\nann,té,no\n".encode("cp1252")
    (tmp_path / "labels.csv").write_bytes(rows)
    (tmp_path / "gold.csv").write_bytes("task,label\ncafé,sí\n".encode("cp1252"))
    with pytest.raises(DataError, match="labels.csv:2:1: got bytes that are not UTF-8; --encoding names another"):
        invoke(tmp_path / "labels.csv")
    gold = ("--gold", tmp_path / "gold.csv", "--encoding", "cp1252")
    invoke(tmp_path / "labels.csv", *gold, "-p", tmp_path / "p.tsv", "--next", 1)
    assert [line.split("\t")[:2] for line in (tmp_path / "p.tsv").read_text().splitlines()[1:]] == [
        ["café", "sí"],
        ["té", "no"],
    ]
    with pytest.raises(UsageError, match="--encoding: got 'cp125'"):
        invoke(tmp_path / "labels.csv", "--encoding", "cp125")


def test_the_summary_names_the_model_that_many_classes_get(tmp_path):
    random, path, saved = np.random.default_rng(0), tmp_path / "names.tsv", tmp_path / "crowd.model"
    truth = random.integers(0, 40, 300)
    rows = [(w, i, k if random.random() < 0.7 else random.integers(40)) for i, k in enumerate(truth)
            for w in random.permutation(20)[:3]]  # fmt: skip
    path.write_text("".join(f"w{w}\tt{i}\tc{k}\n" for w, i, k in rows))
    runs = {
        "default": ["-f", saved],
        "continued": ["-i", saved],
        "shards": ["--shards", "3"],
        "set": ["--set", "clarity=1"],
        "named": ["--model", "two_level"],
        "judges": ["--all-judges"],
        "online": ["--method", "online", "--slots", "64"],
        "blocks": ["--method", "online", "--slots", "64", "--model", "many_classes"],
    }
    found = {name: json.loads(invoke(path, "--json", *options)[0])["model"] for name, options in runs.items()}
    many = {name for name, model in found.items() if model == "many_classes"}
    assert many == {"default", "continued", "shards", "blocks"}
    assert {found[name] for name in found.keys() - many} == {"two_level"}
    with pytest.raises(UsageError, match="--model: got two_level, but .* was made with many_classes"):
        invoke(path, "-i", saved, "--model", "two_level")


def test_each_question_gets_the_model_that_suits_it(tmp_path):
    path, random = tmp_path / "asked.csv", np.random.default_rng(0)
    rows = [f"w{w},t{i},{'name' if q else 'safe'},{f'c{random.integers(40)}' if q else 'yn'[i % 2]}\n"
            for i in range(60) for w in range(3) for q in (0, 1)]  # fmt: skip
    path.write_text("worker,task,question,label\n" + "".join(rows))
    assert json.loads(invoke(path, "--json")[0])["model"] == "two_level, many_classes"


def test_a_page_shows_the_texts_of_tasks(hutch, tmp_path):
    pytest.importorskip("matplotlib")
    labels = [f"w{w}\tt{t}\t{'yes' if (w + t) % 5 else 'no'}\n" for t in range(40) for w in range(4)]
    (tmp_path / "labels.tsv").write_text("".join(labels))
    (tmp_path / "items.tsv").write_text("id\ttext\n" + "".join(f"t{t}\t<i>{t}</i> & more\n" for t in range(40)))
    words = ("crowd", tmp_path / "labels.tsv", "--texts", tmp_path / "items.tsv")
    assert hutch(*words, "--report", tmp_path / "r.html", "--quiet").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "<th>task</th><th class='t'>text</th>" in page and "<i>" not in page
    assert re.search(r"<td>t(\d+)</td><td class='t'>&lt;i&gt;\1&lt;/i&gt; &amp; more</td>", page)
    refused = hutch(*words, "--report", tmp_path / "r.txt")
    assert refused.code == 2 and "--texts: needs --report FILE.html" in refused.err
    refused = hutch(*words, "--report", tmp_path / "items.html", "--pairs")
    assert refused.code == 2 and "--texts: cannot be combined with --pairs" in refused.err
