"""The file of an open benchmark: the questions drawn so far, their chances, and columns for the answers.

People fill in the empty cells; nothing else is needed to go on where one stopped.
"""

import csv
import io
import math
from pathlib import Path

import numpy as np

from hutch.benchmark.answers import number_of, open_table, text_of_file
from hutch.benchmark.session import Session
from hutch.core.atomic import write_text
from hutch.core.errors import DataError, Problem, did_you_mean, reading

HEAD = ("question", "round", "chance")
"""Columns before those of the new models."""


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
    writer.writerow([*HEAD, *session.models])
    for number, each in enumerate(session.rounds, 1):
        for question, chance in zip(each.drawn.tolist(), each.chances.tolist(), strict=True):
            answers = [
                "" if math.isnan(said) else f"{said!r}".removesuffix(".0")
                for said in session.said[:, question].tolist()
            ]
            writer.writerow([session.earlier.questions[question], number, repr(chance), *answers])
    write_text(path, text.getvalue())


def models_of(path: str | Path) -> list[str]:
    """The new models that a file has columns for.

    Raises:
        DataError: it is no file of an open benchmark.
    """
    with reading(str(path)):
        return _header(open_table(text_of_file(path))[1])


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
        if models != session.models:
            got = ", ".join(models)
            raise Problem(f"got columns of {got}, wanted {', '.join(session.models)}, the new models", 1, len(HEAD) + 1)
        place = {name: number for number, name in enumerate(session.earlier.questions)}
        rounds: list[list[tuple[int, float, list[float], int]]] = []
        seen = set[int]()
        for row in rows:
            line = rows.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise Problem(f"got {len(row)} columns, wanted {len(header)} as in the header", line)
            name = row[0].strip()
            if name not in place:
                raise Problem(f"no question is {name!r}; {did_you_mean(name, place)[:200]}", line, 1)
            if place[name] in seen:
                raise Problem(f"got question {name!r} twice, wanted it once", line, 1)
            seen.add(place[name])
            number = _round(row[1], len(rounds), line)
            if number > len(rounds):
                rounds.append([])
            answers = [number_of(cell, line, column) for column, cell in enumerate(row[len(HEAD) :], len(HEAD) + 1)]
            rounds[-1].append((place[name], _chance(row[2], line), answers, line))
        for number, part in enumerate(rounds, 1):
            _take(session, part, number == len(rounds))


def _take(session: Session, part: list[tuple[int, float, list[float], int]], last: bool) -> None:
    """Add a round with its answers."""
    places, chances = np.array([each[0] for each in part], np.int64), np.array([each[1] for each in part])
    try:
        session.asked(places, chances)
        answers = np.array([each[2] for each in part]).T
        for model, said in enumerate(answers):
            known = ~np.isnan(said)
            if not last and not known.all():
                line = part[int(np.argmin(known))][3]
                raise Problem("the answer is empty, but there is a later round", line, len(HEAD) + 1 + model)
            session.tell(model, places[known], said[known])
    except Problem:
        raise
    except DataError as error:
        raise Problem(str(error), part[0][3]) from None


def _header(header: list[str]) -> list[str]:
    if tuple(name.lower() for name in header[: len(HEAD)]) != HEAD or len(header) <= len(HEAD):
        got = ",".join(header[: len(HEAD) + 1])
        raise Problem(f"got the columns {got}, wanted {','.join(HEAD)} and one per new model", 1, 1)
    return header[len(HEAD) :]


def _round(cell: str, before: int, line: int) -> int:
    """The number of a row's round: that of the row before or the next one."""
    text = cell.strip().removesuffix(".0")
    wanted = {max(before, 1), before + 1}
    if not text.isdecimal() or int(text) not in wanted:
        raise Problem(f"got the round {cell!r}, wanted {' or '.join(map(str, sorted(wanted)))}", line, 2)
    return int(text)


def _chance(cell: str, line: int) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not 0 < found <= 1:
        raise Problem(f"got the chance {cell!r}, wanted a number above 0, up to 1", line, 3)
    return found
