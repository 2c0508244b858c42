"""The role of each column of a table, or of each key of a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self

from hutch.core.data.watch import Watch
from hutch.core.errors import ConfigError, Problem, did_you_mean
from hutch.core.text.parser import LabelKind

REST = "*"
"""Stands for all columns that no other role names."""
CHOICE = ("action", "cost", "reward", "probability")
"""The roles of a table of choices, which only chains that decide have."""
CHOICE_NAMES = {
    "action": ("action", "arm", "treatment", "variant"),
    "cost": ("cost",),
    "reward": ("reward", "click", "clicked", "converted", "conversion"),
    "probability": ("probability", "propensity", "propensity_score", "pscore"),
}
"""Names by which their columns are known where none is given."""
_CHOICE_KINDS = {("action",): "an action", ("cost", "reward"): "costs or rewards", ("probability",): "a probability"}


class FeatureColumn(NamedTuple):
    """A column that gives features: its place in the table, its name, and its namespace."""

    position: int
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of columns.

    A role that is None belongs to the column of that role's own name, if it exists; an empty name means no column.

    Attributes:
        label: the label; missing or NaN where an example has none.
        classes: names in the label column, in place of numbers: the first is class 1, the second class 2; of two, where
            labels are simple, -1 and 1.
        importance: importance, ≥ 0.
        base: added to the prediction.
        tag: the tag.
        group: rows in sequence with the same value form one group.
        namespaces: names of the feature columns by namespace, in the order of the line; `*` stands for all columns that
            no other role names. None puts those into the anonymous namespace.
        text: columns of text, whose words are the features, in lower case; one that `namespaces` does not list is a
            namespace of its own name.
        categorical: columns whose values are always words, as ids are, even where they look like numbers.
        ignore: columns to leave out.
        action, cost, reward, probability: of a table of choices, see `hutch.core.data.choices`: the action that was
            chosen, what it cost or earned, and with which probability it was chosen; a number is that of all choices.
        decimal: the mark before the decimals of numbers in separated text, `.` or `,`, as spreadsheets of many
            languages write it.
    """

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}  # it is a part of a chain's YAML

    label: str | None = None
    classes: tuple[str | int, ...] = ()
    importance: str | None = None
    base: str | None = None
    tag: str | None = None
    group: str | None = None
    namespaces: Mapping[str, str | tuple[str | int, ...]] | None = None
    text: tuple[str | int, ...] = ()
    categorical: tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    action: str | None = None
    cost: str | None = None
    reward: str | None = None
    probability: str | float | None = None
    decimal: Literal[".", ","] = "."

    @classmethod
    def of(cls, given: "AnyRoles") -> Self:
        """Roles from a mapping with the attributes as keys.

        Raises:
            ConfigError: an unknown key.

        >>> Roles.of({"label": "clicked", "namespaces": {"ad": ["size", "colour"], "user": "*"}}).label
        'clicked'
        """
        if isinstance(given, cls):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"columns: got {type(given).__name__}, wanted a mapping such as {{'label': 'clicked'}}")
        known = [field.name for field in fields(cls)]
        for key in given or {}:
            if key not in known:
                raise ConfigError(f"columns.{key}: unknown key; {did_you_mean(str(key), known)}")
        return cls(**(given or {}))

    def position(self, role: str, names: Sequence[str]) -> int | None:
        """Which of the columns `names` plays a role; None if none does.

        Raises:
            ConfigError: the column named for it does not exist.
        """
        wanted = getattr(self, role)
        if wanted is None:
            return names.index(role) if role in names else None
        return None if wanted == "" else position_of(f"columns.{role}", str(wanted), names)

    def choices(self, names: Sequence[str]) -> dict[str, str | None]:
        """The column of each role of a table of choices: the one that is given, or is known by its name; else None.

        Raises:
            ConfigError: several columns may have a role; or one that stays a feature may say what came of the choice.
        """
        listed = [[each] if isinstance(each, str) else each for each in (self.namespaces or {}).values()]
        settled = {*map(str, self.ignore), *(str(name) for each in listed for name in each)}
        found = {role: self._given(role, names) for role in CHOICE}
        for roles, wanted in _CHOICE_KINDS.items():
            known = [(role, n) for role in roles for n in names if n not in settled and n.lower() in CHOICE_NAMES[role]]
            given = any(getattr(self, role) is not None for role in roles)
            if given:
                known = [(role, name) for role, name in known if name not in found.values()] if len(roles) > 1 else []
            elif len(known) == 1:
                found[known[0][0]] = known[0][1]
            if len(known) > (0 if given else 1):
                got = f"got {' and '.join(repr(name) for _, name in known)}, wanted {wanted}"
                others = "under input.columns.ignore, or under namespaces if it was known before the choice"
                one = "" if given else f": --set input.columns.{known[0][0]}={known[0][1]}, and each other"
                raise ConfigError(f"{got}{one or ' once: list another'} {others}")
        return found

    def _given(self, role: str, names: Sequence[str]) -> str | None:
        """The column that is named for a role."""
        if getattr(self, role) is None or (role == "probability" and self.chance):
            return None
        at = self.position(role, names)
        return None if at is None else names[at]

    @property
    def chance(self) -> float:
        """The probability of all choices, as in a randomised trial; 0 if a column holds it."""
        return float(self.probability) if isinstance(self.probability, float | int) else 0.0

    def are_choices(self, kind: LabelKind, names: Sequence[str]) -> bool:
        """Whether the rows of a table are choices, for a chain that takes a kind of labels."""
        if kind not in ("logged_action", "logged_class") or self.position("label", names) is not None:
            return False
        if kind == "logged_class":
            return self.action is not None or any(name.lower() in CHOICE_NAMES["action"] for name in names)
        return "actions" not in names and self.position("group", names) is None  # rows of a group are its actions

    def key(self, role: str) -> str:
        """The key of a record that plays a role."""
        wanted = getattr(self, role)
        return role if wanted is None else str(wanted)

    def features(self, names: Sequence[str]) -> list[FeatureColumn]:
        """The feature columns among `names`, in the order of the line.

        Raises:
            ConfigError: a column that does not exist or that is named twice.
        """
        taken = {self.position(role, names) for role in ("label", "importance", "base", "tag", "group")}
        given = [role for role in CHOICE if getattr(self, role) and not (role == "probability" and self.chance)]
        taken |= {self.position(role, names) for role in given}
        taken |= {position_of("columns.ignore", str(name), names) for name in self.ignore}
        for name in self.categorical:
            position_of("columns.categorical", str(name), names)
        texts = self.texts(names)
        spaces = {"": REST} if self.namespaces is None else self.namespaces
        listed: list[tuple[str, int | None]] = []  # None: the rest
        for namespace, columns in spaces.items():
            for column in [columns] if isinstance(columns, str) else columns:
                if column == REST:
                    listed.append((namespace, None))
                    continue
                position = position_of(f"columns.namespaces.{namespace}", str(column), names)
                if position in taken:
                    raise ConfigError(f"columns.namespaces.{namespace}: column {names[position]!r} is named twice")
                taken.add(position)
                listed.append((namespace, position))
        if sum(position is None for _, position in listed) > 1:
            raise ConfigError(f"columns.namespaces: {REST!r} appears in two places, wanted one")
        rest = [position for position in range(len(names)) if position not in taken]
        found = []
        for namespace, place in listed:
            for position in rest if place is None else [place]:
                own = place is None and position in texts
                found.append(FeatureColumn(position, names[position], names[position] if own else namespace))
        return found

    def texts(self, names: Sequence[str]) -> set[int]:
        """Which of the columns `names` hold text.

        Raises:
            ConfigError: a column that does not exist, or that `categorical` names, too.
        """
        for name in self.text:
            if name in self.categorical:
                raise ConfigError(f"columns.text: column {name!r} is categorical, too, wanted one of the two")
        return {position_of("columns.text", str(name), names) for name in self.text}

    @property
    def for_learning(self) -> bool:
        """Whether the columns that only learning needs must be there."""
        return True

    def plain(self) -> dict[str, Any]:
        """The roles alone, by name."""
        return {field.name: getattr(self, field.name) for field in fields(Roles)}

    def optional(self) -> "Roles":
        """The same where examples need no label, as for predictions: a label or importance may be missing."""
        return _InUse(**self.plain(), learns=False)

    def watched(self, watch: Watch) -> "Roles":
        """The same for tables whose columns are watched."""
        return _InUse(**self.plain(), learns=self.for_learning, watch=watch)

    def see(self, source: str, names: Sequence[str], whole: bool = True) -> Watch | None:
        """Tell who watches about the columns of features of a table, as `Watch.table`; returns who watches."""
        return None

    @property
    def columns_learned(self) -> Mapping[str, bool]:
        """The columns of features that who watches knows."""
        return {}

    @property
    def lengths(self) -> dict[str, int]:
        """The lengths of lists of numbers that who watches knows; what learns adds those of further columns."""
        return {}

    @property
    def passing(self) -> dict[str, int]:
        """Those of single records, before it is known whether they are learned."""
        return {}


