"""Names as Arrow has them: the bytes of all, and where each begins; a list of text takes several times the memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from operator import index
from typing import overload

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 14


class Names(Sequence[str]):
    """Texts that do not change.

    Args:
        offsets: int64 (names + 1), where each begins and the last ends.
        text: uint8, UTF-8 of all.

    >>> names = Names.of(["ann", "", "béa"])
    >>> len(names), names[2], names[:2] == ["ann", ""], names.index("béa")
    (3, 'béa', True, 2)
    """

    __slots__ = ("_offsets", "_text")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
        self._offsets, self._text = offsets, text

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Names from texts."""
        if isinstance(names, cls):
            return names
        left, lengths, parts = iter(names), [np.zeros(1, np.int64)], []
        while block := [name.encode() for name in islice(left, _BLOCK)]:
            lengths.append(np.fromiter(map(len, block), np.int64, len(block)))
            parts.append(np.frombuffer(b"".join(block), np.uint8))
        return cls(np.cumsum(np.concatenate(lengths)), np.concatenate(parts) if parts else np.empty(0, np.uint8))

    def broken(self) -> int | None:
        """The number of the first name that is not UTF-8; None if all are."""
        for first in range(0, len(self), _BLOCK):
            offsets = self._offsets[first : first + _BLOCK + 1]
            for number, (begin, end) in (
                enumerate(pairwise(offsets.tolist()), first) if not self._is_text(offsets) else ()
            ):
                try:
                    bytes(self._text[begin:end]).decode()
                except UnicodeDecodeError:
                    return number
        return None

    def _is_text(self, offsets: NDArray[np.int64]) -> bool:
        """Whether some names, taken together, are UTF-8, and none begins inside a character."""
        begins = offsets[:-1][np.diff(offsets) > 0]
        try:
            bytes(self._text[offsets[0] : offsets[-1]]).decode()
        except UnicodeDecodeError:
            return False
        return not (self._text[begins] & 0xC0 == 0x80).any()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "Names": ...
    def __getitem__(self, place: int | slice) -> "str | Names":
        if isinstance(place, slice):
            first, stop, step = place.indices(len(self))
            if step != 1:
                return Names.of(self[i] for i in range(first, stop, step))
            stop = max(first, stop)
            begin, end = self._offsets[first], self._offsets[stop]
            return Names(self._offsets[first : stop + 1] - begin, self._text[begin:end])
        number = index(place)
        if not -len(self) <= number < len(self):
            raise IndexError(f"name {number} of {len(self)}")
        number %= len(self)
        return bytes(self._text[self._offsets[number] : self._offsets[number + 1]]).decode()

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _BLOCK):
            offsets = self._offsets[first : first + _BLOCK + 1]
            text, places = bytes(self._text[offsets[0] : offsets[-1]]), (offsets - offsets[0]).tolist()
            for begin, end in zip(places[:-1], places[1:], strict=True):
                yield text[begin:end].decode()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            same = np.array_equal(np.diff(self._offsets), np.diff(other._offsets))
            return same and self._used() == other._used()
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def _used(self) -> bytes:
        return bytes(self._text[self._offsets[0] : self._offsets[-1]])

    def __repr__(self) -> str:
        return f"Names.of({list(self)!r})"
