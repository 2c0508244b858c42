"""Judges alone, never sure and wrong: how much of their posteriors is kept, from their labels alone.

Judges may err together, which no label shows. Two rules bound what that costs. First, judges who agree no more than
chance explains give no evidence: the exponent of the posteriors falls with the agreement of the panel, kappa*. Second,
the posteriors are insured: if the most probable class is right in a share r of the items, however sure it is there, and
errors are spread evenly over the other classes, the mean log-loss is at most that of equal shares and `EPSILON`.
"""

from collections.abc import Callable

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.copies import LEAST_TASKS, Group, count_pairs, one_voice
from hutch.crowd.models.model import Array
from hutch.crowd.models.repeats import DIVIDED

FEW = 20
"""Judges up to whom the panel may be of one mind; more hardly are."""
LEAST_ACCURACY, LEAST_OF_MANY = 0.5, 0.77
"""r of a panel of `FEW` judges or less, and of more."""
EPSILON = 0.005
"""Nats by which the insured loss may be above that of equal shares."""
_NONE, _ENOUGH = 0.06, 0.12
"""Agreement beyond chance, less its standard error, that is no evidence; that is enough."""
NO_EVIDENCE = 0.002
"""Factor of the exponent where there is no evidence: it keeps the order of the classes."""
_COPY, _CHANCE = 0.8, 5.0
"""Kappa from which two judges are one voice, of which so many tasks are added on which they agree by chance."""
SMALLEST = 1e-4
"""Factor of the exponents at least: it keeps the order of the classes."""
_STEPS = 30


def judges_of(labels: Labels) -> int:
    """Number of judges with labels; divided voices are their judge's."""
    names = labels.worker_names
    return len({names[worker].removesuffix(DIVIDED) for worker in np.flatnonzero(np.bincount(labels.workers))})


def evidence(labels: Labels) -> float:
    """g, the factor of the exponents that agreement allows: 1 if the panel agrees enough, and always for many judges.

    >>> from hutch.crowd.data.labels import from_triples
    >>> evidence(from_triples((f"j{j}", str(i), "ab"[i % 2 ^ (j == i % 5)]) for i in range(40) for j in range(5)))
    1.0
    >>> evidence(from_triples((f"j{j}", str(i), "ab"[(i >> j) % 2]) for i in range(64) for j in range(5)))
    0.002
    """
    if judges_of(labels) > FEW:
        return 1.0
    voices = _voices(labels)
    several = len(np.unique(voices.workers)) > 1
    kappa, error = agreement(voices if several else labels)
    return float(np.clip((kappa - error - _NONE) / (_ENOUGH - _NONE), NO_EVIDENCE, 1))


def agreement(labels: Labels) -> tuple[float, float]:
    """kappa*, the agreement beyond chance of all pairs of judges, and its standard error over the items.

    With f_w the label shares of judge w and v_w = 1 - sum f_w^2, which silences judges who always say the same, it is
    the sum over items and pairs of v_w v_u ([w and u agree] - f_w f_u) over that of v_w v_u (1 - f_w f_u).
    """
    workers, classes, of = len(labels.worker_names), len(labels.classes), labels.label_items
    cells = labels.workers.astype(np.int64) * classes + labels.labels
    given = np.bincount(cells, minlength=workers * classes).reshape(workers, classes)
    share = given + 2 * given.sum(axis=0) / max(len(labels), 1) + 1e-12
    share /= share.sum(axis=1, keepdims=True)
    mine = share[labels.workers]
    vary = 1 - (mine**2).sum(axis=1)
    agreed, chance = np.zeros(labels.items), np.zeros(labels.items)
    for k in range(classes):
        said = vary * (labels.labels == k)
        for total, parts in ((agreed, said), (chance, vary * mine[:, k])):
            total += 0.5 * (np.bincount(of, parts, labels.items) ** 2 - np.bincount(of, parts**2, labels.items))
    pairs = 0.5 * (np.bincount(of, vary, labels.items) ** 2 - np.bincount(of, vary**2, labels.items))
    room = pairs - chance
    if room.sum() < 1e-9:
        return 0.0, 1.0
    kappa = float((agreed - chance).sum() / room.sum())
    return kappa, float(np.sqrt(((agreed - chance - kappa * room) ** 2).sum()) / room.sum())


def insured(posteriors: Callable[[float], Array], least_accuracy: float) -> float:
    """h, the largest factor of the exponents, at most 1, under which the posteriors are insured.

    Args:
        posteriors: (items, classes) under a factor; equal shares under 0.
        least_accuracy: r, the share of items in which the most probable class is surely right.
    """
    most = np.log(posteriors(0.0).shape[1]) + EPSILON
    if loss_if_right(posteriors(1.0), least_accuracy) <= most:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        fits = loss_if_right(posteriors(middle), least_accuracy) <= most
        low, high = (middle, high) if fits else (low, middle)
    return low


def loss_if_right(posterior: Array, share: float) -> float:
    """Mean log-loss if the most probable class is right in a share of all items, and each other equally often else.

    >>> round(loss_if_right(np.array([[0.9, 0.1]]), 0.5), 3)
    1.204
    """
    top = np.log(posterior.max(axis=1))
    others = np.log(np.maximum(posterior, 1e-12)).sum(axis=1) - top
    return float(np.mean(-share * top - (1 - share) / max(posterior.shape[1] - 1, 1) * others))


def _voices(labels: Labels) -> Labels:
    """Labels in which judges who nearly agree are one."""
    pairs = count_pairs(labels)
    room = pairs.tasks * (1 - pairs.chance) + _CHANCE
    kappa = (pairs.agreed - pairs.tasks * pairs.chance) / room
    leader = np.arange(len(labels.worker_names))
    for pair in np.flatnonzero((kappa > _COPY) & (pairs.tasks >= LEAST_TASKS)).tolist():
        one, other = sorted((int(leader[pairs.first[pair]]), int(leader[pairs.second[pair]])))
        leader[leader == other] = one
    groups = [np.flatnonzero(leader == one).tolist() for one in np.unique(leader)]
    return one_voice(labels, [Group(tuple(group), 0, 1.0, 1.0, True) for group in groups if len(group) > 1])[0]
