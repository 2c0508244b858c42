"""Commands of which the n-th operation fails: a write, sync, rename or statement of the store, or an allocation."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from hutch.cli.dispatch import run

DATA = "".join(f"{1 if k % 3 else -1} |f a{k % 5} b:{k % 4}.5\n" for k in range(30))
LABELS = "".join(f"w{k % 3}\tt{k // 3}\t{'yes' if k % 4 else 'no'}\n" for k in range(30))
VOTES = "".join(f"w{k % 3}\tx{k % 2}\ty\t{'left' if k % 3 else 'right'}\n" for k in range(12))
TABLE = "a,b\n" + "".join(f"{k % 5}.5,{k % 3}\n" for k in range(12))
CHAIN = "chain:\n- active: {mellowness: 1.0}\n- linear: {loss: logistic}\n"
ASK = "active ask data -i asking --store store.db -n 2"
WHO = """
judge: {kind: judge, price: 0.01, votes: judged}
people: {kind: person, price: 1, votes: truth}
"""
VOTED = "".join(f"{{0}}\tt{k}\t{'yes' if k % 4 else 'no'}\n" for k in range(30))


class Command(NamedTuple):
    """A command and what it writes.

    Attributes:
        line: its words.
        outputs: files that it writes.
        store: the store it begins with, if any, under the name `store.db`.
    """

    line: str
    outputs: list[str]
    store: str = ""


COMMANDS = {
    "train": Command("train data -f model --quiet", ["model"]),
    "train, predictions": Command("train data -f model -p predictions --quiet", ["model", "predictions"]),
    "predict": Command("predict data -i old -p predictions --quiet", ["predictions"]),
    "vw": Command("vw data -f model --quiet", ["model"]),
    "convert": Command("convert old.vw -f model", ["model"]),
    "inspect": Command("inspect old --readable text", ["text"]),
    "crowd": Command(
        "crowd labels -p posteriors --workers workers -f model --quiet", ["posteriors", "workers", "model"]
    ),
    "crowd, pairs": Command("crowd votes --pairs -p strengths -f model", ["strengths", "model"]),
    "em": Command("em fit table.csv --rank 1 -f model", ["model"]),
    "active ask": Command("active ask data -i asking --store store.db -n 2", []),
    "active answer": Command("active answer answers --store store.db", [], "asked.db"),
    "active learn": Command("active learn -i asking -f model --store store.db", ["model"], "answered.db"),
    "label": Command("label items --who who.yaml --store store.db -p posteriors", ["posteriors"]),
}
ALLOCATIONS = ("zeros", "empty", "full", "ones", "zeros_like", "empty_like", "full_like", "concatenate", "repeat")
"""The functions of NumPy that ask for memory, as the statements of the store do."""


def prepare() -> None:
    """Make what the commands read, in the present folder."""
    for name, text in (
        ("data", DATA), ("labels", LABELS), ("votes", VOTES), ("table.csv", TABLE), ("asking.yaml", CHAIN),
        ("who.yaml", WHO), ("judged", VOTED.format("judge")), ("truth", VOTED.format("ann")),
        ("items", "".join(f"t{k}\n" for k in range(30))),
    ):  # fmt: skip
        Path(name).write_text(text)
    assert run("train data -f old --quiet".split()) == 0
    assert run("convert old --to vw -f old.vw".split()) == 0
    assert run("train data -C asking.yaml -f asking --quiet".split()) == 0
    assert run("active ask data -i asking --store asked.db -n 2".split()) == 0
    with closing(sqlite3.connect("asked.db")) as store:
        ids = [row[0] for row in store.execute("SELECT id FROM requests")]
    Path("answers").write_text("".join(json.dumps({"id": id, "worker": "ann", "label": 1}) + "\n" for id in ids))
    shutil.copyfile("asked.db", "answered.db")
    assert run("active answer answers --store answered.db".split()) == 0


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
    error: Exception

    def execute(self, sql: str, arguments: Any = ()) -> Any:
        real = super().execute
        if sql.split(None, 1)[0].upper() in ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT"):
            return self.failing(sql[:6], real, self.error)(sql, arguments)
        return real(sql, arguments)


@contextmanager
def failing(nth: int, memory: bool = False) -> Iterator[_Failing]:
    """The n-th operation fails, or with `memory` the n-th allocation."""
    found, real, connect = _Failing(nth), open, sqlite3.connect
    full, broken = OSError(28, "No space left on device"), OSError(5, "Input/output error")
    error = MemoryError() if memory else sqlite3.OperationalError("database or disk is full")

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        made = real(file, mode, *rest, **options)
        writes = isinstance(file, int) and "w" in mode and not memory
        return _File(made, found("write", made.write, full)) if writes else made

    if memory:
        changed: Any = patch.multiple(np, **{each: found(each, getattr(np, each), error) for each in ALLOCATIONS})
    else:
        changed = patch.multiple(os, fsync=found("sync", os.fsync, broken), replace=found("rename", os.replace, broken))
    with (
        changed,
        patch("hutch.core.atomic.open", opened, create=True),
        patch.multiple(_Connection, failing=found, error=error, create=True),
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

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def content(path: str) -> Any:
    """The bytes of a file; of a model its header, whose keys are in any order, and the bytes behind it."""
    found = Path(path).read_bytes()
    size = int.from_bytes(found[:8], "little")
    if path != "model" or found == b"old":
        return found
    return json.loads(found[8 : 8 + size]), found[8 + size :]


class Attempts:
    """A command, run with failures.

    Args:
        name: of `COMMANDS`; the present folder is a prepared one.
        said: gives what was said on standard error since it was asked last.
    """

    def __init__(self, name: str, said: Callable[[], str]) -> None:
        self.command, self._said = COMMANDS[name], said
        for _ in range(2):  # compiled code is written by the first, and not counted
            self._begin()
            assert self._run() == 0, said()
        self._whole, self._stored = self._written(), self._counts()

    def count(self, memory: bool) -> int:
        """How many operations, or allocations, there are."""
        self._begin()
        with failing(0, memory) as found:
            assert self._run() == 0, self._said()
        return found.count

    def fail(self, nth: int, memory: bool) -> str:
        """Fail once, and run again; what became of it.

        Raises:
            AssertionError: something was lost, or not said.
        """
        self._begin()
        before, _ = self._counts(), self._said()
        with failing(nth, memory) as found:
            code = self._run()
        err, what = self._said(), (self.command.line, nth, found.failed)
        assert "Traceback" not in err, (what, err)
        assert (code != 0 and err.strip()) or code == 0 and self._written() == self._whole, (what, code, err)
        for output, now in self._written().items():
            assert now in (b"old", self._whole[output]), (what, output)
        assert self.command.line.startswith("label") or self._counts() in (before, self._stored), what
        assert not list(Path().glob(".*.part")), what
        if code:
            assert self._run() == 0, (what, self._said())
        assert (self._written(), self._counts()) == (self._whole, self._stored), what
        return "said" if code else "done all the same"

    def _run(self) -> int:
        return run(self.command.line.split())

    def _begin(self) -> None:
        for output in self.command.outputs:
            Path(output).write_bytes(b"old")
        for left in Path().glob("store.db*"):
            left.unlink()
        if self.command.store:
            shutil.copyfile(self.command.store, "store.db")

    def _written(self) -> dict[str, Any]:
        return {output: content(output) for output in self.command.outputs}

    @staticmethod
    def _counts() -> list[Any]:
        """Requests by state, and labels, of the store."""
        if not Path("store.db").exists():
            return []
        with closing(sqlite3.connect("store.db")) as store:
            if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'labels'").fetchall():
                return []
            query = "SELECT state, count(*) FROM requests GROUP BY 1 UNION SELECT 'labels', count(*) FROM labels"
            found = store.execute(query).fetchall()
        return [each for each in found if each[1]]
