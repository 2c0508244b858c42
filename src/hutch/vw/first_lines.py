"""The first lines of data, for `--examples`."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hutch.core.data.chunks import Chunk, Chunks, Source
from hutch.core.text.columns import FEED


class FirstLines:
    """Opens sources as chunks of text that end with line number `count` of all together, empty lines included.

    Args:
        count: lines to read in each pass.
        sources: how many sources a pass opens, one after the other.
    """

    def __init__(self, count: int, sources: int) -> None:
        self._count, self._sources = count, sources
        self.left, self._opened = count, 0

    def __call__(self, sources: Sequence[Source], **how: Any) -> Chunks:
        """The chunks of some sources."""
        if sources and self._opened % self._sources == 0:
            self.left = self._count
        self._opened += len(sources)
        return _Chunks(self, sources, **how)


class _Chunks(Chunks):
    def __init__(self, lines: FirstLines, sources: Sequence[Source], **how: Any) -> None:
        super().__init__(sources, **how)
        self._first = lines

    def read(self, valid: int) -> Iterator[Chunk]:
        """The chunks; the last one ends with the last line."""
        for chunk in super().read(valid):
            ends = np.flatnonzero(chunk.text == FEED)
            if len(ends) > self._first.left:
                size = int(ends[self._first.left - 1]) + 1 if self._first.left else 0
                self._first.left = 0
                if size:
                    yield chunk._replace(text=chunk.text[:size], size=size)
                return
            self._first.left -= len(ends)
            yield chunk
