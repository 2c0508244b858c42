"""`hutch active` from end to end."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.active.store import Store
from hutch.chain import Chain
from hutch.cli.commands import app

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


def test_simulate_draws_and_prints(folder):
    output = hutch("active", "simulate", "train.vw", "-C", "chain.yaml", "--plots", "plots").output
    assert (folder / "plots" / "active.png").read_bytes().startswith(b"\x89PNG")
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
    assert "20 requests: 20 answered" in hutch("active", "report", "--store", "s.db").stdout
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
        ('{"id": 1', "<stdin>:2:9: not a JSON object"),
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
        (["serve", "--store", "s.db", "--vw-port", "0"], "--vw-port needs a model"),
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
        assert found["labels"][1] == {"value": "1", "name": "spam"} and found["progress"]["open"] == 2
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
