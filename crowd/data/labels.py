"""Worker-task-label triples, from any of the usual files, as integer codes sorted by item."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import BYTE_ORDER_MARK, FINE, PROBLEMS, first_record, place_of, refuse_nul
from hutch.core.data.chunks import Chunks
from hutch.core.errors import DataError, at, did_you_mean
from hutch.crowd.data import scan

ROLES = ("worker", "task", "label")
HEADERS = {
    "worker": {"worker", "workerid", "annotator", "annotatorid", "rater", "user", "userid", "labeler", "labeller"},
    "task": {"task", "taskid", "item", "itemid", "example", "question", "image", "unit", "unitid"},
    "kind": {"kind"},
    "price": {"price"},
    "label": {"label", "answer", "class", "response", "rating", "category", "truth", "gold"},
}
"""Names by which a header line is known, without case, blanks, `-` and `_`."""


@dataclass(frozen=True)
class Labels:
    """Labels as compressed rows: item i has `workers[item_ptr[i]:item_ptr[i + 1]]` and `labels[...]` likewise.

    Attributes:
        item_ptr: int64 (items + 1).
        workers: int32 (labels), codes into `worker_names`.
        labels: int32 (labels), codes into `classes`.
        item_names, worker_names: in the order of first appearance.
        classes: numbers by value, other names by the alphabet; given classes first.
        gold: int32 (items), the true class or -1.
        duplicates: exact repetitions of a triple, dropped.
        contradictions: labels kept that differ from an earlier one of the same worker on the same item.
        unmatched_gold: gold lines for tasks without labels.
    """

    item_ptr: NDArray[np.int64]
    workers: NDArray[np.int32]
    labels: NDArray[np.int32]
    item_names: list[str]
    worker_names: list[str]
    classes: list[str]
    gold: NDArray[np.int32]
    duplicates: int = 0
    contradictions: int = 0
    unmatched_gold: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.item_ptr) - 1

    @cached_property
    def by_worker(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Pointer (workers + 1), positions of the labels and items of the labels, sorted by worker."""
        return scan.group_by_worker(self.item_ptr, self.workers, len(self.worker_names))  # type: ignore[no-any-return]

    @property
    def label_items(self) -> NDArray[np.int32]:
        """The item of each label."""
        return np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.item_ptr))

    def vote_share(self, gold: bool = False) -> NDArray[np.float64]:
        """Share of each class among an item's labels (items, classes); uniform where there are none.

        Args:
            gold: give all to the gold class where it is known.
        """
        classes = len(self.classes)
        cells = self.label_items.astype(np.int64) * classes + self.labels
        votes = np.bincount(cells, minlength=self.items * classes).reshape(self.items, classes).astype(np.float64)
        total = votes.sum(axis=1, keepdims=True)
        uniform = np.full_like(votes, 1 / max(classes, 1))
        shares: NDArray[np.float64] = np.divide(votes, total, out=uniform, where=total > 0)
        if gold:
            known = self.gold >= 0
            shares[known] = np.eye(classes)[self.gold[known]]
        return shares


def restricted(labels: Labels, classes: int) -> tuple[Labels, int]:
    """Only the labels of the first `classes` classes, and how many others there were; other gold is forgotten."""
    keep = labels.labels < classes
    dropped = len(labels) - int(keep.sum())
    if len(labels.classes) == classes:
        return labels, 0
    kept = np.concatenate([[0], np.cumsum(keep)])
    return replace(
        labels,
        item_ptr=kept[labels.item_ptr],
        workers=labels.workers[keep],
        labels=labels.labels[keep],
        classes=labels.classes[:classes],
        gold=np.where(labels.gold < classes, labels.gold, -1).astype(np.int32),
    ), dropped


