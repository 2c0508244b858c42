"""Labels that are more than a number: several classes, costs by class, a choice with its cost."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.assemble import HIGHEST_CLASS, WANTED, is_number
from hutch.core.data.logged_number import logged_number
from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import LabelKind

Wrong = Callable[[int, str], DataError]
"""The error about the value at a place."""
_CHOICE = ("class", "cost", "probability")


def label_lists(kind: LabelKind, given: Sequence[Any], wrong: Wrong, alone: bool = False) -> dict[str, NDArray[Any]]:
    """The columns of a batch that hold the labels.

    Args:
        kind: of the labels, one of `WANTED`.
        given: a value per example: classes, as a list or as the text `0,2`; costs by class; or a mapping with class or
            number, cost, and probability or density; each of them also as JSON. None, NaN and an empty text are no
            label.
        wrong: makes the error about a value that cannot be used.
        alone: a choice needs no probability; whatever it is, 1 stands for it.

    Raises:
        DataError: what `wrong` makes.

    >>> label_lists("multilabel", [[0, 2], "1", None], lambda i, text: DataError(text))["cost_classes"]
    array([0, 2, 1], dtype=uint32)
    """
    values = [_value(each) for each in given]
    if alone and kind == "logged_class":
        values = [{**value, "probability": 1.0} if isinstance(value, Mapping) else value for value in values]
    if kind in _READ:
        return _READ[kind](values, wrong)
    for i, value in enumerate(values):
        if value is not None:
            raise wrong(i, f"got {value!r:.60}, wanted {WANTED[kind]}")
    return {}


def _value(given: Any) -> Any:
    """A label as an object, None if it is missing."""
    if isinstance(given, float) and given != given:
        return None
    if isinstance(given, str) and given.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(given)
        except ValueError:
            return given  # it is refused, as it stands
    return None if isinstance(given, str) and not given.strip() else given


def _classes(
    given: list[Any], wrong: Wrong, kind: LabelKind = "multilabel", in_order: bool = True
) -> dict[str, NDArray[Any]]:
    """Lists of classes, each once and in ascending order; or of whole numbers as they are, if not `in_order`."""
    rows = []
    for i, value in enumerate(given):
        parts = value.split(",") if isinstance(value, str) else [] if value is None else value
        listed = parts if isinstance(parts, list | tuple | set | frozenset | np.ndarray) else [parts]
        classes = [int(each) if isinstance(each, str) and each.strip().isdecimal() else each for each in listed]
        if not all(map(_is_class, classes)):
            raise wrong(i, f"got {value!r:.60}, wanted {WANTED[kind]}")
        numbers = [int(each) for each in classes]
        rows.append([(each, 0.0) for each in (sorted(set(numbers)) if in_order else numbers)])
    return _as_costs(rows)


def _costs(given: list[Any], wrong: Wrong) -> dict[str, NDArray[Any]]:
    """Costs by class."""
    rows = []
    for i, value in enumerate(given):
        if value is not None and not isinstance(value, Mapping):
            raise wrong(i, f"got {value!r:.60}, wanted {WANTED['cost_sensitive']}")
        row = []
        for name, cost in (value or {}).items():
            label = int(name) if isinstance(name, str) and name.isdecimal() and len(name) < 10 else name
            if not _is_class(label) or not (cost is None or is_number(cost)):
                got = f"got {name!r:.60}: {cost!r:.60}"
                raise wrong(i, f"{got}, wanted a class, an integer from 0 to {HIGHEST_CLASS}, and its cost")
            row.append((int(label), float(UNLABELED) if cost is None else float(cost)))
        rows.append(row)
    return _as_costs(rows)


def _choices(given: list[Any], wrong: Wrong) -> dict[str, NDArray[Any]]:
    """Classes that were chosen, with costs and probabilities."""
    found: list[tuple[Any, ...]] = []
    cost_ptr = np.zeros(len(given) + 1, np.int64)
    for i, value in enumerate(given):
        if value is not None:
            values: list[Any] = [value.get(name) for name in _CHOICE] if isinstance(value, Mapping) else []
            good = len(values) == 3 and _is_class(values[0]) and all(map(is_number, values))
            if not good or not 0 < np.float32(values[2]) <= 1:
                raise wrong(i, f"got {value!r:.90}, wanted {WANTED['logged_class']}")
            found.append(tuple(values))
        cost_ptr[i + 1] = len(found)
    classes, costs, probabilities = zip(*found, strict=True) if found else ((), (), ())
    return {
        "cost_ptr": cost_ptr,
        "cost_classes": np.array(classes, np.uint32),
        "costs": np.array(costs, np.float32),
        "probabilities": np.array(probabilities, np.float32),
    }


def _logged_numbers(given: list[Any], wrong: Wrong) -> dict[str, NDArray[Any]]:
    """Numbers that were chosen, with costs and densities, which become two costs each."""
    labels, found = np.full(len(given), UNLABELED), list[float]()
    cost_ptr = np.zeros(len(given) + 1, np.int64)
    for i, value in enumerate(given):
        if value is not None:
            if (choice := logged_number(value)) is None:
                raise wrong(i, f"got {value!r:.90}, wanted {WANTED['logged_number']}")
            labels[i] = choice[0]
            found += choice[1:]
        cost_ptr[i + 1] = len(found)
    return {
        "labels": labels,
        "cost_ptr": cost_ptr,
        "cost_classes": np.zeros(len(found), np.uint32),
        "costs": np.array(found, np.float32),
        "probabilities": np.zeros(len(found), np.float32),
    }


_READ: dict[LabelKind, Callable[[list[Any], Wrong], dict[str, NDArray[Any]]]] = {
    "multilabel": _classes,
    "numbers_of_lines": partial(_classes, kind="numbers_of_lines", in_order=False),
    "cost_sensitive": _costs,
    "logged_class": _choices,
    "logged_number": _logged_numbers,
}


def _as_costs(rows: list[list[tuple[int, float]]]) -> dict[str, NDArray[Any]]:
    """The columns of classes and costs, a list of these for each row; the label is the class that costs least."""
    labels = np.full(len(rows), UNLABELED)
    for i, row in enumerate(rows):
        if known := [pair for pair in row if pair[1] != UNLABELED]:
            labels[i] = min(known, key=lambda pair: pair[1])[0]
    pairs = [pair for row in rows for pair in row]
    return {
        "labels": labels,
        "cost_ptr": np.cumsum([0, *map(len, rows)]),
        "cost_classes": np.array([name for name, _ in pairs], np.uint32),
        "costs": np.array([cost for _, cost in pairs], np.float32),
    }


def _is_class(value: Any) -> bool:
    return is_number(value) and 0 <= value <= HIGHEST_CLASS and int(value) == value
