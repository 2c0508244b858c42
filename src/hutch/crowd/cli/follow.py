"""`hutch crowd --follow`: labels as they come, and a line whenever the verdict of a task changes."""

import csv
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from hutch.core.errors import DataError, at, counted
from hutch.core.parameters import values_of
from hutch.core.strict_json import dumps
from hutch.crowd.cli.model import model_of
from hutch.crowd.cli.options import CrowdOptions
from hutch.crowd.cli.ways import FOLLOW
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import places_of, usual_of
from hutch.crowd.data.values import MISSING
from hutch.crowd.live import LiveCrowd
from hutch.crowd.read.form import table_of

STEP, SETTLED = 0.1, 0.95
"""The change of a confidence that is told, and the confidence from which a task is settled."""
_ROLES = ("worker", "task", "label")


def run(given: CrowdOptions) -> None:
    """Learn labels line by line, and print `task label confidence labels state` whenever a task's verdict changes.

    It changes if another class is the most probable one, if its probability has moved by `STEP`, or if it has come to
    `SETTLED`. A worker's second label of a task replaces the first; an empty one, or "unsure", takes it away. A line
    that cannot be read is told and left out.

    Args:
        given: the options of the command.

    Raises:
        DataError: the first line does not say which columns are which.
        UsageError: options that do not go together.
    """
    given.refuse(*FOLLOW)
    crowd = _crowd(given)
    told: dict[str, tuple[str, float, bool]] = {}
    said: dict[str, set[str]] = {}
    wrong = 0
    try:
        for number, fields in _rows(given):
            if isinstance(fields, str):
                wrong += 1
                given.notice(at(given.labels, number, None, f"{fields}: left out"))
                continue
            worker, task, label = fields
            if not said and not given.json:
                print("task\tlabel\tconfidence\tlabels\tstate", flush=True)
            known = said.setdefault(task, set()) if label else said.get(task, set())
            if label:
                crowd.update(worker, task, label)
                known.add(worker or f"\0{number}")  # each nameless label is one more
            elif worker in known:
                crowd.withdraw(worker, task)
                known.remove(worker)
            else:
                continue
            found = crowd.posterior(task)
            best = max(found, key=found.__getitem__)
            share, before = found[best], told.get(task, ("", 0.0, False))
            settled = share >= SETTLED and len(found) > 1
            if best != before[0] or abs(share - before[1]) >= STEP or settled and not before[2]:
                told[task] = best, share, settled
                _print(given, task, best, share, len(known), "settled" if settled else "open")
    except KeyboardInterrupt:
        given.notice("interrupted")
    if given.final:
        crowd.save(given.final)
        given.notice(f"wrote {given.final}")
    settled_tasks = sum(settled for _, _, settled in told.values())
    left = f"; {counted(wrong, 'line')} left out" if wrong else ""
    seen = f"{counted(sum(map(len, said.values())), 'label')} of {counted(len(said), 'task')}"
    given.notice(f"{seen}; {settled_tasks} settled{left}")


def _crowd(given: CrowdOptions) -> LiveCrowd:
    """The crowd, from a saved model or new."""
    most = given.open_tasks or 0
    if given.initial:
        return LiveCrowd.load(given.initial, most_open=most)
    model, options, _ = model_of(replace(given, method="online"), ())
    return LiveCrowd(given.class_names, most_open=most, slots=options.slots, **values_of(model.parameters))


def _print(given: CrowdOptions, task: str, label: str, share: float, labels: int, state: str) -> None:
    row: dict[str, Any] = {
        "task": task,
        "label": label,
        "confidence": round(share, 4),
        "labels": labels,
        "state": state,
    }
    print(dumps(row) if given.json else "\t".join(map(str, row.values())), flush=True)


def _rows(given: CrowdOptions) -> Iterator[tuple[int, tuple[str, str, str] | str]]:
    """The number of each line, and its worker, task and label, empty for none; or why it is left out.

    Raises:
        DataError: the first line is no text, or does not say which columns are which.
    """
    asked = given.read_as or ColumnNames()
    asked, encoding = asked.answering(given.class_names, given.unsure or ()), given.encoding or "utf-8-sig"
    with nullcontext(sys.stdin.buffer) if given.labels == "-" else open(given.labels, "rb") as lines:
        places: list[int] = []
        for number, raw in enumerate(lines, 1):
            try:
                line = raw.decode(encoding).rstrip("\r\n")
            except UnicodeError:
                if not places:
                    wanted = f"wanted lines in {given.encoding or 'UTF-8'}, not compressed; or leave out --follow"
                    raise DataError(at(given.labels, number, None, f"got bytes that are no text, {wanted}")) from None
                yield number, f"got bytes that are not {given.encoding or 'UTF-8'}"
                continue
            if not line.strip():
                continue
            if not places:
                table = table_of(line.encode(), len(_ROLES), number)
                assert table is not None
                separator = table.separator
                places, header = _places(given.labels, table.first, asked, number)
                if header:
                    continue
            cells = next(csv.reader([line], delimiter=separator))
            row = [cells[place].strip() for place in places] if len(cells) > max(places) else ["", "", ""]
            worker, task, label = row
            none = not label or label in MISSING or asked.is_unsure(label)
            if not task:
                yield number, "got no worker, task and label"
            elif not none and asked.classes and label not in asked.classes:
                yield number, f"got the label {label!r}, wanted one of --classes {given.classes}"
            else:
                yield number, (worker, task, "" if none else label)


def _places(name: str, first: list[str], asked: ColumnNames, line: int) -> tuple[list[int], bool]:
    """The columns of worker, task and label, and whether the first row is a header.

    Raises:
        DataError: it does not say.
    """
    named = asked.one_each | ({"label": asked.label[0]} if asked.label else {})
    keys = [field.strip() for field in first]
    found = []
    for role in _ROLES:
        if role in named:
            if named[role] not in keys:
                raise DataError(at(name, line, 1, f"no column {named[role]!r}; got {', '.join(keys)}"))
            found.append(keys.index(named[role]))
            continue
        places = places_of(first, role) or usual_of(first, role)
        found.append(places[0] if len(places) == 1 else -1)
    if len(first) == len(_ROLES) and found.count(-1) == 1:  # the only column left
        found[found.index(-1)] = next(place for place in range(len(first)) if place not in found)
    if min(found) >= 0 and len(set(found)) == len(found):
        return found, True
    if len(first) == len(_ROLES) and max(found) < 0 and not named:
        return [0, 1, 2], False
    wanted = "wanted worker, task and label, a header that names them, or --columns worker=...,task=...,label=..."
    raise DataError(at(name, line, 1, f"got {', '.join(keys)}; {wanted}"))
