"""Backups of models in service: taken while the server runs, proved by a replay, and put back whole."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hutch.core.atomic import make_directory, sync_directory, write_bytes
from hutch.core.errors import HutchError, StoreError, UsageError, at, counted, warn
from hutch.core.strict_json import dumps
from hutch.durable.damage import said_by
from hutch.durable.last_entry import LastEntry, commits_of, generation_of
from hutch.durable.lock import Held
from hutch.durable.log import Log
from hutch.durable.model_file import snapshots
from hutch.serve.served import Served

LISTED = "backup.json"
"""The file of a backup that names the others."""
_TRIES = 10
_PAUSE = 0.3


@dataclass(frozen=True, slots=True)
class Proved:
    """A model that was replayed.

    Attributes:
        name: of the model.
        position: the last entry it has learned.
        replayed: entries learned again, after those that its file holds.
        proved: those of them whose predictions equal their receipts.
    """

    name: str
    position: int
    replayed: int
    proved: int

    def __str__(self) -> str:
        which = "all" if self.proved == self.replayed else f"{self.proved} of them"
        entries = counted(self.replayed, "entry", "entries")
        receipts = f"; receipts of {which} are equal" if self.replayed else ""
        return f"{self.name}: whole up to entry {self.position}, {entries} replayed{receipts}"


def verify(models: Mapping[str, Path], store: Path) -> list[Proved]:
    """Replay a log on copies of its models; neither the models nor the log change.

    Args:
        models: files by name.
        store: the log.

    Raises:
        ModelError, StoreError: something is missing, damaged, or does not belong together.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder, store.name)
        _copy_log(store, copy)
        try:
            return _replayed(models, copy, Path(folder))
        except HutchError as error:  # of a copy: the user's files have other names
            text = str(error).replace(str(copy), str(store))
            for path in models.values():
                text = text.replace(str(Path(folder, path.name)), str(path))
            error.args = (text,)
            raise


def _replayed(models: Mapping[str, Path], log_copy: Path, folder: Path) -> list[Proved]:
    found = []
    with closing(Log(log_copy)) as log:
        for name, path in models.items():
            shutil.copyfile(path, model := Path(folder, path.name))
            served = Served(model, log, name, until=lambda number, entry: True)
            found.append(Proved(name, served.position, served.replayed, served.proofs.proved))
            served.close()
    return found


def backup(models: Mapping[str, Path], store: Path, folder: Path) -> list[Proved]:
    """Copy models and their log as one consistent set, also while a server runs, and prove it by a replay.

    Args:
        models: files by name.
        store: the log.
        folder: for the copies; made, or empty.

    Raises:
        UsageError: the folder holds something, two files have one name, or a model does not exist.
        ModelError, StoreError: the files do not belong together.
    """
    names = [path.name for path in models.values()] + [store.name]
    if len(set(names)) < len(names):
        raise UsageError("two files have the same name, wanted different ones: a backup is one folder")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: holds something already, wanted a new folder")
    for path in models.values():
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
    make_directory(folder)
    for left in range(_TRIES - 1, -1, -1):
        try:
            for path in models.values():
                shutil.copyfile(path, folder / path.name)
            _copy_log(store, folder / store.name)
            proved = verify({name: folder / path.name for name, path in models.items()}, folder / store.name)
            break
        except HutchError:  # a save between the copies of a model and of the log
            if not left:
                raise
            time.sleep(_PAUSE)
    listed = {
        "models": {name: path.name for name, path in models.items()},
        "places": {name: _beside(path, store) for name, path in models.items()},
        "log": store.name,
        "position": {each.name: each.position for each in proved},
        "time": time.time(),
    }
    for name in (*names, f"{store.name}-last"):
        _sync(folder / name)
    write_bytes(folder / LISTED, f"{dumps(listed)}\n".encode())
    return proved


def _beside(path: Path, store: Path) -> str:
    """Where a model is, seen from the folder of its log."""
    return os.path.relpath(path.resolve(), store.resolve().parent)


