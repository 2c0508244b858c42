"""Tables of choices: a row has a context, the action that was chosen, what came of it, and the choice's probability.

The names of all actions are `classes`. A row becomes a decision: a line of the context that all actions share, and one
for each action, whose only feature is its name, in the namespace `action`. Where the actions of a chain are classes, it
becomes an example whose label is the action.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch, chosen, joined
from hutch.core.data.assemble import is_number
from hutch.core.data.records import RecordReader
from hutch.core.data.roles import CHOICE, Roles
from hutch.core.data.rows import Rows
from hutch.core.errors import ConfigError, DataError, Problem, did_you_mean, reading, shortened
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import ParserOptions

_LISTED = 20  # actions in a message


class Choices:
    """Turns the rows of a table into decisions.

    Args:
        names: of the columns.
        options: how names are hashed, and the kind of the labels.
        roles: of the columns.

    Attributes:
        options, roles: with which a reader takes the rows for plain examples first: what came of a choice is their
            label, its probability their base, the action their tag.

    Raises:
        ConfigError: a column is missing, or there are both costs and rewards.
    """

    def __init__(self, names: Sequence[str], options: ParserOptions, roles: Roles) -> None:
        self._kind, self._alone, self._chance = options.label, options.chosen_alone, roles.chance
        self._at = roles.choices(names)
        action, cost, reward, probability = self._at.values()
        if roles.for_learning:
            self._refuse_missing(names)
        self._sign = -1.0 if reward else 1.0
        self.options = replace(options, label="simple", chosen_alone=False)
        places = {"label": cost or reward or "", "base": probability or "", "tag": action or ""}
        given: dict[str, Any] = {**dict.fromkeys(CHOICE), **places, "classes": ()}
        self.roles = replace(roles, **given)
        self._names = tuple(map(str, roles.classes))
        self._actions = RecordReader(self.options).batch([{"action": name} for name in self._names])
        self._codes = {name: code for code, name in enumerate(self._names)}
        self._decisions = 0

    def _refuse_missing(self, names: Sequence[str]) -> None:
        action, cost, reward, probability = self._at.values()
        missing = ["action"] * (not action) + ["reward"] * (not (cost or reward))
        missing += ["probability"] * (not (probability or self._alone or self._chance))
        if missing:
            more = "; `hutch evaluate --propensities estimated` does without" * (missing == ["probability"])
            wanted = f"columns of {' and '.join(missing)}: {' '.join(_set(role, 'NAME') for role in missing)}"
            raise ConfigError(f"got the columns {', '.join(names)}, wanted {wanted}{more}")

    def go_on(self, after: "Choices") -> None:
        """Count decisions on from those of a table before."""
        self._decisions = after._decisions

    def decisions(self, rows: Batch, places: NDArray[np.int64]) -> Batch:
        """The decisions of some rows.

        Args:
            rows: as the reader with `options` and `roles` made them.
            places: the line or number of each row in messages.

        Raises:
            ConfigError: no names of actions.
            Problem: an action without a name among them, a cost or a probability that cannot be one.
        """
        if not self._names:
            names = sorted({rows.tag(i).decode(errors="replace").strip() for i in range(len(rows))} - {""})[:_LISTED]
            raise ConfigError(
                f"wanted the names of all actions: {_set('classes', json.dumps(names or ['NAME', 'NAME']))}"
            )
        found = self._labels(rows, places)
        count, first = len(rows), self._decisions
        self._decisions += count
        plain = replace(
            rows,
            labels=np.full(count, UNLABELED, np.float32),
            base=np.zeros(count, np.float32),
            tags=np.zeros(0, np.uint8),
            tag_ptr=np.zeros(count + 1, np.int64),
        )
        if self._kind == "logged_class":
            return replace(plain, **_costs((found.action >= 0)[:, None], found, 1))
        lines = len(self._names) + 1
        order = np.tile(np.arange(count - 1, count + lines - 1), (count, 1))
        order[:, 0] = np.arange(count)
        labelled = np.arange(-1, lines - 1) == found.action[:, None]
        labelled[:, 0] = True  # the context's line is labelled as shared
        return replace(
            chosen(joined(plain, self._actions), order.ravel()),
            importance=np.repeat(rows.importance, lines),
            group=np.repeat(np.arange(first, first + count), lines),
            **_costs(labelled, found, 0),
        )

    def _labels(self, rows: Batch, places: NDArray[np.int64]) -> "_Found":
        """What was chosen in each row, and what came of it; -1 where that is not known."""
        names = [rows.tag(i).decode(errors="replace").strip() for i in range(len(rows))]
        action = np.array([self._codes.get(name, -1) for name in names], np.int64)
        for i in np.flatnonzero(action < 0).tolist():
            if names[i]:
                text = f"got {shortened(names[i])!r}, wanted an action; {did_you_mean(names[i], self._names)}"
                raise Problem(f"column {self._at['action']!r}: {text}", int(places[i]))
        action[rows.labels == UNLABELED] = -1
        probability = np.zeros(len(rows), np.float32) if self._alone else rows.base
        if self._chance and not self._alone:
            probability = np.full(len(rows), self._chance, np.float32)
        wrong = np.flatnonzero((action >= 0) & ~((probability > 0) & (probability <= 1)))
        if len(wrong) and not self._alone:
            got = f"column {self._at['probability']!r}" if self._at["probability"] else "columns.probability"
            got += f": got {_number(probability[wrong[0]])}"
            raise Problem(f"{got}, wanted a number above 0, at most 1", int(places[wrong[0]]))
        return _Found(action, (self._sign * rows.labels).astype(np.float32), probability)


class _Found(NamedTuple):
    action: NDArray[np.int64]
    cost: NDArray[np.float32]
    probability: NDArray[np.float32]


def _costs(labelled: NDArray[np.bool_], found: _Found, first: int) -> dict[str, NDArray[Any]]:
    """The costs of the lines (decisions, lines) that have one; the first of several is the context's."""
    decision, line = np.nonzero(labelled)
    shared = (line == 0) & (labelled.shape[1] > 1)
    return {
        "cost_ptr": np.concatenate([[0], np.cumsum(labelled)]),
        "cost_classes": np.where(shared, 0, first + found.action[decision]).astype(np.uint32),
        "costs": np.where(shared, UNLABELED, found.cost[decision]).astype(np.float32),
        "probabilities": np.where(shared, SHARED_ROW, found.probability[decision]).astype(np.float32),
    }


