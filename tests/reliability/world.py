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
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hutch import Chain
from hutch.core.chain.model_file import load_model
from hutch.core.errors import HutchError
from hutch.core.run.one import OneExample
from hutch.durable.checksums import add_functions
from hutch.durable.choices import Default
from hutch.durable.commit import GroupCommit
from hutch.durable.log import Log
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
_real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace", "link", "close", "dup")}
_connect = sqlite3.connect


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

    @property
    def teaches(self) -> bool:
        return self.path == "/v1/learn" or self.path == "/v1/reward"


@dataclass
class World:
    """All that a seed decides."""

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
    app: Any = None
    over: bool = False
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
        self._inner = _connect(path, **options)
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
            if verb == "COMMIT" and world.random.random() < 0.5:
                self._commit_that_is_not_synced()
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
        _real["link"](wal, kept)
        self._inner.close()
        wal.unlink(missing_ok=True)
        _real["replace"](kept, wal)
        for path, content in zip((world.folder / "log.db", wal), before, strict=True):
            with open(path, "r+b") as file:
                file.truncate()
                file.write(content)
        self._inner = _connect(self._path, **self._options)
        add_functions(self._inner)
        self._inner.execute("PRAGMA foreign_keys = ON")
        self._inner.execute("PRAGMA synchronous = FULL")
        self._inner.execute("SELECT 1 FROM store").fetchall()
        if before[0] == after[0]:
            world.unsynced["log.db-wal"] = [after[1]]
        world.count("sqlite commit: written, not synced")

    def close(self) -> None:
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
        descriptor = int(_real["open"](path, flags, *rest, **options))
        if self._has(Path(path)):
            self.world.descriptors.add(descriptor)
        return descriptor

    def close(self, descriptor: int) -> None:
        self.world.descriptors.discard(descriptor)
        _real["close"](descriptor)

    def dup(self, descriptor: int) -> int:
        self.world.descriptors.add(copy := int(_real["dup"](descriptor)))
        return copy

    def write(self, descriptor: int, content: bytes) -> int:
        path = self._path(descriptor)
        if not self._has(path):
            return int(_real["write"](descriptor, content))
        if path.parent == self.world.folder:
            self.world.unsynced.setdefault(path.name, []).append(path.read_bytes())
        run = lambda: _real["write"](descriptor, content)  # noqa: E731
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
            _real["replace"](source, target)
            if target.parent == self.world.folder:
                self.world.renamed.setdefault(target.name, before)

        self._do("rename", run, OSError(5, "Input/output error")) if self._has(target) else run()

    def link(self, source: Any, target: Any) -> None:
        def run() -> None:
            _real["link"](source, target)
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
        ),
        patch.multiple(time, time=lambda: 1.7e9 + world.now, monotonic=lambda: world.now),
        patch("hutch.durable.schema.sqlite3.connect", lambda path, **options: Connection(world, path, **options)),
        patch("hutch.core.atomic.open", opened, create=True),
        patch.object(Log, "__init__", log),
        patch.multiple(Chain, **{name: _short_of_memory(world, Chain, name) for name in ("run_batch", "run_apart")}),
        patch.object(OneExample, "run", _short_of_memory(world, OneExample, "run")),
        patch.object(Chain, "from_arrays", templates.served if world.seed % 16 else _built),
        patch.multiple(Served, drain=drain, save=save),
        patch.object(server, "run", lambda app, listening, ready, limits, stopping: _network(world, app, stopping)),
        patch.object(server, "_warm_up", lambda models: asyncio.sleep(0)),
    ):
        yield


def _short_of_memory(world: World, kind: type, name: str) -> Any:
    """A method of a chain or its part that may find no memory, before it has learned anything or after."""
    real = getattr(kind, name)

    def run(chain: Any, *given: Any, **options: Any) -> Any:
        verdict = world.verdict("memory")
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

    world.app = arrive
    await stopping.wait()
    await asyncio.gather(*under_way)
    world.app = None


