"""The label store: at-least-once answers, leases, the audit log, and what survives the death of a process."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from hutch.core.errors import DataError, StoreError
from hutch.durable.entries import Accepted, Counts, Round
from hutch.durable.records import DONT_KNOW, SKIP, Request, make_answer
from hutch.durable.store import Store
from hutch.durable.undo import answers_of, retract

ROUND = Round("pool.vw", 100, 3.0, 0.0)


def make_requests(n):
    return [Request(f"r{i}", f"|f x{i}", 0.1, 0.5, 2.0, "m0") for i in range(n)]


def answers(*triples):
    return [
        make_answer(request, worker, label, place=("answers.jsonl", line, 1))
        for line, (request, worker, label) in enumerate(triples, 1)
    ]


@pytest.fixture
def clock():
    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    with Store(tmp_path / "labels.db", create=True, clock=clock) as opened:
        opened.ask(make_requests(3), ROUND)
        opened.allow_labels(["-1", "1"])
        yield opened


def test_answers_are_counted_once_in_whatever_order_they_come(store):
    assert store.answer(answers(("r2", "ada", 1), ("r0", "bob", -1))) == Accepted(2, 0)
    assert store.answer(answers(("r0", "bob", -1), ("r2", "ada", 1), ("r2", "bob", 1))) == Accepted(1, 2)
    counts = store.counts()
    assert (counts.requests, counts.open, counts.answered, counts.labels, counts.workers) == (3, 1, 2, 3, 2)


def test_a_skip_leaves_the_request_open_and_not_knowing_closes_it(store):
    store.answer(answers(("r0", "ada", SKIP), ("r1", "ada", DONT_KNOW)))
    assert (store.counts().open, store.counts().unknown, store.counts().skips, store.counts().dont_knows) == (
        2,
        1,
        1,
        1,
    )
    assert store.lease("ada", 60).id == "r2"
    assert store.lease("bob", 60).id == "r0"
    store.answer(answers(("r1", "bob", 1)))  # a late label of another worker
    assert store.counts().answered == 1 and store.counts().unknown == 0


@pytest.mark.parametrize(
    ("third", "message"),
    [
        (("r9", "ada", 1), "answers.jsonl:3:1: id: there is no request 'r9'"),
        (("r2", "ada", 5), "answers.jsonl:3:1: label: got '5' for request 'r2', wanted -1, 1, skip or don't know"),
        (("r0", "ada", -1), "answers.jsonl:3:1: label: got '-1' from 'ada' for request 'r0', but this answer was '1'"),
    ],
)
def test_one_wrong_answer_changes_nothing(store, third, message):
    before = list(store.log())
    with pytest.raises(DataError) as raised:
        store.answer(answers(("r0", "ada", 1), ("r1", "ada", 1), third))
    assert str(raised.value).startswith(message)
    assert store.counts().answers == 0 and store.counts().open == 3
    assert list(store.log()) == before


def test_leases_keep_a_request_from_others_until_they_expire(store, clock):
    assert store.lease("ada", 60).id == "r0"
    assert store.lease("ada", 60).id == "r0"
    assert [store.lease(worker, 60).id for worker in ("bob", "cy")] == ["r1", "r2"]
    assert store.lease("dan", 60) is None and store.counts().leased == 3
    clock.now += 61
    assert store.lease("dan", 60).id == "r0"
    store.answer(answers(("r0", "ada", 1)))  # late, and still welcome
    assert store.counts().answered == 1
    assert store.lease("dan", 60).id == "r1"


def test_a_worker_gets_the_first_free_request_of_an_order(store):
    assert store.lease("ada", 60, ["r2", "r1"]).id == "r2"
    assert store.lease("bob", 60, ["r2", "r1"]).id == "r1"
    assert store.lease("cy", 60, []) is None  # nothing for them
    assert store.lease("ada", 60, []).id == "r2"  # what they hold they may answer
    assert store.lease("cy", 60, ["r2", "r1", "gone"]).id == "r0"  # all of those are held


def test_several_labels_may_be_wanted(tmp_path):
    with Store(tmp_path / "s.db", create=True) as store:
        store.ask(make_requests(1), ROUND, wanted=2)
        store.answer(answers(("r0", "ada", 1)))
        assert store.counts().open == 1 and store.lease("ada", 9) is None and store.lease("bob", 9).id == "r0"
        store.answer(answers(("r0", "bob", -1)))
        assert store.counts().answered == 1
        assert [outcome[3:] for outcome in store.outcomes()] == [("1", 0.5), ("-1", 0.5)]


def test_an_answer_ends_the_lease_of_its_own_worker_alone(tmp_path, clock):
    with Store(tmp_path / "labels.db", create=True, clock=clock) as store:
        store.ask(make_requests(1), ROUND, wanted=2)
        assert store.lease("ada", 60).id == "r0"
        store.answer(answers(("r0", "bob", 1)))
        assert store.lease("cy", 60) is None and store.lease("ada", 60).id == "r0"
        store.answer(answers(("r0", "bob", 1), ("r0", "ada", SKIP)))
        assert store.lease("cy", 60).id == "r0"


def test_labels_of_a_request_share_it_and_other_answers_do_not(tmp_path):
    with Store(tmp_path / "labels.db", create=True) as store:
        store.ask(make_requests(2), ROUND, wanted=3)
        given = ("r0", "ada", 1), ("r0", "bob", DONT_KNOW), ("r0", "cy", -1), ("r0", "dan", SKIP), ("r1", "ada", 1)
        store.answer(answers(*given))
        assert [(label, share) for *_, label, share in store.outcomes()] == [("1", 0.5), ("-1", 0.5), ("1", 1.0)]


def test_a_round_is_added_whole_or_not_at_all(store):
    with pytest.raises(StoreError, match="request 'r0' is there already: another run has asked"):
        store.ask([Request("new", "|f", 0.0, 0.5, 2.0, "m1"), *make_requests(1)], ROUND)
    assert store.counts().requests == 3 and len(store.rounds()) == 1


def test_the_audit_log_is_append_only(store, tmp_path):
    store.answer(answers(("r0", "ada", 1)))
    store.learned({"model": "m1"})
    assert [event.kind for event in store.log()] == ["ask", "answer", "learn"]
    assert [event.kind for event in store.log(after=1)] == ["answer", "learn"]
    connection = sqlite3.connect(tmp_path / "labels.db")
    for statement in ("DELETE FROM audit", "UPDATE audit SET detail = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def test_other_labels_need_another_store(store):
    store.allow_labels(["-1", "1"])
    with pytest.raises(StoreError, match="its labels are -1, 1, got 1, 2, 3"):
        store.allow_labels(["1", "2", "3"])


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no such store; `hutch active ask` makes one"):
        Store(tmp_path / "missing.db")
    (tmp_path / "text").write_text("this is no database, and long enough to be read as one" * 99)
    with pytest.raises(StoreError, match="cannot be used as a label store"):
        Store(tmp_path / "text", create=True)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="but not a label store"):
        Store(tmp_path / "other.db", create=True)


def test_many_threads_and_connections_share_one_store(tmp_path):
    path = tmp_path / "s.db"
    with Store(path, create=True) as store:
        store.ask(make_requests(60), ROUND)

    def work(name):
        given = []
        with Store(path) as own:
            while (request := own.lease(name, 60)) is not None:
                own.answer([make_answer(request.id, name, 1)])
                given.append(request.id)
        return given

    with ThreadPoolExecutor(6) as pool:
        given = [request for part in pool.map(work, "abcdef") for request in part]
    assert sorted(given) == sorted(request.id for request in make_requests(60))


WORKER = """
import sys, time
from hutch.durable.records import make_answer
from hutch.durable.store import Store
from hutch.durable.undo import answers_of, retract
path, name = sys.argv[1:]
store = Store(path)
for _ in range(2):
    while (request := store.lease(name, 0.2)) is not None:
        store.answer([make_answer(request.id, name, 1)])
        print(request.id, flush=True)
    time.sleep(0.5)  # until the leases of those that were killed have run out