def _copy_log(store: Path, copy: Path) -> None:
    """Copy a log as it is at a moment, with all that is in its write-ahead log, and note its last entry."""
    if not store.is_file():
        raise StoreError(at(str(store), None, None, "no such log; `hutch serve` creates it"))
    for each in (copy, Path(f"{copy}-last")):
        each.unlink(missing_ok=True)
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT, 0o600))
    before = LastEntry(store)  # what is acknowledged by now must be in the copy
    before.close()
    try:
        with closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as source:
            with closing(sqlite3.connect(copy)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")  # one file
                [(sound,), *_] = target.execute("PRAGMA quick_check(1)").fetchall()
                if sound != "ok":
                    raise StoreError(at(str(store), None, None, f"damaged: {said_by(sound)}"))
                number, commits, generation = _last(target), commits_of(target), generation_of(target)
    except sqlite3.Error as error:
        raise StoreError(at(str(store), None, None, f"cannot be copied: {error}")) from None
    note = LastEntry(copy)
    is_whole = before.number <= number and before.commits <= commits
    note.write(max(number, before.number), generation, max(commits, before.commits), closed=is_whole)
    note.close()


def _last(connection: sqlite3.Connection) -> int:
    [found] = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'serve_log'").fetchone()
    return found or 0


def restore(folder: Path, target: Path, *, drop_later: bool = False) -> list[Proved]:
    """Put a backup back, and take away what does not belong to it.

    If interrupted, it can be run again; a server that starts in between refuses what is there.

    Args:
        folder: of the backup.
        target: where the models and the log are.
        drop_later: entries of the present log that the backup lacks may go.

    Raises:
        UsageError: it is no backup, or later entries would be lost.
        ModelError, StoreError: the backup is not whole, or a server is using the files.
    """
    try:
        listed = json.loads((folder / LISTED).read_bytes())
        models, store = {name: str(file) for name, file in listed["models"].items()}, str(listed["log"])
        places = {name: str(place) for name, place in listed.get("places", models).items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise UsageError(f"{folder}: no backup, wanted a folder of `hutch serve backup`") from None
    files = [*models.values(), store]
    if any(Path(name).name != name for name in files):
        raise UsageError(f"{folder / LISTED}: names files in other folders")
    belongs = {file: _place_of(file, places.get(name, file), target) for name, file in models.items()} | {store: store}
    proved = verify({name: folder / file for name, file in models.items()}, folder / store)
    make_directory(target)
    log, noted = target / store, f"{store}-last"
    for file in models.values():
        make_directory((target / belongs[file]).parent)
    held = [Held(target / place) for place in belongs.values() if (target / place).is_file()]
    try:
        last = max((each.position for each in proved), default=0)
        later = _later(log, folder / store)
        if later and not drop_later:
            raise UsageError(f"{log}: {later}: they would be lost; --drop-later drops them")
        for name, place in (belongs | {noted: noted}).items():
            shutil.copyfile(folder / name, _part(target, place))
            _sync(_part(target, place))
        _note_durably(log)
        for ending in ("-wal", "-shm"):
            Path(f"{log}{ending}").unlink(missing_ok=True)
        sync_directory(target)  # a write-ahead log that came back after a power failure would go into the new log
        for name in (store, *models.values()):
            os.replace(_part(target, belongs[name]), target / belongs[name])
        for file in models.values():
            for number, path in snapshots(target / belongs[file]).items():
                if number > last:
                    path.unlink()
            if (parent := (target / belongs[file]).parent) != target:
                sync_directory(parent)
        sync_directory(target)
        os.replace(_part(target, noted), target / noted)  # until now it refuses what is there
        sync_directory(target)
    except OSError as error:
        raise StoreError(at(str(target), None, None, f"cannot be restored: {error.strerror}; run it again")) from None
    finally:
        for each in held:
            each.close()
        for place in (*belongs.values(), noted):
            _part(target, place).unlink(missing_ok=True)
    return proved


def _note_durably(log: Path) -> None:
    """Note beside a log where it ends: after a power failure the note may be older, and nobody would miss that end."""
    with suppress(sqlite3.Error):
        if log.is_file():
            with closing(sqlite3.connect(f"{log.resolve().as_uri()}?mode=ro", uri=True)) as connection:
                number, commits = _last(connection), commits_of(connection)
            with closing(LastEntry(log)) as note:
                note.reopen(max(number, note.number), max(commits, note.commits))


def _place_of(file: str, place: str, target: Path) -> str:
    """Where a model belongs, seen from the folder of its log: there if it is below it, else beside the log."""
    path = Path(place)
    if path.name == file and not path.is_absolute() and ".." not in path.parts:
        return place
    warn(f"{target / file}: the model was served as {place}, seen from its log; move it there, or serve it from here")
    return file


def _part(target: Path, place: str) -> Path:
    """Where a file is written before it takes its place."""
    path = target / place
    return path.with_name(f".{path.name}.restored")


def _sync(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _later(present: Path, copy: Path) -> str:
    """What the present log holds and a copy lacks, in words; empty if nothing."""
    if not present.is_file():
        return ""
    with closing(sqlite3.connect(copy)) as connection:
        kept, whose, known = _last(connection), _identity(connection), _beside_entries(connection)
    with suppress(sqlite3.Error):
        with closing(sqlite3.connect(f"{present.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            last, owner, present_ones = _last(connection), _identity(connection), _beside_entries(connection)
        if owner != whose:
            return f"a log of other models, with {counted(last, 'entry', 'entries')}"
        more = [f"entries {kept + 1} to {last}"] if last > kept else []
        more += [
            counted(len(found - known[what]), *what) for what, found in present_ones.items() if found - known[what]
        ]
        return f"holds {' and '.join(more)}, which the backup lacks" if more else ""
    return "cannot be read, so that it may hold later entries"


def _beside_entries(connection: sqlite3.Connection) -> dict[tuple[str, str], set[object]]:
    """What a store holds beside entries to learn: decisions, and the requests and answers of people."""
    return {
        ("decision", "decisions"): {*connection.execute("SELECT model, id, time FROM serve_decisions")},
        ("line of the label store's log", "lines of the label store's log"): {
            *connection.execute("SELECT number, time FROM audit")
        },
    }


def _identity(connection: sqlite3.Connection) -> str:
    return str(connection.execute("SELECT value FROM store WHERE key = 'identity'").fetchone()[0])
