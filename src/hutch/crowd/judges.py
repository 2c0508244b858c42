"""What each judge is good for: a report beside that of all workers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Aggregate
from hutch.crowd.alt_test import PASSED, alt_test
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import forecast
from hutch.crowd.mixed.model import Mixed, matches, targets
from hutch.crowd.models.model import Array

COPY = 0.9
"""Redundancy from which a judge counts as a copy of another."""


@dataclass(frozen=True)
class Judge:
    """What is known about a judge.

    Attributes:
        name: of the judge.
        labels: how many they gave.
        accuracy: mean posterior of the classes they named.
        exponent: weight of their labels in the forecast: 0 for none; copies share theirs.
        redundancy: agreement with the most similar judge beyond what the classes explain: 0 for none, 1 for a copy.
        similar: the name of that judge; empty if there is none.
        use: what the log-loss of the forecast of people's labels loses without this judge, in nats per label.
        winning_rate, advantage, people: of `alt_test`.
        price: mean price of a label, NaN if it is not known.
    """

    name: str
    labels: int
    accuracy: float
    exponent: float
    redundancy: float
    similar: str
    use: float
    winning_rate: float
    advantage: float
    people: int
    price: float


def judges(
    result: Aggregate, model: Mixed, prices: Mapping[str, float] | None = None, epsilon: float = 0.15
) -> list[Judge]:
    """Report on every judge who labelled something.

    Args:
        result: of `aggregate` with that model, in batch.
        model: with a reference.
        prices: of one label, by worker.
        epsilon: of `alt_test`.

    Raises:
        UsageError: no reference is declared, or the result is not of a batch run.
    """
    labels, state = result.labels, result.fit.state
    if not model.parameters.reference or not state.worker_names:
        raise UsageError("--judges: wanted a reference (--reference) and --method batch")
    reference = matches(labels.worker_names, model.parameters.reference)
    people, judged = (labels.chosen(keep[labels.workers]) for keep in (reference, ~reference))
    places = np.unique(judged.workers)
    alike = redundancy(judged, places, result)
    uses = use(people, judged, places, model)
    known, given = prices or {}, np.bincount(judged.workers, minlength=len(labels.worker_names))
    rows = []
    for number, place in enumerate(places.tolist()):
        mine = judged.chosen(judged.workers == place)
        test = alt_test(people, mine, epsilon)
        other = int(alike[number].argmax()) if len(places) > 1 else -1
        rows.append(
            Judge(
                name=labels.worker_names[place],
                labels=int(given[place]),
                accuracy=float(result.fit.posterior[mine.label_items, mine.labels].mean()),
                exponent=float(state.workers["exponent"][place]),
                redundancy=float(alike[number, other]) if other >= 0 else 0.0,
                similar=labels.worker_names[places[other]] if other >= 0 else "",
                use=float(uses[number]),
                winning_rate=test.winning_rate,
                advantage=test.advantage,
                people=test.people,
                price=float(known.get(labels.worker_names[place], math.nan)),
            )
        )
    return rows


def redundancy(judged: Labels, places: NDArray[np.int32], result: Aggregate) -> Array:
    """How much more two judges agree than the classes explain, over how much more they could (judges, judges).

    (a - b) / (1 - b): a is the share of equal labels on the items of both, b the same if their labels were independent
    given the class, sum_k q_i[k] sum_l P_j(l | k) P_j'(l | k). At least 0; 0 on the diagonal and without common items.

    Args:
        judged: the judges' labels.
        places: their codes.
        result: with posteriors and confusions.
    """
    said = np.full((len(places), judged.items), -1, np.int32)
    said[np.searchsorted(places, judged.workers), judged.label_items] = judged.labels
    found = np.zeros((len(places), len(places)))
    for j in range(len(places)):
        for k in range(j):
            both = (said[j] >= 0) & (said[k] >= 0)
            if not both.any():
                continue
            rows = np.einsum("kl,kl->k", result.confusions[places[j]], result.confusions[places[k]])
            chance = float((result.fit.posterior[both] @ rows).mean())
            excess = float((said[j, both] == said[k, both]).mean()) - chance
            found[j, k] = found[k, j] = max(excess / max(1 - chance, 1e-9), 0.0)
    return found


def use(people: Labels, judged: Labels, places: NDArray[np.int32], model: Mixed) -> Array:
    """What the cross-fitted forecasts of people's labels lose without each judge, in nats per label (judges).

    Args:
        people, judged: labels of the same items.
        places: codes of the judges.
        model: whose forecasts these are.
    """
    votes, ordered = targets(people), model.ordered(people.classes)
    total = max(float(votes.sum()), 1e-9)

    def loss(left_out: int) -> float:
        kept = judged.chosen(judged.workers != left_out)
        rest = places[places != left_out]
        compact = replace(kept, workers=np.searchsorted(rest, kept.workers).astype(np.int32))
        start = forecast.fresh(len(rest), len(people.classes))
        return -float((votes * forecast.learn(compact, votes, start, ordered, model.parameters.seed)[0]).sum()) / total

    whole = loss(-1)
    return np.array([loss(place) - whole for place in places.tolist()])


def write_judges(file: BinaryIO, rows: list[Judge]) -> None:
    """Write `judge labels accuracy exponent redundancy similar copy use winning_rate passed advantage people price
    use_per_price`, the most useful first; what is not defined is empty.
    """
    names = "judge labels accuracy exponent redundancy similar copy use winning_rate passed advantage people price"
    file.write(("\t".join([*names.split(), "use_per_price"]) + "\n").encode())
    for row in sorted(rows, key=lambda row: -row.use):
        passed = "" if math.isnan(row.winning_rate) else "yes" if row.winning_rate >= PASSED else "no"
        fields = [row.name.replace("\t", " "), str(row.labels), _number(row.accuracy), _number(row.exponent)]
        fields += [_number(row.redundancy), row.similar.replace("\t", " "), "yes" if row.redundancy >= COPY else "no"]
        fields += [_number(row.use), _number(row.winning_rate), passed, _number(row.advantage), str(row.people)]
        worth = row.use / row.price if row.price > 0 else math.nan
        file.write(("\t".join([*fields, _short(row.price), _short(worth)]) + "\n").encode())


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
