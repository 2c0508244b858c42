"""What a user says of a source of labels: the names of its columns, its encoding, and what its cells hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Self

from hutch.core.errors import Problem, UsageError, did_you_mean
from hutch.crowd.data.unsure import says_unsure
from hutch.crowd.data.values import SET_SIGN

ROLES = ("worker", "task", "label", "gold", "question", "unsure", "weight", "time")
"""The roles of `--columns`."""
_SEVERAL = ("label", "unsure")


@dataclass(frozen=True)
class ColumnNames:
    """The names of the requested columns or fields; empty: found by the reader.

    Attributes:
        worker, task, gold: one name each. In a table without a header a column is named by its number, from 1.
        label: one name or glob; several, or a glob that fits several, are the columns of a wide table, one per worker,
            or, if a worker is named too, one per question.
        question: the column of what is asked about the task; each question has a result of its own.
        unsure: labels that mean that a worker does not know, or a column that is ticked then; they are left out.
        classes: the only labels that there may be; empty: any.
        known: names of classes, as of gold: they are classes, whatever they say.
        usual: the usual words mean that a worker does not know: see `hutch.crowd.data.unsure`.
        weight: of a vote on a pair.
        time: of an answer; answers are taken in its order.
        encoding: of the text, as Python names it; empty: UTF-8, or UTF-16 with its mark.
        sets: a worker may give a task several labels at once; they are read as one name, see `SET_SIGN`.
        scores: labels are scores if a tool has them beside pass and fail.
        extra: further columns, fields, or metadata of samples to read beside each label.
        anonymous: a table may say nothing of workers.
    """

    worker: str = ""
    task: str = ""
    label: tuple[str, ...] = ()
    gold: str = ""
    question: str = ""
    unsure: tuple[str, ...] = ()
    weight: str = ""
    time: str = ""
    encoding: str = ""
    sets: bool = False
    scores: bool = False
    extra: tuple[str, ...] = ()
    anonymous: bool = False
    classes: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    usual: bool = True

    @classmethod
    def of(cls, given: "str | Mapping[str, str] | ColumnNames | None") -> Self:
        """Columns as `worker=who,task=id,label=answer`, or as a mapping.

        Raises:
            UsageError: not ROLE=NAME, or an unknown role.

        >>> ColumnNames.of("worker=who,label=ann,label=bob").label
        ('ann', 'bob')
        """
        if given is None or isinstance(given, ColumnNames):
            return replace(given) if given else cls()  # type: ignore[return-value]
        found: dict[str, Any] = {}
        for name, value in named_roles(given, ROLES) if isinstance(given, str) else given.items():
            if name not in ROLES:
                raise UsageError(f"--columns: no role {name!r}; {did_you_mean(name, ROLES)}")
            if name in _SEVERAL:
                found[name] = (*found.get(name, ()), value)
            elif found.setdefault(name, value) != value:
                raise UsageError(f"--columns: got {name} twice, wanted one column")
        return cls(**found)

    @property
    def one_each(self) -> dict[str, str]:
        """The named columns of which there is one each, by role."""
        names = {role: getattr(self, role) for role in ROLES if role not in _SEVERAL}
        return {role: name for role, name in names.items() if name}

    def keeping(self, classes: Iterable[str]) -> Self:
        """The same, with further names that are classes, whatever they say."""
        return replace(self, known=tuple(dict.fromkeys([*self.known, *classes])))

    def answering(self, classes: Sequence[str], unsure: Sequence[str]) -> Self:
        """The same, if these are all classes (empty: any label is one), and these words mean no answer, too.

        Raises:
            UsageError: a word is both.
        """
        words = tuple(dict.fromkeys([*self.unsure, *unsure]))
        if both := [word for word in words if word in classes]:
            raise UsageError(f"--unsure: got {both[0]!r}, which --classes names as a class; wanted one of the two")
        return replace(self, classes=tuple(classes), unsure=words)

    def is_unsure(self, label: str) -> bool:
        """Whether a label says that a worker does not know: it is named so, or is one of the usual words.

        >>> asked = ColumnNames(unsure=("?",))
        >>> [asked.is_unsure(label) for label in ("?", "not sure", "cat")]
        [True, True, False]
        >>> asked.keeping(["not sure"]).is_unsure("not sure")
        False
        """
        if label in self.unsure:
            return True
        named = label in self.classes or label in self.known
        return self.usual and not named and says_unsure(label)

    def unsure_in(self, label: str) -> str:
        """The label, or the first one of a set, that `is_unsure`; empty without any."""
        return next((each for each in (label.split(SET_SIGN) if self.sets else [label]) if self.is_unsure(each)), "")

    def check_class(self, label: str) -> str:
        """What is wrong with a label that is no class; empty if it may be one."""
        if not self.classes or self.sets or label in self.classes:
            return ""
        wanted = f"wanted one of --classes {','.join(self.classes)}"
        return f"got the label {label!r}, {wanted}; --unsure {label!r} leaves it out if it is no answer"

    def matching(self, fields: Iterable[str]) -> list[str]:
        """The fields that `label` names, by name or as a glob."""
        return [name for name in fields if any(name == each or fnmatchcase(name, each) for each in self.label)]

    def only(self, tool: str, roles: Sequence[str]) -> None:
        """See that no role is named that a tool cannot take.

        Raises:
            Problem: one is.
        """
        named = [*self.one_each, *(["label"] if self.label else ())]
        for role in named:
            if role not in roles:
                can = f"--columns can name {' and '.join(roles)}" if roles else "it has no columns to name"
                raise Problem(f"the {role} of {tool} cannot be named, got {role}={getattr(self, role)}; {can}")

    def one_question(self, names: Iterable[str]) -> str:
        """The one question whose answers are requested.

        Args:
            names: of the questions that have answers.

        Raises:
            Problem: there are several and none is named, or the named one is not among them.
        """
        known = list(dict.fromkeys(names))
        if self.label:
            if chosen := self.matching(known):
                return chosen[0]
            raise Problem(f"no answers to {self.label[0]!r}; {did_you_mean(self.label[0], known)}")
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
        found = self.matching(known) if self.label else known
        if known and not found:
            raise Problem(f"no labels of {self.label[0]!r}; {did_you_mean(self.label[0], known)}")
        return set(found)


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
