"""CSV and TSV files with a header: a kernel splits records into cells, another turns cells into features.

Quoting follows RFC 4180. A cell that is a number is the feature `column` with that value, any other cell is the feature
`column:cell` of VW's text, whatever bytes it holds; an empty cell is no feature.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy import float32, int64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import Namespaces, as_labels, assemble, hash_names
from hutch.core.data.chunks import read_chunks
from hutch.core.data.roles import Roles
from hutch.core.errors import DataError, at
from hutch.core.hooks import hookimpl
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.text.hashing import PADDING, hash_name, hash_namespace
from hutch.core.text.numbers import has_digit, read_float
from hutch.core.text.parser import ParserOptions

_QUOTE, _LINE_FEED, _RETURN, _BLANK = 34, 10, 13, 32
_NUMERIC_ROLES = ("label", "importance", "base")


@compiled
def _split(text, delimiter, clean, cells, records, lines):
    """Split whole records into cells: `clean[cells[2c]:cells[2c + 1]]`, unquoted and followed by a blank.

    Record r has the cells from `records[r]` to `records[r + 1]` and begins on line `lines[r]` (from 0). Blank lines are
    passed over. Returns the number of records, the bytes and the lines they used; an open quote leaves its record out.
    """
    record, cell, to, at, used, line, lines_used = 0, 0, 0, 0, 0, 0, 0
    while at < len(text):
        if text[at] == _LINE_FEED or (text[at] == _RETURN and at + 1 < len(text) and text[at + 1] == _LINE_FEED):
            at += 1 if text[at] == _LINE_FEED else 2
            line += 1
            used, lines_used = at, line
            continue
        lines[record] = line
        ended = False
        while not ended:
            cells[2 * cell] = to
            quoted = at < len(text) and text[at] == _QUOTE
            at += quoted
            while at < len(text):
                byte = text[at]
                if quoted and byte == _QUOTE:
                    if at + 1 < len(text) and text[at + 1] == _QUOTE:
                        at += 1
                    else:
                        quoted = False
                        at += 1
                        continue
                elif not quoted and (byte == delimiter or byte == _LINE_FEED):
                    break
                line += byte == _LINE_FEED
                clean[to] = byte
                to += 1
                at += 1
            if quoted or at == len(text):
                return record, used, lines_used
            ended = text[at] == _LINE_FEED
            if ended and to > cells[2 * cell] and text[at - 1] == _RETURN:
                to -= 1
            cells[2 * cell + 1] = to
            clean[to] = _BLANK
            to, cell, at = to + 1, cell + 1, at + 1
        line += 1
        record += 1
        records[record] = cell
        used, lines_used = at, line
    return record, used, lines_used


@helper
def _number(clean, start, stop):
    """The cell as a number, blanks around it allowed, and whether it is one."""
    while stop > start and clean[stop - 1] == _BLANK:
        stop -= 1
    start, stop = int64(clean.ctypes.data) + start, int64(clean.ctypes.data) + stop
    number, used = read_float(start, stop)
    return number, used == stop - start and used > 0 and (has_digit(start, stop) or number != 0)


@compiled
def _features(clean, cells, width, positions, hashes, words, hash_all, mask, indices, values):
    """Fill the features, row-major: column `positions[k]` has the hash `hashes[k]`; `words[k]`: never a number."""
    address = int64(clean.ctypes.data)
    for feature in range(len(values)):
        row, k = feature // len(positions), feature % len(positions)
        cell = row * width + positions[k]
        start, stop = cells[2 * cell], cells[2 * cell + 1]
        values[feature] = float32(stop > start)
        if not words[k]:
            number, good = _number(clean, start, stop)
            if good:
                indices[feature], values[feature] = hashes[k] & mask, number
                continue
        indices[feature] = hash_name(address + start, address + stop, hashes[k], hash_all) & mask


@compiled
def _numbers(clean, cells, width, position, missing, out):
    """A column of numbers; returns the first row that holds something else, -1 if none does."""
    for row in range(len(out)):
        start, stop = cells[2 * (row * width + position)], cells[2 * (row * width + position) + 1]
        out[row] = missing
        if stop > start:
            out[row], good = _number(clean, start, stop)
            if not good:
                return row
    return -1


class CsvReader:
    """The records below one header as batches.

    Args:
        names: the header's names.
        options: how names are hashed, and the kind of the labels.
        columns: what each column stands for; see `hutch.core.data.roles.Roles`.
        source: what messages call the file.
    """

    def __init__(
        self, names: list[str], options: ParserOptions, columns: Roles | Mapping[str, Any] | None, source: str
    ) -> None:
        roles, spaces = Roles.of(columns), Namespaces(options)
        features = roles.features(names)
        seeds = [hash_namespace(column.namespace, options.hash_seed, options.hash) for column in features]
        categorical = {str(name) for name in roles.categorical}
        self._options, self._source, self._names = options, source, names
        self._roles = {role: roles.position(role, names) for role in (*_NUMERIC_ROLES, "tag", "group")}
        self._used = [column.name for column in features]
        self._positions = np.array([column.position for column in features], np.int64)
        self._words = np.array([column.name in categorical for column in features], np.bool_)
        self._numbers = np.array([spaces.number(column.namespace) for column in features], np.int32)
        self._ids = spaces.ids
        self._hashes = hash_names(self._used, np.array(seeds or [0], np.uint32), options)
        self._group, self._last_group = 0, b""
        self._begun = False

    def batch(self, clean: NDArray[np.uint8], cells: NDArray[np.int64], rows: int, lines: NDArray[np.int64]) -> Batch:
        """The batch of the records whose cells these are; `lines` holds their line numbers."""
        width, used, options = len(self._names), len(self._used), self._options
        indices, values = np.zeros(rows * used, np.uint32), np.zeros(rows * used, np.float32)
        mask = np.uint32((1 << options.bits) - 1)
        if used:
            hash_all = options.hash == "all"
            _features(clean, cells, width, self._positions, self._hashes, self._words, hash_all, mask, indices, values)
        found: dict[str, NDArray[Any]] = {}
        for role, name, missing in (("label", "labels", np.nan), ("importance",) * 2 + (1.0,), ("base",) * 2 + (0.0,)):
            position = self._roles[str(role)]
            if position is not None:
                found[str(name)] = out = np.zeros(rows, np.float32)
                row = _numbers(clean, cells, width, position, np.float32(missing), out)
                if row >= 0:
                    got = self._cell(clean, cells, row, position).decode(errors="replace")
                    text = f"column {self._names[position]!r} ({role}): got {got!r}, wanted a number"
                    raise DataError(at(self._source, int(lines[row]), None, text))
        if "labels" in found:
            found["labels"] = as_labels(found["labels"])
        if self._roles["tag"] is not None:
            tags = [self._cell(clean, cells, row, self._roles["tag"]) for row in range(rows)]
            found["tag_ptr"] = np.concatenate([[0], np.cumsum([len(tag) for tag in tags])]).astype(np.int64)
            found["tags"] = np.frombuffer(b"".join(tags), np.uint8)
        if self._roles["group"] is not None:
            found["group"] = self._groups([self._cell(clean, cells, row, self._roles["group"]) for row in range(rows)])
        return assemble(
            np.arange(rows + 1, dtype=np.int64) * used,
            indices,
            values,
            np.tile(self._numbers, rows),
            self._ids,
            options,
            self._source,
            int(lines[0]),
            lambda i: f"column {self._used[i % used]!r}",
            **found,
        )

    def _cell(self, clean: NDArray[np.uint8], cells: NDArray[np.int64], row: int, position: int) -> bytes:
        cell = row * len(self._names) + position
        return clean[cells[2 * cell] : cells[2 * cell + 1]].tobytes()

    def _groups(self, words: list[bytes]) -> NDArray[np.int64]:
        groups = np.zeros(len(words), np.int64)
        for row, word in enumerate(words):
            self._group += self._begun and word != self._last_group
            self._begun, self._last_group = True, word
            groups[row] = self._group
        return groups


def read_csv(
    path: str, options: ParserOptions, columns: Roles | Mapping[str, Any] | None = None, delimiter: str = ","
) -> Iterator[Batch]:
    """Batches of a CSV file whose first record names the columns.

    Args:
        path: the file; `.gz` and `.zst` are unpacked; `-` is standard input.
        options: how names are hashed, and the kind of the labels.
        columns: what each column stands for; see `hutch.core.data.roles.Roles`.
        delimiter: one byte.

    Raises:
        ConfigError: a column that is named but not in the header.
        DataError: an empty file, a record with too few or too many cells, an open quote, a label that is no number.
    """
    reader: CsvReader | None = None
    left, line, source = b"", 1, path
    for chunk in read_chunks([path]):
        source = chunk.source
        data = left + bytes(chunk.data)
        if reader is None and not left:
            data = data.removeprefix(b"\xef\xbb\xbf")
        text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        ends = int(np.count_nonzero(text == _LINE_FEED))
        most = int(np.count_nonzero(text == ord(delimiter))) + ends
        clean, cells = np.zeros(len(text) + most + PADDING, np.uint8), np.zeros(2 * most + 2, np.int64)
        records, lines = np.zeros(ends + 1, np.int64), np.zeros(ends + 1, np.int64)
        rows, used, lines_used = _split(text, ord(delimiter), clean, cells, records, lines)
        left = data[used:]
        lines = lines + line
        line += lines_used
        first = 0
        if reader is None and rows:
            header = [clean[cells[2 * c] : cells[2 * c + 1]].tobytes() for c in range(records[1])]
            try:
                names = [name.decode() for name in header]
            except UnicodeDecodeError as error:
                got = f"the header is not UTF-8 (byte {error.object[error.start]:#04x})"
                raise DataError(at(source, 1, None, f"{got}, wanted CSV in UTF-8")) from None
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise DataError(at(source, 1, None, f"column {twice!r} is there twice, wanted names that differ"))
            reader, first = CsvReader(names, options, columns, source), 1
        if reader is None or rows == first:
            continue
        sizes = np.diff(records[first : rows + 1])
        if (sizes != len(names)).any():
            bad = int(np.argmax(sizes != len(names)))
            text_ = f"got {sizes[bad]} cells, wanted {len(names)} as in the header"
            raise DataError(at(source, int(lines[first + bad]), None, text_))
        yield reader.batch(clean, cells[2 * records[first] :], rows - first, lines[first:])
    if reader is None and not left:
        raise DataError(at(source, None, None, "is empty, wanted a header and records"))
    if left:
        raise DataError(at(source, line, None, "a quote is not closed before the end of the file"))


def _read_tsv(path: str, options: ParserOptions, columns: Any = None) -> Iterator[Batch]:
    return read_csv(path, options, columns, "\t")


@hookimpl
def hutch_register_readers(register: Callable[..., None]) -> None:
    """Register the readers for `.csv` and `.tsv`."""
    register(read_csv, name=".csv")
    register(_read_tsv, name=".tsv")
