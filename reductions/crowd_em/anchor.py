"""Anchors of the crowd's workers: the weight of a worker's earlier rows where skills may have changed.

At a boundary a worker's old labels say little about their new behaviour, so each of their confusion rows is stored and
counts for at most a few labels from then on: form `kl` of counts, p = (n + τ p*) / (Σ n + τ) with τ = min(Σ n*, `cap`).
Several stored tables are kept, since skills may return; they are mixed by how well they predict the worker's labels
(fixed share, Herbster and Warmuth 1998). The kernels of the two-level model still read one table: labels since the
boundary, and the mixture.

A boundary itself changes no worker: a worker's rows are renewed when an item that they labelled is next learned.
"""

from typing import Any

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.kernel.abi import float64s_at, int64s_at, record_of
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.crowd.models.two_level_kernels import COIN, POPULATION, coin
from hutch.crowd.models.two_level_stream import retained
from hutch.em.constrained.record import CLASS, COUNTS, constraint_of

MOST_LABELS = 1e15
COUNTED = Limits(-1e-6, MOST_LABELS)
"""Counts of labels, from which others were subtracted: 0 may have become a little less."""
CAP = 5.0
"""The most labels that a stored row counts for, unless a beta is given."""
_SHARE = 0.01
_UNTOUCHED = 1e-12
"""Labels met since a boundary, before the first: none, but the worker is known to the estimate of the population."""
_TINY = 1e-300

ANCHORS = np.dtype(
    [
        ("constraint", "u8"),  # address of the CONSTRAINT record of the layer above
        ("stored", "i8"),  # tables kept per worker
        ("tables", "u8"),  # address of float64[slots, stored, table]: see `table_size`
        ("shares", "u8"),  # address of float64[slots, stored]: of each stored table in the mixture, 0 if none
        ("epochs", "u8"),  # address of int64[slots]: boundaries that were heeded
        ("held", "u8"),  # address of float64[labels of a block, table]: tables put aside
    ]
)
anchors_of = record_of(ANCHORS)


def table_size(classes: int) -> int:
    """Numbers of a worker's table: counts [label, class], their sums [class], habits [label], their sum."""
    return classes * classes + 2 * classes + 1


class Anchors:
    """The stored tables of all workers, and the record through which kernels see them.

    Args:
        constraint: the CONSTRAINT record of the layer above.
        slots, classes: of the worker table.
        stored: tables kept per worker, ≥ 1.
    """

    def __init__(self, constraint: NDArray[Any], slots: int, classes: int, stored: int) -> None:
        self.record = Record(ANCHORS, constraint=constraint, stored=stored)
        self._size = table_size(classes)
        self._arrays: dict[str, NDArray[Any]] = {"held": np.zeros(self._size)}
        if constraint["mode"][0] == CLASS:
            self._arrays["tables"] = np.zeros((slots, stored, self._size))
            self._arrays["shares"] = np.zeros((slots, stored))
            self._arrays["epochs"] = np.zeros(slots, np.int64)
        self.record.set(**self._arrays)

    def make_room(self, labels: int) -> None:
        """For blocks of so many labels."""
        if len(self._arrays["held"]) < labels * self._size:
            self.record["held"] = self._arrays["held"] = np.zeros(labels * self._size)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The arrays that belong in the model."""
        return {f"anchor.{name}": array for name, array in self._arrays.items() if name != "held"}

    def limits(self) -> dict[str, Limits]:
        """Limits of these arrays."""
        known = {"tables": COUNTED, "shares": Limits(0, 1 + 1e-6), "epochs": Limits(least=0)}
        return {f"anchor.{name}": limits for name, limits in known.items() if name in self._arrays}


@helper
def _first_of(slots, j):
    """Whether no label before this one is of the same worker."""
    for i in range(j):
        if slots[i] == slots[j]:
            return False
    return True


@helper
def _parts(table, classes):
    """Counts, their sums, habits, their sum, of a table."""
    cells = classes * classes
    return table[:cells], table[cells : cells + classes], table[cells + classes : cells + 2 * classes], table[-1:]


@helper
def _parts_of(crowd, slot, classes):
    """The same of a worker."""
    cells, rows = slot * classes * classes, slot * classes
    return (
        crowd.counts[cells : cells + classes * classes],
        crowd.rows[rows : rows + classes],
        crowd.habits[rows : rows + classes],
        crowd.masses[slot : slot + 1],
    )


@helper
def _add(crowd, slot, table, factor, classes):
    """A worker's table += factor × table."""
    for own, other in zip(_parts_of(crowd, slot, classes), _parts(table, classes)):  # noqa: B905 - Numba has no strict
        for i in range(len(own)):
            own[i] += factor * other[i]


@helper
def _swap(crowd, slot, table, classes):
    for own, other in zip(_parts_of(crowd, slot, classes), _parts(table, classes)):  # noqa: B905 - Numba has no strict
        for i in range(len(own)):
            own[i], other[i] = other[i], own[i]


