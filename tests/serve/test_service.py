"""A model over years: one writer, a log of its own, damage that is said, requests that would ruin it, saves kept."""

import asyncio
import gc
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import time
import tracemalloc
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.chain.model_file import save_model
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.errors import DataError, HutchError, ModelError, StoreError
from hutch.core.overflow import clear_flags, may_have_overflowed
from hutch.core.run.one import OneExample
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.durable.model_file import snapshots
from hutch.net.limits import Limits
from hutch.serve import server
from hutch.serve.bodies import JSON, TEXT
from hutch.serve.served import NotFinite, Served
from tests.forked_hutch import hutch

LINEAR: dict[str, Any] = {"weights": {"bits": 12}, "chain": [{"linear": {"loss": "squared"}}]}
WIDE = Limits(importance=1e38, value=1e39)
LINES = [f"{k % 3} |f a{k} b:{k % 7}.5 c" for k in range(40)]


@dataclass
class Session:
    """State that a session of the service leaves behind."""

    position: int
    examples: int
    arrays: dict[str, bytes]
    answers: list[Any]
    rejected: dict[str, int]


def serve(
    path: Path,
    bodies: Iterable[Any] = (),
    *,
    name: str = "m",
    save: bool = False,
    store: Path | None = None,
    **options: Any,
) -> Session:
    """Serve a model, teach it bodies, and die, after a save or without one."""
    limits, keep = options.pop("limits", None), options.pop("keep", 0)

    async def main() -> Session:
        log = Log(store or path.with_name("log.db"), **options)
        served = None
        try:
            served = Served(path, log, name, limits, keep)
            log.start(asyncio.get_running_loop())
            answers: list[Any] = []
            for body in bodies:
                body, id = body if isinstance(body, tuple) else (body, "")
                try:
                    answers.append(await served.learn(TEXT, body.encode(), id))
                except HutchError as error:
                    answers.append(error)
            await served.drain()
            if save:
                await served.save()
            arrays = {name: array.tobytes() for name, array in served.chain.arrays().items()}
            examples = served.chain.statistics.examples
            return Session(served.position, examples, arrays, answers, dict(served.rejected))
        finally:
            await asyncio.to_thread(log.close)
            if served is not None:
                served.close()

    return asyncio.run(main())


