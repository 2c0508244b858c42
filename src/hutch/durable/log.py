"""The write-ahead log: entries that served models are about to learn, in the file of the label store.

Nothing is learned, and no request answered, before it is on disk. The log belongs to models, whatever their files are
called: each file records its model and the last entry that it has learned, so after a crash a model is its last save
and the entries after it, in their order. Each entry has a checksum, chained to the one before; the number of the last
one is in a separate file as well, so that nothing is lost or changed unnoticed.
"""

import asyncio
import json
import math
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hutch.core.errors import StoreError, at, counted
from hutch.durable import deferred, loops, seen
from hutch.durable.checksums import sound
from hutch.durable.choices import DECISION, Contradiction
from hutch.durable.commit import Deliver, GroupCommit
from hutch.durable.last_entry import LastEntry, commits_of, generation_of
from hutch.durable.lock import Held
from hutch.durable.log_reader import DROPPED, REFUSED, Entry, LogReader, chained
from hutch.durable.receipts import TABLES, made_by, maker, note_start
from hutch.durable.store import Store

MOST = 10_000_000
"""Ids of requests, and decisions, that are remembered of each model."""
_COUNT_COMMIT = "INSERT INTO store VALUES ('commits', 1, NULL) ON CONFLICT (key) DO UPDATE SET value = value + 1"
_WAY_OUT = "or go on without what is lost with --accept-loss"


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry that is on disk.

    Attributes:
        number: its place in the log.
        repeated: its id was known, so that it is not learned again.
    """

    number: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A model's position in the log.

    Attributes:
        model: its number in the store.
        identity: its name in the metadata of its file.
        through: the last entry that its file holds.
        note: if the file does not record it yet, the last entry that it will have learned once it has read the log.
    """

    model: int
    identity: str
    through: int
    note: int | None


