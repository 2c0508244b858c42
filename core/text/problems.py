"""Problems of lines: the kinds, their places, and how they are reported.

Kernels count the problems of a piece of text by kind and keep the places of the first few of each kind; `Problems` adds
up the pieces and turns places into text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import DataError, at

KEPT = 5
"""Number of places of each kind that are kept for a parser's lifetime."""

BAD_LABEL = 0
BAD_IMPORTANCE = 1
BAD_BASE = 2
NEGATIVE_IMPORTANCE = 3
TOO_MANY_LABEL_WORDS = 4
BAD_CLASS = 5
BAD_COST = 6
MISSING_NAMESPACE_NAME = 7
BAD_NAMESPACE_VALUE = 8
NAN_NAMESPACE_VALUE = 9
BAD_FEATURE_VALUE = 10
NAN_FEATURE_VALUE = 11
INFINITE_NUMBER = 12
CARRIAGE_RETURN = 13
NUL_BYTE = 14
NUMBER_AS_TAG = 15
BLANK_AFTER_COLON = 16
VALUE_WITHOUT_DIGITS = 17
MISREAD_NUMBER = 18
BAD_ACTION = 19
BAD_PROBABILITY = 20
SEVERAL_LABELS = 21
SHARED_ALONE = 22
SHARED_NOT_FIRST = 23
SOME_COSTS = 24
BAD_JSON = 25
EMPTY_ACTION = 26
KEPT_EMPTY_ACTION = 27
SHARED_LABEL = 28
BAD_SLOT = 29
UNKNOWN_CLASS = 30
BAD_LABELS = 31
REPEATED_LABEL = 32
BAD_LOGGED_NUMBER = 33


class Kind(NamedTuple):
    """One kind of problem: its name in summaries, what happened, what was wanted, and whether it is only a hint."""

    name: str
    what: str
    wanted: str
    hint: bool = False


KINDS = (
    Kind("bad label", "label is not a number: its numeric beginning, else 0, is the label", "a number"),
    Kind("bad importance", "importance is not a number: its numeric beginning, else 0, is used", "a number ≥ 0"),
    Kind("bad base", "base is not a number: its numeric beginning, else 0, is used", "a number"),
    Kind("negative importance", "importance is negative: the example is not trained on", "a number ≥ 0"),
    Kind("too many label words", "the example counts as unlabeled", "label [importance [base]] before the bar"),
    Kind(
        "bad class", "label is not a class: the example counts as unlabeled", "class [importance], class 0 to 16777216"
    ),
    Kind("bad cost", "not a cost: it is left out", "class[:cost], class an integer below 2^32, cost a number"),
    Kind("missing namespace name", "the rest of the line is dropped", "a name, a blank or a bar after '|'"),
    Kind(
        "bad namespace value", "the features it multiplies, or the rest of the line, are dropped", "a number after ':'"
    ),
    Kind("NaN namespace value", "1 is used", "a number"),
    Kind("bad feature value", "the rest of the line is dropped", "a blank or a bar after the value"),
    Kind("NaN feature value", "the feature is dropped", "a number"),
    Kind(
        "infinite number",
        "the number is beyond float32; before the bar it leaves the line without a label",
        "a number below 3.4e38",
    ),
    Kind("carriage return in the line", "the rest of the line is dropped", "a blank or the end of the line"),
    Kind("NUL byte", "the line holds a NUL byte", "UTF-8 text"),
    Kind(
        "number as tag", "a word that touches the bar is a tag, so the example is unlabeled", "a blank before '|'", True
    ),
    Kind("blank after colon", "the next word is taken as the value", "a value right after ':'", True),
    Kind("value without digits", "it is read as 0 and the feature is dropped", "a number"),
    Kind(
        "misread number",
        "it is hexadecimal, or its exponent wraps around: Vowpal Wabbit's reading of it is used",
        "a decimal number within float32",
    ),
    Kind("bad action", "the label counts as not given", "action:cost:probability, or action:cost of all actions"),
    Kind("bad probability", "nothing is learned from the decision", "a number above 0, at most 1"),
    Kind("several labels", "nothing is learned from the decision", "one label per line, and one chosen action"),
    Kind("shared line alone", "there is nothing to choose from", "lines of actions after it"),
    Kind(
        "shared line after actions",
        "it counts as an action, and nothing is learned from the decision",
        "it as the first line of its decision",
    ),
    Kind("some costs", "nothing is learned from the decision", "a cost for each action, or for none"),
    Kind("bad JSON", "the line is skipped", "an object of namespaces"),
    Kind("action without features", "nothing is learned from the decision", "a feature at least"),
    Kind(
        "action without features",
        "it has only the constant and shared features, as in Vowpal Wabbit",
        "a feature at least",
        True,
    ),
    Kind("label of a shared line", "nothing is learned from the decision", "it on the line of the action"),
    Kind(
        "badly formed slots",
        "the decision gets no prediction",
        "a line `ccb shared` or `slates shared`, lines of actions, and at most as many of slots",
    ),
    Kind("unknown class", "the label counts as not given", "one of --named_labels"),
    Kind("bad labels", "the example counts as unlabeled", "classes from 0 to 16777216 with commas between"),
    Kind("repeated label", "it counts once", "each class once"),
    Kind("bad logged number", "the example counts as unlabeled", "ca action:cost:density, a density above 0"),
)