def new_model(path: Path, config: Any = None) -> Path:
    Chain.from_config(config or LINEAR).save(path)
    return path


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A model that has learned nothing."""
    return new_model(tmp_path / "m")


def taught(lines: Iterable[str], config: Any = None) -> dict[str, bytes]:
    """The arrays of a model that was taught line by line without a server."""
    chain = Chain.from_config(config or LINEAR)
    for line in lines:
        chain.learn([line])
    return {name: array.tobytes() for name, array in chain.arrays().items()}


def same(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    return all(array == other[name] for name, array in one.items() if name not in ("shared.testing", "shared.time"))


# One writer


def test_two_servers_on_one_model(fresh: Path) -> None:
    ready = subprocess.Popen([hutch(), "serve", "m", "--port", "0", "--store", "a.db"], cwd=fresh.parent, stdout=-1)
    try:
        assert ready.stdout is not None and ready.stdout.readline().startswith(b"http")
        second = [hutch(), "serve", "prod=./m", "--port", "0", "--store", "b.db"]
        done = subprocess.run(second, cwd=fresh.parent, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "m: another server is using it" in done.stderr
    finally:
        ready.kill()
        ready.communicate()


@pytest.mark.parametrize("keep", [0, 2])
def test_a_model_is_held_however_often_it_is_saved(fresh: Path, keep: int) -> None:
    log = Log(fresh.with_name("log.db"))
    served = Served(fresh, log, "m", None, keep)
    for number in range(3):
        served._write(number, served.chain.arrays(), served.chain.metadata())
        with pytest.raises(StoreError, match="m: another server is using it"):
            Served(fresh, log, "other")
    served.close()
    log.close()


@pytest.mark.parametrize("how", ["written", "replaced", "removed"])
def test_a_file_that_changed_under_the_server_is_never_overwritten(fresh: Path, how: str) -> None:
    async def main() -> None:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m")
        log.start(asyncio.get_running_loop())
        await served.learn(TEXT, b"1 |f a")
        if how == "written":
            new_model(other := fresh.with_name("other"))
            fresh.write_bytes(other.read_bytes())
        elif how == "replaced":
            os.replace(new_model(fresh.with_name("other")), fresh)
        else:
            fresh.unlink()
        before = fresh.read_bytes() if fresh.exists() else None
        with pytest.raises(
            StoreError,
            match="m: (was changed by another program|cannot be written: it was removed) while it was served",
        ):
            await served.save()
        assert (fresh.read_bytes() if fresh.exists() else None) == before and served.failed_saves == 1
        await asyncio.to_thread(log.close)
        served.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "command",
    [
        ["train", "data", "-f", "m"],
        ["vw", "data", "-f", "m"],
        ["crowd", "labels", "-f", "m"],
        ["train", "data", "-i", "m", "-f", "link"],
    ],
)
def test_no_command_replaces_a_model_that_is_served(
    fresh: Path, command: list[str], monkeypatch: Any, capfd: Any
) -> None:
    from hutch.cli.dispatch import run

    monkeypatch.chdir(fresh.parent)
    Path("data").write_text("1 |f a\n")
    Path("labels").write_text("ann\tt\tx\n")
    Path("link").symlink_to("m")
    log = Log(fresh.with_name("log.db"))
    served, before = Served(fresh, log, "m"), fresh.read_bytes()
    assert run(command) == 1 and "m: cannot be written: a server is using it" in capfd.readouterr().err
    assert fresh.read_bytes() == before
    log.close()
    served.close()
    assert run(command) == 0 and fresh.read_bytes() != before


def test_a_request_for_which_there_was_no_memory_is_learned_after_a_restart(fresh: Path, monkeypatch: Any) -> None:
    """It is in the log: neither a later learn request nor a save may pass it over."""

    def run_one(*given: Any) -> Any:
        raise MemoryError

    async def main() -> None:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m")
        log.start(asyncio.get_running_loop())
        with monkeypatch.context() as short:
            short.setattr(OneExample, "run", run_one)
            with pytest.raises(StoreError, match="m: MemoryError: .* start the server again"):
                await served.learn(TEXT, b"1 |f a", "key")
        for body, key in ((b"1 |f a", "key"), (b"1 |f b", "")):
            with pytest.raises(StoreError, match="start the server again"):
                await served.learn(TEXT, body, key)
        with pytest.raises(StoreError, match="start the server again"):
            await served.save()
        await asyncio.to_thread(log.close)
        served.close()

    asyncio.run(main())
    log = Log(fresh.with_name("log.db"))
    served = Served(fresh, log, "m")
    assert same(taught(["1 |f a"]), {name: array.tobytes() for name, array in served.chain.arrays().items()})
    log.close()
    served.close()


def test_no_server_takes_a_model_that_a_training_will_write(fresh: Path, monkeypatch: Any) -> None:
    """Said at the start of the server, and not at the end of hours of training."""
    from hutch.cli.dispatch import run
    from hutch.core.run import run as running

    def passes(*given: Any, **options: Any) -> Any:
        log = Log(fresh.with_name("log.db"))
        with pytest.raises(StoreError, match="m: another server is using it, or a run that will write it"):
            Served(fresh, log, "m")
        log.close()
        return run_passes(*given, **options)

    run_passes = running.run_passes
    monkeypatch.setattr(running, "run_passes", passes)
    monkeypatch.chdir(fresh.parent)
    Path("data").write_text("1 |f a\n")
    assert run("train data -i m -f m --quiet".split()) == 0
    log = Log(fresh.with_name("log.db"))
    Served(fresh, log, "m").close()
    log.close()


def test_a_learn_request_sent_twice_is_answered_when_it_is_known_what_became_of_it(fresh: Path) -> None:
    """A save keeps learning waiting: meanwhile nobody is told that a learn request is learned which may be refused."""

    async def use(served: Served) -> list[Any]:
        served._pausing = True
        sent = [
            asyncio.create_task(served.learn(TEXT, body, id))
            for body, id in ((b"1 |f a", "a"), (b"1e38 |f a:1e30", "b")) * 2
        ]
        await asyncio.sleep(0.05)
        known = [each for each in sent if each.done()]
        served._pausing = False
        served._go_on()
        assert not known
        return await asyncio.gather(*sent, return_exceptions=True)

    async def main() -> list[Any]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE)
        log.start(asyncio.get_running_loop())
        try:
            return await use(served)
        finally:
            await served.drain()
            await asyncio.to_thread(log.close)
            served.close()

    first, ruin, again, ruin_again = asyncio.run(main())
    assert (first.repeated, again.repeated) == (False, True)
    assert isinstance(ruin, NotFinite) and isinstance(ruin_again, NotFinite)


def test_a_commit_that_fails_in_an_unforeseen_way_leaves_nobody_waiting(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> list[Any]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m")
        log.start(asyncio.get_running_loop())
        fails = failing_once(log.write, MemoryError(), lambda *arguments: True)
        monkeypatch.setattr(log, "write", fails)
        sent = [await asyncio.gather(served.learn(TEXT, b"1 |f a"), return_exceptions=True) for _ in range(2)]
        await asyncio.to_thread(log.close)
        served.close()
        return [answer for [answer] in sent]

    first, second = asyncio.run(main())
    assert isinstance(first, StoreError) and "MemoryError" in str(first) and second.position == 1


def failing_once(real: Any, error: Exception, fails: Any) -> Any:
    """A function that fails the first time that its arguments say so."""
    left = [error]

    def call(*arguments: Any) -> Any:
        if left and fails(*arguments):
            raise left.pop()
        return real(*arguments)

    return call


def test_a_save_whose_folder_cannot_be_synced_is_made_again(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stands there already: it is this server's own, and is learned from no second time."""

    async def main() -> dict[str, bytes]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE, keep=5)
        log.start(asyncio.get_running_loop())
        await served.learn(TEXT, LINES[0].encode())
        is_folder = lambda descriptor: stat.S_ISDIR(os.fstat(descriptor).st_mode)  # noqa: E731
        monkeypatch.setattr(os, "fsync", failing_once(os.fsync, OSError(5, "Input/output error"), is_folder))
        with pytest.raises(HutchError, match="Input/output error"):
            await served.save()
        await served.learn(TEXT, LINES[1].encode())
        with pytest.raises(NotFinite):
            await served.learn(TEXT, b"1e38 |f a:1e30")
        assert await served.save() or served.saved >= 2
        arrays = {name: array.tobytes() for name, array in served.chain.arrays().items()}
        await asyncio.to_thread(log.close)
        served.close()
        return arrays

    wanted = taught(LINES[:2])
    assert same(asyncio.run(main()), wanted) and same(serve(fresh).arrays, wanted)
    for number, path in snapshots(fresh).items():  # each is what its name says
        held = {name: array.tobytes() for name, array in Chain.load(path).arrays().items()}
        assert same(held, taught(LINES[: min(number, 2)])), number


