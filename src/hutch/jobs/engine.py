"""The interface of engines, which run the tasks of a job, and the engine that runs them here.

A job is a graph of pure functions over values, fixed by the data and the number of shards. Values travel as
pickled bytes, so that a task owns its arguments and none sees another's changes. Whichever engine runs the graph,
and however often a task has to run again, the result has the same bits.
"""

import pickle
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np

from hutch.core import errors
from hutch.core.errors import HutchError
from hutch.core.threads import one_processor, one_thread

Ref = Any
"""Reference to a value that an engine has, or will have."""
BRANCHES = 4
"""Number of values that one task of a tree adds; part of the definition of a job, as it sets the order of sums."""


class Engine(Protocol):
    """Runs tasks. `with` ends what the engine started."""

    def put(self, value: Any) -> Ref:
        """Give a value to the engine, to be used by any number of tasks."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Ref, results: int = 1) -> list[Ref]:
        """Begin a task.

        Args:
            function: at the top of a module that every process can import; pure.
            *arguments: from `put` or of other tasks.
            results: number of values it returns, as a tuple if several.
        """
        ...

    def get(self, ref: Ref) -> Any:
        """A value, once it is available.

        Raises:
            HutchError: raised by the task, or by a task before it.
        """
        ...

    def wait(self, refs: Sequence[Ref]) -> tuple[list[Ref], list[Ref]]:
        """The available ones and the others, as soon as at least one is available."""
        ...

    def __enter__(self) -> "Engine": ...

    def __exit__(self, *error: object) -> None: ...


class Here:
    """Every task runs in this process when it is submitted: the reference for all other engines."""

    def put(self, value: Any) -> Ref:
        """The value, packed."""
        return packed(value)

    def submit(self, function: Callable[..., Any], *arguments: Ref, results: int = 1) -> list[Ref]:
        """Run it."""
        return list(work(function, results, *arguments))

    def get(self, ref: Ref) -> Any:
        """Unpack."""
        return opened(ref)

    def wait(self, refs: Sequence[Ref]) -> tuple[list[Ref], list[Ref]]:
        """All are available."""
        return list(refs), []

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Failed:
    """Replaces the value of a task that raised an error of the user's.

    Args:
        error: raised by the task.
    """

    def __init__(self, error: HutchError) -> None:
        kinds = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        self.kind, self.text = next(kinds).__name__, str(error)

    def error(self) -> HutchError:
        """To be raised again, of the nearest class that all processes know."""
        found: HutchError = getattr(errors, self.kind)(self.text)
        return found


def packed(value: Any) -> bytes:
    """A value as bytes."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def opened(content: bytes | memoryview) -> Any:
    """The value in bytes that `packed` or `work` made; it belongs to the caller.

    Raises:
        HutchError: it is the error of a task.
    """
    value = pickle.loads(content)
    if isinstance(value, Failed):
        raise value.error()
    return value


def work(function: Callable[..., Any], results: int, *arguments: bytes | memoryview) -> tuple[bytes, ...]:
    """The function that every engine runs for a task: from packed arguments to packed results.

    A user's error becomes the result of this task and of those that need it; any other error is raised. A task
    has one processor: linear algebra on more threads would add in another order, and wait for those of other tasks.
    """
    try:
        with one_thread(), one_processor():
            found = function(*map(opened, arguments))
    except HutchError as error:
        return (packed(Failed(error)),) * results
    return (packed(found),) if results == 1 else tuple(map(packed, found))


def sum_of(engine: Engine, refs: Sequence[Ref], function: Callable[..., Any] | None = None) -> Ref:
    """The sum of the values of tasks, by a tree of fixed shape.

    Args:
        engine: that has them.
        refs: at least one.
        function: adds up to `BRANCHES` values; None: `add`, for mappings of arrays.
    """
    level = list(refs)
    while len(level) > 1:
        groups = [level[i : i + BRANCHES] for i in range(0, len(level), BRANCHES)]
        level = [engine.submit(function or add, *group)[0] if len(group) > 1 else group[0] for group in groups]
    return level[0]


def add(*sums: dict[str, Any]) -> dict[str, Any]:
    """The sums of mappings by name, from left to right.

    >>> add({"a": np.ones(2)}, {"a": np.arange(2.0)}, {"a": np.arange(2.0)})
    {'a': array([1., 3.])}
    """
    return {name: reduce(np.add, [each[name] for each in sums]) for name in sums[0]}