"""


@pytest.mark.slow
def test_no_accepted_answer_is_lost_when_processes_are_killed(tmp_path):
    path, total = tmp_path / "s.db", 150
    with Store(path, create=True) as store:
        store.ask(make_requests(total), ROUND)
    acknowledged, randomness = [], random.Random(5)

    def listen(process):
        acknowledged.extend(line.strip() for line in process.stdout if line.endswith("\n"))

    for generation in range(4):
        group = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, path, f"w{generation}{i}"], stdout=subprocess.PIPE, text=True
            )
            for i in range(3)
        ]
        listeners = [threading.Thread(target=listen, args=[process]) for process in group]
        for listener in listeners:
            listener.start()
        if generation < 3:
            before = len(acknowledged)
            deadline = time.monotonic() + 20
            while len(acknowledged) < before + 5 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(randomness.random() * 0.05)
            for process in group:
                os.kill(process.pid, signal.SIGKILL)
        for process, listener in zip(group, listeners, strict=True):
            process.wait(timeout=60)
            listener.join(timeout=60)
            process.stdout.close()
    with Store(path) as store:
        assert store.counts().answered == total and store.counts().open == 0
        labelled = [event.detail["id"] for event in store.log() if event.kind == "answer"]
        assert set(acknowledged) <= set(labelled) and len(labelled) == store.counts().labels
        assert store.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_lease_does_not_look_at_all_open_requests(tmp_path, clock):
    """Steps of SQLite's virtual machine, which do not depend on the machine."""
    with Store(tmp_path / "many.db", create=True, clock=clock) as store:
        store.ask(make_requests(5000), ROUND, wanted=2)
        steps = []

        def steps_of(worker):
            steps.clear()
            store._connection.set_progress_handler(lambda: steps.append(1), 10)
            found = store.lease(worker, 60).id
            store._connection.set_progress_handler(None, 0)
            return found, 10 * len(steps)

        for worker, wanted in (("ada", "r0"), ("bob", "r1"), ("ada", "r0")):
            found, taken = steps_of(worker)
            assert found == wanted and taken < 1000
        store.answer([make_answer(f"r{i}", "ada", 1) for i in range(4000)])
        found, taken = steps_of("ada")
        assert found == "r4000" and taken < 30 * 4000  # what the worker has answered and others have not: milliseconds
        clock.now += 61
        assert steps_of("cy")[0] == "r0"


