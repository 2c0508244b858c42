"""The records of a label store about itself: rounds of requests, counts, and the entries of its log."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Round:
    """The pool from which one run of `ask` drew its requests.

    Attributes:
        pool: name of the source.
        examples: lines the requests were drawn from.
        probability: sum of the probabilities of these lines, the number of labels expected.
        threshold: scalar predictions above it mean the upper label; None where classes are predicted.
    """

    pool: str
    examples: int
    probability: float
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Numbers of new answers, and of answers that the store had already."""

    new: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Progress of the labelling: requests by state, answers by kind."""

    requests: int
    open: int
    answered: int
    unknown: int
    leased: int
    answers: int
    labels: int
    skips: int
    dont_knows: int
    workers: int


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the audit log.

    Attributes:
        number: its place in the log, from 1.
        kind: `ask`, `answer` or `learn`.
        detail: of the event.
        time: seconds since 1970.
    """

    number: int
    kind: str
    detail: dict[str, Any]
    time: float
