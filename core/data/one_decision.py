"""One decision at a time, as a record, into arrays that stay where they are.

What `hutch.core.data.decisions` would refuse, and what is unusual, is left to it: it reports the place.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch
from hutch.core.data.assemble import as_float, is_number
from hutch.core.data.one_record import LARGEST, FilledRows, KnownNames, Pieces
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import ParserOptions

_ROLES = ("label", "importance", "base", "tag", "group")
_KEYS = frozenset(("shared", "actions", "chosen", "cost", "costs", "probability", "importance", "tag"))
_NO_FEATURES = frozenset(("tag",))
_NO_COST = float(UNLABELED)
_SHARED = (0, _NO_COST, float(SHARED_ROW))


class DecisionFiller:
    """Fills one decision at a time.

    Args:
        options: how names are hashed, and the kind of the labels.
        columns: which keys of actions are ignored or hold text; every other key is a namespace.

    Attributes:
        size: the number of rows of the decision filled last.
    """

    def __init__(self, options: ParserOptions, columns: AnyRoles = None) -> None:
        roles = Roles.of(columns)
        self._all_costs = options.label == "action_costs"
        self._unusual = {*_ROLES, *map(str, roles.ignore)} - _NO_FEATURES
        self._names, self._rows = KnownNames(options, roles), FilledRows(options)
        self._named = all(roles.key(role) == role for role in _ROLES)
        self.size = 0

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Those of the decision filled last, as kernels see them in a batch; another dict after a reallocation."""
        return self._rows.arrays

    def fill(self, record: Mapping[str, Any]) -> int:
        """Fill the arrays; returns the row of the first action, or -1 for what only a batch can take, or refuse.

        Args:
            record: a decision as `hutch.core.data.decisions.DecisionReader` takes it.
        """
        actions, shared = record.get("actions"), record.get("shared")
        if not self._named or type(actions) is not list or not actions or not record.keys() <= _KEYS:
            return -1
        first = int(shared is not None)
        rows: list[Pieces] = []
        for line in [shared, *actions] if first else actions:
            if type(line) is not dict or not self._unusual.isdisjoint(line) or not _is_text(line.get("tag")):
                return -1
            pieces = self._names.pieces(line, _NO_FEATURES)
            if pieces is None or not (pieces or first > len(rows)):
                return -1
            rows.append(pieces)
        labels = self._labels(record, len(actions))
        importance = record.get("importance", 1.0)
        if labels is None or not isinstance(importance, Real) or not 0 <= as_float(importance) < LARGEST:
            return -1
        if not _is_text(record.get("tag")):
            return -1
        self._rows.fill(rows)
        self.size = len(rows)
        self._write([_SHARED, *labels] if first else labels, as_float(importance))
        return first

    def _labels(self, record: Mapping[str, Any], count: int) -> list[tuple[int, float, float] | None] | None:
        """Class, cost and probability of each action, None where it has no label; None for labels with no meaning."""
        if self._all_costs:
            costs = record.get("costs")
            if costs is None:
                return [None] * count
            good = isinstance(costs, list) and len(costs) == count and all(map(is_number, costs))
            return [(k, float(cost), 0.0) for k, cost in enumerate(costs, 1)] if good else None
        chosen, cost, share = record.get("chosen"), record.get("cost"), record.get("probability")
        if chosen is None and cost is None:
            return [None] * count
        if type(chosen) is not int or not 0 <= chosen < count or not is_number(cost) or not is_number(share):
            return None
        if not 0 < np.float32(share) <= 1:
            return None
        return [(k, float(cost), float(share)) if k == chosen else None for k in range(count)]

    def _write(self, labels: list[tuple[int, float, float] | None], importance: float) -> None:
        arrays, rows = self.arrays, len(labels)
        arrays["labels"][:rows], arrays["importance"][:rows] = _NO_COST, importance
        ends = list(accumulate((label is not None for label in labels), initial=0))
        arrays["cost_ptr"][: rows + 1] = ends
        if given := [label for label in labels if label is not None]:
            classes, costs, probabilities = zip(*given, strict=True)
            arrays["cost_classes"][: ends[-1]], arrays["costs"][: ends[-1]] = classes, costs
            arrays["probabilities"][: ends[-1]] = probabilities

    def batch(self) -> Batch:
        """The content as a batch, without copying."""
        return self._batch(lambda array: array)

    def batch_of(self, record: Mapping[str, Any]) -> Batch | None:
        """A decision as a batch of its own; None for what `fill` leaves to a reader, or for one with tags."""
        if "tag" in record or self.fill(record) < 0 or any("tag" in action for action in record["actions"]):
            return None
        return self._batch(np.ndarray.copy)

    def _batch(self, seen: Callable[[NDArray[Any]], NDArray[Any]]) -> Batch:
        arrays, rows = self.arrays, self.size
        features, spaces, costs = (arrays[name].item(rows) for name in ("row_ptr", "row_namespaces", "cost_ptr"))
        lengths = dict.fromkeys(("labels", "importance", "base", "group"), rows)
        lengths |= dict.fromkeys(("row_ptr", "row_namespaces", "cost_ptr"), rows + 1)
        lengths |= dict.fromkeys(("cost_classes", "costs", "probabilities"), costs)
        lengths |= {"indices": features, "values": features, "namespace_id": spaces, "namespace_ptr": spaces + 1}
        found = {name: seen(arrays[name][:length]) for name, length in lengths.items()}
        return Batch(**found, tag_ptr=np.zeros(rows + 1, np.int64))


def _is_text(tag: Any) -> bool:
    return tag is None or isinstance(tag, str)
