"""Votes on pairs, from rows or from separated text, as integer codes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.chunks import CHUNK_BYTES, Chunks, source_name
from hutch.core.errors import Problem, UsageError, counted, did_you_mean, reading
from hutch.crowd.data.rows import Layout, coded, first_line, read_rows, recoded, recoded_text, used_names
from hutch.crowd.exports.found import MISSING, Problems, name_of, named_roles
from hutch.crowd.exports.headers import HEADERS
from hutch.crowd.exports.json_export import is_json
from hutch.crowd.exports.tools import read_votes as read_json_votes
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
"""Allowed texts of a vote, in normalised spelling; it may also be the name of one of the two players."""
NO_VOTE = "without a side or a winner"
"""A reason for leaving a vote out, as in messages."""
_BAD = 3


@dataclass(frozen=True)
class Votes:
    """Votes on pairs of players: models, answers, teams, anything that can be compared.

    Attributes:
        workers, left, right: int32 (votes), codes into `worker_names` and `players`.
        outcomes: uint8 (votes): 0 left, 1 right, 2 tie.
        values: int32 (votes, features), codes into the `value_names` of each feature.
        worker_names, players: by code.
        features: names of the columns with the context of a vote.
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
        DataError: a winner is not one of these, or both sides are the same.

    >>> votes = from_rows([("ann", "gpt", "llama", "left"), ("bob", "llama", "gpt", "tie")])
    >>> votes.players, votes.outcomes.tolist()
    (['gpt', 'llama'], [0, 2])
    """
    with reading("<votes>"):
        return _votes(*coded(rows, 4 + len(features)), list(features), lambda row: row + 1, Problems())


def read_votes(
    path: str | Path,
    features: Sequence[str] | None = None,
    columns: str | None = None,
    encoding: str = "",
    problems: Problems | None = None,
) -> Votes:
    """Read votes from tab- or comma-separated text, JSON or JSON lines, gzip, Zstandard, or `-` for standard input.

    Without a header the columns are worker, left, right, winner; a header may name further columns, which are
    features, and may leave the worker out. JSON is an object for each vote, as arenas publish them, or Label Studio's
    export of `Pairwise`. Votes without a side or a winner are left out and counted.

    Args:
        path: the file.
        features: the columns wanted as features; None: all others, of JSON none.
        columns: names of columns or fields that are not found, as `left=answer_1,right=answer_2`.
        encoding: of the text, as Python names it; empty: UTF-8, or UTF-16 with its mark.
        problems: takes the votes that are left out.

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
    votes = list(vote_blocks(path, features, columns, encoding, problems, chunk_bytes=0))
    return votes[0] if votes else _votes(np.zeros((0, 4), np.int32), [[]] * 4, [], str, Problems())


def vote_blocks(
    path: str | Path,
    features: Sequence[str] | None = None,
    columns: str | None = None,
    encoding: str = "",
    problems: Problems | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Votes]:
    """Votes a piece of the file at a time; JSON is one piece.

    Args:
        path, features, columns, encoding, problems: as of `read_votes`.
        chunk_bytes: size of a piece; 0: the whole file is one.
    """
    found: _Columns | None = None
    problems = Problems() if problems is None else problems
    named = dict(named_roles(columns, [*COLUMNS]) if columns else ())
    line = 1
    pieces = (recoded_text(bytes(chunk.data), encoding) for chunk in Chunks([path], chunk_bytes or CHUNK_BYTES))
    for data in pieces if chunk_bytes else [b"".join(pieces)]:
        start, first = 0, line
        with reading(source_name(path)):
            if found is None and is_json(data):
                yield _of_records(data + b"".join(pieces), source_name(path), features or (), named, problems)
                return
            if found is None and data.strip():
                found = _layout(data, features, named)
                start, first = found.start, line + found.line - 1
            votes = None if found is None else _read(data, found, start, first, problems)
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


def _layout(data: bytes, features: Sequence[str] | None, named: Mapping[str, str]) -> _Columns:
    """Where the columns stand, and where the rows begin."""
    first = first_line(data, 3)
    if first is None:
        return _Columns(Layout("\t", np.arange(4), 4), list(COLUMNS), [], len(data), 1)
    fields, separator, line = first.fields, first.separator, first.line
    found = _places(fields, named)
    if sum(bool(places) for places in found.values()) < 3 and not named:
        if len(fields) != 4:
            wanted = "wanted 4 (worker, left, right, winner) or a header that names them"
            raise Problem(f"got {counted(len(fields), 'field')}, {wanted}", line, 1)
        if features:
            raise UsageError(f"--features: the file has no header that could name {', '.join(features)}")
        return _Columns(Layout(separator, np.arange(4), 4), list(COLUMNS), [], first.start, line)
    try:
        roles, chosen = _chosen(fields, found, features)
    except Problem as problem:
        raise Problem(problem.text, line, 1) from None
    columns = np.array([fields.index(each) for each in (*roles.values(), *chosen)])
    return _Columns(Layout(separator, columns, len(fields)), [*roles], chosen, first.rows, first.rows_line)


