"""Labels from files: one way from the bytes of a source to the labels of each question.

A source is unpacked and decoded (`source`), its form is found (`form`), then the places of its columns (`columns`),
the labels as codes (`triples`), and the labels by task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hutch.core.errors import Problem, did_you_mean, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.codes import known_first
from hutch.crowd.data.known import places_of, usual_of
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.read.columns import decide
from hutch.crowd.read.form import Export, form_of, table_of
from hutch.crowd.read.matching import is_header, wrong_width
from hutch.crowd.read.rows import read_rows
from hutch.crowd.read.source import Source, called, read_source
from hutch.crowd.read.tools.tool import Places
from hutch.crowd.read.triples import Triples, described, of_export, of_table

ALL_COUNT = "all answers of a worker to a task count, not the last"
THE_LAST_COUNTS = "of two answers of a worker to a task the last counts"
"""What is said of rows that have a time: of models in batch, and of a stream in any order."""


@dataclass(frozen=True)
class Read:
    """All labels of a source as they are.

    Attributes:
        triples: the labels.
        form: how the source was read, in one line.
        notices: what a user should know about it.
        fields: names of the columns of a table.
    """

    triples: Triples
    form: str = ""
    notices: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


def read_labels(
    path: str | Path,
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
) -> Labels:
    """Read labels from a file.

    Text separated by tabs, commas, semicolons, `|` or blanks (`worker task label`, or any order under a header, or a
    column per worker), UTF-8 or UTF-16 unless an encoding is named, gzip or Zstandard, Parquet, `-` for standard input,
    or what tools export: Label Studio, Toloka, Mechanical Turk, Appen, Zooniverse, Potato, Prodigy, doccano, Argilla,
    Inspect, promptfoo, DeepEval and lm-eval, detected by content. What no name tells is decided by the values; where
    that is not clear, the readings are named. An empty worker is the anonymous worker; a label that is empty, `N/A` or
    the like in a table, or that is several, is left out and counted.

    Args:
        path: the file.
        classes, workers: those known beforehand; they keep their numbers, new ones follow.
        gold: true class of some tasks, as from `read_gold`; it goes before gold in the file.
        columns: names of the columns or fields, as `worker=who,task=id,label=answer`, if they are not recognised.
            As `ColumnNames` they also give the encoding of the text.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or it has several questions.
        UsageError: `columns` is malformed.
    """
    found = read_questions(path, classes, workers, gold, columns)
    if len(found) > 1:
        with reading(called(path)):
            names = ", ".join(found)
            raise Problem(
                f"got answers to {len(found)} questions ({names}), wanted one: keep its rows in a file of their own"
            )
    return next(iter(found.values()))


def read_questions(
    path: str | Path,
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
    columns: str | Mapping[str, str] | ColumnNames | None = None,
    arrivals: bool = False,
) -> dict[str, Labels]:
    """The labels of each question of a file, by its name; one question has none; with `Labels.arrivals` if asked.

    All else as of `read_labels`.
    """
    asked = ColumnNames.of(columns)
    gold = {task: label for task, label in (gold or {}).items() if label not in asked.unsure}
    read = read_all(path, classes, asked.keeping(gold.values()))
    with reading(called(path)):
        check_unsure(asked.unsure, [read])
    found = {}
    for question, triples in (read.triples.apart() or {"": Triples.none()}).items():
        people, tasks, answers = triples.names
        truth = {**triples.gold, **gold}
        labels = from_codes(triples.codes, people, tasks, answers, classes, workers, truth, arrivals)
        found[question] = replace(
            labels, problems=read.triples.problems, form=read.form, notices=read.notices,
            unsure=triples.unsure_in(labels),
        )  # fmt: skip
    return found


def read_all(path: str | Path, classes: Sequence[str], columns: ColumnNames) -> Read:
    """All labels of a file as they are; arguments and errors are those of `read_labels`."""
    columns = columns.keeping(classes)
    with reading(called(path)):
        source = read_source(path, columns.encoding)
        form = form_of(source)
        if form is None:
            return Read(Triples.none(), "an empty file")
        if isinstance(form, Export):
            triples = of_export(form, columns)
            several = f": {len(triples.questions[1])} questions" if triples.questions else ""
            told = form.tool.name + several
            return Read(triples, told, (f"read as {told}",))
        places = decide(form, columns, source.name, classes)
        triples = of_table(source, form, places, columns)
        told = described(places, triples, columns.extra)
        return Read(triples, told, notices_of(places, told, triples.words), tuple(form.first))


def notices_of(places: Places, told: str, words: Sequence[str] = ()) -> tuple[str, ...]:
    """What a user should know about the way a table was read, with these words in cells that are taken as empty."""
    by_name = not (places.tool or places.questions or places.choices or "question" in places.at)
    notices = [places.doubt, "" if by_name else f"read as {told}"]
    if "time" in places.at:
        notices.append(f"rows are taken in the order of their time; {ALL_COUNT}")
    if "None" in words:  # the other words are hardly names of classes
        notices.append("cells with None are taken as empty; --classes names it if it is a class")
    return tuple(filter(None, notices))


def check_unsure(words: Sequence[str], sources: Sequence[Read]) -> None:
    """See that each word that is named as unsure is a label, or a column, of one of the sources.

    Raises:
        Problem: one is not.
    """
    for word in words:
        if not any(word in each.triples.problems.unsure or word in each.fields for each in sources):
            known = known_first((), (name for each in sources for name in each.triples.names[2]))
            raise Problem(f"unsure: no label is {word!r}; {did_you_mean(word, known)}")


def read_gold(path: str | Path, encoding: str = "") -> dict[str, str]:
    """Read the true classes of some tasks: `task label`, or any order under a header.

    Args:
        path: the file.
        encoding: as of `hutch.crowd.data.asked.ColumnNames`.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or a task has two different classes.
    """
    with reading(called(path)):
        gold: dict[str, str] = {}
        for task, label in _pairs(read_source(path, encoding)):
            if gold.setdefault(task, label) != label:
                raise Problem(f"gold of task {task!r}: got both {gold[task]!r} and {label!r}, wanted one")
    return gold


def _pairs(source: Source) -> list[tuple[str, str]]:
    """The rows of task and label of a text."""
    roles = ("task", "label")
    table = table_of(source.data, len(roles), source.line)
    if table is None:
        return []
    named = [places_of(table.first, role) or usual_of(table.first, role) for role in roles]
    header = all(named) or (len(table.first) == len(roles) and bool(is_header(table, roles)))
    if all(named):
        columns = [places[0] for places in named]
    elif len(table.first) != len(roles):
        raise Problem(wrong_width(len(table.first), roles), table.line, 1)
    else:
        columns = [1, 0] if named[0] == [1] or named[1] == [0] else [0, 1]
    rows = read_rows(source, table, header, columns, roles)
    tasks, labels = rows.names
    return [(tasks[task], labels[label]) for task, label in rows.codes.tolist()]
