"""A simulated world: server, log, model file and clients in one process, on a clock, disk and network that obey a seed.

Every write, sync, rename and statement of the store may fail; the machine may die at each of them and between any two
steps, and then the disk holds old bytes, new bytes or a mixture where nothing was synced; each message may come late,
twice or never. Clients send again until they know. `must_hold` says what is true afterwards, whatever happened.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hutch import Chain
from hutch.core.atomic import locked
from hutch.core.chain.model_file import load_model
from hutch.core.run.one import OneExample
from hutch.durable.checksums import add_functions
from hutch.durable.commit import GroupCommit
from hutch.durable.log import Log
from hutch.durable.receipts import maker
from hutch.net.limits import Limits
from hutch.serve import server
from hutch.serve.served import Served

LINEAR: dict[str, Any] = {"weights": {"bits": 8}, "chain": [{"linear": {"loss": "squared"}}]}
BANDIT: dict[str, Any] = {
    "weights": {"bits": 8},
    "chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"],
}
RUIN = "1e38 |f a:1e30"
WIDE = Limits(importance=1e38, value=1e39)
SECTOR = 512
real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace", "link", "unlink", "close", "dup")}
connect_plainly = sqlite3.connect


class Crash(KeyboardInterrupt):
    """The machine dies: nothing catches it but the loop's caller."""


class Stuck(Exception):
    """Nothing will ever happen any more, and somebody waits."""


@dataclass
class Request:
    """A client's request, sent again until its outcome is known."""

    path: str
    body: str
    key: str
    answer: dict[str, Any] | None = None
    status: int = 0
    sent: int = 0
    wants: Callable[[dict[str, Any]], Request] | None = None
    after: float = 0.0
    known_at: float = 0.0

    @property
    def teaches(self) -> bool:
        return self.path == "/v1/learn" or self.path == "/v1/reward"


