"""Worker-task-label triples, from any of the usual files, as integer codes sorted by item."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data import scan
from hutch.crowd.data.codes import coded, known_first, recoded
from hutch.crowd.data.degrees import numbers_of, ranks_of
from hutch.crowd.data.names import Names
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.data.values import Problems

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")


ENOUGH_LABELS, OFTEN, NEAR, MANY = 100, 10, 0.75, 10
"""Labels among which a class that stands once may be a typing error, labels of the class that it may be, how alike the
two are, as of `difflib`, and numbers that are classes: more are scores."""


@dataclass(frozen=True)
class Labels:
    """Labels as compressed rows: item i has `workers[item_ptr[i]:item_ptr[i + 1]]` and `labels[...]` likewise.

    Attributes:
        item_ptr: int64 (items + 1).
        workers: int32 (labels), codes into `worker_names`.
        labels: int32 (labels), codes into `classes`.
        item_names, worker_names: in the order of first appearance; items as `Names`, as there may be many.
        classes: numbers by value, other names by the alphabet; given classes first.
        gold: int32 (items), the true class or -1.
        duplicates: exact repetitions of a triple; of a worker's repeated labels of an item, only the most frequent
            ones are kept, each once (`scan.group_by_item`).
        contradictions: labels that differ from an earlier one of the same worker on the same item.
        unmatched_gold: gold lines for tasks without labels.
        elsewhere: their classes by task.
        problems: labels that were left out, with reasons.
        form: how the source was read, in one line; empty if it was not read.
        notices: what a user should know about that.
        repeats: pairs of labels that a worker gave one item, and the number of equal ones (workers, 2); or empty.
        divided: bool (labels), the most frequent of three or more that differ much; empty if there are none.
        unsure: answers that are no label: a worker does not know.
        arrivals: int32 (rows, 3): worker, item, label of all rows as they came, repetitions too; empty if nobody asked.
        dropped: int64 (items), further labels that a stream learned and does not keep; empty if there are none.
    """

    item_ptr: NDArray[np.int64]
    workers: NDArray[np.int32]
    labels: NDArray[np.int32]
    item_names: Sequence[str]
    worker_names: list[str]
    classes: list[str]
    gold: NDArray[np.int32]
    duplicates: int = 0
    contradictions: int = 0
    unmatched_gold: int = 0
    problems: Problems = field(default_factory=Problems)
    form: str = ""
    notices: tuple[str, ...] = ()
    repeats: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    divided: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    unsure: Unsure = field(default_factory=Unsure)
    arrivals: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    dropped: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    elsewhere: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.item_ptr) - 1

    @property
    def coming(self) -> NDArray[np.int32]:
        """Worker, item, label of each label in the order of coming (rows, 3): `arrivals`, or item by item."""
        if len(self.arrivals):
            return self.arrivals
        return np.stack([self.workers, self.label_items, self.labels], axis=1)

    @property
    def ratings(self) -> NDArray[np.int64]:
        """Number of labels of each item (items)."""
        kept = np.diff(self.item_ptr)
        return kept + self.dropped if len(self.dropped) else kept

    @cached_property
    def by_worker(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Pointer (workers + 1), positions of the labels and items of the labels, sorted by worker."""
        pointer, count = np.zeros(len(self.worker_names) + 1, np.int64), len(self.workers)
        positions, items = np.empty(count, np.int64), np.empty(count, np.int32)
        scan.group_by_worker(self.item_ptr, self.workers, pointer, positions, items)
        return pointer, positions, items

    def chosen(self, keep: NDArray[np.bool_]) -> "Labels":
        """All items with some of the labels, bool (labels)."""
        kept, divided = np.concatenate([[0], np.cumsum(keep)]), self.divided
        return replace(
            self, item_ptr=kept[self.item_ptr], workers=self.workers[keep], labels=self.labels[keep],
            arrivals=self.arrivals[:0], divided=divided[keep] if len(divided) else divided,
        )  # fmt: skip

    def between(self, first: int, last: int) -> "Labels":
        """The items from `first` to before `last`; all workers and classes stay."""
        start, stop = self.item_ptr[first], self.item_ptr[last]
        return replace(
            self, item_ptr=self.item_ptr[first : last + 1] - start, workers=self.workers[start:stop],
            labels=self.labels[start:stop], item_names=self.item_names[first:last], gold=self.gold[first:last],
            divided=self.divided[start:stop], arrivals=self.arrivals[:0], dropped=self.dropped[first:last],
            unsure=self.unsure.between(first, last),
        )  # fmt: skip

    @property
    def label_items(self) -> NDArray[np.int32]:
        """The item of each label."""
        return np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.item_ptr))

    def vote_share(self, gold: bool = False) -> NDArray[np.float64]:
        """Share of each class among an item's labels (items, classes); uniform without labels.

        Args:
            gold: give everything to the gold class where it is known.
        """
        classes = len(self.classes)
        cells = self.label_items.astype(np.int64) * classes + self.labels
        votes = np.bincount(cells, minlength=self.items * classes).reshape(self.items, classes).astype(np.float64)
        total = votes.sum(axis=1, keepdims=True)
        uniform = np.full_like(votes, 1 / max(classes, 1))
        shares: NDArray[np.float64] = np.divide(votes, total, out=uniform, where=total > 0)
        if gold:
            known = self.gold >= 0
            shares[known] = np.eye(classes)[self.gold[known]]
        return shares


