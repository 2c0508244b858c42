"""Columns of text as words, each a feature named by the word, as in VW's text `|comment nice words`.

A word is a run of ASCII letters, digits, underscores and of anything beyond ASCII, in lower case. A word that occurs
twice is two features. The result is the same for every kind of table.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import inlined
from hutch.core.text.hashing import PADDING, hash_name

_WORD = re.compile(r"[0-9A-Za-z_\u0080-\U0010ffff]+")


def words_of(text: str) -> list[str]:
    """The words of one text, as the kernels find them.

    >>> words_of("Don't panic: 42 ÜBER_alles!")
    ['don', 't', 'panic', '42', 'über_alles']
    """
    return _WORD.findall(text.lower())


@inlined
def _of_word(byte):
    letter = byte | 32
    return byte >= 128 or 97 <= letter <= 122 or 48 <= byte <= 57 or byte == 95


@compiled
def _joined(data, starts, stops, out):
    """Write the texts one after the other, each ended by a NUL, blanks for NULs within; returns the bytes written."""
    to = 0
    for row in range(len(starts)):
        for at in range(starts[row], stops[row]):
            out[to] = data[at] if data[at] != 0 else 32
            to += 1
        out[to] = 0
        to += 1
    return to


@compiled
def _hashed(text, size, seed, hash_all, mask, counts, indices):
    """Hash the words of NUL-terminated texts; returns their number, `counts` per text."""
    address = int64(text.ctypes.data)
    at, row, found = 0, 0, 0
    while at < size:
        if text[at] == 0:
            row += 1
            at += 1
        elif _of_word(text[at]):
            start = at
            while _of_word(text[at]):
                at += 1
            indices[found] = hash_name(address + start, address + at, seed, hash_all) & mask
            counts[row] += 1
            found += 1
        else:
            at += 1
    return found


def hash_words(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    seed: int,
    hash_all: bool,
    mask: np.uint32,
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The words of some texts.

    Args:
        data: bytes; text i is `data[starts[i]:stops[i]]`.
        starts, stops: int64 (texts).
        seed: hash of the words' namespace.
        hash_all: hash words of digits, too.
        mask: of the indices.

    Returns:
        The number of words of each text, int64 (texts), and the indices of all, uint32.
    """
    room = np.empty(int((stops - starts).sum()) + len(starts), np.uint8)
    size = _joined(data, starts, stops, room)
    lower = room[:size].tobytes().decode(errors="surrogateescape").lower().encode(errors="surrogateescape")
    text = np.frombuffer(lower + bytes(PADDING), np.uint8)
    counts, indices = np.zeros(len(starts), np.int64), np.empty(len(lower) // 2 + 1, np.uint32)
    found = _hashed(text, len(lower), np.uint32(seed), hash_all, mask, counts, indices)
    return counts, indices[:found]


def with_words(
    width: int,
    rows: int,
    single: tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int32]],
    words: Sequence[tuple[NDArray[np.int64], NDArray[np.uint32]]],
    numbers: Sequence[int],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32], NDArray[np.int32]]:
    """Rows of `width` features each, and behind these the words of some columns.

    Args:
        width, rows: of the features that are not words.
        single: their indices, values and namespaces' numbers, row-major.
        words: of each column of text, the results of `hash_words`.
        numbers: of each column of text, its namespace's number.

    Returns:
        The rows' offsets, int64 (rows + 1), and indices, values and namespaces' numbers of all features.
    """
    sizes = np.full(rows, width, np.int64)
    for counts, _ in words:
        sizes += counts
    row_ptr = np.zeros(rows + 1, np.int64)
    np.cumsum(sizes, out=row_ptr[1:])
    total = int(row_ptr[-1])
    indices, values, spaces = np.empty(total, np.uint32), np.ones(total, np.float32), np.empty(total, np.int32)
    places = (row_ptr[:-1, None] + np.arange(width)).ravel()
    indices[places], values[places], spaces[places] = single
    begins = row_ptr[:-1] + width
    for (counts, found), number in zip(words, numbers, strict=True):
        before = np.cumsum(counts) - counts
        places = np.repeat(begins - before, counts) + np.arange(len(found))
        indices[places], spaces[places] = found, number
        begins = begins + counts
    return row_ptr, indices, values, spaces
