"""Chains that were checked before, on disk: starting with the same chain again takes no pydantic.

A file's name is a hash of all that the check depends on: the chain as it is written, every source of Hutch that has a
part in the check, and the versions of pydantic and Python. Chains with a plugin's layer are not kept, nor is any chain
while a plugin's loss is registered. A file holds a checksum and the chain as JSON; the annotations of the parameters
say how to read it.
"""

import hashlib
import json
import os
import sys
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hutch.core.atomic import write_bytes
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.document import Document
from hutch.core.config.override import layer_name
from hutch.core.config.sections import Frame
from hutch.core.errors import HutchError
from hutch.core.kernel.cache import source_digest
from hutch.core.kernel.home import cache_directory, distrust_reason, make
from hutch.core.kernel.object_store import version_source
from hutch.core.loss.losses import LossChoice

_KEPT = 200
"""How many files a directory keeps: the newest."""


def place(document: Document, registry: Registry) -> Path | None:
    """The file that keeps a chain; None for a chain that is not kept."""
    layers = document.value.get("chain")
    names = [layer_name(layer) for layer in layers] if isinstance(layers, list) else []
    if not names or not all(name in registry.reductions for name in names):
        return None
    origins = [origin for (kind, name), origin in registry.origins.items() if kind == "losses" or name in names]
    if not all(origin.startswith("hutch.") for origin in origins):
        return None
    reductions = [registry.reductions[str(name)] for name in names]
    parameters = [reduction.Parameters for reduction in reductions]
    modules = ["hutch.core.config.check", *(kind.__module__ for kind in (*reductions, *parameters))]
    sources = [found.origin or "" if (found := find_spec(module)) else "" for module in dict.fromkeys(modules)]
    if not all(source.endswith(".py") and os.path.isfile(source) for source in sources):  # in an archive
        return None
    try:
        written = json.dumps(document.value).encode()
    except (TypeError, ValueError, RecursionError):  # whatever somebody put into a mapping
        return None
    digest = hashlib.sha256(f"{sys.version} {version_source('pydantic', 'version.py')}".encode())
    for source in sources:
        digest.update(source_digest(os.path.realpath(source)).encode())
    digest.update(written)
    return cache_directory("chains") / digest.hexdigest()[:32]


def load(place: Path, registry: Registry) -> ChainConfig | None:
    """The chain kept in a file; None if there is none, or it is damaged, or others can write to it."""
    try:
        digest, _, kept = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    if digest != _digest(kept) or distrust_reason(place):
        return None
    full, given = json.loads(kept)
    frame: Frame = _built(Frame, {name: value for name, value in full.items() if name != "chain"})
    layers = []
    for entry in full["chain"]:
        name, values = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
        layers.append(LayerConfig(name, _built(registry.reductions[name].Parameters, values)))
    return ChainConfig(frame.weights, frame.input, frame.seed, frame.plugins, tuple(layers), (full, given))


def _built(kind: Any, value: Any) -> Any:
    """Turn JSON back into a value of a type, without checking it again."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _built(next(each for each in inner if _may_be(each, value)), value)
    if kind is LossChoice:
        return LossChoice.of(value)
    if is_dataclass(kind) and isinstance(kind, type):
        kinds = typing.get_type_hints(kind)
        return kind(**{name: _built(kinds[name], item) for name, item in value.items()})
    if origin is tuple:
        kinds_of_items = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return tuple(_built(each, item) for each, item in zip(kinds_of_items, value, strict=True))
    if origin in (dict, Mapping):
        return {key: _built(inner[1], item) for key, item in value.items()}
    return float(value) if kind is float else value


def _may_be(kind: Any, value: Any) -> bool:
    """Whether this JSON can stand for a value of a type, one of several in a union."""
    origin = typing.get_origin(kind) or kind
    if isinstance(value, dict):
        return is_dataclass(origin) or origin in (dict, Mapping)
    if isinstance(value, list):
        return origin in (tuple, list)
    if origin is typing.Literal:
        return value in typing.get_args(kind)
    return isinstance(value, (int, float) if origin is float else origin)


def save(place: Path, config: ChainConfig) -> None:
    """Keep a chain, and drop what is oldest beside it; a full disk is not an error."""
    kept = json.dumps(config.written).encode()
    with suppress(OSError, HutchError):
        make(place.parent)
        write_bytes(place, _digest(kept) + b"\n" + kept, private=True)
        oldest_first = sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in oldest_first[:-_KEPT]:
            old.unlink(missing_ok=True)


def _digest(kept: bytes) -> bytes:
    return hashlib.sha256(kept).hexdigest().encode()
