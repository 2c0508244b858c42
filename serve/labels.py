"""Label requests and answers over HTTP: the store of `hutch active`, and models that learn what was answered."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hutch.active.loop import labelled
from hutch.active.page import LEASE_SECONDS
from hutch.active.records import DONT_KNOW, SKIP, Answer, check_worker, read_answers
from hutch.core.errors import DataError, HutchError, at
from hutch.serve.bodies import SOURCE, TEXT, parse_json
from hutch.serve.log import Entry, Log, Logged
from hutch.serve.served import Served

_OPEN = 1000


class Labels:
    """The store's requests, and what answers teach.

    Args:
        models: by name; the first whose top layer is `active` learns the answers.
        log: the write-ahead log, in the store's file.
    """

    def __init__(self, models: Mapping[str, Served], log: Log) -> None:
        self._log = log
        self._learner = next((one for one in models.values() if one.chain.layers[0].name == "active"), None)
        log.teach = self._teach

    def _teach(self, answer: Answer, number: int) -> Entry | None:
        """The entry that an accepted answer gives rise to; called in the log's transaction."""
        if self._learner is None or answer.label in (SKIP, DONT_KNOW):
            return None
        found = self._log.store.request(answer.request)
        assert found is not None
        request, wanted = found
        weighted = self._learner.chain.layers[0].parameters.weighted
        line = labelled(request.line, answer.label, (request.importance if weighted else 1.0) / wanted)
        return Entry(self._learner.name, TEXT, line.encode(), audit=number)

    async def open(self, worker: str) -> dict[str, Any]:
        """The open requests; with the name of a worker the next one for them, which others do not see for a while.

        Raises:
            DataError: no name of a worker.
        """
        store = self._log.store
        if not worker:
            found = await asyncio.to_thread(lambda: list(store.open_requests())[:_OPEN])
            return {"requests": [asdict(one) for one in found]}
        name = check_worker(worker, "worker")
        one = await asyncio.to_thread(store.lease, name, LEASE_SECONDS)
        return {"requests": [asdict(one)] if one else []}

    async def give(self, body: bytes) -> dict[str, Any]:
        """Accept one answer or a list of answers, all or none; the model learns them before this returns.

        Raises:
            DataError: what is no answer, or answers no request.
        """
        found = parse_json(body)
        listed = found if isinstance(found, list) else [found]
        answers = tuple(read_answers((json.dumps(one) for one in listed), SOURCE))
        if not answers:
            raise DataError(at(SOURCE, None, None, "got no answer, wanted one or more"))
        future: asyncio.Future[Logged] = asyncio.get_running_loop().create_future()

        def deliver(entry: Entry, outcome: Logged | HutchError) -> None:
            if isinstance(outcome, Logged) and self._learner is not None:
                for number, one in outcome.teaches:
                    self._learner.enqueue(number, one)
            if future.done():
                return
            if isinstance(outcome, HutchError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self._log.append(Entry("", "answers", b"", answers=answers), deliver)
        new = (await future).number
        return {"new": new, "repeated": len(answers) - new}
