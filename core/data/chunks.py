"""Files, compressed files and standard input as chunks of whole lines, in bounded memory."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.ahead import in_order
from hutch.core.data.packed import ENDINGS, Decompressed, Joined, ending_by, unpacked
from hutch.core.data.places import missing, only_file, opened
from hutch.core.errors import DataError, at
from hutch.core.text.columns import FEED
from hutch.core.text.parser import LONGEST_LINE, PADDING, ParserOptions, TextParser

CHUNK_BYTES = 1 << 19
"""Default size of a chunk: its results fit in caches, and NumPy maps arrays for more text in pages of 2 MB."""

Source = str | os.PathLike[str]


def source_name(source: Source) -> str:
    """The name of a source in messages."""
    return "<stdin>" if str(source) == "-" else str(source)


class TooLong(DataError):
    """A line, or the data parsed from it, does not fit into memory, or into the share that it may take.

    Args:
        source, number: of the chunk, as in `Chunk`.
        reason: text of the message after the place.
        line: its number, if known.
    """

    def __init__(self, source: str, number: int, reason: str, line: int | None = None) -> None:
        super().__init__(at(source, line, None, reason))
        self.source, self.number, self.reason = source, number, reason


class Chunk(NamedTuple):
    """Whole lines of one source.

    Attributes:
        source: the source's name in messages; `<stdin>` for `-`.
        number: of the source, from 0.
        position: number of bytes read of all sources, the chunk's included.
        text: uint8, the bytes, and a line feed if the source ends without one; `PADDING` bytes before and after may be
            read. Valid until the next chunk is requested, or until `valid` more are.
        size: number of bytes without an added line feed.
    """

    source: str
    number: int
    position: int
    text: NDArray[np.uint8]
    size: int

    @property
    def data(self) -> memoryview:
        """The bytes as they are in the source; only its last chunk may lack the line feed."""
        return self.text.data[: self.size]


class Chunks:
    """Iterable over sources, one after the other, as chunks of whole lines; it reports its position.

    Args:
        sources: paths; `-` is standard input; files compressed by gzip, Zstandard or zip are unpacked.
        chunk_bytes: size of the buffer; a longer line makes it grow.
        whole_groups: cut only after an empty line; a longer group makes the buffer grow, too.
        longest_line: bytes; a longer line that does not fit into the buffer either is refused.

    Attributes:
        total_bytes: size of all files on disk, compressed if they are; None if one is not a regular file.
        position: number of these bytes read up to the latest chunk.

    Raises:
        DataError: while iterating, if a source is missing, a directory, not readable, truncated or corrupt.
        TooLong: while iterating, if a line is.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        chunk_bytes: int = CHUNK_BYTES,
        whole_groups: bool = False,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self.sources = [source if source == "-" else only_file(source) for source in sources]
        self.chunk_bytes = chunk_bytes
        self.whole_groups = whole_groups
        self.longest_line = longest_line
        self.total_bytes = _total(self.sources)
        self.position = 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.read(valid=1):
            self.position = chunk.position
            yield chunk

    def read(self, valid: int) -> Iterator[Chunk]:
        """The chunks, so many of which stay valid at a time; the caller keeps `position`."""
        buffers = [_memory(self.chunk_bytes + 2 * PADDING + 1) for _ in range(valid)]
        before = self.position = 0
        for number, source in enumerate(self.sources):
            if source == "-":
                stdin: Any = sys.stdin.buffer  # typed without readinto1, which does not wait until the buffer is full
                _widen(stdin)
                yield from self._lines(stdin.readinto1, stdin, "<stdin>", number, buffers, lambda: 0)
                continue
            try:
                with ExitStack() as stack:
                    raw = stack.enter_context(opened(source))
                    _widen(raw)
                    suffix = os.path.splitext(source)[1].lower()
                    packed = suffix in ENDINGS
                    stream = stack.enter_context(unpacked(raw, source, suffix)) if packed else raw
                    place = (lambda base=before, raw=raw: base + raw.tell()) if raw.seekable() else (lambda: 0)
                    yield from self._lines(stream.readinto, None if packed else raw, source, number, buffers, place)
                    before = place()
            except OSError as error:
                why = missing(source) or f"cannot be read: {error.strerror or error}"
                raise DataError(at(source, None, None, why)) from error

    def _lines(
        self,
        read: Callable[[Any], int],
        raw: Any,
        name: str,
        number: int,
        buffers: list[mmap],
        place: Callable[[], int],
    ) -> Iterator[Chunk]:
        """The chunks of the bytes from `read`; the first buffer is always the one whose chunk is no longer needed.

        If these bytes are those of a compressed file, they are unpacked with what follows in `raw`; None: they are not.
        """
        filled = PADDING
        while got := read(memoryview(buffers[0])[filled : -PADDING - 1]):
            if raw is not None:
                ending, before = ending_by(buffers[0][filled : filled + 4]), raw
                raw = None
                if ending:
                    first = Joined(buffers[0][filled : filled + got], before)
                    read = Decompressed(first, name, ending).readinto
                    continue
            cut = self._cut(buffers[0], filled, filled + got)
            filled += got
            if cut:
                yield self._chunk(name, number, place(), buffers[0], cut)
                left = memoryview(buffers[0])[cut:filled]
                buffers.append(buffers.pop(0))
                if len(buffers[0]) < len(buffers[-1]):
                    buffers[0] = _memory(len(buffers[-1]))
                filled = PADDING + len(left)
                buffers[0][PADDING:filled] = left
            elif filled == len(buffers[0]) - PADDING - 1:
                line = buffers[0].rfind(b"\n", PADDING, filled) + 1 or PADDING
                if filled - line >= self.longest_line:
                    reason = f"got a line of more than {self.longest_line} bytes, wanted line feeds; the limit is"
                    raise TooLong(name, number, f"{reason} input.longest_line")
                room = 2 * len(buffers[0])  # for a line, or a group, longer than the buffer
                if not self.whole_groups:
                    room = min(room, max(self.longest_line, self.chunk_bytes) + 2 * PADDING + 1)
                longer = _memory(room)
                longer[:filled] = buffers[0][:filled]
                buffers[0] = longer
        if filled > PADDING:
            yield self._chunk(name, number, place(), buffers[0], filled)
            buffers.append(buffers.pop(0))

    @staticmethod
    def _chunk(name: str, number: int, position: int, buffer: mmap, stop: int) -> Chunk:
        size = stop - PADDING
        added = buffer[stop - 1] != FEED
        if added:
            buffer[stop] = FEED
        return Chunk(name, number, position, np.frombuffer(buffer, np.uint8, size + added, PADDING), size)

    def _cut(self, buffer: mmap, start: int, stop: int) -> int:
        """Where the last line, or the last group of lines, that ends in these new bytes ends; 0 if none does."""
        if not self.whole_groups:
            return buffer.rfind(b"\n", start, stop) + 1
        start = max(start - 2, PADDING)  # the line feed before may have come with the bytes before
        unix, dos = buffer.rfind(b"\n\n", start, stop), buffer.rfind(b"\n\r\n", start, stop)
        return max(unix + 2 if unix >= 0 else 0, dos + 3 if dos >= 0 else 0)


