"""Shared by the readers of exports: the requested columns, the labels found, and those left out with reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Self

from hutch.core.errors import Problem, UsageError, did_you_mean, shortened

NO_LABEL = "without a label"
SEVERAL = "with two labels at once"
NO_NAME = "with a label that is neither a word nor a number"
REJECTED = "rejected"
SKIPPED = "skipped"
TWO_TRUTHS = "with a second, different gold label"
"""A reason for leaving a label out, as in messages."""
NO_LABELS = (NO_LABEL, SEVERAL, NO_NAME)
"""Results of `label_of` for values that are not labels."""
MISSING = frozenset(("N/A", "n/a", "#N/A", "NA", "<NA>", "NaN", "nan", "NULL", "null"))
"""Texts that spreadsheets, pandas and R write into a cell without a value."""

ROLES = ("worker", "task", "label", "gold")
SET_SIGN = "\x1f"
"""Between the labels of a set, as one name; the empty name is the empty set."""


@dataclass(frozen=True)
class Columns:
    """The names of the requested columns or fields; empty: recognised by the reader.

    Attributes:
        worker, task, gold: one name each.
        label: one name or glob; several, or a glob that fits several, are the columns of a wide table, one per worker.
        encoding: of the text, as Python names it; empty: UTF-8, or UTF-16 with its mark.
        sets: a worker may give a task several labels at once; they are read as one name, see `SET_SIGN`.
        scores: labels are scores if a tool has them beside pass and fail.
        extra: further columns, fields, or metadata of samples to read beside each label.
    """

    worker: str = ""
    task: str = ""
    label: tuple[str, ...] = ()
    gold: str = ""
    encoding: str = ""
    sets: bool = False
    scores: bool = False
    extra: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: "str | Mapping[str, str] | Columns | None") -> Self:
        """Columns as `worker=who,task=id,label=answer`, or as a mapping.

        Raises:
            UsageError: not ROLE=NAME, or an unknown role.

        >>> Columns.of("worker=who,label=ann,label=bob").label
        ('ann', 'bob')
        """
        if given is None or isinstance(given, Columns):
            return replace(given) if given else cls()  # type: ignore[return-value]
        found: dict[str, Any] = {}
        for name, value in named_roles(given, ROLES) if isinstance(given, str) else given.items():
            if name not in ROLES:
                raise UsageError(f"--columns: no role {name!r}; {did_you_mean(name, ROLES)}")
            if name == "label":
                found[name] = (*found.get(name, ()), value)
            elif found.setdefault(name, value) != value:
                raise UsageError(f"--columns: got {name} twice, wanted one column")
        return cls(**found)

    def matching(self, fields: Iterable[str]) -> list[str]:
        """The fields that `label` names, by name or as a glob."""
        return [name for name in fields if any(name == each or fnmatchcase(name, each) for each in self.label)]


def named_roles(given: str, roles: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of a text like `worker=who,task=id`.

    Raises:
        UsageError: not ROLE=NAME, or an unknown role.
    """
    parts = [part.partition("=") for part in given.split(",")]
    for name, equals, value in parts:
        if not (equals and value):
            raise UsageError(f"--columns: got {name!r}, wanted ROLE=NAME, such as worker=annotator")
        if name.strip() not in roles:
            raise UsageError(f"--columns: no role {name.strip()!r}; {did_you_mean(name.strip(), roles)}")
    return [(name.strip(), value) for name, _, value in parts]


