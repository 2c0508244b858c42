"""The base of all online learners: learn, score, and a state that is stored bit for bit."""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hutch.em.base.model import Array

P = TypeVar("P")
State = dict[str, NDArray[Any]]
"""All that changes while learning: names and arrays, ready for a model file."""


class Learner(ABC, Generic[P]):
    """Learns a stream block by block; `P` is the type of the parameters that it reports."""

    @property
    @abstractmethod
    def samples(self) -> int:
        """The number of samples learned."""

    @property
    @abstractmethod
    def parameters(self) -> P:
        """The current estimate."""

    @abstractmethod
    def learn(self, batch: Any) -> None:
        """Learn a batch of any size from 1.

        Raises:
            DataError: the model cannot learn from the batch; nothing was learned.
        """

    @abstractmethod
    def boundary(self) -> None:
        """A class of the stream ends here; learners without a class mode ignore it."""

    @abstractmethod
    def log_likelihood(self, batch: Any) -> Array:
        """Log-likelihood of each sample under the current estimate, in nats."""

    @abstractmethod
    def state(self) -> State:
        """A copy of all that changes while learning."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Continue from a `state`, bit for bit, in a learner built with the same settings."""


def pack(parameters: Any, prefix: str) -> State:
    """The fields of a dataclass of arrays and numbers, as float64 arrays named `prefix.field`."""
    return {f"{prefix}.{f.name}": np.array(getattr(parameters, f.name), np.float64) for f in fields(parameters)}


def unpack(kind: type[P], state: State, prefix: str) -> P:
    """Undo `pack`: arrays are copied, arrays of no dimension become numbers."""
    values = {f.name: state[f"{prefix}.{f.name}"] for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value.copy() if value.ndim else value.item() for name, value in values.items()})
