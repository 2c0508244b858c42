"""True classes of tasks, as `hutch crowd` checks them against the labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hutch.core.errors import DataError, at, did_you_mean

if TYPE_CHECKING:
    from hutch.crowd.data.labels import Labels


def true_classes(labels: Labels, truth: dict[str, str]) -> Any:
    """True classes by item, -1 where they are not known or no class of the labels."""
    import numpy as np

    codes = {name: code for code, name in enumerate(labels.classes)}
    return np.array([codes.get(truth.get(name, ""), -1) for name in labels.item_names], np.int32)


def check_classes(
    path: str, truth: dict[str, str], labels: Labels, known: list[str], notice: Callable[[str], None]
) -> None:
    """Look for classes that no label has: they are refused if they look like a misspelling, else reported.

    Raises:
        DataError: with the line of the first.
    """
    used = {labels.classes[code] for code in set(labels.labels.tolist())} | set(known)
    for name in dict.fromkeys(truth.values()):
        if name in used or not used:
            continue
        near = did_you_mean(name, used)
        text = at(path, _line_of(path, name), None, f"got the class {name!r}, which no label has")
        if near.startswith("did"):
            raise DataError(f"{text}; {near} If not, name all classes with --classes")
        notice(text)


def _line_of(path: str, name: str) -> int | None:
    """The first line of a separated text with a field of that name."""
    from hutch.core.data.chunks import read_chunks

    number = 0
    for chunk in read_chunks([path]) if path != "-" else ():
        for line in bytes(chunk.data).decode(errors="replace").splitlines():
            number += 1
            if name in (field.strip('"') for field in line.replace("\t", ",").split(",")):
                return number
    return None
