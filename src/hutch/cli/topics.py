"""The words of each topic, for `hutch inspect`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hutch.core.chain.capabilities import FindsTopics, has
from hutch.core.errors import UsageError


def check_topics(chain: Any, data: str | None) -> None:
    """Check that a chain has topics, and that there are data with their words.

    Raises:
        UsageError: one of them is missing.
    """
    base = chain.layers[-1]
    if not has(base, FindsTopics):
        raise UsageError(f"--top: got a model of {base.name}, which has no topics")
    if data is None:
        raise UsageError("--top: the model has no names of words: wanted --invert-hash DATA with it, which has")


def top_words(chain: Any, names: Mapping[int, Mapping[str, None]], count: int) -> Iterator[dict[str, Any]]:
    """The words that have most weight in each topic.

    Args:
        chain: on a learner of topics.
        names: of words, by index; words of one row count as one.
        count: words of a topic.

    Yields:
        `topic`, counted from 1; its `share` of the weight of all words in all topics; its `words`, the heaviest first.
    """
    mask = np.int64(chain.shared[0]["mask"])
    of_rows: dict[int, dict[str, None]] = {}
    for index, several in names.items():
        of_rows.setdefault(index & int(mask), {}).update(several)
    rows = np.fromiter(of_rows, np.int64, len(of_rows))
    texts = [" = ".join(several) for several in of_rows.values()]
    weights = chain.layers[-1].topic_weights(chain.weights[rows])
    shares = weights.sum(axis=0, dtype=np.float64) / max(weights.sum(dtype=np.float64), 1e-300)
    for k, share in enumerate(shares.tolist()):
        first = np.argsort(-weights[:, k], kind="stable")[:count]
        yield {"topic": k + 1, "share": float(f"{share:.4g}"), "words": [texts[i] for i in first]}
