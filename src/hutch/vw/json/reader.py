"""Vowpal Wabbit's JSON: a line is an example, or with `_multi` a decision; and its format of logs, `--dsjson`.

An object is a namespace, however nested; a number is a feature's value, a text is part of its name. Keys that
begin with an underscore are the label, the tag, words of a text and so on; unknown ones are skipped.
"""

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch, joined
from hutch.core.data.chunks import Chunk, Chunks
from hutch.core.data.roles import AnyRoles
from hutch.core.errors import UsageError, reading, warn
from hutch.core.strict_json import HALF_PAIR, column_of, column_of_no_number, half_pair
from hutch.core.text import problems
from hutch.core.text.parser import PADDING, ParserOptions, TextParser
from hutch.core.text.problems import Problem
from hutch.vw.json.line import BAD_NAMESPACE, FEEDBACK_NAMESPACE, Line, Names, Path, Wrong, refuse
from hutch.vw.json.rows import UNGIVEN, Label, Rows, Store

_SHARED = float(SHARED_ROW)
_LOOK = 1 << 16
"""Number of bytes that a line nearly always fits in."""
_MOST_LINES = 256
"""Lines that go to Python before the kernel is tried again, after one that it has not read."""


def _lines(text: NDArray[np.uint8], count: int) -> list[bytes]:
    """The first lines of a text, at least one and at most `count`; none if it is empty."""
    part: bytes = text[:_LOOK].tobytes()
    if part and b"\n" not in part:
        part = text.tobytes()
    return part.split(b"\n", count)[:-1][:count]


class JsonReader:
    """Reads lines of JSON.

    Args:
        options: how names are hashed, and the kind of the labels.
        log: lines are those of `--dsjson`.
        chained: a text's hash begins with that of its key; else both are one name.
        left_out: names of namespaces, ` ` for none, and keys in them whose texts are skipped.
        observed: names of namespaces for what was observed after a decision, and for that it was definitely bad.

    Attributes:
        names: meaning of the words of lines.
        watchers: called with the names and each line's examples before the chain gets them.
    """

    def __init__(
        self,
        options: ParserOptions,
        *,
        log: bool,
        chained: bool,
        left_out: Iterable[tuple[str, str]] = (),
        observed: tuple[str, str] | None = None,
    ) -> None:
        self._options, self._log, self._chained = options, log, chained
        self.names = Names(options, chained)
        self.names.left_out = frozenset(left_out)
        if observed:
            self.names.observe(*observed)
        self._groups = 0
        self._of_slots = self.names.slots
        self._decides = options.label in ("action_costs", "logged_action") or self._of_slots
        self._compiled = options.label in ("simple", "multiclass") and not log
        self._compiled |= self._decides and not self._of_slots
        self._compiled &= not self.names.left_out
        self.watchers: list[Callable[[dict[int, str], Batch], Any]] = []

    def __call__(self, chunks: Chunks | list[Chunk], parser: TextParser) -> Iterator[Batch]:
        """The batches of one source; problems go to the parser's."""
        number, self.names.kept = 0, bool(self.watchers)
        for chunk in chunks:
            if number == 0:
                parser.start(chunk.source)
            self._store.begin(len(chunk.text))
            if self._compiled and not self.watchers:
                number = self._read_chunk(chunk, number, parser)
                yield from self._batches(parser)
                continue
            for line in bytes(chunk.data).removesuffix(b"\n").split(b"\n"):
                number, rows = number + 1, Rows()
                self._read_line(line, rows, number, parser)
                self._store.add(rows)
                for batch in self._batches(parser) if self.watchers else ():
                    for see in self.watchers:
                        see(self.names.by_index, batch)
                    yield batch
            yield from self._batches(parser)

    def parse(self, text: bytes, parser: TextParser) -> Batch:
        """Some lines as one batch; problems go to the parser's."""
        padded = np.zeros(len(text) + 1 + 2 * PADDING, np.uint8)
        padded[PADDING : PADDING + len(text)] = np.frombuffer(text, np.uint8)
        stop = PADDING + len(text) + (not text.endswith(b"\n"))
        padded[stop - 1] = ord("\n")
        chunk = Chunk(parser.source_name, 0, len(text), padded[PADDING:stop], len(text))
        self._store.begin(0)
        return joined(self._store.batch(self.names.ids), *map(joined, self([chunk], parser)))

    @cached_property
    def _store(self) -> Store:
        return Store(self._options, self._log, self._chained, self.names)

    def _read_chunk(self, chunk: Chunk, number: int, parser: TextParser) -> int:
        """Read a chunk, usual lines by the kernel; returns the number of its last line."""
        store, text = self._store, chunk.text
        at, stop = text.ctypes.data, text.ctypes.data + len(text)
        start, many = at, 1
        while at < stop:
            store.record.set(lines=0)
            at = store.read(at, stop, self.names.ids, self._groups)
            self._groups, number = store.count("decisions"), number + store.count("lines")
            many = 1 if store.count("lines") else min(2 * many, _MOST_LINES)
            rows = Rows()
            for line in _lines(text[at - start :], many):
                number, at = number + 1, at + len(line) + 1
                self._read_line(line, rows, number, parser)
            store.add(rows)
        return number

    def _read_line(self, line: bytes, rows: Rows, number: int, parser: TextParser) -> None:
        """Read a line into the rows, or record its mistake."""
        try:
            empty = self._read(line, rows)
        except Wrong as error:
            column = error.column or column_of(line.decode(errors="replace"), error.path)
            problem = Problem(problems.BAD_JSON, parser.source_name, number, column, error.got, error.wanted)
            parser.problems.note(problem, parser.options.strict)
            return
        for path in empty:
            column = column_of(line.decode(), path)
            got = line.decode()[column - 1 :][:20]
            problem = Problem(problems.KEPT_EMPTY_ACTION, parser.source_name, number, column, got)
            parser.problems.note(problem, strict=False)

    def _batches(self, parser: TextParser) -> Iterator[Batch]:
        """The content of the store as batches; empties the store."""
        if self._store.count("rows"):
            with reading(parser.source_name):
                batch = self._store.batch(self.names.ids)
            self._store.begin(0)
            yield batch

    def _read(self, line: bytes, rows: Rows) -> list[Path]:
        """Read a line into the rows, nothing of a wrong one; returns the places of actions without features."""
        if self._log and not line.startswith(b"{"):
            return []
        if not line.strip():
            raise Wrong("an empty line")
        try:
            pairs = json.loads(line, object_pairs_hook=tuple, parse_constant=refuse)
        except json.JSONDecodeError as error:
            raise Wrong(error.msg, column=error.colno) from None
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode(errors="replace")) + 1
            raise Wrong(str(error)[:80], column=column) from None
        except (RecursionError, ValueError) as error:
            raise Wrong(str(error)[:80], column=1) from None
        except Wrong as error:
            error.column = column_of_no_number(line.decode(errors="replace"))
            raise
        if type(pairs) is not tuple:
            raise Wrong("no object")
        if b"\\u" in line and (place := half_pair(line.decode(), pairs)):
            raise Wrong(HALF_PAIR, column=place)
        found = Line(self.names, pairs)
        if self._log and not found.open_log():
            return []
        found.read()
        self._groups += 1
        if found.actions is None:
            if self._decides:
                raise Wrong("no actions")
            rows.add(found.shared, found.label(), self._groups)
            return []
        if not self._decides:
            raise Wrong("actions, in a chain that takes single examples")
        weight = found.weight
        if self._of_slots:
            shared = Label(importance=weight, choices=[(0, found.slate_cost, _SHARED)])
            slots = [found.only_slot()] if found.slots is None else found.slots
            if not 0 < len(slots) <= len(found.actions):
                raise Wrong(f"{len(slots)} slots, wanted 1 to {len(found.actions)}: each needs a different action")
            rows.add(found.shared, shared, self._groups)
            for example in found.actions:
                rows.add(example, example.label or Label(), self._groups)
            for example, label in slots:
                rows.add(example, label, self._groups)
            return []
        labels = found.labels()
        rows.add(found.shared, Label(importance=weight, choices=[(0, UNGIVEN, _SHARED)]), self._groups)
        for action, label in zip(found.actions, labels, strict=True):
            label.importance *= weight
            rows.add(action, label, self._groups)
        return found.empty