def counted(store):
    """The result of `counts`, counted by SQL."""
    [row] = store.rows(
        "SELECT count(*), sum(state = 'open'), sum(state = 'answered'), sum(state = 'unknown'),"
        " sum(state = 'open' AND leased_until > ?) FROM requests",
        [store.now()],
    )
    labels = store.rows("SELECT label, worker FROM labels")
    skips, unknown = (sum(label == kind for label, _ in labels) for kind in ("skip", "don't know"))
    return Counts(*row, len(labels), len(labels) - skips - unknown, skips, unknown, len({who for _, who in labels}))


def test_counts_are_right_whatever_happens(tmp_path, clock):
    choice = random.Random(3)
    with Store(tmp_path / "s.db", create=True, clock=clock) as store:
        store.ask(make_requests(40), ROUND, wanted=2)
        for k in range(300):
            name, request = f"w{choice.randrange(4)}", f"r{choice.randrange(40)}"
            if k % 10 == 9:
                retract(store, answers_of(store, name, 1)[0].id if answers_of(store, name, 1) else "none", 30.0)
            elif k % 3:
                label = choice.choice([1, -1, "skip", "don't know"])
                with suppress(DataError):  # another label of theirs
                    store.answer([make_answer(request, name, label)])
            else:
                store.lease(name, 50)
            clock.now += 1
            assert store.counts() == counted(store)
        assert min(asdict(store.counts()).values()) > 0


def moved(path):
    path.rename(path.with_name("elsewhere"))