def _memory(size: int) -> mmap:
    """Bytes that take no memory before they are written."""
    return mmap(-1, size)


def _widen(stream: Any) -> None:
    """Let a pipe hold a chunk, if the system can: small chunks of a fast writer cost a third more time."""
    with suppress(ImportError, AttributeError, OSError):
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(stream.fileno(), F_SETPIPE_SZ, CHUNK_BYTES)


def _total(sources: list[str]) -> int | None:
    total = 0
    for source in sources:
        if source == "-" or not os.path.isfile(source):
            return None
        total += os.path.getsize(source)
    return total


def batches(
    sources: Chunks | Iterable[Source],
    options: ParserOptions | None = None,
    parser: TextParser | None = None,
    threads: int = 0,
) -> Iterator[Batch]:
    """Read and parse sources; every batch is valid until the next one is asked for.

    Line numbers restart with each source, and a group does not go beyond its source.

    Args:
        sources: paths, or `Chunks` of them where progress matters.
        options: for parsing text, unless `parser` is given.
        parser: keeps the problems for the caller; at least `threads + 1` of its batches must stay `valid`.
        threads: read and parse ahead, several chunks at a time; the batches are the same. 0: none does.

    Returns:
        An iterator of batches with at least one example.

    Raises:
        DataError: see `Chunks` and `TextParser.parse`.
    """
    parser = parser or TextParser(options, valid=threads + 1)
    if not isinstance(sources, Chunks):
        options = parser.options
        sources = Chunks(sources, whole_groups=options.whole_groups, longest_line=options.longest_line)
    return _parsed(sources, parser, threads)


def _parsed(chunks: Chunks, parser: TextParser, threads: int) -> Iterator[Batch]:
    def fill(number: int, chunk: Chunk) -> tuple[int, Chunk]:
        try:
            parser.fill(number, chunk.text)
        except MemoryError:
            raise TooLong(chunk.source, chunk.number, "lines from here on need more memory than there is") from None
        return number, chunk

    found = chunks.read(parser.valid)
    source = -1
    jobs = (partial(fill, number, chunk) for number, chunk in enumerate(found))
    with closing(in_order(jobs, threads, parser.valid)) as filled:
        while True:
            try:
                number, chunk = next(filled)
            except StopIteration:
                return
            except TooLong as error:  # the number of earlier lines is known only now
                line = parser.line if error.number == source else 0
                raise TooLong(error.source, error.number, error.reason, line + 1) from None
            if chunk.number != source:
                parser.start(chunk.source)
                source = chunk.number
            chunks.position = chunk.position
            batch = parser.take(number, chunk.text)
            if len(batch):
                yield batch