def test_a_log_that_cannot_be_read_after_a_refusal_ends_the_server(fresh: Path, monkeypatch: Any) -> None:
    """The model would lack what was learned since its last save; the next start has it."""

    async def main() -> None:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE)
        log.start(asyncio.get_running_loop())
        await served.learn(TEXT, LINES[0].encode())
        error = StoreError("the disk cannot be read")
        monkeypatch.setattr(log, "entries", failing_once(log.entries, error, lambda *arguments: True))
        with pytest.raises(StoreError, match="start the server again"):
            await served.learn(TEXT, RUIN.encode())
        with pytest.raises(StoreError, match="start the server again"):
            await served.save()
        await asyncio.to_thread(log.close)
        served.close()

    asyncio.run(main())
    assert same(serve(fresh, limits=WIDE).arrays, taught(LINES[:1]))


def test_a_refusal_that_cannot_be_written_is_no_success(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent again, the learn request is refused; and no save says that it was learned."""

    async def main(save: bool) -> list[Any]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE)
        log.start(asyncio.get_running_loop())
        error = StoreError("the disk is full")
        monkeypatch.setattr(log, "refuse", failing_once(log.refuse, error, lambda *arguments: True))
        found: list[Any] = []
        for _ in range(2):
            found += await asyncio.gather(served.learn(TEXT, b"1e38 |f a:1e30", "key"), return_exceptions=True)
            if save:
                await served.save()
        await served.drain()
        await asyncio.to_thread(log.close)
        served.close()
        return found

    first, second = asyncio.run(main(save=False))
    assert isinstance(first, StoreError) and isinstance(second, NotFinite)
    fresh.unlink()
    fresh.with_name("log.db").unlink()
    fresh.with_name("log.db-last").unlink()
    new_model(fresh)
    first, second = asyncio.run(main(save=True))
    assert isinstance(first, StoreError) and isinstance(second, NotFinite)
    assert not any(isinstance(each, DataError) for each in serve(fresh, [(LINES[0], "key")]).answers)


# Receipts: a replay proves itself


@pytest.mark.parametrize(
    "config", [LINEAR, {"weights": {"bits": 12}, "chain": [{"one_against_all": {"classes": 3}}, "linear"]}]
)
def test_a_replay_equals_what_was_told(fresh: Path, capfd: pytest.CaptureFixture[str], config: Any) -> None:
    new_model(fresh, config)
    lines = [f"{1 + k % 3} |f a{k % 5} b:{k}" for k in range(20)] + [
        "\n".join(f"{1 + k % 3} |f c{k}" for k in range(700))
    ]
    serve(fresh, lines)
    log = Log(fresh.with_name("log.db"))
    served = Served(fresh, log, "m")
    assert (served.replayed, served.proofs.proved) == (21, 21)
    served.proofs.say(served.replayed)
    assert "m: replayed 21 entries; receipts of all 21 are equal" in capfd.readouterr().err
    served.close()
    log.close()


def test_a_replay_that_predicts_something_else_is_refused_by_name(fresh: Path) -> None:
    serve(fresh, LINES[:6], save=True, keep=3)
    serve(fresh, LINES[6:12], keep=3)
    log = Log(fresh.with_name("log.db"))
    with log.store.transaction() as connection:
        connection.execute("UPDATE serve_starts SET made_by = ?", [json.dumps({"hutch": "0.0.7", "numpy": "1"})])
    log.close()
    arrays, metadata = load_chain_model(fresh)
    chain = Chain.from_arrays(arrays, metadata, str(fresh))
    chain.weights *= np.float32(0.999)  # as another build would have learned it
    save_model(fresh, chain.arrays(), {**chain.metadata(), "log": metadata["log"]})
    wrong = r"m: entry [78] of .*log.db predicts something else than .* was told \(written by hutch 0.0.7, numpy 1"
    with pytest.raises(StoreError, match=f"{wrong}.*--accept-difference"):
        serve(fresh, keep=3)
    with pytest.raises(StoreError, match=wrong):  # nothing was changed by trying
        serve(fresh, keep=3)
    found = serve(fresh, keep=3, accept_difference=True)
    assert found.position == 12 and not same(found.arrays, taught(LINES[:12]))
    assert serve(fresh, keep=3).position == 12  # accepted once: these are the predictions from now on


def _as_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start as a build whose weights differ a little."""
    built = Chain.from_arrays

    def other(arrays: Any, metadata: Any, source: str) -> Chain:
        chain = built(arrays, metadata, source)
        chain.weights *= np.float32(0.999)
        return chain

    monkeypatch.setattr(Chain, "from_arrays", other)
    for module in ("hutch.durable.log", "hutch.serve.proofs"):
        monkeypatch.setattr(f"{module}.maker", lambda: {"hutch": "9.9"})


def test_a_refused_version_leaves_the_log_to_the_one_that_wrote_it(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(fresh, LINES[:6], save=True)
    serve(fresh, LINES[6:12])
    with monkeypatch.context() as patched:
        _as_another_version(patched)
        with pytest.raises(StoreError, match=r"entry 7 of .*read by hutch 9.9\)"):
            serve(fresh)
    assert same(serve(fresh).arrays, taught(LINES[:12]))


def test_a_version_gives_no_receipts_for_what_another_one_said(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(fresh, LINES[:6], save=True)
    serve(fresh, LINES[6:12])
    log = Log(fresh.with_name("log.db"))
    with log.store.transaction() as connection:  # as after a crash, in which the last receipts are lost
        connection.execute("DELETE FROM serve_receipts")
    log.close()
    with monkeypatch.context() as patched:
        _as_another_version(patched)
        assert serve(fresh).position == 12
    assert same(serve(fresh).arrays, taught(LINES[:12]))


def test_a_version_that_refuses_what_another_one_learned_does_not_start(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(fresh, LINES[:6])

    def stricter(kind: str, body: bytes) -> Any:
        raise DataError("f is no namespace")

    with monkeypatch.context() as patched:
        patched.setattr("hutch.serve.served.single", stricter)
        with pytest.raises(StoreError, match="entry 1 of .* predicts something else"):
            serve(fresh)
    assert same(serve(fresh).arrays, taught(LINES[:6]))


def test_a_refused_request_proves_no_entry_twice(fresh: Path) -> None:
    serve(fresh, LINES[:6])
    log = Log(fresh.with_name("log.db"))
    with log.store.transaction() as connection:
        log.write(connection, Entry(1, TEXT, b"1e38 |f a:1e30"))
    served = Served(fresh, log, "m", WIDE)
    assert (served.replayed, served.proofs.proved) == (7, 6)
    served.close()
    log.close()


def test_receipts_go_with_their_entries(fresh: Path) -> None:
    serve(fresh, LINES[:6], save=True)
    log = Log(fresh.with_name("log.db"))
    assert log.store.rows("SELECT count(*) FROM serve_receipts") == [(0,)]
    log.close()


# The log belongs to the model


def test_the_file_from_before_the_service_does_not_replace_what_has_learned(fresh: Path) -> None:
    new = fresh.read_bytes()
    serve(fresh, LINES[:6], save=True)
    fresh.write_bytes(new)
    with pytest.raises(
        StoreError, match=r"m: was never in service, but .* is of a model 'm' that was, up to entry 6: "
    ):
        serve(fresh)
    assert fresh.read_bytes() == new
    assert serve(fresh, name="n").examples == 0
    fresh.write_bytes(new)
    assert serve(fresh, accept_loss=True).examples == 0


def test_entries_are_not_stranded_by_another_name(fresh: Path) -> None:
    serve(fresh, LINES[:3], name="m")
    found = serve(fresh, name="prod")
    assert found.position == 3 and same(found.arrays, taught(LINES[:3]))


def test_a_file_under_another_name_finds_its_log_or_says_so(fresh: Path) -> None:
    serve(fresh, LINES[:3])
    moved = fresh.rename(fresh.with_name("moved"))
    assert serve(moved).examples == 3
    with pytest.raises(
        StoreError, match=r"moved: its entries are in another log than .*other.db: name that with --store"
    ):
        serve(moved, store=fresh.with_name("other.db"))
    assert serve(moved, store=fresh.with_name("other.db"), accept_loss=True).examples == 0


def test_an_older_model_is_refused_and_with_leave_learns_again(fresh: Path) -> None:
    serve(fresh, [(line, f"id {k}") for k, line in enumerate(LINES[:2])], save=True)
    old = shutil.copy(fresh, fresh.with_name("old"))
    serve(fresh, [(line, f"id {k + 2}") for k, line in enumerate(LINES[2:4])], save=True)
    shutil.copy(old, fresh)
    text = "m: older than its log: it holds entries up to 2, those up to 4 are in a newer file"
    with pytest.raises(StoreError, match=text):
        serve(fresh)
    again = [(line, f"id {k}") for k, line in enumerate(LINES[:4])]
    found = serve(fresh, again, accept_loss=True)
    assert [answer.repeated for answer in found.answers] == [True, True, False, False]
    assert [answer.position for answer in found.answers] == [1, 2, 5, 6]
    assert same(found.arrays, taught(LINES[:4]))
    assert serve(fresh).position == 6  # without leave: it has been given once


def test_a_model_newer_than_its_log_is_refused(fresh: Path) -> None:
    serve(fresh, LINES[:2], save=True)
    for name in ("log.db", "log.db-last"):
        shutil.copy(fresh.with_name(name), fresh.with_name(f"copy-{name}"))
    serve(fresh, LINES[2:4], save=True)
    for name in ("log.db", "log.db-last"):
        shutil.copy(fresh.with_name(f"copy-{name}"), fresh.with_name(name))
    with pytest.raises(StoreError, match="m: newer than its log, which ends at 2: the model holds entries up to 4"):
        serve(fresh)
    found = serve(fresh, LINES[4:5], accept_loss=True)
    assert found.position == 5 and same(found.arrays, taught(LINES[:5]))


def test_another_history_is_refused(fresh: Path) -> None:
    serve(fresh, LINES[:1], save=True)
    for end in ("first", "second"):
        (folder := fresh.with_name(end)).mkdir()
        for path in fresh.parent.glob("*"):
            if path.is_file():
                shutil.copy(path, folder)
        serve(folder / "m", [f"1 |f {end}"], keep=1, save=True)
    shutil.copy(fresh.with_name("first") / "m", fresh.with_name("second") / "m")
    with pytest.raises(StoreError, match="not the model of its log, which goes on from another one at 2"):
        serve(fresh.with_name("second") / "m")


def test_a_copy_is_another_model_with_leave_only(fresh: Path) -> None:
    serve(fresh, LINES[:2], save=True)
    copy = Path(shutil.copy(fresh, fresh.with_name("copy")))
    log = Log(fresh.with_name("log.db"))
    one = Served(fresh, log, "one")
    with pytest.raises(StoreError, match="copy: a copy of the model 'two' that is served already"):
        Served(copy, log, "two")
    log.accept_loss = True
    other = Served(copy, log, "two")
    assert other.place.identity != one.place.identity and other.chain.statistics.examples == 2
    for each in (one, other, log):
        each.close()


# Damage


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "message", "left"),
    [
        ("UPDATE serve_log SET body = x'32' WHERE number = 3", r"1 entry cannot be read, the first is 3", [0, 1, 3, 4]),
        ("UPDATE serve_log SET checksum = 7 WHERE number = 5", r"1 entry cannot be read, the first is 5", [0, 1, 2, 3]),
        ("UPDATE serve_log SET kind = 'text/plaim' WHERE number = 1", r"the first is 1; 4 can", [1, 2, 3, 4]),
        ("DELETE FROM serve_log WHERE number = 2", r"entries are missing before 3; 4 can", [0, 2, 3, 4]),
        ("DELETE FROM serve_log WHERE number > 3", r"entries are missing behind 3, up to 5; 3 can", [0, 1, 2]),
        ("UPDATE serve_log SET number = number + 10 WHERE number = 2", "are missing before 3", [0, 2, 3, 4, 1]),
        ("UPDATE serve_log SET body = 7, chain = 'x' WHERE number = 3", r"the first is 3; entries", [0, 1, 3, 4]),
        ("UPDATE serve_log SET checksum = -3 WHERE number = 3", r"the first is 3; 4 can", [0, 1, 3, 4]),
    ],
)  # fmt: skip
def test_a_damaged_log_says_what_is_lost(fresh: Path, statement: str, message: str, left: list[int]) -> None:
    serve(fresh, LINES[:5])
    change(fresh.with_name("log.db"), statement)
    with pytest.raises(StoreError, match=message):
        serve(fresh)
    found = serve(fresh, accept_loss=True)
    assert same(found.arrays, taught([LINES[k] for k in left]))
    assert serve(fresh, ["1 |f new"]).position > found.position
    assert same(serve(fresh).arrays, taught([*(LINES[k] for k in left), "1 |f new"]))


def test_entries_that_a_database_has_lost_without_a_word(fresh: Path) -> None:
    serve(fresh, LINES[:2], save=True)
    kept = [(path, path.read_bytes()) for path in (fresh, fresh.with_name("log.db"))]
    serve(fresh, LINES[2:5])
    for path, content in kept:  # as where SQLite drops a damaged end of its own log
        path.write_bytes(content)
    with pytest.raises(
        StoreError, match=r"log.db: damaged: entries 3 to 5 of the log, which were acknowledged, are gone"
    ):
        serve(fresh)
    assert [answer.position for answer in serve(fresh, LINES[2:3], accept_loss=True).answers] == [6]
    assert serve(fresh).position == 6


def test_flipped_bits_never_change_a_learn_request_in_silence(fresh: Path) -> None:
    serve(fresh, LINES)
    store, wanted = fresh.with_name("log.db"), taught(LINES)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content, first, dice, said = store.read_bytes(), fresh.read_bytes(), np.random.default_rng(5), 0
    place = content.index(LINES[20].encode())
    for _ in range(25):
        damaged = bytearray(content)
        damaged[place + int(dice.integers(-300, 300))] ^= 1 << int(dice.integers(8))
        store.write_bytes(damaged)
        fresh.write_bytes(first)
        for more in ("-wal", "-shm"):
            store.with_name(f"{store.name}{more}").unlink(missing_ok=True)
        try:
            assert same(serve(fresh).arrays, wanted)
        except HutchError:
            said += 1
    assert said > 15


def test_a_wrong_clock_forgets_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(fresh, [("1 |f a", "key")], save=True, remember=30 * 86400.0)
    later = time.time() + 40 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    found = serve(fresh, ["1 |f b", ("1 |f a", "key")], save=True, remember=30 * 86400.0)
    assert found.answers[1].repeated
    assert serve(fresh, [("1 |f a", "key")], remember=30 * 86400.0).answers[0].repeated


def test_the_number_of_ids_is_bounded(fresh: Path) -> None:
    serve(fresh, [(line, f"id {k}") for k, line in enumerate(LINES[:9])], save=True, most=4)
    with closing(sqlite3.connect(fresh.with_name("log.db"))) as connection:
        assert connection.execute("SELECT id FROM serve_ids ORDER BY number").fetchall() == [
            (f"id {k}",) for k in range(5, 9)
        ]


# Learn requests that would ruin the model

RUIN = "1e38 |w a:1e30"
BODIES = {"line": RUIN, "lines": f"1 |f a\n{RUIN}\n1 |f b", "many": "\n".join([*LINES * 10, RUIN, *LINES * 10])}


@pytest.mark.parametrize("body", list(BODIES.values()), ids=list(BODIES))
def test_a_learn_request_that_would_ruin_the_model_changes_nothing(fresh: Path, body: str) -> None:
    asked = [*LINES[:5], (body, "bad"), *LINES[5:9], ("1 |f mended", "bad")]
    found = serve(fresh, asked, limits=WIDE)
    error = found.answers[5]
    assert isinstance(error, NotFinite) and "would not be finite, so nothing was learned: " in str(error)
    wanted = taught([*LINES[:9], "1 |f mended"])
    assert same(found.arrays, wanted) and found.rejected == {"not_finite": 1}
    assert not found.answers[-1].repeated
    again = serve(fresh, limits=WIDE)  # after a crash
    assert same(again.arrays, wanted) and again.position == found.position


def test_a_crash_before_the_refusal_is_written_refuses_again(fresh: Path) -> None:
    serve(fresh)
    log = Log(fresh.with_name("log.db"))
    for line in (*LINES[:3], RUIN, LINES[3], RUIN, LINES[4]):
        log.append_now(Entry(1, TEXT, line.encode()))
    log.close()
    for _ in range(2):
        found = serve(fresh, limits=WIDE)
        assert same(found.arrays, taught(LINES[:5]))


def test_what_is_refused_stays_in_no_memory(tmp_path: Path, in_service: Any) -> None:
    path = new_model(tmp_path / "model", {"weights": {"bits": 8}, "chain": [{"linear": {"loss": "squared"}}]})
    kept = []

    async def use(service: Any) -> None:
        for k in range(60):
            found = await service.post("/v1/learn", "1e12 |a b:1e12" + " " * 100_000)
            assert found.status_code == 422 and "would not be finite" in found.text
            if k in (9, 59):
                gc.collect()
                kept.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        in_service([path], use, limits=WIDE)
    finally:
        tracemalloc.stop()
    assert kept[1] - kept[0] < 1e6  # fifty bodies are 5 MB


def test_a_ruinous_reward_is_refused_and_may_be_told_again(tmp_path: Path, in_service: Any) -> None:
    adf = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
    path = new_model(tmp_path / "model", {"weights": {"bits": 12}, "chain": ["explore_epsilon", *adf]})
    decision = '{"shared": {"u": {"a": 1e30}}, "actions": [{"v": ["b"]}, {"v": ["c"]}]}'

    async def use(service: Any) -> None:
        before = service.first.chain.weights.tobytes()
        assert (await service.post("/v1/rank?id=x", decision, JSON)).status_code == 200
        found = await service.post("/v1/reward", '{"id": "x", "cost": 1e38}', JSON)
        assert found.status_code == 422 and "would not be finite" in found.text
        assert service.first.chain.weights.tobytes() == before
        found = await service.post("/v1/reward", '{"id": "x", "cost": 2e38}', JSON)
        assert found.status_code == 422 and "would not be finite" in found.text

    in_service([path], use, limits=WIDE)


def test_numbers_beyond_the_limits_are_refused(fresh: Path) -> None:
    asked = ["1 2e6 |f a", "1 |f a\n1 |f b:2e12", "2e12 |f a", "1 1e6 |f a:1e12"]
    found = serve(fresh, asked)
    texts = [str(error) for error in found.answers[:3]]
    assert texts == [
        "<body>:1:1: got the importance 2e+06, wanted at most 1e+06; --max-importance changes that",
        "<body>:2:1: got the value 2e+12, wanted at most 1e+12; --max-value changes that",
        "<body>:1:1: got the label 2e+12, wanted at most 1e+12; --max-value changes that",
    ]
    assert not isinstance(found.answers[3], DataError) or isinstance(found.answers[3], NotFinite)
    assert found.rejected["malformed"] == 3 and found.position >= 1


def test_a_model_that_is_not_finite_is_not_served(fresh: Path) -> None:
    chain = Chain.load(fresh)
    chain.weights[5] = np.inf
    with pytest.warns(UserWarning, match="overflowed"):
        chain.save(fresh)
    with pytest.warns(UserWarning, match="overflowed"), pytest.raises(ModelError, match="m: cannot be served: "):
        serve(fresh)


def test_a_model_that_draws_numbers_is_not_served(tmp_path: Path) -> None:
    layers = ["sample_density", {"action_density": {"lowest": 0, "highest": 1}}, "linear"]
    Chain.from_config({"chain": layers}).save(tmp_path / "m")
    with pytest.raises(ModelError, match="m: cannot be served: each request would draw the same number"):
        serve(tmp_path / "m")


CHAINS = [
    *[[{"linear": {"loss": loss}}] for loss in ("squared", "logistic", "hinge", "quantile", "poisson")],
    [
        {
            "linear": {
                "loss": "squared",
                "adaptive": False,
                "normalized": False,
                "invariant": False,
                "interactions": [["f", "f"]],
            }
        }
    ],
    *[[name] for name in ("ftrl_proximal", "pistol", "coin_betting")],
    [{"dyadic": {"left": "f", "right": "g", "rank": 2}}],
]


@pytest.mark.parametrize("layers", CHAINS, ids=lambda layers: str(layers[0])[:40])
def test_without_a_flag_a_model_is_finite(layers: list[Any]) -> None:
    """The flags of the processor miss nothing: for whatever is learned, a model of which none speaks is finite."""
    chain = Chain.from_config({"weights": {"bits": 8}, "chain": layers})
    dice, seen = np.random.default_rng(1), 0
    start = {name: array.copy() for name, array in chain.arrays().items()}
    for _ in range(400):
        sizes = 10.0 ** dice.uniform(-30, 38, 3) if dice.random() < 0.5 else dice.uniform(0, 2, 3)
        label = dice.choice([-1, 1]) if "logistic" in str(layers) or "hinge" in str(layers) else sizes[2]
        [batch] = chain.batches([f"{label} |f a{dice.integers(9)}:{sizes[0]} b |g c{dice.integers(5)}:{sizes[1]}"])
        clear_flags()
        chain.run_batch(batch)
        if not may_have_overflowed():
            assert np.isfinite(chain.weights).all()
        elif not np.isfinite(chain.weights).all():
            seen += 1
            chain.restore(start)
    assert seen or "dyadic" in str(layers)


# Saves that are kept, readiness, figures


def test_earlier_saves_are_kept_with_the_log_behind_them(fresh: Path) -> None:
    for k in range(5):
        serve(fresh, LINES[2 * k : 2 * k + 2], save=True, keep=3)
    kept = snapshots(fresh)
    assert sorted(kept) == [4, 6, 8]
    for number, path in kept.items():
        assert Chain.load(path).statistics.examples == number
    shutil.copy(kept[4], fresh)  # a copy of before catches up
    found = serve(fresh, keep=3)
    assert found.position == 10 and same(found.arrays, taught(LINES[:10]))


def test_readiness_is_compiled_and_writable(fresh: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        found = await service.client.get("/readyz")
        assert found.status_code == 503 and found.json()["problems"] == ["m: compiling"]
        await asyncio.to_thread(service.first.warm_up)
        assert (await service.client.get("/readyz")).json() == {"status": "ready"}
        service.log.store.path.unlink()
        assert (await service.client.get("/healthz")).status_code == 200
        found = await service.client.get("/readyz")
        assert found.status_code == 503 and "was deleted or moved" in found.text

    in_service([fresh], use, token="secret", host="0.0.0.0")


def test_figures_of_years(fresh: Path, in_service: Any) -> None:
    async def use(service: Any) -> None:
        def figure(name: str) -> float | None:
            found = text.partition(f"\n{name} ")[2].split()
            return float(found[0]) if found else None

        text = (await service.client.get("/metrics")).text
        assert "nan" not in text.lower() and figure('hutch_recent_examples{model="m"}') == 0
        assert figure('hutch_drift{model="m"}') is None and figure("hutch_drift_window") == 1000
        for line in LINES[:3]:
            await service.post("/v1/learn", line)
        await service.post("/v1/learn", "1 |f a:1y")
        os.replace(new_model(fresh.with_name("other")), fresh)
        with pytest.raises(StoreError):
            await service.first.save()
        text = (await service.client.get("/metrics")).text
        assert figure('hutch_recent_examples{model="m"}') == 3
        assert figure('hutch_failed_saves_total{model="m"}') == 1
        assert figure('hutch_rejected_learn_requests_total{model="m",reason="malformed"}') == 1
        assert 0 <= (figure('hutch_model_age_seconds{model="m"}') or 0) < 60
        assert 0 <= (figure('hutch_seconds_since_save{model="m"}') or 0) < 60
        assert (figure("hutch_store_bytes") or 0) > 4096 and (figure("hutch_commit_seconds_count") or 0) >= 3

    in_service([fresh], use)


# Going back


def times(log: Path) -> list[float]:
    with closing(sqlite3.connect(log)) as connection:
        return [row[0] for row in connection.execute("SELECT time FROM serve_log ORDER BY number")]


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([hutch(), "serve", "log", *words], cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("how", ["number", "time"])
def test_roll_back_and_go_on(fresh: Path, how: str) -> None:
    for k in range(3):
        serve(fresh, [(line, f"id {line}") for line in LINES[3 * k : 3 * k + 3]], save=True, keep=5)
    newest = fresh.read_bytes()
    between = sum(times(fresh.with_name("log.db"))[3:5]) / 2
    moment = datetime.fromtimestamp(between, UTC).isoformat()
    until = ["--through", "4"] if how == "number" else ["--before", moment]
    source = ["m.at-000000000003", "--store", "log.db", *until]
    done = run("replay", *source, "-f", "look", cwd=fresh.parent)
    assert done.stdout == "look: 1 entry learned, up to entry 4\n", done.stderr
    assert serve(fresh, keep=5).position == 9  # only looked at
    done = run("replay", *source, "--drop", "-f", "m", cwd=fresh.parent)
    assert done.stdout == "m: 1 entry learned, up to entry 4, 5 entries behind taken back\n", done.stderr
    found = serve(fresh, [("1 |f new", ""), (LINES[3], f"id {LINES[3]}"), (LINES[8], f"id {LINES[8]}")], keep=5)
    assert [answer.repeated for answer in found.answers] == [False, True, False]
    assert same(found.arrays, taught([*LINES[:4], "1 |f new", LINES[8]]))
    fresh.write_bytes(newest)
    with pytest.raises(StoreError, match="m: holds entries that were taken back"):
        serve(fresh, keep=5)


def test_the_log_as_lines(fresh: Path) -> None:
    serve(fresh, [*LINES[:2], RUIN, "1 |f é"], limits=WIDE, keep=5)
    found = [json.loads(line) for line in run("export", "--store", "log.db", cwd=fresh.parent).stdout.splitlines()]
    assert [line["number"] for line in found] == [1, 2, 3, 4, 5] and not any(line["damaged"] for line in found)
    assert [line["refused"] for line in found] == [False, False, True, False, False]
    assert [line["body"] for line in found[:3]] == [*LINES[:2], RUIN] and found[4]["body"] == "1 |f é"
    assert found[3]["kind"] == "refused" and found[0]["time"] == pytest.approx(time.time(), abs=120)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["export", "--store", "none.db"], 1, "none.db: no such log; `hutch serve` creates it"),
        (["export", "--store", "log.db", "--model", "n"], 1, "no model 'n'; valid: m"),
        (
            ["replay", "m", "--store", "log.db", "-f", "x", "--through", "1"],
            1,
            "holds entries up to 2, wanted a save from",
        ),
        (["replay", "never", "--store", "log.db", "-f", "x"], 1, "never: was never in service"),
        (["replay", "m", "--store", "log.db", "-f", "x", "--before", "noon"], 2, "--before: got 'noon', wanted a time"),
        (["compact", "--store", "log.db"], 0, ""),
    ],
)
def test_what_the_log_s_commands_refuse(fresh: Path, words: list[str], status: int, message: str) -> None:
    new_model(fresh.with_name("never"))
    serve(fresh, LINES[:2], save=True)
    done = run(*words, cwd=fresh.parent)
    assert done.returncode == status and message in done.stderr, done.stderr
    assert not fresh.with_name("x").exists()


def test_what_would_ruin_a_model_is_not_taken_back_from_another_file(fresh: Path) -> None:
    """To take an entry back, the model is read again: if another program replaced the file, nothing is learned on."""

    async def main() -> tuple[list[Any], str]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE)
        try:
            log.start(asyncio.get_running_loop())
            await served.learn(TEXT, b"1 |f a")
            other = Chain.from_config(LINEAR)
            other.learn(["1 |f other"] * 5)
            other.save(fresh.with_name("other"))
            os.replace(fresh.with_name("other"), fresh)
            both = [served.learn(TEXT, body) for body in (RUIN.encode(), b"1 |f b")]
            return [(await asyncio.gather(each, return_exceptions=True))[0] for each in both], served.failure
        finally:
            await asyncio.to_thread(log.close)
            served.close()

    errors, failure = asyncio.run(main())
    assert all(isinstance(error, StoreError) for error in errors)
    assert "was changed by another program" in failure and "was changed by another program" in str(errors[0])


