"""A model in service: predictions at once, learning in the order of the log, saves that keep nobody waiting.

All that touches the chain happens in the event loop, so it is never seen half-changed but between the parts of a large
body. Learning pauses while the arrays are copied for a save, predicting does not.
"""

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.loop import active_layer, attach, labels_of
from hutch.chain import Chain
from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.capabilities import AsksForLabels, WeighsMetrics, has
from hutch.core.chain.engine import Outputs
from hutch.core.chain.limits import check_values
from hutch.core.chain.model_file import overflow_of, save_model
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.chain.reduction import Predictions
from hutch.core.chain.state import limits_of_arrays
from hutch.core.errors import DataError, HutchError, ModelError, StoreError, at
from hutch.core.overflow import clear_flags, may_have_overflowed
from hutch.core.run.prediction_intervals import Intervals
from hutch.durable.choices import Choice, Contradiction, Default
from hutch.durable.commit import settle
from hutch.durable.log import Log, Logged, Place
from hutch.durable.log_reader import Entry
from hutch.durable.model_file import ModelFile
from hutch.net.application import JSON
from hutch.net.limits import Limits
from hutch.serve.answers import ROWS, Answered, RecentLoss, gathered, stops_of
from hutch.serve.bodies import SMALL, TEXT, NoMemory, batches_of, check_labels, check_numbers, single, with_choice
from hutch.serve.proofs import Proofs
from hutch.serve.starting import Starting

_LARGE_ARRAY = 1 << 20


class NotFinite(DataError):
    """A learn request after which the model would not be finite."""


_REASONS: dict[type[Exception], str] = {
    NotFinite: "not_finite",
    Contradiction: "contradiction",
    NoMemory: "too_large",
    StoreError: "log",
    HutchError: "malformed",
    MemoryError: "no_memory",
}
"""Why learn requests are rejected, for the figures: the first class that fits."""


