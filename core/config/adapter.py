"""All that Hutch uses of pydantic: one adapter for each class that values are checked against."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from pydantic import TypeAdapter

from hutch.core.errors import PluginError

_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """The pydantic adapter that checks and writes the values of a class.

    Args:
        kind: a dataclass such as a layer's `Parameters`.

    Raises:
        PluginError: it is another class.
    """
    if kind not in _ADAPTERS:
        if not is_dataclass(kind):
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise PluginError(f"{name}: not a dataclass; wanted a subclass of hutch.plugin.Parameters")
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def checked(kind: type[Any], given: Mapping[str, Any]) -> Any:
    """Parameters made of plain values, for chains that are built without YAML.

    Args:
        kind: the class of the parameters.
        given: values by name; tuples may be lists, and a loss is given by its name.

    Raises:
        ValueError: an invalid value, an unknown name or a missing one.
    """
    return adapter(kind).validate_python(given)
