"""Chains that were checked before, on disk: who starts with the same chain again need not import pydantic.

A file's name is a hash of all that the check depends on: the chain as it is written, every source of Hutch that has a
part in the check, and the versions of pydantic and Python. Kept are chains of layers that take plain values
(`hutch.core.chain.reduction.DefinedIn`), and only while nothing but what comes with Hutch is registered.
"""

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hutch.core.atomic import write_bytes
from hutch.core.chain.registry import Registry
from hutch.core.config.document import Document
from hutch.core.config.override import layer_name
from hutch.core.errors import HutchError
from hutch.core.kernel.cache import cache_home, source_digest
from hutch.core.kernel.object_store import version_source

if TYPE_CHECKING:
    from hutch.core.config.read import ChainConfig

_KEPT = 200
"""So many chains are kept, those that were checked last."""


def place(document: Document, registry: Registry) -> Path | None:
    """The file of a chain; None for one that is not kept."""
    layers = document.value.get("chain")
    names = [layer_name(layer) for layer in layers] if isinstance(layers, list) else []
    if not names or not all(name in registry.reductions for name in names):
        return None
    if not all(origin.startswith("hutch.") for origin in registry.origins.values()):
        return None
    reductions = [registry.reductions[str(name)] for name in names]
    modules = ["hutch.core.config.check"]
    for reduction in reductions:
        defined_in = reduction.parameters_module()
        if defined_in is None:
            return None
        modules += [reduction.__module__, defined_in]
    sources = [found.origin or "" if (found := find_spec(module)) else "" for module in modules]
    if not all(source.endswith(".py") and os.path.isfile(source) for source in sources):  # in an archive
        return None
    try:
        written = pickle.dumps(document.value)
    except (TypeError, AttributeError, pickle.PicklingError):  # whatever somebody put into a mapping
        return None
    digest = hashlib.sha256(f"{sys.version} {version_source('pydantic', 'version.py')}".encode())
    for source in sources:
        digest.update(source_digest(os.path.realpath(source)).encode())
    digest.update(written)
    return cache_home() / "chains" / digest.hexdigest()[:32]


def load(place: Path) -> "ChainConfig | None":
    """The chain that was kept in a file; None if there is none, or it is damaged."""
    try:
        digest, _, kept = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    if digest != _digest(kept):
        return None
    found: ChainConfig = pickle.loads(kept)
    return found


def save(place: Path, config: "ChainConfig") -> None:
    """Keep a chain, and no more than the last ones; a full disk is no error."""
    kept = pickle.dumps(config)
    with suppress(OSError, HutchError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, _digest(kept) + b"\n" + kept)
        oldest_first = sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in oldest_first[:-_KEPT]:
            old.unlink(missing_ok=True)


def _digest(kept: bytes) -> bytes:
    return hashlib.sha256(kept).hexdigest().encode()
