"""Labels in a stream: read piece by piece, aggregated task by task, in memory that does not grow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hutch.core.data.chunks import CHUNK_BYTES, Chunks, source_name
from hutch.core.errors import Problem, reading
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.data.multi_label import answers_to
from hutch.crowd.data.rows import known_first, recoded, recoded_text, used_names
from hutch.crowd.data.sheets import Piece, SheetReader, sheet_reader
from hutch.crowd.exports.found import Columns, Problems
from hutch.crowd.exports.json_export import is_json
from hutch.crowd.models.model import Array
from hutch.crowd.models.online import Stream, Table
from hutch.crowd.output import posterior_header, posterior_rows, set_rows

Pieces = Iterator[Piece]


def label_blocks(
    path: str | Path,
    classes: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    columns: str | Mapping[str, str] | Columns | None = None,
    problems: Problems | None = None,
) -> Iterator[Labels]:
    """Labels of whole tasks, a piece of the file at a time; the labels of a task must be adjacent.

    Args:
        path: tab- or comma-separated text as in `read_labels`; `-` is standard input.
        classes: all there are; without them, those of the first piece.
        gold: true class of some tasks.
        chunk_bytes: size of a piece; a task with more makes memory grow.
        columns: as in `read_labels`.
        problems: takes the labels that are left out.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or a label is not a class.
    """
    known, truth = list(classes), gold or {}
    found = problems if problems is not None else Problems()
    pieces = _pieces(path, classes, chunk_bytes, Columns.of(columns), found)
    for piece in _whole_tasks(pieces):
        codes, (people, tasks, answers) = piece.codes, piece.names
        here = {
            task: truth.get(task, piece.gold.get(task, "")) for task in tasks if task in truth or task in piece.gold
        }
        labels = from_codes(codes, people, tasks, answers, known, gold=here)
        known = known or labels.classes
        if len(labels.classes) > len(known):
            text = f"got label {labels.classes[len(known)]!r}, wanted one of {', '.join(known)}"
            with reading(source_name(path)):
                raise Problem(f"{text}; a stream must know its classes: --classes")
        yield labels


def multi_label_blocks(
    path: str, labels: Sequence[str], gold: Mapping[str, str] | None, columns: Columns, problems: Problems
) -> Iterator[dict[str, Labels]]:
    """The answers to each of `labels`, as of `read_multi_label`; the rest as of `label_blocks`."""
    for piece in _whole_tasks(_pieces(path, labels, CHUNK_BYTES, replace(columns, sets=True), problems)):
        found = answers_to(piece, path, labels, gold)
        labels = labels or [*found]
        yield found


def number_blocks(path: str, columns: Columns, problems: Problems) -> Iterator[Labels]:
    """Labels of whole tasks, each block with classes of its own; the rest as of `label_blocks`."""
    for piece in _whole_tasks(_pieces(path, (), CHUNK_BYTES, columns, problems)):
        people, tasks, answers = piece.names
        yield from_codes(piece.codes, people, tasks, answers)


def _pieces(path: str | Path, classes: Sequence[str], chunk_bytes: int, columns: Columns, problems: Problems) -> Pieces:
    """The labels of each chunk."""
    reader: SheetReader | None = None
    line = 1
    for chunk in Chunks([path], chunk_bytes):
        data = recoded_text(bytes(chunk.data), columns.encoding)
        lines, start, first = data.count(b"\n"), 0, line
        with reading(chunk.source):
            if reader is None:
                if is_json(data):
                    raise Problem("got JSON or an archive, wanted a table of labels; leave out --stream")
                reader = sheet_reader(data, columns, classes)
                if reader is None:
                    line += lines
                    continue
                start, first = reader.start, line + reader.line - 1
            piece = reader.read(data, start, first)
        problems.extend(piece.problems)
        yield piece
        line += lines


def _whole_tasks(pieces: Pieces) -> Pieces:
    """The same labels, cut where a task ends; the last task of a piece waits for the next."""
    held = np.zeros((0, 3), np.int32)
    held_names: list[Sequence[str]] = [[], [], []]
    held_gold: dict[str, str] = {}
    for piece in pieces:
        codes, names = piece.codes, piece.names
        order = [known_first(old, new) for old, new in zip(held_names, names, strict=True)]
        fresh = [recoded(codes[:, role], names[role], order[role]) for role in range(3)]
        rows, gold = np.concatenate([held, np.stack(fresh, axis=1)]), {**piece.gold, **held_gold}
        if not len(rows):
            continue
        cut = int(np.flatnonzero(np.append(-1, rows[:, 1]) != rows[-1, 1])[-1])
        if cut:
            yield Piece(*used_names(rows[:cut], order), gold)
        held, held_names = used_names(rows[cut:], order)
        held_gold = {task: gold[task] for task in held_names[1] if task in gold}
    if len(held):
        yield Piece(held, held_names, held_gold)


@dataclass
class Totals:
    """Totals of a stream.

    Attributes:
        tasks, labels: numbers seen.
        objective: mean of the auxiliary function, before each task was learned.
    """

    tasks: int = 0
    labels: int = 0
    objective: float = 0.0


def run_blocks(
    streams: Mapping[str, Stream],
    blocks: Iterable[Mapping[str, Labels]],
    first_pass: bool | None,
    table: Table | None,
    file: BinaryIO | None,
    scale: Array | None = None,
) -> Totals:
    """Learn block after block, and write each task's posterior from before the task was learned.

    Args:
        streams: the model; with several labels per task one for each of them, by name.
        blocks: of whole tasks, for each stream.
        first_pass: these labels are new; None: only score.
        table: the progress table.
        file: receives the posteriors, header first.
        scale: values of ordered classes.
    """
    totals, several = Totals(), [*streams] != [""]
    if file:
        file.write(posterior_header([*streams] if several else streams[""].state.classes, scale is not None))
    for block in blocks:
        found = []
        for name, labels in block.items():
            stream = streams[name]
            hashed = stream.in_slots(labels)
            if first_pass is None:
                posterior, _, objective = stream.score(hashed)
            else:
                progress = stream.learn(hashed, first_pass)
                if table:
                    table(labels, progress)
                posterior, objective = progress.posterior, float(progress.objective.mean())
            found += [stream.probability(labels, posterior)] if file else []
        totals.tasks += labels.items
        totals.labels += len(labels)
        totals.objective += (objective - totals.objective) * labels.items / totals.tasks
        if file and several:
            set_rows(file, labels, [*streams], np.stack(found, axis=1)[:, :, 1])
        elif file:
            posterior_rows(file, labels, found[0], scale)
    for stream in streams.values() if totals.labels and first_pass is not None else ():
        stream.check()
    return totals
