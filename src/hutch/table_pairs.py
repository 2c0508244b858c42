"""Pairs of columns for `hutch train` on tables, where they foretell rows clearly better than columns alone do."""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from os.path import isfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.data.files import TABLES, ending_of
from hutch.core.data.roles import REST
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.probabilities import Probabilities
from hutch.core.text.hashing import namespace_id

MOST_ROWS = 50_000  # of a trial
"""Rows of a trial at most."""
MOST_PAIRS = 1000
"""Pairs in all classes at most: a row takes about 140 ns for each."""
MOST_BITS = 22
PRIORS: tuple[Mapping[str, float], ...] = ({}, {"precision": 2.0, "partner_variance": 0.5})
"""Of the vectors of `fields`: for labels that follow from names, and for those that are much left to chance."""
_LEAST_ROWS, _HELD = 500, 5  # of a trial, and one row in so many that decides
_SURE = 2.0  # standard errors by which pairs must be better
_LEAST = 1e-15
_LOSSES = ("logistic", "squared")


def clearly_less(losses: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether losses are lower than others of the same rows by more than chance explains.

    >>> others = np.tile([0.5, 0.9], 100)
    >>> clearly_less(others - 0.1, others), clearly_less(others[::-1], others)
    (True, False)
    """
    gain = others - losses
    return bool(gain.mean() > _SURE * gain.std() / math.sqrt(len(gain)))


def with_or_without_pairs(chain: Chain, data: list[str], kind: str | None) -> tuple[Chain, str]:
    """The chain by which to learn from tables: one linear layer as given, or `fields` in its place.

    They learn the first rows, each of which they predict before, and so does `fields` without pairs; the last fifth of
    these predictions decides.

    Args:
        chain: without `fields`; it has learned nothing, and is given back unless pairs are better.
        data: files.
        kind: that of the files, if their names do not tell.

    Returns:
        The chain, and a sentence about the pairs; none where columns are learned alone.
    """
    config = chain.config.to_dict()
    loss = _loss_of_plain(config)
    tables = data and all((f".{kind}" if kind else ending_of(each)) in TABLES and isfile(each) for each in data)
    columns = config["input"]["columns"]
    if loss is None or not tables or columns["namespaces"] is not None or columns["text"]:
        return chain, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run gives them, too
        alone = Chain.from_config(config)
        before = _losses(alone, _first(alone, data, kind))
        names, held = list(alone.watch.known), len(before) // _HELD
        words = _columns_of_words(config, names, data, kind) if len(before) >= _LEAST_ROWS else []
        numbers = len(words) < len(names)
        copies = config["chain"][0].get("one_against_all", {}).get("classes", 1)
        pairs = math.comb(len(words) + numbers, 2) * copies if words else 0
        if not 0 < pairs <= MOST_PAIRS:
            return chain, ""
        met = np.count_nonzero(alone.weights[:, 0])
        bits = max(config["weights"]["bits"], math.ceil(math.log2(4 * met * (len(words) + 1))))
        chains = [
            _paired(config, words, numbers, min(bits, MOST_BITS), {"loss": loss, **prior})
            for prior in ({"rank": 0}, *(PRIORS if loss == "logistic" else PRIORS[:1]))
        ]
        one_by_one, *tried = [_losses_of(each, data, kind)[-held:] for each in chains]
    best = int(np.argmin([losses.mean() for losses in tried]))
    rival = min(before[-held:], one_by_one, key=np.mean)
    if not clearly_less(tried[best], rival):
        return chain, ""
    found = f"a loss of {tried[best].mean():.3g} with them, {rival.mean():.3g} without"
    said = f"pairs of columns are learned, by `fields`: {found}, on {held:,} rows before they were learned"
    return Chain.from_config(chains[1 + best]), said


def _loss_of_plain(config: Mapping[str, Any]) -> str | None:
    """The loss of a chain of one linear layer as it is by default, alone or below `one_against_all`; None of others."""
    *above, base = config["chain"]
    loss = base.get("linear", {}).get("loss")
    if loss not in _LOSSES or [next(iter(layer)) for layer in above] not in ([], ["one_against_all"]):
        return None
    plain = Chain.from_config({"chain": [{"linear": {"loss": loss}}]}).config.to_dict()["chain"]
    return loss if base == plain[0] else None


def _columns_of_words(config: Mapping[str, Any], names: list[str], data: list[str], kind: str | None) -> list[str]:
    """Which columns of features have words alone: no numbers, dates or lists."""
    chain = Chain.from_config(_divided(config, {name: [name] for name in names}))
    ids = np.array([namespace_id(name, chain.parser.namespaces) for name in names], np.uint32)
    [row] = chain.batches([dict.fromkeys(names, 1.0)])
    numbers = dict(zip(ids.tolist(), row.indices.tolist(), strict=False))  # the features that numbers are
    others: set[int] = set()
    for batch in _first(chain, data, kind):
        space = np.repeat(batch.namespace_id, np.diff(batch.namespace_ptr))
        others |= set(np.unique(space[batch.values != 1]).tolist())
        for each, index in numbers.items():
            if each not in others and np.any(batch.indices[space == each] == index):
                others.add(each)
    return [name for name, each in zip(names, ids.tolist(), strict=True) if each not in others]


def _divided(config: Mapping[str, Any], spaces: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with columns divided into namespaces."""
    given = config["input"]
    return {**config, "input": {**given, "columns": {**given["columns"], "namespaces": dict(spaces)}}}


def _paired(
    config: Mapping[str, Any], words: list[str], numbers: bool, bits: int, parameters: Mapping[str, float | str]
) -> dict[str, Any]:
    """The configuration with `fields` as base learner, a namespace for each column of words, and one for numbers."""
    above = config["chain"][:-1]
    scaled = [{"standardise": {"namespaces": [""], "columns": 1 << 12}}] if numbers else []
    spaces = {name: [name] for name in words} | ({"": REST} if numbers else {})
    return {
        **_divided(config, spaces),
        "weights": {"bits": bits},
        "chain": [*scaled, *above, {"fields": dict(parameters)}],
    }


def _losses_of(config: Mapping[str, Any], data: list[str], kind: str | None) -> NDArray[np.float64]:
    """The losses of the first rows under a configuration."""
    chain = Chain.from_config(config)
    return _losses(chain, _first(chain, data, kind))


def _losses(chain: Chain, batches: Iterable[Batch]) -> NDArray[np.float64]:
    """The loss of each row before it is learned: of classes the log-loss, else the chain's."""
    found = [np.zeros(0)]
    for batch in batches:
        outputs, _ = chain.run_batch(batch, scores=bool(chain.score_count))
        losses = outputs.losses.astype(np.float64)
        if chain.score_count:
            known = Probabilities(chain)
            code = np.clip(batch.labels - known.labels[0], 0, chain.score_count - 1).astype(np.int64)
            losses = -np.log(np.maximum(known.of(outputs)[np.arange(len(batch)), code], _LEAST)) * batch.importance
        found.append(losses[batch.labels != UNLABELED])
    return np.concatenate(found)


def _first(chain: Chain, data: list[str], kind: str | None) -> Iterator[Batch]:
    """The first rows of the data."""
    rows = 0
    for batch in chain.files(data, kind=kind):
        yield batch
        rows += len(batch)
        if rows >= MOST_ROWS:
            return
