"""A model in service: predictions at once, learning in the order of the log, saves that keep nobody waiting.

All that touches the chain happens in the event loop, so it is never seen half-changed but between the parts of a large
body. Learning pauses while the arrays are copied for a save, predicting does not.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.loop import active_layer, attach, labels_of, model_version
from hutch.chain import Chain
from hutch.core.atomic import check_writable
from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.chain.model_file import save_model
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.errors import HutchError, StoreError, at
from hutch.serve.bodies import batches_of, check_labels, single
from hutch.serve.choices import with_choice
from hutch.serve.log import Entry, Log, Logged, settle

_SMALL = 1 << 14
"""Bodies up to so many bytes are read in the loop, larger ones in a thread."""
_ROWS = 256
"""Examples of a large body that are run before others have their turn."""
_LARGE_ARRAY = 1 << 20


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request is answered.

    Attributes:
        predictions: float32 (examples), made before learning.
        scores: float32 (examples, classes).
        position: the last entry of the log that the model had learned; after learning, the request's own.
        repeated: the request was known, and learned before.
        actions: of decisions how many each has; the predictions are theirs, one after the other.
    """

    predictions: NDArray[np.float32]
    scores: NDArray[np.float32]
    position: int
    repeated: bool = False
    actions: list[int] | None = None


