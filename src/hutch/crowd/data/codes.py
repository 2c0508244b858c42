"""Names as integer codes, in the order of their first appearance."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def coded(rows: Iterable[Sequence[str]], width: int) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Rows of so many names as codes (rows, width), and the names in the order of their first appearance."""
    names: list[dict[str, int]] = [{} for _ in range(width)]
    codes = [known.setdefault(name, len(known)) for row in rows for known, name in zip(names, row, strict=True)]
    return np.array(codes, np.int32).reshape(-1, width), [list(known) for known in names]


def used_names(
    rows: NDArray[np.int32], names: Sequence[Sequence[str]]
) -> tuple[NDArray[np.int32], list[Sequence[str]]]:
    """Coded rows with only the names that they use, in the order of their first appearance."""
    codes = np.empty_like(rows)
    kept: list[Sequence[str]] = []
    for role, known in enumerate(names):
        used, first, inverse = np.unique(rows[:, role], return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        codes[:, role] = rank[inverse]
        kept.append([known[code] for code in used[np.argsort(first)].tolist()])
    return codes, kept


def known_first(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """The known names unchanged, then the others in their order."""
    return list(dict.fromkeys([*known, *names]))


def recoded(codes: NDArray[np.int32], names: Sequence[str], order: Sequence[str]) -> NDArray[np.int32]:
    """Codes into `names` as codes into `order`."""
    place = {name: code for code, name in enumerate(order)}
    return np.array([place[name] for name in names], np.int32)[codes] if len(codes) else np.zeros(0, np.int32)
