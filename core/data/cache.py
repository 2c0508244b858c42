"""Parsed batches kept for later passes: in memory if they fit, in a file on request.

A file of batches records its origin: the options of the parser, and the system's metadata of every source
(size, inode, times of change). It is used only if all that is the same, and no source had changed right before the file
was begun: programs can set back the time of modification, but not that of the inode's change, which every write
advances, though in steps. Otherwise the text is parsed again, which takes no longer than to read and compare it.

Each block of arrays has a checksum (CRC-32), compared when the block is read for the first time, and so has the index.
"""

import json
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hutch.core.atomic import atomic_write
from hutch.core.batch import Batch, PinnedBatch, joined
from hutch.core.errors import DataError, at
from hutch.core.text.parser import ParserOptions
from hutch.core.version import version

IN_MEMORY = 1 << 27
"""At most this many bytes of batches are kept in memory for later passes."""

CACHE_ENDING = ".hutch-cache"

_KIND = b"HUTCH BATCHES "
_MAGIC = _KIND + b"1\n"
_ALIGNMENT = 64
_FEATURES_TOGETHER = 1 << 19  # batches of fewer are written together
_YOUNG = 2.0  # seconds: resolution of file systems' times, at worst
_NAMES = tuple(field.name for field in fields(Batch))


class DamagedCache(DataError):
    """A file of batches does not hold the bytes that were written; the sources are intact."""


class BatchMemory:
    """Copies of the batches of one pass, for the next ones.

    Args:
        limit: bytes; if the batches need more, none are kept.

    Attributes:
        batches: the copies; None until `finish` was called, and if there were too many.
    """

    def __init__(self, limit: int = IN_MEMORY) -> None:
        self._room = limit
        self._copies: list[Batch] = []
        self.batches: list[Batch] | None = None

    def add(self, batch: Batch) -> None:
        """Keep one more batch."""
        self._room -= sum(getattr(batch, name).nbytes for name in _NAMES)
        if self._room < 0:
            self._copies.clear()
        else:
            self._copies.append(PinnedBatch(**{name: getattr(batch, name).copy() for name in _NAMES}))

    def finish(self) -> None:
        """All batches of the pass have been added."""
        if self._room >= 0:
            self.batches = self._copies


