"""Votes and items from files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.documents import is_table, read_documents
from hutch.core.data.chunks import Chunks, source_name
from hutch.core.data.files import ending_of
from hutch.core.errors import DataError, Problem, at, did_you_mean, reading
from hutch.crowd.data.labels import almost_alike, class_order, read_labels
from hutch.crowd.data.prices import number_in
from hutch.crowd.data.rows import Layout, first_line, only_column, read_rows
from hutch.crowd.exports.headers import key_of, places_of
from hutch.crowd.exports.json_export import is_json
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
    """

    source: str
    codes: NDArray[np.int32]
    names: tuple[Sequence[str], Sequence[str], Sequence[str]]
    probability: Array

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


def read_votes(path: str) -> Said:
    """Read votes, as `hutch crowd` does; a column `probability` holds the worker's probability of the label.

    Raises:
        DataError: the file cannot be read, or a place in it is wrong.
    """
    with reading(source_name(path)):
        data = b"".join(bytes(chunk.data) for chunk in Chunks([path]))
        first = None if is_json(data) else first_line(data, 3)
        if not first or PROBABILITY not in [key_of(field) for field in first.fields]:
            labels = read_labels(path)
            codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1)
            given = (labels.worker_names, list(labels.item_names), labels.classes)
            return Said(path, codes, given, np.full(len(codes), np.nan))
        roles = [*(["worker"] if places_of(first.fields, "worker") else []), "task", "label"]
        columns = [only_column(first.fields, role, first.line) for role in roles]
        columns.append([key_of(field) for field in first.fields].index(PROBABILITY))
        layout = Layout(first.separator, np.array(columns), len(first.fields))
        rows = read_rows(data, first.rows, first.rows_line, layout, (*roles, PROBABILITY), ("worker", PROBABILITY))
        texts = rows.names[-1]
        values = np.array([_chance(text) for text in texts])
        for code in np.flatnonzero(np.isinf(values)):
            wanted = "wanted a number above 0, up to 1"
            raise Problem(f"probability: got {texts[int(code)]!r}, {wanted}", *rows.place(len(roles), int(code)))
    workers = rows.codes[:, 0] if len(roles) == 3 else np.zeros(len(rows.codes), np.int32)
    people: Sequence[str] = rows.names[0] if len(roles) == 3 else [""]
    triples = np.column_stack([workers, rows.codes[:, -3:-1]])
    return Said(path, triples, (people, list(rows.names[-3]), rows.names[-2]), values[rows.codes[:, -1]])


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
        if name is None or name == "":
            raise DataError(at(path, number, None, "got an item without an id, wanted a column id"))
        if str(name) in found:
            raise DataError(at(path, number, None, f"got item {str(name)!r} twice, wanted different ids"))
        found[str(name)] = document
    if not found:
        raise DataError(at(path, None, None, "got no items"))
    return Items(list(found), list(found.values()))