@dataclass
class Problems:
    """Labels left out: their number and first place, by reason."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, reason: str, place: str, count: int = 1) -> None:
        """Count some labels left out for a reason; the first place is kept."""
        if count:
            before, first = self.found.get(reason, (0, place))
            self.found[reason] = (before + count, first)

    def extend(self, other: "Problems") -> None:
        """Count those of another part of the same source."""
        for reason, (count, place) in other.found.items():
            self.add(reason, place, count)

    @property
    def total(self) -> int:
        """Number of labels left out."""
        return sum(count for count, _ in self.found.values())

    def lines(self, source: str) -> list[str]:
        """A message for each reason.

        >>> problems = Problems()
        >>> problems.add(NO_LABEL, "line 3", 2)
        >>> problems.lines("votes.csv")
        ['votes.csv: left out: 2 without a label (first: line 3)']
        """
        return [f"{source}: left out: {count} {why} (first: {place})" for why, (count, place) in self.found.items()]


@dataclass
class Found:
    """The labels that a reader found in one source.

    Attributes:
        columns: the requested ones.
        worker: the annotator, if the export is one worker's; else empty, the anonymous worker.
        triples: (worker, task, label).
        gold: true class of some tasks.
        problems: labels left out, with reasons.
        about: the reader's data about the sample whose labels it adds.
        extras: values of the columns' `extra` beside each triple.
    """

    columns: Columns = field(default_factory=Columns)
    worker: str = ""
    triples: list[tuple[str, str, str]] = field(default_factory=list)
    about: Mapping[str, Any] = field(default_factory=dict)
    extras: list[tuple[str, ...]] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    def add(self, worker: Any, task: Any, value: Any, place: str) -> None:
        """Add a label, or count the reason why it is invalid."""
        label = label_of(value, self.columns.sets)
        if label in NO_LABELS:
            self.problems.add(label, place)
        else:
            self.triples.append((name_of(worker), name_of(task), label))
            self.extras.append(tuple(name_of(self.about.get(name)) for name in self.columns.extra))

    def add_gold(self, task: Any, value: Any, place: str) -> None:
        """Add the true class of a task, or count the reason why it is invalid; the first one counts."""
        label, name = label_of(value, self.columns.sets), name_of(task)
        if label in NO_LABELS:
            self.problems.add(label, place)
        elif self.gold.setdefault(name, label) != label:
            self.problems.add(TWO_TRUTHS, place)

    def question(self, names: Iterable[str]) -> str:
        """The one question whose answers are requested.

        Args:
            names: of the questions that have answers.

        Raises:
            Problem: there are several and none is named, or the named one is not among them.
        """
        known = list(dict.fromkeys(names))
        if self.columns.label:
            if chosen := self.columns.matching(known):
                return chosen[0]
            asked = self.columns.label[0]
            raise Problem(f"no answers to {asked!r}; {did_you_mean(asked, known)}")
        if len(known) > 1:
            several = " and ".join(map(repr, known[:4]))
            raise Problem(f"got answers to {several}, wanted one question: --columns label={known[0]}")
        return known[0] if known else ""

    def chosen(self, names: Iterable[str]) -> set[str]:
        """The requested ones of metrics or scorers that may each measure something else: all if none is named.

        Raises:
            Problem: the named one is not among them.
        """
        known = list(dict.fromkeys(names))
        found = self.columns.matching(known) if self.columns.label else known
        if known and not found:
            asked = self.columns.label[0]
            raise Problem(f"no labels of {asked!r}; {did_you_mean(asked, known)}")
        return set(found)


def name_of(value: Any) -> str:
    """The name of a worker, task or label: text unchanged, whole numbers without a fraction, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def label_of(value: Any, sets: bool = False) -> str:
    """The label that a value is, or which kind of problem.

    Args:
        value: of a cell or a field.
        sets: several labels, or none, are a set: their names in order, with `SET_SIGN` between them.

    >>> [label_of(value) for value in ("cat", 4.0, True, ["cat"])]
    ['cat', '4', 'true', 'cat']
    >>> [label_of(value) for value in ([], ["cat", "dog"], {"x": 1})]
    ['without a label', 'with two labels at once', 'with a label that is neither a word nor a number']
    """
    if isinstance(value, dict) and len(value) == 1 and "choices" in value:
        value = value["choices"]
    if isinstance(value, list | tuple):
        if sets:
            names = sorted({label_of(each) for each in value})
            return next((name for name in names if name in NO_LABELS), SET_SIGN.join(names))
        if len(value) > 1:
            return SEVERAL
        value = value[0] if value else None
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return NO_LABEL
    return name_of(value) if isinstance(value, str | int | float) else NO_NAME


def short(value: Any) -> str:
    """A value as part of a name."""
    return shortened(" ".join(str(value).split()), 60)