@helper
def _tables(anchors, slot, size):
    count = uint64(anchors.stored * size)
    return float64s_at(anchors.tables + uint64(8) * count * uint64(slot), count)


@helper
def _shares(anchors, slot):
    count = uint64(anchors.stored)
    return float64s_at(anchors.shares + uint64(8) * count * uint64(slot), count)


@helper
def _held(anchors, j, size):
    return float64s_at(anchors.held + uint64(8 * j * size), uint64(size))


@helper
def _capped(crowd, slot, classes, cap, table):
    """A worker's table with every row shrunk to at most `cap` labels."""
    counts, rows, habits, mass = _parts_of(crowd, slot, classes)
    own_counts, own_rows, own_habits, own_mass = _parts(table, classes)
    for k in range(classes):
        factor = min(rows[k], cap) / max(rows[k], _TINY)
        own_rows[k] = factor * rows[k]
        for label in range(classes):
            own_counts[label * classes + k] = factor * counts[label * classes + k]
    factor = min(mass[0], cap) / max(mass[0], _TINY)
    own_mass[0] = factor * mass[0]
    for label in range(classes):
        own_habits[label] = factor * habits[label]


@helper
def _mix(anchors, crowd, slot, classes, factor):
    """Add `factor` times the mixture of a worker's stored tables to their table."""
    size = classes * classes + 2 * classes + 1
    tables, shares = _tables(anchors, slot, size), _shares(anchors, slot)
    for r in range(anchors.stored):
        if shares[r] > 0.0:
            _add(crowd, slot, tables[r * size : (r + 1) * size], factor * shares[r], classes)


@helper
def _cap(anchors):
    beta = constraint_of(anchors.constraint).beta
    return CAP if beta == COUNTS else beta


@helper
def _anchor_ahead(anchors, crowd, slot, classes, table):
    """Return a worker's table after a boundary: the mixture of their capped table and of the stored ones that stay.

    Returns:
        the number of stored tables afterwards.
    """
    size = classes * classes + 2 * classes + 1
    tables, shares = _tables(anchors, slot, size), _shares(anchors, slot)
    _capped(crowd, slot, classes, _cap(anchors), table)
    used = 1
    for r in range(anchors.stored - 1):
        if shares[r] > 0.0:
            table += tables[r * size : (r + 1) * size]
            used += 1
    table /= used
    return used


@helper
def _renew(anchors, crowd, slot, classes, touches, seen, table):
    """Store a worker's table, and restart the worker from the stored tables; `table` is scratch."""
    size = classes * classes + 2 * classes + 1
    tables, shares = _tables(anchors, slot, size), _shares(anchors, slot)
    used = _anchor_ahead(anchors, crowd, slot, classes, table)
    for r in range(anchors.stored - 1, 0, -1):
        copy(tables[(r - 1) * size : r * size], tables[r * size :])
    _capped(crowd, slot, classes, _cap(anchors), tables[:size])
    for r in range(anchors.stored):
        shares[r] = 1.0 / used if r < used else 0.0
    _swap(crowd, slot, table, classes)
    touches[slot], seen[slot] = _UNTOUCHED, 0.0


@helper
def _is_stale(anchors, slot, touches):
    """Whether a boundary came since a worker's last labels; no if the worker has none since the one before."""
    epochs = int64s_at(anchors.epochs, uint64(len(touches)))
    return touches[slot] >= 1.0 and epochs[slot] != int64(constraint_of(anchors.constraint).boundaries)


@helper
def _by_class(anchors):
    return constraint_of(anchors.constraint).mode == CLASS


@helper
def show_anchored(address, slots, crowd, classes, touches, seen, learning):
    """Before an item is judged, renew the rows of its workers if a boundary came since their last labels.

    Args:
        address: of an ANCHORS record; 0 does nothing.
        slots: int64 (labels of the item).
        crowd: the worker table, changed; if nothing is to be learned, only until `show_read`.
        classes: number of classes.
        touches, seen: float64 (slots), changed with the rows.
        learning: whether the item is learned.
    """
    if address == uint64(0) or not _by_class(anchors_of(address)):
        return
    anchors, size = anchors_of(address), classes * classes + 2 * classes + 1
    epochs = int64s_at(anchors.epochs, uint64(len(touches)))
    for j in range(len(slots)):
        if not (_is_stale(anchors, slots[j], touches) and _first_of(slots, j)):
            continue
        table = _held(anchors, j, size)
        if learning:
            _renew(anchors, crowd, slots[j], classes, touches, seen, table)
        else:
            _anchor_ahead(anchors, crowd, slots[j], classes, table)
            _swap(crowd, slots[j], table, classes)
    if learning:
        for slot in slots:
            epochs[slot] = int64(constraint_of(anchors.constraint).boundaries)


