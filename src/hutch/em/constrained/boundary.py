"""Where the classes of a stream end: given by the lines themselves, or by a drop in their likelihood.

Learners that go class by class count boundaries in a CONSTRAINT record; these functions run before and after each
example and advance that count.
"""

from typing import Any, Literal

import numpy as np
from numpy import float64, int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.kernel.abi import UNLABELED, int64s_at, record_of, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.text.hashing import namespace_id
from hutch.core.text.parser import ParserOptions
from hutch.em.constrained.drift import DriftDetector, drifted
from hutch.em.constrained.record import constraint_of

Source = Literal["group", "label", "namespace", "drift"]
_NOWHERE, _GROUP, _LABEL, _NAMESPACE, _DRIFT = range(5)
_KINDS = {None: _NOWHERE, "group": _GROUP, "label": _LABEL, "namespace": _NAMESPACE, "drift": _DRIFT}

BOUNDARY = np.dtype(
    [
        ("constraint", "u8"),  # address of the CONSTRAINT record that counts them
        ("source", "i8"),
        ("namespace", "i8"),
        ("key", "f8"),  # identifies the last row's class
        ("known", "i8"),  # 1: a row was seen
        ("last", "u8"),  # 1 + number of the last example whose likelihood was examined
        ("drift", "u8"),  # address of a DRIFT record
    ]
)
boundary_of = record_of(BOUNDARY)


class Boundaries:
    """The record that kernels see, and the part of it that belongs in a model.

    Args:
        constraint: CONSTRAINT array of length 1, whose boundaries are counted.
        source: of boundaries; None: no boundaries.
        namespace: its first feature identifies the class, for the source `namespace`.
        threshold: of the source `drift`.
        parser: how text is hashed.
    """

    def __init__(
        self,
        constraint: NDArray[Any],
        source: Source | None,
        namespace: str | None,
        threshold: float,
        parser: ParserOptions,
    ) -> None:
        self._constraint, self._drift = constraint, DriftDetector(threshold).record
        self.record = Record(
            BOUNDARY,
            constraint=constraint,
            source=_KINDS[source],
            namespace=namespace_id(namespace or "", parser.namespaces),
            drift=self._drift,
        )
        constraint["scoring"] = source == "drift"

    @property
    def count(self) -> int:
        """The number of classes that have ended."""
        return int(self._constraint["boundaries"][0])

    def saved(self) -> dict[str, NDArray[Any]]:
        """The boundaries so far, the key of the last row, and the drift test."""
        found = {name: self.record[name] for name in ("key", "known", "last")}
        found |= {f"drift.{name}": self._drift[name] for name in ("sum", "seen", "reference")}
        return found | {"boundaries": self._constraint["boundaries"]}

    def limits(self) -> dict[str, Limits]:
        """Their limits: counts are counts."""
        counts = dict.fromkeys(("boundaries", "last", "drift.seen"), COUNT)
        return counts | {"known": Limits(0, 1), "drift.sum": POSITIVE}


@helper
def _key(b, e, label):
    """The value that identifies the class of an example; NaN without one."""
    if b.source == _GROUP:
        return float64(e.group)
    if b.source == _LABEL and label != UNLABELED:
        return float64(label)
    if b.source == _NAMESPACE:
        starts, count = int64s_at(e.namespaces, e.namespace_count + uint64(1)), e.namespace_count
        for j in range(count):
            if int64(uint32s_at(e.namespace_ids, count)[j]) == b.namespace and starts[j + 1] > starts[j]:
                return float64(uint32s_at(e.indices, e.length)[starts[j] - starts[0]])
    return np.nan


@helper
def before_example(address, e, label):
    """Count a boundary if a class ends before this example, which is about to be learned.

    Args:
        address: of a BOUNDARY record.
        e: the example.
        label: of this problem.
    """
    b = boundary_of(address)
    constraint, key = constraint_of(b.constraint), _key(b, e, label)
    if not np.isnan(key):
        if b.known == 1 and key != b.key:
            constraint.boundaries += uint64(1)
        b.key, b.known = key, 1
    constraint.score = np.nan


@helper
def after_example(address, e):
    """Look once at the likelihood that a learner found for a row; a boundary then comes before the next example."""
    b = boundary_of(address)
    constraint = constraint_of(b.constraint)
    if b.source != _DRIFT or np.isnan(constraint.score) or b.last == e.number + uint64(1):
        return
    b.last = e.number + uint64(1)
    if drifted(b.drift, constraint.score):
        constraint.boundaries += uint64(1)
