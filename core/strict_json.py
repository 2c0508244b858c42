"""JSON as its standard has it: a number that is not finite is null, and a field says which it was."""

import json
import math
from collections.abc import Iterator
from typing import Any

NOT_FINITE = "not_finite"
"""The key under which an object tells of its numbers that are not finite: NaN, Infinity or -Infinity, by their path."""


def dumps(value: Any, **options: Any) -> str:
    """A value as JSON that every reader understands.

    Args:
        value: as `json.dumps` takes it; a list of objects tells of them one by one.
        options: of `json.dumps`.

    >>> dumps({"loss": float("nan"), "rates": [1.0, float("inf")]})
    '{"loss": null, "rates": [1.0, null], "not_finite": {"loss": "NaN", "rates.1": "Infinity"}}'
    """
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_told(value), allow_nan=False, **options)


def _told(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    if not isinstance(value, dict):
        return _finite(value)
    return {**_finite(value), NOT_FINITE: dict(_not_finite(value, ""))} if any(_not_finite(value, "")) else value


def _finite(value: Any) -> Any:
    """The value with null for all that is not finite."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _not_finite(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """What is not finite, and where."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, each in inner:
        yield from _not_finite(each, f"{path}.{key}" if path else str(key))
    if isinstance(value, float) and not math.isfinite(value):
        yield path, json.dumps(value)
