"""Wide tables: a row per task, a column per worker."""

import re
from collections.abc import Sequence

from hutch.core.errors import Problem
from hutch.crowd.exports.found import Columns
from hutch.crowd.exports.headers import key_of, places_of
from hutch.crowd.exports.sheet import Sheet, place_of

_FEW = 50
"""The most classes of a column of labels; a column with more different values has another meaning."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_NOT_PEOPLE = frozenset(
    (
        "adjudicated age batch category confidence consensus cost country date difficulty domain duration final gender "
        "genre index lang language latency length level majority meta notes order phase priority round score seconds "
        "section seed set source split stage status subset temperature test time timestamp tokens topic type version id"
    ).split()
)
"""Words in the names of columns about the task, or the labels' outcome, without any person's labels."""
_NOBODY = frozenset("attempt expert model reviewer run trial".split())
"""Words that, without a name or a number, do not identify a person: such a column may hold the worker's name."""


def sheet(fields: Sequence[str], columns: Columns, sample: Sequence[Sequence[str]]) -> Sheet | None:
    """The columns of a wide table, if it is one.

    It is if several columns are named as labels, or if neither workers nor labels have a column of a known name, one of
    tasks has, and at least two others share values that repeat.
    """
    named = columns.matching(fields)
    if len(named) > 1:
        workers = [place_of(name, fields, "label") for name in named]
    elif columns.label or columns.worker or places_of(fields, "worker") or _labels(fields):
        return None
    else:
        workers = []
    task = _task(fields, columns, workers)
    if task is None:
        return None
    truth = place_of(columns.gold, fields, "gold") if columns.gold else (*places_of(fields, "gold"), -1)[0]
    if not workers:
        workers = _alike(sample, [place for place in range(len(fields)) if place not in (task, truth)])
        if len(workers) > 1:
            _check_people(fields, workers)
    if len(workers) < 2:
        return None
    places = {"task": task} | ({"gold": truth} if truth >= 0 and truth not in workers else {})
    return Sheet("wide table", tuple(fields), places, workers=tuple(workers))


def _check_people(fields: Sequence[str], workers: Sequence[int]) -> None:
    """Ask which columns are workers if one does not look like a person.

    Raises:
        Problem: with the way to name them.
    """
    odd = [fields[place] for place in workers if not _may_be_person(fields[place])]
    if odd:
        people = [fields[place] for place in workers if fields[place] not in odd]
        way = ",".join(f"label={name}" for name in people[:3] or list(fields[:1]))
        raise Problem(
            f"the column {odd[0]!r} does not look like a worker: name those that are, --columns {way},...", 1, 1
        )


def _may_be_person(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    nobody = words and words <= _NOBODY and not re.search(r"\d", name)
    return not (nobody or words & _NOT_PEOPLE)


def _labels(fields: Sequence[str]) -> bool:
    """Whether a column has the name of a label, and not only that of gold."""
    gold = places_of(fields, "gold")
    return any(place not in gold for place in places_of(fields, "label"))


def _task(fields: Sequence[str], columns: Columns, workers: list[int]) -> int | None:
    """The column of the tasks: named, of a known name, or the first if it is called an id."""
    if columns.task:
        return place_of(columns.task, fields, "task")
    known = [place for place in places_of(fields, "task") if place not in workers]
    if known:
        return known[0]
    ids = [place for place, name in enumerate(fields) if key_of(name) == "id" and place not in workers]
    return ids[0] if ids else None


def _alike(sample: Sequence[Sequence[str]], candidates: Sequence[int]) -> list[int]:
    """Columns of few values, where each value occurs in another one of them, too."""
    values = {place: {row[place] for row in sample if place < len(row) and row[place].strip()} for place in candidates}
    few = {place: found for place, found in values.items() if 0 < len(found) <= _FEW}
    return [place for place, found in few.items() if any(found & other for at, other in few.items() if at != place)]
