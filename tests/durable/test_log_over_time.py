"""The write-ahead log over years, without a server: checksums, what is lost, what is taken back, what is remembered."""

import asyncio
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.core.errors import HutchError, StoreError
from hutch.durable.choices import Choice, Contradiction, Decided, Reward, add_cost, add_decision, choice_of, note_entry
from hutch.durable.commit import GroupCommit
from hutch.durable.lock import Held
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.durable.model_file import ModelFile, snapshots

ENTRY = Entry(1, "text", b"1 |f a", audit=3, choice=Choice(1, 0.5, 0.25))


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[Log]:
    log = Log(path, **options)
    try:
        yield log
    finally:
        log.close()


def written(path: Path, count: int, **options: Any) -> dict[str, Any]:
    """Make a log with that many entries of the model 1; returns what the model's file says at the first of them."""
    with opened(path, **options) as log:
        place = log.adopt({}, path, "a")
        for k in range(count):
            log.append_now(Entry(1, "text", b"%d" % k))
        return log.note(place, 1)


def remembered(log: Log, id: str) -> bool:
    return bool(log.store.rows("SELECT 1 FROM serve_ids WHERE model = 1 AND id = ?", [id]))


def with_ids(log: Log, count: int) -> None:
    for k in range(count):
        with log.store.transaction() as connection:
            log._insert(connection, Entry(1, "text", b"%d" % k, f"id{k}"))


@pytest.mark.parametrize(
    "changed",
    [{"kind": "json"}, {"body": b"1 |f b"}, {"audit": 4}, {"choice": None}, {"choice": Choice(1, 0.75, 0.25)}],
    ids=str,
)
def test_a_checksum_is_of_all_that_an_entry_teaches(changed: dict[str, Any]) -> None:
    assert replace(ENTRY, **changed).checksum != ENTRY.checksum
    assert replace(ENTRY, id="x", time=7.0).checksum == ENTRY.checksum


def test_each_checksum_is_chained_to_all_before(tmp_path: Path) -> None:
    written(tmp_path / "log.db", 5)
    chain = 0
    with opened(tmp_path / "log.db") as log:
        for number, entry in log.entries(1):
            assert entry is not None
            chain = zlib.crc32(b"%d" % entry.checksum, chain)
            assert log.chain_at(1, number) == chain


