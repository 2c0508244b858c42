"""YAML that was parsed before, on disk: importing the parser takes longer than reading a chain.

A file's name is a hash of the text, of the sources that read YAML, and of the versions of PyYAML and Python. It holds
the document as JSON: its value, and the places of keys and values.
"""

import hashlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from hutch.core.config.cache import keep, kept_in
from hutch.core.config.document import Document, Place
from hutch.core.kernel.cache import source_digest
from hutch.core.kernel.home import cache_directory
from hutch.core.kernel.object_store import version_source

_READER = "hutch.core.config.yaml"


def read(text: str, name: str) -> Document:
    """Parse one YAML document, unless the same text was parsed before.

    Args:
        text: the document.
        name: its name in messages.

    Raises:
        ConfigError: as `hutch.core.config.yaml.read` does.
    """
    place = None if _READER in sys.modules else _place(text)  # once it is there, parsing takes no longer than looking
    kept = kept_in(place) if place else None
    if kept is not None:
        return document_of(kept, name)
    from hutch.core.config.yaml import read as parse

    document = parse(text, name)
    if place:
        keep(place, written(document))
    return document


def written(document: Document) -> bytes:
    """A document as it is kept."""
    tables = [[[*path, at.line, at.column] for path, at in table.items()] for table in _tables(document)]
    return json.dumps([document.value, *tables]).encode()


def document_of(kept: bytes, name: str) -> Document:
    """The document that was written; `name` is its name in messages."""
    value, *tables = json.loads(kept)
    document = Document(value, name)
    for table, entries in zip(_tables(document), tables, strict=True):
        table |= {tuple(path): Place(name, line, column) for *path, line, column in entries}
    return document


def _tables(document: Document) -> tuple[dict[tuple[str | int, ...], Place], ...]:
    return document.keys, document.values


def _place(text: str) -> Path | None:
    """The file that keeps a document; None where the sources are in an archive."""
    found = find_spec(_READER)
    source = found.origin if found else None
    if source is None or not source.endswith(".py") or not os.path.isfile(source):
        return None
    digest = hashlib.sha256(f"{sys.version} {version_source('yaml', '__init__.py')}".encode())
    digest.update(source_digest(os.path.realpath(source)).encode())
    digest.update(text.encode(errors="surrogatepass"))
    return cache_directory("documents") / digest.hexdigest()[:32]