class Served:
    """A model in service.

    Args:
        path: of the model file; saves go there.
        log: the write-ahead log.
        name: under which clients know it.
        limits: on the data it learns.
        keep: earlier saves that stay beside it, with the log behind the oldest.
        until: whether an entry of the log that the file lacks is still learned, by its number; None: all are. With it
            the model is only read, and neither its file nor its place in the log changes.
        starting: gets each step of the replay.
        overrides: `path=value` each, for parameters that do not change the meaning of the weights; from now on, so what
            the log holds is learned without them.

    Attributes:
        chain: the model.
        place: its place in the log.
        position: the last entry of the log that it has learned.
        saved: the last entry that its file holds.
        saved_at, learned_at: when it was saved and when it learned last, seconds since 1970.
        recent: the loss of the last examples.
        failed_saves: since the server started.
        rejected: learn requests that were refused, by reason.
        failure: the reason why it cannot learn any more; empty if it can.
        failed: called when it cannot learn any more.
        replayed: entries learned again at the start.
        proofs: of them.
        is_warm: the kernels of the first requests are compiled.
        default: what is learned of decisions without a reward; None: nothing.
        defaulted_until: those made before this time, in seconds of service, have been learned.

    Raises:
        ModelError: the file cannot be used.
        ConfigError: a wrong override.
        StoreError: the log belongs to another model, entries are lost, or another server uses the file.
    """

    def __init__(
        self,
        path: Path,
        log: Log,
        name: str,
        limits: Limits | None = None,
        keep: int = 0,
        until: Callable[[int, Entry], bool] | None = None,
        starting: Starting | None = None,
        overrides: Sequence[str] = (),
    ) -> None:
        arrays, metadata = load_chain_model(path)
        self.default: Default | None = None
        self.defaulted_until = 0.0
        self.path, self.log, self.name, self.limits = path, log, name, limits or Limits()
        self._file = ModelFile(path, keep)
        try:
            self.chain = Chain.from_arrays(arrays, metadata, str(path))
            why = self._why_not_finite()
            if self.chain.predicts is Predictions.DRAWN_NUMBER:
                why = "each request would draw the same number, wanted a model of the density, and draws by the client"
            if why:
                raise ModelError(at(str(path), None, None, f"cannot be served: {why}"))
            self.place: Place = log.adopt(_noted(metadata), path, "" if until else name)
            self.saved = self.position = self._file.holds = self.place.through
            self.saved_at = self.learned_at = path.stat().st_mtime
            self.recent, self.failed_saves = RecentLoss(), 0
            self.rejected: Counter[str] = Counter()
            self.failure, self.is_warm = "", False
            self.failed: Callable[[], object] = lambda: None
            self._waiting: deque[tuple[int, Entry | None, Any, asyncio.Future[Answered] | None]] = deque()
            self._pausing = self._busy = False
            self._refused: dict[int, str] = {}  # the reason; an exception would keep the request in its traceback
            self._unrecorded: dict[int, str] = {}  # refused, but not yet in the log: the reason
            self._tasks: set[asyncio.Task[None]] = set()
            self._saving, self._writing = asyncio.Lock(), threading.Lock()
            self.replayed, self.proofs = 0, Proofs(path, log)
            self._adopt_store()
            if starting is not None:
                starting.begin(log.waiting(self.key, self.position))
            for number, entry in log.entries(self.key, self.position):
                if until is not None and entry is not None and not until(number, entry):
                    break
                self._learn_now(number, entry, None)
                if self.proofs.differing and not self.proofs.goes_on:
                    raise StoreError(self.proofs.difference())
                self.replayed += entry is not None
                if starting is not None and not self.failure:
                    starting.step(self._save_now)
            if self.failure:
                raise StoreError(self.failure)
            if overrides:
                self.chain = Chain.from_arrays(self.chain.arrays(), self.chain.metadata(), str(path), overrides)
                self._adopt_store()
                self._save_now()
            if self.place.note is not None:
                self.position = max(self.position, self.place.note)
                self._save_now()
        except BaseException:
            self._file.held.close()
            raise

    def _adopt_store(self) -> None:
        """Let a top layer that asks for labels ask those who answer from the store."""
        if self.asks:
            attach(self.chain, self.log.store).simulation = False
            self.log.store.allow_labels(labels_of(self.chain))

    def _save_now(self) -> None:
        self._write(self.position, self.chain.arrays(), self.chain.metadata(), keep=False)

    @property
    def key(self) -> int:
        """Its number in the log."""
        return self.place.model

    @property
    def asks(self) -> bool:
        """Whether its top layer asks for labels."""
        return has(self.chain.layers[0], AsksForLabels)

    @property
    def weigher(self) -> WeighsMetrics | None:
        """Its layer that learns metrics; None if it learns costs."""
        return next((layer for layer in self.chain.layers if has(layer, WeighsMetrics)), None)

    @property
    def _whole(self) -> list[str]:
        return [name for name, limit in limits_of_arrays(self.chain.stack).items() if limit.grows]

    def _copied(self, outputs: Outputs) -> Answered:
        return Answered(outputs.predictions.copy(), outputs.scores.copy(), self.position)

    def warm_up(self) -> None:
        """Compile the kernels of the first requests, on a chain of the same kind."""
        chain = Chain.from_config(self.chain.config.to_dict())
        decides = chain.takes.of_decisions
        line = b"shared |a b:1\n|a c\n" if decides else b"|a b:1\n"
        record = b'{"shared": {"a": {"b": 1}}, "actions": [{"a": ["c"]}]}' if decides else b'{"a": {"b": 1}}'
        for kind, body in ((TEXT, line), (JSON, record)):
            with suppress(HutchError):  # a chain may want more of its examples than these have
                chain.one.run(single(kind, body), False)
                for batch in batches_of(chain, kind, body):
                    chain.run_apart(batch, False)
        self.is_warm = True

    async def predict(self, kind: str, body: bytes, level: float | None = None) -> Answered:
        """Predict the examples of a body; with intervals that hold the label with a probability, if it is given.

        Raises:
            DataError: the first place that cannot be used.
            ConfigError, UsageError: the chain knows no intervals, or not of this level.
        """
        intervals = None if level is None else Intervals(self.chain, level)
        if len(body) <= SMALL and intervals is None:
            outputs = self.chain.one.run(single(kind, body), False)
            if outputs is not None:
                self.chain.warn_of_far_values()
                return self._copied(outputs)
            batches = batches_of(self.chain, kind, body, self.limits.examples)
        else:
            batches = await asyncio.to_thread(batches_of, self.chain, kind, body, self.limits.examples)
        found = await self._run(batches, False, self.position, intervals)
        self.chain.warn_of_far_values()
        return found

    async def learn(self, kind: str, body: bytes, id: str = "", batches: list[Batch] | None = None) -> Answered:
        """Put a body into the log, then learn it.

        Args:
            kind: of the body.
            body: examples with labels.
            id: under which the client repeats the request if it gets no answer; empty for none.
            batches: the body, copied; None: it is yet to be read.

        Raises:
            DataError: the first place that cannot be used; nothing was logged.
            StoreError: the log cannot be written; nothing was learned.
        """
        with self._rejections():
            return await self._learn(kind, body, id, batches)

    async def learn_one(self, kind: str, body: bytes) -> Answered:
        """Put a body into the log that `self.chain.one.can_learn` has just accepted, then learn it.

        Raises:
            DataError, StoreError: as `learn`.
        """
        with self._rejections():
            if self.failure:
                raise StoreError(self.failure)
            check_numbers([self.chain.one.last], self.limits)
            return await self._logged(Entry(self.key, kind, body), None)

    @contextmanager
    def _rejections(self) -> Iterator[None]:
        """Count the learn requests that are refused."""
        try:
            yield
        except NotFinite:
            raise
        except (HutchError, MemoryError) as error:
            self.rejected[next(reason for kind, reason in _REASONS.items() if isinstance(error, kind))] += 1
            raise

    async def _learn(self, kind: str, body: bytes, id: str, ready: list[Batch] | None) -> Answered:
        if self.failure:
            raise StoreError(self.failure)
        if ready is None and len(body) > SMALL:
            ready = await asyncio.to_thread(batches_of, self.chain, kind, body, self.limits.examples)
        elif ready is None and not self.chain.one.can_learn(single(kind, body)):
            ready = batches_of(self.chain, kind, body, self.limits.examples)
        if ready is None:
            check_numbers([self.chain.one.last], self.limits)
        else:
            check_labels(self.chain, ready)
            check_numbers(ready, self.limits)
        return await self._logged(Entry(self.key, kind, body, id), ready)

    async def _logged(self, entry: Entry, ready: list[Batch] | None) -> Answered:
        """Put an entry into the log, then learn it."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()

        def deliver(outcome: Logged | HutchError) -> None:
            if isinstance(outcome, HutchError):
                settle(future, outcome)
            elif outcome.repeated:
                self._answer_again(outcome.number, future)
            else:
                self.enqueue(outcome.number, entry, ready, future)

        self.log.append(entry, deliver)
        return await future

    def _answer_again(self, number: int, future: Any) -> None:
        """Answer a request that is in the log already, once it is known whether the model has learned it."""
        if self.failure:
            settle(future, StoreError(self.failure))
        elif self.position < number:
            asyncio.get_running_loop().call_later(0.001, self._answer_again, number, future)
        elif number in self._unrecorded:
            self._record(number, future)
        else:
            nothing = np.zeros(0, np.float32)
            settle(
                future, self._refusal(number) if number in self._refused else Answered(nothing, nothing, number, True)
            )

    def enqueue(self, number: int, entry: Entry | None, ready: Any = None, future: Any = None) -> None:
        """Learn an entry that is on disk at its turn; None has nothing to learn."""
        self._waiting.append((number, entry, ready, future))
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and not self._pausing and not self._busy:
            number, entry, ready, future = self._waiting.popleft()
            if self.failure:
                settle(future, StoreError(self.failure))
            elif entry is not None and ready is not None and sum(map(len, ready)) > ROWS:
                self._busy = True
                task = asyncio.get_running_loop().create_task(self._learn_slowly(number, entry, ready, future))
                task.add_done_callback(self._tasks.discard)
                self._tasks.add(task)
            else:
                self._learn_now(number, entry, future, ready)

    def _learn_now(self, number: int, entry: Entry | None, future: Any, ready: list[Batch] | None = None) -> None:
        """Learn an entry; if it is not ready, read it from the stored body, as after a crash."""
        if entry is None:
            self.position = number
            return
        if entry.audit:
            active_layer(self.chain).examples_per_label = self._examples_per_label(entry.audit)
        try:
            one = None if ready or self.chain.decides else single(entry.kind, entry.body)
            clear_flags()
            outputs = None if one is None else self.chain.one.run(one, True)
            doubtful = outputs is not None and may_have_overflowed()
            runs: list[tuple[Batch, Outputs]] = []
            if outputs is None:
                batches = ready or batches_of(self.chain, entry.kind, entry.body)
                if entry.choice is not None:
                    batches = [self._with_choice(batches[0], entry.choice)]
                for batch in batches:
                    clear_flags()
                    runs.append((batch, self.chain.run_batch(batch, scores=True)[0]))
                    doubtful = may_have_overflowed() or doubtful
            if doubtful and (why := self._why_not_finite()):
                self._take_back(number, why, future)
                return
            self._note(entry, number)
            if outputs is None:
                done = self._gathered(runs, True, number)
            else:
                self.recent = self.recent.after(outputs.losses.tolist())
                done = self._copied(outputs)
            self._prove(entry, done)
        except HutchError as error:  # the checks before the log passed: it fails again whenever it is read
            self.position = number
            if entry.receipt >= 0:  # but this one was learned
                self.proofs.note_difference(number)
            settle(future, error)
        except Exception as error:
            self._fail(error, future)
        else:
            settle(future, done)
        finally:
            if entry.audit:
                active_layer(self.chain).examples_per_label = 0.0

    def _with_choice(self, batch: Batch, choice: Choice) -> Batch:
        """A decision with its label, and with what was seen of its metrics."""
        if choice.metrics and self.weigher is not None:
            row = choice.action + int(shared_rows(batch)[0])
            batch = self.weigher.with_seen(batch, row, json.loads(choice.metrics))
        return with_choice(batch, self.chain.takes, choice)

    def _prove(self, entry: Entry, done: Answered) -> None:
        """Compare the predictions of an entry with its receipt."""
        if not self.failure:  # else what is left of the model is not what clients are told from
            self.proofs.compare(entry, done)

    def _fail(self, error: Exception, future: Any) -> None:
        """Stop learning and saving after an internal failure, such as lack of memory: only the log is complete."""
        why = f"{self.path}: {type(error).__name__} {error}".rstrip()
        self.failure = f"{why}: half a request may have been learned; start the server again, and it learns the log"
        settle(future, StoreError(self.failure))
        self.failed()

    def _why_not_finite(self) -> str:
        """The parts of the model that are not finite; empty without any."""
        arrays, limits = self.chain.arrays(), limits_of_arrays(self.chain.stack)
        try:
            for name in limits.keys() & arrays.keys():
                check_values(name, arrays[name], limits[name])
        except ModelError as error:
            return str(error)
        return overflow_of(self.chain.weights) or ""

    def _take_back(self, number: int, why: str, future: Any) -> None:
        """Restore the model from before an entry, and record in the log that the entry is never learned."""
        self.rejected[_REASONS[NotFinite]] += 1
        self._refused[number] = why
        before = self.recent, self.proofs.proved
        try:
            with self._writing:
                self._file.held.check()
                self.chain.restore(load_chain_model(self.path)[0])
                held = self._file.holds
            for earlier, entry in self.log.entries(self.key, held):
                if earlier >= number:
                    break
                self._learn_now(earlier, None if earlier in self._refused else entry, None)
        except Exception as error:
            self._fail(error, future)
            return
        (self.recent, self.proofs.proved), self.position = before, number
        self._unrecorded[number] = why
        self._record(number, future)

    def _refusal(self, number: int) -> NotFinite:
        return NotFinite(f"the model would not be finite, so nothing was learned: {self._refused[number]}")

    def _record(self, number: int, future: Any) -> None:
        """Record in the log that an entry was refused; until then, no file may count it as learned."""
        why, refusal = self._unrecorded[number], self._refusal(number)

        def refuse(connection: sqlite3.Connection) -> int:
            return self.log.refuse(connection, self.key, number, number, why)

        def deliver(outcome: Any) -> None:
            if isinstance(outcome, HutchError):
                settle(future, outcome)
                return
            self._unrecorded.pop(number, None)
            self.enqueue(outcome, None)
            settle(future, refusal)
            self._tasks.add(task := asyncio.get_running_loop().create_task(self._save_quietly()))
            task.add_done_callback(self._tasks.discard)

        if self.log.commits.is_running:
            self.log.commits.submit(refuse, deliver)
        else:
            with self.log.store.transaction() as connection:
                refuse(connection)
            self._unrecorded.pop(number)
            settle(future, refusal)

    def _examples_per_label(self, number: int) -> float:
        """Number of lines of its pool that the answer in the audit log represents."""
        event = next(self.log.store.log(number - 1))
        return self.log.store.examples_per_label(event.detail["id"]) if event.kind == "answer" else 0.0

    async def _learn_slowly(self, number: int, entry: Entry, batches: list[Batch], future: Any) -> None:
        try:
            found = await self._run(batches, True, number)
            self._note(entry, number)
            self._prove(entry, found)
            settle(future, found)
        except NotFinite as error:
            self._take_back(number, str(error), future)
        except HutchError as error:
            self.position = number
            settle(future, error)
        except Exception as error:
            self._fail(error, future)
        finally:
            self._busy = False
            self._go_on()

    def _gathered(
        self, runs: list[tuple[Batch, Outputs]], learn: bool, position: int, intervals: Intervals | None = None
    ) -> Answered:
        """The answers to several batches as one; after learning their losses are counted."""
        answered, losses = gathered(self.chain, runs, position, intervals)
        if learn:
            self.recent = self.recent.after(losses)
        return answered

    def _note(self, entry: Entry, number: int) -> None:
        self.position, self.learned_at = number, entry.time or time.time()
        if entry.audit:
            active_layer(self.chain).progress["learned"] = entry.audit

    async def _run(
        self, batches: list[Batch], learn: bool, position: int, intervals: Intervals | None = None
    ) -> Answered:
        """Run batches piece by piece, so that others have their turn.

        Raises:
            NotFinite: the model is not, once it has learned a piece.
        """
        runs = []
        for batch in batches:
            start = 0
            for stop in stops_of(self.chain, batch):
                piece = batch if stop - start == len(batch) else batch.rows(start, stop)
                start = stop
                clear_flags()
                runs.append((piece, self.chain.run_apart(piece, learn)))
                if learn and may_have_overflowed() and (why := self._why_not_finite()):
                    raise NotFinite(why)
                if piece is not batch:
                    await asyncio.sleep(0)
        return self._gathered(runs, learn, position, intervals)

    async def save(self) -> bool:
        """Save the model if it has learned; returns whether it did.

        Raises:
            HutchError: the file cannot be written, or another process has written it; the old file stays.
        """
        async with self._saving:
            wanted = self.position != self.saved or bool(self.failure)
            try:
                await (self._save() if wanted else asyncio.to_thread(self._forget))
            except (HutchError, MemoryError) as error:
                self.failed_saves += 1
                raise error if isinstance(error, HutchError) else StoreError(f"{self.path}: no memory") from None
            return wanted

    async def _save(self) -> None:
        self._pausing = True
        try:
            while self._busy:
                await asyncio.sleep(0.001)
            if self.failure:
                raise StoreError(self.failure)
            while self._unrecorded:  # one that a client repeats is recorded meanwhile
                self._record(next(iter(self._unrecorded)), recorded := asyncio.get_running_loop().create_future())
                with suppress(NotFinite):
                    await recorded
            through, metadata = self.position, self.chain.metadata()
            live = self.chain.arrays()
            copies = {name: array.copy() for name, array in live.items() if array.nbytes < _LARGE_ARRAY}
            for name, array in live.items():
                if name not in copies:
                    copies[name] = await asyncio.to_thread(array.copy)
        finally:
            self._pausing = False
            self._go_on()
        await asyncio.to_thread(self._write, through, copies, metadata)

    async def _save_quietly(self) -> None:
        """Save, so that the requests after a refused one are quickly learned again; a later save reports failures."""
        with suppress(HutchError):
            await self.save()

    def stop_learning(self, why: str) -> None:
        """Learn, save and acknowledge nothing any more."""
        self.failure = self.failure or why
        self.failed()

    def _write(
        self, through: int, arrays: Mapping[str, NDArray[Any]], metadata: dict[str, Any], keep: bool = True
    ) -> None:
        """Write the model, and remove its entries from the log."""
        self.log.check_ours()
        metadata["log"] = self.log.note(self.place, through)
        with self._writing:
            self._file.save(arrays, metadata, self._whole, through, keep)
            self.saved, self.saved_at = through, time.time()
        self._forget()

    def write(self, path: Path) -> None:
        """Write the present model to another file, as its own place in the log."""
        metadata = {**self.chain.metadata(), "log": self.log.note(self.place, self.position)}
        written = self._file.held.follow if path.resolve() == self._file.held.path else None
        save_model(path, self.chain.arrays(), metadata, whole=self._whole, written=written)

    def _forget(self) -> None:
        self.log.saved(self.key, self.saved, self._file.oldest)

    def close(self) -> None:
        """Let others have the file."""
        self._file.held.close()

    async def drain(self) -> None:
        """Wait until all that is on disk has been learned."""
        while self._waiting or self._busy:
            await asyncio.sleep(0.001)
        await asyncio.gather(*self._tasks)


def _noted(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The log that a model file names; empty if it names none."""
    found = metadata.get("log")
    kinds = {"identity": str, "store": int, "through": int, "chain": int}
    is_whole = isinstance(found, dict) and all(type(found.get(key)) is kind for key, kind in kinds.items())
    return found if isinstance(found, dict) and is_whole else {}
