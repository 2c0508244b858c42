"""What a log shows of its policy: the features of the actions that it had, and the action that it chose.

What all actions of a decision have in common cannot tell them apart, but it matters together with what is an action's
own. So the features of an action are its own ones, and the product of each with every common one; its place in the list
is another. An action that is a class has one feature of its own, the class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.errors import UsageError
from hutch.evaluation.logit import Alternatives
from hutch.evaluation.off_policy import Choices, decisions_of, logged_once

MOST = 50_000_000
"""Features of all alternatives at most; they take some 100 bytes each."""
_SHIFT = np.uint64(32)
_ALONE = np.uint64((1 << 32) - 1)
"""Below a feature of an action's own in a key: no common one."""
_PLACES = _ALONE << _SHIFT
"""Above a place in a key."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The decisions of a batch with one logged choice.

    Attributes:
        places: int64 (alternatives), of each among the choices of the batch.
        sizes: int64 (decisions), number of alternatives.
        taken: int64 (decisions), the alternative that was chosen, counted from 0 within its decision.
        entries: int64 (decisions), where the batch holds the probability of the choice.
        decisions: int64 (decisions), numbers within the batch.
    """

    places: NDArray[np.int64]
    sizes: NDArray[np.int64]
    taken: NDArray[np.int64]
    entries: NDArray[np.int64]
    decisions: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Entries:
    """Features: the row, or the alternative, that each belongs to; its key, its value, and the key of its group."""

    owner: NDArray[np.int64]
    key: NDArray[np.uint64]
    value: NDArray[np.float64]
    group: NDArray[np.uint64]

    def where(self, wanted: NDArray[Any]) -> "_Entries":
        """Some of them."""
        return _Entries(self.owner[wanted], self.key[wanted], self.value[wanted], self.group[wanted])

    def of(self, owner: NDArray[np.int64]) -> "_Entries":
        """The same of other owners."""
        return _Entries(owner, self.key, self.value, self.group)

    @classmethod
    def joined(cls, parts: "Sequence[_Entries]") -> "_Entries":
        """Several as one."""
        names = ("owner", "key", "value", "group")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def logged_of(batch: Batch, choices: Choices) -> Logged:
    """The decisions of a batch with one logged choice.

    Args:
        batch: whole decisions.
        choices: theirs.
    """
    known = logged_once(batch, choices)
    at = choices.at[known]
    wanted = np.zeros(decisions_of(choices), np.bool_)
    wanted[choices.decision[at]] = True
    kept = wanted[choices.decision] & choices.counts
    places = np.flatnonzero(kept)
    before: NDArray[np.int64] = np.cumsum(kept) - kept
    sizes = np.bincount(choices.decision[places], minlength=len(wanted))[wanted]
    starts = np.cumsum(sizes) - sizes
    return Logged(places, sizes, before[at] - starts, int(batch.cost_ptr[0]) + known, choices.decision[at])


def alternatives_of(
    batches: Sequence[Batch], choices: Sequence[Choices], logged: Sequence[Logged], classes: bool
) -> tuple[Alternatives, NDArray[np.uint64]]:
    """The alternatives of all decisions with one logged choice, and a number of each that equal ones have in common.

    Args:
        batches: of whole decisions.
        choices: of each batch.
        logged: of each batch, from `logged_of`.
        classes: the alternatives are classes.

    Raises:
        UsageError: too many features for the memory.
    """
    nothing = np.zeros(0, np.uint64)
    parts, before = [_Entries(np.zeros(0, np.int64), nothing, np.zeros(0), nothing)], 0
    for batch, all_of, one in zip(batches, choices, logged, strict=True):
        found = _of_classes(batch, one) if classes else _of_rows(batch, all_of, one)
        parts.append(found.of(found.owner + before))
        before += len(one.places)
        if sum(len(part.key) for part in parts) > MOST:
            raise UsageError(
                f"--propensities estimated: got more than {MOST:,} products of features of actions with those that all "
                "actions have in common, wanted fewer: evaluate a part of the log, or leave features out"
            )
    whole = _Entries.joined(parts)
    whole = whole.where(np.argsort(whole.owner, kind="stable"))
    known, first, columns = np.unique(whole.key, return_index=True, return_inverse=True)
    _, groups = np.unique(whole.group[first], return_inverse=True)
    value = whole.value
    twins = _fingerprints(whole, before)
    scale = np.sqrt(np.bincount(columns, value**2) / np.bincount(columns)) if len(known) else np.ones(0)
    ends = np.concatenate([[0], np.cumsum(np.bincount(whole.owner, minlength=before))])
    sizes, taken = (np.concatenate([getattr(one, name) for one in logged]) for name in ("sizes", "taken"))
    return Alternatives(sizes, taken, ends, columns, value / scale[columns], groups), twins