def reader_of(given: Namespace, options: ParserOptions) -> JsonReader:
    """The reader for a command line with `--json` or `--dsjson`.

    Raises:
        UsageError: the option to ignore features does not name one.
    """
    pairs = [text.partition("|") for text in given.ignore_features_dsjson_experimental]
    if wrong := next((space for space, _, name in pairs if not name), None):
        raise UsageError(f"--ignore_features_dsjson_experimental: got {wrong!r}, wanted NAMESPACE|FEATURE")
    left_out = [(space or " ", name) for space, _, name in pairs]
    observed = (FEEDBACK_NAMESPACE, BAD_NAMESPACE) if given.experimental_igl else None
    return JsonReader(options, log=given.dsjson, chained=given.chain_hash, left_out=left_out, observed=observed)


def read_decision_log(path: str, options: ParserOptions, columns: AnyRoles = None) -> Iterator[Batch]:
    """Batches of a log of decisions in Vowpal Wabbit's format `--dsjson`.

    Lines that cannot be used are skipped with a warning, those without actions silently.

    Args:
        path: the file; `.gz` and `.zst` are unpacked.
        options: how names are hashed; with `strict` a line that cannot be used ends the run.
        columns: of no effect: the format defines its keys.

    Raises:
        DataError: the file cannot be read.
    """
    parser = TextParser(options)
    chunks = Chunks([path], longest_line=options.longest_line)
    yield from JsonReader(options, log=True, chained=False)(chunks, parser)
    for text in (*parser.problems.kept, *parser.problems.summary()):
        warn(str(text))