@helper
def show_read(address, slots, crowd, classes, touches):
    """After an item that is not learned: put the rows back that `show_anchored` renewed."""
    if address == uint64(0) or not _by_class(anchors_of(address)):
        return
    anchors, size = anchors_of(address), classes * classes + 2 * classes + 1
    for j in range(len(slots)):
        if _is_stale(anchors, slots[j], touches) and _first_of(slots, j):
            _swap(crowd, slots[j], _held(anchors, j, size), classes)


@helper
def renew_all(address, crowd, classes, touches, seen):
    """Renew every worker before the common skills are estimated."""
    if address == uint64(0) or not _by_class(anchors_of(address)):
        return
    anchors, size = anchors_of(address), classes * classes + 2 * classes + 1
    epochs = int64s_at(anchors.epochs, uint64(len(touches)))
    for slot in range(len(touches)):
        if _is_stale(anchors, slot, touches):
            _renew(anchors, crowd, slot, classes, touches, seen, _held(anchors, 0, size))
        epochs[slot] = int64(constraint_of(anchors.constraint).boundaries)


@compiled
def renew_workers(address, crowd, classes, touches, seen):
    """`renew_all`, for Python."""
    renew_all(address, crowd, classes, touches, seen)


@helper
def put_aside(address, slots, crowd, classes):
    """Before an item's labels are learned: in mode step, copy its workers' tables, which are their anchors."""
    if address == uint64(0) or _by_class(anchors_of(address)):
        return
    for j in range(len(slots)):
        if _first_of(slots, j):
            table = _held(anchors_of(address), j, classes * classes + 2 * classes + 1)
            table[:] = 0.0
            _swap(crowd, slots[j], table, classes)
            _add(crowd, slots[j], table, 1.0, classes)


@helper
def _weigh(anchors, crowd, slot, label, classes, q):
    """Update the shares of a worker's stored tables by how well each predicted a label."""
    size = classes * classes + 2 * classes + 1
    tables, shares = _tables(anchors, slot, size), _shares(anchors, slot)
    first, second, total = crowd.strengths[POPULATION], crowd.strengths[COIN], 0.0
    for r in range(anchors.stored):
        if shares[r] > 0.0:
            counts, rows, _, _ = _parts(tables[r * size : (r + 1) * size], classes)
            evidence = 0.0
            for k in range(classes):
                prior = first * crowd.population[label * classes + k] + second * coin(
                    crowd.skill[slot], k == label, classes
                )
                row = (prior + counts[label * classes + k]) / (first + second + rows[k])
                evidence += (q[k] + q[classes + k]) * row
            shares[r] *= max(evidence, _TINY)
            total += shares[r]
    used = 0
    for r in range(anchors.stored):
        used += shares[r] > 0.0
    for r in range(anchors.stored):
        if shares[r] > 0.0:
            shares[r] = (1.0 - _SHARE) * shares[r] / total + _SHARE / used


@helper
def _kept(slots, j, touches, seen, decay):
    """Return the share of its table that a worker keeps after the item's labels, and the number of these labels."""
    new, kept = 0, 1.0
    for slot in slots:
        if slot == slots[j]:
            kept *= retained(touches[slot] - new, seen[slot] - new, True, decay)[0]
            new += 1
    return kept, new


@helper
def take_back(address, slots, labels, crowd, classes, touches, seen, decay, q):
    """After an item's labels were learned: anchor its workers' rows, so that steps shrink all but the anchor.

    Args:
        address, slots, crowd, classes, touches, seen: as for `show_anchored`.
        labels: int64 (labels of the item).
        decay: of the steps that were taken.
        q: float64 (2 classes), the posterior.
    """
    if address == uint64(0):
        return
    anchors, beta = anchors_of(address), constraint_of(anchors_of(address).constraint).beta
    for j in range(len(slots)):
        if not _first_of(slots, j):
            continue
        slot = slots[j]
        kept, new = _kept(slots, j, touches, seen, decay)
        if _by_class(anchors):
            _mix(anchors, crowd, slot, classes, -kept)
            for i in range(j, len(slots)):
                if slots[i] == slot:
                    _weigh(anchors, crowd, slot, labels[i], classes, q)
            _mix(anchors, crowd, slot, classes, 1.0)
        elif seen[slot] > new:  # there is nothing yet to hold the first labels to
            # (S + β times the anchor) / (1 + β); the anchor represents fewer labels, and is scaled to as many.
            for own in _parts_of(crowd, slot, classes):
                for i in range(len(own)):
                    own[i] /= 1.0 + beta
            grown = seen[slot] / (seen[slot] - new)
            _add(
                crowd,
                slot,
                _held(anchors, j, classes * classes + 2 * classes + 1),
                beta / (1.0 + beta) * grown,
                classes,
            )
