"""Votes on pairs, from rows or from separated text, as integer codes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import records_in
from hutch.core.data.chunks import CHUNK_BYTES, Chunks, source_name
from hutch.core.errors import Problem, UsageError, counted, did_you_mean, reading
from hutch.crowd.data.rows import Layout, first_line, read_rows
from hutch.crowd.exports.headers import HEADERS
from hutch.crowd.pairs.kernels import LEFT, RIGHT, TIE

Codes = NDArray[np.int32]

COLUMNS = {
    "worker": HEADERS["worker"] | {"judge", "voter"},
    "left": {"left", "a", "first", "modela", "playera", "answera", "responsea", "optiona"},
    "right": {"right", "b", "second", "modelb", "playerb", "answerb", "responseb", "optionb"},
    "winner": {"winner", "preference", "choice", "vote", "preferred", "outcome"},
}
"""Names by which the columns of votes are known, without case, blanks, `-` and `_`."""
WINNERS = {
    **dict.fromkeys(("left", "a", "first", "modela", "playera", "answera", "responsea", "optiona"), LEFT),
    **dict.fromkeys(("right", "b", "second", "modelb", "playerb", "answerb", "responseb", "optionb"), RIGHT),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "both", "neither", "same", "tiebothbad", "bothbad"), TIE),
}
"""What a vote may say, written in the same way; it may also be the name of one of the two players."""
_BAD = 3


@dataclass(frozen=True)
class Votes:
    """Votes on pairs of players: models, answers, teams, whatever is compared.

    Attributes:
        workers, left, right: int32 (votes), codes into `worker_names` and `players`.
        outcomes: uint8 (votes): 0 left, 1 right, 2 tie.
        values: int32 (votes, features), codes into the `value_names` of each feature.
        worker_names, players: by code.
        features: names of the columns that say in which context a vote was given.
        value_names: one list for each feature.
    """

    workers: Codes
    left: Codes
    right: Codes
    outcomes: NDArray[np.uint8]
    values: Codes
    worker_names: list[str]
    players: list[str]
    features: list[str]
    value_names: list[list[str]]

    def __len__(self) -> int:
        return len(self.outcomes)

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> "Votes":
        """Some of the votes; all names stay."""
        kept = (self.workers[keep], self.left[keep], self.right[keep], self.outcomes[keep], self.values[keep])
        return Votes(*kept, self.worker_names, self.players, self.features, self.value_names)


def from_rows(rows: Iterable[Sequence[str]], features: Sequence[str] = ()) -> Votes:
    """Build `Votes` from rows (worker, left, right, winner, a value of each feature).

    Args:
        rows: of strings; the winner is `left`, `right`, `tie` or the name of one of the two.
        features: names of the values that follow.

    Raises:
        DataError: a winner is none of these, or both sides are the same.

    >>> votes = from_rows([("ann", "gpt", "llama", "left"), ("bob", "llama", "gpt", "tie")])
    >>> votes.players, votes.outcomes.tolist()
    (['gpt', 'llama'], [0, 2])
    """
    names: list[dict[str, int]] = [{} for _ in range(4 + len(features))]
    codes = [[known.setdefault(cell, len(known)) for known, cell in zip(names, row, strict=True)] for row in rows]
    table = np.array(codes, np.int32).reshape(-1, len(names))

    with reading("<votes>"):
        return _votes(table, [list(known) for known in names], list(features), lambda row: row + 1)


def read_votes(path: str | Path, features: Sequence[str] | None = None) -> Votes:
    """Read votes from tab- or comma-separated text, gzip, Zstandard, or `-` for standard input.

    Without a header the columns are worker, left, right, winner; a header may name further columns, which are
    features, and may leave the worker out.

    Args:
        path: the file.
        features: the columns wanted as features; None: all others.

    Raises:
        DataError: the file cannot be read, or a place in it is wrong.
        UsageError: a feature is not a column.

    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile("w", suffix=".tsv")
    >>> _ = file.write("model_a,model_b,winner,topic\\ngpt,llama,gpt,code\\n")
    >>> file.flush()
    >>> votes = read_votes(file.name)
    >>> votes.features, votes.outcomes.tolist()
    (['topic'], [0])
    >>> file.close()
    """
    data = b"".join(bytes(chunk.data) for chunk in Chunks([path]))
    with reading(source_name(path)):
        found = _layout(data, features)
        return _read(data, found, found.start, found.line)


def vote_blocks(
    path: str | Path, features: Sequence[str] | None = None, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Votes]:
    """Votes a piece of the file at a time; the arguments are those of `read_votes`.

    Args:
        path: the file.
        features: the columns wanted as features; None: all others.
        chunk_bytes: size of a piece.
    """
    found: _Columns | None = None
    line = 1
    for chunk in Chunks([path], chunk_bytes):
        data, start, first = bytes(chunk.data), 0, line
        with reading(chunk.source):
            if found is None and data.strip():
                found = _layout(data, features)
                start, first = found.start, line + found.line - 1
            votes = None if found is None else _read(data, found, start, first)
        line += data.count(b"\n")
        if votes is not None:
            yield votes


@dataclass(frozen=True)
class _Columns:
    layout: Layout
    roles: list[str]
    features: list[str]
    start: int
    line: int


def _key(field: str) -> str:
    return re.sub(r"[\s_()-]", "", field.lower())


def _layout(data: bytes, features: Sequence[str] | None) -> _Columns:
    """Where the columns stand, and where the rows begin."""
    first = first_line(data, 3)
    if first is None:
        return _Columns(Layout("\t", np.arange(4), 4), list(COLUMNS), [], len(data), 1)
    fields, separator, line = first.fields, first.separator, first.line
    keys = [_key(field) for field in fields]
    places = {role: [i for i, key in enumerate(keys) if key in known] for role, known in COLUMNS.items()}
    found = {role: sorted(here, key=lambda i: keys[i] not in COLUMNS) for role, here in places.items()}
    if sum(bool(places) for places in found.values()) < 3:
        if len(fields) != 4:
            wanted = "wanted 4 (worker, left, right, winner) or a header that names them"
            raise Problem(f"got {counted(len(fields), 'field')}, {wanted}", line, 1)
        if features:
            raise UsageError(f"--features: the file has no header that could name {', '.join(features)}")
        return _Columns(Layout(separator, np.arange(4), 4), list(COLUMNS), [], first.start, line)
    for role in ("left", "right", "winner"):
        if not found[role]:
            text = f"the header names no {role} column, got {', '.join(fields)}; {did_you_mean(role, keys)}"
            raise Problem(text, line, 1)
    for field in fields:
        if fields.count(field) > 1:
            raise Problem(f"column {field!r} appears twice, wanted it once", line, 1)
    roles = [role for role in COLUMNS if found[role]]
    taken = {found[role][0] for role in roles}
    others = [field for i, field in enumerate(fields) if i not in taken]
    for feature in features or ():
        if feature not in others:
            raise UsageError(f"--features: the file has no column {feature!r}; {did_you_mean(feature, others)}")
    chosen = others if features is None else list(features)
    columns = np.array([found[role][0] for role in roles] + [fields.index(each) for each in chosen])
    return _Columns(Layout(separator, columns, len(fields)), roles, chosen, first.rows, first.rows_line)


def _read(data: bytes, found: _Columns, start: int, line: int) -> Votes:
    """The votes of a text from `start`, on line `line`."""
    roles = [*found.roles, *found.features]
    rows = read_rows(data, start, line, found.layout, roles, ("worker", *found.features))
    codes, names = rows.codes, [list(each) for each in rows.names]
    if "worker" not in roles:
        codes, names = np.insert(codes, 0, 0, axis=1), [[""], *names]

    def line_of(row: int) -> int | None:
        for records in records_in(data, found.layout.separator, start, line):
            if row < len(records):
                return int(records.lines[row])
            row -= len(records)
        return None

    return _votes(codes, names, found.features, line_of)


def _votes(codes: Codes, names: list[list[str]], features: list[str], line_of: Callable[[int], int | None]) -> Votes:
    """Votes of codes (worker, left, right, winner, features); `line_of` a row is where it stands."""
    players = list(dict.fromkeys([*names[1], *names[2]]))
    number = {name: code for code, name in enumerate(players)}
    left = np.array([number[name] for name in names[1]], np.int32)[codes[:, 1]] if len(codes) else codes[:, 1]
    right = np.array([number[name] for name in names[2]], np.int32)[codes[:, 2]] if len(codes) else codes[:, 2]
    words = np.array([WINNERS.get(_key(name), _BAD) for name in names[3]] or [_BAD], np.uint8)
    named = np.array([number.get(name, -1) for name in names[3]] or [-1], np.int32)
    outcomes = words[codes[:, 3]] if len(codes) else np.zeros(0, np.uint8)
    winner = named[codes[:, 3]] if len(codes) else np.zeros(0, np.int32)
    outcomes = np.where(winner == left, LEFT, np.where(winner == right, RIGHT, outcomes)).astype(np.uint8)
    for wrong, text in ((outcomes == _BAD, "winner"), (left == right, "sides")):
        if wrong.any():
            row = int(np.argmax(wrong))
            sides = f"{players[left[row]]!r} and {players[right[row]]!r}"
            got = (
                f"the winner is {names[3][codes[row, 3]]!r}, wanted left, right, tie, or one of {sides}"
                if text == "winner"
                else f"both sides are {players[left[row]]!r}, wanted two different ones"
            )
            raise Problem(got, line_of(row))
    values = np.ascontiguousarray(codes[:, 4:])
    workers, left, right = (np.ascontiguousarray(column, np.int32) for column in (codes[:, 0], left, right))
    return Votes(workers, left, right, outcomes, values, names[0], players, features, names[4:])