@dataclass(frozen=True)
class Problem:
    """One malformed place.

    Attributes:
        kind: index into `KINDS`.
        source: file name.
        line, column: counted from 1; columns in characters.
        got: the offending text, shortened.
        wanted: in its place; empty: what its kind says.
    """

    kind: int
    source: str
    line: int
    column: int
    got: str
    wanted: str = ""

    def __str__(self) -> str:
        kind = KINDS[self.kind]
        text = f"{kind.name}: {kind.what}, got {self.got!r}, wanted {self.wanted or kind.wanted}"
        return at(self.source, self.line, self.column, text)


@dataclass
class Found:
    """Problems that kernels have found in one piece of text.

    Attributes:
        counts: int64 (kinds), complete.
        places: line, first byte and end byte of the first few of each kind; int64 (kinds, KEPT, 3).
    """

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(KINDS), np.int64))
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros((len(KINDS), KEPT, 3), np.int64))


@dataclass
class Problems:
    """All problems that one parser has met.

    Attributes:
        counts: int64 (kinds), complete.
        kept: the first few of each kind, in the order of the input.
    """

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(KINDS), np.int64))
    kept: list[Problem] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """Number of wrong places, without hints."""
        return int(sum(count for kind, count in zip(KINDS, self.counts, strict=True) if not kind.hint))

    @property
    def hints(self) -> int:
        """Number of places that are allowed but look like mistakes."""
        return int(self.counts.sum()) - self.errors

    def summary(self) -> list[str]:
        """One sentence per kind, the most frequent first: `3 x bad label, first at train.vw:12:1`."""
        order = sorted(range(len(KINDS)), key=lambda kind: -self.counts[kind])
        first = {problem.kind: problem for problem in reversed(self.kept)}
        return [
            f"{self.counts[kind]} x {KINDS[kind].name}, first at {first[kind].source}:{first[kind].line}:"
            f"{first[kind].column}"
            for kind in order
            if self.counts[kind]
        ]

    def add(self, found: "Found", text: memoryview, source: str, lines: int, strict: bool) -> None:
        """Add those of a piece of text, while the text still exists.

        Args:
            found: by kernels in the piece.
            text: the piece.
            source: its name.
            lines: number of lines of the source before the piece.
            strict: raise at the first that is not a hint.

        Raises:
            DataError: in strict mode.
        """
        if not found.counts.any():
            return
        room = np.maximum(KEPT - self.counts, 0)
        places = sorted(
            (*map(int, found.places[kind, i]), kind)
            for kind in range(len(KINDS))
            for i in range(min(found.counts[kind], room[kind]))
        )
        self.counts += found.counts
        new = [self._problem(text, source, lines + line, *place) for line, *place in places]
        self.kept += new
        for problem in new:
            if strict and not KINDS[problem.kind].hint:
                raise DataError(str(problem))

    def note(self, problem: Problem, strict: bool) -> None:
        """Add one found elsewhere.

        Raises:
            DataError: in strict mode.
        """
        if strict:
            raise DataError(str(problem))
        if self.counts[problem.kind] < KEPT:
            self.kept.append(problem)
        self.counts[problem.kind] += 1

    @staticmethod
    def _problem(text: memoryview, source: str, line: int, start: int, stop: int, kind: int) -> Problem:
        before = bytes(text[:start])
        before = before[before.rfind(b"\n") + 1 :].removeprefix(b"\xef\xbb\xbf")
        got = bytes(text[start : min(stop, start + 40)]).decode(errors="replace") + ("…" if stop > start + 40 else "")
        return Problem(kind, source, line, len(before.decode(errors="replace")) + 1, got)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.kept)