class ChoiceTableReader:
    """Record batches of Arrow whose rows are choices, as decisions.

    Args:
        schema: the Arrow schema.
        options: how names are hashed, and the kind of the labels.
        roles: of the columns.
        source: name of the table in messages.
        rows: makes the reader of the rows, from schema, options, roles, source and the reader of the rows before.
        after: the reader of the rows before, if their table had another schema; rows and decisions are counted on.
    """

    def __init__(
        self,
        schema: Any,
        options: ParserOptions,
        roles: Roles,
        source: str,
        rows: Callable[..., Any],
        after: "ChoiceTableReader | None" = None,
    ) -> None:
        with reading(source):
            self._choices = Choices(schema.names, options, roles)
        self.schema, self._source = schema, source
        self._row: int = after._row if after else 1
        if after:
            self._choices.go_on(after._choices)
        before = after._rows if after else None
        self._rows: Any = rows(schema, self._choices.options, self._choices.roles, source, before)

    def batches(self, record_batch: Any) -> Iterator[Batch]:
        """One record batch in pieces."""
        for batch in self._rows.batches(record_batch):
            with reading(self._source):
                found = self._choices.decisions(batch, np.arange(self._row, self._row + len(batch)))
            self._row += len(batch)
            yield found


class ChoiceRecords:
    """Turns mappings with a choice, the rows of a table, into records of decisions.

    Args:
        options: the kind of the labels.
        roles: of the keys; `classes` names all actions.
    """

    def __init__(self, options: ParserOptions, roles: Roles) -> None:
        self._roles, self._names = roles, tuple(map(str, roles.classes))
        self._rows = Rows(replace(roles, classes=(), action=None, cost=None, reward=None, probability=None))
        self._columns = lru_cache(maxsize=8)(roles.choices)  # records mostly have the same keys

    def decision(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a decision; one without an action or an outcome has no label.

        Raises:
            DataError: an action without a name.
        """
        at = self._columns(tuple(key for key in record if isinstance(key, str)))
        action, cost, reward, probability = (None if key is None else record[key] for key in at.values())
        context = {key: value for key, value in record.items() if key not in at.values()}
        found: dict[str, Any] = {"shared": self._rows.record(context), "actions": [{"action": n} for n in self._names]}
        if action is None or action == "" or (cost is None and reward is None):
            return found
        name = str(int(action)) if isinstance(action, float) and action.is_integer() else str(action)
        if name not in self._names:
            raise DataError(f"{at['action']}: got {name!r:.60}, wanted an action; {did_you_mean(name, self._names)}")
        if is_number(reward) and cost is None:
            cost = -reward
        return found | {
            "chosen": self._names.index(name),
            "cost": cost,
            "probability": self._roles.chance or probability,
        }


def _number(value: float) -> str:
    return f"{value:g}" if value else "none"


def _set(role: str, name: str | None) -> str:
    """The option that names a column, or the actions."""
    return f"--set {quote(f'input.columns.{role}={name}')}"