@dataclass
class World:
    """All that a seed decides.

    Attributes:
        beside: what runs is another process than the server: its statements and its memory do not fail.
        operated: an operator makes moves as well, see `tests.reliability.operator`.
        locks: the file system has locks.
        version: of Hutch, if it is another one than this.
        rounds_otherwise: that version learns other numbers.
        chains_in_use: by the servers that run.
    """

    seed: int
    folder: Path
    errors: float = 0.0
    now: float = 0.0
    faults: bool = False
    crash_at: int = -1
    fail_at: int = -1
    operations: int = 0
    dead: bool = False
    image: dict[str, bytes] | None = None
    renamed: dict[str, bytes | None] = field(default_factory=dict)
    unsynced: dict[str, list[bytes]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    apps: list[Any] = field(default_factory=list)
    over: bool = False
    beside: bool = False
    operated: bool = False
    locks: bool = True
    version: str = ""
    rounds_otherwise: bool = False
    chains_in_use: int = 0
    connections: list[Any] = field(default_factory=list)
    descriptors: set[int] = field(default_factory=set)
    trace: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def verdict(self, what: str) -> str:
        """Draw the outcome of an operation: `ok`, `error`, or a crash `before`, `during` or `after` it."""
        if not self.faults:
            return "ok"
        self.operations += 1
        if self.operations == self.crash_at:
            found = self.random.choice(("before", "during", "after"))
        else:
            fails = self.operations == self.fail_at or self.random.random() < self.errors
            found = "error" if fails else "ok"
        if found != "ok":
            self.count(f"{what}: {found}")
            self.trace.append(f"{self.now:.3f} {what}: {found}")
        return found

    def crash(self, mixed: dict[str, bytes] | None = None) -> None:
        """The disk is what it may be at this moment, and nothing goes on."""
        if not self.dead:
            self.dead, self.faults = True, False
            self.image = self._disk() | (mixed or {})
        raise Crash

    def _disk(self) -> dict[str, bytes]:
        """The bytes of each file after a crash: what was not synced may be lost or torn."""
        found = {
            each.name: each.read_bytes()
            for each in self.folder.iterdir()
            if not each.name.endswith("-shm") and each.is_file()
        }
        for name, versions in self.unsynced.items():
            if name in found:
                chosen = self.random.choice([*versions, found[name]])
                found[name] = torn(self.random, chosen, found[name])
        for name, before in self.renamed.items():  # the directory was not synced
            if self.random.random() < 0.5:
                found.pop(name, None)
                if before is not None:
                    found[name] = before
        return found

    def files(self) -> tuple[bytes, bytes]:
        """The store's file and its write-ahead log."""
        store, wal = self.folder / "log.db", self.folder / "log.db-wal"
        return store.read_bytes(), wal.read_bytes() if wal.exists() else b""


def torn(rng: random.Random, old: bytes, new: bytes) -> bytes:
    """New bytes over old ones, of which only some sectors, or a beginning, have reached the disk."""
    if old == new:
        return new
    if rng.random() < 0.5:
        cut = rng.randrange(len(new) + 1)
        return new[:cut] + old[cut:]
    base, over = bytearray(old.ljust(len(new), b"\0")), new.ljust(len(old), b"\0")
    for start in range(0, len(base), SECTOR):
        if rng.random() < 0.5:
            base[start : start + SECTOR] = over[start : start + SECTOR]
    return bytes(base)


class Connection:
    """SQLite on the simulated disk."""

    def __init__(self, world: World, path: str, **options: Any) -> None:
        self._world, self._path, self._options = world, path, options
        self._inner = connect_plainly(path, **options)
        world.connections.append(self)
        if world.random.random() < 0.3:  # pages move from the log to the file often
            self._inner.execute(f"PRAGMA wal_autocheckpoint = {world.random.choice((1, 4, 20))}")

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    @property
    def total_changes(self) -> int:
        return self._inner.total_changes

    def execute(self, sql: str, arguments: Any = ()) -> Any:
        world, verb = self._world, sql.split(None, 1)[0].upper()
        if verb in ("SELECT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "CREATE"):
            return self._inner.execute(sql, arguments)
        verdict = world.verdict(f"sqlite {verb.lower()}")
        if verdict == "before":
            world.crash()
        if verdict == "error":
            if verb == "COMMIT" and world.random.random() < 0.5 and len(world.connections) == 1:
                self._commit_that_is_not_synced()  # no other server has seen it
            raise sqlite3.OperationalError(world.random.choice(("disk I/O error", "database or disk is full")))
        before = world.files() if verdict == "during" else (b"", b"")
        found = self._inner.execute(sql, arguments)
        if verb == "COMMIT":
            world.unsynced.pop("log.db-wal", None)
        if verdict == "during":
            self._torn(before)
        if verdict == "after":
            world.crash()
        return found

    def create_function(self, *given: Any, **options: Any) -> None:
        self._inner.create_function(*given, **options)

    def executemany(self, sql: str, rows: Any) -> Any:
        return self._inner.executemany(sql, rows)

    def _torn(self, before: tuple[bytes, bytes]) -> None:
        """Die while a commit is written: in the log, or where its pages go into the file."""
        rng, after = self._world.random, self._world.files()
        if not before[0]:  # a new store has a rollback journal until its first commit: old or new, not torn
            self._world.crash({"log.db": rng.choice((b"", after[0]))})
        if before[0] != after[0] and rng.random() < 0.5:
            self._world.crash({"log.db": torn(rng, before[0], after[0]), "log.db-wal": after[1]})
        self._world.crash({"log.db": before[0], "log.db-wal": torn(rng, before[1], after[1])})

    def _commit_that_is_not_synced(self) -> None:
        """A commit whose sync fails: this process never sees it, but after a crash it may be there."""
        world, before = self._world, self._world.files()
        self._inner.execute("COMMIT")
        after = world.files()
        wal, kept = world.folder / "log.db-wal", world.folder / "kept"
        real["link"](wal, kept)
        self._inner.close()
        wal.unlink(missing_ok=True)
        real["replace"](kept, wal)
        for path, content in zip((world.folder / "log.db", wal), before, strict=True):
            with open(path, "r+b") as file:
                file.truncate()
                file.write(content)
        self._inner = connect_plainly(self._path, **self._options)
        add_functions(self._inner)
        self._inner.execute("PRAGMA foreign_keys = ON")
        self._inner.execute("PRAGMA synchronous = FULL")
        self._inner.execute("SELECT 1 FROM store").fetchall()
        if before[0] == after[0]:
            world.unsynced["log.db-wal"] = [after[1]]
        world.count("sqlite commit: written, not synced")

    def close(self) -> None:
        if self in self._world.connections:
            self._world.connections.remove(self)
        self._inner.close()


class File:
    """A file that is being written on the simulated disk."""

    def __init__(self, world: World, file: Any) -> None:
        self._world, self._file = world, file

    def write(self, content: Any) -> int:
        verdict = self._world.verdict("write")
        if verdict != "ok":
            self._file.write(bytes(content)[: self._world.random.randrange(len(content) + 1)])
            self._file.flush()
        if verdict == "error":
            raise OSError(28, "No space left on device")
        if verdict != "ok":
            self._world.crash()
        return int(self._file.write(content))

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return int(self._file.fileno())

    def __enter__(self) -> File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class Disk:
    """The functions of `os` that Hutch calls, on the simulated disk, which holds no kernels."""

    def __init__(self, world: World) -> None:
        self.world = world

    def _has(self, path: Path) -> bool:
        return self.world.folder in (path, *path.parents)

    def _path(self, descriptor: int) -> Path:
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))

    def _do(self, what: str, run: Callable[[], Any], error: OSError) -> Any:
        verdict = self.world.verdict(what)
        if verdict == "error":
            raise error
        if verdict in ("before", "during"):
            self.world.crash()
        found = run()
        if verdict == "after":
            self.world.crash()
        return found

    def open(self, path: Any, flags: int, *rest: Any, **options: Any) -> int:
        descriptor = int(real["open"](path, flags, *rest, **options))
        if self._has(Path(path)):
            self.world.descriptors.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        self.world.descriptors.discard(descriptor)
        real["close"](descriptor)

    def dup(self, descriptor: int) -> int:
        self.world.descriptors.add(copy := int(real["dup"](descriptor)))
        return copy

    def write(self, descriptor: int, content: bytes) -> int:
        path = self._path(descriptor)
        if not self._has(path):
            return int(real["write"](descriptor, content))
        if path.parent == self.world.folder:
            self.world.unsynced.setdefault(path.name, []).append(path.read_bytes())
        run = lambda: real["write"](descriptor, content)  # noqa: E731
        return int(self._do("write of a number", run, OSError(28, "No space left on device")))

    def fsync(self, descriptor: int) -> None:
        path = self._path(descriptor)
        if not self._has(path):
            return
        self._do("sync", lambda: None, OSError(5, "Input/output error"))
        if path == self.world.folder:
            self.world.renamed.clear()
        self.world.unsynced.pop(path.name, None)

    def replace(self, source: Any, target: Any) -> None:
        target = Path(target)

        def run() -> None:
            before = target.read_bytes() if target.exists() else None
            real["replace"](source, target)
            if target.parent == self.world.folder:
                self.world.renamed.setdefault(target.name, before)
                self.world.unsynced.pop(target.name, None)  # those bytes are of the file that was there

        self._do("rename", run, OSError(5, "Input/output error")) if self._has(target) else run()

    def unlink(self, path: Any, **options: Any) -> None:
        """Remove a file, which may be back after a crash."""
        path = Path(path)
        kept = (
            path.read_bytes() if self.world.operated and self.world.folder == path.parent and path.is_file() else None
        )
        real["unlink"](path, **options)
        if kept is not None:
            self.world.renamed.setdefault(path.name, kept)

    def link(self, source: Any, target: Any) -> None:
        def run() -> None:
            real["link"](source, target)
            self.world.renamed.setdefault(Path(target).name, None)

        self._do("link", run, OSError(31, "Too many links"))


