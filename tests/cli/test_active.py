"""`hutch active` from end to end."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.active.documents import line_of, read_documents
from hutch.chain import Chain
from hutch.cli.commands import app
from hutch.durable.store import Store

CHAIN = """
chain:
  - active: {budget: 0.2}
  - linear: {loss: logistic, normalized: false}
"""


def hutch(*arguments, stdin=None, status=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == status, (result.output, result.stderr, result.exception)
    return result


def make_lines(n, seed):
    random, weights = np.random.default_rng(seed), np.random.default_rng(0).normal(size=30)
    lines = []
    for _ in range(n):
        chosen = random.choice(30, 6, replace=False)
        lines.append(f"{1 if weights[chosen].sum() > 0 else -1} |f " + " ".join(f"w{j}" for j in chosen))
    return lines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.yaml").write_text(CHAIN)
    (tmp_path / "plain.yaml").write_text("chain: [{linear: {loss: logistic, normalized: false}}]\n")
    (tmp_path / "train.vw").write_text("\n".join(make_lines(600, 1)) + "\n")
    (tmp_path / "test.vw").write_text("\n".join(make_lines(200, 2)) + "\n")
    chain = Chain.from_config("chain.yaml")
    chain.layers[0].simulation = False
    chain.learn(make_lines(30, 3))
    chain.save("model")
    return tmp_path


def test_simulate_says_what_the_contract_promises(folder):
    found = json.loads(
        hutch("active", "simulate", "train.vw", "-C", "chain.yaml", "--test", "test.vw", "--json").output
    )
    assert {"queries", "seen", "progressive_loss", "test_loss"} <= set(found)
    assert found["seen"] == 600 and 100 <= found["queries"] <= 140
    assert sum(found["classes"].values()) == found["queries"]
    assert found["passive"]["queries"] == 600 and abs(found["random"]["queries"] - found["queries"]) < 40
    assert found["passive"]["test_loss"] <= found["test_loss"] < 0.5
    curve = found["active"]["curve"]
    assert len(curve) == 20 and curve[-1]["queries"] == found["queries"]
    assert [point["seen"] for point in curve] == list(range(30, 601, 30))
    estimate = found["estimate"]
    assert estimate["low"] <= estimate["loss"] <= estimate["high"] and estimate["labels_per_mistake"] > 0


@pytest.mark.parametrize(("budget", "least", "most"), [("0.05", 20, 45), ("60", 50, 60)])
def test_simulate_puts_the_layer_on_top_and_reads_pipes(folder, budget, least, most):
    data = (folder / "train.vw").read_text()
    arguments = ["active", "simulate", "-", "-C", "plain.yaml", "--budget", budget, "--json"]
    found = json.loads(hutch(*arguments, stdin=data).output)
    assert least <= found["queries"] <= most and found["test_loss"] is None


@pytest.mark.parametrize(("predictions", "stops"), [(100, True), (1e6, False)])
def test_simulate_says_where_to_stop(folder, predictions, stops):
    arguments = [
        "active",
        "simulate",
        "train.vw",
        "-C",
        "chain.yaml",
        "--test",
        "test.vw",
        "--stop",
        f"{predictions:g}",
    ]
    found = json.loads(hutch(*arguments, "--json").output)
    stop, curve = found["stop"], found["active"]["curve"]
    assert (stop["labels"] is not None) == stops and (stop["gain"] < 1) == stops
    costs = [point["queries"] + predictions * point["test_loss"] for point in curve]
    assert stop["best_cost"] == pytest.approx(min(costs))
    assert stop["best_labels"] == curve[costs.index(min(costs))]["queries"]
    last = stop["labels"] or found["queries"]
    losses = np.interp(last, [point["queries"] for point in curve], [point["test_loss"] for point in curve])
    assert stop["cost"] == pytest.approx(last + predictions * losses)
    output = hutch(*arguments).output
    assert (f"stop after {last} labels" if stops else f"go on after {last} labels") in output


def test_ask_asks_for_nothing_where_a_label_is_not_worth_its_price(folder):
    pool = "\n".join(line.split(" ", 1)[1] for line in make_lines(200, 4))
    arguments = ["active", "ask", "-", "-i", "model", "--store", "s.db", "-n", 40, "--stop"]
    asked = [json.loads(line) for line in hutch(*arguments, 1, stdin=pool).stdout.splitlines()]
    answers = [json.dumps({"id": request["id"], "worker": "ada", "label": 1}) for request in asked]
    (folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
    hutch("active", "answer", "answers.jsonl", "--store", "s.db")
    found = hutch(*arguments, 1, stdin=pool)
    assert len(asked) == 40 and found.stdout == "" and "asked for nothing" in found.stderr
    assert len(hutch(*arguments, 1e9, stdin=pool).stdout.splitlines()) == 40
    assert "--stop: got -1, wanted" in hutch(*arguments, -1, stdin=pool, status=2).stderr


def test_simulate_prints(folder):
    output = hutch("active", "simulate", "train.vw", "-C", "chain.yaml").output
    assert "buying the rest would save about" in output and "n.a." in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.vw", "-C", "chain.yaml", "--budget", "0"], "--budget: got 0, wanted a fraction up to 1"),
        (["missing.vw", "-C", "chain.yaml"], "missing.vw: no such file"),
        (["unlabelled.vw", "-C", "chain.yaml"], "example 2 has no label to hide"),
    ],
)
def test_simulate_refuses(folder, arguments, message):
    (folder / "unlabelled.vw").write_text("1 |f a\n|f b\n")
    result = CliRunner().invoke(app, ["active", "simulate", *arguments])
    assert result.exit_code in (1, 2) and message in result.stderr


def test_the_loop(folder):
    pool = "\n".join(line.split(" ", 1)[1] for line in make_lines(200, 4))
    requests = hutch("active", "ask", "-", "-i", "model", "--store", "s.db", "-n", 20, stdin=pool).stdout
    asked = [json.loads(line) for line in requests.splitlines()]
    assert len(asked) == 20
    assert list(asked[0]) == ["id", "line", "prediction", "probability", "importance", "model"]
    answers = [json.dumps({"id": request["id"], "worker": "ada", "label": 1}) for request in asked]
    (folder / "answers.jsonl").write_text("\n".join(answers[:15]) + "\n")
    assert hutch("active", "answer", "answers.jsonl", "--store", "s.db").stdout.startswith("15 new answers, 0")
    open_ = json.loads(hutch("active", "report", "--store", "s.db", "--json").stdout)
    assert open_["verdict"][-1] == "5 requests wait for an answer."
    assert open_["next_command"] == "hutch active serve --store s.db"
    left = hutch("active", "requests", "--store", "s.db").stdout
    assert left.splitlines() == requests.splitlines()[15:]
    again = hutch("active", "answer", "-", "--store", "s.db", "--json", stdin="\n".join(answers))
    assert json.loads(again.stdout) == {"new": 5, "repeated": 15}
    learned = hutch("active", "learn", "-i", "model", "-f", "model", "--store", "s.db", "--json")
    assert json.loads(learned.stdout) == {"learned": 20, "through": 21}
    assert hutch("active", "learn", "-i", "model", "-f", "model", "--store", "s.db").stdout == "0 examples learned\n"
    report = json.loads(hutch("active", "report", "--store", "s.db", "--json").stdout)
    assert (report["requests"], report["answered"], report["classes"]) == (20, 20, {"1": 20})
    assert report["estimate"]["low"] <= report["estimate"]["loss"] <= report["estimate"]["high"]
    text = hutch("active", "report", "--store", "s.db").stdout
    assert "20 requests: 20 answered" in text
    assert report["verdict"][0].startswith("The predictions are wrong on an estimated ")
    assert " ".join(report["verdict"]) in " ".join(text.split()) and report["next_command"] is None
    log = [json.loads(line)["event"] for line in hutch("active", "log", "--store", "s.db").stdout.splitlines()]
    assert log == ["ask"] + ["answer"] * 20 + ["learn"] * 2


def test_a_wrong_answer_names_its_place_and_changes_nothing(folder):
    hutch("active", "ask", "train.vw", "-i", "model", "--store", "s.db", "-n", 2)
    with Store("s.db") as store:
        ids = [request["requests"] for request in [next(store.log()).detail]][0]
    good = json.dumps({"id": ids[0], "worker": "ada", "label": 1})
    for bad, place in (
        ('{"id": "nobody", "worker": "ada", "label": 1}', "<stdin>:2:8: id: there is no request 'nobody'"),
        (json.dumps({"id": ids[1], "worker": "ada", "label": 3}), "<stdin>:2:8: label: got '3'"),
        ('{"id": 1', "<stdin>:2:9: not JSON"),
    ):
        result = hutch("active", "answer", "-", "--store", "s.db", stdin=f"{good}\n{bad}\n", status=1)
        assert result.stderr.startswith(place)
    with Store("s.db") as store:
        assert store.counts().answers == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "train.vw", "-i", "nowhere", "--store", "s.db", "-n", "1"], "nowhere: cannot be read"),
        (["answer", "a.jsonl", "--store", "nowhere.db"], "no such store; `hutch active ask` makes one"),
        (["report", "--store", "chain.yaml"], "cannot be used as a label store"),
        (["serve", "--store", "model"], "cannot be used as a label store"),
    ],
)
def test_what_is_missing_is_named(folder, arguments, message):
    result = CliRunner().invoke(app, ["active", *arguments])
    assert result.exit_code in (1, 2) and message in result.stderr


def serving(*arguments):
    command = [sys.executable, "-c", "from hutch.cli.main import main; main()", "active", "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_serve_prints_an_address_that_stays_and_serves_the_page(folder):
    pytest.importorskip("uvicorn")
    hutch("active", "ask", "train.vw", "-i", "model", "--store", "s.db", "-n", 2)
    addresses = []
    for _ in range(2):
        process = serving("--store", "s.db", "--port", "0", "--name", "1=spam")
        addresses.append(process.stdout.readline().strip())
        with urllib.request.urlopen(addresses[-1] + "next?worker=ada") as response:
            found = json.load(response)
        assert found["labels"][0] == {"value": "1", "name": "spam"} and found["progress"]["open"] == 2
        os.kill(process.pid, signal.SIGINT)
        process.wait(timeout=20)
        process.stdout.close()
    assert addresses[0].split("/")[3] == addresses[1].split("/")[3]
    wrong = hutch("active", "serve", "--store", "s.db", "--name", "7=x", status=2)
    assert "--name: got '7=x', wanted LABEL=NAME with a label of -1, 1" in wrong.stderr


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from hutch.cli.commands import app\n"
        "try: app(['active', '--help'], standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'sqlite3', 'starlette'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.splitlines()[-1] == "[]"


TABLE = "id,stars,comment,label\n" + "".join(
    f'{i},{1 + i % 5},"{"a good thing to have now" if i % 2 else "it is a bad thing, really"}",\n' for i in range(30)
)
TEXTS = CHAIN + "input: {columns: {text: [comment], tag: id}}\n"


def test_a_table_is_a_pool_and_its_documents_are_kept(folder):
    (folder / "pool.csv").write_text(TABLE)
    (folder / "texts.yaml").write_text(TEXTS)
    chain = Chain.from_config("texts.yaml")
    chain.save("texts")
    out = hutch("active", "ask", "pool.csv", "-i", "texts", "--store", "t.db", "-n", 3).output
    assert len(out.splitlines()) == 3
    request = json.loads(out.splitlines()[0])
    with Store("t.db") as store:
        document = store.document(request["id"])
    number = int(request["id"])
    words = "a good thing to have now" if number % 2 else "it is a bad thing really"
    assert request["line"] == f"'{number}| stars:{1 + number % 5} |comment {words}"
    assert document["comment"].startswith(words[:9]) and document["id"] == request["id"]
    chain.learn(["1 |comment good", "-1 |comment bad"] * 9)
    by_table = chain.predict(folder / "pool.csv")
    by_line = chain.predict([line_of(each, chain.config.input.columns) for each in read_documents("pool.csv")])
    np.testing.assert_array_equal(by_table, by_line)
    wrong = hutch("active", "ask", "train.svmlight", "-i", "texts", "--store", "t.db", "-n", 3, status=1)
    assert "no such file" in wrong.stderr


def test_the_answer_is_never_shown_and_columns_are_chosen(folder):
    (folder / "pool.csv").write_text(TABLE.replace(",\n", ",1\n"))
    (folder / "texts.yaml").write_text(TEXTS)
    Chain.from_config("texts.yaml").save("texts")
    asked = hutch("active", "ask", "pool.csv", "-i", "texts", "--store", "t.db", "-n", 2).output
    with Store("t.db") as store:
        for request in store.open_requests():
            assert list(store.document(request.id)) == ["id", "stars", "comment"]
    answers = "".join(
        json.dumps({"id": json.loads(s)["id"], "worker": "a", "label": 1}) + "\n" for s in asked.splitlines()
    )
    hutch("active", "answer", "-", "--store", "t.db", stdin=answers)

    def data(*show):
        names = hutch("active", "export", "--store", "t.db", *show).output.split("\n")[0].split(",")
        return set(names) - {"request", "worker", "label", "probability", "model", "time"}

    assert data("--show", "comment") == {"comment"} == data() - {"id", "stars"}
    wrong = hutch("active", "export", "--store", "t.db", "--show", "coment", status=2)
    assert "--show: no column 'coment'; did you mean 'comment'?" in wrong.stderr


@pytest.mark.slow
def test_the_whole_loop_runs_by_itself(folder):
    pytest.importorskip("uvicorn")
    (folder / "pool.csv").write_text(TABLE)
    (folder / "texts.yaml").write_text(TEXTS)
    (folder / "how.txt").write_text("Good or bad?")
    command = ["run", "pool.csv", "--store", "r.db", "-f", "final", "-C", "texts.yaml", "-n", "10", "--port", "0",
               "--name", "1=good", "--name", "-1=bad", "--instructions", "@how.txt", "--show", "comment",
               "--token", "a-secret-of-ours"]  # fmt: skip
    for last in (20, 30):  # it is stopped, and goes on
        process = subprocess.Popen(
            [sys.executable, "-c", "import sys; from hutch.cli.main import main; sys.exit(main())", "active", *command],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = process.stdout.readline().strip()
            assert address.endswith("/a-secret-of-ours/")
            deadline, answered = time.monotonic() + 60, 0
            while answered < last and time.monotonic() < deadline:
                with urllib.request.urlopen(address + "next?worker=ada") as response:
                    found = json.load(response)
                answered = found["progress"]["requests"] - found["progress"]["open"]
                if not found["request"]:
                    time.sleep(0.2)
                    continue
                assert found["instructions"] == "Good or bad?"
                [[name, text]] = found["request"]["fields"]
                assert name == "comment" and [label["name"] for label in found["labels"]] == ["good", "bad"]
                answer = {"id": found["request"]["id"], "worker": "ada", "label": "1" if "good" in text else "-1"}
                data = urllib.request.Request(
                    address + "answer", json.dumps(answer).encode(), {"content-type": "application/json"}
                )
                urllib.request.urlopen(data).close()
                answered += 1
        finally:
            os.kill(process.pid, signal.SIGINT)
            process.wait(timeout=30)
            process.stdout.close()
    with Store("r.db") as store:
        assert store.counts().labels == 30 and len(store.rounds()) == 3
    trained = Chain.load("final")
    assert (trained.predict(["|comment good", "|comment bad"]) > 0).tolist() == [True, False]
    report = hutch("active", "report", "--store", "r.db").output
    assert "30 requests: 30 answered" in report and "30 answers from 1 worker: 30 labels, 0 skips" in report
    exported = hutch("active", "export", "--store", "r.db", "--format", "crowd", "--name", "1=good", "--name", "-1=bad")
    (folder / "labels.tsv").write_text(exported.output)
    assert json.loads(hutch("crowd", "labels.tsv", "--json").stdout)["class_names"] == ["bad", "good"]
    rows = list(csv.DictReader(hutch("active", "export", "--store", "r.db").output.splitlines()))
    assert {row["label"] for row in rows} == {"1", "-1"} and rows[0]["comment"] and rows[0]["worker"] == "ada"
    assert "did you mean 'crowd'" in hutch("active", "export", "--store", "r.db", "--format", "crow", status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-C", "chain.yaml", "-i", "model"], "-C, -i: wanted one of them"),
        ([], "wanted a chain"),
        (["-C", "chain.yaml", "--token", "short"], "--token: wanted at least 8 letters"),
        (["-C", "chain.yaml", "--name", "1=a", "--name", "-1=a"], "got 'a' for two labels"),
        (["-C", "chain.yaml", "--show", "comments"], "--show: no column 'comments'; did you mean 'comment'?"),
    ],
)
def test_what_cannot_run(folder, arguments, message):
    pytest.importorskip("uvicorn")
    (folder / "pool.csv").write_text(TABLE)
    assert message in hutch("active", "run", "pool.csv", "--store", "s.db", "-f", "new", *arguments, status=2).stderr
    if (folder / "s.db").exists():
        with Store("s.db") as store:
            assert not store.rounds()  # nothing was asked


def test_one_of_a_thing_is_one(folder):
    hutch("active", "ask", "train.vw", "-i", "model", "--store", "s.db", "-n", 1)
    id = json.loads(hutch("active", "requests", "--store", "s.db").output)["id"]
    answer = json.dumps({"id": id, "worker": "ada", "label": 1}) + "\n"
    assert hutch("active", "answer", "-", "--store", "s.db", stdin=answer).output == "1 new answer, 0 known already\n"
    assert hutch("active", "learn", "-i", "model", "-f", "new", "--store", "s.db").output == "1 example learned\n"
    report = hutch("active", "report", "--store", "s.db").output
    assert report.startswith("1 request: 1 answered, 0 unknown, 0 open\n1 answer from 1 worker: 1 label, 0 skips\n")
