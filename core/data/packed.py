"""Decompression of files."""

import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from hutch.core.errors import DataError, at


class _Decoder(Protocol):
    """The common interface of zlib's and zstandard's decompression objects."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Format(NamedTuple):
    """A format's name, its decoder factory, the error of corrupt data, and the number of bytes to unpack at once.

    A piece of that many bytes cannot unpack to much more than 16 MiB: deflate makes 1 byte of up to 1032, and Zstandard
    makes a block of 4 bytes of 128 KiB that are all the same.
    """

    name: str
    decoder: Callable[[], _Decoder]
    error: type[Exception]
    piece: int


def _gzip() -> _Format:
    return _Format("gzip", lambda: zlib.decompressobj(wbits=31), zlib.error, 1 << 14)


def _zstd() -> _Format:
    import zstandard  # loading it takes longer than reading a small file

    return _Format("zstd", lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError, 1 << 9)


_STREAMS = {".gz": _gzip, ".zst": _zstd}
ENDINGS = (*_STREAMS, ".zip")
"""Endings of compressed files."""
_BEGINNINGS = {b"\x1f\x8b\x08": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""The first bytes of compressed files, which no text has, and their endings."""


def ending_by(first: bytes) -> str:
    """The ending that a file with these first bytes should have; empty if it is not compressed."""
    return next((ending for beginning, ending in _BEGINNINGS.items() if first.startswith(beginning)), "")


class Joined:
    """A stream some of which has been read.

    Args:
        first: the bytes that were read.
        rest: the stream.
    """

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        part, self._first = self._first[:size], self._first[size:]
        found: bytes = part or self._rest.read(size)
        return found


class Decompressed(io.RawIOBase):
    """A compressed file, which may consist of several members or frames, as its unpacked bytes.

    Args:
        raw: the file, open for reading.
        name: of the file in messages.
        suffix: its ending, `.gz` or `.zst`.

    Raises:
        DataError: while reading, if it is corrupt or truncated.
    """

    def __init__(self, raw: Any, name: str, suffix: str) -> None:
        self._raw = raw
        self._name = name
        self._format = _STREAMS[suffix]()
        self._pieces, self._piece = self._unpack(), memoryview(b"")
        self._failure: DataError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as there is data; 0 at the end."""
        filled = 0
        try:
            while filled < len(buffer) and self._failure is None:
                self._piece = self._piece or memoryview(next(self._pieces))
                size = min(len(buffer) - filled, len(self._piece))
                buffer[filled : filled + size] = self._piece[:size]
                self._piece, filled = self._piece[size:], filled + size
        except StopIteration:
            pass
        except DataError as error:  # the data before it is returned first
            self._failure = error
        if self._failure and not filled:
            raise self._failure
        return filled

    def _unpack(self) -> Iterator[bytes]:
        decoder, begun = self._format.decoder(), False
        while data := self._raw.read(self._format.piece):
            while data:
                if decoder.eof:
                    data = data.lstrip(b"\0")  # padding after a member is allowed
                    if not data:
                        break
                    decoder = self._format.decoder()
                begun = True
                try:
                    yield decoder.decompress(data)
                except self._format.error as error:
                    raise DataError(at(self._name, None, None, f"corrupt {self._format.name} data: {error}")) from None
                data = decoder.unused_data if decoder.eof else b""
                begun = not decoder.eof
        if begun:
            raise DataError(at(self._name, None, None, f"truncated {self._format.name} data: the file ends too early"))


def files_in(archive: Any) -> list[str]:
    """The names of the files in a zip archive, without folders and what macOS adds to them."""
    return [each for each in archive.namelist() if not each.endswith("/") and not each.startswith("__MACOSX/")]


class _Member(io.RawIOBase):
    """The only file in a zip archive, as its unpacked bytes; arguments and errors are those of `unpacked`."""

    def __init__(self, raw: Any, name: str) -> None:
        from zipfile import BadZipFile, ZipFile  # loading it takes longer than reading a small file

        self._name, self._opened = name, ExitStack()
        self._errors = (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
        try:
            archive = self._opened.enter_context(ZipFile(raw))
            files = files_in(archive)
            if len(files) != 1:
                got = f"got {len(files)} files in an archive{': ' * bool(files)}{', '.join(files[:3])}"
                raise DataError(at(name, None, None, f"{got}, wanted one: unpack it"))
            self._file: Any = self._opened.enter_context(archive.open(files[0]))
        except self._errors as error:
            raise self._corrupt(error) from None

    def _corrupt(self, error: Exception) -> DataError:
        return DataError(at(self._name, None, None, f"zip archive that cannot be read: {error}"))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as there is data; 0 at the end."""
        try:
            return int(self._file.readinto(buffer))
        except self._errors as error:
            raise self._corrupt(error) from None

    def close(self) -> None:
        self._opened.close()
        super().close()


def unpacked(raw: Any, name: str, ending: str) -> io.RawIOBase:
    """A compressed file as its unpacked bytes.

    Args:
        raw: the file, open for reading.
        name: of the file in messages.
        ending: one of `ENDINGS`.

    Raises:
        DataError: at once or while reading, if it is corrupt or truncated, or an archive of no file or several.
    """
    return _Member(raw, name) if ending == ".zip" else Decompressed(raw, name, ending)
