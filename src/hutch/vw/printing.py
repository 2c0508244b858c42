"""`--print`: each example in one line, its features by index."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, Batch
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.run import Reporter
from hutch.vw.lines import allowed_places, features_of

_FNV, _WORD = 16777619, (1 << 64) - 1
Numbered = tuple[int, float]
"""Index and value of a feature."""


class Print(Reporter):
    """Prints label, importance, initial prediction, tag and features of each example to standard error.

    Args:
        chain: its learner gathers the features.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def line(self, names: dict[int, str], batch: Batch) -> None:
        """Print an example, before it is learned."""
        features_of(self._chain, names, batch)
        for i in range(len(batch)):
            print(f"{self._label(batch, i)}| {''.join(self._features(batch, i))}", file=sys.stderr)

    @staticmethod
    def _label(batch: Batch, i: int) -> str:
        label, importance, base = (float(each[i]) for each in (batch.labels, batch.importance, batch.base))
        tag = f"'{batch.tag(i).decode(errors='replace')}" if batch.tag(i) else ""
        if np.float32(label) == UNLABELED:
            return tag
        more = f"{importance:g} " if importance != 1 or base != 0 else ""
        return f"{label:g} {more}{f'{base:g} ' if base != 0 else ''}{tag}"

    def _features(self, batch: Batch, i: int) -> Iterator[str]:
        """Index and value of each feature before it enters the weight table, and behind them those of interactions."""
        spaces = [_numbered(name, indices, values) for name, indices, values in batch.row(i)]
        base: Any = self._chain.layers[-1]
        found = [feature for space in spaces for feature in space]
        for term in base.gathered()[2]:
            found += _products([spaces[k] for k in term], term, getattr(base.parameters, "permutations", False))
        return (f"{index}{'' if value == 1 else f':{value:g}'} " for index, value in found)


def _numbered(name: int, indices: NDArray[np.uint32], values: NDArray[np.float32]) -> list[Numbered]:
    """The features of a namespace; VW hashes the constant beyond the weight table."""
    known = [CONSTANT_INDEX] if name == CONSTANT_NAMESPACE else indices.tolist()
    return list(zip(known, values.tolist(), strict=True))


def _products(spaces: list[list[Numbered]], term: list[int], permutations: bool) -> Iterator[Numbered]:
    """The products of one term."""
    for places in allowed_places([len(space) for space in spaces], term, permutations):
        (index, value), *rest = (space[place] for space, place in zip(spaces, places, strict=True))
        product = np.float32(value)
        for other, factor in rest:
            index, product = (_FNV * index & _WORD) ^ other, product * np.float32(factor)
        yield index, float(product)
