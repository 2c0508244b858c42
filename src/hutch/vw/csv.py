"""CSV as VW's text, for `--csv`: a column `_label`, a column `_tag`, all others features, `NAMESPACE|NAME` or `NAME`.

An empty cell is no feature, and one that is not a number is a word of the column, as in `column:word`.
"""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import int64, uint64

from hutch.core.data.assemble import joined_texts
from hutch.core.data.cells import read_records
from hutch.core.data.chunks import Chunk, Chunks, Source
from hutch.core.errors import DataError, UsageError, at, counted
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import inlined
from hutch.core.text.eight import copy_eight
from hutch.core.text.parser import PADDING
from hutch.vw.json.line import WITHIN
from hutch.vw.lines import NUMBER

_TAB, _FEED, _RETURN, _BLANK, _QUOTE, _COLON, _UNDERSCORE, _BAR = b"\t\n\r ':_|"
_SPECIAL = {"_label": (_QUOTE, "", ""), "_tag": (_BLANK, " '", " ")}
"""Columns that are no features: a byte that their cells must not hold, and two strings for `_write`."""


@inlined
def _copy(target, start, stop):
    """Copy the bytes at `start` to `stop`, 32 at a time, to address `target`; returns where they end there."""
    end = target + stop - start
    copy_eight(uint64(target), uint64(start))
    while target + 32 < end:
        target, start = target + 32, start + 32
        copy_eight(uint64(target), uint64(start))
    return end


@compiled
def _write(clean, words, cells, width, lines, line, positions, special, strings, bounds, out):
    """Write a line per record, and an empty one for each line from `line` on on which none begins; returns the bytes.

    Behind string 2k comes the cell at `positions[k]`; string 2k + 1 replaces both if it is empty. The last string ends
    a line. The first columns are `special`; of the others, `words` gets the cells without bytes that divide words.
    """
    for i in range(len(words)):
        byte = clean[i]
        divides = byte == _BLANK or byte == _TAB or byte == _FEED or byte == _RETURN or byte == _COLON or byte == _BAR
        words[i] = _UNDERSCORE if divides else byte
    for k in range(len(special)):
        for cell in range(positions[k], len(lines) * width, width):
            for i in range(cells[2 * cell], cells[2 * cell + 1]):
                divides = clean[i] == special[k] or clean[i] == _FEED or clean[i] == _BAR
                clean[i] = _UNDERSCORE if divides else clean[i]
    first = to = int64(out.ctypes.data)
    fixed, whole, divided = int64(strings.ctypes.data), int64(clean.ctypes.data), int64(words.ctypes.data)
    for row in range(len(lines)):
        while line < lines[row]:
            out[to - first] = _FEED
            to, line = to + 1, line + 1
        for k in range(len(positions)):
            cell, text = row * width + positions[k], whole if k < len(special) else divided
            start, stop = cells[2 * cell], cells[2 * cell + 1]
            string = 2 * k + (start == stop)
            to = _copy(to, fixed + bounds[string], fixed + bounds[string + 1])
            to = _copy(to, text + start, text + stop)
        to = _copy(to, fixed + bounds[2 * len(positions)], fixed + bounds[2 * len(positions) + 1])
        line += 1
    return to - first


def _columns(names: list[str], values: dict[str, str]) -> tuple[Any, ...]:
    """The arguments of `_write` from `positions` to `bounds`, for names of columns and values of namespaces."""
    special = [name for name in _SPECIAL if name in names]
    positions, lead, before = [names.index(name) for name in special], "" if "_tag" in names else " ", None
    strings = [text for name in special for text in _SPECIAL[name][1:]]
    features = [(k, *name.rpartition("|")[::2]) for k, name in enumerate(names) if name not in _SPECIAL]
    first = {space: k for k, space, _ in reversed(features)}
    for k, space, own in sorted(features, key=lambda feature: first[feature[1]]):
        opened = "" if space == before else f"{lead}|{space.translate(WITHIN)}{values.get(space, '')}"
        positions.append(k)
        strings += f"{opened} {own.translate(WITHIN)}:", opened
        lead, before = " ", space
    strings += "\n" if features else f"{lead}|\n", "\0" * PADDING
    texts = joined_texts([text.encode(errors="surrogateescape") for text in strings])
    return np.array(positions, np.int64), np.array([_SPECIAL[name][0] for name in special], np.uint8), *texts


class CsvChunks(Chunks):
    """Sources of CSV as chunks of text, all of which stay valid.

    Args:
        given: the command line.
        sources, how: as for `Chunks`.

    Raises:
        UsageError: a separator of several bytes, or a value of a namespace that is not a number.
    """

    def __init__(self, given: Namespace, sources: Iterable[Source], **how: Any) -> None:
        super().__init__(sources, **how)
        self._given, self._separator = given, {None: ",", r"\t": "\t"}.get(given.csv_separator, given.csv_separator)
        if len(self._separator.encode()) != 1 or self._separator in '"|:':
            wanted = 'wanted one letter of ASCII other than ", | and :'
            raise UsageError(f"--csv_separator: got {self._separator!r}, {wanted}")
        pairs = [pair.partition(":") for pair in (given.csv_ns_value or "").split(",") if pair]
        if wrong := next((name for name, _, value in pairs if not NUMBER.fullmatch(value)), None):
            raise UsageError(f"--csv_ns_value: got {wrong!r} without a number, wanted NAMESPACE:NUMBER")
        self._values = {name: f":{value}" for name, _, value in pairs}

    def read(self, valid: int) -> Iterator[Chunk]:
        """The chunks."""
        columns: tuple[Any, ...] = ()
        line, given = 1, self._given.csv_header
        chunks = Chunks(self.sources, self.chunk_bytes, self.whole_groups, self.longest_line)
        for records in read_records(chunks, self._separator, self.longest_line):
            if not columns:
                first = replace(records, lines=records.lines[:1])
                names = given.split(",") if given else next(first.rows("surrogateescape"))
                if len(names) != records.width:
                    text = f"got {counted(records.width, 'field')}, wanted {len(names)} as in --csv_header"
                    raise DataError(at(records.source, int(records.lines[0]), None, text))
                columns = _columns(names, self._values)
                records = records if self._given.csv_no_file_header else records.after(1)
            if len(records):
                clean, words = records.clean, np.empty_like(records.clean)
                out = np.empty(len(records) * len(columns[2]) + 2 * (len(clean) + PADDING), np.uint8)[PADDING:]
                cells = (clean, words, records.cells, records.width, records.lines)
                size, line = _write(*cells, line, *columns, out), int(records.lines[-1]) + 1
                yield Chunk(records.source, 0, chunks.position, out[:size], size)
