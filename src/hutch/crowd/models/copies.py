"""Workers who copy: they agree more often than chance and their skills explain; merging each group into one voice.

With n_wv tasks that w and v share, kappa_wv is their agreement beyond chance over what it could be, and kappa_wv ~ a_w
a_v with skills a from -1 (adversaries) to 1. Skills are found by weighted medians, which a minority of copies does not
move. If two workers copied no share c of their labels, they would agree on x = E + (1 - E) a_w a_v; copying adds
c (1 - x). They are copies if c is above `COPIED`, or above `PARTLY` where three or more are, by an exact binomial test
at `LEVEL` over all pairs; a larger group, all of whose pairs agree almost always, is tested by all of its labels at
`LEVEL` over all groups of its size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.special import binomial_tail

COPIED, PARTLY = 0.5, 0.25
"""Share of copied labels above which two workers are one voice; above which three or more are, up to half of all.

Several who each copy seven labels of ten from one source share half of them; two may share a third by common input.
"""
LEVEL = 0.01
"""False alarms per crowd, at most."""
LEAST_TASKS = 8
"""Tasks that two workers must share to be compared."""
ALIKE = 0.9
"""Kappa from which a pair gives no evidence of either's skill, and may belong to one group."""
REST_AGREES = 0.1
"""Least mean kappa of all others; below it, copies cannot be distinguished from experts."""
LEAST_SKILL = 0.3
"""Mean skill of others from which they can tell how skilled a worker is."""
MOST_PAIRS, MOST_COMPARED = 500_000, 100_000
"""Pairs of labels that are counted; pairs of workers that skills are estimated from."""
_ROUNDS, _PSEUDO_WEIGHT = 15, 10.0


@dataclass(frozen=True)
class Group:
    """Workers who copy from each other, or from one source.

    Attributes:
        workers: their codes.
        tasks: shared tasks, over all pairs.
        agreement, expected: share of these on which they agree, and the share that chance and skills explain.
        one_voice: they count as one worker; else no others agree with each other: they may be experts among guessers.
        in_stream: they do not count as one worker, since a stream cannot undo what it learned.
    """

    workers: tuple[int, ...]
    tasks: int
    agreement: float
    expected: float
    one_voice: bool
    in_stream: bool = False

    def describe(self, names: Sequence[str]) -> str:
        """Message for people.

        >>> Group((0, 2), 41, 0.97, 0.61, True).describe(["ann", "bob", "cy"])
        'ann, cy agree on 97 % of the 41 tasks they share; their skills explain 61 %: counted as one voice'
        """
        shown = ", ".join(names[w] for w in self.workers[:8])
        shown += f" and {len(self.workers) - 8} others" if len(self.workers) > 8 else ""
        what = f"the {self.tasks} tasks they share" if len(self.workers) == 2 else "what they share"
        text = f"{shown} agree on {self.agreement:.0%} of {what}; their skills explain {self.expected:.0%}"
        doubt = "experts or copies, these labels cannot tell: nobody else agrees with anybody; gold can"
        told = "each counts in a stream; the batch form takes them for one voice"
        verdict = doubt if not self.one_voice else told if self.in_stream else "counted as one voice"
        return f"{text}: {verdict}".replace("%", " %")