async def _client(world: World, requests: list[Request]) -> None:
    """Send each request until it is known what became of it, then the next."""
    rng, loop = world.random, asyncio.get_running_loop()
    for request in requests:  # which grow
        while request.answer is None:
            await asyncio.sleep(rng.expovariate(100) + request.after * (not request.sent))
            if world.over:  # a cancellation may be lost where an answer came at the same moment
                return
            if request.sent and not request.key:  # nobody can tell: it may have been learned
                request.answer, request.status = {}, -1
                break
            reply = loop.create_future()
            request.sent += 1
            for _ in range(2 if request.key and rng.random() < 0.1 else 1):  # now and then it comes twice
                if rng.random() > 0.05 and world.app is not None:
                    loop.call_later(rng.expovariate(200), _deliver, world, request, reply)
            with suppress(TimeoutError):
                status, answer = await asyncio.wait_for(reply, 0.5)
                world.trace.append(f"{world.now:.3f} {request.key}: {status} {answer}")
                if rng.random() < 0.05 and request.key:  # the answer is lost
                    world.count("answer lost")
                elif status < 500:
                    request.status, request.answer = status, answer
                    if request.wants is not None and status == 200:
                        requests.append(request.wants(answer))
                else:
                    world.count(f"status {status}")


def _deliver(world: World, request: Request, reply: Any) -> None:
    if world.app is not None:
        world.app(request, reply)


