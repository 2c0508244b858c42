"""Examples of data files, divided into shards."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, chosen, joined
from hutch.core.errors import DataError, at
from hutch.core.text.hashing import namespace_id

_MIX = (np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35))
_ROWS = 1 << 12
"""Examples that a shard gathers before they become one batch."""


class Division:
    """The shard, or the block of two divisions, of each example.

    Args:
        shards: number of shards.
        by: names of no, one or two namespaces; examples with the same first feature in one belong to the same shard.
        holdout: examples whose number is divisible by this are held out; 0: none.
        names: how names of namespaces are hashed, as `ParserOptions.namespaces`.
        groups: keep the examples of a group together.

    Attributes:
        parts: number of shards or blocks; block k · shards + j has shard k of the first division, j of the second.
        found: whether a namespace has been met, for each of `by`.
    """

    def __init__(self, shards: int, by: Sequence[str], holdout: int, names: Any, groups: bool = False) -> None:
        self._shards, self._holdout, self._groups = shards, holdout, groups
        self._ids = [namespace_id(name, names) for name in by]
        self.parts = shards ** max(len(by), 1)
        self.found = [False] * len(by)

    def parts_of(self, batch: Batch, seen: int) -> NDArray[np.int64]:
        """The part of each example, -1 if it is held out; a group goes with its first example.

        Args:
            batch: the examples.
            seen: examples, or groups, of the source before it.
        """
        first = self.beginnings(batch)
        number = seen + np.cumsum(first)
        part = np.zeros(len(batch), np.int64)
        for k, name in enumerate(self._ids):
            part = part * self._shards + self._by_namespace(batch, k, name, number)
        if not self._ids:
            part = number % self._shards
        if self._holdout:
            part[number % self._holdout == 0] = -1
        return np.asarray(part[np.maximum.accumulate(np.where(first, np.arange(len(batch)), 0))])

    def beginnings(self, batch: Batch) -> NDArray[np.bool_]:
        """Which examples cannot be combined with the one before."""
        if not self._groups:
            return np.ones(len(batch), np.bool_)
        return np.append(True, batch.group[1:] != batch.group[:-1])

    def _by_namespace(self, batch: Batch, k: int, name: int, number: NDArray[np.int64]) -> NDArray[np.int64]:
        owners = np.repeat(np.arange(len(batch)), np.diff(batch.row_namespaces))
        low, high = batch.row_namespaces[0], batch.row_namespaces[-1]
        starts = batch.namespace_ptr[low : high + 1]
        its = np.flatnonzero((batch.namespace_id[low:high] == name) & (starts[1:] > starts[:-1]))
        shard = number % self._shards
        shard[owners[its]] = mixed(batch.indices[starts[its]]) % self._shards
        self.found[k] |= len(its) > 0
        return np.asarray(shard)


def mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Mix numbers so that every bit depends on all input bits: the finaliser of MurmurHash3.

    >>> mixed(np.arange(3, dtype=np.uint32)).tolist()
    [0, 1364076727, 821347078]
    """
    h = numbers ^ (numbers >> np.uint32(16))
    h = h * _MIX[0]
    h = (h ^ (h >> np.uint32(13))) * _MIX[1]
    return np.asarray(h ^ (h >> np.uint32(16)))


def read(config: dict[str, Any], source: str, shards: int, by: tuple[str, ...], holdout: int, strict: bool) -> Any:
    """The examples of one file, as a task.

    Args:
        config: of the chain, as `ChainConfig.to_dict` gives it.
        source: the file.
        shards, by, holdout: as of `Division`.
        strict: stop at the first malformed place.

    Returns:
        Warnings about the data, which of `by` were found, the columns of a table and the lengths of lists; the batches
        held out, and those of each part.
    """
    chain = Chain.from_config(config)
    problems: list[str] = []
    files = chain.files([source], lambda problem: problems.append(str(problem)), strict=strict)
    division = Division(shards, by, holdout, chain.parser.namespaces, chain.parser.whole_groups)
    waiting: list[list[Batch]] = [[] for _ in range(division.parts + 1)]
    done: list[list[Batch]] = [[] for _ in range(division.parts + 1)]
    seen = 0
    for batch in files:
        parts = division.parts_of(batch, seen)
        seen += int(np.count_nonzero(division.beginnings(batch)))
        for part in np.unique(parts).tolist():
            gathered = waiting[part + 1]
            gathered.append(chosen(batch, np.flatnonzero(parts == part)))
            if sum(map(len, gathered)) >= _ROWS:
                done[part + 1].append(joined(*gathered))
                gathered.clear()
    for gathered, whole in zip(waiting, done, strict=True):
        if gathered:
            whole.append(joined(*gathered))
    if chain.takes.of_decisions and by:
        raise DataError(at(source, None, None, "holds decisions, which --by does not divide"))
    return (problems, division.found, chain.watch.known, chain.watch.lengths), *done
