"""Bytes in, tables out: reading compressed files, and replacing a file only when the new one is complete."""

import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import zstandard

from hutch.core.errors import DataError, HutchError, at


def display_name(path: str | Path) -> str:
    """How errors name a source: its path, or `<stdin>` for `-`."""
    return "<stdin>" if str(path) == "-" else str(path)


def read_bytes(path: str | Path) -> bytes:
    """The whole content of a file, unpacked if its first bytes say gzip or Zstandard; `-` is standard input.

    Raises:
        DataError: the file cannot be read or is damaged.
    """
    name = display_name(path)
    try:
        data = sys.stdin.buffer.read() if name == "<stdin>" else Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                return reader.read()
    except (EOFError, zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise DataError(at(name, None, None, f"damaged compressed file: {error}")) from None
    except OSError as error:
        raise DataError(at(name, None, None, f"cannot be read: {error.strerror}")) from None
    return data


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well: written aside, synced, renamed.

    Raises:
        HutchError: the file cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise HutchError(at(str(path), None, None, f"cannot be written: {error.strerror}")) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise HutchError(at(str(path), None, None, f"cannot be written: {error.strerror}")) from None
        raise
