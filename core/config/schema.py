"""JSON Schema of a chain, for editors that complete and check YAML."""

import math
from typing import Any, Literal

from pydantic import TypeAdapter

from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import adapter
from hutch.core.config.sections import Frame
from hutch.core.loss.losses import LossParameter

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(registry: Registry) -> dict[str, Any]:
    """The JSON Schema of every chain that can be built from the installed reductions.

    Save it and begin a chain with `# yaml-language-server: $schema=chain.schema.json`.
    """
    mode: Literal["validation"] = "validation"
    kinds: dict[str, type[Any]] = {
        name: reduction.Parameters for name, reduction in sorted(registry.reductions.items())
    }
    wanted = [(name, mode, adapter(kind)) for name, kind in [("", Frame), *kinds.items()]]
    references, definitions = TypeAdapter.json_schemas(wanted, ref_template="#/$defs/{model}")
    shared = definitions.get("$defs", {})
    frame = shared.pop(references["", mode]["$ref"].rpartition("/")[2])
    if "LossChoice" in shared:
        shared["LossChoice"] = _losses(registry)
    layers: list[dict[str, Any]] = []
    for name in kinds:
        layers += [{"const": name}, _only_key(name, {"anyOf": [references[name, mode], {"type": "null"}]})]
    chain = {"type": "array", "minItems": 1, "items": {"anyOf": layers}, "description": "the layers, from top to base"}
    return {
        "$schema": _DIALECT,
        "title": "A chain of Hutch",
        "type": "object",
        "properties": {**frame["properties"], "chain": chain},
        "required": ["chain"],
        "additionalProperties": False,
        "$defs": shared,
    }


def _losses(registry: Registry) -> dict[str, Any]:
    """A loss by name, or with its parameters below the name."""
    choices: list[dict[str, Any]] = [{"enum": sorted(registry.losses)}]
    for name, loss in sorted(registry.losses.items()):
        numbers = {parameter.name: _number(parameter) for parameter in loss.parameters}
        parameters = {"type": "object", "properties": numbers, "additionalProperties": False}
        choices.append(_only_key(name, parameters))
    return {"title": "Loss", "description": "the name of a loss, or the name with its parameters", "anyOf": choices}


def _only_key(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}


def _number(parameter: LossParameter) -> dict[str, Any]:
    limits = {"exclusiveMinimum": parameter.low, "exclusiveMaximum": parameter.high}
    finite = {key: limit for key, limit in limits.items() if math.isfinite(limit)}
    return {"type": "number", "default": parameter.default, **finite}
