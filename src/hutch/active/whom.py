"""Choice of the request for each worker: an answer is worth its expected information, given the worker's skill."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.durable.records import DONT_KNOW, SKIP
from hutch.durable.store import Store

Array = NDArray[np.float64]
AUDITS = 0.05
"""Requests for a worker whose answers have little value, as a share of the others' average number of labels."""
LITTLE = 0.25
"""Of the mean worth of a worker: below it, their answers are worth little."""
WINDOW = 300
"""Open requests, the oldest ones, from which the next is chosen."""
_OFFERED = 100  # more are not needed, since few of them are held by others
_LEAST, _GROWTH = 10, 0.1  # labels before the crowd is estimated, and growth before it is estimated again
_MODEL = ""  # the worker whose labels are the model's predictions; no person has an empty name


@dataclass(frozen=True, slots=True)
class Judged:
    """Estimates for workers from the answers in a store.

    Attributes:
        codes: of workers, by name.
        labels: number of labels of each (workers).
        worth: of an answer about an item without labels, in nats, see `worker_value` (workers).
        confusions: P(label | class), the average worker's at the end (workers + 1, classes, labels).
        factors: of labels, which multiply the probabilities of the classes, likewise (workers + 1, labels, classes).
        prior: P(class) (classes).
    """

    codes: dict[str, int]
    labels: Array
    worth: Array
    confusions: Array
    factors: Array
    prior: Array

    @property
    def little(self) -> dict[str, float]:
        """Workers whose answers are worth little, and their worth over the mean."""
        share = self.worth / self.worth.mean()
        return {name: float(share[code]) for name, code in self.codes.items() if share[code] < LITTLE}


class Whom:
    """Chooses the request for a worker.

    It chooses the open request whose answer by this worker has the most expected information about its class. Workers
    whose answers have little value get audits: a few requests in which they can show that they have become better.

    Args:
        store: of requests and answers, with its allowed labels.
        audits: see `AUDITS`; 1 gives everybody the same work.
    """

    def __init__(self, store: Store, audits: float = AUDITS) -> None:
        self._store, self._audits = store, audits
        self._judged: Judged | None = None
        self._learned = 0

    def requests_for(self, worker: str) -> list[str] | None:
        """The requests that a worker may get, the best first; None: any, in order of asking."""
        labels = self._store.counts().labels
        if abs(labels - self._learned) >= max(_LEAST, _GROWTH * self._learned):
            self._judged, self._learned = judge(self._store), labels
        known = self._judged
        if known is None:
            return None
        if worker in known.little and self._audits < 1:
            others = [code for name, code in known.codes.items() if name not in known.little]
            [(given,)] = self._store.rows("SELECT count(*) FROM labels WHERE worker = ?", [worker])
            if given >= self._audits * known.labels[others].mean():
                return []
        return self._by_gain(known, known.codes.get(worker, -1))

    def _by_gain(self, known: Judged, worker: int) -> list[str]:
        """The open requests by the expected gain of a worker's answer."""
        from hutch.crowd.offers import expected_gain

        oldest = "SELECT number, id FROM requests WHERE state = 'open' ORDER BY number LIMIT ?"
        ids = [id for _, id in self._store.rows(oldest, [WINDOW])]
        places = {id: place for place, id in enumerate(ids)}
        classes = {label: code for code, label in enumerate(self._store.labels_allowed)}
        logs = np.tile(np.log(known.prior), (len(ids), 1))
        for request, name, label in self._store.rows(
            f"SELECT l.request, l.worker, l.label FROM ({oldest}) AS r JOIN labels AS l ON l.request = r.id", [WINDOW]
        ):
            if label in classes:
                logs[places[request]] += np.log(known.factors[known.codes.get(name, -1), classes[label]])
        posterior = np.exp(logs - logs.max(axis=1, initial=-np.inf, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        gain = expected_gain(posterior, known.confusions[worker], known.factors[worker])
        order = np.argsort(-gain.round(9), kind="stable")  # of equals, and all requests without answers are, the oldest
        return [ids[place] for place in order[:_OFFERED].tolist()]


def judge(store: Store) -> Judged | None:
    """Estimates for workers from the answers in a store, by the two-level model.

    The model's predictions at the time of asking count as one more worker, since most requests have one answer alone.

    Returns:
        None if the answers suffice for none: of one worker, too few, or of labels that may be any number.
    """
    classes = store.labels_allowed
    triples = store.rows(
        "SELECT worker, request, label FROM labels WHERE label NOT IN (?, ?) ORDER BY number", [SKIP, DONT_KNOW]
    )
    if len(classes) < 2 or len({name for name, _, _ in triples}) < 2:
        return None
    from hutch.crowd.data.labels import from_triples  # here: stores with one worker need none of them
    from hutch.crowd.models.two_level import TwoLevel
    from hutch.crowd.requests import worker_value

    labels, model = from_triples(triples + _predicted(store, classes), classes), TwoLevel()
    state = model.fit(labels).state
    people = [code for code, name in enumerate(labels.worker_names) if name != _MODEL]
    given = np.bincount(labels.workers)[people].astype(np.float64)
    rows, factors, prior = model.confusions(state)[people], model.factors(state)[people], model.class_prior(state)
    worth = worker_value(rows, prior, given.astype(np.int64)) + 1e-9
    average = (np.average(each, axis=0, weights=given)[None] for each in (rows, factors))
    rows, factors = (np.concatenate(both) for both in zip((rows, factors), average, strict=True))
    names = [labels.worker_names[code] for code in people]
    return Judged({name: code for code, name in enumerate(names)}, given, worth, rows, factors, prior)


def _predicted(store: Store, classes: Sequence[str]) -> list[tuple[str, str, str]]:
    """The model's predictions for answered requests with two labels to choose from, as labels of one more worker."""
    if len(classes) != 2:
        return []
    low, high = sorted(classes, key=float)
    rows = store.rows(
        "SELECT r.id, r.prediction > o.threshold FROM requests AS r JOIN rounds AS o USING (round)"
        " WHERE r.prediction != o.threshold AND EXISTS (SELECT 1 FROM labels WHERE request = r.id)"
    )
    return [(_MODEL, id, high if above else low) for id, above in rows]
