"""Batches whose sub-models are taught by several threads, where that makes no difference to what is learned."""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

from hutch.core.batch import Batch
from hutch.core.chain.driver import CACHE_LINE
from hutch.core.chain.engine import Engine
from hutch.core.chain.outputs import Learned, Predicted
from hutch.core.threads import thread_count

if TYPE_CHECKING:
    from hutch.core.chain.apart import Apart

FEWEST = 8
"""Sub-models of a thread: 10 classes by two threads were hardly done sooner, in a third more CPU time."""
WORTH = 1 << 14
"""Calls of the base learner in a batch that is worth threads."""


class Learners:
    """Threads that learn for a chain.

    A chain learns by one thread if its layers do not say `teaches_by_labels`, if its base learner does not say
    `learns_apart`, or if it has few sub-models; and so is a small batch learned.

    Args:
        engine: the chain.
        threads: how many; None: `thread_count`.
    """

    def __init__(self, engine: Engine, threads: int | None = None) -> None:
        count = thread_count() if threads is None else threads
        self._together = max(1, int(CACHE_LINE) // (4 * engine.layers[-1].stride))  # no cache line has two writers
        fewest = max(FEWEST, self._together)
        self._count = min(count, engine.submodels // fewest) if engine.may_learn_apart else 1
        self._engine = engine
        self._apart: Apart | None = None

    def learned(
        self, batches: Iterable[Batch | Predicted], period: int, after: int
    ) -> Generator[Batch | Predicted | Learned]:
        """The batches of a pass, some of them learned by threads; the chain must run each before it asks for the next.

        Args:
            batches: as they come.
            period, after: of the holdout, as of `hutch.core.chain.driver.RUN`.
        """
        if self._count < 2:
            yield from batches
            return
        from concurrent.futures import ThreadPoolExecutor

        from hutch.core.chain.apart import Apart

        seen = 0
        with ThreadPoolExecutor(self._count - 1, "hutch-learn") as pool:
            for batch in batches:
                assert isinstance(batch, Batch)
                if len(batch) * self._engine.submodels < WORTH:
                    yield batch
                else:
                    self._apart = self._apart or Apart(self._engine, self._count, self._together)
                    yield self._apart.learn(batch, (period, after, seen), pool)
                seen += len(batch)
