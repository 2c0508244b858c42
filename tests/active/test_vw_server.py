"""Vowpal Wabbit's active protocol over TCP: its transcript, its client's way of answering, and sudden death."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hutch.active.vw_server import VWSession
from hutch.chain import Chain
from hutch.durable.store import Store

shared = Path(__file__).parents[2].parent / "shared"
VW = {
    "seed": 5,
    "input": {"namespaces": "letter"},
    "chain": [
        {"active": {"rule": "vw", "mellowness": 0.1, "simulation": False}},
        {"linear": {"loss": "logistic", "learning_rate": 0.5}},
    ],
}
BUDGET = {"chain": [{"active": {"budget": 0.5}}, {"linear": {"loss": "logistic"}}]}


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as opened:
        yield opened


def state_of(chain):
    return {name: array.tobytes() for name, array in chain.arrays().items()}


@pytest.mark.skipif(not shared.is_dir(), reason="VW's recorded session is not distributed with Hutch")
@pytest.mark.filterwarnings("ignore:.*bad base.*got 'tag'")  # one of its lines is malformed, and VW goes on
def test_a_session_goes_as_with_vw(store):
    session = VWSession(Chain.from_config(VW), store, "m")
    transcript = (shared / "cases/vw/active/a20_daemon_transcript/session.txt").read_text().splitlines()
    pairs = list(zip(transcript[::2], transcript[1::2], strict=True))
    assert len(pairs) == 13
    for sent, expected in pairs:
        got, wanted = session.reply(sent[2:]).rstrip("\n").split(" "), expected[2:].split(" ")
        assert len(got) == len(wanted) and got[1:] == wanted[1:], sent
        assert float(got[0]) == pytest.approx(float(wanted[0]), abs=2e-6), sent


def test_what_was_asked_and_answered_is_in_the_store(store):
    session = VWSession(Chain.from_config(BUDGET), store, "m")
    session.reply("1 |f a b")
    assert session.reply("'t1 |f a").split(" ")[1:] == ["t1", "1.000000\n"]  # the rule trains with importance 1
    assert session.reply("-1 1.0 't1 |f a").split(" ")[1:] == ["t1\n"]
    assert store.counts().labels == 1 and store.counts().open == 0
    before = state_of(session.chain)
    session.reply("-1 1.0 't1 |f a")  # the client has lost our reply and sends the line again
    assert state_of(session.chain) == before and store.counts().labels == 1
    untagged = session.reply("|f z")
    assert untagged.split(" ")[1:] == ["", "1.000000\n"]
    session.reply("1 1.0 |f z")
    assert store.counts().labels == 2 and store.counts().open == 0
    assert [event.kind for event in store.log()] == ["line"] * 5


def test_a_tag_is_the_identity_of_its_line(store):
    session = VWSession(Chain.from_config(BUDGET), store, "m")
    session.reply("1 'first |f a b")
    asked = session.reply("'t1 |f a")
    before, examples = state_of(session.chain), store.rounds()[0][1].examples
    again = session.reply("'t1 |f a")  # the connection broke before the reply came
    assert again.split(" ")[1:] == asked.split(" ")[1:] == ["t1", "1.000000\n"]
    session.reply("1 'first |f a b")
    assert state_of(session.chain) == before and store.rounds()[0][1].examples == examples == 1
    session.reply("1 'first |f a c")  # another line: tags need not be unique
    session.reply("|f a")
    session.reply("|f a")  # without a tag nobody can tell
    assert store.rounds()[0][1].examples == 3
    assert len(list(store.log())) == 5


def test_a_line_that_was_logged_before_the_server_died_is_counted_and_asked_for(store, lines, tmp_path, monkeypatch):
    split = [line.split(" ", 1) for line in lines(80, 7)]
    sent = [f"{label if k < 40 else ''} 't{k} {features}" for k, (label, features) in enumerate(split)]

    def died(*_):
        raise KeyboardInterrupt

    def answered(opened, deaths):
        session, found = VWSession(Chain.from_config(BUDGET), opened, "m"), []
        for k, line in enumerate(sent):
            if k in deaths:
                with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                    patched.setattr(opened, "count_line", died)
                    session.reply(line)
                session = VWSession(Chain.from_config(BUDGET), opened, "m")
            found.append(session.reply(line))
        return found

    with Store(tmp_path / "whole.db", create=True) as whole:
        wanted = answered(whole, ())
        assert answered(store, range(40, 80, 3)) == wanted and 0 < store.counts().open == whole.counts().open < 40
        assert [one.probability for one in store.open_requests()] == [one.probability for one in whole.open_requests()]
        assert sum(each.examples for _, each in store.rounds()) == 40
        asked = [sum(each.probability for _, each in opened.rounds()) for opened in (store, whole)]
        assert asked[0] == pytest.approx(asked[1])


def test_a_model_is_where_it_was_after_reading_the_log_again(store, lines):
    session = VWSession(Chain.from_config(BUDGET), store, "m")
    for line in lines(60, 3):
        label, features = line.split(" ", 1)
        if len(session.reply(features).split(" ")) == 3:
            session.reply(f"{label} 1 {features}")
    assert state_of(VWSession(Chain.from_config(BUDGET), store, "m").chain) == state_of(session.chain)


SERVE = """
import sys
from hutch.core.net.web import listen
from hutch.durable.store import Store
from hutch.active.vw_server import VWSession, serve
from hutch.chain import Chain
with listen("127.0.0.1", 0) as listening:
    session = VWSession(Chain.load(sys.argv[2]), Store(sys.argv[1]), "m")
    serve(session, listening, lambda: print(listening.getsockname()[1], flush=True))
"""


def test_several_clients_and_a_killed_server(store, lines, tmp_path):
    model = tmp_path / "model"
    Chain.from_config(BUDGET).save(model)
    command = [sys.executable, "-c", SERVE, tmp_path / "labels.db", model]
    answered = []

    def client(port, name, part):
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as file:

            def say(line):
                file.write(line + "\n")
                file.flush()
                return file.readline().rstrip("\n").split(" ")

            for k, line in enumerate(part):
                label, features = line.split(" ", 1)
                tag = f"{name}-{k}"
                if len(say(f"'{tag} {features}")) == 3 and say(f"{label} 1 '{tag} {features}")[1:] == [tag]:
                    answered.append(tag)

    for k in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline())
        clients = [threading.Thread(target=client, args=[port, f"c{k}{i}", lines(15, 10 * k + i)]) for i in range(3)]
        for one in clients:
            one.start()
        for one in clients:
            one.join(timeout=60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    labelled = [row[0] for row in store.rows("SELECT request FROM labels")]
    assert len(answered) > 10 and sorted(labelled) == sorted(answered)
    rebuilt = VWSession(Chain.load(model), store, "m")
    assert rebuilt.layer.progress["bought"][0] == len(answered)
