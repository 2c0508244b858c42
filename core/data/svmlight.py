"""Files in the svmlight (LIBSVM) format: `label [qid:group] index:value ... # comment`.

The feature of index 12 is the one that the text `label | 12:value` would have.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy import int64

from hutch.core.batch import Batch
from hutch.core.data.assemble import assemble
from hutch.core.data.cells import refuse_nul
from hutch.core.data.chunks import Chunks
from hutch.core.data.roles import Roles
from hutch.core.errors import Problem, reading, shortened
from hutch.core.hooks import hookimpl
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.text.decimals import read_decimal
from hutch.core.text.hashing import PADDING, hash_name, hash_namespace, namespace_id
from hutch.core.text.parser import ParserOptions

_BLANK, _HASH, _COLON, _LINE_FEED = 32, 35, 58, 10
_LABEL, _PAIR, _NUMBER, _GROUP = 1, 2, 3, 4
_LARGEST = (1 << 63) - 1
_WANTED = {
    _LABEL: "a number as the label",
    _PAIR: "index:value, the index an integer below 2^63",
    _NUMBER: "a number after ':'",
    _GROUP: "an integer below 2^63 after 'qid:'",
}


@helper
def _word_end(text, at, stop):
    while at < stop and text[at] > _BLANK and text[at] != _HASH:
        at += 1
    return at


@helper
def _integer(text, at, stop):
    """The digits `text[at:stop]` as an integer; -1 if they are not digits or it is too large."""
    number = int64(0) if at < stop else int64(-1)
    for i in range(at, stop):
        digit = int64(text[i]) - 48
        if digit < 0 or digit > 9 or number > (_LARGEST - digit) // 10:
            return int64(-1)
        number = number * 10 + digit
    return number


@compiled
def _parse(text, seed, hash_all, mask, groups, out):
    """Parse whole lines; returns rows, features, lines, and kind, first and last byte of what is malformed.

    `groups` is (number of the group, its qid, whether any row has been seen) and continues from chunk to chunk.
    """
    row_ptr, indices, values, labels, group, lines = out
    rows, features, line, at, size, address = 0, 0, 0, 0, len(text) - PADDING, int64(text.ctypes.data)
    while at < size:
        line += 1
        end = at
        while text[end] != _LINE_FEED:
            end += 1
        word = 0
        while at < end:
            if text[at] <= _BLANK:
                at += 1
                continue
            if text[at] == _HASH:
                break
            stop = _word_end(text, at, end)
            if word == 0:
                labels[rows], good = read_decimal(address + at, address + stop)
                if not good:
                    return rows, features, line, _LABEL, at, stop
                lines[rows], word, at = line, 1, stop
                continue
            colon = at
            while colon < stop and text[colon] != _COLON:
                colon += 1
            if colon == stop or colon == at:
                return rows, features, line, _PAIR, at, stop
            if word == 1 and colon - at == 3 and text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100:
                qid = _integer(text, colon + 1, stop)
                if qid < 0:
                    return rows, features, line, _GROUP, at, stop
                groups[0] += groups[2] and qid != groups[1]
                groups[1], groups[2] = qid, 1
            else:
                number, good = read_decimal(address + colon + 1, address + stop)
                if not good:
                    return rows, features, line, _NUMBER, at, stop
                if _integer(text, at, colon) < 0:
                    return rows, features, line, _PAIR, at, stop
                indices[features] = hash_name(address + at, address + colon, seed, hash_all) & mask
                values[features] = number
                features += 1
            word, at = 2, stop
        at = end + 1
        if word > 0:
            group[rows] = groups[0]
            rows += 1
            row_ptr[rows] = features
    return rows, features, line, 0, 0, 0


def read_svmlight(
    path: str, options: ParserOptions, columns: Roles | Mapping[str, Any] | None = None
) -> Iterator[Batch]:
    """Batches of an svmlight file.

    Args:
        path: the file; `.gz` and `.zst` are unpacked; `-` is standard input.
        options: how names are hashed, and the kind of the labels.
        columns: `{"namespaces": {"f": "*"}}` puts the features into the namespace `f` instead of the anonymous one.

    Raises:
        DataError: the first malformed place, or a file that cannot be read.
    """
    namespace = next(iter(Roles.of(columns).namespaces or {"": "*"}))
    seed = np.uint32(hash_namespace(namespace, options.hash_seed, options.hash))
    mask, ids = np.uint32((1 << options.bits) - 1), [namespace_id(namespace, options.namespaces)]
    groups, before = np.zeros(3, np.int64), 0
    for chunk in Chunks([path], longest_line=options.longest_line):
        data = bytes(chunk.data)
        with reading(chunk.source):
            refuse_nul(data, before + 1)
            text = np.frombuffer(data.rstrip(b"\n") + b"\n" + bytes(PADDING), np.uint8)
            most, rows = int(np.count_nonzero(text == _COLON)), int(np.count_nonzero(text == _LINE_FEED))
            row_ptr, labels, group = np.zeros(rows + 1, np.int64), np.zeros(rows, np.float32), np.zeros(rows, np.int64)
            indices, values, lines = np.zeros(most, np.uint32), np.zeros(most, np.float32), np.zeros(rows, np.int64)
            out = (row_ptr, indices, values, labels, group, lines)
            rows, features, line, bad, start, stop = _parse(text, seed, options.hash == "all", mask, groups, out)
            if bad:
                column = start - text[:start].tobytes().rfind(b"\n")
                got = shortened(text[start:stop].tobytes().decode(errors="replace"))
                raise Problem(f"got {got!r}, wanted {_WANTED[bad]}", before + line, column)
            batch = assemble(
                row_ptr[: rows + 1],
                indices[:features],
                values[:features],
                np.zeros(features, np.int32),
                ids,
                options,
                before + lines[:rows],
                lambda i: "a feature",
                labels=labels[:rows],
                group=group[:rows],
            )
        if rows:
            yield batch
        before += data.count(b"\n")


@hookimpl
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register the reader for `.svm`, `.svmlight` and `.libsvm`."""
    for ending in (".svm", ".svmlight", ".libsvm"):
        register(read_svmlight, name=ending)
