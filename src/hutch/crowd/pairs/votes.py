"""Votes on pairs, from rows or from separated text, as integer codes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.chunks import CHUNK_BYTES
from hutch.core.errors import Problem, UsageError, counted, did_you_mean, reading
from hutch.crowd.data.asked import named_roles
from hutch.crowd.data.codes import coded, recoded, used_names
from hutch.crowd.data.known import HEADERS
from hutch.crowd.data.sides import SIDES, WINNER, key_of, say_the_outcome, scores_of, sorted_sides
from hutch.crowd.data.values import MISSING, Problems, name_of, number_in
from hutch.crowd.pairs.kernels import LEFT, RIGHT
from hutch.crowd.pairs.winners import NONE, SCORES, by_scores, outcome_of
from hutch.crowd.read.evidence import ENOUGH, Column, columns_of
from hutch.crowd.read.form import Table, is_json, table_of
from hutch.crowd.read.form import read_votes as read_json_votes
from hutch.crowd.read.rows import read_rows
from hutch.crowd.read.source import Source, called, pieces_of

Codes = NDArray[np.int32]

COLUMNS = {
    "worker": HEADERS["worker"] | {"judge", "voter"},
    "left": SIDES[0],
    "right": SIDES[1],
    "winner": WINNER,
}
"""Names by which the columns of votes are known, without case, blanks, `-` and `_`."""
WEIGHT = "weight"
"""The column of how much a vote counts."""
_DECIDED = "decided"
"""Not a column: the winner follows from others."""
_TIMES = {"timestamp", "tstamp", "time", "date", "datetime", "createdat", "created", "updatedat", "submittedat"}
NO_VOTE = "without a side or a winner"
"""A reason for leaving a vote out, as in messages."""
_ONE_WAY = 10
"""Votes for one side and none for the other from which on it is no chance: below .002 if both were alike."""


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
        weights: float64 (votes), how much each counts; empty: all count once.
        form: how they were read, in one line.
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
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    form: str = ""

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def written_by_winner(self) -> bool:
        """Whether all votes went to one side, which says how they were written down, and nothing of a preference."""
        return is_one_way(np.bincount(self.outcomes, minlength=3))

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> "Votes":
        """Some of the votes; all names stay."""
        return replace(
            self, workers=self.workers[keep], left=self.left[keep], right=self.right[keep],
            outcomes=self.outcomes[keep], values=self.values[keep],
            weights=self.weights[keep] if len(self.weights) else self.weights,
        )  # fmt: skip


def is_one_way(outcomes: NDArray[np.int64]) -> bool:
    """Whether so many votes went to one side and none to the other that this is no chance.

    Args:
        outcomes: numbers of votes for left, right and tie.

    >>> is_one_way(np.array([12, 0, 3])), is_one_way(np.array([5, 0, 3]))
    (True, False)
    """
    return int(outcomes[LEFT] + outcomes[RIGHT]) >= _ONE_WAY and not outcomes[[LEFT, RIGHT]].all()


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
    path: Any,
    features: Sequence[str] | None = None,
    columns: str | None = None,
    encoding: str = "",
    problems: Problems | None = None,
) -> Votes:
    """Read votes from tab- or comma-separated text, JSON or JSON lines, gzip, Zstandard, or `-` for standard input.

    Without a header the columns are worker, left, right, winner; a header may name further columns, which are
    features, or `weight`, and may leave the worker out. JSON is an object for each vote, as arenas publish them, or
    Label Studio's export of `Pairwise`. Votes without a side or a winner are left out and counted.

    Args:
        path: the file; or a frame of pandas, polars or Arrow.
        features: the columns wanted as features; None: all others but those of ids and times, of JSON none.
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
    path: Any,
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
    named = dict(named_roles(columns, [*COLUMNS, WEIGHT]) if columns else ())
    pieces = pieces_of(path, encoding, chunk_bytes or CHUNK_BYTES)
    if not chunk_bytes:
        pieces = iter([Source(called(path), b"".join(piece.data for piece in pieces))])
    for source in pieces:
        with reading(source.name):
            if found is None and is_json(source.data):
                whole = Source(source.name, source.data + b"".join(piece.data for piece in pieces))
                yield _of_records(whole, features or (), named, problems)
                return
            begins = found is None
            if found is None and source.data.strip():
                found = _layout(source, features, named)
            votes = None if found is None else _read(source, found, begins, problems)
        if votes is not None:
            yield votes


@dataclass(frozen=True)
class _Columns:
    table: Table
    header: bool
    at: dict[str, int]
    features: list[str]
    beside: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """How the votes are read, in one line."""
        names = [repr(name) if self.header else f"column {place}" for place, name in enumerate(self.table.first, 1)]
        parts = [f"{role} {names[place]}" for role, place in self.at.items() if not role.startswith("feature ")]
        parts += [f"contexts {', '.join(self.features)}"] if self.features else []
        return ", ".join(parts) + (f"; ids, times, or always the same: {', '.join(self.beside)}" if self.beside else "")