def class_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order of their values: numbers first.

    >>> class_order(["10", "9", "cat"])
    ['9', '10', 'cat']
    """

    def key(name: str) -> tuple[bool, float, str]:
        number = re.fullmatch(r"[+-]?\d+(\.\d*)?", name)
        return (number is None, float(name) if number else 0.0, name)

    return sorted(set(names), key=key)


def from_codes(
    codes: NDArray[np.int32],
    worker_names: list[str],
    item_names: list[str],
    label_names: list[str],
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
) -> Labels:
    """Build `Labels` from rows of (worker, item, label) codes.

    Args:
        codes: int32 (rows, 3).
        worker_names, item_names, label_names: what the codes stand for.
        classes, workers: those known beforehand; they keep their numbers, new ones follow.
        gold: true class of some tasks.
    """
    gold = gold or {}
    item_code = {name: code for code, name in enumerate(item_names)} if gold else {}
    matched = {item_code[task]: label for task, label in gold.items() if task in item_code}
    ordered = known_first(classes, class_order([*label_names, *matched.values()]))
    people = known_first(workers, worker_names)
    class_code = {name: code for code, name in enumerate(ordered)}
    pointer, coded_workers, coded_labels, duplicates, contradictions = scan.group_by_item(
        recoded(codes[:, 0], worker_names, people) if workers else np.ascontiguousarray(codes[:, 0]),
        np.ascontiguousarray(codes[:, 1]),
        recoded(codes[:, 2], label_names, ordered),
        len(item_names),
        len(people),
        people.index("") if "" in people else -1,
    )
    truth = np.full(len(item_names), -1, np.int32)
    for item, label in matched.items():
        truth[item] = class_code[label]
    return Labels(
        item_ptr=pointer,
        workers=coded_workers,
        labels=coded_labels,
        item_names=item_names,
        worker_names=people,
        classes=ordered,
        gold=truth,
        duplicates=duplicates,
        contradictions=contradictions,
        unmatched_gold=len(gold) - len(matched),
    )


def known_first(known: Sequence[str], names: Iterable[str]) -> list[str]:
    """The known names as they are, then the others in their order."""
    return list(dict.fromkeys([*known, *names]))


def recoded(codes: NDArray[np.int32], names: Sequence[str], order: Sequence[str]) -> NDArray[np.int32]:
    """Codes into `names` as codes into `order`."""
    place = {name: code for code, name in enumerate(order)}
    return np.array([place[name] for name in names], np.int32)[codes] if len(codes) else np.zeros(0, np.int32)


def from_triples(
    triples: Iterable[tuple[str, str, str]],
    classes: Sequence[str] = (),
    workers: Sequence[str] = (),
    gold: dict[str, str] | None = None,
) -> Labels:
    """Build `Labels` from (worker, task, label) strings; the other arguments are those of `read_labels`.

    >>> labels = from_triples([("ann", "t1", "cat"), ("bob", "t1", "dog"), ("ann", "t1", "cat")])
    >>> labels.classes, len(labels), labels.duplicates
    (['cat', 'dog'], 2, 1)
    """
    codes: list[int] = []
    names: tuple[dict[str, int], ...] = ({}, {}, {})
    for triple in triples:
        codes.extend(known.setdefault(name, len(known)) for known, name in zip(names, triple, strict=True))
    rows = np.array(codes, np.int32).reshape(-1, 3)
    return from_codes(rows, list(names[0]), list(names[1]), list(names[2]), classes, workers, gold)


def read_labels(
    path: str | Path, classes: Sequence[str] = (), workers: Sequence[str] = (), gold: dict[str, str] | None = None
) -> Labels:
    """Read labels from a file.

    Tab- or comma-separated text (`worker task label`, or any order under a header that names them), gzip or Zstandard,
    `-` for standard input, or the JSON export of Label Studio. An empty worker field is the anonymous worker.

    Args:
        path: the file.
        classes, workers: those known beforehand; they keep their numbers, new ones follow.
        gold: true class of some tasks, as from `read_gold`.

    Raises:
        DataError: the file cannot be read, or a place in it is wrong.
    """
    data, name = _read(path)
    if name.removesuffix(".gz").removesuffix(".zst").endswith(".json") or re.match(rb"\s*\[\s*[\[{]", data):
        from hutch.crowd.data.label_studio import triples

        return from_triples(triples(data, name), classes, workers, gold)
    codes, (people, tasks, answers) = read_table(data, name, ROLES, optional="worker")
    del data
    return from_codes(codes, people, tasks, answers, classes, workers, gold)


def read_gold(path: str | Path) -> dict[str, str]:
    """Read the true classes of some tasks: `task label`, or any order under a header.

    Raises:
        DataError: the file cannot be read, a place in it is wrong, or a task has two different classes.
    """
    data, name = _read(path)
    codes, (tasks, labels) = read_table(data, name, ("task", "label"))
    gold: dict[str, str] = {}
    for task, label in codes.tolist():
        if gold.setdefault(tasks[task], labels[label]) != labels[label]:
            text = f"gold of task {tasks[task]!r}: got both {gold[tasks[task]]!r} and {labels[label]!r}, wanted one"
            raise DataError(at(name, None, None, text))
    return gold


def _read(path: str | Path) -> tuple[bytes, str]:
    """The whole content of a source, unpacked, and its name in messages."""
    return b"".join(bytes(chunk.data) for chunk in Chunks([path])), "<stdin>" if str(path) == "-" else str(path)


def read_table(
    data: bytes, name: str, roles: Sequence[str], optional: str = ""
) -> tuple[NDArray[np.int32], list[list[str]]]:
    """Code the wanted columns of a separated text.

    Args:
        data: the text, UTF-8.
        name: what errors call it.
        roles: the columns wanted, in the order in which they stand when no header names them.
        optional: the role that may be empty.

    Returns:
        codes (rows, roles) and the distinct names of each role.

    Raises:
        DataError: `name:line:column: what, got, wanted`.
    """
    found = read_layout(data, name, roles)
    if found is None:
        return np.zeros((0, len(roles)), np.int32), [[] for _ in roles]
    layout, start, line = found
    return read_rows(data, start, line, layout, name, roles, optional)


@dataclass(frozen=True)
class Layout:
    """How the rows of a separated text look.

    Attributes:
        separator: between fields, a tab or a comma.
        columns: int64 (roles), where each role stands.
        width: fields of a row.
    """

    separator: str
    columns: NDArray[np.int64]
    width: int


def read_layout(data: bytes, name: str, roles: Sequence[str]) -> tuple[Layout, int, int] | None:
    """The layout that the first line of a text shows, where its rows begin and on which line; None for a blank text.

    Raises:
        DataError: the first line is neither a row nor a header with all roles.
    """
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    first = re.compile(rb"[^\r\n][^\n]*").search(data, start)
    if first is None:
        return None
    separator = "\t" if first.group().count(b"\t") >= len(roles) - 1 else ","
    line = data.count(b"\n", 0, first.start()) + 1
    fields, size = first_record(data[first.start() :], separator, name, line)
    columns, is_header = _columns(fields, roles, name, line)
    layout = Layout(separator, columns, len(fields))
    if not is_header:
        return layout, first.start(), line
    start = first.start() + size
    return layout, start, line + data.count(b"\n", first.start(), start)


def read_rows(
    data: bytes, start: int, line: int, layout: Layout, name: str, roles: Sequence[str], optional: str = ""
) -> tuple[NDArray[np.int32], list[list[str]]]:
    """Code the rows of a text from `start`, on line `line`; see `read_table`."""
    line -= data.count(b"\n", 0, start)
    refuse_nul(data, name, line)
    text = np.frombuffer(data, np.uint8)
    rows = data.count(b"\n", start) + 1
    size = 1 << (2 * rows).bit_length()
    codes, slots = np.empty((rows, len(roles)), np.int32), np.zeros((len(roles), size), np.int32)
    hashes, places = np.empty((len(roles), rows), np.uint64), np.empty((len(roles), rows), np.int64)
    lengths, counts = np.empty((len(roles), rows), np.int32), np.zeros(len(roles), np.int64)
    may_be_empty = list(roles).index(optional) if optional else -1
    read, status, place, found = scan.scan(
        text, start, ord(layout.separator), layout.columns, layout.width, may_be_empty, codes, slots, hashes,
        places, lengths, counts,
    )  # fmt: skip
    if status != FINE:
        problem = {
            **PROBLEMS,
            scan.MISCOUNTED: f"got {found} fields, wanted {layout.width} ({', '.join(roles)})",
            scan.EMPTY: f"the {roles[min(found, len(roles) - 1)]} is empty",
        }[status]
        raise DataError(at(name, *place_of(data, place, line), problem))
    codes, names = codes[:read], []
    for role, count in enumerate(counts.tolist()):
        known = _names(data, places[role, :count], lengths[role, :count], name, line)
        distinct = list(dict.fromkeys(known))
        if len(distinct) < count:  # one name with its quotes doubled and, in an unquoted field, not
            codes[:, role] = recoded(codes[:, role], known, distinct)
        names.append(distinct)
    return codes, names


def _columns(fields: list[str], roles: Sequence[str], name: str, number: int) -> tuple[NDArray[np.int64], bool]:
    """Where each role stands in a row, and whether the first record, on line `number`, is a header."""
    keys = [re.sub(r"[\s_-]", "", field.lower()) for field in fields]
    found = {role: [i for i, key in enumerate(keys) if key in HEADERS[role]] for role in roles}
    if sum(bool(places) for places in found.values()) < 2:
        if len(fields) != len(roles):
            wanted = f"wanted {len(roles)} ({', '.join(roles)}) or a header that names them"
            raise DataError(at(name, number, 1, f"got {len(fields)} fields, {wanted}"))
        return np.arange(len(roles)), False
    for role in roles:
        if not found[role]:
            hint = did_you_mean(role, keys)
            raise DataError(at(name, number, 1, f"the header names no {role} column, got {', '.join(fields)}; {hint}"))
        if keys.count(keys[found[role][0]]) > 1:
            twice = fields[found[role][0]]
            raise DataError(at(name, number, 1, f"column {twice!r} is there twice, wanted one {role} column"))
    return np.array([found[role][0] for role in roles]), True


def _names(data: bytes, places: NDArray[np.int64], lengths: NDArray[np.int32], source: str, line: int) -> list[str]:
    """The names at some places of a text that begins on a line."""
    names = []
    for place, length in zip(places.tolist(), lengths.tolist(), strict=True):
        try:
            name = data[place : place + length].decode()
        except UnicodeDecodeError:
            raise DataError(at(source, *place_of(data, place, line), "got bytes that are not UTF-8")) from None
        quoted = '""' in name and data[place - 1 : place] == b'"'
        names.append(name.replace('""', '"') if quoted else name)
    return names
