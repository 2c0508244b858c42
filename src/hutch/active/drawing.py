"""Drawing examples from a pool: each takes 20 bytes of memory, and its line is read again if it is drawn."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.lines import split_line
from hutch.active.pool import Entry, Pool, Source
from hutch.core.errors import DataError, at

if TYPE_CHECKING:
    from hutch.chain import Chain
    from hutch.durable.store import Store
    from hutch.jobs.engine import Engine

BLOCK = 4096
"""Lines that are scored at a time."""
Numbers = NDArray[Any]


def scores_of(chain: "Chain", lines: Sequence[str]) -> tuple[Numbers, NDArray[np.float32]]:
    """Scores and predictions of unlabelled lines; the chain does not change.

    Args:
        chain: its top layer is `active`.
        lines: unlabelled.

    Returns:
        float64 (lines): the smallest importance of a label that would change the prediction, or the rule's own
        score instead; and float32 (lines), the predictions.
    """
    layer: Any = chain.layers[0]
    trace = layer.trace(len(lines))
    try:
        predictions = chain.predict(lines)
        return trace["score"][: len(lines)].copy(), predictions
    finally:
        layer.trace(0)


class Scores:
    """Scores of the examples of a pool.

    Args:
        pool: the examples.
        chain: its top layer is `active`.
        engine: scores each source in a task; None: here.

    Attributes:
        score: float64 (examples).
        prediction: float32 (examples).
        key: uint64 (examples): a hash of the id that the example would have without duplicates.
        sizes: examples of each source.
    """

    def __init__(self, pool: Pool, chain: "Chain", engine: "Engine | None" = None) -> None:
        self.pool = pool
        if engine:
            shared = engine.put(chain)
            tasks = [engine.submit(_scored, shared, engine.put(source))[0] for source in pool.sources]
            parts = [engine.get(task) for task in tasks]
        else:
            parts = [_scored(chain, source) for source in pool.sources]
        self.sizes = [len(part[0]) for part in parts]
        self.score, self.prediction, self.key = map(np.concatenate, zip(*parts, strict=True))

    def named(self, keys: NDArray[np.uint64]) -> Iterator[tuple[int, str, Entry, str]]:
        """(place, id, entry, source) of all examples with one of some keys.

        The id is the tag, or a hash of the line without one, with `#2` and so on for duplicates.

        Args:
            keys: ascending.

        Raises:
            DataError: a file has changed since it was scored.
        """
        places, taken, first = iter(np.flatnonzero(np.isin(self.key, keys)).tolist()), Counter[str](), 0
        wanted = next(places, None)
        for source, size in zip(self.pool.sources, self.sizes, strict=True):
            entries = enumerate(source, first)
            while wanted is not None and wanted < first + size:
                found = next((entry for number, entry in entries if number == wanted), None)
                if found is None or _key(_own_id(found.line)) != int(self.key[wanted]):
                    raise DataError(at(source.name, None, None, "changed while it was read"))
                own = _own_id(found.line)
                taken[own] += 1
                yield wanted, own if taken[own] == 1 else f"{own}#{taken[own]}", found, source.name
                wanted = next(places, None)
            first += size

    def asked_before(self, store: "Store") -> NDArray[np.int64]:
        """The places of the examples that were already requested, ascending.

        Raises:
            DataError: a tag that belongs to another line now.
        """
        keys = np.fromiter(_keys(store.ids()), np.uint64)
        keys = np.unique(keys, return_counts=True)[0]  # without counts it imports masked arrays
        if not len(keys):
            return np.empty(0, np.int64)
        found: list[int] = []
        for place, id, entry, source in self.named(keys):
            line = store.line_of(id)
            if line is None:
                continue
            if line != entry.line:
                tag = split_line(entry.line)[1]
                text = f"tag {tag!r} is the id of another line that was requested before, wanted a unique tag"
                raise DataError(at(source, entry.number, 1, text))
            found.append(place)
        return np.array(found, np.int64)


def _own_id(line: str) -> str:
    """The id of a line that comes once."""
    return split_line(line)[1] or hashlib.sha256(line.encode()).hexdigest()[:12]


def _key(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")


def _keys(ids: Iterator[str]) -> Iterator[int]:
    """Keys of the lines that may have these ids."""
    for id in ids:
        yield _key(id)
        own, mark, number = id.rpartition("#")
        if mark and number.isdigit():
            yield _key(own)


def _scored(chain: "Chain", source: Source) -> tuple[Numbers, ...]:
    """Scores, predictions and keys of the examples of a source."""
    entries, found = iter(source), [(np.empty(0), np.empty(0, np.float32), np.empty(0, np.uint64))]
    while lines := [entry.line for entry in islice(entries, BLOCK)]:
        keys = np.fromiter((_key(_own_id(line)) for line in lines), np.uint64, len(lines))
        found.append((*scores_of(chain, lines), keys))
    return tuple(map(np.concatenate, zip(*found, strict=True)))