def _layout(source: Source, features: Sequence[str] | None, named: Mapping[str, str]) -> _Columns | None:
    """Where the columns stand, and where the rows begin; None for a blank text."""
    table = table_of(source.data, 3, source.line)
    if table is None:
        return None
    fields, line = table.first, table.line
    found = _places(fields, named)
    told = sum(bool(found[role]) for role in COLUMNS) > 2 or (found["worker"] and found["winner"]) or found[_DECIDED]
    if not told and not named:
        if len(fields) != 4:
            wanted = "wanted 4 (worker, left, right, winner) or a header that names them"
            raise Problem(f"got {counted(len(fields), 'field')}, {wanted}", line, 1)
        if features:
            raise UsageError(f"--features: the file has no header that could name {', '.join(features)}")
        return _Columns(table, False, {role: place for place, role in enumerate(COLUMNS)}, [])
    try:
        roles, chosen = _chosen(fields, found, features)
    except Problem as problem:
        raise Problem(problem.text, line, 1) from None
    beside: tuple[str, ...] = ()
    if features is None:
        values = columns_of(len(fields), table.sample)
        beside = tuple(name for name in chosen if _is_beside(name, values[fields.index(name)]))
        chosen = [name for name in chosen if name not in beside]
    at = {role: fields.index(name) for role, name in (*roles.items(), *((f"feature {name}", name) for name in chosen))}
    return _Columns(table, True, at, chosen, beside)


def _is_beside(name: str, column: Column) -> bool:
    """Whether a column holds ids, times or one value alone, and no contexts."""
    key, alike = key_of(name), len(column.cells) >= ENOUGH and column.given in (0, len(column.cells))
    if key == "id" or key in _TIMES or column.unique or (alike and len(column.counts) < 2):
        return True
    return len(column.cells) > 20 and column.singles > 0.5


def _places(fields: Sequence[str], named: Mapping[str, str]) -> dict[str, list[int]]:
    """Where the columns of each role may stand, the likeliest first."""
    for role, name in named.items():
        if name not in fields:
            raise Problem(f"no column {name!r} for the {role}; {did_you_mean(name, fields)}")
    keys = [key_of(field) for field in fields]
    places = {role: [i for i, key in enumerate(keys) if key in known] for role, known in COLUMNS.items()}
    found = {role: sorted(here, key=lambda i: keys[i] not in COLUMNS) for role, here in places.items()}
    found[WEIGHT] = [i for i, key in enumerate(keys) if key == WEIGHT]
    found |= {role: [fields.index(name)] for role, name in named.items()} | {role: [] for role in (*SCORES, _DECIDED)}
    if not found["left"] and not found["right"] and (sides := sorted_sides(fields)):
        found |= {"left": [sides[0]], "right": [sides[1]], "winner": [], _DECIDED: [0]}
    elif not found["winner"] and found["left"] and found["right"] and (scores := scores_of(fields)):
        found |= {role: [place] for role, place in zip(SCORES, scores, strict=True)} | {_DECIDED: [0]}
    return found


def _chosen(
    fields: Sequence[str], found: Mapping[str, list[int]], features: Sequence[str] | None
) -> tuple[dict[str, str], list[str]]:
    """The field of each role, and those of the features; None: all others."""
    needed = ("left", "right") if found[_DECIDED] else ("left", "right", "winner")
    for role in needed:
        if not found[role]:
            wanted = ",".join(f"{each}=NAME" for each in needed if not found[each])
            raise Problem(f"the header names no {role} column, got {', '.join(fields)}; --columns {wanted} names it")
    for name in fields:
        if fields.count(name) > 1:
            raise Problem(f"column {name!r} appears twice, wanted it once")
    roles = {role: fields[found[role][0]] for role in (*COLUMNS, *SCORES, WEIGHT) if found[role]}
    if features and roles.get(WEIGHT) in features:
        del roles[WEIGHT]
    others = [name for name in fields if name not in roles.values()]
    for feature in features or ():
        if feature not in others:
            raise UsageError(f"--features: the file has no column {feature!r}; {did_you_mean(feature, others)}")
    told = say_the_outcome(fields)
    return roles, [name for name in others if name not in told] if features is None else list(features)


def _read(source: Source, found: _Columns, begins: bool, problems: Problems) -> Votes:
    """The votes of a piece of a text."""
    roles = [*found.at]
    rows = read_rows(source, found.table, found.header, [*found.at.values()], roles, roles, begins)
    codes, names = rows.codes, list(rows.names)
    if "worker" not in roles:
        codes, names = np.insert(codes, 0, 0, axis=1), [[""], *names]
    weights = None
    if WEIGHT in roles:
        place = roles.index(WEIGHT) + ("worker" not in roles)
        weights = _weights(codes[:, place], names.pop(place), rows.where)
        codes = np.delete(codes, place, axis=1)
    codes, names = _with_winner(codes, names, {role: found.table.first[at] for role, at in found.at.items()})
    return replace(_votes(codes, names, found.features, rows.where, problems, weights), form=found.told)


