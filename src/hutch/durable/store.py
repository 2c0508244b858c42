"""The label store: requests, answers and all events, in one SQLite file that many processes may use at once.

Every method that writes is one transaction; accepted data survive the death of any process. Answers are
accepted at least once and counted once. The audit log is the order in which a model learns, so a model can be rebuilt
by replaying it.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from hutch.core.errors import DataError, StoreError, at, shortened
from hutch.durable.checksums import sound
from hutch.durable.damage import Files, named, tell_damage
from hutch.durable.entries import Accepted, Counts, Event, Round
from hutch.durable.records import DONT_KNOW, LONGEST_NAME, NEIGHBOURS, SKIP, Answer, Request, nearest
from hutch.durable.schema import open_store

_REQUEST_COLUMNS = "id, line, prediction, probability, importance, model"
_DAY = 86400.0
_FREE = "(leased_until <= :now OR leased_until > :late)"
"""A request without a holder; a lease that ends later than any possible one came from a wrong clock."""
_OF_OTHERS = "NOT EXISTS (SELECT 1 FROM labels WHERE request = r.id AND worker = :worker)"
_HELD = (
    "SELECT id FROM requests AS r INDEXED BY leases WHERE leased_to != '' AND leased_to = :worker"
    f" AND leased_until > :now AND state = 'open' AND {_OF_OTHERS} ORDER BY number LIMIT 1"
)
"""The request that a worker holds."""
_NEXT = (
    "SELECT id FROM requests AS r INDEXED BY open_requests WHERE state = 'open'"
    f" AND {_OF_OTHERS} AND {_FREE} ORDER BY number LIMIT 1"
)
"""The first open request that a worker has not answered and that has no holder."""
_PREFERRED = (
    "SELECT r.id FROM json_each(:order) AS o JOIN requests AS r ON r.id = o.value WHERE state = 'open'"
    f" AND {_OF_OTHERS} AND {_FREE} ORDER BY o.key LIMIT 1"
)
"""The same of requests in a given order."""


class Store:
    """A label store in one file.

    Args:
        path: the file.
        create: make it if it is missing.
        clock: seconds since 1970.

    Raises:
        StoreError: the file is missing or no store of this version.
    """

    def __init__(self, path: str | Path, *, create: bool = False, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._clock = clock
        self._lock = threading.RLock()
        self._connection = open_store(path, create=create)
        self._files = Files(self.path)
        self._examples_per_label: dict[int, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            tell_damage(error, self._connection, self.path)
        finally:
            self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block, or nothing of it."""
        with self._lock, named(self.path, "written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._files.check()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, arguments: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """The rows that a query finds."""
        with self._lock, named(self.path, "read"):
            return self._connection.execute(query, arguments).fetchall()

    def compact(self) -> None:
        """Give the disk the room back that removed rows took."""
        with self._lock, named(self.path, "written"):
            self._connection.execute("VACUUM")
        self.checkpoint()

    def checkpoint(self) -> bool:
        """Write all of SQLite's write-ahead log into the main file; returns whether no reader kept it from that."""
        with self._lock, named(self.path, "written"):
            return bool(self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)

    def write_log(self, connection: sqlite3.Connection, kind: str, detail: dict[str, Any]) -> int:
        """Append an entry to the log within a transaction; returns its number."""
        cursor = connection.execute(
            "INSERT INTO audit (event, detail, time) VALUES (?, ?, ?)",
            [kind, json.dumps(detail, ensure_ascii=False), self._clock()],
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    @property
    def identity(self) -> int:
        """A random number that distinguishes this store from all others."""
        return int(self.rows("SELECT value FROM store WHERE key = 'identity'")[0][0])

    @property
    def token(self) -> str:
        """A secret for the address of the page; it stays the same when the server starts again."""
        import secrets  # not at the top, as difflib: most commands need neither

        return self.note("token", secrets.token_urlsafe(18))

    @property
    def labels_allowed(self) -> tuple[str, ...]:
        """The labels a worker may give, in canonical form; empty: any number."""
        found = self.rows("SELECT value FROM store WHERE key = 'labels'")
        return tuple(json.loads(found[0][0])) if found else ()

    def allow_labels(self, labels: Sequence[str]) -> None:
        """Set the labels a worker may give, in canonical form.

        Raises:
            StoreError: the store has other labels already.
        """
        before = self.labels_allowed
        if before and before != tuple(labels):
            text = f"its labels are {', '.join(before)}, got {', '.join(labels)}: use another store for another task"
            raise StoreError(at(str(self.path), None, None, text))
        self.note("labels", json.dumps(list(labels)))

    @property
    def wanted(self) -> int:
        """The most labels that any request wants; 1 without requests."""
        return int(self.rows("SELECT coalesce(max(wanted), 1) FROM requests")[0][0])

    def line_of(self, request: str) -> str | None:
        """The line of a request; None if the id is unknown."""
        found = self.rows("SELECT line FROM requests WHERE id = ?", [request])
        return str(found[0][0]) if found else None

    def ids(self) -> Iterator[str]:
        """The ids of all requests, in order of asking."""
        last = 0
        while rows := self.rows("SELECT number, id FROM requests WHERE number > ? ORDER BY number LIMIT 4096", [last]):
            yield from (id for _, id in rows)
            last = rows[-1][0]

    def ask(
        self,
        requests: Iterable[Request],
        round: Round,
        *,
        wanted: int = 1,
        documents: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> int:
        """Add requests, all or none.

        Args:
            requests: with ids the store does not have.
            round: of drawing them.
            wanted: number of labels for each, from different workers.
            documents: shown to people for some of them, by id; for the others they see the line.

        Returns:
            The number of requests added.

        Raises:
            StoreError: an id is taken.
        """
        with self.transaction() as connection:
            return self._ask(connection, requests, round, wanted, documents or {})

    def _ask(
        self, connection: sqlite3.Connection, requests: Iterable[Request], round: Round, wanted: int,
        documents: Mapping[str, Mapping[str, Any]],
    ) -> int:  # fmt: skip
        drawn = "INSERT INTO rounds (pool, examples, probability, threshold, created) VALUES (?, ?, ?, ?, ?)"
        cells = [round.pool, round.examples, round.probability, round.threshold, self._clock()]
        number, ids = connection.execute(drawn, cells).lastrowid, []
        row = f"INSERT INTO requests ({_REQUEST_COLUMNS}, round, wanted, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        for request in requests:
            ids.append(request.id)
            try:
                connection.execute(row, [*asdict(request).values(), number, wanted, self._clock()])
            except sqlite3.IntegrityError:
                text = f"request {request.id!r} is there already: another run has asked for it meanwhile; ask again"
                raise StoreError(at(str(self.path), None, None, text)) from None
        texts = [(id, json.dumps(found, ensure_ascii=False)) for id, found in documents.items()]
        connection.executemany("INSERT INTO documents VALUES (?, ?, NULL)", texts)
        self.write_log(connection, "ask", {"round": number, **asdict(round), "requests": ids})
        return len(ids)

    def record(self, requests: Iterable[Request], round: Round, answers: Iterable[Answer]) -> None:
        """Add requests together with their answers, all or none, so that no one else is asked.

        Raises:
            StoreError: an id is taken.
            DataError: a label that is not known.
        """
        with self.transaction() as connection:
            self._ask(connection, requests, round, 1, {})
            self.accept(connection, answers)

    def want_more(self, request: str) -> None:
        """Ask one more worker about an answered request."""
        with self.transaction() as connection:
            query = "UPDATE requests SET wanted = wanted + 1, state = 'open' WHERE id = ?"
            connection.execute(query, [request])

    def note(self, key: str, value: str) -> str:
        """Store a value under a key unless it has one; returns the stored value."""
        with self.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO store VALUES (?, ?, NULL)", [key, value])
        return str(self.rows("SELECT value FROM store WHERE key = ?", [key])[0][0])

    def document(self, request: str) -> dict[str, Any] | None:
        """The document that people see of a request; None if they see its line."""
        found = self.rows(f"SELECT document FROM documents WHERE request = ? AND {sound('documents')}", [request])
        return dict(json.loads(found[0][0])) if found else None

    def answer(self, answers: Iterable[Answer]) -> Accepted:
        """Accept answers, all or none; those known already are skipped.

        Answers may come late, repeated, in any order and from several workers.

        Raises:
            DataError: a request or label that is not known, or an answer whose id had other content before; it names
                the place the answer was read from.
        """
        pending = list(answers)  # the source may be a slow pipe: read it before others have to wait
        with self.transaction() as connection:
            numbers = self.accept(connection, pending)
        new = sum(number is not None for number in numbers)
        return Accepted(new, len(pending) - new)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    def accept(self, connection: sqlite3.Connection, answers: Iterable[Answer]) -> list[int | None]:
        """Accept answers within a transaction, as `answer` does.

        Returns:
            The number of each in the log; None where it was known already.
        """
        allowed = self.labels_allowed
        return [self._accept(connection, answer, allowed) for answer in answers]

    def _accept(self, connection: sqlite3.Connection, answer: Answer, allowed: Sequence[str]) -> int | None:
        """Insert one answer; its number in the log, None if it was known."""
        request = connection.execute("SELECT wanted, leased_to FROM requests WHERE id = ?", [answer.request]).fetchone()
        if request is None:
            query = "SELECT id FROM requests ORDER BY number DESC LIMIT ?"
            hint = nearest(answer.request, [row[0] for row in connection.execute(query, [NEIGHBOURS])])
            text = f"id: there is no request {shortened(answer.request, LONGEST_NAME)!r} in {self.path}{hint}"
            raise DataError(at(*answer.place, text))
        if allowed and answer.label not in (*allowed, SKIP, DONT_KNOW):
            wanted = ", ".join(allowed)
            text = f"label: got {answer.label!r} for request {answer.request!r}, wanted {wanted}, {SKIP} or {DONT_KNOW}"
            raise DataError(at(*answer.place, text))
        same = connection.execute("SELECT request, worker, label FROM labels WHERE id = ?", [answer.id]).fetchone()
        if same is not None:
            if same != (answer.request, answer.worker, answer.label):
                text = (
                    f"label: got {answer.label!r} from {answer.worker!r} for request {answer.request!r}, "
                    f"but this answer was {same[2]!r} from {same[1]!r} for {same[0]!r} before"
                )
                raise DataError(at(*answer.place, text))
            return None
        detail = {"id": answer.request, "worker": answer.worker, "label": answer.label, "answer": answer.id}
        number = self.write_log(connection, "answer", detail)
        connection.execute(
            "INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?, NULL)",
            [number, answer.id, answer.request, answer.worker, answer.label, self._clock()],
        )
        if answer.label != SKIP:
            query = "SELECT count(*), coalesce(sum(label != ?), 0) FROM labels WHERE request = ? AND label != ?"
            answers, labels = connection.execute(query, [DONT_KNOW, answer.request, SKIP]).fetchone()
            if answers >= request[0]:
                state = "answered" if labels else "unknown"
                connection.execute("UPDATE requests SET state = ? WHERE id = ?", [state, answer.request])
        if request[1] == answer.worker:
            connection.execute("UPDATE requests SET leased_until = 0, leased_to = '' WHERE id = ?", [answer.request])
        return number

    def lease(self, worker: str, seconds: float, order: Sequence[str] | None = None) -> Request | None:
        """The next open request for a worker, withheld from others for a while; None without one.

        A worker who holds a lease gets the same request again. Requests the worker has answered or skipped are not
        offered again.

        Args:
            worker: name of the worker.
            seconds: how long others do not see it.
            order: ids of those to try first, the best first; empty: there is none for this worker.
        """
        now = self._clock()
        given = {"now": now, "worker": worker, "late": now + seconds + _DAY, "order": json.dumps(order)}
        queries = [_HELD, *([_PREFERRED] if order else []), *([] if order == [] else [_NEXT])]
        with self.transaction() as connection:
            rows = (connection.execute(query, given).fetchone() for query in queries)
            found = next(filter(None, rows), None)
            if found is None:
                return None
            connection.execute(
                "UPDATE requests SET leased_until = ?, leased_to = ? WHERE id = ?", [now + seconds, worker, found[0]]
            )
        leased = self.request(found[0])
        return leased and leased[0]

    def learned(self, detail: dict[str, Any]) -> int:
        """Log that a model has learned."""
        with self.transaction() as connection:
            return self.write_log(connection, "learn", detail)

    def log(self, after: int = 0) -> Iterator[Event]:
        """The audit log behind entry number `after`, in order."""
        while rows := self.rows(
            f"SELECT number, event, detail, time FROM audit WHERE number > ? AND {sound('audit')}"
            " ORDER BY number LIMIT 1000",
            [after],
        ):
            for number, kind, detail, seconds in rows:
                yield Event(number, kind, json.loads(detail), seconds)
            after = rows[-1][0]

    def request(self, id: str) -> tuple[Request, int] | None:
        """A request and its wanted number of labels; None if the id is unknown."""
        found = self.rows(f"SELECT {_REQUEST_COLUMNS}, wanted FROM requests WHERE id = ? AND {sound('requests')}", [id])
        return (Request(*found[0][:-1]), found[0][-1]) if found else None

    def open_requests(self, most: int = -1) -> Iterator[Request]:
        """The first requests that still want answers, in order of asking; -1: all."""
        query = (
            f"SELECT {_REQUEST_COLUMNS} FROM requests WHERE state = 'open' AND {sound('requests')}"
            " ORDER BY number LIMIT ?"
        )
        for row in self.rows(query, [most]):
            yield Request(*row)

    def rounds(self) -> list[tuple[int, Round]]:
        """All rounds with their numbers."""
        rows = self.rows("SELECT round, pool, examples, probability, threshold FROM rounds ORDER BY round")
        return [(row[0], Round(*row[1:])) for row in rows]

    def examples_per_label(self, request: str) -> float:
        """Number of lines of its pool that each label of a request represents; 0 if it was not drawn from a pool.

        It comes from the log, which never changes, so that the log replays to the same model.
        """
        [(round, wanted)] = self.rows("SELECT round, wanted FROM requests WHERE id = ?", [request])
        if round not in self._examples_per_label:
            query = "SELECT detail FROM audit WHERE event = 'ask' AND json_extract(detail, '$.round') = ?"
            details = [json.loads(detail) for [detail] in self.rows(query, [round])]
            found = details[0]["examples"] / details[0]["probability"] if details else 0.0
            self._examples_per_label[round] = found
        return self._examples_per_label[round] / float(wanted)

    def progress_by_round(self) -> list[tuple[int, int, int]]:
        """(round, requests that have a label, requests) of every round that has requests."""
        return self.rows(
            "SELECT round, sum(EXISTS (SELECT 1 FROM labels WHERE request = r.id AND label NOT IN (?, ?))), count(*)"
            " FROM requests AS r GROUP BY round ORDER BY round",
            [SKIP, DONT_KNOW],
        )

    def outcomes(self) -> list[tuple[int, float, float, str, float]]:
        """(round, probability, prediction, label, share of the request's labels) of every label, in order of asking."""
        share = "1.0 / (SELECT count(*) FROM labels WHERE request = r.id AND label NOT IN (:skip, :unknown))"
        return self.labels(f"r.round, r.probability, r.prediction, l.label, {share}")

    def labels(self, columns: str) -> list[Any]:
        """SQL columns of every label l, its request r and the document d of that, in order of asking."""
        return self.rows(
            f"SELECT {columns} FROM requests AS r JOIN labels AS l ON l.request = r.id"
            " LEFT JOIN documents AS d ON d.request = r.id WHERE l.label NOT IN (:skip, :unknown)"
            f" AND {sound('requests', 'r')} AND {sound('labels', 'l')} ORDER BY r.number, l.number",
            {"skip": SKIP, "unknown": DONT_KNOW},
        )

    def counts(self) -> Counts:
        """Progress of the labelling."""
        states = dict(self.rows("SELECT state, count(*) FROM requests GROUP BY state"))
        [(answers, skips, dont_knows, workers)] = self.rows(
            "SELECT count(*), count(iif(label = ?, 1, NULL)), count(iif(label = ?, 1, NULL)), count(DISTINCT worker)"
            " FROM labels INDEXED BY labels_by_worker",
            [SKIP, DONT_KNOW],
        )
        [(leased,)] = self.rows(
            "SELECT count(*) FROM requests INDEXED BY leases"
            " WHERE leased_to != '' AND leased_until > ? AND state = 'open'",
            [self._clock()],
        )
        open, answered, unknown = (states.get(state, 0) for state in ("open", "answered", "unknown"))
        labels = answers - skips - dont_knows
        return Counts(
            sum(states.values()), open, answered, unknown, leased, answers, labels, skips, dont_knows, workers
        )