def _life(
    world: World,
    clients: list[list[Request]],
    crash_in: float | None,
    stop_in: float | None,
    keep: int,
    default: Default | None,
) -> str:
    """One life of the server, from its start to a stop or a crash; how it ended."""
    loop = Loop(world)
    world.trace.append(f"{world.now:.3f} a life begins")
    world.over = False

    async def live() -> None:
        log = Log(world.folder / "log.db")
        try:
            models = server.load([f"m={world.folder / 'm'}"], log, WIDE, keep)
        except BaseException:
            log.close()
            raise
        listening = socket.socket()
        save_every = world.random.choice((0.02, 0.1, 1.0))
        serving = loop.create_task(
            server.serve(
                models,
                log,
                listening,
                lambda: None,
                host="127.0.0.1",
                token="",
                save_every=save_every,
                limits=WIDE,
                default=default,
            )
        )
        sending = asyncio.gather(*(_client(world, requests) for requests in clients))
        if stop_in is not None:
            loop.call_later(stop_in, lambda: stops and stops[0]())
        try:
            await asyncio.wait([serving, sending], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
                stops[0]()
            await serving
        finally:
            listening.close()
            world.over = True
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending

    stops: list[Callable[[], None]] = []
    network = server.run

    async def with_stop(app: Any, listening: Any, ready: Any, limits: Any, stopping: asyncio.Event) -> None:
        stops.append(stopping.set)
        await network(app, listening, ready, limits, stopping)

    with patch.object(server, "run", with_stop):
        if crash_in is not None:
            loop.call_later(crash_in, world.crash)
        main = loop.create_task(live())
        try:
            loop.run_until_complete(main)
            return "stopped"
        except Crash:
            return "crashed"
        except HutchError as error:
            return f"failed: {error}"
        finally:
            left = world.dead
            world.dead, world.faults = True, False
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            with suppress(Stuck, Crash):
                if tasks:
                    loop.run_until_complete(asyncio.wait(tasks))
            world.dead = left
            world.app = None
            loop.close()
            for connection in world.connections:  # a process that has ended holds nothing
                connection.close()
            for descriptor in world.descriptors:
                with suppress(OSError):
                    _real["close"](descriptor)
            world.connections.clear()
            world.descriptors.clear()


def _rewarded(cost: float, after: float) -> Callable[[dict[str, Any]], Request]:
    """The reward of a decision."""

    def reward(found: dict[str, Any]) -> Request:
        body = json.dumps({"id": found["id"], "cost": cost})
        return Request("/v1/reward", body, "r" + found["id"], after=after)

    return reward


def _requests(rng: random.Random, bandit: bool, keyless: bool) -> list[list[Request]]:
    """Draw the requests of each client of a history."""
    clients: list[list[Request]] = []
    number = 0
    for _ in range(rng.randint(1, 3)):
        wanted = []
        for _ in range(rng.randint(1, 8)):
            number += 1
            if bandit:
                cost = rng.choice((0.0, 1.0, 2.5))
                body = json.dumps(
                    {"shared": {"s": [f"u{rng.randrange(4)}"]}, "actions": [{"a": [f"x{number}"]}, {"a": ["y"]}]}
                )
                after = rng.choice((0.0, 0.0, rng.expovariate(5)))
                wanted.append(Request("/v1/rank", body, f"d{number}", wants=_rewarded(cost, after)))
            elif rng.random() < 0.05:
                wanted.append(Request("/v1/learn", RUIN, f"k{number}"))
            elif rng.random() < 0.05:
                wanted.append(Request("/v1/learn", "|f no:label", f"k{number}"))
            else:
                lines = "\n".join(
                    f"{rng.randrange(5)} |f n{number} m{k} b:{rng.randrange(9)}.5" for k in range(rng.choice((1, 1, 3)))
                )
                wanted.append(Request("/v1/learn", lines, "" if keyless and rng.random() < 0.3 else f"k{number}"))
        clients.append(wanted)
    return clients


class Templates:
    """Initial files of histories, a model and an empty store, made once."""

    def __init__(self) -> None:
        self.files: dict[bool, dict[str, bytes]] = {}
        self.chains: dict[bool, tuple[Chain, dict[str, Any]]] = {}
        self.built: dict[bool, Chain] = {}
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

    def served(self, arrays: Any, metadata: Any, source: str) -> Chain:
        """A chain with the arrays of a model: built once, as that takes half the time of a history."""
        bandit = len(metadata["chain"]["chain"]) > 1
        if bandit not in self.built:
            self.built[bandit] = _built(arrays, metadata, source)
        self.built[bandit].restore(arrays)
        return self.built[bandit]


def put(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@dataclass
class History:
    """The outcome of one seed."""

    seed: int
    lives: list[str]
    operations: int
    requests: int
    counts: dict[str, int]
    trace: list[str]


def run(seed: int, templates: Templates, parent: Path | None = None, nth: int = 0) -> History:
    """One history, and what must be true after it.

    Args:
        seed: decides all that happens.
        templates: what it begins with.
        parent: folder for its files.
        nth: the server fails at this operation, and at no other; 0: as the seed says.

    Raises:
        AssertionError: it is not.
    """
    with tempfile.TemporaryDirectory(dir=parent) as found:
        root = Path(found).resolve()
        rng = random.Random(seed)
        bandit, keep, fresh_store = rng.random() < 0.3, rng.choice((0, 2, 1000)), rng.random() < 0.05
        clients = _requests(rng, bandit, keep == 1000)
        default = Default(rng.choice((0.02, 0.1, 0.4)), 0.75) if bandit and rng.random() < 0.6 else None
        files = dict(templates.files[bandit])
        if fresh_store:
            files = {"m": files["m"]}
        world = World(seed, put(root / "life0", files), errors=rng.choice((0.0, 0.0, 0.01, 0.05)), fail_at=nth)
        world.errors *= not nth
        lives: list[str] = []
        with simulated(world, templates):
            for number in range(1 if nth else rng.randint(1, 4)):
                world.faults, world.operations = True, 0
                how = "none" if nth else rng.choice(("operation", "operation", "time", "stop", "none"))
                world.crash_at = int(rng.expovariate(1 / 40)) + 1 if how == "operation" else -1
                crash_in = rng.expovariate(20) if how == "time" else None
                lives.append(
                    _life(world, clients, crash_in, rng.expovariate(10) if how == "stop" else None, keep, default)
                )
                if world.dead:
                    assert world.image is not None
                    world.folder = put(root / f"life{number + 1}", world.image)
                assert world.dead == (lives[-1] == "crashed"), lives
                if lives[-1].startswith("failed"):
                    assert world.errors or nth, f"a start without faults failed: {lives}"
                world.dead, world.image = False, None
                world.renamed.clear()
                world.unsynced.clear()
            operations, world.errors, world.faults = world.operations, 0.0, False
            lives.append(_life(world, clients, None, None, keep, default))  # all that clients still want is answered
            assert lives[-1] == "stopped", lives
            must_hold(world, templates, clients, bandit, default, root)
        count = sum(request.teaches for requests in clients for request in requests)
        return History(seed, lives, operations, count, world.counts, world.trace)


def must_hold(
    world: World,
    templates: Templates,
    clients: list[list[Request]],
    bandit: bool,
    default: Default | None,
    root: Path,
) -> None:
    """Acknowledged is learned exactly once and in order, nothing else is learned, a restart gives the same bits."""
    first, position = _restarted(world, root / "again")
    if not world.seed % 4:
        second, _ = _restarted(world, root / "once more")
        assert first == second, "two restarts differ"
    decisions = {q.answer["id"]: (q.body, q.answer) for each in clients for q in each if q.path == "/v1/rank"}
    learned: dict[int, tuple[str, list[float] | None]] = {}
    unknown: list[str] = []
    late: set[str] = set()
    for requests in clients:
        last = -1
        for request in (each for each in requests if each.teaches):
            body = request.body
            if request.status == -1:
                unknown.append(body)
                continue
            assert request.status == (422 if body in (RUIN, "|f no:label") else 200), (request, "a wrong status")
            if request.status != 200:
                continue
            at, predicted = request.answer["position"], request.answer.get("predictions")
            if request.answer.get("late"):
                late.add(json.loads(body)["id"])
                continue
            if bandit:
                given = json.loads(body)
                decision, drawn = decisions[given["id"]]
                label = {"chosen": drawn["action"], "cost": given["cost"], "probability": drawn["probability"]}
                body = json.dumps(json.loads(decision) | label)
            assert at > last, "later learn requests of a client have later places"
            assert at not in learned, "two learn requests have one place"
            last, learned[at] = at, (body, None if request.answer.get("repeated") else predicted)
    if unknown:  # nobody was told: at most once each, where the log says
        for entry in _entries(world):
            if entry["number"] not in learned and not entry["refused"] and entry["kind"] != "refused":
                assert entry["body"] in unknown, "something that nobody sent, or a learn request twice"
                unknown.remove(entry["body"])
                learned[entry["number"]] = entry["body"], None
    if default is not None:
        for id, cost, at in _decisions(world):
            if at is not None and at not in learned:
                assert cost == default.cost, "what nobody rewarded is learned with the default"
                decision, drawn = decisions[id]
                label = {"chosen": drawn["action"], "cost": cost, "probability": drawn["probability"]}
                learned[at] = json.dumps(json.loads(decision) | label), None
                late.discard(id)
                world.count("learned by default")
        assert not late, "a reward came too late, and the default was not learned"
    bodies = [learned[at][0] for at in sorted(learned)]
    wanted, predictions = templates.taught(bandit, bodies)
    for name, content in wanted.items():
        assert first[name] == content or name in ("shared.testing", "shared.time"), (
            f"{name} is not what was acknowledged"
        )
    for at, predicted in zip(sorted(learned), predictions, strict=True):
        assert bandit or learned[at][1] in (None, predicted), "what a client was told is not what the model said then"


def _restarted(world: World, folder: Path) -> tuple[dict[str, bytes], int]:
    """The arrays of the model after a restart from a copy of the disk."""
    shutil.copytree(world.folder, folder, ignore=shutil.ignore_patterns("*-shm"))
    log = Log(folder / "log.db")
    served = Served(folder / "m", log, "m", WIDE)
    try:
        return {name: array.tobytes() for name, array in served.chain.arrays().items()}, served.position
    finally:
        log.close()
        served.close()


def _decisions(world: World) -> list[Any]:
    """Id, cost and entry of all decisions."""
    log = Log(world.folder / "log.db")
    try:
        return log.store.rows("SELECT id, cost, number FROM serve_decisions")
    finally:
        log.close()


def _entries(world: World) -> list[dict[str, Any]]:
    log = Log(world.folder / "log.db")
    try:
        return list(log.lines())
    finally:
        log.close()
