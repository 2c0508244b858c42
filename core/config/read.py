"""A chain from YAML: read, overridden, checked against the installed plugins, written back.

weights: {bits: 18}
chain:
  - filter_tree: {classes: 5}
  - linear: {loss: hinge}
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hutch.core.chain.registry import Registry
from hutch.core.config.chain_config import ChainConfig
from hutch.core.config.document import Document, shown
from hutch.core.config.limits import MOST_CHARACTERS, check_limits
from hutch.core.config.override import apply_override
from hutch.core.config.sections import SECTIONS
from hutch.core.errors import ConfigError, at

_MOST_BYTES = 4 * MOST_CHARACTERS


def read_chain(source: str | Path | Mapping[str, Any], overrides: Iterable[str] = ()) -> Document:
    """Read a chain without checking it yet.

    Args:
        source: path of a YAML file; the YAML itself, if it holds a line break or a colon and names no file; or a
            mapping.
        overrides: `path=value` each: `chain.1.dyadic.rank=3`, `dyadic.rank=3` or `weights.bits=20`; YAML values.

    Raises:
        ConfigError: no such file, not YAML, or an override whose path leads nowhere; with the place.
    """
    if isinstance(source, Mapping):
        check_limits(Document(source, ""))  # first, since values nested too deeply cannot be copied
        document = Document(copy.deepcopy(dict(source)), "")
    elif isinstance(source, str | Path):
        from hutch.core.config.yaml import read  # not at the top: a mapping needs no YAML

        whole = isinstance(source, str) and _is_yaml(source)
        document = read(str(source), "<chain>") if whole else read(_text(Path(source)), str(source))
    else:
        wanted = "the path of a YAML file, YAML text, or a mapping such as {'chain': ['linear']}"
        raise ConfigError(f"got {shown(source)}, wanted {wanted}")
    if not isinstance(document.value, dict):
        raise ConfigError(document.place(()).says(f"got {shown(document.value)}, wanted keys such as 'chain:'"))
    for override in overrides:
        apply_override(document, override, SECTIONS)
    check_limits(document)
    return document


def _is_yaml(source: str) -> bool:
    """Whether a text is the YAML itself: a path has no line break, and hardly ever a colon followed by a space."""
    return "\n" in source or (re.search(r"[\w\"'}]:( |$)", source) is not None and not Path(source).exists())


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(_MOST_BYTES + 1)  # a device has no end
        return found.decode("utf-8-sig", "strict" if len(found) <= _MOST_BYTES else "ignore")
    except UnicodeDecodeError as error:
        text = f"not YAML: byte {error.start} ({error.object[error.start]:#04x}) is not UTF-8"
        raise ConfigError(at(str(path), None, None, text)) from None
    except OSError as error:
        raise ConfigError(at(str(path), None, None, f"cannot be read: {error.strerror}")) from None


def blocked_plugins(document: Document) -> tuple[str, ...]:
    """The plugins that a chain does not want, read before it can be checked."""
    section = document.value.get("plugins")
    names = section.get("block") if isinstance(section, dict) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def validate(document: Document, registry: Registry) -> ChainConfig:
    """Check a chain's keys, types and ranges against the installed plugins.

    Args:
        document: as `read_chain` returns it.
        registry: the installed plugins.

    Raises:
        ConfigError: all mistakes at once, one per line, each with its place, what it got and what was wanted.
    """
    from hutch.core.config.check import check_chain  # not at the top: it imports pydantic

    return check_chain(document, registry)


@contextmanager
def placed(document: Document) -> Iterator[None]:
    """Give a ConfigError from building the chain, whose text begins with a path, the place of that path."""
    try:
        yield
    except ConfigError as error:
        found = re.match(r"\w+(\[\d+\]|\.\w+)*", str(error))
        parts = re.findall(r"\w+", found[0]) if found else []
        path = tuple(int(part) if part.isdecimal() else part for part in parts)
        if not path or path[0] not in SECTIONS:
            raise
        raise ConfigError(document.place(path, key=True).says(str(error))) from None


def load_chain(
    source: str | Path | Mapping[str, Any], registry: Registry, overrides: Iterable[str] = ()
) -> ChainConfig:
    """Read and check a chain; see `read_chain` and `validate`."""
    return validate(read_chain(source, overrides), registry)


def to_yaml(config: ChainConfig, defaults: bool = True) -> str:
    """The chain as YAML, with all defaults spelled out or only the given values; reading it returns the same chain."""
    from hutch.core.config.yaml import write

    return write(config.to_dict(defaults))
