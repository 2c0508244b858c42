"""What a panel of judges is worth: independent votes, and how much of the gap to independence it closes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import counted
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed.panel import FORETOLD, TRUST
from hutch.crowd.models.insurance import NO_EVIDENCE, evidence, judges_of
from hutch.crowd.models.model import Array, State
from hutch.crowd.models.trust import Trust

ENOUGH = 30
"""Gold labels from which they tell how often the panel is right."""
MORE = 50
"""Labels by people whose worth is told where gold is less."""
_Z, _DRAWS = 1.96, 20
_SHARED, _VARIES = 20, 4e-4  # gold items that two judges share at least; variance of a judge's errors at least
_MOST = 300  # judges whose errors are compared: the busiest


@dataclass(frozen=True)
class Worth:
    """The worth of a panel.

    Attributes:
        judges: their number.
        votes: independent votes per task that their labels are worth: by Kish's formula where gold is enough, else by
            what halves of the judges, their agreement and the insurance leave.
        agree: they agree by more than chance explains.
        gold: tasks with gold.
        accuracy: share of these in which the panel is right without their gold; None with less than `ENOUGH`.
        plurality: the same of the plurality.
        independent: of Bayes' rule with the judges' true rows, if each erred as often, but by itself.
        closed: the part of the gap from plurality to independence that the panel closes; None without a gap.
        low, high: its 95 % interval.
    """

    judges: int
    votes: float
    agree: bool = True
    gold: int = 0
    accuracy: float | None = None
    plurality: float | None = None
    independent: float | None = None
    closed: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """Its numbers by name, as far as they are known."""
        return {name: value for name, value in vars(self).items() if value is not None}


def worth(labels: Labels, state: State) -> Worth:
    """The worth of a panel of judges without people.

    Args:
        labels: of the judges.
        state: after the fit, of `TwoLevel(judges=True)` or of `Mixed` without a reference.
    """
    found = state.shared.get(TRUST, state.shared.get("trust"))
    ratings = np.diff(labels.item_ptr)
    trust = Trust(*found.tolist()) if found is not None and found.any() else Trust(1.0, 1.0)
    votes = float((trust.exponents(ratings) * ratings).mean()) if labels.items else 0.0
    known, foretold = np.flatnonzero(labels.gold >= 0), state.scratch.get(FORETOLD)
    judges, agree = judges_of(labels), evidence(labels) > NO_EVIDENCE
    if foretold is None or len(foretold) != len(known) or len(known) < ENOUGH:
        return Worth(judges, votes, agree, len(known))
    votes = kish(labels, known)
    truth, rows = labels.gold[known], np.arange(len(known))
    shares = labels.vote_share()[known]
    top = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    plural = top[rows, truth] / top.sum(axis=1)
    right = (foretold.argmax(axis=1) == truth).astype(np.float64)
    free = independent(labels, known)
    gap, gain = free - float(plural.mean()), right - plural
    numbers = len(known), float(right.mean()), float(plural.mean()), free
    if gap < 0.01:
        return Worth(judges, votes, agree, *numbers)
    closed, error = float(gain.mean()) / gap, float(gain.std() / np.sqrt(len(known))) / gap
    return Worth(judges, votes, agree, *numbers, closed, closed - _Z * error, closed + _Z * error)


def kish(labels: Labels, known: NDArray[np.int64]) -> float:
    """n / (1 + (n - 1) rho) with n labels per gold item, and rho the mean correlation of the errors of two judges.

    Pairs with `_SHARED` common gold items, on which both sometimes err, count; without any, errors are as one.
    """
    place = np.full(labels.items, -1)
    place[known] = np.arange(len(known))
    at = place[labels.label_items]
    size = float((at >= 0).sum()) / max(len(known), 1)
    given = np.bincount(labels.workers[at >= 0], minlength=len(labels.worker_names))
    busiest = np.argsort(-given, kind="stable")[:_MOST]
    row = np.full(len(given), -1)
    row[busiest] = np.arange(len(busiest))
    there = (at >= 0) & (row[labels.workers] >= 0)
    error = np.full((len(busiest), len(known)), np.nan)
    error[row[labels.workers[there]], at[there]] = labels.labels[there] != labels.gold[labels.label_items[there]]
    seen = np.isfinite(error).astype(np.float64)
    e = np.where(seen > 0, error, 0.0)
    both = seen @ seen.T
    mine = (e @ seen.T) / np.maximum(both, 1)
    variance = mine - mine**2
    together = (e @ e.T) / np.maximum(both, 1) - mine * mine.T
    use = np.triu((both >= _SHARED) & (np.minimum(variance, variance.T) > _VARIES), 1)
    rho = together[use] / np.sqrt(variance * variance.T)[use]
    mean = min(max(float(rho.mean()), 0.0), 1.0) if use.any() else 1.0
    return size / (1 + max(size - 1, 0) * mean)


def independent(labels: Labels, known: NDArray[np.int64]) -> float:
    """Accuracy of Bayes' rule with the judges' true rows on some gold items, if each judge erred by itself.

    Rows are counted on these items, with one pseudo-label of the crowd's row per class; labels are drawn from them.
    """
    place = np.full(labels.items, -1)
    place[known] = np.arange(len(known))
    at = place[labels.label_items]
    workers, items, said = (each[at >= 0] for each in (labels.workers, at, labels.labels))
    truth, classes = labels.gold[known], len(labels.classes)
    rows: Array = np.zeros((len(labels.worker_names), classes, classes))
    np.add.at(rows, (workers, truth[items], said), 1.0)
    pooled = rows.sum(axis=0) + 0.1
    rows += pooled / pooled.sum(axis=1, keepdims=True)
    rows /= rows.sum(axis=2, keepdims=True)
    up, logs = rows[workers, truth[items]].cumsum(axis=1), np.log(rows)
    prior = np.log(np.bincount(truth, minlength=classes) + 1.0)
    random, right = np.random.default_rng(0), []
    for _ in range(_DRAWS):
        drawn = (random.random(len(workers))[:, None] > up).sum(axis=1).clip(0, classes - 1)
        weights = logs[workers, :, drawn]
        scores = np.stack([np.bincount(items, weights[:, k], len(known)) for k in range(classes)], axis=1) + prior
        right.append(float((scores.argmax(axis=1) == truth).mean()))
    return float(np.mean(right))


def sentences(found: Mapping[str, Any]) -> list[str]:
    """`Worth.summary` for people.

    >>> sentences(Worth(13, 2.5, True, 50, 0.66, 0.57, 0.8, 0.39, 0.1, 0.68).summary)[0]
    '13 judges are worth 2.5 independent votes per task'
    >>> sentences(Worth(8, 0.01, False).summary)[0]
    '8 judges count as no vote: they agree no more than chance explains'
    """
    of, votes = counted(found["judges"], "judge"), found["votes"]
    several = found["judges"] != 1
    if "accuracy" in found:
        lines = [f"{of} {'are' if several else 'is'} worth {votes:.1f} independent votes per task"]
    elif found["agree"]:
        many = f"{votes:.1f}" if votes >= 0.1 else "less than 0.1"
        lines = [f"{of} {'count' if several else 'counts'} as {many} independent votes per task"]
    else:
        lines = [f"{of} {'count' if several else 'counts'} as no vote: they agree no more than chance explains"]
    if "closed" in found:
        part = f"{found['closed']:.2f} ({found['low']:.2f} to {found['high']:.2f}) of the gap is closed"
        lines.append(f"judges who err by themselves would be right in {found['independent']:.2f}: {part}")
    if found["gold"] < MORE:
        width = _Z * 0.5 / np.sqrt(MORE)
        lines.append(
            f"{MORE} labels by people would tell how often it is right to within {width:.2f}, and whom to believe"
        )
    return lines
