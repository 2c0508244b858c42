"""What operators of a simulated server do: copies, restores, upgrades, a second server, and files put back by mistake.

Every move either leaves all that was acknowledged, or is a restore that names what it drops, or is refused by name.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Semaphore, Thread
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hutch import Chain
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.errors import HutchError, UsageError
from hutch.durable.last_entry import LastEntry, commits_of
from hutch.durable.log import Log
from hutch.durable.log_reader import REFUSED
from hutch.durable.receipts import receipt_of
from hutch.serve import copies, server
from tests.reliability.world import RUIN, WIDE, Crash, Request, Templates, World, connect_plainly, put, real

FILES = ("m", "log.db", "log.db-wal", "log.db-last")
UNSEEN = "another server has begun"
IN_USE = "another server is using it"


@dataclass(frozen=True)
class Copy:
    """A copy of model and log.

    Attributes:
        kind: `backup`, by the command; `by hand`, of a running server; `stopped`, all files of one that does not run.
        folder: of the files.
        position: the last entry of its log.
        decisions: ids of the decisions in it.
    """

    kind: str
    folder: Path
    position: int
    decisions: frozenset[str]


class Beside:
    """A program beside the server, in a thread that runs only while the simulation waits for it.

    Args:
        world: its files.
        function: to run; it pauses where `pause` is called.
    """

    def __init__(self, world: World, function: Callable[[], None]) -> None:
        self._world, self._function = world, function
        self._go, self._paused = Semaphore(0), Semaphore(0)
        self.done = self._killed = False
        self.error: BaseException | None = None
        self.wants = 0.0
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._killed:
                self._function()
        except BaseException as error:
            self.error = error
        self.done = True
        self._paused.release()

    def step(self) -> None:
        """Let it run to its next pause, or its end."""
        self._world.beside = True
        self._go.release()
        self._paused.acquire()
        self._world.beside = False

    def pause(self, seconds: float = 0.0) -> None:
        """Wait, from within the program."""
        self.wants = seconds
        self._paused.release()
        self._go.acquire()
        if self._killed:
            raise SystemExit

    def kill(self) -> None:
        """End it where it is."""
        if not self.done:
            self._killed = True
            self.step()
        self._thread.join()


class Operator:
    """Draws the moves of one history.

    Args:
        world: the server's.
        templates: that it began with.
        clients: their requests; a restore makes them send again what it drops.
        keep: earlier saves that the server keeps.
        root: folder for the copies.
    """

    def __init__(self, world: World, templates: Templates, clients: list[list[Request]], keep: int, root: Path) -> None:
        world.operated = True
        self.world, self.templates, self.clients, self.keep, self.root = world, templates, clients, keep, root
        self.random = random.Random(f"operator {world.seed}")
        self.copies: list[Copy] = []
        self.forgotten: list[Copy] = []  # of what a restore has dropped
        self.numbers = iter(range(10**6))
        self.backup: tuple[Beside, Path, list[Request]] | None = None
        self.is_contested = self.named = False

    # While a server runs.

    async def during(self, serving: list[asyncio.Task[None]], serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Moves while a server runs.

        Args:
            serving: the servers.
            serve: another one on the same files.
        """
        self.is_contested = False
        for _ in range(self.random.randint(0, 3)):
            await asyncio.sleep(self.random.expovariate(15))
            move = self.random.choice(("backup", "backup", "by hand", "second server"))
            if move == "backup":
                await self._back_up()
            elif move == "by hand" and self.keep:
                await self._copy_by_hand()
            elif move == "second server" and len(serving) == 1 and not serving[0].done():
                self.is_contested, self.world.locks = True, self.random.random() < 0.3
                self._count("a second server, " + ("with locks" if self.world.locks else "without locks"))
                serving.append(asyncio.create_task(serve()))

    def expected(self, ends: Sequence[BaseException | None]) -> bool:
        """Whether the servers of a life ended as they should: one goes on where two have started."""
        failed = [each for each in ends if each is not None]
        self.world.trace.append(f"{self.world.now:.3f} operator: servers ended: {ends}")
        if (
            not self.is_contested
            or len(failed) == len(ends)
            or not all(isinstance(each, HutchError) for each in failed)
        ):
            return False
        if self.world.locks:
            assert ends[0] is None or self.world.errors, ends
        wanted = IN_USE if self.world.locks else UNSEEN
        assert self.world.errors or all(wanted in str(each) for each in failed), ends
        return True

    async def _back_up(self) -> None:
        """`hutch serve backup`, step by step, while the server goes on."""
        folder = self._new_folder()
        known = self._acknowledged()
        world = self.world
        beside = Beside(world, lambda: self._proved(copies.backup(*self._of(world.folder), folder)))
        self.backup = beside, folder, known
        copy_log = copies._copy_log

        def copied(store: Path, copy: Path) -> None:
            beside.pause()
            copy_log(store, copy)

        clock = SimpleNamespace(time=lambda: 1.7e9, sleep=beside.pause)
        self._patches = patch.multiple(copies, _copy_log=copied, time=clock)
        self._patches.start()
        try:
            while not beside.done:
                beside.step()
                await asyncio.sleep(beside.wants + self.random.expovariate(300))
        finally:
            self._finish_backup(let_it_end=not world.dead)

    def _finish_backup(self, *, let_it_end: bool) -> None:
        """Let a backup end behind the server, or with the machine."""
        assert self.backup is not None
        (beside, folder, known), self.backup = self.backup, None
        if let_it_end:
            while not beside.done:
                beside.step()
        beside.kill()
        self._patches.stop()
        if isinstance(beside.error, HutchError):
            self._count("backup: refused while saves go on")
        elif isinstance(beside.error, SystemExit):
            self._count("backup: died with the machine")
        elif beside.error is not None:
            raise beside.error
        else:
            self._count("backup: proved")
            self._keep_copy("backup", folder, known)

    @staticmethod
    def _proved(found: Sequence[copies.Proved]) -> None:
        assert all(each.proved <= each.replayed for each in found)

    async def _copy_by_hand(self) -> None:
        """Copy the model first, and then the log, as the pages say."""
        folder, known = self._new_folder(), self._acknowledged()
        folder.mkdir()
        shutil.copyfile(self.world.folder / "m", folder / "m")
        await asyncio.sleep(self.random.expovariate(200))
        uri = f"{(self.world.folder / 'log.db').as_uri()}?mode=ro"
        with closing(connect_plainly(uri, uri=True)) as source, closing(connect_plainly(folder / "log.db")) as target:
            source.backup(target)
        self._count("copy by hand")
        self._keep_copy("by hand", folder, known)

    # Between two servers.

    def between_lives(self) -> None:
        """Moves while no server runs; the disk is as the last one, or the machine's death, left it."""
        self.world.beside = False
        if self.random.random() < 0.5:
            folder, known = self._new_folder(), self._acknowledged()
            put(folder, {name: (self.world.folder / name).read_bytes() for name in FILES if self._has(name)})
            self._keep_copy("stopped", folder, known)
        moves: list[Callable[[], None]] = [
            self._restore, self._restore_by_hand, self._put_back_old_files, self._put_back_a_save,
            self._upgrade, self._start_another_version,
        ]  # fmt: skip
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.random.choice(moves)()

    def _restore(self) -> None:
        """`hutch serve restore`; the machine may die in it, and a server start between."""
        backups = [each for each in self.copies if each.kind == "backup"]
        if not backups:
            return
        copy, world, self.named = self.random.choice(backups), self.world, False
        before = contents(world.folder)
        world.faults, world.operations = True, 0
        world.crash_at = self.random.randint(1, 12) if self.random.random() < 0.4 else -1
        while True:
            try:
                with self._beside():
                    self._put_back(copy)
                break
            except Crash:
                self._count("restore: the machine dies")
                assert world.image is not None
                world.folder = put(self._new_folder(), world.image)
                world.dead, world.image = False, None
                world.renamed.clear()
                world.unsynced.clear()
                if not (refused := self._start_now()):
                    last, decisions = contents(world.folder)  # a start may log that it refuses an entry
                    wholes = (before, (copy.position, copy.decisions))
                    assert any(p <= last <= p + 1 and decisions == known for p, known in wholes), "half restored"
                self._count("start after half a restore: " + ("refused" if refused else "whole"))
            except HutchError as error:
                assert world.errors, error
                self._count("restore: failed, and again")
                world.faults = False
        world.faults = False
        self._count("restore")
        self._roll_back(copy)

    def _put_back(self, copy: Copy) -> None:
        try:
            copies.restore(copy.folder, self.world.folder)
        except UsageError as error:
            assert "--drop-later" in str(error), error
            self._count("restore: later entries named")
            self.named = True
            copies.restore(copy.folder, self.world.folder, drop_later=True)
        else:
            lost = [each.key for each in self._acknowledged() if not (_holds(copy, each) or _is_late(each))]
            # what an interrupted restore has dropped was named before it
            assert not lost or self.named, f"{lost} were dropped unnamed"

    def _restore_by_hand(self) -> None:
        """Delete the log and the files beside it, and put a copy in their place, as the pages say."""
        found = [each for each in self.copies if each.kind != "backup"]
        if not found:
            return
        copy, kept = self.random.choice(found), self._files()
        for each in self.world.folder.glob("log.db*"):
            real["unlink"](each)
        self._put_files(copy.folder, [name for name in FILES if (copy.folder / name).exists()])
        if refused := self._start_now():
            assert copy.kind == "by hand", refused  # more saves between the copies than are kept
            self._count("restore by hand: refused")
            self._put_all(kept)
        else:
            self._count(f"restore by hand: {copy.kind}")
            self._roll_back(copy)

    def _put_back_old_files(self) -> None:
        """Put back some files of an older copy over the present ones, which is a mistake unless it is the whole log."""
        whole = [each for each in self.copies if each.kind == "stopped"]
        candidates = [*whole, *(each for each in self.forgotten if each.kind == "stopped")]
        if not candidates:
            return
        copy, kept = self.random.choice(candidates), self._files()
        there = [name for name in FILES if (copy.folder / name).exists()]
        names = [name for name in there if self.random.random() < 0.5] or [self.random.choice(there)]
        if copy not in whole:
            names = ["m"]
        self._put_files(copy.folder, names)
        is_whole_log = {"log.db", "log.db-wal"} & {*names} and self._is_the_log_of(copy)
        without_evidence = copy in whole and "log.db-last" in names and {"log.db", "log.db-wal"} & {*names}
        if self._start_now():
            self._count("old files: refused")
            self._put_all(kept)
        elif is_whole_log:
            self._count("old files: the whole log")
            self._roll_back(copy)
        elif without_evidence:  # what tells of later entries was put back, too
            self._count("old files: the whole log")
            found = Copy("mixed", copy.folder, *contents(self.world.folder))
            self.copies.insert(self.copies.index(copy), found)
            self._roll_back(found)
            self.copies.remove(found)
        else:
            self._count("old files: harmless")

    def _is_the_log_of(self, copy: Copy) -> bool:
        """Whether the log is that of a copy, and nothing beside it tells that there was a later one.

        The file that tells is not synced with each commit, so that it may be older after a power failure.
        """
        with self._beside():
            noted = LastEntry(self.world.folder / "log.db")
            noted.close()
            with opened(copy.folder) as log:
                commits = commits_of(log) if log.execute(_HAS_TABLES).fetchall() else 0
        if noted.number > copy.position or noted.commits > commits:
            return False
        try:
            return contents(self.world.folder) == (copy.position, copy.decisions)
        except sqlite3.DatabaseError:  # files of two logs
            return False

    def _put_back_a_save(self) -> None:
        """Put an earlier save in the place of the model, which the server keeps for that."""
        saves, kept = sorted(self.world.folder.glob("m.at-*")), self._files()
        if not saves:
            return
        save = self.random.choice(saves)
        if save.samefile(self.world.folder / "m"):  # its save was interrupted
            return
        shutil.copyfile(save, self.world.folder / "m")
        if self._start_now():
            self._count("an earlier save: refused")
            self._put_all(kept)
        else:
            self._count("an earlier save: learned again")

    def _upgrade(self) -> None:
        """From now on another version serves, which learns the same."""
        self.world.version = f"{self.random.randint(1, 99)}.0"
        self._count("upgrade")

    def _start_another_version(self) -> None:
        """Try a version that learns other numbers: it starts only if nobody was told any of them."""
        world = self.world
        metadata = load_chain_model(world.folder / "m")[1]
        if len(metadata["chain"]["chain"]) > 1 or "log" not in metadata:  # a new model is saved at once
            return
        version, world.version, world.rounds_otherwise = world.version, "other", True
        try:
            differs = self._would_differ()
            refused = self._start_now()
        finally:
            world.version, world.rounds_otherwise = version, False
        if differs is not None:
            assert bool(refused) == differs, (refused, differs)
        if refused and "no such" not in refused:
            assert "predicts something else" in refused and "hutch other" in refused, refused
        self._count("another version: " + ("refused" if refused else "equal"))

    def _would_differ(self) -> bool | None:
        """Whether the other version predicts anything else than a receipt says; None if it is not for this to say."""
        arrays, metadata = load_chain_model(self.world.folder / "m")
        through = metadata.get("log", {}).get("through", 0)
        query = (
            "SELECT kind, body, receipt FROM serve_log LEFT JOIN serve_receipts USING (number) WHERE number > ?"
            " ORDER BY number"
        )
        with opened(self.world.folder) as log:
            if not log.execute(_HAS_TABLES.replace("serve_log", "serve_receipts")).fetchall():
                return None
            rows = log.execute(query, [through]).fetchall()
        if any(kind == REFUSED or body.decode() == RUIN for kind, body, _ in rows):
            return None
        with self._beside():
            chain = Chain.from_arrays(arrays, metadata, "m")
            found = [(receipt_of(chain.learn(body.decode().split("\n"))), receipt) for _, body, receipt in rows]
        return any(receipt not in (None, own) for own, receipt in found)

    # Helpers.

    def _count(self, what: str) -> None:
        self.world.count(f"operator: {what}")
        self.world.trace.append(f"{self.world.now:.3f} operator: {what}")

    def _new_folder(self) -> Path:
        return self.root / f"of the operator {next(self.numbers)}"

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """What runs is not the server."""
        self.world.beside = True
        try:
            yield
        finally:
            self.world.beside = False

    @staticmethod
    def _of(folder: Path) -> tuple[dict[str, Path], Path]:
        return {"m": folder / "m"}, folder / "log.db"

    def _has(self, name: str) -> bool:
        return (self.world.folder / name).exists()

    def _files(self) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in self.world.folder.iterdir() if not each.name.endswith("-shm")}

    def _put_all(self, files: dict[str, bytes]) -> None:
        """Put all files back as they were."""
        for each in self.world.folder.iterdir():
            real["unlink"](each)
        for name, content in files.items():
            (self.world.folder / name).write_bytes(content)
        self._synced()

    def _put_files(self, source: Path, names: Sequence[str]) -> None:
        for name in names:
            shutil.copyfile(source / name, self.world.folder / name)
        self._synced()

    def _synced(self) -> None:
        """What an operator does by hand has reached the disk before the machine may die again."""
        self.world.renamed.clear()
        self.world.unsynced.clear()

    def _start_now(self) -> str:
        """Start a server and end it without a save; the reason if it refuses."""
        world, faults = self.world, self.world.faults
        world.faults = False
        world.chains_in_use = 0
        try:
            with closing(Log(world.folder / "log.db")) as log:
                for each in server.load([f"m={world.folder / 'm'}"], log, WIDE, self.keep).values():
                    each.close()
        except HutchError as error:
            assert str(world.folder) in str(error), f"a refusal that names no file: {error}"
            return str(error)
        finally:
            world.faults = faults
            for connection in [*world.connections]:
                connection.close()
            world.connections.clear()
        return ""

    def _acknowledged(self) -> list[Request]:
        """What clients know to be in the log."""
        return [each for some in self.clients for each in some if each.status == 200 and each.path in _DURABLE]

    def _keep_copy(self, kind: str, folder: Path, known: list[Request]) -> None:
        copy = Copy(kind, folder, *contents(folder))
        missing = [each.key for each in known if each.status == 200 and not (_holds(copy, each) or _is_late(each))]
        assert not missing, f"a copy without what was acknowledged before it: {missing}"
        self.copies.append(copy)

    def _roll_back(self, copy: Copy) -> None:
        """The clients send again what a copy lacks; copies of that are of another past."""
        for requests in self.clients:
            for each in requests:
                if each.status == 200 and each.path in _DURABLE and not _holds(copy, each):
                    each.answer, each.status, each.sent = None, 0, 0
            requests[:] = [
                each for each in requests if each.path != "/v1/reward" or each.key.removeprefix("r") in copy.decisions
            ]
        place = self.copies.index(copy) + 1
        self.forgotten += self.copies[place:]
        del self.copies[place:]


_HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE name = 'serve_log'"
_DURABLE = ("/v1/learn", "/v1/rank", "/v1/reward")


def _holds(copy: Copy, request: Request) -> bool:
    """Whether a copy has what a client knows to be acknowledged."""
    assert request.answer is not None
    if request.path == "/v1/rank":
        return request.answer["id"] in copy.decisions
    return not _is_late(request) and request.answer["position"] <= copy.position


def _is_late(request: Request) -> bool:
    """Whether a reward came after the default was learned."""
    return bool(request.answer and request.answer.get("late"))


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The log of a folder, as it is with what is in its write-ahead log; the folder does not change."""
    with tempfile.TemporaryDirectory() as other:
        for name in ("log.db", "log.db-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, Path(other, name))
        with closing(connect_plainly(Path(other, "log.db"))) as connection:
            yield connection


def contents(folder: Path) -> tuple[int, frozenset[str]]:
    """The number of the last entry of a log, and the ids of its decisions."""
    with opened(folder) as connection:
        if not connection.execute(_HAS_TABLES).fetchall():
            return 0, frozenset()
        [(last,)] = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'serve_log'")
        return last or 0, frozenset(id for (id,) in connection.execute("SELECT id FROM serve_decisions"))