def test_a_save_waits_for_a_large_body_that_is_half_learned(fresh: Path) -> None:
    body = "\n".join(LINES * 2_000)

    async def main() -> tuple[int, dict[str, bytes]]:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m", WIDE)
        try:
            log.start(asyncio.get_running_loop())
            await served.learn(TEXT, LINES[0].encode())
            large = asyncio.create_task(served.learn(TEXT, body.encode()))
            while served.chain.statistics.examples < 2:
                await asyncio.sleep(0)
            assert served._busy  # not all of it is learned
            await served.save()
            saved = served.saved, {name: array.tobytes() for name, array in Chain.load(fresh).arrays().items()}
            await large
            return saved
        finally:
            await asyncio.to_thread(log.close)
            served.close()

    position, arrays = asyncio.run(main())
    assert same(arrays, taught([LINES[0], *(LINES * 2_000 if position == 2 else [])]))


def test_the_last_save_has_what_was_still_waiting_for_the_disk(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> int:
        log = Log(fresh.with_name("log.db"))
        served = Served(fresh, log, "m")
        insert = log._insert

        def slowly(*given: Any) -> Any:
            time.sleep(0.3)
            return insert(*given)

        async def run(*given: Any) -> None:  # a client sends, and is gone before the answer
            sent.append(asyncio.create_task(served.learn(TEXT, b"1 |f a")))
            await asyncio.sleep(0.05)

        sent: list[Any] = []
        monkeypatch.setattr(log, "_insert", slowly)
        monkeypatch.setattr(server, "run", run)
        listening = socket.create_server(("127.0.0.1", 0))
        await server.serve(
            {"m": served}, log, listening, lambda *given: None, host="127.0.0.1", token="", save_every=60
        )
        listening.close()
        await asyncio.gather(*sent, return_exceptions=True)
        return served.saved

    assert asyncio.run(main()) == 1
