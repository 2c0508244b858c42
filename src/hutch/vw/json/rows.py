"""The content of lines of JSON, as columns of a batch."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hutch.core.batch import Batch
from hutch.core.data.assemble import assemble
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.record import Record
from hutch.core.text.parser import ParserOptions
from hutch.vw.json.kernel import read_lines
from hutch.vw.json.scan import JSON

UNGIVEN = float(UNLABELED)
"""The label of an example that has none."""
Choice = tuple[int, float, float]
"""Action or class, cost and probability."""


@dataclass(slots=True)
class Label:
    """The label of a row: label, importance, base, and choices where actions are chosen."""

    label: float = UNGIVEN
    importance: float = 1.0
    base: float = 0.0
    choices: list[Choice] = field(default_factory=list)


@dataclass(slots=True)
class Space:
    """A namespace, and the indices of its known keys; -1 for keys that are not features."""

    name: str
    number: int
    hash: int
    indices: dict[str, int] = field(default_factory=dict)
    words: dict[tuple[str, str], int] = field(default_factory=dict)


class Example:
    """An example that is being read: features by the number of their namespace, in the order in which these end."""

    __slots__ = ("features", "label", "order", "tag")

    def __init__(self) -> None:
        self.features: dict[int, tuple[list[int], list[float]]] = {}
        self.order: list[int] = []
        self.label: Label | None = None
        self.tag = b""


class Rows:
    """Rows read in Python, as columns."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.values: list[float] = []
        self.numbers: list[int] = []
        self.ends = [0]
        self.labels: list[Label] = []
        self.tags: list[bytes] = []
        self.groups: list[int] = []

    def add(self, example: Example, label: Label, group: int) -> None:
        """Add an example."""
        for number in example.order:
            indices, values = example.features[number]
            self.indices += indices
            self.values += values
            self.numbers += [number] * len(indices)
        self.ends.append(len(self.indices))
        self.labels.append(label)
        self.tags.append(example.tag)
        self.groups.append(group)


class Store:
    """The content of a chunk, read by the kernel and by the reader in Python, as columns of a batch.

    Args:
        options: how names are hashed.
        log, chained: as for `JsonReader`.
        names: meaning of the words of lines.
    """

    def __init__(self, options: ParserOptions, log: bool, chained: bool, names: Any) -> None:
        self._room, space, observed = -1, names.space(" "), names.observed
        self._options = options
        self.record = Record(
            JSON,
            seed=options.hash_seed,
            hash_all=options.hash == "all",
            by_letter=options.namespaces == "letter",
            mask=(1 << options.bits) - 1,
            log=log,
            zeros=options.zeros,
            chained=chained,
            single={"simple": 1, "multiclass": 2}.get(options.label, 0),
            anonymous=space.number,
            anonymous_hash=space.hash,
            feedback=-1 if observed is None else observed.space(" ").number,
            bad=names.bad,
        )

    def begin(self, size: int) -> None:
        """Begin a chunk of so many bytes."""
        if size > self._room:
            self._room = size
            many = size // 2 + 8  # two bytes make a number in a list
            kinds = {"indices": "u4", "values": "f4", "numbers": "i4", "ends": "i8", "groups": "i8", "labeled": "i8"}
            kinds |= {"labels": "f4", "importances": "f4", "bases": "f4", "tag_ends": "i8"}
            kinds |= {"actions": "u4", "costs": "f4", "probabilities": "f4"}
            texts = {name: np.empty(size, np.uint8) for name in ("word", "tags")}
            self.record.set(**texts, **{name: np.empty(many, k) for name, k in kinds.items()})
            for name in ("ends", "labeled", "tag_ends"):
                self.record.targets[name][0] = 0
        self.record.set(features=0, rows=0, choices=0, tagged=0)

    def count(self, name: str) -> int:
        """Number of features, rows, choices or lines."""
        return int(self.record[name][0])

    def read(self, start: int, stop: int, ids: list[int], groups: int) -> int:
        """Run the kernel from one address to another; returns where it stopped."""
        if self.count("id_count") != len(ids):
            self.record.set(ids=np.array(ids, np.uint32), id_count=len(ids))
        self.record.set(decisions=groups)
        return int(read_lines(self.record.address, start, stop))

    def add(self, rows: Rows) -> None:
        """Add rows read in Python."""
        columns, count = self.record.targets, len(rows.labels)
        features, row, choices, tagged = (self.count(name) for name in ("features", "rows", "choices", "tagged"))
        chosen = [one for label in rows.labels for one in label.choices]
        columns["groups"][row : row + count] = rows.groups
        columns["ends"][row + 1 : row + count + 1] = np.array(rows.ends[1:], np.int64) + features
        columns["labeled"][row + 1 : row + count + 1] = choices + np.cumsum([len(each.choices) for each in rows.labels])
        for place, name in enumerate(("actions", "costs", "probabilities")):
            columns[name][choices : choices + len(chosen)] = [one[place] for one in chosen]
        for name in ("label", "importance", "base"):
            columns[f"{name}s"][row : row + count] = [getattr(each, name) for each in rows.labels]
        tags = np.frombuffer(b"".join(rows.tags), np.uint8)
        columns["tags"][tagged : tagged + len(tags)] = tags
        columns["tag_ends"][row + 1 : row + count + 1] = tagged + np.cumsum([len(tag) for tag in rows.tags])
        stop = features + len(rows.indices)
        columns["indices"][features:stop], columns["values"][features:stop] = rows.indices, rows.values
        columns["numbers"][features:stop] = rows.numbers
        self.record.set(features=stop, rows=row + count, choices=choices + len(chosen), tagged=tagged + len(tags))

    def batch(self, ids: list[int]) -> Batch:
        """The rows of the chunk."""
        columns, n, label = self.record.targets, self.count("rows"), self._options.label
        features, choices, tagged = (self.count(name) for name in ("features", "choices", "tagged"))
        sizes = {"labels": n, "importances": n, "bases": n, "groups": n, "tag_ends": n + 1, "tags": tagged}
        if label not in ("simple", "multiclass"):
            sizes |= {"labeled": n + 1, "actions": choices, "costs": choices}
        if label not in ("simple", "multiclass", "cost_sensitive"):
            sizes["probabilities"] = choices
        return assemble(
            columns["ends"][: n + 1],
            columns["indices"][:features],
            columns["values"][:features],
            columns["numbers"][:features],
            ids,
            self._options,
            1,
            lambda feature, _: str(feature),
            **{_NAMES.get(name, name): columns[name][:size].copy() for name, size in sizes.items()},
        )


_NAMES = {"importances": "importance", "bases": "base", "groups": "group", "tag_ends": "tag_ptr"}
_NAMES |= {"labeled": "cost_ptr", "actions": "cost_classes"}
"""Names in a batch for columns of the record."""