class Served:
    """A model in service.

    Args:
        path: of the model file; saves go there.
        log: the write-ahead log.
        name: under which clients know it.

    Attributes:
        chain: the model.
        position: the last entry of the log that it has learned.
        saved: the last entry that its file holds.
        saved_at: when it was saved last, seconds since 1970; 0 if never.

    Raises:
        ModelError: the file cannot be used.
        StoreError: the log belongs to another model of that name.
    """

    def __init__(self, path: Path, log: Log, name: str) -> None:
        check_writable(path)
        self.path, self.log, self.name = path, log, name
        arrays, metadata = load_chain_model(path)
        self.chain = Chain.from_arrays(arrays, metadata, str(path))
        self.saved = self.position = self._begin(metadata.get("log") or {})
        self.saved_at = 0.0
        self.recent_loss = float("nan")
        self._waiting: deque[tuple[int, Entry, Any, asyncio.Future[Answered] | None]] = deque()
        self._pausing = self._busy = False
        self._idle = asyncio.Event()
        self._saving = asyncio.Lock()
        if self.asks:
            attach(self.chain, log.store).simulation = False
            log.store.allow_labels(labels_of(self.chain))
        for number, entry in log.entries(name, self.position):
            self._learn_now(number, entry, None)

    @property
    def asks(self) -> bool:
        """Whether its top layer asks for labels."""
        return self.chain.layers[0].name == "active"

    def _begin(self, noted: dict[str, Any]) -> int:
        if noted.get("store") == self.log.identity and noted.get("model") == self.name:
            return int(noted["through"])
        fingerprint = model_version(self.path)
        known = self.log.beginning(self.name)
        if known is None:
            return self.log.begin(self.name, fingerprint)
        if known[0] != fingerprint:
            text = (
                f"has the log of a model {self.name!r} that {self.path} neither is nor began as: "
                "go on with that model's file, or name another --store"
            )
            raise StoreError(at(str(self.log.store.path), None, None, text))
        return known[1]

    def _copied(self, outputs: Outputs) -> Answered:
        return Answered(outputs.predictions.copy(), outputs.scores.copy(), self.position)

    async def predict(self, kind: str, body: bytes) -> Answered:
        """Predict the examples of a body.

        Raises:
            DataError: the first place that cannot be used.
        """
        if len(body) <= _SMALL:
            outputs = self.chain.run_one(single(kind, body), False)
            if outputs is not None:
                return self._copied(outputs)
            batches = batches_of(self.chain, kind, body)
        else:
            batches = await asyncio.to_thread(batches_of, self.chain, kind, body)
        return await self._run(batches, False, self.position)

    async def learn(self, kind: str, body: bytes, id: str = "") -> Answered:
        """Put a body into the log, then learn it.

        Args:
            kind: of the body.
            body: examples with labels.
            id: under which the client will send it again if it hears nothing; empty for none.

        Raises:
            DataError: the first place that cannot be used; nothing was logged.
            StoreError: the log cannot be written; nothing was learned.
        """
        ready: Any = None
        if len(body) > _SMALL:
            ready = await asyncio.to_thread(batches_of, self.chain, kind, body)
        elif not self.chain.can_learn_one(single(kind, body)):
            ready = batches_of(self.chain, kind, body)
        if ready is not None:
            check_labels(self.chain, ready)
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()

        entry = Entry(self.name, kind, body, id)

        def deliver(outcome: Logged | HutchError) -> None:
            if isinstance(outcome, HutchError):
                settle(future, outcome)
            elif outcome.repeated:
                nothing = np.zeros(0, np.float32)
                settle(future, Answered(nothing, nothing, outcome.number, True))
            else:
                self.enqueue(outcome.number, entry, ready, future)

        self.log.append(entry, deliver)
        return await future

    def enqueue(self, number: int, entry: Entry, ready: Any = None, future: Any = None) -> None:
        """Learn an entry that is on disk when its turn comes."""
        self._waiting.append((number, entry, ready, future))
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and not self._pausing and not self._busy:
            number, entry, ready, future = self._waiting.popleft()
            if ready is not None and sum(map(len, ready)) > _ROWS:
                self._busy = True
                task = asyncio.get_running_loop().create_task(self._learn_slowly(number, entry, ready, future))
                task.add_done_callback(lambda _: None)
                self._task = task
            else:
                self._learn_now(number, entry, future)
        if not self._busy:
            self._idle.set()

    def _learn_now(self, number: int, entry: Entry, future: Any) -> None:
        """Learn an entry from what was sent, as after a crash."""
        if entry.audit:
            active_layer(self.chain).examples_per_label = self._examples_per_label(entry.audit)
        try:
            one = None if self.chain.decides else single(entry.kind, entry.body)
            outputs = None if one is None else self.chain.run_one(one, True)
            if outputs is None:
                batches = batches_of(self.chain, entry.kind, entry.body)
                if entry.choice is not None:
                    batches = [with_choice(batches[0], self.chain.takes, entry.choice)]
                done = self._learned(number, entry, [(b, self.chain.run_batch(b, scores=True)[0]) for b in batches])
            else:
                self._note(entry, number)
                self._count_losses(outputs.losses)
                done = self._copied(outputs)
        except HutchError as error:  # the checks before the log passed: it fails again whenever it is read
            self.position = number
            settle(future, error)
        else:
            settle(future, done)
        finally:
            if entry.audit:
                active_layer(self.chain).examples_per_label = 0.0

    def _examples_per_label(self, number: int) -> float:
        """How many lines of its pool the answer in the audit log stands for."""
        event = next(self.log.store.log(number - 1))
        return self.log.store.examples_per_label(event.detail["id"]) if event.kind == "answer" else 0.0

    async def _learn_slowly(self, number: int, entry: Entry, batches: list[Batch], future: Any) -> None:
        try:
            found = await self._run(batches, True, number)
            self._note(entry, number)
            settle(future, found)
        except HutchError as error:
            self.position = number
            settle(future, error)
        finally:
            self._busy = False
            self._go_on()

    def _learned(self, number: int, entry: Entry, runs: list[tuple[Batch, Outputs]]) -> Answered:
        self._note(entry, number)
        return self._gathered(runs, True, number)

    def _gathered(self, runs: list[tuple[Batch, Outputs]], learn: bool, position: int) -> Answered:
        """What several batches are answered; after learning their losses are counted."""
        predictions: list[NDArray[np.float32]] = []
        actions: list[int] | None = [] if self.chain.takes.of_decisions else None
        for batch, outputs in runs:
            losses, found = outputs.losses, outputs.predictions
            if actions is not None:
                shared, ends = shared_rows(batch), ends_of_groups(batch)
                starts = np.concatenate([[0], ends[:-1]])
                losses, found = losses[starts], found[~shared]
                actions += (ends - starts - shared[starts]).tolist()
            if learn:
                self._count_losses(losses)
            predictions.append(found)
        scores = np.concatenate([outputs.scores for _, outputs in runs])
        return Answered(np.concatenate(predictions), scores, position, actions=actions)

    def _note(self, entry: Entry, number: int) -> None:
        self.position = number
        if entry.audit:
            active_layer(self.chain).progress["learned"] = entry.audit

    def _count_losses(self, losses: NDArray[np.float32]) -> None:
        for loss in losses.tolist():
            past = loss if self.recent_loss != self.recent_loss else self.recent_loss
            self.recent_loss = past + (loss - past) / 1000.0

    async def _run(self, batches: list[Batch], learn: bool, position: int) -> Answered:
        """Run batches piece by piece, so that others have their turn."""
        runs = []
        for batch in batches:
            start = 0
            for stop in self._stops(batch):
                piece = batch if stop - start == len(batch) else batch.rows(start, stop)
                start = stop
                runs.append((piece, self.chain.run_apart(piece, learn)))
                if piece is not batch:
                    await asyncio.sleep(0)
        return self._gathered(runs, learn, position)

    def _stops(self, batch: Batch) -> list[int]:
        """The rows behind the pieces in which a batch is run."""
        if self.chain.whole_groups:
            return [len(batch)]
        if not self.chain.takes.of_decisions:
            return [*range(_ROWS, len(batch), _ROWS), len(batch)]
        ends = ends_of_groups(batch)
        found = ends[np.diff(ends // _ROWS, append=-1) != 0]
        return [int(stop) for stop in found]

    async def save(self) -> bool:
        """Save the model if it has learned; returns whether it did.

        Raises:
            ModelError: the file cannot be written; what was there before stays.
        """
        async with self._saving:
            if self.position == self.saved and self.saved_at:
                await asyncio.to_thread(self.log.saved, self.name, self.saved)
                return False
            self._pausing = True
            try:
                while self._busy:
                    await asyncio.sleep(0.001)
                through, metadata = self.position, self.chain.metadata()
                live = self.chain.arrays()
                copies = {name: array.copy() for name, array in live.items() if array.nbytes < _LARGE_ARRAY}
                for name, array in live.items():
                    if name not in copies:
                        copies[name] = await asyncio.to_thread(array.copy)
            finally:
                self._pausing = False
                self._go_on()
            metadata["log"] = {"store": self.log.identity, "model": self.name, "through": through}
            await asyncio.to_thread(save_model, self.path, copies, metadata)
            await asyncio.to_thread(self.log.saved, self.name, through)
            self.saved, self.saved_at = through, time.time()
            return True

    async def drain(self) -> None:
        """Wait until all that is on disk has been learned."""
        while self._waiting or self._busy:
            await asyncio.sleep(0.001)


Models = dict[str, Served]
Choose = Callable[[str], Served]