class Commits(GroupCommit):
    """The thread of the log, on the simulated loop: groups form as its steps take their time."""

    def __init__(self, transaction: Any, world: World) -> None:
        super().__init__(transaction)
        self._world, self._loop = world, None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def start(self, loop: Any) -> None:
        self._loop, self._waiting, self._timer, self._last = loop, [], None, 0.0

    def submit(self, work: Any, deliver: Any) -> None:
        self._waiting.append((work, deliver))
        if self._timer is None:
            self._timer = self._loop.call_later(self._world.random.expovariate(500), self._group)

    def _group(self) -> None:
        self._timer = None
        count = self._world.random.randint(1, len(self._waiting))
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        outcomes = self._commit([work for work, _ in group])
        self._last = max(self._last + 1e-6, self._loop.time() + self._world.random.expovariate(2000))
        self._loop.call_at(self._last, self._deliver, group, outcomes)
        if self._waiting:
            self._timer = self._loop.call_later(self._world.random.expovariate(500), self._group)

    def flush(self) -> None:
        if self._loop is None:
            return
        while self._waiting and not self._world.dead:
            self._group()
        self._loop = None


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time passes where nothing is left to do; threads are steps that take a while."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._selector.select = self._pass_time  # type: ignore[method-assign, attr-defined]
        self.set_exception_handler(self._note)

    def _note(self, loop: Any, context: dict[str, Any]) -> None:
        if not (self._world.dead or isinstance(context.get("exception"), Crash)):
            self._world.trace.append(str(context))

    def _pass_time(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Stuck("everybody waits, and nothing will happen")
        self._world.now += max(timeout, 0.0)
        return []

    def time(self) -> float:
        return self._world.now

    def run_in_executor(self, executor: Any, function: Any, *arguments: Any) -> Any:
        future = self.create_future()

        def run() -> None:
            try:
                found = function(*arguments)
            except (Exception, asyncio.CancelledError) as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(found)

        self.call_later(self._world.random.expovariate(300), run)
        return future


@contextmanager
def simulated(world: World, templates: Templates) -> Iterator[None]:
    """Redirect all calls to the machine to the world; one world in sixteen rebuilds its chains."""
    disk = Disk(world)
    log_of = Log.__init__

    def log(self: Log, *arguments: Any, **options: Any) -> None:
        log_of(self, *arguments, **options)
        self.commits = Commits(self._transaction, world)

    def connect(path: Any, **options: Any) -> Any:
        return connect_plainly(path, **options) if world.beside else Connection(world, path, **options)

    def made_by() -> dict[str, str]:
        return maker() | ({"hutch": world.version} if world.version else {})

    def drain(self: Served) -> Any:
        return _drain(self) if not world.dead else asyncio.sleep(0)

    async def save(self: Served) -> bool:
        return False if world.dead else await _save(self)

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        found = open(file, mode, *rest, **options)
        if file not in world.descriptors:
            return found
        world.descriptors.discard(file)  # the file closes it
        return File(world, found) if "w" in mode else found

    with (
        patch.multiple(
            os,
            open=disk.open,
            close=disk.close,
            dup=disk.dup,
            write=disk.write,
            fsync=disk.fsync,
            replace=disk.replace,
            link=disk.link,
            unlink=disk.unlink,
        ),
        patch.multiple(time, time=lambda: 1.7e9 + world.now, monotonic=lambda: world.now),
        patch("hutch.durable.schema.sqlite3.connect", connect),
        patch("hutch.durable.lock.locked", lambda *given: not world.locks or locked(*given)),
        patch.multiple("hutch.durable.log", maker=made_by),
        patch.multiple("hutch.serve.proofs", maker=made_by),
        patch("hutch.core.atomic.open", opened, create=True),
        patch.object(Log, "__init__", log),
        patch.multiple(Chain, **{name: _short_of_memory(world, Chain, name) for name in ("run_batch", "run_apart")}),
        patch.object(OneExample, "run", _short_of_memory(world, OneExample, "run")),
        patch.object(Chain, "from_arrays", lambda *given: templates.served(world, *given)),
        patch.multiple(Served, drain=drain, save=save),
        patch.object(server, "run", lambda app, listening, ready, limits, stopping: _network(world, app, stopping)),
        patch.object(server, "_warm_up", lambda models: asyncio.sleep(0)),
    ):
        yield


def _short_of_memory(world: World, kind: type, name: str) -> Any:
    """A method of a chain or its part that may find no memory, before it has learned anything or after."""
    real = getattr(kind, name)

    def run(chain: Any, *given: Any, **options: Any) -> Any:
        verdict = "ok" if world.beside else world.verdict("memory")
        if verdict in ("before", "during"):
            world.crash()
        if verdict == "error" and world.random.random() < 0.5:
            raise MemoryError
        found = real(chain, *given, **options)
        if verdict == "error":
            raise MemoryError
        if verdict == "after":
            world.crash()
        return found

    return run


_drain, _save, _built = Served.drain, Served.save, Chain.from_arrays


async def _network(world: World, app: Any, stopping: asyncio.Event) -> None:
    """Play uvicorn: pass requests to the application; on stopping, wait for pending answers."""
    under_way: set[asyncio.Task[Any]] = set()

    async def ask(request: Request, reply: asyncio.Future[Any]) -> None:
        headers = [
            (b"host", b"127.0.0.1"),
            (b"content-type", b"application/json" if request.body[0] == "{" else b"text/plain"),
        ]
        query = f"id={request.key}" if request.path == "/v1/rank" else ""
        if request.path == "/v1/learn" and request.key:
            headers.append((b"idempotency-key", request.key.encode()))
        scope = {
            "type": "http",
            "method": "POST",
            "path": request.path,
            "query_string": query.encode(),
            "headers": headers,
        }
        content, cut = request.body.encode(), world.random.random() < 0.03
        half = len(content) // 2
        rest = {"type": "http.disconnect"} if cut else {"type": "http.request", "body": content[half:]}
        pieces = [{"type": "http.request", "body": content[:half], "more_body": True}, rest]
        answer: dict[str, Any] = {}

        async def receive() -> Any:
            await asyncio.sleep(world.random.expovariate(1000))
            return pieces.pop(0)

        async def send(message: Any) -> None:
            answer.update(message)

        await app(scope, receive, send)
        if not reply.done() and not cut:
            reply.set_result((answer["status"], json.loads(answer["body"])))

    def arrive(request: Request, reply: asyncio.Future[Any]) -> None:
        if not stopping.is_set():
            under_way.add(task := asyncio.get_running_loop().create_task(ask(request, reply)))
            task.add_done_callback(under_way.discard)

    world.apps.append(arrive)
    await stopping.wait()
    await asyncio.gather(*under_way)
    world.apps.remove(arrive)


class Templates:
    """Initial files of histories, a model and an empty store, made once."""

    def __init__(self) -> None:
        self.files: dict[bool, dict[str, bytes]] = {}
        self.chains: dict[bool, tuple[Chain, dict[str, Any]]] = {}
        self.built: dict[tuple[bool, int], Chain] = {}
        for bandit, config in ((False, LINEAR), (True, BANDIT)):
            with tempfile.TemporaryDirectory() as folder:
                chain = Chain.from_config(config)
                chain.save(Path(folder) / "m")
                Log(Path(folder) / "log.db").close()
                self.files[bandit] = {each.name: each.read_bytes() for each in Path(folder).iterdir()}
                self.chains[bandit] = chain, load_model(Path(folder) / "m")[0]

    def taught(self, bandit: bool, bodies: list[str]) -> tuple[dict[str, bytes], list[list[float]]]:
        """The arrays of a model that learned bodies in order, and what it predicted before each, if examples."""
        chain, fresh = self.chains[bandit]
        chain.restore(fresh)
        if bandit:
            chain.learn([json.loads(body) for body in bodies])
            predictions = [[0.0]] * len(bodies)
        else:
            lines = [body.split("\n") for body in bodies]
            found = iter(chain.learn([line for each in lines for line in each]).tolist())
            predictions = [[next(found) for _ in each] for each in lines]
        return {name: array.tobytes() for name, array in chain.arrays().items()}, predictions

    def served(self, world: World, arrays: Any, metadata: Any, source: str) -> Chain:
        """A chain with the arrays of a model: built once, as that takes half the time of a history."""
        if world.rounds_otherwise:
            metadata = json.loads(json.dumps(metadata))
            metadata["chain"]["chain"][-1]["linear"]["l2"] = 0.01
        if world.rounds_otherwise or not world.seed % 16:
            return _built(arrays, metadata, source)
        which = len(metadata["chain"]["chain"]) > 1, -1 if world.beside else world.chains_in_use
        world.chains_in_use += not world.beside
        if which not in self.built:
            self.built[which] = _built(arrays, metadata, source)
        self.built[which].restore(arrays)
        return self.built[which]


def put(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
