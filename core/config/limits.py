"""Limits on the size of a chain: anything far beyond practical use is refused before it costs time or memory."""

from collections.abc import Mapping
from typing import Any

from hutch.core.config.document import Document, Path, config_path
from hutch.core.errors import ConfigError

MOST_CHARACTERS = 1 << 20
MOST_VALUES = 100_000
DEEPEST = 100
MOST_DIGITS = 100
LONGEST_KEY = 200
MOST_LAYERS = 32


def excess(values: int, depth: int) -> str | None:
    """Message about the limit that is exceeded; None if none is.

    Args:
        values: keys, items and scalars so far.
        depth: lists and mappings around the value at hand.
    """
    if depth > DEEPEST:
        return f"got more than {DEEPEST} levels of lists and mappings, wanted fewer"
    return f"got more than {MOST_VALUES} values, wanted fewer" if values > MOST_VALUES else None


def excess_digits(digits: int) -> str | None:
    """The same for an integer."""
    return f"got an integer of {digits} digits, wanted at most {MOST_DIGITS}" if digits > MOST_DIGITS else None


def check_limits(document: Document) -> None:
    """Refuse a document that is too large, whatever its origin.

    Raises:
        ConfigError: with the place of the excess.
    """
    waiting: list[tuple[Any, Path]] = [(document.value, ())]
    values = 0
    while waiting:
        value, path = waiting.pop()
        values += 1
        text = excess(values, len(path))
        if isinstance(value, int) and text is None:
            text = excess_digits(value.bit_length() * 3 // 10)
        if text:
            place = document.place(path)
            raise ConfigError(place.says(text if place.line else f"{config_path(path[:4])}: {text}"))
        if isinstance(value, Mapping):
            waiting += [(item, (*path, str(key))) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(item, (*path, i)) for i, item in enumerate(value)]