def _entries(batch: Batch) -> _Entries:
    """The features of the rows of a batch, the constant left out."""
    low, high = int(batch.row_ptr[0]), int(batch.row_ptr[-1])
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.row_ptr))
    spaces = slice(int(batch.row_namespaces[0]), int(batch.row_namespaces[-1]))
    bounds = batch.namespace_ptr[spaces.start : spaces.stop + 1]
    names = np.repeat(batch.namespace_id[spaces], np.diff(bounds))
    kept = (names != CONSTANT_NAMESPACE) & (batch.values[low:high] != 0)
    key, value = batch.indices[low:high].astype(np.uint64), batch.values[low:high].astype(np.float64)
    return _Entries(owner, key, value, names.astype(np.uint64)).where(kept)


def _of_classes(batch: Batch, logged: Logged) -> _Entries:
    """The features of classes: those of the row, for each class apart."""
    every = _entries(batch)
    number = np.full(len(batch), -1)
    number[logged.decisions] = np.arange(len(logged.decisions))
    common = every.where(number[every.owner] >= 0)
    common = common.of(number[common.owner])
    alternatives = np.arange(len(logged.places))
    starts = np.cumsum(logged.sizes) - logged.sizes
    decision = np.repeat(np.arange(len(logged.sizes)), logged.sizes)
    classes = (alternatives - starts[decision]).astype(np.uint64)
    own = _Entries(alternatives, classes, np.ones(len(alternatives)), np.zeros(len(alternatives), np.uint64))
    return _products(own, decision, common, len(logged.sizes))


def _of_rows(batch: Batch, choices: Choices, logged: Logged) -> _Entries:
    """The features of rows: those that not all actions have, alone and with each that all have; and their places."""
    every, count = _entries(batch), len(logged.sizes)
    number = np.full(decisions_of(choices), -1)
    number[logged.decisions] = np.arange(count)
    alternative = np.full(len(batch), -1)
    alternative[logged.places] = np.arange(len(logged.places))
    decision = np.repeat(np.arange(count), logged.sizes)
    shared = every.where(~choices.counts[every.owner] & (number[choices.decision[every.owner]] >= 0))
    shared = shared.of(number[choices.decision[shared.owner]])
    own = every.where(alternative[every.owner] >= 0)
    own = own.of(alternative[own.owner])
    everywhere, first = _in_all(own, decision, logged.sizes)
    common = own.where(first)
    common = _Entries.joined([shared, common.of(decision[common.owner])])
    products = _products(own.where(~everywhere), decision, common, count)
    starts = np.cumsum(logged.sizes) - logged.sizes
    alternatives = np.arange(len(decision))
    places = _PLACES | (alternatives - starts[decision]).astype(np.uint64)
    every_place = _Entries(alternatives, places, np.ones(len(decision)), np.full(len(decision), _PLACES))
    return _Entries.joined([products, every_place])


def _in_all(
    own: _Entries, decision: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each feature is one that all actions of its decision have, and whether it is the first of these."""
    if not len(own.key):
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    order = np.lexsort((own.value, own.key, decision[own.owner]))
    place, key, value = decision[own.owner][order], own.key[order], own.value[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (place[1:] != place[:-1]) | (key[1:] != key[:-1]) | (value[1:] != value[:-1])
    run = np.cumsum(begins) - 1
    whole = (np.bincount(run) == sizes[place[begins]])[run]
    everywhere, first = np.zeros(len(order), np.bool_), np.zeros(len(order), np.bool_)
    everywhere[order], first[order] = whole, whole & begins
    return everywhere, first


def _products(own: _Entries, decision: NDArray[np.int64], common: _Entries, count: int) -> _Entries:
    """Each feature of an alternative's own, alone and times each common one of its decision."""
    common_order = np.argsort(common.owner, kind="stable")
    of_each = np.bincount(common.owner, minlength=count)
    starts = np.cumsum(of_each) - of_each
    times = of_each[decision[own.owner]]
    repeated = np.repeat(np.arange(len(own.key)), times)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(times) - times, times)
    other = common_order[np.repeat(starts[decision[own.owner]], times) + within]
    high, group = own.key << _SHIFT, own.group << _SHIFT
    alone = _Entries(own.owner, high | _ALONE, own.value, group | _ALONE)
    value = own.value[repeated] * common.value[other]
    key, of_pair = high[repeated] | common.key[other], group[repeated] | common.group[other]
    return _Entries.joined([alone, _Entries(own.owner[repeated], key, value, of_pair)])


def _fingerprints(entries: _Entries, count: int) -> NDArray[np.uint64]:
    """A number for each alternative, the same for those with the same features in whatever place."""
    found = np.zeros(count, np.uint64)
    kept = entries.where(entries.key < _PLACES)
    np.add.at(found, kept.owner, mixed(kept.key ^ mixed(kept.value.view(np.uint64))))
    return found


def mixed(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Another number for each number, that looks drawn (G. Steele and others, "SplitMix", OOPSLA 2014)."""
    found = number + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))