@dataclass(frozen=True)
class Pairs:
    """Pairs of workers with shared tasks.

    Attributes:
        first, second: codes.
        tasks, agreed: shared tasks, and those on which they agree.
        chance: how often they would agree if each gave their labels at the same rates, whatever the task.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    tasks: Array
    agreed: Array
    chance: Array

    @property
    def kappa(self) -> Array:
        """Agreement beyond chance: 1 is agreement, 0 is that of chance (J. Cohen, 1960)."""
        return np.asarray((self.agreed / self.tasks - self.chance) / np.maximum(1 - self.chance, 0.05))

    def some(self, keep: NDArray[Any]) -> "Pairs":
        """Those of some places, or where `keep` is true."""
        return Pairs(*(array[keep] for array in vars(self).values()))


def find_copies(labels: Labels, among: NDArray[np.bool_] | None = None, *, taught: bool = False) -> list[Group]:
    """The groups of workers who copy.

    Args:
        labels: the labels.
        among: which workers to examine (workers); None: all. The anonymous worker never is.
        taught: gold or a history shows who is right: some who agree may be those among many who err together, so only
            copies of more than half of the labels count, as with gold in the labels.
    """
    workers = len(labels.worker_names)
    looked_at = np.ones(workers, np.bool_) if among is None else among.copy()
    if "" in labels.worker_names:
        looked_at[labels.worker_names.index("")] = False
    seen = labels.chosen(looked_at[labels.workers])
    pairs = count_pairs(seen)
    enough = pairs.tasks >= LEAST_TASKS
    tests = max(int(enough.sum()), 1)
    kappa = pairs.kappa
    suspects = np.flatnonzero(enough & (kappa > PARTLY))
    if not len(suspects):
        return []
    alike = enough & (kappa > ALIKE)
    skills = _skills(pairs, alike, workers)
    expected = pairs.chance + (1 - pairs.chance) * skills[pairs.first] * skills[pairs.second]
    expected = np.clip(expected, 0.01, 0.995)

    def surely(share: float) -> NDArray[np.int64]:
        least = (expected + share * (1 - expected))[suspects]
        tails = [
            binomial_tail(*each) for each in zip(pairs.agreed[suspects], pairs.tasks[suspects], least, strict=True)
        ]
        return suspects[np.array(tails) < LEVEL / tests]

    present, partly = np.flatnonzero(np.bincount(seen.workers)), surely(PARTLY)
    one = _joined(workers, pairs, partly)
    sizes = np.bincount(one, minlength=workers)[one[pairs.first[partly]]]
    several = partly[(sizes > 2) & (2 * sizes <= len(present)) & (not taught and not (labels.gold >= 0).any())]
    one = _joined(workers, pairs, np.concatenate([several, surely(COPIED)]))
    for members in _groups(_joined(workers, pairs, np.flatnonzero(alike))):
        group = _described(pairs, expected, members, one)
        # where no others agree, nothing shows the skill of those who are alike
        inside = np.isin(pairs.first, members) & np.isin(pairs.second, members)
        witnesses = skills[np.setdiff1d(present, members, assume_unique=True)]
        identical = float(np.average(kappa[inside], weights=pairs.tasks[inside])) > ALIKE
        skilled = len(witnesses) > 0 and float(np.quantile(witnesses, 0.75)) >= LEAST_SKILL
        doubtful = identical and not skilled and not group.one_voice
        explained = float(np.average(pairs.chance[inside])) if doubtful else group.expected
        minority = 2 * len(members) <= len(present)
        if minority and (doubtful or len(members) > 2) and _agree_too_often(seen, members, explained):
            one[np.isin(one, one[members])] = members[0]
    return [_described(pairs, expected, members, one) for members in _groups(one)]


def copies_in_stream(labels: Labels, among: NDArray[np.bool_] | None = None) -> list[Group]:
    """As `find_copies`, for labels that a stream learns from one by one: reports only groups that are one voice."""
    return [replace(group, in_stream=True) for group in find_copies(labels, among) if group.one_voice]


def one_voice(labels: Labels, groups: Sequence[Group]) -> tuple[Labels, NDArray[np.int64]]:
    """Labels in which each group is one worker, with the majority label of its members on each task.

    Returns:
        the labels; the place among them of each label given (labels).
    """
    leader, places = np.arange(len(labels.worker_names)), np.arange(len(labels))
    for group in groups:
        if group.one_voice:
            leader[list(group.workers)] = group.workers[0]
    sizes = np.bincount(leader, minlength=len(leader))
    grouped = np.flatnonzero(sizes[leader[labels.workers]] > 1)
    if not len(grouped):
        return labels, places
    voice = leader[labels.workers[grouped]]
    keys = labels.label_items[grouped].astype(np.int64) * len(leader) + voice
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    votes = np.zeros((len(first), len(labels.classes)))
    np.add.at(votes, (inverse, labels.labels[grouped]), 1.0)
    said, by = labels.labels.copy(), labels.workers.copy()
    said[grouped[first]], by[grouped[first]] = votes.argmax(axis=1), voice[first]
    keep = np.ones(len(labels), np.bool_)
    keep[grouped], keep[grouped[first]] = False, True
    places = np.cumsum(keep) - 1
    places[grouped] = places[grouped[first]][inverse]
    return replace(labels, workers=by, labels=said).chosen(keep), places


def count_pairs(labels: Labels) -> Pairs:
    """All pairs of workers with shared tasks; of very many labels those of every n-th item count.

    >>> from hutch.crowd.data.labels import from_triples
    >>> votes = [("a", "1", "x"), ("b", "1", "x"), ("a", "2", "y"), ("b", "2", "y"), ("a", "3", "x"), ("b", "3", "y")]
    >>> found = count_pairs(from_triples(votes))
    >>> found.tasks.tolist(), found.agreed.tolist(), found.chance.round(6).tolist()
    ([3.0], [2.0], [0.48])
    """
    workers, classes = len(labels.worker_names), len(labels.classes)
    ratings = np.diff(labels.item_ptr)
    step = -(-int((ratings * (ratings - 1) // 2).sum()) // MOST_PAIRS)
    labels = labels.chosen(labels.label_items % step == 0) if step > 1 else labels
    ratings = np.diff(labels.item_ptr)
    keys = np.empty(int((ratings * (ratings - 1) // 2).sum()), np.int64)
    keys = np.sort(keys[: pair_keys(labels.item_ptr, labels.workers, labels.labels, workers, keys)])
    starts = np.flatnonzero(np.diff(keys >> 1, prepend=-1))
    pair = keys[starts] >> 1
    tasks = np.diff(starts, append=len(keys)).astype(np.float64)
    agreed = np.add.reduceat((keys & 1).astype(np.float64), starts) if len(starts) else np.zeros(0)
    cells = labels.workers.astype(np.int64) * classes + labels.labels
    given = np.bincount(cells, minlength=workers * classes).reshape(workers, classes)
    share = given + 2 * given.sum(axis=0) / max(len(labels), 1) + 1e-12
    share /= share.sum(axis=1, keepdims=True)
    first, second = pair // max(workers, 1), pair % max(workers, 1)
    chance = np.zeros(len(pair))
    for k in range(classes):
        chance += share[first, k] * share[second, k]
    return Pairs(first, second, tasks, agreed, chance)


def _skills(pairs: Pairs, alike: NDArray[np.bool_], workers: int) -> Array:
    """The skill of each worker; in a crowd with skill, pairs that are alike get at most what other pairs show.

    Args:
        pairs: all of them.
        alike: which give no evidence of either's skill (pairs).
        workers: number of workers.
    """
    if len(pairs.tasks) > MOST_COMPARED:
        most = np.sort(np.argpartition(-pairs.tasks, MOST_COMPARED)[:MOST_COMPARED])
        pairs, alike = pairs.some(most), alike[most]
    skills = _fitted(pairs, workers)
    if not alike.any():
        return skills
    rest = pairs.some(~alike)
    others = _fitted(rest, workers)
    total = np.bincount(rest.first, rest.tasks, workers) + np.bincount(rest.second, rest.tasks, workers)
    mean = np.bincount(rest.first, rest.tasks * others[rest.second], workers)
    mean += np.bincount(rest.second, rest.tasks * others[rest.first], workers)
    return np.where(mean > LEAST_SKILL * np.maximum(total, 1), np.minimum(skills, others), skills)


def _fitted(pairs: Pairs, workers: int) -> Array:
    if not len(pairs.tasks):
        return np.full(workers, 0.5)
    order = np.argsort(np.concatenate([pairs.first, pairs.second]), kind="stable")
    partners = np.concatenate([pairs.second, pairs.first])[order]
    pointer = np.zeros(workers + 1, np.int64)
    np.cumsum(np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=workers), out=pointer[1:])
    result = np.empty(workers)
    fit_skills(pointer, partners, np.tile(pairs.kappa, 2)[order], np.tile(pairs.tasks, 2)[order], result)
    return result


def _joined(workers: int, pairs: Pairs, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each worker, the lowest code among those connected by edges."""
    one = np.arange(workers)
    for edge in edges.tolist():
        a, b = one[pairs.first[edge]], one[pairs.second[edge]]
        if a != b:
            one[one == max(a, b)] = min(a, b)
    return one


