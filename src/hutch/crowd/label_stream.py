"""Labels in a stream: read piece by piece; learned one by one, or task by task in memory that does not grow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hutch.core.data.chunks import CHUNK_BYTES, source_name
from hutch.core.errors import Problem, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.codes import known_first, recoded, used_names
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.data.values import Problems
from hutch.crowd.models.any_order_stream import AnyOrderStream
from hutch.crowd.models.model import Array
from hutch.crowd.models.online import Stream, Table
from hutch.crowd.output import posterior_header, posterior_rows, set_rows
from hutch.crowd.read.columns import decide
from hutch.crowd.read.form import Export, form_of
from hutch.crowd.read.labels import notices_of
from hutch.crowd.read.multi_label import answers_to
from hutch.crowd.read.source import pieces_of
from hutch.crowd.read.triples import Triples, described, of_table
from hutch.crowd.returning import APART, Finished, warning
from hutch.crowd.running import Running

Pieces = Iterator[Triples]

_BLOCK = 1 << 16


@dataclass
class Seen:
    """What a stream saw beside its labels.

    Attributes:
        problems: labels left out, with reasons.
        form: how the source is read, in one line.
        notices: what a user should know about that.
        split: tasks that came back after others: the number of times.
        first: the first of them, and its place.
        new_classes: classes that were not known before their first label.
        over: tasks that are over, of earlier runs, too.
        consequence: of a task that comes back: see `returning.warning`.
    """

    problems: Problems = field(default_factory=Problems)
    form: str = ""
    notices: tuple[str, ...] = ()
    split: int = 0
    first: tuple[str, str] = ("", "")
    new_classes: list[str] = field(default_factory=list)
    over: Finished = field(default_factory=Finished)
    consequence: str = APART

    def warning(self) -> str:
        """What to say of tasks that came back; empty without any."""
        return warning(*self.first, self.split, self.consequence) if self.split else ""


def label_blocks(
    path: str | Path,
    classes: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
    seen: Seen | None = None,
) -> Iterator[Labels]:
    """Labels of whole tasks, a piece of the file at a time; the labels of a task must be adjacent.

    Args:
        path: tab- or comma-separated text as in `read_labels`; `-` is standard input.
        classes: all there are; without them, those of the first piece.
        gold: true class of some tasks.
        chunk_bytes: size of a piece; a task with more makes memory grow.
        columns: as in `read_labels`.
        seen: takes the labels that are left out, and tasks that come back.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or a label is not a class.
    """
    known, truth = list(classes), gold or {}
    asked = ColumnNames.of(columns).keeping((gold or {}).values())
    pieces = _pieces(path, classes, chunk_bytes, asked, seen := seen or Seen())
    for piece in _whole_tasks(pieces, seen):
        people, tasks, answers = piece.names
        labels = from_codes(piece.codes, people, tasks, answers, known, gold=_gold_of(piece, truth))
        known = known or labels.classes
        if len(labels.classes) > len(known):
            text = f"got label {labels.classes[len(known)]!r}, wanted one of {', '.join(known)}"
            with reading(source_name(path)):
                raise Problem(f"{text}; a stream must know its classes: --classes")
        yield labels


def label_pieces(
    path: str | Path,
    classes: Sequence[str],
    gold: Mapping[str, str] | None,
    columns: str | Mapping[str, str] | ColumnNames | None,
    seen: Seen,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Labels]:
    """Labels as they come, a piece of the file at a time; a task may be in several pieces.

    Args: as of `label_blocks`; classes that are met later get the next numbers.
    """
    known, truth = list(classes), gold or {}
    asked = ColumnNames.of(columns).keeping(truth.values())
    for piece in _pieces(path, classes, chunk_bytes, asked, seen):
        codes, names = used_names(piece.codes, piece.names)
        if not len(codes):
            continue
        people, tasks, answers = names
        before, known = known, known_first(known, answers) if known else []
        here = replace(piece, names=names)
        labels = from_codes(codes, people, tasks, answers, known, gold=_gold_of(here, truth), arrivals=True)
        known = labels.classes
        seen.new_classes += known[len(before) :] if before else []
        yield labels


def _gold_of(piece: Triples, truth: Mapping[str, str]) -> dict[str, str]:
    """The true classes of the tasks of a piece: those given, else its own."""
    own = piece.gold
    return {task: truth.get(task, own.get(task, "")) for task in piece.names[1] if task in truth or task in own}


def multi_label_blocks(
    path: str, labels: Sequence[str], gold: Mapping[str, str] | None, columns: ColumnNames, seen: Seen
) -> Iterator[dict[str, Labels]]:
    """The answers to each of `labels`, as of `read_multi_label`; the rest as of `label_blocks`."""
    for piece in _whole_tasks(_pieces(path, labels, CHUNK_BYTES, replace(columns, sets=True), seen), seen):
        found = answers_to(piece, path, labels, gold)
        labels = labels or [*found]
        yield found


def number_blocks(path: str, columns: ColumnNames, seen: Seen) -> Iterator[Labels]:
    """Labels of whole tasks, each block with classes of its own; the rest as of `label_blocks`."""
    for piece in _whole_tasks(_pieces(path, (), CHUNK_BYTES, columns, seen), seen):
        people, tasks, answers = piece.names
        yield from_codes(piece.codes, people, tasks, answers)


def _pieces(path: str | Path, classes: Sequence[str], chunk_bytes: int, columns: ColumnNames, seen: Seen) -> Pieces:
    """The labels of each chunk."""
    found = None
    rows, questions = 0, list[str]()
    for source in pieces_of(path, columns.encoding, chunk_bytes):
        with reading(source.name):
            begins = found is None
            if found is None:
                form = form_of(source)
                if isinstance(form, Export) or (form and form.records is not None):
                    raise Problem("got JSON or an archive, wanted a table of labels; leave out --stream")
                if form is None:
                    continue
                found = form, decide(form, columns, source.name, classes)
                if "time" in found[1].at:
                    raise Problem("--columns time: a stream takes rows as they come; leave out --stream")
            piece = of_table(source, *found, columns.keeping(classes), begins, rows)
            questions = known_first(questions, piece.questions[1] if piece.questions else ())
            if len(questions) > 1:
                names = ", ".join(questions)
                raise Problem(f"got answers to several questions ({names}), wanted one; leave out --stream")
            if begins:
                seen.form = described(found[1], piece)
                seen.notices = notices_of(found[1], seen.form)
        seen.problems.extend(piece.problems)
        rows += piece.rows
        yield piece


def _whole_tasks(pieces: Pieces, seen: Seen) -> Pieces:
    """The same labels, cut where a task ends; the last task of a piece waits for the next."""
    held = np.zeros((0, 3), np.int32)
    held_names: list[Sequence[str]] = [[], [], []]
    held_gold: dict[tuple[str, str], str] = {}
    for piece in pieces:
        codes, names = piece.codes, piece.names
        _note_split(piece, held_names[1], seen)
        order = [known_first(old, new) for old, new in zip(held_names, names, strict=True)]
        fresh = [recoded(codes[:, role], names[role], order[role]) for role in range(3)]
        rows, gold = np.concatenate([held, np.stack(fresh, axis=1)]), {**piece.truths, **held_gold}
        if not len(rows):
            continue
        cut = int(np.flatnonzero(np.append(-1, rows[:, 1]) != rows[-1, 1])[-1])
        if cut:
            whole = Triples(*used_names(rows[:cut], order), gold)
            seen.over.add(whole.names[1])
            yield whole
        held, held_names = used_names(rows[cut:], order)
        held_gold = {key: label for key, label in gold.items() if key[1] in held_names[1]}
    if len(held):
        seen.over.add(held_names[1])
        yield Triples(held, held_names, held_gold)


def _note_split(piece: Triples, held: Sequence[str], seen: Seen) -> None:
    """Note the tasks of a piece that were over."""
    for place in seen.over.again(piece.names[1]).tolist():
        task = piece.names[1][place]
        labels = np.flatnonzero(piece.codes[:, 1] == place)
        if task in held or not len(labels):
            continue
        if not seen.split:
            seen.first = (task, piece.where(int(labels[0])))
        seen.split += 1


def run_pieces(stream: AnyOrderStream, pieces: Iterable[Labels], table: Table | None, passes: int) -> "Totals":
    """Learn label after label; in further passes, judge all open tasks again.

    Args:
        stream: learns.
        pieces: of the labels.
        table: the progress table.
        passes: at least 1.
    """
    totals = Totals()
    for piece in pieces:
        progress = stream.learn(piece, True)
        if table:
            table(piece, progress)
        totals.labels += len(piece.coming)
        totals.objective += progress.objective.sum()
        totals.met |= dict.fromkeys(piece.item_names)
        if totals.piece is None or len(piece) >= len(totals.piece):
            totals.piece = piece
    for _ in range(passes - 1):
        stream.engine.sweep()
    totals.tasks = len(totals.met)
    totals.objective /= max(totals.tasks, 1)
    return totals


def read_tasks(
    stream: AnyOrderStream, met: Iterable[str], file: BinaryIO | None, scale: Array | None
) -> tuple[Running, Stream]:
    """Read the posterior of each task of a run, by all labels that it ever got.

    Args:
        stream: has learned.
        met: the tasks.
        file: receives the posteriors, header first.
        scale: values of ordered classes.

    Returns:
        what they show; the stream that they were read from.
    """
    if file:
        file.write(posterior_header(stream.classes, scale is not None))
    names, stream, running = [*met], stream.settled(), Running()
    for begin in range(0, len(names), _BLOCK):
        labels = stream.kept(names[begin : begin + _BLOCK])
        posterior, _, _ = stream.score(stream.in_slots(labels))
        share = stream.probability(labels, posterior)
        running.add(labels, share, posterior)
        if file:
            posterior_rows(file, labels, share, scale)
    return running, stream


@dataclass
class Totals:
    """Totals of a stream.

    Attributes:
        tasks, labels: numbers seen.
        objective: mean of the auxiliary function, before each task was learned.
        met: the tasks, in the order of their first label, where they may come back.
        piece: the labels of the largest piece, where they may come in any order.
    """

    tasks: int = 0
    labels: int = 0
    objective: float = 0.0
    met: dict[str, None] = field(default_factory=dict)
    piece: Labels | None = None


def run_blocks(
    streams: Mapping[str, Stream],
    blocks: Iterable[Mapping[str, Labels]],
    first_pass: bool | None,
    table: Table | None,
    file: BinaryIO | None,
    scale: Array | None = None,
    running: Mapping[str, Running] | None = None,
) -> Totals:
    """Learn block after block, and write each task's posterior from before the task was learned.

    Args:
        streams: the model; with several labels per task one for each of them, by name.
        blocks: of whole tasks, for each stream.
        first_pass: these labels are new; None: only score.
        table: the progress table.
        file: receives the posteriors, header first.
        scale: values of ordered classes.
        running: counts what is written, for each stream.
    """
    totals, several = Totals(), [*streams] != [""]
    if file:
        file.write(posterior_header([*streams] if several else streams[""].state.classes, scale is not None))
    for block in blocks:
        found = []
        for name, labels in block.items():
            stream, count = streams[name], len(labels)
            if first_pass is None:
                labels = stream.with_earlier(labels, learned=False)
                posterior, _, objective = stream.score(stream.in_slots(labels))
            else:
                progress = stream.learn(stream.in_slots(labels), first_pass)
                if table:
                    table(labels, progress)
                posterior, objective = progress.posterior, float(progress.objective.mean())
            found += [stream.probability(labels, posterior)] if file or running else []
            if running:
                running[name].add(labels, found[-1], posterior)
        totals.tasks += labels.items
        totals.labels += count
        totals.objective += (objective - totals.objective) * labels.items / totals.tasks
        if file and several:
            set_rows(file, labels, [*streams], np.stack(found, axis=1)[:, :, 1])
        elif file:
            posterior_rows(file, labels, found[0], scale)
    for stream in streams.values() if totals.labels and first_pass is not None else ():
        stream.check()
    return totals
