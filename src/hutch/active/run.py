"""The whole loop, unattended: ask for labels of a pool, wait for answers, learn them, ask for more."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hutch.active.loop import ask, labels_of, learn, model_version
from hutch.active.pool import Pool
from hutch.active.report import is_enough
from hutch.durable.store import Store

if TYPE_CHECKING:
    from hutch.chain import Chain


class Loop:
    """Asks, learns and asks again.

    Args:
        chain: its top layer is `active`.
        model: path where it is saved.
        store: of requests and answers.
        pool: the examples, or their lines.
        batch: requests to make at a time, and answers after which the chain learns.
        source: name of the pool.
        wanted: answers wanted per request, from different workers.
        stop: stop asking once the next label is expected to save less than one mistake in so many predictions to
            come; None: never.
        tell: called with each event, one line at a time.
    """

    def __init__(
        self,
        chain: "Chain",
        model: Path,
        store: Store,
        pool: Pool | Sequence[str],
        batch: int,
        *,
        source: str,
        wanted: int = 1,
        stop: float | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.chain, self.model, self.store, self.pool = chain, model, store, pool
        self.batch, self.source, self.wanted, self.tell = batch, source, wanted, tell
        self._learned, self._stop, self._stopped = 0, stop, False
        self._exhausted = False
        store.allow_labels(labels_of(chain))

    def start(self) -> None:
        """Learn the answers in the store, save the model, and ask for the first labels."""
        self._learn()
        if self.store.counts().open < self.batch:
            self._ask()

    def step(self) -> bool:
        """Learn if a batch of answers has arrived, or all that can arrive; then ask for more.

        Returns:
            Whether there is more to do; not once all that is asked for is answered and learned, and no more will be.
        """
        counts = self.store.counts()
        new = counts.answers - self._learned
        if new and (new >= self.batch or not counts.open):
            self._learn()
        if not self._exhausted and self.store.counts().open == 0:
            self._ask()
        return bool(self.store.counts().open) or not self._exhausted

    def run(self, stop: threading.Event, seconds: float = 0.5) -> None:
        """Step until `stop` is set or the pool is done; learn the last answers."""
        while not stop.wait(seconds):
            if not self.step():
                if not self._stopped:
                    self.tell("all of the pool is labelled")
                break
        if self.store.counts().answers > self._learned:
            self._learn()

    def _learn(self) -> None:
        answers = self.store.counts().answers
        examples, _ = learn(self.chain, self.store, self.model)
        self._learned = answers
        if examples:
            self.tell(f"learned {examples}, model {model_version(self.model)}")

    def _ask(self) -> None:
        if self._stop is not None and is_enough(self.store, self._stop):
            self._exhausted = self._stopped = True
            self.tell(f"stopped: another label is expected to save less than one mistake in {self._stop:g} predictions")
            return
        found = ask(
            self.chain, self.pool, self.store, self.batch, source=self.source, model=model_version(self.model),
            wanted=self.wanted,
        )  # fmt: skip
        self._exhausted = len(found) < self.batch
        if found:
            self.tell(f"asked for {len(found)}")
