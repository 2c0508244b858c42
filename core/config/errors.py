"""Pydantic's errors in one form: the mistake, got, wanted, and the nearest valid name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, get_args

from pydantic import ValidationError

from hutch.core.chain.registry import Registry
from hutch.core.config.document import shown
from hutch.core.errors import did_you_mean
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import parameters_of

_WANTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "keys with values",
    "dict_type": "keys with values",
    "dataclass_type": "keys with values",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "finite_number": "a finite number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def messages(
    error: ValidationError, kind: type[Any], value: Any, known: Iterable[str] = ()
) -> Iterator[tuple[tuple[str | int, ...], bool, str]]:
    """All mistakes in `value`: path from the value, whether the key is wrong, and the text.

    Args:
        error: raised by pydantic for the value.
        kind: the expected type of the value.
        value: plain values.
        known: further names to suggest at the top, in addition to those of `kind`.
    """
    wanted: dict[tuple[str | int, ...], list[str]] = {}
    for item in error.errors(include_url=False):
        path, got = _follow(value, item["loc"])
        left = item["loc"][len(path) :]
        if item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            names = [*_names(kind, path[:-1]), *(known if len(path) == 1 else ())]
            yield path, True, f"unknown key; {did_you_mean(str(path[-1]), names)}"
        elif item["type"] == "missing":
            yield path, False, f"{str(item['loc'][-1])!r} is missing"
        elif left and isinstance(got, Mapping) and left[0] in _names(kind, path):
            yield path, False, f"the default of {left[0]!r}: got {shown(item['input'])}, wanted {_phrase(item, got)}"
        elif item["type"] in ("value_error", "assertion_error"):
            yield path, False, item["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        else:
            wanted.setdefault(path, []).append(_phrase(item, got))
    for path, phrases in wanted.items():  # a union complains once per member
        yield path, False, f"got {shown(_follow(value, path)[1])}, wanted {' or '.join(dict.fromkeys(phrases))}"


def loss_mistakes(choice: LossChoice, registry: Registry) -> Iterator[tuple[tuple[str, ...], bool, str]]:
    """The mistakes in a loss: path below it, whether the key is wrong, and the text."""
    if choice.name not in registry.losses:
        yield (), False, f"unknown loss {choice.name!r}; {registry.unknown('losses', choice.name)}"
        return
    for name, is_key, text in registry.losses[choice.name].mistakes(choice.parameters):
        yield (choice.name, name), is_key, text


def _phrase(item: Any, got: Any) -> str:
    context = {key: f"{bound:g}" if isinstance(bound, float) else bound for key, bound in item.get("ctx", {}).items()}
    template = _WANTED.get(item["type"])
    if template is None:
        return str(item["msg"]).removeprefix("Input should be ")
    phrase = template.format(**context)
    if "expected" in template and isinstance(got, str):
        names = [name.strip("'") for part in phrase.split(", ") for name in part.split(" or ")]
        near = did_you_mean(got, names)
        phrase += f"; {near}" if near.startswith("did") else ""
    return phrase


def _follow(value: Any, location: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any]:
    """The part of pydantic's location that exists in the value (it also names members of unions), and its value."""
    path: list[str | int] = []
    for part in location:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif part == "parameters" and isinstance(value, Mapping) and len(value) == 1:  # of a loss, below its name
            [(part, value)] = value.items()
        else:
            break
        path.append(part)
    return tuple(path), value


def _names(kind: type[Any], path: tuple[str | int, ...]) -> list[str]:
    """Names of the parameters at `path` below those of `kind`."""
    for part in path:
        for annotation in (each.annotation for each in parameters_of(kind) if each.name == part):
            inner = [t for t in (annotation, *get_args(annotation)) if isinstance(t, type) and is_dataclass(t)]
            if not inner:
                return []
            kind = inner[0]
    return [parameter.name for parameter in parameters_of(kind)]
