"""Data files of any registered kind as one stream of batches that reports its position."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hutch.core.batch import Batch, whole_groups
from hutch.core.data.cache import BatchCache, BatchMemory, DamagedCache
from hutch.core.data.chunks import Chunks, batches
from hutch.core.data.packed import ENDINGS
from hutch.core.data.places import expanded, missing
from hutch.core.data.roles import Roles
from hutch.core.errors import DataError, HutchError, PluginError, at, warn
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.core.text.problems import NUL_BYTE, Problem, Problems
from hutch.core.threads import thread_count

_PARSERS = 2
"""At most so many threads read and parse files of text while the chain learns; two are faster than any chain."""


def parsers() -> int:
    """Number of threads that read and parse files of text ahead; at least one, to overlap I/O with computing."""
    return max(1, min(_PARSERS, thread_count() - 1))


def check_sources(sources: Sequence[str]) -> None:
    """Check before a long run that the data exists.

    Raises:
        DataError: sources are missing or directories; the message names each on its own line.
    """
    wrong = []
    for source in expanded(sources):
        reason = None if source == "-" else missing(source)
        if reason is not None:
            wrong.append(at(source, None, None, reason))
    if wrong:
        raise DataError("\n".join(wrong))


def read_with(reader: Callable[..., Any], source: str, *how: Any) -> Iterator[Batch]:
    """The batches of a file; errors of its reader, which may be a plugin's, name the reader.

    Args:
        reader: registered for the file's ending.
        source: the file.
        how: further arguments of a reader.

    Raises:
        PluginError: the reader raises something, or yields anything but batches.
        HutchError: the file cannot be read.
    """
    name = f"{getattr(reader, '__module__', '?')}.{getattr(reader, '__qualname__', reader)}"
    try:
        found = reader(source, *how)
        if isinstance(found, Batch | str | bytes):
            raise _broken(name, source, f"gave {type(found).__name__}")
        for batch in found:
            if not isinstance(batch, Batch):
                raise _broken(name, source, f"gave {type(batch).__name__} among its batches")
            yield batch
    except HutchError:
        raise
    except Exception as error:
        if name.startswith("hutch."):
            raise
        raise _broken(name, source, f"raised {type(error).__name__}: {error}") from error


def _broken(name: str, source: str, what: str) -> PluginError:
    return PluginError(f"{source}: the reader {name} {what}; wanted an iterator of hutch.plugin.Batch")


TABLES = (".csv", ".tsv", ".ssv", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson")
"""Endings of files with named columns."""
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
"""Endings of formats that look like text and would be misread as such."""


def ending_of(source: str) -> str:
    """The ending that determines the kind of a file: `.csv` of `a.csv` and of `a.csv.gz`."""
    path = Path(source.lower())
    return Path(path.stem).suffix if path.suffix in ENDINGS else path.suffix


def _of_kind(kind: str, readers: Mapping[str, Callable[..., Iterator[Batch]]]) -> Callable[..., Iterator[Batch]]:
    found = readers.get(f".{kind.lower().removeprefix('.')}")
    if found is None:
        raise DataError(f"--format: got {kind!r}, wanted one of {', '.join(name[1:] for name in sorted(readers))}")
    return found


class InputFiles:
    """Iterable, as often as there are passes, over the batches of several sources.

    Args:
        sources: paths, globs, addresses (`s3://`, …); `-` is standard input.
        options: how text is parsed.
        readers: readers of files that are not text, by ending.
        on_problem: called with the first malformed places of each kind, in the first pass.
        columns: roles of the columns of files that are not text.
        passes: how often the batches will be read; if more than once, they stay in memory if they fit.
        cache: file that keeps the batches for later runs, see `hutch.core.data.cache`; only without malformed places.
        fresh: rebuild the cache even if one exists.
        read_text: makes the batches of one source of text, given its chunks and a parser; None: threads do, ahead.
        chunks: opens a source as chunks of text.
        groups_in_lines: `read_text` makes whole groups from single lines.
        kind: ending by which all sources are read, whatever their own, such as `dsjson`; None: each by its own.

    Attributes:
        total: bytes of all sources, None if unknown.
        problems: malformed places that the first pass found in text.

    Raises:
        DataError: nothing reads the kind; a cache is wanted for something other than a text file, or its path is taken.
    """

    def __init__(
        self,
        sources: Sequence[str],
        options: ParserOptions,
        readers: Mapping[str, Callable[..., Iterator[Batch]]],
        on_problem: Callable[[Problem], Any] = lambda problem: None,
        columns: Roles | None = None,
        passes: int = 1,
        cache: str | None = None,
        fresh: bool = False,
        read_text: Callable[[Chunks, TextParser], Iterator[Batch]] | None = None,
        chunks: Callable[..., Chunks] = Chunks,
        groups_in_lines: bool = False,
        kind: str | None = None,
    ) -> None:
        self.sources = expanded(sources)
        self.total = Chunks(self.sources).total_bytes
        self.problems: Problems | None = None
        self._options = options
        self._readers = readers
        if kind is not None:
            self._readers = dict.fromkeys(map(ending_of, self.sources), _of_kind(kind, readers))
        self._columns = columns
        self._on_problem = on_problem
        self._open = chunks
        self._read_text = read_text or self._parsed_ahead
        self._groups_of_lines = options.whole_groups and not groups_in_lines
        self._finished = self._reported = 0
        self._chunks = chunks([])
        self._parser: TextParser | None = None
        self._memory = BatchMemory() if passes > 1 else BatchMemory(0)
        self._cache = self._cache_at(cache, fresh) if cache else None

    def _cache_at(self, path: str, fresh: bool) -> BatchCache:
        for source in self.sources:
            if not os.path.isfile(source) or ending_of(source) in self._readers:
                raise DataError(at(source, None, None, "cannot be cached: wanted a file of text"))
        return BatchCache(path, self.sources, self._options, fresh)

    @property
    def cached(self) -> bool:
        """Whether the batches come from the cache."""
        return self._cache is not None and self._cache.ready

    def place_of(self, row: int) -> str:
        """File, line and column of a row of the batch given last; empty if it does not come from lines of text."""
        return self._parser.place_of(row) if self._parser is not None else ""

    @property
    def position(self) -> int:
        """Bytes read so far in this pass, in the units of `total`."""
        return self._finished + self._chunks.position

    @property
    def repeatable(self) -> bool:
        """Whether the sources can be read more than once."""
        return self.total is not None

    def __iter__(self) -> Iterator[Batch]:
        if self._memory.batches is not None:
            return self._again(self._memory.batches, len(self._memory.batches))
        if self._cache is not None and self._cache.ready:
            return self._cached(self._cache)
        return self._first()

    def _cached(self, cache: BatchCache) -> Iterator[Batch]:
        """The batches of the cache; from a damaged one on, the text is parsed again."""
        given = 0
        try:
            for batch in self._again(cache, len(cache)):
                given += len(batch)
                yield batch
            return
        except DamagedCache as error:
            warn(f"{error}; the text is parsed again")
        cache.ready = False
        for batch in self._first():
            if given < len(batch):
                yield batch.rows(given, len(batch)) if given else batch
            given = max(0, given - len(batch))

    def _again(self, kept: Iterable[Batch], count: int) -> Iterator[Batch]:
        total = self.total or 0
        for number, batch in enumerate(kept, 1):
            self._finished = total * number // count
            yield batch

    def _first(self) -> Iterator[Batch]:
        """The batches of the sources, kept as they pass."""
        with nullcontext() if self._cache is None else self._cache.writing() as writer:
            for batch in self._read():
                if writer:
                    writer.add(batch)
                self._memory.add(batch)
                yield batch
            self._memory.finish()
            if writer:
                writer.abandoned = self.problems is not None and self.problems.errors + self.problems.hints > 0

    def _read(self) -> Iterator[Batch]:
        parser = TextParser(self._options, valid=parsers() + 2)
        first_pass = self.problems is None
        self.problems = self.problems or parser.problems
        self._finished = 0
        for source in self.sources:
            reader = self._readers.get(ending_of(source))
            if reader:
                self._options.refuse_made(source)
                found = read_with(reader, source, self._options, self._columns)
                yield from whole_groups(found) if self._options.whole_groups else found
            elif ending_of(source) in SVMLIGHT:
                raise DataError(at(source, None, None, "got svmlight, wanted text: put ' |' behind each label"))
            else:
                self._chunks = self._open(
                    [source],
                    whole_groups=self._groups_of_lines,
                    longest_line=self._options.longest_line,
                )
                self._parser = parser
                try:
                    yield from self._text(parser, first_pass)
                finally:
                    self._parser = None  # its memory is large
                self._chunks = Chunks([])
            self._finished += os.path.getsize(source) if self.total is not None else 0

    def _text(self, parser: TextParser, report: bool) -> Iterator[Batch]:
        nuls = int(parser.problems.counts[NUL_BYTE])
        for number, batch in enumerate(self._read_text(self._chunks, parser)):
            if number == 0 and parser.problems.counts[NUL_BYTE] > nuls:
                wanted = "wanted lines of text such as '1 |words good bad'"
                raise DataError(at(parser.source_name, None, None, f"is not text, it holds NUL bytes; {wanted}"))
            if report:
                self._report(parser.problems)
            yield batch
        if report:
            self._report(parser.problems)

    def _report(self, problems: Problems) -> None:
        while self._reported < len(problems.kept):
            self._on_problem(problems.kept[self._reported])
            self._reported += 1

    def _parsed_ahead(self, chunks: Chunks, parser: TextParser) -> Iterator[Batch]:
        """Batches of text, of files parsed ahead by threads."""
        threads = parsers() if chunks.total_bytes is not None else 0
        return batches(chunks, parser=parser, threads=threads)
