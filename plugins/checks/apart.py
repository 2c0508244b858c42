"""The checks of a plugin in processes of their own, which may hang, fill the memory or crash: each fails one check."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Any

from hutch.core.errors import PluginError

MEMORY = 4 << 30
"""Bytes that checks may ask for, beside what their process has when it begins."""
SECONDS = 60.0
"""That a check may take, the compilation of its kernels included."""
_ENDS = {"SIGSEGV": "a segmentation fault", "SIGABRT": "an abort", "SIGBUS": "a bus error", "SIGKILL": "a kill"}
_ENDS |= {"SIGFPE": "a division of integers by 0", "SIGILL": "an illegal instruction"}
_HANGS, _CRASHES = _DEATHS = ("did not end within", "ended the process")
_ENOUGH = 3  # checks that may end their process before the others are left out
_LOOKED = 20.0  # seconds after which CPython says where it is
THREE_WAYS = "three_ways"
"""The check that all ways to run a kernel give the same bits."""
_CHECKED, _INTERPRETED = "machine code with checks", "CPython"
_WAYS: Mapping[str, tuple[dict[str, Any], dict[str, str]]] = {
    _CHECKED: ({}, {"PYTHONHASHSEED": "2", "HUTCH_CHECKED": "1"}),
    _INTERPRETED: ({"seconds": 1e9}, {"PYTHONHASHSEED": "3"}),
}
"""The other ways to run a kernel: what a process is asked, and its environment, of which the hash seed is a part."""
_OF_PROCESSES = "; results must not depend on the process: its hash(), its number, the time, the order of a set"


@dataclass(frozen=True)
class Result:
    """How a check ended.

    Attributes:
        check: its subject and name.
        why: the failure; None if there was none.
        known: the reason why it is expected to fail; empty if it must pass.
        found: what a layer or a loss computes, see `hutch.plugins.checks.ways`; empty for other checks.
    """

    check: str
    why: str | None
    known: str
    found: list[dict[str, str]]


class _Child:
    """A process that runs checks.

    Args:
        asked: what it is to run.
        seconds: that each check may take.
        way: variables of its environment.
    """

    def __init__(self, asked: Mapping[str, Any], seconds: float, way: Mapping[str, str]) -> None:
        self._seconds = seconds
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hutch.plugins.checks.child", json.dumps({"bytes": MEMORY, **asked})],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, **way},
            text=True,
            encoding="utf-8",
        )
        self._lines: Queue[str] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def next(self) -> dict[str, Any]:
        """What it says next; under `died`, how it ended instead."""
        try:
            line = self._lines.get(timeout=self._seconds)
        except Empty:
            return {"died": f"{_HANGS} {self._seconds:g} s"}
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        status = self._process.wait()
        name = signal.Signals(-status).name if status < 0 else ""
        how = f"{_ENDS.get(name, 'a signal')} ({name})" if name else f"exit status {status}"
        return {"died": f"{_CRASHES}: {how}"}

    def kill(self) -> None:
        """End it."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()


class _Session:
    """Checks in one process after the other: the next one continues behind a check that has ended its process.

    Args:
        asked: what the processes are to run.
        seconds: that each check may take.
        way: variables of their environment.
    """

    def __init__(self, asked: Mapping[str, Any], seconds: float, way: Mapping[str, str]) -> None:
        self._asked, self._seconds, self._way = {"first": 0, **asked}, seconds, way
        self._child = _Child(self._asked, seconds, way)

    def results(self) -> Iterator[Result]:
        """The results of all checks.

        Raises:
            PluginError: the plugin is not installed, or its import ends the process.
        """
        while True:
            said = self._child.next()
            if "count" not in said:
                raise PluginError(said.get("error") or f"the import of the plugin {said['died']}")
            last = yield from self._of_child()
            if last is None:
                return
            self.kill()
            self._asked["first"] = last + 1
            self._child = _Child(self._asked, self._seconds, self._way)

    def _of_child(self) -> Any:
        """The results of a process; returns the number of the check that has ended it, None if none has."""
        while "begin" in (begun := self._child.next()):
            ended = self._child.next()
            where = f"CPython is at {ended['line']}" if "line" in ended else ""
            why = ended.get("died") or ended.get("why") or where or None
            yield Result(begun["check"], why, begun["known"], ended.get("found", []))
            if "end" not in ended:
                return begun["begin"]
        if "died" in begun or "error" in begun:
            raise PluginError(f"the checks {begun.get('died') or begun['error']}")
        return None

    def kill(self) -> None:
        """End the process."""
        self._child.kill()


