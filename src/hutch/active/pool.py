"""Pools, which labels are asked for from: lines and tables that are read as often as needed, and never held."""

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hutch.active.documents import is_blank, is_table, line_of, read_documents
from hutch.active.lines import unlabelled
from hutch.core.data.chunks import Chunks
from hutch.core.data.files import SVMLIGHT, TABLES, ending_of
from hutch.core.data.places import expanded, is_remote
from hutch.core.data.roles import Roles
from hutch.core.errors import UsageError
from hutch.jobs.engine import Engine
from hutch.jobs.where import engine_for

if TYPE_CHECKING:
    from hutch.chain import Chain

_WORTH = 1 << 26  # bytes below which starting processes takes longer than they save


class Entry(NamedTuple):
    """An example of a pool.

    Attributes:
        number: its line or record in its source, from 1.
        line: unlabelled, not empty.
        document: shown to people; None: the line.
    """

    number: int
    line: str
    document: Mapping[str, Any] | None


@dataclass(frozen=True)
class Given:
    """Lines in memory.

    Attributes:
        name: in messages.
        lines: with or without labels.
        documents: shown to people for each; None: the lines.
    """

    name: str
    lines: Sequence[str]
    documents: Sequence[Mapping[str, Any]] | None = None
    path = "<memory>"

    def __iter__(self) -> Iterator[Entry]:
        for place, text in enumerate(self.lines):
            if line := unlabelled(text.rstrip("\r\n")):
                yield Entry(place + 1, line, self.documents[place] if self.documents is not None else None)


@dataclass(frozen=True)
class LineFile:
    """A file of lines.

    Attributes:
        name: in messages.
        path: of the file.
    """

    name: str
    path: str

    def __iter__(self) -> Iterator[Entry]:
        number = 0
        for chunk in Chunks([self.path]):
            texts = bytes(chunk.data).decode(errors="replace").removesuffix("\n").split("\n")
            for text in texts:
                number += 1
                if line := unlabelled(text.rstrip("\r")):
                    yield Entry(number, line, None)


@dataclass(frozen=True)
class TableFile:
    """A file of records, which people see without the label.

    Attributes:
        name: in messages.
        path: of the file.
        roles: of its columns.
    """

    name: str
    path: str
    roles: Roles

    def __iter__(self) -> Iterator[Entry]:
        tag, label = self.roles.key("tag"), self.roles.key("label")
        for number, document in enumerate(read_documents(self.path), 1):
            if is_blank(document):
                continue
            document.pop(label, None)
            line = line_of(document, self.roles, str(document.get(tag) or "") if tag else "")
            yield Entry(number, line, document)


Source = Given | LineFile | TableFile


class Pool:
    """Sources whose examples are read, one after the other, as often as needed.

    Args:
        sources: of the examples.

    >>> [entry.line for source in Pool.of_lines("here", ["1 |f a", "", "|f b"]).sources for entry in source]
    ['|f a', '|f b']
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = list(sources)

    @classmethod
    def of_lines(cls, name: str, lines: Iterable[str], documents: Sequence[Mapping[str, Any]] | None = None) -> "Pool":
        """A pool in memory.

        Args:
            name: in messages.
            lines: with or without labels.
            documents: shown to people for each; None: the lines.
        """
        return cls([Given(name, lines if isinstance(lines, Sequence) else list(lines), documents)])

    @classmethod
    def of_files(cls, source: str, chain: "Chain") -> "Pool":
        """The pool in a file, in all matches of a glob, or on standard input, which is copied to a file.

        Args:
            source: lines or tables (CSV, TSV, Parquet, JSON lines); `-` is standard input.
            chain: defines the roles of columns.

        Raises:
            UsageError: a file of another kind.
            DataError: a glob that matches nothing.
        """
        if source == "-":
            pool = cls([])
            copy = tempfile.NamedTemporaryFile(suffix=".vw")
            weakref.finalize(pool, copy.close)
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.flush()
            pool.sources = [LineFile("<stdin>", copy.name)]
            return pool
        sources: list[Source] = []
        for path in expanded([source]):
            if is_table(path):
                sources.append(TableFile(path, path, Roles.of(chain.config.input.columns)))
            elif ending_of(path) in (*chain.plugins.registry.readers, *SVMLIGHT):
                wanted = f"wanted lines such as '|words good bad', or one of {', '.join(TABLES)}"
                raise UsageError(f"{path}: got a file of {ending_of(path)}, {wanted}")
            else:
                sources.append(LineFile(path, path))
        return cls(sources)

    def engine(self, ray: str | None) -> AbstractContextManager[Engine | None]:
        """The engine that scores the sources; None for one file, or little data.

        Args:
            ray: address of a Ray cluster; None: this machine.

        Raises:
            HutchError: Ray is not installed, or no cluster answers at that address.
        """
        known = [each.path for each in self.sources if not is_remote(each.path)]
        much = len(known) < len(self.sources) or sum(map(os.path.getsize, known)) >= _WORTH
        alone = ray is None and (len(self.sources) == 1 or not much)
        return nullcontext() if alone else engine_for(len(self.sources), ray)
