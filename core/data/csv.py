"""CSV and TSV files with a header as batches: a kernel turns the cells of `hutch.core.data.cells` into features.

A cell that is a number is the feature `column` with that value, any other cell is the feature
`column:cell` of VW's text, whatever bytes it holds; an empty cell is not a feature.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy import float32, int64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import WANTED, Groups, Namespaces, as_labels, assemble, hash_names, joined_texts
from hutch.core.data.cells import Records, blank, names_of, read_records
from hutch.core.data.choices import Choices
from hutch.core.data.class_names import class_names, numbers_wanted
from hutch.core.data.disguises import COARSE, coarse, disguise, numbers_for_names, row_numbers
from hutch.core.data.label_lists import label_lists
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.watch import Watch
from hutch.core.data.words import hash_words, with_words
from hutch.core.errors import DataError, Problem, at, reading, shortened
from hutch.core.kernel.cache import compiled
from hutch.core.text.decimals import read_decimal
from hutch.core.text.hashing import hash_name, hash_namespace
from hutch.core.text.parser import ParserOptions

_NUMERIC_ROLES = ("label", "importance", "base")
_NO_UTF8 = "\ufffd"  # in place of bytes that are not UTF-8
_LOOKED_AT = 200  # cells of a column in a piece of the file
_COMMA, _POINT, _ZERO, _BESIDE_DIGITS = 44, 46, 48, (43, 45, 69, 101)  # signs and exponents
_SIGNS, _THREE = (43, 45), 3


@compiled
def _features(clean, cells, width, positions, hashes, words, hash_all, mask, indices, values, named):
    """Fill the features, row-major: column `positions[k]` has the hash `hashes[k]`; `words[k]`: never a number.

    `named[0, k]` counts the cells that are words, `named[1, k]` those of them that are blank.
    """
    address, feature = int64(clean.ctypes.data), 0
    for row in range(len(values) // len(positions)):
        for k in range(len(positions)):
            cell = row * width + positions[k]
            start, stop = address + cells[2 * cell], address + cells[2 * cell + 1]
            indices[feature], values[feature] = hashes[k] & mask, float32(1) if stop > start else float32(np.nan)
            number, good = (float32(0), False) if words[k] else read_decimal(start, stop)
            if good:
                values[feature] = number
            else:
                indices[feature] = hash_name(start, stop, hashes[k], hash_all) & mask
                named[0, k] += stop > start
                named[1, k] += stop > start and blank(start, stop)
            feature += 1


@compiled
def _numbers(clean, cells, width, position, missing, out):
    """A column of numbers; returns the first row that is not one, -1 if all are."""
    address = int64(clean.ctypes.data)
    for row in range(len(out)):
        cell = row * width + position
        start, stop = address + cells[2 * cell], address + cells[2 * cell + 1]
        out[row] = missing
        if stop > start:
            out[row], good = read_decimal(start, stop)
            if not good:
                return row
    return -1


@compiled
def _points_for_commas(clean, cells, width, rows, position):
    """Write the only comma of each cell of a column that has but digits, signs and an exponent beside it as a point.

    Returns the first row whose cell has the form of 1.200, where the point may part thousands; -1 if none has.
    """
    for row in range(rows):
        cell = row * width + position
        start, stop = cells[2 * cell], cells[2 * cell + 1]
        found, point, digits, others = -1, -1, 0, 0
        for place in range(start, stop):
            if clean[place] == _COMMA and found < 0:
                found = place
            elif _ZERO <= clean[place] < _ZERO + 10:
                digits += 1
            elif clean[place] not in _BESIDE_DIGITS:
                point = place
                others += 1
        if found >= 0 and others == 0:
            clean[found] = _POINT
        elif others == 1 and clean[point] == _POINT and stop - point == _THREE + 1:
            start += clean[start] in _SIGNS
            if 0 < point - start <= _THREE and digits == stop - start - 1 and clean[start] != _ZERO:
                return row
    return -1


class CsvReader:
    """The records below one header as batches.

    Args:
        names: the header's names.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.
        source: the file's name in messages.
    """

    def __init__(self, names: list[str], options: ParserOptions, columns: AnyRoles, source: str = "") -> None:
        roles, spaces = Roles.of(columns), Namespaces(options)
        texts = roles.texts(names)
        features = [column for column in roles.features(names) if column.position not in texts]
        self._texts = [column for column in roles.features(names) if column.position in texts]
        seeds = [hash_namespace(column.namespace, options.hash_seed, options.hash) for column in features]
        categorical = {str(name) for name in roles.categorical}
        self._options, self._names = options, names
        self._classes = class_names(roles.classes, options.label)
        self._roles = {role: roles.position(role, names) for role in (*_NUMERIC_ROLES, "tag", "group")}
        self._used = [column.name for column in features]
        self._positions = np.array([column.position for column in features], np.int64)
        self._words = np.array([column.name in categorical for column in features], np.bool_)
        self._numbers = np.array([spaces.number(column.namespace) for column in features], np.int32)
        self._text_numbers = [spaces.number(column.namespace) for column in self._texts]
        self._text_seeds = [hash_namespace(column.namespace, options.hash_seed, options.hash) for column in self._texts]
        self._ids = spaces.ids
        self._hashes = hash_names(self._used, np.array(seeds or [0], np.uint32), options)
        self._groups = Groups()
        self._decimals = [self._positions[k] for k in np.flatnonzero(~self._words)] + [
            position for role in _NUMERIC_ROLES if (position := self._roles[role]) is not None
        ]
        self._decimals *= roles.decimal == ","
        self._watch = roles.see(source, self._used + [column.name for column in self._texts])
        self._source, self._first = source, True

    def _doubt(
        self,
        watch: Watch,
        records: Records,
        named: NDArray[np.int64],
        indices: NDArray[np.uint32],
        values: NDArray[np.float32],
    ) -> None:
        """Look at words, `named` in each column, that may be something else, and once at numbers."""
        used, mask = len(self._used), np.uint32((1 << self._options.bits) - 1)
        if self._first:
            self._first = False
            if text := numbers_for_names(self._names):
                watch.say(self._source, self._used[0] if self._used else "", text)
            for k in np.flatnonzero(named[0] == 0).tolist():
                if text := self._doubt_numbers(k, records, values[k::used]):
                    watch.say(self._source, self._used[k], text)
        for k in np.flatnonzero(named[0] * ~self._words).tolist():
            if watch.looks(self._used[k]):
                there = ~np.isnan(values[k::used])
                rows = np.flatnonzero(there & (indices[k::used] != self._hashes[k] & mask))
                looked = rows[:: 1 + len(rows) // _LOOKED_AT]
                words = records.some(int(self._positions[k]), looked) + [" "] * bool(named[1, k])
                if strange := next((word for word in words if _NO_UTF8 in word), ""):
                    got = f"got {shortened(strange)!r}, wanted UTF-8: such a word is another one than in UTF-8"
                    watch.say(self._source, self._used[k], f"column {self._used[k]!r}: {got}; iconv -f latin1 -t utf8")
                    continue
                numbers, share = int(np.count_nonzero(there) - named[0, k]), len(words) / int(named[0, k])
                if found := disguise(words, numbers, min(share, 1.0)):
                    watch.say(self._source, self._used[k], found.text(self._used[k], "file"))

    def _doubt_numbers(self, k: int, records: Records, values: NDArray[np.float32]) -> str:
        """Warning about a column of numbers in the first records; empty if there is none."""
        position, there = int(self._positions[k]), values[~np.isnan(values)].astype(float)
        if position == 0 and (text := row_numbers(self._used[k], values[:_LOOKED_AT].tolist(), "file")):
            return text
        low, high = float(there.min(initial=np.inf)), float(there.max(initial=-np.inf))
        if not high - low < 2 * max(high, -low) / COARSE:
            return ""
        cells = records.some(position, np.arange(0, len(records), 1 + len(records) // _LOOKED_AT))
        exact = [float(cell) for cell in cells if cell.strip()]
        return coarse(self._used[k], min(exact), max(exact)) if exact else ""

    def _thousands(self, records: Records, position: int, row: int) -> Problem:
        """The error for a cell such as 1.200 in a file with decimal commas."""
        cell = records.column(position)[row].decode()
        wanted = f"wanted {cell.replace('.', '')} or {cell.replace('.', ',')}, as decimals have a comma"
        names = "; list the column under input.columns.categorical for names"
        names *= position not in self._roles.values()
        return Problem(f"column {self._names[position]!r}: got {cell!r}, {wanted}{names}", int(records.lines[row]))

    def _label_lists(self, records: Records, position: int) -> dict[str, NDArray[Any]]:
        """The columns of labels that are more than a number."""

        def wrong(row: int, text: str) -> Problem:
            return Problem(f"column {self._names[position]!r} (label): {text}", int(records.lines[row]))

        cells = [cell.decode(errors="replace") for cell in records.column(position)]
        return label_lists(self._options.label, cells, wrong, self._options.chosen_alone)

    def batch(self, records: Records) -> Batch:
        """The batch of some records below the header."""
        rows, used, options = len(records), len(self._used), self._options
        clean, cells, width = records.clean, records.cells, records.width
        indices, values = np.empty(rows * used, np.uint32), np.empty(rows * used, np.float32)
        mask, hash_all = np.uint32((1 << options.bits) - 1), options.hash == "all"
        for position in self._decimals:
            if (row := _points_for_commas(clean, cells, width, rows, position)) >= 0:
                raise self._thousands(records, position, row)
        if used:
            named = np.zeros((2, used), np.int64)
            columns = (self._positions, self._hashes, self._words)
            _features(clean, cells, width, *columns, hash_all, mask, indices, values, named)
            if self._watch is not None:
                self._doubt(self._watch, records, named, indices, values)
        found: dict[str, NDArray[Any]] = {}
        for role, name, missing in (("label", "labels", np.nan), ("importance",) * 2 + (1.0,), ("base",) * 2 + (0.0,)):
            position = self._roles[str(role)]
            if position is not None and role == "label" and self._options.label in WANTED:
                found.update(self._label_lists(records, position))
            elif position is not None:
                found[str(name)] = out = np.zeros(rows, np.float32)
                classes = self._classes if role == "label" else None
                if classes is not None:
                    row = classes.label_cells(records.column(position), out)
                else:
                    row = _numbers(clean, cells, width, position, np.float32(missing), out)
                if row >= 0:
                    got = records.column(position)[row].decode(errors="replace")
                    labels = records.column(position) if role == "label" else []
                    text = classes.wrong(got) if classes else f"got {shortened(got)!r}, {numbers_wanted(labels)}"
                    text = f"column {self._names[position]!r} ({role}): {text}"
                    raise Problem(text, int(records.lines[row]))
        if "labels" in found:
            found["labels"] = as_labels(found["labels"])
        if (position := self._roles["tag"]) is not None:
            found["tags"], found["tag_ptr"] = joined_texts(records.column(position))
        if (position := self._roles["group"]) is not None:
            found["group"] = self._groups.of(records.column(position))
        row_ptr, numbers = np.arange(rows + 1, dtype=np.int64) * used, np.tile(self._numbers, rows)
        if self._texts:
            words = [
                hash_words(clean, *records.bounds(column.position), seed, hash_all, mask)
                for column, seed in zip(self._texts, self._text_seeds, strict=True)
            ]
            single = (indices, values, numbers)
            row_ptr, indices, values, numbers = with_words(used, rows, single, words, self._text_numbers)
        return assemble(
            row_ptr,
            indices,
            values,
            numbers,
            self._ids,
            options,
            records.lines,
            lambda _, place: f"column {self._used[place]!r}",
            **found,
        )


def read_csv(path: str, options: ParserOptions, columns: AnyRoles = None, delimiter: str = ",") -> Iterator[Batch]:
    """Batches of a CSV file whose first record names the columns.

    Args:
        path: the file; `.gz` and `.zst` are unpacked; `-` is standard input.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.
        delimiter: one byte.

    Raises:
        ConfigError: a column that is named but not in the header.
        DataError: an empty file, a record with too few or too many cells, a malformed cell, a label that is not a
            number.
    """
    reader: CsvReader | None = None
    choices: Choices | None = None
    for records in read_records(path, delimiter, options.longest_line, partial(_refuse_delimiter, delimiter)):
        with reading(records.source):
            if reader is None:
                names, roles = names_of(records), Roles.of(columns)
                if roles.are_choices(options.label, names):
                    choices = Choices(names, options, roles)
                    options, roles = choices.options, choices.roles
                reader = CsvReader(names, options, roles, records.source)
                records = records.after(1)
            batch = reader.batch(records) if len(records) else None
            if choices is not None and batch is not None:
                batch = choices.decisions(batch, records.lines)
        if batch is not None:
            yield batch
    if reader is None:
        raise DataError(at(path, None, None, "is empty, wanted a header and records"))


_FORMATS = {",": ("commas", "csv"), ";": ("semicolons", "ssv"), "\t": ("tabs", "tsv")}
DELIMITERS = {f".{ending}": sign for sign, (_, ending) in _FORMATS.items()}
"""Between the cells of files with these endings."""


def _refuse_delimiter(delimiter: str, names: list[str], line: int) -> None:
    """Refuse a header that is one name with other delimiters in it.

    Raises:
        Problem: with the format that reads them, if there is one.
    """
    other = next((sign for sign in (*_FORMATS, "|") if sign in names[0] and sign != delimiter), "")
    if len(names) == 1 and other:
        what, ending = _FORMATS.get(other, (f"{other!r}", ""))
        advice = f"; --format {ending} reads {what}" if ending else ""
        got = f"got one column, {shortened(names[0])!r}, wanted {_FORMATS[delimiter][0]} between columns"
        raise Problem(got + advice, line)


def read_ssv(path: str, options: ParserOptions, columns: Any = None) -> Iterator[Batch]:
    return read_csv(path, options, columns, ";")


def read_tsv(path: str, options: ParserOptions, columns: Any = None) -> Iterator[Batch]:
    return read_csv(path, options, columns, "\t")