class Log(LogReader):
    """The log in a store's file.

    Args:
        path: the file; made if it is missing, readable by its owner only.
        remember: seconds of service for which ids of requests and decisions are known.
        most: of them that are known of each model, and at times up to a quarter more.
        accept_loss: continue even if an acknowledged entry is lost.
        accept_difference: continue even if a replay predicts something else than clients were told.

    Attributes:
        commits: writes it.
        taken_over: called with the reason when another server writes this log, which this one must then leave alone.

    Raises:
        StoreError: it cannot be used, another server is using it, or entries are lost.
    """

    def __init__(
        self,
        path: str | Path,
        remember: float = math.inf,
        most: int = MOST,
        *,
        accept_loss: bool = False,
        accept_difference: bool = False,
    ) -> None:
        self._held = Held(path, create=True)
        self._last = LastEntry(Path(path))
        try:
            self._last.check()
            super().__init__(Store(path, create=True))
        except BaseException:
            self._last.close()
            self._held.close()
            raise
        self._remember, self._most = remember, most
        self.accept_loss, self.accept_difference = accept_loss, accept_difference
        self._generation = self._shown = ""  # shown: the main file of the log has it, too
        self._receipts: list[tuple[int, int]] = []
        self.taken_over: Callable[[str], object] = lambda why: None
        self.commits = GroupCommit(self._transaction)
        self._served: set[int] = set()
        self._counted_at: dict[int, float] = {}
        [(served,)] = self.store.rows("SELECT coalesce(max(value), 0) FROM store WHERE key = 'served_seconds'")
        self._seconds, self._begun = float(served), time.monotonic()
        last, acknowledged = self.last(), self._last.number
        with self.store.transaction() as connection:
            self._commits = commits_of(connection)
        if lost := self._lost(last) if not accept_loss else "":
            text = f"damaged: {lost} gone: put back a copy, {_WAY_OUT}"
            self.store.close()
            self._last.close()
            self._held.close()
            raise StoreError(at(str(path), None, None, text))
        self._begin(max(acknowledged, last))
        self._go_on_from(acknowledged)

    def _lost(self, last: int) -> str:
        """What the file beside the log knows of, and the log ends before, as `entry 7 of the log, ..., is`."""
        first, until, commits = last + 1, self._last.number, self._last.commits - self._commits
        if until > first:
            return f"entries {first} to {until} of the log, which were acknowledged, are"
        if until == first:
            return f"entry {first} of the log, which was acknowledged, is"
        if commits > 1:
            return f"the last {commits} commits of the log, which were acknowledged, are"
        return "the last commit of the log, which was acknowledged, is" if commits == 1 else ""

    def _begin(self, last: int) -> None:
        """Begin a generation: from now on no other server may write the log."""
        generation = secrets.token_hex(8)
        self._last.reopen(last, self._commits)
        with self.store.transaction() as connection:
            for statement in (*TABLES, deferred.TABLE, *loops.TABLES, seen.TABLE):
                connection.execute(statement)
            connection.execute("INSERT OR REPLACE INTO store VALUES ('generation', ?, NULL)", [generation])
            note_start(connection, last, maker(), time.time())
        self._generation = generation
        self._shown = generation if self.store.checkpoint() else ""
        self._last.write(last, self._shown, self._commits)

    @property
    def remembered(self) -> float:
        """Seconds of service for which ids of requests and decisions are known."""
        return self._remember

    @property
    def size(self) -> int:
        """Bytes of the store's files."""
        found = 0
        for ending in ("", "-wal"):
            with suppress(OSError):
                found += os.stat(f"{self.store.path}{ending}").st_size
        return found

    def now(self) -> float:
        """Seconds of service since the store was made, by which ids grow old: a wrong clock forgets nothing."""
        return self._seconds + time.monotonic() - self._begun

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start writing; results on disk are delivered in the loop, in the order of the log."""
        self.commits.start(loop)

    def append(self, entry: Entry, deliver: Deliver) -> None:
        """Write an entry, then call `deliver` in the loop, with a `Logged` or an error."""
        self.commits.submit(lambda connection: self._insert(connection, entry), deliver)

    def append_now(self, entry: Entry) -> int:
        """Write an entry before the log is started; returns its number."""
        with self._transaction() as connection:
            return self.write(connection, entry)

    async def check_writable(self) -> None:
        """Write an entry, and sync it.

        Raises:
            StoreError: it cannot be written.
        """
        query = "INSERT OR REPLACE INTO store VALUES ('ready', ?, NULL)"
        await self.commits.done(lambda connection: connection.execute(query, [str(time.time())]))

    def close(self) -> None:
        """Write all that is waiting, and close the file."""
        self.commits.flush()
        with suppress(StoreError):
            if self._receipts:
                with self._transaction():
                    pass
        last = self._last_if_ours()
        self.store.close()
        if last is not None:
            self._last.write(last, self._generation, self._commits, closed=True)
        self._last.close()
        self._held.close()

    def receipt(self, number: int, receipt: int) -> None:
        """Keep the receipt of an entry; it is written with the next transaction."""
        self._receipts.append((number, receipt))

    def check_ours(self) -> None:
        """Check that no other server writes this log.

        Raises:
            StoreError: one does; file systems without locks let it.
        """
        [(generation,)] = self.store.rows("SELECT value FROM store WHERE key = 'generation'")
        self._check_generation(str(generation))

    def made_by(self, number: int) -> dict[str, str]:
        """The versions and the processor that wrote an entry; empty if unknown."""
        with self.store.transaction() as connection:
            return made_by(connection, number)

    def _last_if_ours(self) -> int | None:
        with suppress(StoreError):
            self.check_ours()
            return self.last()
        return None

    def _check_generation(self, found: str) -> None:
        if found != self._generation:
            text = "another server has begun to write this log, on a file system without locks: this one stops;"
            why = at(str(self.store.path), None, None, f"{text} what was acknowledged is in the log")
            self.taken_over(why)
            raise StoreError(why)

    def adopt(self, noted: Mapping[str, Any], path: Path, name: str) -> Place:
        """Find a model's place in the log.

        Args:
            noted: result of `note` at the last save; empty if it was never in service.
            path: of its file, for messages.
            name: under which it is served; empty if it is only read.

        Raises:
            StoreError: entries that the model lacks are lost, or the log is of another model.
        """
        if not noted and not name:
            raise StoreError(
                at(str(path), None, None, "was never in service, wanted an earlier save of a served model")
            )
        if not noted:
            query = "SELECT count(*) FROM serve_log JOIN serve_models USING (model) WHERE name = ? AND number > saved"
            if waiting := self.store.rows(query, [name])[0][0]:
                entries = counted(waiting, "entry", "entries")
                text = f"{self.store.path} has {entries} of another model that was served as {name!r}, and is not saved"
                self._lose(path, text)
            query = (
                "SELECT max(last) FROM serve_models WHERE name = ? AND"
                " (chain != 0 OR model IN (SELECT model FROM serve_decisions))"
            )
            if (last := self.store.rows(query, [name])[0][0]) is not None:
                text = (
                    f"was never in service, but {self.store.path} is of a model {name!r} that was, up to entry {last}"
                )
                self._lose(path, text, "put that back, serve this one as NAME=FILE or with another --store, or with")
            return self._register(name)
        identity, through = str(noted["identity"]), int(noted["through"])
        query = "SELECT model, kept, last FROM serve_models WHERE identity = ?"
        found = self.store.rows(query, [identity])
        if noted["store"] != self.store.identity or not found:
            problem = f"its entries are in another log than {self.store.path}: name that with --store"
            self._lose(path, problem)
            return self._register(name)
        model, kept, last = found[0]
        if model in self._served:
            self._lose(path, f"a copy of the model {name!r} that is served already", "serve it as another one with")
            return self._register(name)
        problem = ""
        if through < kept:
            problem = f"older than its log: it holds entries up to {through}, those up to {kept} are in a newer file"
        elif through > last:
            problem = f"newer than its log, which ends at {last}: the model holds entries up to {through}"
        elif self.chain_at(model, through) != noted["chain"]:
            problem = f"not the model of its log, which goes on from another one at {through}"
        if any(first <= through < number for number, first, _, dropped in self.refused(model) if dropped):
            problem = "holds entries that were taken back"
        problem = problem or self.damage(model, through)
        if problem:
            self._lose(path, problem)
            last = max(last, self.store.rows("SELECT max(number) FROM serve_log WHERE model = ?", [model])[0][0] or 0)
        chain = self.chain_at(model, last)
        with self._transaction() as connection:
            if name:
                query = "UPDATE serve_models SET name = ?, saved = ? WHERE model = ?"
                connection.execute(query, [name, through, model])
            if through < kept:
                self._take_back(connection, model, through + 1, kept)
            if through > last:
                connection.execute("DELETE FROM serve_log WHERE model = ?", [model])
                row = [through, noted["chain"], through, noted["chain"], model]
                query = "UPDATE serve_models SET kept = ?, kept_chain = ?, last = ?, chain = ? WHERE model = ?"
                connection.execute(query, row)
            elif problem:
                query = "UPDATE serve_models SET last = ?, chain = ? WHERE model = ?"
                connection.execute(query, [last, chain, model])
        last = max(last, through)
        self._go_on_from(last)
        self._served.add(model)
        return Place(model, identity, through, last if problem else None)

    def _lose(self, path: Path, problem: str, way_out: str = "") -> None:
        if not self.accept_loss:
            way = f"{way_out} --accept-loss" if way_out else f"put back what belongs together, {_WAY_OUT}"
            raise StoreError(at(str(path), None, None, f"{problem}: {way}"))

    def _register(self, name: str) -> Place:
        identity, through = secrets.token_hex(8), self.last()
        with self._transaction() as connection:
            query = "INSERT INTO serve_models VALUES (NULL, ?, ?, ?, ?, 0, ?, 0)"
            model = connection.execute(query, [identity, name, through, through, through]).lastrowid
        assert model is not None
        self._served.add(model)
        return Place(model, identity, through, through)

    def note(self, place: Place, through: int) -> dict[str, Any]:
        """The metadata of a model file that has learned up to an entry."""
        chain = self.chain_at(place.model, through)
        return {"identity": place.identity, "store": self.store.identity, "through": through, "chain": chain}

    def _insert(self, connection: sqlite3.Connection, entry: Entry) -> Logged:
        if entry.id:
            key = [entry.model, entry.id]
            query = f"SELECT digest, number FROM serve_ids WHERE model = ? AND id = ? AND {sound('serve_ids')}"
            before = connection.execute(query, key).fetchone()
            if before is not None:
                if before[0] != entry.digest:
                    text = f"id: got {entry.id!r} with another body than before, wanted a new id"
                    raise Contradiction(text)
                return Logged(before[1], repeated=True)
        number = self.write(connection, entry)
        if entry.id:
            row = [*key, entry.digest, number, self.now()]
            connection.execute("INSERT INTO serve_ids (model, id, digest, number, time) VALUES (?, ?, ?, ?, ?)", row)
        return Logged(number)

    @staticmethod
    def write(connection: sqlite3.Connection, entry: Entry, decision: str = "") -> int:
        """Write an entry within a transaction.

        Args:
            connection: in the transaction.
            entry: to learn.
            decision: the id of its decision, whose body is stored already.

        Returns:
            Its number.
        """
        [before] = connection.execute("SELECT chain FROM serve_models WHERE model = ?", [entry.model]).fetchone()
        checksum = entry.checksum
        chain = chained(before, checksum)
        kind, body = (DECISION, decision.encode()) if decision else (entry.kind, entry.body)
        if decision and entry.choice is not None and entry.choice.metrics:
            kind, body = seen.METRICS, seen.body_of(decision, entry.choice.metrics)
        number = connection.execute(
            "INSERT INTO serve_log (model, kind, body, audit, time, checksum, chain) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [entry.model, kind, body, entry.audit, time.time(), checksum, chain],
        ).lastrowid
        assert number is not None
        query = "UPDATE serve_models SET last = ?, chain = ? WHERE model = ?"
        connection.execute(query, [number, chain, entry.model])
        return number

    def refuse(self, connection: sqlite3.Connection, model: int, first: int, last: int, why: str) -> int:
        """Retract entries within a transaction: they are never learned, and their ids are free again.

        Returns:
            The number of the entry that records this.
        """
        self._take_back(connection, model, first, last)
        body = json.dumps({"first": first, "last": last, "why": why})
        return self.write(connection, Entry(model, REFUSED, body.encode()))

    def drop_behind(self, model: int, number: int) -> int:
        """Retract all entries of a model after one; returns their number."""
        count = sum(entry is not None for _, entry in self.entries(model, number))
        if count:
            with self._transaction() as connection:
                self.refuse(connection, model, number + 1, _last_number(connection), DROPPED)
        return count

    @staticmethod
    def _take_back(connection: sqlite3.Connection, model: int, first: int, last: int) -> None:
        key = [model, first, last]
        connection.execute("DELETE FROM serve_ids WHERE model = ? AND number BETWEEN ? AND ?", key)
        query = "UPDATE serve_decisions SET cost = NULL, number = NULL WHERE model = ? AND number BETWEEN ? AND ?"
        connection.execute(query, key)
        seen.take_back(connection, model, first, last)

    def last(self) -> int:
        """The number of the last entry ever written."""
        with self.store.transaction() as connection:
            return _last_number(connection)

    def saved(self, model: int, through: int, keep: int | None = None) -> None:
        """Remove the entries of a model that its file now holds, and everything too old to keep.

        Args:
            model: its number.
            through: the last entry that its file holds.
            keep: entries after this one stay; None: only those that the file lacks.
        """
        cut = through if keep is None else min(keep, through)
        chain = self.chain_at(model, cut)
        with self._transaction() as connection:
            query = "UPDATE serve_models SET kept = ?, kept_chain = ? WHERE model = ? AND kept <= ?"
            connection.execute(query, [cut, chain, model, cut])
            connection.execute("UPDATE serve_models SET saved = ? WHERE model = ?", [through, model])
            connection.execute(
                "DELETE FROM serve_receipts WHERE number IN"
                " (SELECT number FROM serve_log WHERE model = ? AND number <= ?)",
                [model, cut],
            )
            connection.execute("DELETE FROM serve_log WHERE model = ? AND number <= ?", [model, cut])
            changes = connection.total_changes
            counts = changes - self._counted_at.get(model, -math.inf) > self._most // 4  # counting reads all of them
            if counts:
                self._counted_at[model] = changes
            for table, held in (("serve_ids", ""), ("serve_decisions", " AND (number IS NULL OR number <= :cut)")):
                oldest = "time < :before"
                if counts:
                    known = f"SELECT time FROM {table} WHERE model = :model ORDER BY time DESC LIMIT 1 OFFSET :most"
                    oldest += f" OR time <= coalesce(({known}), -1)"
                given = {"model": model, "before": self.now() - self._remember, "most": self._most, "cut": cut}
                connection.execute(f"DELETE FROM {table} WHERE model = :model AND ({oldest}){held}", given)
            deferred.forget(connection, model)
            loops.forget(connection, model)
            seen.forget(connection, model)
            connection.execute("INSERT OR REPLACE INTO store VALUES ('served_seconds', ?, NULL)", [str(self.now())])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, after which the number of the last entry is recorded outside."""
        with self.store.transaction() as connection:
            self._check_generation(generation_of(connection))
            count = len(self._receipts)  # others may come meanwhile
            query = "INSERT OR REPLACE INTO serve_receipts VALUES (?, ?)"
            connection.executemany(query, self._receipts[:count])
            yield connection
            connection.execute(_COUNT_COMMIT)
            last, commits = _last_number(connection), commits_of(connection)
        del self._receipts[:count]
        self._commits = commits
        self._last.write(last, self._shown, commits)

    def _go_on_from(self, number: int) -> None:
        """Give no number again that was given before."""
        if number > self.last():
            with self._transaction() as connection:
                connection.execute("DELETE FROM sqlite_sequence WHERE name = 'serve_log'")
                connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('serve_log', ?)", [number])


def _last_number(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'serve_log'").fetchone()
    return int(found[0]) if found else 0