def results_of(name: str, seconds: float = SECONDS) -> Iterator[Result]:
    """Run the checks of everything that has a name, with limits on their time and memory.

    Args:
        name: as for `checks_of`.
        seconds: that each check may take.

    Raises:
        PluginError: nothing of that name is installed, or the plugin cannot be imported.
    """
    others: dict[str, _Session] = {}
    main = _Session({"name": name, "laws": True}, seconds, {"PYTHONHASHSEED": "1"})
    computed: list[Result] = []
    deaths, told = 0, dict[str, str]()  # where the checks go wrong that end their process, by how they do
    try:
        for k, result in enumerate(main.results()):
            if result.check.endswith(f":{THREE_WAYS}"):
                computed.append(result)
            elif result.why and result.why.startswith(_DEATHS):
                if result.why not in told:
                    told[result.why] = result.why + _where(name, k, seconds)
                yield Result(result.check, told[result.why], result.known, [])
                deaths += 1
                if result.why.startswith(_HANGS) or deaths == _ENOUGH:
                    yield Result("all other checks", "not run, since this would go on", "", [])
                    return
            else:
                yield result
        for way, (asked, known) in _WAYS.items() if computed else ():  # not before: a check takes the time of an import
            others[way] = _Session({"name": name, **asked}, seconds, known)
        found = {way: {result.check: result for result in each.results()} for way, each in others.items()}
        for result in computed:
            yield Result(result.check, _disagreement(name, result, found, seconds), "", [])
    finally:
        for session in (main, *others.values()):
            session.kill()


def _where(name: str, k: int, seconds: float) -> str:
    """Where a check goes wrong that has ended its process: CPython may know, or machine code with checks."""
    for way, (asked, known) in reversed(list(_WAYS.items())):
        given = {**asked, "seconds": min(_LOOKED, 0.8 * seconds)} if asked else {}
        session = _Session({"name": name, "laws": True, "first": k, "most": 1, **given}, seconds, known)
        try:
            result = next(session.results(), None)
        except PluginError:
            result = None
        finally:
            session.kill()
        if result is not None and result.why and not result.why.startswith(_DEATHS):
            return f"; {result.why}" if result.why.startswith("CPython") else f"; {way}: {result.why}"
    return ""


def _disagreement(name: str, result: Result, others: Mapping[str, Mapping[str, Result]], seconds: float) -> str | None:
    """How the ways to run a layer or a loss differ; None if they agree."""
    from hutch.plugins.checks.ways import difference

    if result.why and not result.why.startswith(_DEATHS):
        return result.why
    for way, found in others.items():
        if why := found[result.check].why:
            return f"{way}: {why}"
    if result.why:
        return result.why
    for way, found in others.items():
        if (what := difference(result.found, found[result.check].found)) is None:
            continue
        again = _Session({"name": name}, seconds, {"PYTHONHASHSEED": "4"})
        try:
            same = {each.check: each for each in again.results()}[result.check]
        finally:
            again.kill()
        if difference(result.found, same.found) is not None:
            return f"{what}: two processes differ, wanted the same bits{_OF_PROCESSES}"
        return f"{what}: {way} and machine code differ, wanted the same bits"
    return None
