"""A crowd that learns label by label, as they are given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from hutch.core.errors import ModelError, UsageError, at
from hutch.crowd import aggregate as aggregation
from hutch.crowd.aggregate import Options, check_history
from hutch.crowd.models.any_order_stream import AnyOrderStream
from hutch.crowd.models.model import State
from hutch.crowd.models.online import DEFAULT_SLOTS
from hutch.crowd.models.two_level import TwoLevel


class LiveCrowd:
    """Labels one by one, in any order, by the model `two_level`; the verdict of any task at any time.

    It does what `hutch crowd --method online` does with the same labels, bit for bit, and shares its files.

    Args:
        classes: names of the classes; others are added when their first label comes.
        most_open: tasks that are kept open for further labels; the surest of more are closed. 0 for all.
        slots: rows of the worker table.
        **parameters: of the model, such as `drift`.

    Raises:
        ConfigError: a parameter is unknown or out of range.

    >>> crowd = LiveCrowd(["cat", "dog"])
    >>> for task in range(30):
    ...     for worker in ("ann", "bob", "cy"):
    ...         crowd.update(worker, f"t{task}", "cat" if task % 2 or worker == "cy" else "dog")
    >>> {name: round(p, 2) for name, p in crowd.posterior("t0").items()}
    {'cat': 0.03, 'dog': 0.97}
    >>> crowd.tell("t0", "dog")
    >>> round(crowd.posterior("t0")["dog"], 3), crowd.accuracy("ann") > crowd.accuracy("cy")
    (0.975, True)
    """

    def __init__(
        self, classes: Sequence[str] = (), *, most_open: int = 0, slots: int = DEFAULT_SLOTS, **parameters: Any
    ) -> None:
        self._start(TwoLevel(**parameters), [*classes], slots, None)
        self._stream.hold(most_open)

    def _start(self, model: TwoLevel, classes: list[str], slots: int, history: State | None) -> None:
        self._model, self._options = model, Options("online", slots=slots)
        self._stream = AnyOrderStream(model, classes, slots, history)

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [*self._stream.classes]

    @property
    def tasks(self) -> list[str]:
        """All tasks that got labels, in the order of their first."""
        return self._stream.tasks

    def update(self, worker: str, task: str, label: str) -> None:
        """Learn a label; it replaces an earlier one of the worker and the task, unless the worker has no name."""
        self._stream.learn_one(worker, task, label)

    def withdraw(self, worker: str, task: str) -> None:
        """Forget the worker's label of a task, as if it had never come.

        Raises:
            UsageError: there is none, or its task was closed.
        """
        if not self._stream.withdraw(worker, task):
            raise UsageError(f"withdraw: got worker {worker!r} and task {task!r}, which have no label in an open task")

    def tell(self, task: str, label: str) -> None:
        """The class of a task is known.

        Raises:
            UsageError: it is no class, or the task has got no label.
        """
        if label not in self._stream.classes:
            raise UsageError(f"tell: got class {label!r}, wanted one of {', '.join(self._stream.classes)}")
        if not self._stream.tell({task: label}):
            raise UsageError(f"tell: got task {task!r}, which has no label")

    def posterior(self, task: str) -> dict[str, float]:
        """The probability of each class of a task, calibrated; the class prior of one without labels."""
        labels = self._stream.kept([task])
        found = self._stream.probability(labels, self._stream.score(labels)[0])[0]
        return dict(zip(self._stream.classes, found.tolist(), strict=True))

    def accuracy(self, worker: str) -> float:
        """How often a worker is right on an item of usual difficulty; that of the population for an unknown one."""
        rows = self._stream.confusions(self._stream.slots_of([worker]))[0]
        return float(np.diagonal(rows) @ self._stream.class_prior())

    def events(self) -> dict[str, int]:
        """Open tasks; tasks closed and opened again, and labels corrected, since the first; late gold since loading."""
        return self._stream.events()

    def save(self, path: str | Path) -> None:
        """Write everything; `LiveCrowd.load` and `hutch crowd -i` continue.

        Raises:
            HutchError: the file cannot be written.
        """
        aggregation.save(str(path), self._model, self._options, self._stream.final_state())

    @classmethod
    def load(cls, path: str | Path, *, most_open: int = 0) -> Self:
        """Continue from a file of `save`, or of `hutch crowd --method online -f`.

        Raises:
            ModelError: it is damaged, or of another model.
        """
        saved, state = aggregation.load(str(path))
        if (saved["model"], saved["method"]) != (TwoLevel.name, "online"):
            text = f"got model {saved['model']}, method {saved['method']}; wanted two_level, online"
            raise ModelError(at(str(path), None, None, text))
        found = cls.__new__(cls)
        model = TwoLevel(**saved["parameters"])
        check_history(model, Options("online", slots=saved["slots"]), state)
        found._start(model, state.classes, saved["slots"], state)
        found._stream.hold(most_open)
        return found
