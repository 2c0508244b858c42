"""The file of an open benchmark: the questions drawn so far, their chances, and columns for the answers.

People fill in the empty cells; nothing else is needed to go on where one stopped.
"""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hutch.benchmark.answers import decimal_of, number_of, open_table, text_of_file
from hutch.benchmark.session import BY_PEOPLE, Session
from hutch.core.atomic import write_text
from hutch.core.errors import DataError, Problem, did_you_mean, reading
from hutch.factors.logistic import Array

HEAD = ("question", "round", "chance")
"""Columns before those of the new models."""
NO_CHECK = "-"
"""Stands in such a column where no check is asked for."""


def write_judged(session: Session, path: str | Path) -> None:
    """Write the questions drawn so far with the answers known; an empty cell is one to be filled in.

    Args:
        session: the open benchmark.
        path: of the file, CSV.

    Raises:
        HutchError: it cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    more = [f"{model}{BY_PEOPLE}" for model in session.models] if session.checked else []
    writer.writerow([*HEAD, *session.models, *more])
    for number, (each, checks) in enumerate(zip(session.rounds, session.checks, strict=True), 1):
        checked = set(checks.tolist())
        for question, chance in zip(each.drawn.tolist(), each.chances.tolist(), strict=True):
            cells = _cells(session.said[:, question])
            if more:
                cells += _cells(session.people[:, question]) if question in checked else [NO_CHECK] * len(more)
            writer.writerow([session.earlier.questions[question], number, repr(chance), *cells])
    write_text(path, text.getvalue())


def _cells(answers: Array) -> list[str]:
    return ["" if math.isnan(said) else f"{said!r}".removesuffix(".0") for said in answers.tolist()]


def read_judged(session: Session, path: str | Path) -> None:
    """Take up the rounds and answers of a file; all rounds but the last must be complete.

    Args:
        session: a benchmark without rounds, of the same earlier answers, models and seed.
        path: of the file.

    Raises:
        DataError: a place in it is wrong, or it was drawn from other earlier answers.
    """
    with reading(str(path)):
        rows, header = open_table(text_of_file(path))
        models = _header(header)
        if models not in (session.models, [*session.models, *(f"{name}{BY_PEOPLE}" for name in session.models)]):
            got = ", ".join(models)
            columns = f"{', '.join(session.models)}, the new models; keep others, such as comments, in another file"
            raise Problem(f"got columns of {got}, wanted {columns}", 1, len(HEAD) + 1)
        place = {name: number for number, name in enumerate(session.earlier.questions)}
        found, seen = dict[int, list[_Drawn]](), set[int]()
        for row in rows:
            line = rows.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise Problem(f"got {len(row)} columns, wanted {len(header)} as in the header", line)
            name = row[0] if row[0] in place else row[0].strip()
            if name not in place:
                raise Problem(f"no question is {name!r}; {did_you_mean(name, place)[:200]}", line, 1)
            if place[name] in seen:
                raise Problem(f"got question {name!r} twice, wanted it once", line, 1)
            seen.add(place[name])
            answers = [number_of(cell, line, column) for column, cell in enumerate(row[len(HEAD) :], len(HEAD) + 1)]
            wanted = len(models) > len(session.models) and row[-1].strip() != NO_CHECK
            drawn = _Drawn(place[name], _chance(row[2], line), np.array(answers), wanted, line)
            found.setdefault(_round(row[1], line), []).append(drawn)
        for number, part in enumerate((found[key] for key in sorted(found)), 1):
            if number not in found:
                raise Problem(f"got no rows of round {number}, but of round {max(found)}", part[0].line, 2)
            _take(session, part, number == len(found))


@dataclass(frozen=True)
class _Drawn:
    """A row: a question, its chance, its answers, whether people check it, and its line."""

    place: int
    chance: float
    answers: Array
    check: bool
    line: int


def _take(session: Session, part: list[_Drawn], last: bool) -> None:
    """Add a round with its answers."""
    places, checks = np.array([each.place for each in part]), np.array([each.place for each in part if each.check], int)
    try:
        session.asked(places, np.array([each.chance for each in part]), checks)
        for column, said in enumerate(np.array([each.answers for each in part]).T):
            known, (by_people, model) = ~np.isnan(said), divmod(column, len(session.models))
            if not last and not known.all() and not by_people:
                line = part[int(np.argmin(known))].line
                raise Problem("the answer is empty, but there is a later round", line, len(HEAD) + 1 + column)
            session.tell(model, places[known], said[known], bool(by_people))
    except Problem:
        raise
    except DataError as error:
        raise Problem(str(error), part[0].line) from None


def _header(header: list[str]) -> list[str]:
    if tuple(name.lower() for name in header[: len(HEAD)]) != HEAD or len(header) <= len(HEAD):
        got = ",".join(header[: len(HEAD) + 1])
        raise Problem(f"got the columns {got}, wanted {','.join(HEAD)} and one per new model", 1, 1)
    return header[len(HEAD) :]


def _round(cell: str, line: int) -> int:
    """The number of a row's round."""
    text = cell.strip().removesuffix(".0")
    if not text.isdecimal() or not int(text):
        raise Problem(f"got the round {cell!r}, wanted 1 or more", line, 2)
    return int(text)


def _chance(cell: str, line: int) -> float:
    found = decimal_of(cell)
    if not 0 < found <= 1:
        raise Problem(f"got the chance {cell!r}, wanted a number above 0, up to 1", line, 3)
    return found