def replaced(path):
    Store(path.with_name("other.db"), create=True).close()
    path.with_name("other.db").replace(path)


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("labels.db", Path.unlink, "labels.db: was deleted or moved while it was in use: nothing was stored"),
        ("labels.db", moved, "labels.db: was deleted or moved while it was in use: nothing was stored"),
        ("labels.db", replaced, "labels.db: was replaced by another file while it was in use: nothing was stored"),
        ("labels.db-wal", Path.unlink, "labels.db: its labels.db-wal was deleted or moved while it was in use"),
    ],
)
def test_nothing_is_acknowledged_that_no_name_leads_to(tmp_path, name, harm, message):
    with Store(tmp_path / "labels.db", create=True) as store:
        store.ask(make_requests(2), ROUND)
        harm(tmp_path / name)
        for _ in range(2):
            with pytest.raises(StoreError, match=message):
                store.answer([make_answer("r0", "ada", 1)])
        assert store.counts().answers == 0


def test_a_store_that_was_put_back_goes_on(tmp_path, monkeypatch):
    (tmp_path / "link.db").symlink_to(tmp_path / "labels.db")
    monkeypatch.chdir(tmp_path)
    with Store("labels.db", create=True) as store, Store("link.db") as other:
        monkeypatch.chdir("/")
        store.ask(make_requests(2), ROUND)
        (tmp_path / "labels.db").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="nothing was stored"):
            store.answer([make_answer("r0", "ada", 1)])
        with pytest.raises(StoreError, match="nothing was stored"):
            other.answer([make_answer("r0", "bob", 1)])
        (tmp_path / "elsewhere").rename(tmp_path / "labels.db")
        assert store.answer([make_answer("r0", "ada", 1)]).new == 1
        assert other.answer([make_answer("r1", "bob", 1)]).new == 1


def test_a_clock_that_was_wrong_keeps_no_request(tmp_path):
    with Store(tmp_path / "labels.db", create=True, clock=lambda: 4e9) as store:
        store.ask(make_requests(2), ROUND)
        assert store.lease("ada", 600).id == "r0"
    with Store(tmp_path / "labels.db", clock=lambda: 3e9) as store:
        assert store.lease("bob", 600).id == "r0"
        assert store.lease("cy", 600).id == "r1"
        assert store.lease("dan", 600) is None


def test_a_new_store_waits_for_who_has_begun_to_write(tmp_path, monkeypatch):
    """SQLite waits for them everywhere but where it turns to a write-ahead log."""
    path = tmp_path / "labels.db"

    class Meeting(sqlite3.Connection):
        def execute(self, sql, *rest):
            if "journal_mode" in sql and not others:
                others.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
                others[0].execute("BEGIN IMMEDIATE")
                threading.Timer(0.1, lambda: others[0].execute("COMMIT")).start()
            return super().execute(sql, *rest)

    others, connect = [], sqlite3.connect
    monkeypatch.setattr(
        "hutch.durable.schema.sqlite3.connect", lambda *given, **named: connect(*given, factory=Meeting, **named)
    )
    with Store(path, create=True) as store:
        assert store.rows("PRAGMA journal_mode") == [("wal",)]
        store.ask(make_requests(1), ROUND)
    others[0].close()


def test_several_processes_ask_at_once(tmp_path):
    code = """
import sys
from hutch.durable.entries import Round
from hutch.durable.records import Request
from hutch.durable.store import Store
with Store(sys.argv[1], create=True) as store:
    for k in range(20):
        store.ask([Request(f"{sys.argv[2]}-{k}", "|f x", 0.1, 0.5, 2.0, "m")], Round("pool", 9, 1.0, 0.0))
"""
    path = tmp_path / "labels.db"
    asking = [subprocess.Popen([sys.executable, "-c", code, path, str(n)], stderr=subprocess.PIPE) for n in range(3)]
    assert [(each.communicate(timeout=100)[1], each.returncode) for each in asking] == [(b"", 0)] * 3
    with Store(path) as store:
        assert sorted(store.ids()) == sorted(f"{n}-{k}" for n in range(3) for k in range(20))
        assert store.counts().requests == 60


def test_every_commit_is_synced(tmp_path):
    """Write-ahead logs of SQLite sync only now and then unless they are told to."""
    with Store(tmp_path / "labels.db", create=True) as store, store.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
