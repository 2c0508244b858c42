"""A log that was put back, or that two servers write: noticed before anything is lost or brought back."""

import shutil
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from hutch.core.errors import StoreError
from hutch.durable import lock
from hutch.durable.last_entry import LastEntry
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.durable.store import Store

FILES = ("log.db", "log.db-last", "log.db-wal")


def begun(path: Path) -> Log:
    """A log with a model."""
    log = Log(path)
    if not log.store.rows("SELECT 1 FROM serve_models"):
        log.adopt({}, path, "m")
    return log


def crashed(log: Log, folder: Path) -> Path:
    """The files of a server that is killed now, in a folder of their own."""
    folder.mkdir()
    for name in FILES:
        if (source := log.store.path.with_name(name)).exists():
            shutil.copy(source, folder / name)
    return folder / "log.db"


def write(log: Log, count: int) -> None:
    for number in range(count):
        log.append_now(Entry(1, "text", b"%d |f a" % number))


@pytest.mark.parametrize("later", [0, 1, 30, 400])
@pytest.mark.parametrize("with_last", [True, False])
def test_a_log_that_was_put_back_beside_the_files_of_a_crashed_server_is_refused(
    tmp_path: Path, later: int, with_last: bool
) -> None:
    path = tmp_path / "log.db"
    log = begun(path)
    write(log, 5)
    log.close()
    (backup := tmp_path / "backup").mkdir()
    for name in FILES[:2]:
        shutil.copy(path.with_name(name), backup / name)
    log = begun(path)
    write(log, later)
    dead = crashed(log, tmp_path / "dead")
    log.close()
    shutil.copy(backup / "log.db", dead)
    if with_last:
        shutil.copy(backup / "log.db-last", dead.with_name("log.db-last"))
    if not dead.with_name("log.db-wal").stat().st_size:  # it wrote nothing: nothing would come back
        assert later == 0
        return
    before = {name: dead.with_name(name).read_bytes() for name in FILES}
    with pytest.raises(StoreError, match="log.db-wal: belongs to another state of .*delete log.db-wal and log.db-shm"):
        Log(dead)
    assert before == {name: dead.with_name(name).read_bytes() for name in FILES}
    dead.with_name("log.db-wal").unlink()
    dead.with_name("log.db-shm").unlink(missing_ok=True)
    if not with_last and later:
        with pytest.raises(StoreError, match="which w.* acknowledged, .* gone"):
            Log(dead)
        return
    log = Log(dead)
    assert log.last() == 5
    log.close()


@pytest.mark.parametrize("count", [1, 30, 400])
def test_a_server_that_was_killed_goes_on(tmp_path: Path, count: int) -> None:
    log = begun(tmp_path / "log.db")
    write(log, count)
    dead = crashed(log, tmp_path / "dead")
    log.close()
    log = Log(dead)
    assert log.last() == count
    log.close()


def test_what_others_wrote_after_the_server_ended_is_theirs_to_leave(tmp_path: Path) -> None:
    log = begun(tmp_path / "log.db")
    write(log, 3)
    log.close()
    with closing(Store(tmp_path / "log.db")) as other:
        with other.transaction() as connection:
            connection.execute("INSERT INTO store VALUES ('mine', '1', NULL)")
        dead = crashed(log, tmp_path / "dead")
    assert dead.with_name("log.db-wal").stat().st_size
    log = Log(dead)
    assert log.last() == 3 and log.store.rows("SELECT value FROM store WHERE key = 'mine'") == [("1",)]
    log.close()


def test_without_locks_the_later_server_goes_on_and_the_earlier_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "locked", lambda *arguments, **options: True)
    first = begun(tmp_path / "log.db")
    write(first, 2)
    said: list[str] = []
    first.taken_over = said.append
    second = begun(tmp_path / "log.db")
    write(second, 3)
    with pytest.raises(StoreError, match="another server has begun to write this log"):
        first.append_now(Entry(1, "text", b"1 |f lost"))
    with pytest.raises(StoreError, match="another server"):
        first.check_ours()
    assert said and all("this one stops" in each for each in said)
    first.close()
    write(second, 1)
    assert second.last() == 6
    second.close()
    third = Log(tmp_path / "log.db")
    assert [number for number, _ in third.entries(1)] == [1, 2, 3, 4, 5, 6]
    third.close()


@pytest.mark.parametrize("count", [1, 3])
def test_a_log_without_the_latest_decisions_is_refused(tmp_path: Path, count: int) -> None:
    path = tmp_path / "log.db"
    log = begun(path)
    write(log, 2)
    log.close()
    earlier = path.read_bytes()
    log = begun(path)
    for _ in range(count):
        with log._transaction() as connection:  # as for a decision: no entry to learn
            connection.execute("INSERT OR REPLACE INTO store VALUES ('test', '1', NULL)")
    log.close()
    path.write_bytes(earlier)
    wanted = "the last commit of the log, which was acknowledged, is gone"
    wanted = (
        wanted if count == 1 else wanted.replace("commit ", "3 commits ").replace("was", "were").replace("is", "are")
    )
    with pytest.raises(StoreError, match=wanted):
        Log(path)
    Log(path, accept_loss=True).close()
    Log(path).close()


def test_a_note_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = begun(path)
    write(log, 3)
    log.close()
    note = path.with_name("log.db-last")
    number, _, state, generation, _ = note.read_text().split()
    for earlier in ([], [state, generation]):
        checksum = zlib.crc32(" ".join([str(int(number)), *earlier]).encode())
        note.write_text(" ".join([number, f"{checksum:08x}", *earlier]) + "\n")
        with closing(LastEntry(path)) as found:
            assert (found.number, found.commits, found.is_closed) == (3, 0, bool(earlier))
