"""VW's text format into batches.

    [label [importance [base]]] [tag]|namespace[:value] feature[:value] ... |namespace ...

Names are hashed, numbers read to VW's last bit, malformed places reported by line and column; see `parse_problems` for
what is kept and what is dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.errors import ConfigError, DataError, at
from hutch.core.text.actions import find_problems, find_slot_problems, places_of
from hutch.core.text.columns import DONE, FEED, NEEDS_LINE, parse_text
from hutch.core.text.hashing import HashMode, NamespaceMode
from hutch.core.text.label import label_parser
from hutch.core.text.problems import BAD_PROBABILITY, Problems
from hutch.core.text.slow import parse_line
from hutch.core.text.state import LABEL_KINDS, Buffers

LabelKind = Literal[
    "simple",
    "multiclass",
    "cost_sensitive",
    "none",
    "action_costs",
    "logged_action",
    "logged_class",
    "logged_slots",
    "logged_slate",
    "multilabel",
    "logged_number",
    "numbers_of_lines",
]

_OF_SLOTS = ("logged_slots", "logged_slate")
_OF_DECISIONS = ("action_costs", "logged_action")

LONGEST_LINE = 1 << 26
"""Default of the most bytes that a line may have."""
LARGEST_TEXT = 1 << 32
"""Places in it are 32-bit numbers."""
PADDING = 64
"""Spare bytes on both sides of the text, so that kernels may load whole words and blocks."""


class MakesFeatures(Protocol):
    """Makes features of the names of features; see `hutch.core.text.made.maker.MadeFeatures`.

    Attributes:
        digest: of all that it makes.
        namespaces: of whose names it makes features.
    """

    digest: str
    namespaces: tuple[str, ...]

    def attach(self, buffers: Any, mode: NamespaceMode) -> None:
        """Have a parser with these `Buffers` make features."""

    def named(self, namespace: str, seed: int, name: str, options: "ParserOptions") -> Iterator[tuple[str, str, int]]:
        """Namespace, name and index of each feature that is made of one."""


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """Options for parsing text.

    Attributes:
        bits: indices are below 2^bits; 1 to 32.
        hash: `strings` takes names of digits as numbers, `all` hashes them too.
        hash_seed: seed of the namespaces' hashes, below 2^32.
        constant: append the constant feature to each example.
        namespaces: distinguish namespaces by full name, or by first letter as VW does.
        label: `simple` (label [importance [base]]), `multiclass` (class [importance]), `cost_sensitive`
            (class[:cost] ...), `multilabel` (class,class,...), `none` (only a tag; other words before the bar are
            ignored), or of decisions, a line per action, `action_costs` (class:cost) and `logged_action`
            (action:cost:probability); `logged_class` is the latter (... several times) where a line is the whole
            example. `logged_slots` and `logged_slate` are decisions with several slots, in VW's words
            `ccb slot 0:1:0.5` and `slates slot 0:0.5`. `numbers_of_lines` is (number,number,...) in any order.
        strict: raise `DataError` at the first malformed place instead of doing as VW does.
        whole_groups: readers end a batch only where a group of lines ends.
        empty_actions: learn from decisions with an action without features; otherwise they count as unlabeled.
        longest_line: readers refuse lines of more bytes, so that a file without line feeds cannot fill the memory.
        zeros: keep features of value 0, which otherwise are left out.
        words: a value that only begins as a number, such as a date, is a word, as in VW's CSV.
        made: what is made of the names of features; None: nothing.
        chosen_alone: a logged choice needs no probability; without one it has probability 0.
    """

    bits: int = 18
    hash: HashMode = "strings"
    hash_seed: int = 0
    constant: bool = True
    namespaces: NamespaceMode = "name"
    label: LabelKind = "simple"
    strict: bool = False
    whole_groups: bool = False
    empty_actions: bool = False
    longest_line: int = LONGEST_LINE
    zeros: bool = False
    words: bool = False
    made: "MakesFeatures | None" = None
    chosen_alone: bool = False

    def __post_init__(self) -> None:
        valid: dict[str, tuple[object, ...]] = {
            "hash": ("strings", "all"),
            "namespaces": ("name", "letter"),
            "label": tuple(LABEL_KINDS),
        }
        for name, allowed in valid.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}: got {getattr(self, name)!r}, wanted one of {', '.join(map(str, allowed))}")
        if not 1 <= self.bits <= 32:
            raise ConfigError(f"bits: got {self.bits}, wanted 1 to 32")
        if not 0 <= self.hash_seed < 1 << 32:
            raise ConfigError(f"hash_seed: got {self.hash_seed}, wanted 0 to 4294967295")

    def refuse_made(self, got: str) -> None:
        """Refuse examples that are not text, of whose names no features are made.

        Args:
            got: what they are.

        Raises:
            DataError: features of names are to be made.
        """
        if self.made is not None:
            names = "input.affixes, shapes, dictionaries and renamed"
            raise DataError(f"{names}: got {got}, wanted text: only names in text become features")


def _buffers(options: ParserOptions) -> Buffers:
    found = Buffers(
        mask=(1 << options.bits) - 1,
        seed=options.hash_seed,
        hash_all=options.hash == "all",
        by_letter=options.namespaces == "letter",
        constant=options.constant,
        label_kind=LABEL_KINDS[options.label],
        zeros=options.zeros,
        words=options.words,
        careful=options.made is not None,
    )
    if options.made is not None:
        options.made.attach(found, options.namespaces)
    return found


def _fill(buffers: Buffers, size: int) -> None:
    """Parse the text of `size` bytes for which the buffers are prepared."""
    while (missing := parse_text(buffers.address, size)) != DONE:
        buffers.record["parse_label"] = label_parser(int(buffers.record["label_kind"][0])).address
        if missing == NEEDS_LINE:  # which calls the other: an interrupt between the two must leave neither or the first
            buffers.record["parse_line"] = parse_line.address


class TextParser:
    """Parses chunks of lines; buffers are allocated once and grow with the largest chunk.

    Args:
        options: for parsing.
        source_name: name of the input in error messages.
        valid: number of batches, the newest included, that stay valid at a time.

    Attributes:
        problems: all malformed places met so far.
        line: number of lines parsed of this source.

    >>> parser = TextParser(ParserOptions(namespaces="letter"))
    >>> batch = parser.parse(b"1 2 'first |f a:0.5 b\\n")
    >>> batch.labels, batch.importance, batch.tag(0)
    (array([1.], dtype=float32), array([2.], dtype=float32), b'first')
    >>> batch.indices, batch.values
    (array([ 14355, 146788, 116060], dtype=uint32), array([0.5, 1. , 1. ], dtype=float32))
    """

    def __init__(self, options: ParserOptions | None = None, source_name: str = "<input>", valid: int = 1) -> None:
        self.options = options or ParserOptions()
        self.source_name = source_name
        self.problems = Problems()
        self.line = self._group = 0
        self.valid = valid
        self._ring = [_buffers(self.options) for _ in range(valid)]
        self._text = np.zeros(2 * PADDING, np.uint8)
        self._parsed = 0
        self._taken = self._text[:0], 0  # the text of the newest batch, and the number of lines before it

    def start(self, source_name: str) -> None:
        """Begin another source: lines count from 1 again, and a new group begins."""
        self.source_name = source_name
        self._group += self.line > 0
        self.line = 0

    def parse(self, data: bytes | bytearray | memoryview | NDArray[np.uint8], padded: bool = False) -> Batch:
        """Parse whole lines; what follows the last line feed counts as a line too.

        Args:
            data: bytes that end with a line (a chunk of a file, or a file).
            padded: `PADDING` bytes on both sides of the data may be read, so that it need not be copied.

        Returns:
            A batch whose arrays are valid until the next call, or until `valid` more.

        Raises:
            DataError: at the first malformed place, if the options are strict; if the text has 4 GiB or more.
        """
        text = np.frombuffer(data, np.uint8)
        if not padded or (len(text) and text[-1] != FEED):
            text = self._copied(text)
        self._parsed += 1
        self.fill(self._parsed, text)
        return self.take(self._parsed, text)

    def fill(self, number: int, text: NDArray[np.uint8]) -> None:
        """The part of `parse` that threads may run for several texts at a time.

        Args:
            number: of the text, from 0; `number - valid` must have been released.
            text: whole lines, the last line feed included, between `PADDING` bytes that may be read.
        """
        if len(text) >= LARGEST_TEXT:
            return  # `take` refuses it
        buffers = self._ring[number % self.valid]
        buffers.begin(text)
        _fill(buffers, len(text))

    def take(self, number: int, text: NDArray[np.uint8]) -> Batch:
        """The rest of `parse`, for one text after the other: count lines and groups on, collect the problems."""
        if len(text) >= LARGEST_TEXT:
            raise DataError(
                at(self.source_name, self.line + 1, None, "got 4 GiB or more at once, wanted shorter lines")
            )
        buffers = self._ring[number % self.valid]
        if self.options.chosen_alone:
            buffers.found.counts[BAD_PROBABILITY] = 0
        self.problems.add(buffers.found, text.data, self.source_name, self.line, self.options.strict)
        self._taken = text, self.line
        batch = buffers.batch()
        if self.options.label in _OF_SLOTS:
            bad = find_slot_problems(batch, text)
            self.problems.add(bad, text.data, self.source_name, self.line, self.options.strict)
        elif self.options.label in _OF_DECISIONS:
            self._look_at_decisions(batch, text)
        if self._group:
            batch.group += self._group
        lines, groups = buffers.ends
        self.line += lines
        self._group += groups
        return batch

    def place_of(self, row: int) -> str:
        """File, line and column of a row of the newest batch; empty if that was not made by `parse` or `take`."""
        text, before = self._taken
        places = places_of(bytes(text))
        return f"{self.source_name}:{before + places[row][0]}:1" if row < len(places) else ""

    def _look_at_decisions(self, batch: Batch, text: NDArray[np.uint8]) -> None:
        options = self.options
        found = find_problems(batch, text, options.label == "action_costs", options.constant, options.empty_actions)
        if found is not None:
            self.problems.add(found, text.data, self.source_name, self.line, self.options.strict)

    def _copied(self, data: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The text between paddings in our buffer, ended with a line feed."""
        size = len(data)
        if len(self._text) < size + 1 + 2 * PADDING:
            self._text = np.zeros(size + size // 4 + 1 + 2 * PADDING, np.uint8)
        self._text[PADDING : PADDING + size] = data
        if size and data[-1] != FEED:
            self._text[PADDING + size] = FEED
            size += 1
        return self._text[PADDING : PADDING + size]


class LineParser:
    """Parses one line at a time into arrays that stay where they are, so that a call allocates nothing.

    Args:
        options: for parsing.
        longest: bytes of the longest line.

    Attributes:
        buffers: content of the latest line.
    """

    def __init__(self, options: ParserOptions, longest: int) -> None:
        self.buffers = _buffers(options)
        self.longest = longest
        text = np.zeros(longest + 1 + 2 * PADDING, np.uint8)
        self._text = text.data
        self.buffers.begin(text[PADDING : PADDING + longest + 1])
        self._counts = self.buffers.found.counts.data.cast("B")
        self._no_problems = bytes(self._counts)

    def parse(self, line: bytes) -> bool:
        """Parse one line, with or without its line feed; returns whether it is an example without problems."""
        return line.find(b"\n", 0, -1) < 0 and self.parse_lines(line) and self.buffers.examples == 1

    def parse_lines(self, text: bytes) -> bool:
        """Parse lines; returns whether they are examples without problems, one at least, not too long, and complete."""
        size = len(text)
        if size > self.longest or self.buffers.maker is not None:  # whose features come into batches only
            return False
        self._text[PADDING : PADDING + size] = text
        if not size or text[-1] != FEED:
            self._text[PADDING + size] = FEED
            size += 1
        self.buffers.rewind()
        _fill(self.buffers, size)
        return self.buffers.examples > 0 and self._counts.tobytes() == self._no_problems
