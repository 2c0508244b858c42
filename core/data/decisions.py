"""Decisions as records: `{"shared": {…}, "actions": [{…}, {…}], "chosen": 1, "cost": 0.5, "probability": 0.5}`.

The rows of a table whose columns have these names are such records.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch
from hutch.core.data.assemble import is_number
from hutch.core.data.choices import ChoiceRecords
from hutch.core.data.records import RecordReader
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.errors import DataError, Problem, did_you_mean, reading
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import ParserOptions

_ROWS = 1 << 10
_WANTED = (
    "a decision such as {'shared': {...}, 'actions': [{...}, {...}], 'chosen': 0, 'cost': 1.0, 'probability': 0.5}"
)
_KNOWN = ("shared", "actions", "chosen", "cost", "costs", "probability", "importance", "tag")


class _Label(NamedTuple):
    name: int
    cost: float
    probability: float


class DecisionReader(RecordReader):
    """Records of decisions as batches; the arguments are those of `RecordReader`.

    A record holds `actions`, a list of mappings from namespaces to features, and perhaps `shared`, one such mapping of
    features that all of them have. Its label is `chosen`, the action that was chosen counted from 0, with its `cost`
    and its `probability`, unless the options do without; or `costs`, one per action. It may have an `importance` and
    a `tag`. Where the columns name the actions, a record may be the row of a table of choices.
    """

    def __init__(self, options: ParserOptions, columns: AnyRoles = None) -> None:
        roles = Roles.of(columns)
        super().__init__(options, roles)
        named = bool(roles.classes) and options.label == "logged_action"
        self._choices = ChoiceRecords(options, roles) if named else None

    def batch(self, records: list[Mapping[str, Any]]) -> Batch:
        """One batch of decisions.

        Raises:
            Problem: a decision that cannot be used, by its number.
        """
        first = self._row
        self._places: list[int] = []
        self._labels: list[_Label | None] = []
        rows: list[Mapping[str, Any]] = []
        for i, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise Problem(f"got {record!r:.60}, wanted {_WANTED}", first + i)
            if self._choices is not None and "actions" not in record:
                try:
                    record = self._choices.decision(record)
                except DataError as error:
                    raise Problem(str(error), first + i) from None
            rows += self._rows(first + i, record)
        found = super().batch(rows)
        self._row = first + len(records)
        return found

    def _rows(self, number: int, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The lines of a decision."""
        actions, shared = record.get("actions"), record.get("shared")
        for name in record:
            if name not in _KNOWN:
                raise Problem(f"got the key {name!r}; {did_you_mean(str(name), _KNOWN)}", number)
        if not isinstance(actions, Sequence) or not actions:
            raise Problem(f"actions: got {actions!r:.60}, wanted {_WANTED}", number)
        lines = [shared, *actions] if shared is not None else actions
        known = {name: record[name] for name in ("importance",) if name in record}
        rows = []
        for k, line in enumerate(lines):
            if not isinstance(line, Mapping):
                raise Problem(f"got {type(line).__name__}, wanted a mapping from namespaces to features", number)
            for name in ("label", "group", *known):
                if name in line:
                    raise Problem(f"action {k}: got the key {name!r}, wanted it in the decision", number)
            if line is not shared and not any(_holds(name, value) for name, value in line.items()):
                action = k - (shared is not None)
                raise Problem(f"actions: got no features in action {action}, wanted at least one", number)
            tag = record.get("tag") if k == 0 else line.get("tag")
            rows.append({**line, **known, "group": number, "tag": tag})
            self._places.append(number)
        self._labels += [_Label(0, float(UNLABELED), float(SHARED_ROW))] if shared is not None else []
        self._labels += self._labels_of(number, record, len(actions))
        return rows

    def _labels_of(self, number: int, record: Mapping[str, Any], count: int) -> list[_Label | None]:
        """Cost and probability of each action; None where it has no label."""
        if self._options.label == "action_costs":
            costs = record.get("costs")
            if costs is None:
                return [None] * count
            if not isinstance(costs, Sequence) or len(costs) != count or not all(map(is_number, costs)):
                raise Problem(f"costs: got {costs!r:.60}, wanted a number for each of {count} actions", number)
            return [_Label(k + 1, float(cost), 0.0) for k, cost in enumerate(costs)]
        chosen, cost, probability = record.get("chosen"), record.get("cost"), record.get("probability")
        if chosen is None and cost is None:
            return [None] * count
        if not isinstance(chosen, int | np.integer) or isinstance(chosen, bool) or not 0 <= chosen < count:
            raise Problem(f"chosen: got {chosen!r}, wanted the number of an action, 0 to {count - 1}", number)
        if not is_number(cost):
            raise Problem(f"cost: got {cost!r}, wanted a number", number)
        if self._options.chosen_alone:
            probability = 0.0
        elif not is_number(probability) or not 0 < np.float32(probability) <= 1:
            instead = "; `hutch evaluate --propensities estimated` does without" if probability is None else ""
            raise Problem(f"probability: got {probability!r}, wanted a number above 0, at most 1{instead}", number)
        return [_Label(k, float(cost), float(probability)) if k == chosen else None for k in range(count)]

    def _columns(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        found = super()._columns(records)
        labels = [label for label in self._labels if label is not None]
        found["cost_ptr"] = np.cumsum([0, *(label is not None for label in self._labels)])
        found["cost_classes"] = np.array([label.name for label in labels], np.uint32)
        found["costs"] = np.array([label.cost for label in labels], np.float32)
        found["probabilities"] = np.array([label.probability for label in labels], np.float32)
        return found

    def _numbers(self) -> NDArray[np.int64]:
        return np.array(self._places, np.int64)

    def _wrong(self, i: int, text: str) -> Problem:
        return Problem(text, self._places[i])


class DecisionTableReader:
    """Record batches of decisions as batches: a row is a decision, its columns are the keys of a record.

    `actions` is a column of lists of structs, `shared` one of structs; a field of these is a namespace: a struct or a
    map of features, a list of names, or a word.

    Args:
        schema: the Arrow schema.
        options: how names are hashed, and the kind of the labels.
        columns: which columns to leave out; all others have fixed names.
        source: name of the table in messages.
        after: the reader of the rows before; rows are counted on.
    """

    def __init__(
        self,
        schema: Any,
        options: ParserOptions,
        columns: AnyRoles,
        source: str,
        after: "DecisionTableReader | None" = None,
    ) -> None:
        self.schema = schema
        self._left_out = set(map(str, Roles.of(columns).ignore))
        self._source = source
        self._records: DecisionReader = after._records if after else DecisionReader(options, columns)

    def batches(self, record_batch: Any) -> Iterator[Batch]:
        """The batches of a record batch.

        Raises:
            DataError: a decision that cannot be used, by its row.
        """
        for start in range(0, record_batch.num_rows, _ROWS):
            rows = record_batch.slice(start, _ROWS).to_pylist()
            kept = [{name: value for name, value in row.items() if name not in self._left_out} for row in rows]
            with reading(self._source):
                batch = self._records.batch([_decision(row) for row in kept])
            yield batch


def _plain(value: Any) -> Any:
    """A value of a table without nulls; a map, which is a list of pairs, as a mapping."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        if value and all(isinstance(one, tuple) for one in value):
            return _plain(dict(value))
        return [_plain(one) for one in value if one is not None]
    return value


def _decision(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table as a decision; actions and costs that are null stay, so that those behind keep their numbers."""
    found: dict[str, Any] = _plain(row)
    for name in ("actions", "costs"):
        if name in found:
            found[name] = [_plain(one) for one in row[name]]
    return found


def _holds(name: str, value: Any) -> bool:
    """Whether an action's value under a name has at least one feature."""
    return name != "tag" and value is not None and not (hasattr(value, "__len__") and not len(value))