def _groups(one: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [np.flatnonzero(one == least) for least in np.flatnonzero(np.bincount(one, minlength=len(one)) > 1)]


def _agree_too_often(labels: Labels, members: NDArray[np.int64], expected: float) -> bool:
    """Test all labels of a group: on each task, all but one may repeat another's label."""
    mine = np.isin(labels.workers, members)
    classes = len(labels.classes)
    cells = labels.label_items[mine].astype(np.int64) * classes + labels.labels[mine]
    votes = np.bincount(cells, minlength=labels.items * classes).reshape(labels.items, classes)
    several = votes.sum(axis=1) > 1
    trials, agreed = float((votes[several].sum(axis=1) - 1).sum()), float((votes[several].max(axis=1) - 1).sum())
    workers, size = np.count_nonzero(np.bincount(labels.workers)), len(members)
    ways = math.lgamma(workers + 1) - math.lgamma(size + 1) - math.lgamma(workers - size + 1)
    return agreed > 0 and bool(binomial_tail(agreed, trials, (1 + expected) / 2) < LEVEL * math.exp(-ways))


def _described(pairs: Pairs, expected: Array, members: NDArray[np.int64], one: NDArray[np.int64]) -> Group:
    """A group, and whether the others agree enough to show that it is one."""
    in_first, in_second = np.isin(pairs.first, members), np.isin(pairs.second, members)
    inside, outside = in_first & in_second, ~in_first & ~in_second & (one[pairs.first] != one[pairs.second])
    weight = pairs.tasks[inside]
    rest = float(pairs.tasks[outside] @ pairs.kappa[outside])
    told = rest >= REST_AGREES * float(pairs.tasks[outside].sum()) > 0
    return Group(
        tuple(members.tolist()), int(weight.sum()), float(pairs.agreed[inside].sum() / weight.sum()),
        float(np.average(expected[inside], weights=weight)), told,
    )  # fmt: skip


@compiled
def pair_keys(item_ptr, workers, labels, worker_count, keys):
    """For each pair of labels of an item by two workers, (first worker, second worker, they agree) as one number.

    Args:
        keys: out, int64.

    Returns:
        the number of pairs.
    """
    count = 0
    for item in range(len(item_ptr) - 1):
        for i in range(item_ptr[item], item_ptr[item + 1]):
            for j in range(item_ptr[item], i):
                first, second = np.int64(min(workers[i], workers[j])), np.int64(max(workers[i], workers[j]))
                if first != second:
                    keys[count] = 2 * (first * worker_count + second) + (labels[i] == labels[j])
                    count += 1
    return count


@helper
def weighted_median(values, weights):
    """The least number from -1 to 1 below which half of the weight is, to 1e-6; by bisection, without memory."""
    low, high, half = -1.0, 1.0, 0.5 * weights.sum()
    while high - low > 1e-6:
        middle, below = 0.5 * (low + high), 0.0
        for place in range(len(values)):
            below += weights[place] if values[place] <= middle else 0.0
        if below >= half:
            high = middle
        else:
            low = middle
    return high


@compiled
def fit_skills(pointer, partners, kappas, tasks, skills):
    """Fit kappa_wv ~ a_w a_v by weighted medians, damped; each worker has a pseudo-partner at the crowd's median.

    Args:
        pointer: int64 (workers + 1), the places of the partners of each worker.
        partners, kappas, tasks: of each pair, from both sides.
        skills: out, float64 (workers).
    """
    middle = min(max(weighted_median(kappas, tasks), 0.01), 1.0)
    root = math.sqrt(middle)
    for w in range(len(skills)):
        mine = slice(pointer[w], pointer[w + 1])
        own = weighted_median(kappas[mine], tasks[mine]) if pointer[w + 1] > pointer[w] else middle
        skills[w] = min(max(own / root, 0.02), 1.0)
    fresh = skills.copy()
    values, weights = np.empty(len(partners) + 1), np.empty(len(partners) + 1)
    for _ in range(_ROUNDS):
        change = 0.0
        for w in range(len(skills)):
            count = 0
            for place in range(pointer[w], pointer[w + 1]):
                skill = skills[partners[place]]
                if skill > 0.05:
                    values[count], weights[count] = kappas[place] / skill, tasks[place] * skill
                    count += 1
            fresh[w] = skills[w]
            if count > 0:
                values[count], weights[count] = root, _PSEUDO_WEIGHT * root
                fresh[w] = weighted_median(values[: count + 1], weights[: count + 1])
            change = max(change, abs(fresh[w] - skills[w]))
        for w in range(len(skills)):
            skills[w] = 0.5 * (skills[w] + fresh[w])
        if change < 1e-3:
            break