class BatchCache:
    """A file of batches.

    Args:
        path: of the file.
        sources: paths of the text files that it replaces.
        options: how they are parsed.
        fresh: ignore an existing file.

    Attributes:
        ready: whether the file exists, is complete, and was made from the present sources.

    Raises:
        DataError: another kind of file is at `path`; it must not be replaced.
    """

    def __init__(self, path: str, sources: Sequence[str], options: ParserOptions, fresh: bool = False) -> None:
        self.path = path
        self._sources = list(sources)
        plain = asdict(replace(options, made=None, strict=False))
        self._options = {name: value for name, value in plain.items() if name != "longest_line"} | {
            "made": options.made.digest if options.made else None,
            "strict": None,
        }
        self._index: list[_Block] = []
        self._mapped: mmap.mmap | None = None
        self._views: list[Batch] = []
        if os.path.exists(path) and not _is_cache(path):
            raise DataError(at(path, None, None, "is not a Hutch cache and was left alone: wanted another name"))
        self.ready = not fresh and self._load()

    def _load(self) -> bool:
        try:
            with open(self.path, "rb") as file:
                tail = len(_MAGIC) + 12
                file.seek(-tail, os.SEEK_END)
                end = file.tell()
                checksum, size = (int.from_bytes(file.read(count), "little") for count in (4, 8))
                if file.read() != _MAGIC or size > end:
                    return False
                file.seek(end - size)
                text = file.read(size)
                if crc32(text) != checksum:
                    return False
                found = json.loads(text)
        except (OSError, ValueError):
            return False
        if found["options"] != self._options or found["sources"] != list(map(_known, self._sources)):
            return False
        self._index = [_Block(*block) for block in found["batches"]]
        last = max(max(source["modified"], source["changed"]) for source in found["sources"])
        return bool(found["begun"] - last / 1e9 > _YOUNG)

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Batch]:
        """The batches, mapped from the file; valid until the next one is requested.

        Raises:
            DamagedCache: a block differs from the one written.
        """
        if self._mapped is None:
            with open(self.path, "rb") as file:
                self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._views = []
        mapped = self._mapped
        passing = len(mapped) > IN_MEMORY and hasattr(mapped, "madvise")
        for number, block in enumerate(self._index):
            if number == len(self._views):
                self._views.append(self._view(mapped, block))
            yield self._views[number]
            if passing:  # blocks already read need not stay in memory
                start = block.start // mmap.PAGESIZE * mmap.PAGESIZE
                mapped.madvise(mmap.MADV_DONTNEED, start, block.stop - start)

    def _view(self, mapped: mmap.mmap, block: "_Block") -> Batch:
        try:
            if crc32(memoryview(mapped)[block.start : block.stop]) != block.checksum:
                raise ValueError("wrong checksum")
            return PinnedBatch(**{name: _array(mapped, *block.arrays[name]) for name in _NAMES})
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedCache(at(self.path, None, None, f"is damaged: {error}")) from None

    @contextmanager
    def writing(self) -> Iterator["CacheWriter"]:
        """Write the file while the sources are parsed; it appears if all went well and the sources are unchanged."""
        begun, before = time.time(), list(map(_known, self._sources))
        with suppress(_Abandoned), atomic_write(self.path) as file:
            writer = CacheWriter(file)
            yield writer
            writer.flush()
            if writer.abandoned or list(map(_known, self._sources)) != before:
                raise _Abandoned
            made = {"hutch_version": version(), "options": self._options}
            index = {**made, "sources": before, "begun": begun, "batches": writer.index}
            text = json.dumps(index).encode()
            file.write(text + crc32(text).to_bytes(4, "little") + len(text).to_bytes(8, "little") + _MAGIC)
            self._index, self._mapped = writer.index, None
        self.ready = bool(self._index)


class _Block(NamedTuple):
    """A batch in a file.

    Attributes:
        start, stop: its bytes.
        checksum: CRC-32 of them.
        arrays: by name, the place, length and type of each.
    """

    start: int
    stop: int
    checksum: int
    arrays: dict[str, tuple[int, int, str]]


class CacheWriter:
    """Receives the batches while a cache is written.

    Attributes:
        index: the block of each batch.
        abandoned: if set, no cache appears.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.index: list[_Block] = []
        self.abandoned = False
        self._file = file
        self._at = file.write(_MAGIC)
        self._held: list[Batch] = []
        self._features = 0

    def add(self, batch: Batch) -> None:
        """Write one more batch, small ones together: this reduces Python's work per batch in later passes."""
        self._held.append(joined(batch))
        self._features += len(batch.indices)
        if self._features >= _FEATURES_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write the added batches that are still held back."""
        if not self._held:
            return
        batch, places = joined(*self._held), {}
        self._held, self._features = [], 0
        start, checksum = self._at, 0
        for name in _NAMES:
            array: NDArray[Any] = np.ascontiguousarray(getattr(batch, name))
            padding = bytes(-self._at % _ALIGNMENT)
            places[name] = (self._at + len(padding), len(array), array.dtype.str)
            for part in (padding, array.data):
                checksum = crc32(part, checksum)
                self._at += self._file.write(part)
        self.index.append(_Block(start, self._at, checksum, places))


class _Abandoned(Exception):
    """Raised to leave the block of `atomic_write` without replacing the file."""


def _is_cache(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_KIND)) == _KIND


def _known(source: str) -> dict[str, int]:
    """The system's metadata of a file."""
    found = os.stat(source)
    changed = 0 if os.name == "nt" else found.st_ctime_ns  # there it is the time of creation
    return {"size": found.st_size, "inode": found.st_ino, "modified": found.st_mtime_ns, "changed": changed}


def _array(mapped: mmap.mmap, offset: int, length: int, kind: str) -> NDArray[Any]:
    return np.frombuffer(mapped, np.dtype(kind), length, offset) if length else np.zeros(0, np.dtype(kind))
