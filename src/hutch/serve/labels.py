"""Label requests and answers over HTTP: the store of `hutch active`, and models that learn the answers."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hutch.active.loop import active_layer, example_of
from hutch.active.page import LEASE_SECONDS
from hutch.active.whom import Whom
from hutch.core.errors import DataError, at
from hutch.durable.entries import Event
from hutch.durable.log import Log
from hutch.durable.log_reader import Entry
from hutch.durable.records import Answer, check_worker, read_answers
from hutch.serve.bodies import SOURCE, TEXT, parse_json
from hutch.serve.served import Served

_OPEN = 1000


class Labels:
    """The store's requests, and learning from answers.

    Args:
        models: by name; the first whose top layer is `active` learns the answers.
        log: the write-ahead log, in the store's file.
    """

    def __init__(self, models: Mapping[str, Served], log: Log) -> None:
        self._log, self._whom = log, Whom(log.store)
        self._learner = next((one for one in models.values() if one.asks), None)
        if self._learner is not None:
            self._catch_up(self._learner)

    def _catch_up(self, learner: Served) -> None:
        """Put into the log the answers that arrived while no server ran."""
        store = self._log.store
        for event in list(store.log(int(active_layer(learner.chain).progress["learned"][0]))):
            entry = self._entry(learner, event)
            if entry is not None:
                learner.enqueue(self._log.append_now(entry), entry)

    def _entry(self, learner: Served, event: Event) -> Entry | None:
        line = example_of(event, self._log.store, active_layer(learner.chain).parameters.weighted)
        return None if line is None else Entry(learner.key, TEXT, line.encode(), audit=event.number)

    async def open(self, worker: str) -> dict[str, Any]:
        """The open requests; with the name of a worker the next one for them, which others do not see for a while.

        Raises:
            DataError: no name of a worker.
        """
        store = self._log.store
        if not worker:
            found = await asyncio.to_thread(lambda: list(store.open_requests(_OPEN)))
            return {"requests": [asdict(one) for one in found]}
        name = check_worker(worker, "worker")
        one = await asyncio.to_thread(lambda: store.lease(name, LEASE_SECONDS, self._whom.requests_for(name)))
        return {"requests": [asdict(one)] if one else []}

    async def give(self, body: bytes) -> dict[str, Any]:
        """Accept one answer or a list of answers, all or none; the model learns them before this returns.

        Raises:
            DataError: a malformed answer, or one without a request.
        """
        found = parse_json(body)
        listed = found if isinstance(found, list) else [found]
        try:
            answers = tuple(read_answers(map(json.dumps, listed), SOURCE))
        except RecursionError:
            raise DataError(at(SOURCE, None, None, "got an answer that is nested too deeply")) from None
        if not answers:
            raise DataError(at(SOURCE, None, None, "got no answer, wanted one or more"))
        _, new = await self._log.commits.done(lambda connection: self._accept(connection, answers), self._learn)
        return {"new": new, "repeated": len(answers) - new}

    def _accept(self, connection: sqlite3.Connection, answers: Sequence[Answer]) -> tuple[list[tuple[int, Entry]], int]:
        """The log entries for answers, with their places, and the number of new answers."""
        numbers = self._log.store.accept(connection, answers)
        new = [(n, answer) for n, answer in zip(numbers, answers, strict=True) if n is not None]
        events = [Event(n, "answer", {"id": answer.request, "label": answer.label}, 0.0) for n, answer in new]
        made = [self._entry(self._learner, event) for event in events] if self._learner else []
        return [(self._log.write(connection, one), one) for one in made if one is not None], len(new)

    def _learn(self, outcome: tuple[list[tuple[int, Entry]], int]) -> None:
        for number, one in outcome[0]:
            if self._learner is not None:
                self._learner.enqueue(number, one)