def restricted(labels: Labels, classes: int) -> tuple[Labels, int]:
    """Only the labels of the first `classes` classes, and the number of the others; other gold is dropped."""
    keep = labels.labels < classes
    dropped = len(labels) - int(keep.sum())
    if len(labels.classes) == classes:
        return labels, 0
    return replace(
        labels.chosen(keep),
        classes=labels.classes[:classes],
        gold=np.where(labels.gold < classes, labels.gold, -1).astype(np.int32),
    ), dropped


def class_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order of their values: numbers first; degrees from the least to the greatest.

    >>> class_order(["10", "9", "cat"]), class_order(["100%", "25%"]), class_order(["high", "low", "medium"])
    (['9', '10', 'cat'], ['25%', '100%'], ['low', 'medium', 'high'])
    """
    distinct = sorted(set(names))
    if (degrees := numbers_of(distinct) or ranks_of(distinct)) is not None:
        return [distinct[k] for k in sorted(range(len(distinct)), key=lambda k: degrees[k])]

    def key(name: str) -> tuple[bool, float, str]:
        number = _NUMBER.fullmatch(name)
        return (number is None, float(name) if number else 0.0, name)

    return sorted(distinct, key=key)


def almost_alike(names: Iterable[str], case: bool = True) -> list[list[str]]:
    """Names that are equal but for case and blanks, or are one number, which often are one class or one person.

    Args:
        names: all different.
        case: whether names that differ in case are alike, too.

    >>> almost_alike(["dog", "cat ", "cat", "Dog", "fox", "1", "2", "1.0"])
    [['dog', 'Dog'], ['cat ', 'cat'], ['1', '1.0']]
    >>> almost_alike(["aB3", "ab3", " ab3"], case=False)
    [['ab3', ' ab3']]
    """
    groups: dict[str | float, list[str]] = defaultdict(list)
    for name in names:
        folded = "".join(name.split())
        folded = folded.casefold() if case else folded
        groups[float(folded) if _NUMBER.fullmatch(folded) else folded].append(name)
    return [group for group in groups.values() if len(group) > 1]


def probably_misspelt(names: Sequence[str], counts: Sequence[int]) -> list[tuple[str, str]]:
    """Classes that stand once among a hundred labels or more, and the class that each may be; empty if none is near.

    Where more than three and most classes do, or classes are scores, they are no mistakes; those of `almost_alike` are
    left to it.

    Args:
        names: of the classes.
        counts: labels of each.

    >>> probably_misspelt(["positive", "postive", "negative", "x"], [80, 1, 90, 1])
    [('postive', 'positive'), ('x', '')]
    >>> probably_misspelt(["1", "2", "17"], [80, 90, 1]), probably_misspelt(["yes", "no", "yess"], [20, 20, 1])
    ([('17', '')], [])
    """
    if sum(counts) < ENOUGH_LABELS or sum(many == 1 for many in counts) > max(3, len(names) // 2):
        return []
    if len(names) > MANY and all(_NUMBER.fullmatch(name.strip()) for name in names):
        return []
    from difflib import get_close_matches  # not at the top: most labels hold no mistake

    alike = {name for group in almost_alike(names) for name in group}
    often = [name for name, many in zip(names, counts, strict=True) if many >= OFTEN]
    found = []
    for name, many in zip(names, counts, strict=True):
        if many == 1 and name not in alike:
            near = [] if _NUMBER.fullmatch(name.strip()) else get_close_matches(name, often, n=1, cutoff=NEAR)
            found.append((name, near[0] if near else ""))
    return found


def from_codes(
    codes: NDArray[np.int32],
    worker_names: Sequence[str],
    item_names: Sequence[str],
    label_names: Sequence[str],
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
    arrivals: bool = False,
) -> Labels:
    """Build `Labels` from rows of (worker, item, label) codes.

    Args:
        codes: int32 (rows, 3).
        worker_names, item_names, label_names: by code.
        classes, workers: those known beforehand; they keep their numbers, new ones follow.
        gold: true class of some tasks.
        arrivals: keep the rows as they came, too: `Labels.arrivals`.
    """
    gold = gold or {}
    item_code = {name: code for code, name in enumerate(item_names) if name in gold} if gold else {}
    matched = {item_code[task]: label for task, label in gold.items() if task in item_code}
    ordered = known_first(classes, class_order([*label_names, *matched.values()]))
    people = known_first(workers, worker_names)
    class_code = {name: code for code, name in enumerate(ordered)}
    pointer = np.zeros(len(item_names) + 1, np.int64)
    coded_workers, coded_labels = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    repeats, divided = np.zeros((len(people), 2)), np.zeros(len(codes), np.bool_)
    rows = (
        recoded(codes[:, 0], worker_names, people) if workers else np.ascontiguousarray(codes[:, 0]),
        np.ascontiguousarray(codes[:, 1]),
        recoded(codes[:, 2], label_names, ordered),
    )
    kept, duplicates, contradictions = scan.group_by_item(
        *rows,
        len(people),
        people.index("") if "" in people else -1,
        pointer,
        coded_workers,
        coded_labels,
        repeats,
        divided,
    )
    truth = np.full(len(item_names), -1, np.int32)
    for item, label in matched.items():
        truth[item] = class_code[label]
    return Labels(
        item_ptr=pointer,
        workers=coded_workers[:kept].copy(),
        labels=coded_labels[:kept].copy(),
        item_names=Names.of(item_names),
        worker_names=people,
        classes=ordered,
        gold=truth,
        duplicates=duplicates,
        contradictions=contradictions,
        unmatched_gold=len(gold) - len(matched),
        elsewhere={task: label for task, label in gold.items() if task not in item_code},
        repeats=repeats,
        divided=divided[:kept].copy() if divided.any() else divided[:0],
        arrivals=np.stack(rows, axis=1) if arrivals else np.zeros((0, 3), np.int32),
    )


def from_triples(
    triples: Iterable[tuple[str, str, str]],
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
    arrivals: bool = False,
) -> Labels:
    """Build `Labels` from (worker, task, label) strings; the other arguments are those of `from_codes`.

    >>> labels = from_triples([("ann", "t1", "cat"), ("bob", "t1", "dog"), ("ann", "t1", "cat")])
    >>> labels.classes, len(labels), labels.duplicates
    (['cat', 'dog'], 2, 1)
    """
    rows, (people, tasks, answers) = coded(triples, 3)
    return from_codes(rows, people, tasks, answers, classes, workers, gold, arrivals)
