"""The words of each topic."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def by_row(names: Mapping[int, Mapping[str, None]], mask: int) -> tuple[NDArray[np.int64], list[str]]:
    """Rows of a table, and the word of each; words of one row count as one.

    Args:
        names: of words, by index.
        mask: that makes an index a row.

    >>> by_row({1: {"a": None}, 5: {"b": None}, 2: {"c": None}}, 3)
    (array([1, 2]), ['a = b', 'c'])
    """
    of_rows: dict[int, dict[str, None]] = {}
    for index, several in names.items():
        of_rows.setdefault(index & mask, {}).update(several)
    return np.fromiter(of_rows, np.int64, len(of_rows)), [" = ".join(several) for several in of_rows.values()]


def heaviest(weights: NDArray[np.float32], words: list[str], count: int) -> Iterator[dict[str, Any]]:
    """The words that have most weight in each topic.

    Args:
        weights: float32 (words, topics).
        words: their names.
        count: words of a topic.

    Yields:
        `topic`, counted from 1; its `share` of the weight of all words in all topics; its `words`, the heaviest first.

    >>> list(heaviest(np.float32([[1, 8], [3, 4]]), ["a", "b"], 1))
    [{'topic': 1, 'share': 0.25, 'words': ['b']}, {'topic': 2, 'share': 0.75, 'words': ['a']}]
    """
    shares = weights.sum(axis=0, dtype=np.float64) / max(weights.sum(dtype=np.float64), 1e-300)
    for k, share in enumerate(shares.tolist()):
        first = np.argsort(-weights[:, k], kind="stable")[:count]
        yield {"topic": k + 1, "share": float(f"{share:.4g}"), "words": [words[i] for i in first]}
