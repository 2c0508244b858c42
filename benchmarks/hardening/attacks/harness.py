"""What the attacks share: run a command, kill it, try cases in processes of their own, compare what was written.

Each attack is a module with `run(count, seed)`, which returns how often what happened, and its findings: one line of
text for each time a promise was broken.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

Found = tuple[Counter[str], list[str]]
"""How often what happened, and the findings."""

_MAIN = "from hutch.cli.main import main; main()"
HUTCH = [sys.executable, "-c", _MAIN]
_DYING = f"""
import os, signal, sys
name, left = sys.argv.pop(1), int(sys.argv.pop(1))
real = getattr(os, name)
def dying(*arguments, **named):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **named)
setattr(os, name, dying)
{_MAIN}
"""
CALLS = {"open": 6, "fsync": 3, "replace": 2, "chmod": 2, "unlink": 2, "close": 8}
"""Calls of the system at which a file may be half written, and how many of each are worth dying at."""


class Kill(NamedTuple):
    """When a process dies: after so many seconds, or at a call of the system.

    Attributes:
        after: seconds, if no call is named.
        call: a function of `os`, before whose `number`-th call the process kills itself.
        number: counted from 1.
    """

    after: float = 0.0
    call: str = ""
    number: int = 0


def some_kill(dice: random.Random, seconds: float) -> Kill:
    """A random moment of a command that takes so many seconds, or a random call while it writes."""
    if dice.random() < 0.4:
        call = dice.choice(sorted(CALLS))
        return Kill(call=call, number=dice.randint(1, CALLS[call]))
    return Kill(after=dice.uniform(0.15, 1.1) * seconds)


class Done(NamedTuple):
    """What came of a command.

    Attributes:
        status: as `subprocess` has it; None if it did not end in time.
        out, err: what it said.
        seconds: it took.
    """

    status: int | None
    out: str
    err: str
    seconds: float

    def wrong(self, *wanted: int) -> str:
        """What is wrong with this end; empty if nothing is.

        Args:
            wanted: the exit statuses that are right.
        """
        last = (self.err.strip().splitlines() or [""])[-1][:200]
        if self.status is None:
            return "no end in time"
        if "Traceback" in self.err:
            return f"traceback: {last}"
        return "" if self.status in wanted else f"exit status {self.status}, wanted {wanted}: {last}"


def run(
    command: Sequence[str],
    folder: Path,
    *,
    kill: Kill | None = None,
    seconds: float = 300.0,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Done:
    """Run a command of Hutch.

    Args:
        command: its words, without `hutch`.
        folder: where.
        kill: when it dies.
        seconds: it may take, then it is killed.
        environment: variables beside those of this process.
        before: is called in the new process.
    """
    start = time.monotonic()
    program = [sys.executable, "-c", _DYING, kill.call, str(kill.number)] if kill and kill.call else HUTCH
    with subprocess.Popen(
        [*program, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        preexec_fn=before,
    ) as process:
        alive = True
        try:
            out, err = process.communicate(timeout=kill.after if kill and kill.after else seconds)
        except subprocess.TimeoutExpired:
            alive = bool(kill and kill.after)
            process.kill()
            out, err = process.communicate()
    said = (text.decode(errors="replace") for text in (out, err))
    return Done(process.returncode if alive else None, *said, time.monotonic() - start)


_ROWS = (
    "SELECT id, line, prediction, probability, importance, wanted, state FROM requests ORDER BY number",
    "SELECT request, worker, label FROM labels ORDER BY number",
    "SELECT pool, examples, probability, threshold FROM rounds ORDER BY round",
    "PRAGMA integrity_check",
)
_OF_ONE_STORE = (
    "active.store",
    "active.learned",
)  # its random identity, and the place in a log that also notes retries


def digest(path: Path) -> str:
    """Of what a file holds: a model's arrays and description, a store's requests and labels, else its bytes.

    Returns:
        Hexadecimal digits; empty if there is no file, or a store that holds nothing.
    """
    if not path.exists():
        return ""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    if content.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "requests" not in tables:
                return ""
            found = [connection.execute(rows).fetchall() for rows in _ROWS]
            if not any(found[:-1]):
                return ""
            content = repr(found).encode()
    elif content[8:9] == b"{" and size < len(content):
        header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
        said = header.pop("__metadata__")
        arrays = [
            (name, told["dtype"], told["shape"], hashlib.sha256(body[slice(*told["data_offsets"])]).hexdigest())
            for name, told in sorted(header.items())
            if not name.endswith(_OF_ONE_STORE)
        ]
        described = json.loads(said["metadata"])
        described.pop("log", None)  # where a server stands in its log
        content = repr((arrays, described, said["sparse"])).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def in_forks(
    count: int, case: Callable[[int], str], *, seconds: int = 20, memory: int, batch: int = 200
) -> Iterator[tuple[int, str]]:
    """Try cases in forked processes, which say nothing; yields each case's number and what came of it.

    Args:
        count: how many cases.
        case: given a number, tries it and returns what came of it, a line of text.
        seconds: for one case.
        memory: bytes that a process may take beside what this one has.
        batch: cases per process.
    """
    done = 0
    while done < count:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            try:
                _child(range(done, min(done + batch, count)), case, seconds, memory, writer)
            finally:
                os._exit(70)
        os.close(writer)
        with open(reader, "rb") as told:
            lines = told.read().decode(errors="replace").splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ends = [*lines[1::2], f"=ended by {status}"]
        for begun, outcome in zip(lines[::2], ends, strict=False):
            done = int(begun) + 1
            yield int(begun), outcome[1:]
        if not lines:
            raise RuntimeError(f"a process ended by {status} before its first case")


def _child(numbers: range, case: Callable[[int], str], seconds: int, memory: int, out: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory,) * 2)
    for number in numbers:
        os.write(out, f"{number}\n".encode())
        signal.alarm(seconds)
        try:
            outcome = case(number)
        except BaseException as error:
            outcome = f"{type(error).__name__}: {str(error)[:150]}"
        signal.alarm(0)
        os.write(out, f"={' '.join(outcome.split())}\n".encode())
    os._exit(0)


def lines(count: int, seed: int, words: int = 500) -> list[str]:
    """Examples in Vowpal Wabbit's format that can be learned, each with a tag of its own."""
    dice, found = random.Random(seed), []
    for number in range(count):
        drawn = [dice.randrange(words) for _ in range(6)]
        label = 1 if sum(word % 3 - 1 for word in drawn) > 0 else -1
        found.append(f"{label} 't{seed}-{number}|w " + " ".join(f"w{word}" for word in drawn))
    return found


def main(text: str | None, attack: Callable[[int, int], Found], count: int) -> None:
    """The command line of an attack: prints its counts and findings; exit status 1 if there are findings.

    Args:
        text: what it is.
        attack: its `run`.
        count: how much is tried by default.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=count)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    given, start = parser.parse_args(), time.time()
    counts, findings = attack(given.count, given.seed)
    seconds = round(time.time() - start)
    print(json.dumps({"seconds": seconds, "counts": dict(sorted(counts.items())), "findings": findings}, indent=1))
    sys.exit(bool(findings))
