"""Votes and items from files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.documents import is_blank, is_table, read_documents
from hutch.core.data.chunks import Chunks, source_name
from hutch.core.data.files import ending_of
from hutch.core.errors import DataError, Problem, at, did_you_mean, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import key_of
from hutch.crowd.data.labels import almost_alike, class_order
from hutch.crowd.data.values import number_in
from hutch.crowd.read.form import is_json, table_of
from hutch.crowd.read.labels import read_all, read_labels
from hutch.crowd.read.source import read_source
from hutch.label.posterior import Array, Votes

PROBABILITY = "probability"
"""The column of the probability that an annotator gives to their label."""


@dataclass(frozen=True)
class Said:
    """Votes as written in a file.

    Attributes:
        source: the name of the file.
        codes: int32 (votes, 3), of worker, item and label.
        names: of these.
        probability: float64 (votes), that a worker gives to their label; NaN: none.
        form: how the file was read, in one line.
    """

    source: str
    codes: NDArray[np.int32]
    names: tuple[Sequence[str], Sequence[str], Sequence[str]]
    probability: Array
    form: str = ""

    def votes(self, places: Mapping[str, int], classes: Sequence[str], most: int) -> Votes:
        """The first votes on each item, at most `most`, each worker's once.

        Args:
            places: item -> its place.
            classes: names, whose codes the votes get.
            most: votes of each item.

        Raises:
            DataError: no item of the file is known.
        """
        code = {name: k for k, name in enumerate(classes)}
        item_place = np.array([places.get(name, -1) for name in self.names[1]], np.int64)
        if len(self.codes) and not (item_place >= 0).any():
            text = f"got no item that is to be labelled, such as {self.names[1][0]!r}"
            raise DataError(
                at(self.source, None, None, f"{text}; {did_you_mean(self.names[1][0], list(places)[:1000])}")
            )
        label_code = np.array([code[name] for name in self.names[2]], np.int32)
        found = Votes.none(len(places), most)
        used = np.zeros(len(places), np.int64)
        for (worker, item, label), probability in zip(self.codes.tolist(), self.probability.tolist(), strict=True):
            place = int(item_place[item])
            if place < 0 or used[place] == most or worker in found.worker[place, : used[place]]:
                continue
            at_ = used[place]
            found.worker[place, at_], found.label[place, at_] = worker, label_code[label]
            found.probability[place, at_] = probability
            used[place] += 1
        return found


def read_votes(path: str, columns: ColumnNames | None = None) -> Said:
    """Read votes, as `hutch crowd` does; a column `probability` holds the worker's probability of the label.

    Args:
        path: the file.
        columns: names of its columns, if they are not found.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or it has several questions.
    """
    asked = columns or ColumnNames()
    chances = _chances_in(path, asked)
    if not chances:
        labels = read_labels(path, columns=asked)
        for word in labels.problems.unsure.keys() - set(asked.unsure):
            text = f"got the label {word!r}, wanted a class: --columns unsure={word!r} leaves it out"
            raise DataError(at(path, None, None, f"{text}, --classes names it as one"))
        codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1)
        given = (labels.worker_names, list(labels.item_names), labels.classes)
        return Said(path, codes, given, np.full(len(codes), np.nan), labels.form)
    read = read_all(path, (), replace(asked, extra=chances, anonymous=True))
    triples = read.triples
    with reading(source_name(path)):
        if triples.questions:
            raise Problem(f"got answers to several questions ({', '.join(triples.questions[1])}), wanted one")
        if triples.problems.total:
            raise Problem(triples.problems.lines("")[0].removeprefix(": "))
    assert triples.extras
    places, (texts, *_) = triples.extras[0][:, 0], triples.extras[1]
    values = np.array([_chance(text) for text in texts])
    with reading(source_name(path)):
        for code in np.flatnonzero(np.isinf(values)):
            wanted = "wanted a number above 0, up to 1"
            raise Problem(f"probability: got {texts[int(code)]!r}, {wanted}", *triples.spot(0, int(code)))
    people, items, labels_ = triples.names
    return Said(path, triples.codes, (people, list(items), labels_), values[places], read.form)


def _chances_in(path: str, asked: ColumnNames) -> tuple[str, ...]:
    """The column of probabilities of a table with a header, if it has one."""
    with reading(source_name(path)):
        source = read_source(path, asked.encoding)
        table = None if is_json(source.data) else table_of(source.data, 3)
        return tuple(field for field in table.first if key_of(field) == PROBABILITY)[:1] if table else ()


def _chance(text: str) -> float:
    value = number_in(text)
    return value if not text or 0 < value <= 1 else np.inf


def classes_of(said: Sequence[Said], known: Sequence[str] = ()) -> list[str]:
    """The classes that votes name, after the known ones, in their order.

    Raises:
        DataError: two names differ in spelling only, or a file names a class that is not a known one.
    """
    if known:
        for each in said:
            for name in each.names[2]:
                if name not in known:
                    text = f"label: got {name!r}, wanted one of {', '.join(known)}; {did_you_mean(name, known)}"
                    raise DataError(at(each.source, None, None, text))
        return list(known)
    found = class_order(name for each in said for name in each.names[2])
    for first, second, *_ in almost_alike(found):
        place = next(each.source for each in said if second in each.names[2])
        raise DataError(at(place, None, None, f"label: got {second!r} and {first!r}; wanted one spelling"))
    return found


@dataclass(frozen=True)
class Items:
    """Items to label.

    Attributes:
        names: of the items, all different.
        documents: shown to people and commands for each.
    """

    names: list[str]
    documents: list[dict[str, Any]]


def read_items(path: str) -> Items:
    """Read items: a table (CSV, TSV, Parquet, JSON lines) with a column `id`, or lines, each an item and its name.

    Raises:
        DataError: the file cannot be read, is empty, is a table by another name, or an item has no name or that of
            another.
    """
    first = 1
    rows: Iterator[tuple[Any, dict[str, Any]]]
    if is_table(path):
        first = 2 if ending_of(path) in (".csv", ".tsv") else 1
        rows = ((document.get("id"), document) for document in read_documents(path))
    else:
        data = b"".join(bytes(chunk.data) for chunk in Chunks([path]))
        lines = list(filter(None, map(str.strip, data.decode(errors="replace").splitlines())))
        if lines and "id" in lines[0].replace("\t", ",").split(","):
            raise DataError(at(path, 1, None, "got the header of a table, wanted it in a file .csv or .tsv"))
        rows = ((line, {"id": line, "text": line}) for line in lines)
    found: dict[str, dict[str, Any]] = {}
    for number, (name, document) in enumerate(rows, first):
        if is_blank(document):
            continue
        if name is None or name == "":
            raise DataError(at(path, number, None, "got an item without an id, wanted a column id"))
        if str(name) in found:
            raise DataError(at(path, number, None, f"got item {str(name)!r} twice, wanted different ids"))
        found[str(name)] = document
    if not found:
        raise DataError(at(path, None, None, "got no items"))
    return Items(list(found), list(found.values()))
