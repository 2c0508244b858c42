"""For every command that writes: the n-th write, sync, rename and statement fails, for every n."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hutch.cli.dispatch import run

MOST = 40
DATA = "".join(f"{1 if k % 3 else -1} |f a{k % 5} b:{k % 4}.5\n" for k in range(30))
LABELS = "".join(f"w{k % 3}\tt{k // 3}\t{'yes' if k % 4 else 'no'}\n" for k in range(30))
VOTES = "".join(f"w{k % 3}\tx{k % 2}\ty\t{'left' if k % 3 else 'right'}\n" for k in range(12))
TABLE = "a,b\n" + "".join(f"{k % 5}.5,{k % 3}\n" for k in range(12))
CHAIN = "chain:\n- active: {mellowness: 1.0}\n- linear: {loss: logistic}\n"
ASK = "active ask data -i asking --store store.db -n 2"
COMMANDS = {
    "train": ("train data -f model --quiet", ["model"]),
    "train predictions": ("train data -f model -p predictions --quiet", ["model", "predictions"]),
    "predict": ("predict data -i old -p predictions --quiet", ["predictions"]),
    "vw": ("vw data -f model --quiet", ["model"]),
    "inspect": ("inspect old --readable text", ["text"]),
    "crowd": ("crowd labels -p posteriors --workers workers -f model --quiet", ["posteriors", "workers", "model"]),
    "pairs": ("crowd votes --pairs -p strengths -f model", ["strengths", "model"]),
    "em": ("em fit table.csv --rank 1 -f model", ["model"]),
    "active ask": (ASK, []),
}
"""By name the command and what it writes."""


class _Failing:
    """Lets the n-th operation fail, and counts all."""

    def __init__(self, nth: int) -> None:
        self.nth, self.count, self.failed = nth, 0, ""

    def __call__(self, what: str, run: Callable[..., Any], error: Exception) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == self.nth:
                self.failed = what
                raise error
            return run(*arguments, **options)

        return call


class _Connection(sqlite3.Connection):
    failing: _Failing

    def execute(self, sql: str, arguments: Any = ()) -> Any:
        real = super().execute
        if sql.split(None, 1)[0].upper() in ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT"):
            return self.failing(sql[:6], real, sqlite3.OperationalError("database or disk is full"))(sql, arguments)
        return real(sql, arguments)


@contextmanager
def failing(nth: int) -> Iterator[_Failing]:
    """The n-th operation fails."""
    found, real, connect = _Failing(nth), open, sqlite3.connect
    full, broken = OSError(28, "No space left on device"), OSError(5, "Input/output error")

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        made = real(file, mode, *rest, **options)
        return _File(made, found("write", made.write, full)) if isinstance(file, int) and "w" in mode else made

    with (
        patch.multiple(os, fsync=found("sync", os.fsync, broken), replace=found("rename", os.replace, broken)),
        patch("hutch.core.atomic.open", opened, create=True),
        patch.object(_Connection, "failing", found, create=True),
        patch(
            "hutch.durable.schema.sqlite3.connect",
            lambda *given, **named: connect(*given, factory=_Connection, **named),
        ),
    ):
        yield found


class _File:
    """A file whose writes may fail."""

    def __init__(self, file: Any, write: Callable[..., Any]) -> None:
        self._file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands read."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("data", DATA),
        ("labels", LABELS),
        ("votes", VOTES),
        ("table.csv", TABLE),
        ("asking.yaml", CHAIN),
    ):
        Path(name).write_text(text)
    assert run("train data -f old --quiet".split()) == 0
    assert run("train data -C asking.yaml -f asking --quiet".split()) == 0
    return tmp_path


def content(path: str) -> Any:
    """The bytes of a file; of a model its header, whose keys are in any order, and the bytes behind it."""
    found = Path(path).read_bytes()
    size = int.from_bytes(found[:8], "little")
    if path != "model" or found == b"old":
        return found
    return json.loads(found[8 : 8 + size]), found[8 + size :]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_nth_failure_leaves_old_or_new_and_is_said(name: str, folder: Path, capfd: Any) -> None:
    command, outputs = COMMANDS[name]
    assert run(command.split()) == 0, capfd.readouterr().err  # compiled code is written by now, and not counted
    with failing(0) as counted:
        assert run(command.split()) == 0, capfd.readouterr().err
    whole = {output: content(output) for output in outputs}
    assert counted.count > 0
    for nth in range(1, min(counted.count, MOST) + 1):
        for output in outputs:
            Path(output).write_bytes(b"old")
        for left in folder.glob("store.db*"):
            left.unlink()
        capfd.readouterr()
        with failing(nth) as found:
            code = run(command.split())
        out, err = capfd.readouterr()
        assert code != 0 and err.strip() and "Traceback" not in err, (nth, found.failed, code, err)
        for output, wanted in whole.items():
            assert content(output) in (b"old", wanted), (nth, found.failed, output)
        assert not list(folder.glob(".*.part")), (nth, found.failed)
        assert run(command.split()) == 0, (nth, found.failed, capfd.readouterr().err)
        assert {output: content(output) for output in outputs} == whole, (nth, found.failed)
