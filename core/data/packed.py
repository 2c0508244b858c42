"""Compressed files as the bytes they stand for."""

import io
import zlib
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, NamedTuple, Protocol

from hutch.core.data.ahead import ahead
from hutch.core.errors import DataError, at

_PIECE_BYTES, _PIECES_AHEAD = 1 << 19, 4


class _Decoder(Protocol):
    """What zlib's and zstandard's decompression objects share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Format(NamedTuple):
    """A format's name, what makes a decoder, the error of corrupt data, and how much is unpacked at once.

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


ENDINGS = {".gz": _gzip, ".zst": _zstd}
"""Endings of compressed files, and how they are unpacked."""


class Decompressed(io.RawIOBase):
    """A compressed file, which may consist of several members or frames, as the bytes it stands for.

    A thread of its own unpacks it, a few pieces ahead.

    Args:
        raw: the file, open for reading.
        name: what messages call it.
        suffix: one of `ENDINGS`.

    Raises:
        DataError: while reading, if it is corrupt or truncated.
    """

    def __init__(self, raw: Any, name: str, suffix: str) -> None:
        self._raw = raw
        self._name = name
        self._format = ENDINGS[suffix]()
        self._pieces = ahead(self._joined(), _PIECES_AHEAD)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with what is available, at least one byte; 0 at the end."""
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece = memoryview(piece)
        size = min(len(buffer), len(self._piece))
        buffer[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def close(self) -> None:
        """Let the thread end."""
        self._pieces.close()
        super().close()

    def _joined(self) -> Iterator[memoryview]:
        """Pieces so large that handing them from thread to thread costs little, in buffers that are used in turn.

        There is one more buffer than pieces ahead, since the reader of a piece may still hold the one before.
        """
        pieces = self._unpack()
        for buffer in cycle([bytearray(_PIECE_BYTES) for _ in range(_PIECES_AHEAD + 1)]):
            filled, failure = 0, None
            try:
                while filled < _PIECE_BYTES and (piece := next(pieces, None)) is not None:
                    buffer[filled : filled + len(piece)] = piece
                    filled += len(piece)
            except DataError as error:
                failure = error
            if filled:
                yield memoryview(buffer)[:filled]
            if failure is not None:
                raise failure
            if filled < _PIECE_BYTES:
                return

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
