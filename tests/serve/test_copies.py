"""Backups are consistent and proved; a restore leaves only what belongs to it."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hutch.core.errors import HutchError, StoreError, UsageError
from hutch.durable.log import Log
from hutch.serve import copies
from hutch.serve.copies import backup, restore, verify
from tests.serve.test_service import LINES, fresh, same, serve, taught  # noqa: F401

Model = dict[str, Path]


def of(path: Path) -> tuple[Model, Path]:
    return {"m": path}, path.with_name("log.db")


def test_a_backup_holds_all_that_was_acknowledged(fresh: Path, tmp_path: Path) -> None:  # noqa: F811
    serve(fresh, LINES[:4], save=True)
    serve(fresh, LINES[4:9])
    [proved] = backup(*of(fresh), tmp_path / "b")
    assert (proved.position, proved.replayed, proved.proved) == (9, 5, 5)
    assert str(proved) == "m: whole up to entry 9, 5 entries replayed; receipts of all are equal"
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["backup.json", "log.db", "log.db-last", "m"]
    found = serve(tmp_path / "b" / "m")
    assert found.position == 9 and same(found.arrays, taught(LINES[:9]))


def test_a_save_between_the_copies_is_no_harm(fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    serve(fresh, LINES[:4])
    plain, calls = copies._copy_log, list[int]()

    def copied(store: Path, copy: Path) -> None:
        if not calls:
            serve(fresh, LINES[4:6], save=True)
        calls.append(1)
        plain(store, copy)

    monkeypatch.setattr(copies, "_copy_log", copied)
    monkeypatch.setattr(copies, "_PAUSE", 0)
    [proved] = backup(*of(fresh), tmp_path / "b")
    assert proved.position == 6 and len(calls) > 2
    assert same(serve(tmp_path / "b" / "m").arrays, taught(LINES[:6]))


def test_verifying_changes_nothing_and_finds_what_differs(fresh: Path) -> None:  # noqa: F811
    serve(fresh, LINES[:6])
    before = {path.name: path.read_bytes() for path in fresh.parent.iterdir()}
    [proved] = verify(*of(fresh))
    assert (proved.replayed, proved.proved) == (6, 6)
    assert before.items() <= {path.name: path.read_bytes() for path in fresh.parent.iterdir()}.items()
    shutil.copy(fresh.with_name("log.db"), fresh.with_name("copy"))
    copies.LastEntry(fresh.with_name("copy")).close()
    with pytest.raises(HutchError):
        verify({"m": fresh.with_name("copy")}, fresh.with_name("log.db"))


def test_what_is_learned_after_the_copy_of_the_log_is_no_harm(
    fresh: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve(fresh, LINES[:4])
    plain, later = copies.generation_of, iter(LINES[4:9])

    def found(connection: sqlite3.Connection) -> str:
        serve(fresh, [next(later)])
        return plain(connection)

    monkeypatch.setattr(copies, "generation_of", found)
    monkeypatch.setattr(copies, "_TRIES", 1)
    [proved] = backup(*of(fresh), tmp_path / "b")
    assert proved.position == 4


@pytest.mark.parametrize("what", ["1 decision", "2 lines of the label store's log"])
def test_a_restore_names_decisions_and_answers_that_would_go(fresh: Path, tmp_path: Path, what: str) -> None:  # noqa: F811
    serve(fresh, LINES[:4], save=True)
    backup(*of(fresh), tmp_path / "b")
    with closing(Log(fresh.with_name("log.db"))) as log, log.store.transaction() as connection:
        if "decision" in what:
            row = "1, 'd', 'text/plain', x'7c', 0, 1.0, '{}', NULL, NULL, 0.0, NULL"
            connection.execute(f"INSERT INTO serve_decisions VALUES ({row})")
        else:
            for _ in range(2):
                log.store.write_log(connection, "learn", {})
    with pytest.raises(UsageError, match=f"holds {what}, which the backup lacks"):
        restore(tmp_path / "b", fresh.parent)
    restore(tmp_path / "b", fresh.parent, drop_later=True)
    restore(tmp_path / "b", fresh.parent)


def test_a_restore_is_synced_step_by_step(fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    serve(fresh, LINES[:4], save=True)
    backup(*of(fresh), tmp_path / "b")
    fresh.with_name("log.db-wal").write_bytes(b"")
    steps: list[str] = []
    replace, plain = os.replace, copies.sync_directory

    def replaced(source: Path, target: Path) -> None:
        steps.append(Path(target).name)
        replace(source, target)

    def synced(folder: Path) -> None:
        assert not fresh.with_name("log.db-wal").exists()
        steps.append("sync")
        plain(folder)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(copies, "sync_directory", synced)
    restore(tmp_path / "b", fresh.parent)
    assert steps[-6:] == ["sync", "log.db", "m", "sync", "log.db-last", "sync"]


@pytest.mark.parametrize("crashed", [True, False])
def test_a_restore_takes_away_what_is_later(fresh: Path, tmp_path: Path, crashed: bool) -> None:  # noqa: F811
    serve(fresh, LINES[:4], save=True, keep=2)
    backup(*of(fresh), tmp_path / "b")
    serve(fresh, LINES[4:9], save=not crashed, keep=2)
    fresh.with_name("log.db-wal").write_bytes(b"of a server that was killed" if crashed else b"")
    with pytest.raises(UsageError, match="holds entries 5 to 9, which the backup lacks|cannot be read"):
        restore(tmp_path / "b", fresh.parent)
    [proved] = restore(tmp_path / "b", fresh.parent, drop_later=True)
    assert proved.position == 4
    assert not fresh.with_name("log.db-wal").exists()
    assert all(int(path.name.rpartition("-")[2]) <= 4 for path in fresh.parent.glob("m.at-*"))
    found = serve(fresh, LINES[9:11])
    assert found.position == 6 and same(found.arrays, taught([*LINES[:4], *LINES[9:11]]))


def test_a_restore_into_an_empty_place(fresh: Path, tmp_path: Path) -> None:  # noqa: F811
    serve(fresh, LINES[:4])
    backup(*of(fresh), tmp_path / "b")
    restore(tmp_path / "b", tmp_path / "new" / "place")
    assert serve(tmp_path / "new" / "place" / "m").position == 4


@pytest.mark.parametrize("what", ["m", "log.db"])
def test_a_damaged_backup_is_not_put_back(fresh: Path, tmp_path: Path, what: str) -> None:  # noqa: F811
    serve(fresh, LINES[:4])
    backup(*of(fresh), tmp_path / "b")
    content = bytearray((tmp_path / "b" / what).read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4000] = b"\xff" * 4000
    (tmp_path / "b" / what).write_bytes(content[: len(content) - 100])
    before = fresh.read_bytes()
    with pytest.raises(HutchError, match=f"{tmp_path / 'b' / what}: "):
        restore(tmp_path / "b", fresh.parent, drop_later=True)
    assert fresh.read_bytes() == before


def test_models_in_other_folders_go_back_to_them(fresh: Path, tmp_path: Path) -> None:  # noqa: F811
    (below := tmp_path / "below").mkdir()
    store, inner, outer = below / "log.db", below / "models" / "inner", tmp_path / "outer"
    inner.parent.mkdir()
    for path in (inner, outer):
        shutil.copy(fresh, path)
        serve(path, LINES[:3], name=path.name, save=True, store=store)
    models = {"inner": inner, "outer": outer}
    backup(models, store, tmp_path / "b")
    for path in (inner, outer):
        serve(path, LINES[3:6], name=path.name, save=True, store=store)
    with pytest.warns(UserWarning, match=r"below/outer: the model was served as \.\./outer, seen from its log"):
        restore(tmp_path / "b", below, drop_later=True)
    assert serve(inner, name="inner", store=store).examples == 3
    with pytest.raises(StoreError, match="newer than its log"):
        serve(outer, name="outer", store=store)
    assert serve(below / "outer", name="outer", store=store).examples == 3
    assert not [*below.rglob(".*.restored")]


@pytest.mark.slow
def test_what_is_no_backup_is_refused(tmp_path: Path, fresh: Path) -> None:  # noqa: F811
    serve(fresh, LINES[:2])
    with pytest.raises(UsageError, match="no backup"):
        restore(tmp_path, tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "backup.json").write_text(json.dumps({"models": {"m": "../m"}, "log": "log.db"}))
    with pytest.raises(UsageError, match="names files in other folders"):
        restore(tmp_path / "b", tmp_path)
    with pytest.raises(UsageError, match="holds something already"):
        backup(*of(fresh), tmp_path / "b")
    with pytest.raises(UsageError, match="same name"):
        backup({"m": fresh, "n": tmp_path / "other" / "m"}, fresh.with_name("log.db"), tmp_path / "c")
    with pytest.raises(StoreError, match="no such log"):
        backup({"m": fresh}, fresh.with_name("no.db"), tmp_path / "c")
    with pytest.raises(UsageError, match="nomodel: no such file"):
        backup({"nomodel": tmp_path / "nomodel"}, fresh.with_suffix(".db"), tmp_path / "new")
    assert not (tmp_path / "new").exists()