AnyRoles = Roles | Mapping[str, Any] | None
"""What `Roles.of` takes."""


@dataclass(frozen=True, slots=True)
class _InUse(Roles):
    """Roles for learning or for predictions, whose examples may lack the columns that only learning needs."""

    learns: bool = True
    watch: Watch | None = None

    @property
    def for_learning(self) -> bool:
        return self.learns

    def position(self, role: str, names: Sequence[str]) -> int | None:
        wanted = getattr(self, role)
        if not self.learns and role in ("label", "importance", *CHOICE) and wanted and wanted not in names:
            return None
        return Roles.position(self, role, names)

    def see(self, source: str, names: Sequence[str], whole: bool = True) -> Watch | None:
        if self.watch is not None:
            self.watch.table(source, names, self.learns, whole)
        return self.watch

    @property
    def columns_learned(self) -> Mapping[str, bool]:
        return {} if self.watch is None else self.watch.known

    @property
    def passing(self) -> dict[str, int]:
        return {} if self.watch is None else self.watch.passing

    @property
    def lengths(self) -> dict[str, int]:
        if self.watch is None:
            return {}
        return self.watch.lengths if self.learns else dict(self.watch.lengths)


def refuse_twice(names: Sequence[str], line: int | None = None) -> None:
    """Refuse columns of the same name.

    Raises:
        Problem: two have one; with the line of the header.

    >>> refuse_twice(["age", "city", "age"], 1)
    Traceback (most recent call last):
    hutch.core.errors.Problem: 1: column 'age' appears twice, wanted names that differ
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Problem(f"column {twice!r} appears twice, wanted names that differ", line)


def position_of(path: str, name: str, names: Sequence[str]) -> int:
    """The position of a column; the error of a missing one begins with `path`."""
    if name not in names:
        raise ConfigError(f"{path}: no column {name!r}; {did_you_mean(name, names)}")
    return names.index(name)