def _with_winner(
    codes: Codes, names: list[Sequence[str]], roles: Mapping[str, str]
) -> tuple[Codes, list[Sequence[str]]]:
    """Worker, left, right and winner, where scores decide, or the winner stands on the left."""
    if SCORES[0] in roles:
        winner, texts = by_scores((codes[:, 3], codes[:, 4]), names[3:5], roles)
        return np.insert(codes[:, [0, 1, 2, *range(5, codes.shape[1])]], 3, winner, axis=1), [
            *names[:3],
            texts,
            *names[5:],
        ]
    if "winner" not in roles:
        return np.insert(codes, 3, 0, axis=1), [*names[:3], ["left"], *names[3:]]
    return codes, names


def _weights(codes: Codes, names: Sequence[str], where: Callable[[int], str | int]) -> NDArray[np.float64]:
    """How much each vote counts.

    Raises:
        Problem: a weight is not a number from 0.
    """
    values = np.array([number_in(name) for name in names] or [0.0])
    weights: NDArray[np.float64] = values[codes]
    if len(wrong := np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))):
        raise _at(where(int(wrong[0])), f"weight: got {names[codes[wrong[0]]]!r}, wanted a number from 0")
    return weights


def _at(place: str | int, text: str) -> Problem:
    """A problem of a row that is at a line, or at a place of another name."""
    line = place if isinstance(place, int) else int(place[5:]) if re.fullmatch(r"line \d+", place) else None
    return Problem(text, line) if line else Problem(f"{place}: {text}")


def _of_records(source: Source, features: Sequence[str], named: Mapping[str, str], problems: Problems) -> Votes:
    """The votes of a JSON file."""
    records = read_json_votes(source)
    plain = dict.fromkeys(
        key for _, vote in records for key, value in vote.items() if not isinstance(value, dict | list)
    )
    fields = list(plain)
    if not fields:
        return _votes(np.zeros((0, 4), np.int32), [[]] * 4, [], str, problems)
    roles, chosen = _chosen(fields, _places(fields, named), features)
    wanted = [
        roles.get("worker", ""),
        *(name for role, name in roles.items() if role not in ("worker", WEIGHT)),
        *chosen,
    ]
    codes, names = coded(([name_of(vote.get(field)) for field in wanted] for _, vote in records), len(wanted))
    weights = None
    if WEIGHT in roles:
        of, (texts,) = coded(([name_of(vote.get(roles[WEIGHT]))] for _, vote in records), 1)
        weights = _weights(of[:, 0], texts, lambda row: records[row][0])
    told = ", ".join(f"{role} {name!r}" for role, name in roles.items())
    codes, names = _with_winner(codes, names, roles)
    return replace(_votes(codes, names, chosen, lambda row: records[row][0], problems, weights), form=told)


def _votes(
    codes: Codes,
    names: list[Sequence[str]],
    features: list[str],
    where: Callable[[int], str | int],
    problems: Problems,
    weights: NDArray[np.float64] | None = None,
) -> Votes:
    """Votes of codes (worker, left, right, winner, features).

    Args:
        codes, names, features: of the votes.
        where: from a row to its line, or to its place in messages.
        problems: takes the votes that are left out.
        weights: of the votes; None: all count once.
    """
    blank = np.zeros(len(codes), np.bool_)
    for role in (1, 2, 3):
        blank |= np.array([not name.strip() or name in MISSING for name in names[role]] or [True])[codes[:, role]]
    kept = np.flatnonzero(~blank)
    if blank.any():
        place = where(int(np.argmax(blank)))
        problems.add(NO_VOTE, f"line {place}" if isinstance(place, int) else place, int(blank.sum()))
        codes, names = used_names(codes[kept], names)
        weights = None if weights is None else weights[kept]
    players = list(dict.fromkeys([*names[1], *names[2]]))
    number = {name: code for code, name in enumerate(players)}
    left, right = (recoded(codes[:, role], names[role], players) for role in (1, 2))
    words = np.array([outcome_of(name) for name in names[3]] or [NONE], np.uint8)
    named = np.array([number.get(name, -1) for name in names[3]] or [-1], np.int32)
    outcomes = words[codes[:, 3]] if len(codes) else np.zeros(0, np.uint8)
    winner = named[codes[:, 3]] if len(codes) else np.zeros(0, np.int32)
    outcomes = np.where(winner == left, LEFT, np.where(winner == right, RIGHT, outcomes)).astype(np.uint8)
    for wrong, text in ((outcomes == NONE, "winner"), (left == right, "sides")):
        if wrong.any():
            row = int(np.argmax(wrong))
            sides = f"{players[left[row]]!r} and {players[right[row]]!r}"
            got = (
                f"the winner is {names[3][codes[row, 3]]!r}, wanted left, right, tie, or one of {sides}"
                if text == "winner"
                else f"both sides are {players[left[row]]!r}, wanted two different ones"
            )
            raise _at(where(int(kept[row])), got)
    values = np.ascontiguousarray(codes[:, 4:])
    workers, left, right = (np.ascontiguousarray(column, np.int32) for column in (codes[:, 0], left, right))
    value_names, given = [*map(list, names[4:])], np.zeros(0) if weights is None else weights
    return Votes(workers, left, right, outcomes, values, list(names[0]), players, features, value_names, given)