@pytest.mark.parametrize(("lost", "said"), [(1, "entry 3 of the log"), (2, "entries 2 to 3 of the log")])
def test_what_was_acknowledged_and_is_gone_is_said_and_its_numbers_stay_used(
    lost: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.db"
    written(path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM serve_log WHERE number > ?", [3 - lost])
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'serve_log'", [3 - lost])
        connection.execute("UPDATE serve_models SET last = ?", [3 - lost])
        connection.commit()
    with pytest.raises(StoreError, match=said):
        Log(path)
    with opened(path, accept_loss=True) as log:
        assert log.append_now(Entry(1, "text", b"new")) == 4


@pytest.mark.parametrize("noted", [b"00000000000000000099 00000000\n", b"", b"99", b"x y\n"])
def test_a_number_outside_that_is_damaged_is_not_believed(noted: bytes, tmp_path: Path) -> None:
    written(tmp_path / "log.db", 2)
    (tmp_path / "log.db-last").write_bytes(noted)
    with opened(tmp_path / "log.db") as log:
        assert log.append_now(Entry(1, "text", b"new")) == 3


def test_a_log_goes_on_from_its_own_model_only(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    noted = written(path, 3)
    with opened(path) as log:
        with pytest.raises(StoreError, match="not the model of its log, which goes on from another one at 1"):
            log.adopt(noted | {"chain": noted["chain"] + 1}, path, "a")
        with pytest.raises(StoreError, match="newer than its log, which ends at 3"):
            log.adopt(noted | {"through": 4}, path, "a")
        assert log.adopt(noted, path, "a").through == 1
        with pytest.raises(StoreError, match="a copy of the model 'b' that is served already"):
            log.adopt(noted, path, "b")


def test_entries_that_are_missing_at_the_end_are_missed(tmp_path: Path) -> None:
    noted = written(tmp_path / "log.db", 3)
    with opened(tmp_path / "log.db") as log:
        with log.store.transaction() as connection:
            connection.execute("DELETE FROM serve_log WHERE number = 3")
        with pytest.raises(StoreError, match="entries are missing behind 2, up to 3"):
            log.adopt(noted, tmp_path, "a")


def test_an_older_model_gives_back_the_ids_of_all_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with opened(path) as log:
        place = log.adopt({}, path, "a")
        with_ids(log, 4)
        noted = log.note(place, 1)
        log.saved(1, 3)
    with opened(path, accept_loss=True) as log:
        assert log.adopt(noted, path, "a").through == 1
        assert [remembered(log, f"id{k}") for k in range(4)] == [True, False, False, True]


def test_refused_entries_teach_nothing_and_what_they_took_is_free(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as log:
        log.adopt({}, tmp_path, "a")
        with_ids(log, 5)
        with log.store.transaction() as connection:
            add_decision(connection, 1, Decided("d", "text", b"|f", 0, 1.0, {}), 0.0)
            add_cost(connection, 1, Reward("d", 2.0, ("", None, None)), "a")
            note_entry(connection, 1, "d", 3)
            log.refuse(connection, 1, 2, 4, "why")
            found = choice_of(connection, 1, "d")
        assert found is not None and found[2].cost is None
        assert [number for number, entry in log.entries(1) if entry] == [1, 5]
        assert [remembered(log, f"id{k}") for k in range(5)] == [True, False, False, False, True]


@pytest.mark.parametrize(("keep", "left"), [(None, []), (1, [2, 3]), (0, [1, 2, 3]), (7, [])])
def test_entries_behind_the_oldest_save_stay(keep: int | None, left: list[int], tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as log:
        log.adopt({}, tmp_path, "a")
        for k in range(3):
            log.append_now(Entry(1, "text", b"%d" % k))
        log.saved(1, 3, keep)
        assert [number for number, _ in log.entries(1)] == left


def test_as_many_ids_are_remembered_as_is_said(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db", most=2) as log:
        log.adopt({}, tmp_path, "a")
        with_ids(log, 4)
        log.saved(1, 4)
        assert [remembered(log, f"id{k}") for k in range(4)] == [False, False, True, True]


def test_few_saves_go_through_all_ids(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db", most=100) as log:
        log.adopt({}, tmp_path, "a")
        seen: list[str] = []
        log.store._connection.set_trace_callback(seen.append)
        for count in (4, 4, 30):
            with_ids(log, count)
            log.saved(1, log.last())
            seen.append("saved")
        counted = "".join("c" if "OFFSET" in text else "s" for text in seen if "OFFSET" in text or text == "saved")
        assert counted == "ccs" + "s" + "ccs"


def test_time_in_service_goes_on_and_is_not_that_of_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    monkeypatch.setattr(time, "time", lambda: 1e9)
    for session in range(3):
        with opened(tmp_path / "log.db") as log:
            if not session:
                log.adopt({}, tmp_path, "a")
            assert log.now() == 5.0 * session
            passed[0] += 5
            log.saved(1, 0)


def test_all_that_wait_hear_of_a_failure() -> None:
    @contextmanager
    def failing() -> Iterator[sqlite3.Connection]:
        raise StoreError("the disk is full")
        yield

    commits, heard = GroupCommit(failing), []

    async def run() -> None:
        for _ in range(3):
            commits.submit(lambda connection: None, heard.append)
        commits.start(asyncio.get_running_loop())
        await asyncio.to_thread(commits.flush)
        await asyncio.sleep(0)

    asyncio.run(run())
    assert [str(error) for error in heard] == ["the disk is full"] * 3


def _decided(kind: str = "text") -> Decided:
    return Decided("d", kind, b"|f", 0, 1.0, {"action": 0})


def test_a_decision_that_is_sent_again_is_answered_again(tmp_path: Path) -> None:
    with opened(tmp_path / "log.db") as log, log.store.transaction() as connection:
        assert add_decision(connection, 1, _decided(), 0.0) == {"action": 0}
        assert add_decision(connection, 1, _decided(), 0.0) == {"action": 0, "repeated": True}
        with pytest.raises(Contradiction, match="another body"):
            add_decision(connection, 1, _decided("json"), 0.0)


# The model's file


@pytest.mark.parametrize("how", ["replaced", "written", "touched", "removed"])
def test_a_held_file_that_others_change_is_noticed(how: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"model")
    held = Held(path)
    held.check()
    if how == "replaced":
        shutil.copy(path, tmp_path / "other")
        os.replace(tmp_path / "other", path)
    elif how == "removed":
        path.unlink()
    else:
        path.write_bytes(b"others" if how == "written" else b"model")
        os.utime(path, ns=(1, 1))
    with pytest.raises(StoreError, match="changed by another|was removed"):
        held.check()
    held.close()


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_a_file_stays_held_and_so_many_saves_stay(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"")
    file = ModelFile(path, keep)
    for saved in range(5):
        file.holds = saved
        file.save({"a": np.zeros(3, np.float32)}, {}, (), saved + 1, True)
        assert file.holds == saved + 1
        with pytest.raises(HutchError, match="another server is using it"):
            Held(path)
    assert sorted(snapshots(path)) == list(range(5 - keep, 5))
    assert file.oldest == (5 - keep if keep else None)
    file.held.close()
    Held(path).close()
