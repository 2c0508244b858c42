"""Tasks that come back after a stream has learned them: models that learn task by task take them as other tasks."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ModelError, counted
from hutch.crowd.models.model import State

SEEN = "seen"
"""The name in `State.open` of the hashes of tasks that are over."""
_PLACES = 1 << 20


class Finished:
    """Tasks that are over, in fixed memory: a table of hashes in which later tasks replace earlier ones.

    Args:
        history: the state of an earlier run, whose tasks are over; or None.

    Raises:
        ModelError: it holds something else than hashes.

    >>> over = Finished()
    >>> over.add(["t1", "t2"])
    >>> over.again(["t3", "t2"]).tolist()
    [1]
    """

    def __init__(self, history: State | None = None) -> None:
        self._hashes = np.zeros(_PLACES, np.int64)
        known: NDArray[Any] = history.open.get(SEEN, self._hashes[:0]) if history else self._hashes[:0]
        if known.dtype != np.int64 or known.ndim != 1:
            raise ModelError(f"open.{SEEN} of the crowd model: got {known.dtype} of shape {known.shape}, wanted int64")
        self._hashes[known % _PLACES] = known

    def again(self, tasks: Sequence[str]) -> NDArray[np.int64]:
        """The places of tasks that are over."""
        values = _hashes(tasks)
        return np.flatnonzero(self._hashes[values % _PLACES] == values)

    def add(self, tasks: Sequence[str]) -> None:
        """Take tasks that are over."""
        values = _hashes(tasks)
        self._hashes[values % _PLACES] = values

    def keep(self, state: State) -> None:
        """Store the tasks in a state that will be saved."""
        state.open[SEEN] = self._hashes[self._hashes != 0]


def _hashes(tasks: Sequence[str]) -> NDArray[np.int64]:
    """A number of each name that is the same in every process."""
    digests = b"".join(blake2b(task.encode(), digest_size=8).digest() for task in tasks)
    return np.frombuffer(digests, "<i8").astype(np.int64)


APART = "this model takes them as another task: sort the rows by task; two_level, the default, takes them in any order"
SCORED_APART = "a stream that only scores takes them as another task: leave out --stream"
SEVERAL_ROWS = "-p has a row of the task for each time: the last counts"
"""What becomes of the labels of a task that comes back."""


def warning(task: str, place: str, count: int, consequence: str = APART) -> str:
    """What to say of tasks that came back.

    Args:
        task: the first of them.
        place: where its labels are.
        count: how often one came back, at least.
        consequence: `APART`, `SCORED_APART` or `SEVERAL_ROWS`.
    """
    often = f"at least {counted(count, 'time')}"
    return f"got labels of task {task!r} at {place}, after those of other tasks ({often}); {consequence}"