def _places(fields: Sequence[str], named: Mapping[str, str]) -> dict[str, list[int]]:
    """Where the columns of each role may stand, the likeliest first."""
    for role, name in named.items():
        if name not in fields:
            raise Problem(f"no column {name!r} for the {role}; {did_you_mean(name, fields)}")
    keys = [_key(field) for field in fields]
    places = {role: [i for i, key in enumerate(keys) if key in known] for role, known in COLUMNS.items()}
    found = {role: sorted(here, key=lambda i: keys[i] not in COLUMNS) for role, here in places.items()}
    return found | {role: [fields.index(name)] for role, name in named.items()}


def _chosen(
    fields: Sequence[str], found: Mapping[str, list[int]], features: Sequence[str] | None
) -> tuple[dict[str, str], list[str]]:
    """The field of each role, and those of the features; None: all others."""
    for role in ("left", "right", "winner"):
        if not found[role]:
            near = did_you_mean(role, [_key(field) for field in fields])
            raise Problem(f"the header names no {role} column, got {', '.join(fields)}; {near}")
    for field in fields:
        if fields.count(field) > 1:
            raise Problem(f"column {field!r} appears twice, wanted it once")
    roles = {role: fields[found[role][0]] for role in COLUMNS if found[role]}
    others = [field for field in fields if field not in roles.values()]
    for feature in features or ():
        if feature not in others:
            raise UsageError(f"--features: the file has no column {feature!r}; {did_you_mean(feature, others)}")
    return roles, others if features is None else list(features)


def _read(data: bytes, found: _Columns, start: int, line: int, problems: Problems) -> Votes:
    """The votes of a text from `start`, on line `line`."""
    roles = [*found.roles, *found.features]
    rows = read_rows(data, start, line, found.layout, roles, roles)
    codes, names = rows.codes, list(rows.names)
    if "worker" not in roles:
        codes, names = np.insert(codes, 0, 0, axis=1), [[""], *names]
    return _votes(codes, names, found.features, rows.line, problems)


def _of_records(
    data: bytes, source: str, features: Sequence[str], named: Mapping[str, str], problems: Problems
) -> Votes:
    """The votes of a JSON file."""
    records = read_json_votes(data, source)
    plain = dict.fromkeys(
        key for _, vote in records for key, value in vote.items() if not isinstance(value, dict | list)
    )
    fields = list(plain)
    if not fields:
        return _votes(np.zeros((0, 4), np.int32), [[]] * 4, [], str, problems)
    roles, chosen = _chosen(fields, _places(fields, named), features)
    wanted = [roles.get(role, "") for role in COLUMNS] + chosen
    codes, names = coded(([name_of(vote.get(field)) for field in wanted] for _, vote in records), len(wanted))
    return _votes(codes, names, chosen, lambda row: records[row][0], problems)


def _votes(
    codes: Codes,
    names: list[Sequence[str]],
    features: list[str],
    place_of: Callable[[int], str | int],
    problems: Problems,
) -> Votes:
    """Votes of codes (worker, left, right, winner, features); `place_of` a row is its line, or its name."""
    blank = np.zeros(len(codes), np.bool_)
    for role in (1, 2, 3):
        blank |= np.array([not name.strip() or name in MISSING for name in names[role]] or [True])[codes[:, role]]
    if blank.any():
        place = place_of(int(np.argmax(blank)))
        problems.add(NO_VOTE, f"line {place}" if isinstance(place, int) else place, int(blank.sum()))
        codes, names = used_names(codes[~blank], names)
    players = list(dict.fromkeys([*names[1], *names[2]]))
    number = {name: code for code, name in enumerate(players)}
    left, right = (recoded(codes[:, role], names[role], players) for role in (1, 2))
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
            place = place_of(row)
            raise Problem(got, place) if isinstance(place, int) else Problem(f"{place}: {got}")
    values = np.ascontiguousarray(codes[:, 4:])
    workers, left, right = (np.ascontiguousarray(column, np.int32) for column in (codes[:, 0], left, right))
    return Votes(workers, left, right, outcomes, values, list(names[0]), players, features, [*map(list, names[4:])])
