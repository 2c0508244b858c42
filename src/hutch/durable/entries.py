"""What a label store says of itself: rounds of requests, counts, and the entries of its log."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Round:
    """What the requests of one run of `ask` were drawn from.

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
    """What became of a set of answers: how many were new, and how many were known already."""

    new: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How far the labelling has come: requests by state, answers by kind."""

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
        detail: what happened.
        time: seconds since 1970.
    """

    number: int
    kind: str
    detail: dict[str, Any]
    time: float
