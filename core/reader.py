"""Files, compressed files and standard input as chunks of whole lines, in bounded memory."""

import errno
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar

import zstandard

from hutch.core.batch import Batch
from hutch.core.errors import DataError, at
from hutch.core.text_parser import PADDING, ParserOptions, TextParser

CHUNK_BYTES = 1 << 19
"""Default size of a chunk: half a megabyte stays in the second-level cache."""
_COMPRESSED_BYTES = 1 << 14  # a piece this small cannot unpack to more than some hundred megabytes

Source = str | os.PathLike[str]
_Item = TypeVar("_Item")


class Chunk(NamedTuple):
    """Whole lines of one source.

    Attributes:
        source: the source's name in messages; `<stdin>` for `-`.
        number: which of the sources it is, from 0.
        data: the bytes, valid until the next chunk is asked for; only a source's last chunk may lack the line feed.
            There are `PADDING` more bytes in memory on both sides.
    """

    source: str
    number: int
    data: memoryview


class _Decoder(Protocol):
    """What zlib's and zstandard's decompression objects share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _gzip_decoder() -> _Decoder:
    return zlib.decompressobj(wbits=31)


def _zstd_decoder() -> _Decoder:
    return zstandard.ZstdDecompressor().decompressobj()


_DECODERS = {".gz": ("gzip", _gzip_decoder), ".zst": ("zstd", _zstd_decoder)}


class _Decompressed(io.RawIOBase):
    """A compressed file, which may consist of several members or frames, as the bytes it stands for."""

    def __init__(self, raw: Any, name: str, suffix: str) -> None:
        self._raw = raw
        self._name = name
        self._format, self._new_decoder = _DECODERS[suffix]
        self._pieces = self._unpack()
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with what is there, at least one byte; 0 at the end."""
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = memoryview(piece)
        size = min(len(buffer), len(self._piece))
        buffer[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def _unpack(self) -> Iterator[bytes]:
        decoder, begun = self._new_decoder(), False
        while data := self._raw.read(_COMPRESSED_BYTES):
            while data:
                if decoder.eof:
                    data = data.lstrip(b"\0")  # padding after a member is allowed
                    if not data:
                        break
                    decoder = self._new_decoder()
                begun = True
                try:
                    yield decoder.decompress(data)
                except (zlib.error, zstandard.ZstdError) as error:
                    raise DataError(at(self._name, None, None, f"corrupt {self._format} data: {error}")) from None
                data = decoder.unused_data if decoder.eof else b""
                begun = not decoder.eof
        if begun:
            raise DataError(at(self._name, None, None, f"truncated {self._format} data: the file ends too early"))


class Chunks:
    """Iterable over the chunks of several sources; see `read_chunks`.

    Attributes:
        total_bytes: size of all files on disk, compressed if they are; None if one is not a regular file.
        position: how many of these bytes have been read.
    """

    def __init__(self, sources: Iterable[Source], chunk_bytes: int = CHUNK_BYTES, whole_groups: bool = False) -> None:
        self.sources = [os.fspath(source) for source in sources]
        self.chunk_bytes = chunk_bytes
        self.whole_groups = whole_groups
        self.total_bytes = _total(self.sources)
        self.position = 0

    def __iter__(self) -> Iterator[Chunk]:
        self.position = 0
        for number, source in enumerate(self.sources):
            if source == "-":
                yield from self._lines(_Standard(), "<stdin>", number)
                continue
            try:
                with open(source, "rb", buffering=0) as raw:
                    suffix = os.path.splitext(source)[1].lower()
                    stream = _Decompressed(raw, source, suffix) if suffix in _DECODERS else raw
                    before = self.position
                    for chunk in self._lines(stream, source, number):
                        self.position = before + (raw.tell() if raw.seekable() else 0)
                        yield chunk
            except OSError as error:
                raise DataError(at(source, None, None, _reason(error))) from error

    def _lines(self, stream: Any, name: str, number: int) -> Iterator[Chunk]:
        buffer, filled = bytearray(self.chunk_bytes + 2 * PADDING), PADDING
        while got := stream.readinto(memoryview(buffer)[filled:-PADDING]):
            cut = self._cut(buffer, filled, filled + got)
            filled += got
            if cut:
                yield Chunk(name, number, memoryview(buffer)[PADDING:cut])
                buffer[PADDING : PADDING + filled - cut] = buffer[cut:filled]
                filled += PADDING - cut
            elif filled == len(buffer) - PADDING:
                buffer = buffer + bytearray(len(buffer))  # a line, or a group of them, longer than the buffer
        if filled > PADDING:
            yield Chunk(name, number, memoryview(buffer)[PADDING:filled])

    def _cut(self, buffer: bytearray, start: int, stop: int) -> int:
        """Where the last line, or the last group of lines, that ends in these new bytes ends; 0 if none does."""
        if not self.whole_groups:
            return buffer.rfind(b"\n", start, stop) + 1
        start = max(start - 2, PADDING)  # the line feed before may have come with the bytes before
        unix, dos = buffer.rfind(b"\n\n", start, stop), buffer.rfind(b"\n\r\n", start, stop)
        return max(unix + 2 if unix >= 0 else 0, dos + 3 if dos >= 0 else 0)


class _Standard:
    """Standard input, read as far as it has come so that a pipe is not waited for."""

    def readinto(self, buffer: memoryview) -> int:
        stdin: Any = sys.stdin.buffer  # typed without readinto1
        return int(stdin.readinto1(buffer))


def _total(sources: list[str]) -> int | None:
    total = 0
    for source in sources:
        if source == "-" or not os.path.isfile(source):
            return None
        total += os.path.getsize(source)
    return total


def _reason(error: OSError) -> str:
    wanted = {
        errno.ENOENT: "no such file",
        errno.EISDIR: "is a directory, wanted a file of examples",
        errno.EACCES: "cannot be read: permission denied",
    }
    return wanted.get(error.errno or 0, f"cannot be read: {error.strerror or error}")


def read_chunks(sources: Iterable[Source], chunk_bytes: int = CHUNK_BYTES, whole_groups: bool = False) -> Chunks:
    """Read sources one after the other as chunks of whole lines.

    Args:
        sources: paths; `-` is standard input; `.gz` and `.zst` files are unpacked as they are read.
        chunk_bytes: size of the buffer; a longer line makes it grow.
        whole_groups: cut only after an empty line; a longer group makes the buffer grow, too.

    Returns:
        An iterable of `Chunk` that also knows how far it has come.

    Raises:
        DataError: while iterating, if a source is missing, a directory, not readable, truncated or corrupt.
    """
    return Chunks(sources, chunk_bytes, whole_groups)


def batches(
    sources: Chunks | Iterable[Source],
    options: ParserOptions | None = None,
    parser: TextParser | None = None,
) -> Iterator[Batch]:
    """Read and parse sources; every batch is valid until the next one is asked for.

    Line numbers restart with each source, and a group does not go beyond its source.

    Args:
        sources: paths, or `read_chunks` of them where progress matters.
        options: how text is understood, unless `parser` is given.
        parser: keeps the problems for the caller.

    Returns:
        An iterator of batches with at least one example.

    Raises:
        DataError: see `read_chunks` and `TextParser.parse`.
    """
    parser = parser or TextParser(options)
    whole = parser.options.whole_groups
    return _parsed(sources if isinstance(sources, Chunks) else read_chunks(sources, whole_groups=whole), parser)


def ahead(found: Iterator[_Item]) -> Iterator[_Item]:
    """The items of an iterator, each made by a second thread while the one before is looked at.

    A parser of which they come must keep two batches `valid`.
    """
    with ThreadPoolExecutor(1, "parser") as thread:
        coming = thread.submit(next, found, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, found, None)
            yield item


def _parsed(chunks: Chunks, parser: TextParser) -> Iterator[Batch]:
    number = -1
    for chunk in chunks:
        if chunk.number != number:
            parser.start(chunk.source)
            number = chunk.number
        batch = parser.parse(chunk.data, padded=True)
        if len(batch):
            yield batch
