"""`--set path=value`: one value of a chain set from outside its file."""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Self

from hutch.core.config.document import Document, Place, shown
from hutch.core.config.limits import MOST_DIGITS
from hutch.core.errors import ConfigError, did_you_mean

_NESTED_OR_ESCAPED = frozenset("[{\\")
_POSITION = re.compile("[0-9]{1,9}")
_SHOWN = 200


class OptionOverride(str):
    """A `path=value` that an option of a command sets; messages name the option.

    Args:
        override: the path and the value.
        option: as users write it, such as `--learning_rate`.
    """

    option: str

    def __new__(cls, override: str, option: str) -> Self:
        made = super().__new__(cls, override)
        made.option = option
        return made


def layer_name(entry: Any) -> str | None:
    """Name of the layer that an item of `chain:` describes; None if it is malformed."""
    name = next(iter(entry)) if isinstance(entry, dict) and len(entry) == 1 else entry
    return name if isinstance(name, str) else None


def apply_override(document: Document, override: str, sections: Collection[str]) -> None:
    """Set one value of a chain.

    Args:
        document: the chain; changed in place.
        override: `path=value`; the path starts at the top (`weights.bits`, `chain.1.dyadic.rank`) or at the name of a
            layer that stands in the chain once (`dyadic.rank`); the value is YAML.
        sections: the keys at the top.

    Raises:
        ConfigError: no value, a value that is not YAML, or a path that leads nowhere.

    >>> from hutch.core.config import yaml as config_yaml
    >>> document = config_yaml.read("chain: [linear]", "chain.yaml")
    >>> apply_override(document, "linear.learning_rate=1e-2", ["chain"])
    >>> document.value
    {'chain': [{'linear': {'learning_rate': 0.01}}]}
    """
    path_text, equals, value = override.partition("=")
    said = override.option if isinstance(override, OptionOverride) else override
    place = Place(said if len(said) <= _SHOWN else f"{said[:_SHOWN]}...")
    parts = [part for part in re.split(r"[.\[\]]+", path_text.strip()) if part]
    if not equals or not parts:
        raise ConfigError(place.says("got no path=value, wanted one such as weights.bits=20"))
    layers = document.value.get("chain")
    names = [layer_name(entry) for entry in layers] if isinstance(layers, list) else []
    if parts[0] in sections:
        path: list[str | int] = [int(part) if _POSITION.fullmatch(part) else part for part in parts]
    elif names.count(parts[0]) == 1:
        path = ["chain", names.index(parts[0]), *parts]
    elif parts[0] in names:
        choices = " or ".join(f"chain.{i}.{parts[0]}" for i, name in enumerate(names) if name == parts[0])
        raise ConfigError(place.says(f"{parts[0]!r} appears more than once in the chain; write {choices}"))
    else:
        near = did_you_mean(parts[0], [*sections, *(name for name in names if name)])
        raise ConfigError(place.says(f"unknown path {shown(parts[0])}; {near}"))
    new = _value(value, place)
    _put(document.value, path, new, place)
    document.written_at(tuple(path), place)


def _value(text: str, place: Place) -> Any:
    """A YAML value; values that JSON writes in the same way are read without importing the YAML reader."""
    if len(text) <= MOST_DIGITS and text.isascii() and text.isprintable() and not _NESTED_OR_ESCAPED & set(text):
        with suppress(ValueError):
            return json.loads(text, parse_constant=_refuse)
    from hutch.core.config.yaml import TooMuch, read

    try:
        return read(text, place.source).value
    except TooMuch:
        raise
    except ConfigError:
        raise ConfigError(place.says(f"got {shown(text)}, wanted a YAML value")) from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in YAML")


def _put(value: Any, path: list[str | int], new: Any, place: Place) -> None:
    """Set the value at `path`, creating the mappings on the way."""
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(value, list):
            if not isinstance(part, int) or part >= len(value):
                raise ConfigError(
                    place.says(f"got {shown(part)}, wanted a position below {len(value)}, counted from 0")
                )
            if path[0] == "chain" and depth == 1 and not last:
                name = layer_name(value[part])
                if name is not None and path[2] != name:
                    raise ConfigError(place.says(f"chain[{part}] is {name!r}, got {shown(path[2])}"))
                if isinstance(value[part], str):
                    value[part] = {name: {}}
        elif not isinstance(value, dict) or isinstance(part, int):
            raise ConfigError(place.says(f"got {shown(part)}, but what is above it, {shown(value)}, has no such key"))
        elif not last and value.get(part) is None:
            value[part] = {}
        if last:
            value[part] = new
        else:
            value = value[part]
