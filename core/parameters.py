"""The parameters of layers and models: frozen dataclasses whose annotations define the valid values.

This module does not import pydantic. `hutch.core.config.adapter` checks values against the annotations where some are
given.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, dataclass_transform, get_type_hints


@dataclass_transform(kw_only_default=True, frozen_default=True)
@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of the parameters of a layer; a subclass is a frozen dataclass whose arguments are given by name.

    Values are checked against the annotations; unknown keys and numbers that are not finite are errors. Checks beyond
    annotations belong in `__post_init__`, which raises a ValueError. The docstring explains each parameter
    below `Attributes:`.

    >>> from typing import Annotated
    >>> class TreeParameters(Parameters):
    ...     classes: Annotated[int, Within(ge=2)]
    >>> TreeParameters(classes=5)
    TreeParameters(classes=5)
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid", "allow_inf_nan": False, "validate_default": True}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        typed = inspect.get_annotations(cls)
        for name, value in vars(cls).items():
            given = not (name.startswith("_") or callable(value) or hasattr(value, "__get__"))
            if given and name not in typed:
                raise TypeError(
                    f"{cls.__name__}.{name}: a parameter needs a type, as in {name}: {type(value).__name__}"
                )
        written = cls.__doc__
        dataclass(frozen=True, kw_only=True)(cls)
        cls.__doc__ = written  # a dataclass without one would get its signature

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["description"] = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
        for name, meaning in meanings(cls).items():
            schema["properties"].get(name, {}).setdefault("description", meaning)
        return schema


_MOST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Bounds of a parameter: `Annotated[int, Within(ge=2)]`.

    Attributes:
        gt, ge, lt, le: a number is more than, at least, less than or at most this; an integer without an upper bound is
            at most 2^62, so that kernels can count to it.
        min_length, max_length: of a text, a list or a mapping.
    """

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        schema = handler(source)
        bounds = {name: bound for name in self.__slots__ if (bound := getattr(self, name)) is not None}
        inner = schema["schema"] if schema["type"] == "nullable" else schema
        if inner["type"] == "int" and self.lt is None and self.le is None:
            bounds["le"] = _MOST
        return {**schema, "schema": {**inner, **bounds}} if inner is not schema else {**schema, **bounds}


@dataclass(frozen=True, slots=True)
class ExampleValue:
    """A valid value of a parameter without a default: `Annotated[str, ExampleValue("words")]`, for checks and editors.

    Attributes:
        value: as YAML would give it.
    """

    value: Any

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        return {**handler(core_schema), "examples": [self.value]}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as its class declares it.

    Attributes:
        name: the key in YAML.
        annotation: its type, without bounds.
        required: whether it has no default.
        default: its value if none is given; None if it is required.
        meaning: its description in the docstring; empty without one.
        examples: valid values, if any are declared.
    """

    name: str
    annotation: Any
    required: bool
    default: Any
    meaning: str
    examples: tuple[Any, ...] = ()


def parameters_of(kind: type[Any]) -> list[Parameter]:
    """The parameters that a class declares, in order.

    Args:
        kind: a dataclass.
    """
    told = meanings(kind)
    plain, full = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        metadata = getattr(full[field.name], "__metadata__", ())
        examples = tuple(each.value for each in metadata if isinstance(each, ExampleValue))
        required = default is MISSING
        found.append(
            Parameter(
                field.name,
                plain[field.name],
                required,
                None if required else default,
                told.get(field.name, ""),
                examples,
            )
        )
    return found


def values_of(parameters: Any) -> dict[str, Any]:
    """The values of a layer's parameters by name."""
    return {field.name: getattr(parameters, field.name) for field in fields(parameters)}


def meanings(kind: type[Any]) -> dict[str, str]:
    """Descriptions by name, from `Attributes:` of a class and its bases; several names may share a line.

    >>> meanings(Within)["max_length"]
    'of a text, a list or a mapping.'
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        names: list[str] = []
        for line in inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2].splitlines():
            start = re.match(r" {4}(\w+(?:, \w+)*): (.*)", line)
            if not line.strip() and names:
                break
            if start:
                names = start[1].split(", ")
                found.update(dict.fromkeys(names, start[2].strip()))
            else:
                found.update({name: f"{found[name]} {line.strip()}".strip() for name in names})
    return found
