"""The online form of any model that knows a history: EM on one block of items after another."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ModelError, UsageError
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.models.model import Array, Fit, State, grown
from hutch.crowd.models.online import Progress, Stream, fit_of

FIRST = 8000
"""Labels of the first block, at least. Its estimates of the truth stay, and fewer may mislead: see `OneCoin`."""
BLOCK = 2000
"""Labels of the other blocks, at least, and one for each worker met: the cost per label does not grow with workers."""
ROUNDS = 2
"""Most EM iterations on a block once the workers have estimates."""
_ITEM, _SLOT, _LABEL, _GOLD = range(4)
_OWN = ("seen", "pending")
_NONE = np.zeros((0, 4))


class BlockStream(Stream):
    """Batch EM on a block of items, with the blocks before as its history; then the block is dropped.

    The history holds sums over items, and every worker met is re-estimated from theirs in each block under the prior
    of the present crowd: a prior that is learned and applied when it is read, hence exact (incremental EM, R. Neal and
    G. Hinton, 1998, with every item visited once). A block ends where its labels are enough, wherever a file ends: the
    labels of a block that is not full are part of the state. Values read from the stream include them.
    """

    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """Rows of unknown workers, or those of the history."""
        names = _names(np.arange(slots))
        old = history or State([], [])
        fresh = self.model.start(from_triples([], classes, names), history and replace(history, worker_names=names))
        state = State(classes, [], dict(fresh.workers), dict(fresh.shared))
        state.workers["seen"] = grown(old.workers.get("seen"), (slots,))
        pending = old.shared.get("pending", _NONE)
        low, high = np.array([0, 0, 0, -1]), np.array([len(pending), slots, len(classes), len(classes)])
        codes = [_ITEM, _SLOT, _LABEL, _GOLD] if self.model.label_type is np.int32 else [_ITEM, _SLOT, _GOLD]
        rising = pending.ndim == 2 and pending.shape[1] == 4 and (np.diff(pending[:, :1], axis=0, prepend=0) >= 0).all()
        if not rising or ((pending != np.floor(pending)) | (pending < low) | (pending >= high))[:, codes].any():
            raise ModelError("pending: got numbers that are no labels of a block")
        state.shared |= {"pending": pending} if len(pending) else {}
        return state

    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """Score each item with the state learned from the blocks before its own; F_i is its mean over a block."""
        if not first_pass:
            raise UsageError(f"--passes: {self.model.name} learns a block once; wanted 1 pass, or --method batch")
        progress, first = Progress(np.empty(labels.items), np.empty((labels.items, len(labels.classes)))), 0
        while first < labels.items:
            pending, ends = self.state.shared.get("pending", _NONE), labels.item_ptr
            enough = self.wanted(int((self.state.workers["seen"] > 0).sum())) - len(pending)
            last = max(min(int(np.searchsorted(ends, ends[first] + enough)), labels.items), first + 1)
            piece = labels.between(first, last)
            found = self._infer(piece, *self._known())
            progress.posterior[first:last], progress.objective[first:last] = found.posterior, found.objective
            items = piece.label_items
            columns = [items + (pending[-1, _ITEM] + 1 if len(pending) else 0), piece.workers, piece.labels]
            rows = np.stack([*columns, piece.gold[items]], axis=1).astype(np.float64)
            self.state.shared["pending"] = np.concatenate([pending, rows])
            if len(rows) >= enough:
                self._learn_pending()
            first = last
        return progress

    def wanted(self, met: int) -> int:
        """Labels of the present block, at least, where so many workers have been met."""
        return max(BLOCK, met) if met else FIRST

    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """E step under all that was learned."""
        found = self._infer(labels, *self._learned())
        return found.posterior, found.informative, found.objective

    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """Those of the model; an unknown worker's are the population's."""
        state, places = self.state_of(slots)
        return self.model.confusions(state)[places]

    def factors(self, slots: NDArray[np.int32]) -> Array:
        """Those of the model."""
        state, places = self.state_of(slots)
        return self.model.factors(state)[places]

    def others(self, labels: Labels) -> Array:
        """Those of the model, under all that was learned."""
        known, history = self._learned()
        compact = _compact(labels, _with(known, labels.workers))
        return self.model.others(compact, self.model.infer(compact, history).state, learned=False)

    def population(self) -> Array:
        """That of the model."""
        return self.model.population(self._learned()[1])

    def class_prior(self) -> Array:
        """That of the model."""
        return self.model.class_prior(self._learned()[1])

    def probability(self, labels: Labels, posterior: Array) -> Array:
        """That of the model, under all that was learned."""
        return self.model.probability(labels, fit_of(self._learned()[1], posterior))

    def state_of(self, slots: NDArray[np.int32]) -> tuple[State, NDArray[np.int64]]:
        """What was learned of workers, also of unknown ones, and the row of each slot."""
        known, history = self._learned()
        rows = _with(known, slots)
        return self.model.start(from_triples([], self.state.classes, _names(rows)), history), _places(rows, slots)

    def _known(self) -> tuple[NDArray[np.int64], State]:
        """The slots met, ascending, and their state from the blocks before."""
        state, rows = self.state, np.flatnonzero(self.state.workers["seen"] > 0)
        workers = {name: array[rows] for name, array in state.workers.items() if name not in _OWN}
        shared = {name: array for name, array in state.shared.items() if name not in _OWN}
        return rows, State(state.classes, _names(rows), workers, shared)

    def _infer(self, labels: Labels, known: NDArray[np.int64], history: State) -> Fit:
        """The model's posteriors of labels whose workers are slots."""
        rows = _with(known, labels.workers)
        return self.model.infer(_compact(labels, rows), history)

    def _learned(self) -> tuple[NDArray[np.int64], State]:
        """`_known` after the pending labels."""
        known, history = self._known()
        held = self.state.shared.get("pending", _NONE)
        pending = held.astype(np.int64)
        if not len(pending):
            return known, history
        starts = np.flatnonzero(np.diff(pending[:, _ITEM], prepend=-1))
        rows = _with(known, pending[:, _SLOT])
        empty = from_triples([], self.state.classes)
        block = replace(
            empty, item_ptr=np.append(starts, len(pending)), workers=pending[:, _SLOT].astype(np.int32),
            labels=held[:, _LABEL].astype(self.model.label_type), gold=pending[starts, _GOLD].astype(np.int32),
        )  # fmt: skip
        block, model = _compact(block, rows), self.model
        learned = model.start(block, history if len(known) else None)
        if len(known):
            model.expect(block, learned, learned=False)
        model.improve(block, learned, done=max(self.parameters.iterations - ROUNDS, 0) if len(known) else 0)
        return rows, State(self.state.classes, block.worker_names, learned.workers, learned.shared)

    def _learn_pending(self) -> None:
        """Move the block's results into the table, and drop the block."""
        rows, learned = self._learned()
        state, slots = self.state, self.state.shared["pending"][:, _SLOT].astype(np.int64)
        for name, array in learned.workers.items():
            state.workers[name][rows] = array
        state.shared = learned.shared
        state.workers["seen"] += np.bincount(slots, minlength=self.slots)


def _names(slots: NDArray[np.int64]) -> list[str]:
    return list(map(str, slots.tolist()))


def _with(known: NDArray[np.int64], slots: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Known slots and, behind them, the others."""
    return np.concatenate([known, np.setdiff1d(slots, known)])


def _places(rows: NDArray[np.int64], slots: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where each slot is among the rows."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, slots, sorter=order)]


def _compact(labels: Labels, rows: NDArray[np.int64]) -> Labels:
    """Labels whose workers are slots, with the slots of the rows for their workers."""
    return replace(labels, workers=_places(rows, labels.workers).astype(np.int32), worker_names=_names(rows))
