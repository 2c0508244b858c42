"""Runs a chain: the loop over batches, and its outputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, SEEN, Batch, PinnedBatch, Seen, ends_of_groups
from hutch.core.chain.build import Stack
from hutch.core.chain.decisions import CHOICE, CLASSES, COSTS, LINES, NUMBERS, SLOTS, DecisionDriver, drive_decisions
from hutch.core.chain.driver import FETCHED, RUN, TALLY, drive, make_scratch, show_costs
from hutch.core.chain.driver import keep as keep_kernel
from hutch.core.chain.label_check import LabelCheck
from hutch.core.chain.outputs import NOTHING, outputs_in
from hutch.core.chain.outputs import Outputs as Outputs
from hutch.core.chain.reduction import Labels, LayerConfig, Predictions
from hutch.core.chain.registry import Registry
from hutch.core.chain.state import arrays_of, restore
from hutch.core.chain.statistics import Statistics
from hutch.core.chain.stored import Stored
from hutch.core.errors import DataError
from hutch.core.kernel.abi import EXAMPLE, UNLABELED
from hutch.core.text.hashing import namespace_id
from hutch.core.text.parser import ParserOptions

_OUTPUT_ARRAYS = ("predictions", "raw", "queries", "losses", "scores")


_KINDS = {Labels.ACTION_COSTS: COSTS, Labels.LOGGED_ACTION: CHOICE, Labels.LOGGED_CLASS: CLASSES}
_KINDS |= {Labels.LOGGED_SLOTS: SLOTS, Labels.LOGGED_SLATE: SLOTS, Labels.CLASSES_OF_LINES: LINES}
_KINDS[Labels.NUMBERS_OF_LINES] = NUMBERS
_WITH_SCORES = (Labels.LOGGED_CLASS, Labels.LOGGED_NUMBER)
"""Labels of chains whose predictions are nothing without the scores."""


def _fields(record: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.uint64]:
    """A view of addresses that follow each other in a record."""
    all_names = record.dtype.names or ()
    first = all_names.index(names[0])
    assert all_names[first : first + len(names)] == names
    return record.view(np.uint64)[first : first + len(names)]


class Row(Protocol):
    """The callback for a due row of the progress table."""

    def __call__(self, batch: Batch, i: int, outputs: Outputs) -> float:
        """See example `i` of the batch; returns the run's sum of importance at which the next row is due."""


class Engine:
    """A built chain: layers, weight table, shared state, and the loop over batches.

    Args:
        layers: from top to base.
        registry: the installed plugins.
        bits: the weight table has 2^bits rows.
        parser: how text is hashed; its `bits` and `label` are overridden by the chain's own.
        seed: of every random decision.
        ignore: names of namespaces to leave out of every example.
        keep: names of namespaces to keep; all others are left out.

    Attributes:
        turn: held while examples run, as their arrays serve all calls; hold it to read what another call may overwrite.

    Raises:
        ConfigError: layers that do not fit, or too few rows for the sub-models.
    """

    def __init__(
        self,
        layers: Sequence[LayerConfig],
        registry: Registry,
        *,
        bits: int = 18,
        parser: ParserOptions | None = None,
        seed: int = 0,
        ignore: Sequence[str] = (),
        keep: Sequence[str] = (),
    ) -> None:
        self.turn = RLock()
        parser = parser or ParserOptions()
        stack = self.stack = Stack(layers, registry, bits=bits, parser=parser, seed=seed)
        self.takes, self.predicts, self.parser = stack.takes, stack.predicts, stack.parser
        self.layers, self.weights, self.shared = stack.layers, stack.weights, stack.shared
        self.label_check = LabelCheck(self.layers[0])
        self.score_count = self.layers[0].answers.score_count
        self._example = np.zeros(1, EXAMPLE)
        self._example["shared"] = self.shared.ctypes.data
        names = list(keep) or list(ignore)
        self._ignored = np.array([namespace_id(name, self.parser.namespaces) for name in names], np.uint32)
        self._run = np.zeros(1, RUN)
        self._run["top"], self._run["example"] = stack.records.ctypes.data, self._example.ctypes.data
        self._run["ignored"], self._run["ignored_count"] = self._ignored.ctypes.data, len(self._ignored)
        self._run["inverse"], self._run["keep"] = bool(keep), keep_kernel.address if names else 0
        self._run["unlabeled"] = self.takes is Labels.NONE
        self._run["show_costs"] = show_costs.address if self.takes.lists_costs else 0
        self._seen, self._written = _fields(self._run, tuple(SEEN)), _fields(self._run, _OUTPUT_ARRAYS)
        self._tally = np.zeros(1, TALLY)  # of whoever runs the chain and does not count
        kind = _KINDS.get(self.takes)
        in_pieces = any(layer.inputs.joins for layer in self.layers)
        self._decisions = None if kind is None else DecisionDriver(self._run, kind, in_pieces)
        self.decides, self.whole_groups = kind is not None, stack.whole_groups
        base = self.layers[-1]
        self._run["fetched"] = min(4 * stack.submodels * base.stride, FETCHED)
        self._run["ahead"] = base.shortcuts.looks_ahead and len(layers) == 1 and not names
        self._room = np.zeros(0, np.float32)  # of outputs that are used again
        self._scratch: tuple[NDArray[Any], ...] = ()
        self._size_scratch(0, 0)

    def _size_scratch(self, features: int, namespaces: int) -> None:
        if not self._scratch or len(self._scratch[0]) < features or len(self._scratch[2]) < namespaces + 1:
            self._scratch = make_scratch(self._run, features, namespaces)

    def uses(self, namespaces: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which of some namespaces, by their ids, are not left out of every example."""
        listed = np.isin(namespaces, self._ignored)
        return listed | (namespaces == CONSTANT_NAMESPACE) if self._run["inverse"][0] else ~listed

    def count_as_vw(self) -> None:
        """Learn decisions held out, and with actions without features, too; count 3.4e38 for no cost: as VW does."""
        if self.takes.of_actions or self.takes.of_slots:
            assert self._decisions is not None
            self._decisions.count_as_vw()
            self.parser = replace(self.parser, empty_actions=True)

    @property
    def last_features(self) -> int:
        """Features used by the example run last, interactions and the constant included."""
        return int(self._example["features"][0])

    @property
    def statistics(self) -> Statistics:
        """Statistics of the examples seen so far."""
        return Statistics.of(self.shared)

    def run_batch(
        self,
        batch: Batch,
        *,
        learn: bool = True,
        row: Row | None = None,
        row_at: float = np.inf,
        tally: NDArray[Any] | None = None,
        holdout: tuple[int, int, int] = (0, 0, 0),
        scores: bool = False,
        reuse: bool = False,
    ) -> tuple[Outputs, float]:
        """Predict and, by default, learn, example by example.

        Args:
            batch: the examples.
            learn: False leaves all weights unchanged.
            row: called when a row of the progress table is due.
            row_at: sum of importance in `tally` at which the next row is due.
            tally: a TALLY record, an array of length 1, to which the counters of the batch are added.
            holdout: (period, after, examples of this pass before the batch); see `hutch.core.chain.driver.drive`.
            scores: also return the scores of all classes.
            reuse: the outputs may be overwritten by the next call that reuses them, so that nothing is allocated.

        Returns:
            The outputs, and the sum of importance in `tally` at which the next row is due.
        """
        with self.turn:
            return self._run_in_turn(batch, learn, row, row_at, tally, holdout, scores, reuse)

    def _run_in_turn(
        self,
        batch: Batch,
        learn: bool,
        row: Row | None,
        row_at: float,
        tally: NDArray[Any] | None,
        holdout: tuple[int, int, int],
        scores: bool,
        reuse: bool,
    ) -> tuple[Outputs, float]:
        n = len(batch)
        always = self.takes in _WITH_SCORES or self.predicts is Predictions.LABELS
        classes = self.score_count if scores or always else 0
        if self.takes.of_slots:
            classes = int(np.diff(ends_of_groups(batch), prepend=0).max(initial=1))
        if not reuse:
            outputs = outputs_in(np.zeros(n * (4 + classes), np.float32), n, classes)
        else:
            if len(self._room) < n * (4 + classes):
                self._room = np.zeros(2 * n * (4 + classes), np.float32)
            outputs = outputs_in(self._room, n, classes)
            outputs.scores[...] = 0
        if len(self._ignored):
            widest = int(np.diff(batch.row_ptr).max(initial=0))
            self._size_scratch(widest, int(np.diff(batch.row_namespaces).max(initial=0)))
        self.shared["testing"] = not learn
        for layer in self.layers:
            layer.begin_batch(batch, learn)
        self._run["learning"], self._run["classes"] = learn, classes
        living = self._describe(batch, outputs, holdout)
        at, walk = self._run.ctypes.data, drive
        if self._decisions is not None:
            outputs.ranked = np.full(n * max(classes, 1), NOTHING if self.takes.of_slots else 0, np.uint32)
            self._decisions.prepare(batch, outputs.ranked, classes)
            at, walk = self._decisions.address, drive_decisions
        counted = self._tally if tally is None else tally
        self._run["tally"] = counted.ctypes.data
        row_at = self._walk(walk, at, batch, outputs, row, row_at, counted[0])
        del living
        self.stack.check_missed()
        return outputs, row_at

    def _walk(
        self,
        walk: Callable[[int, int], int],
        at: int,
        batch: Batch,
        outputs: Outputs,
        row: Row | None,
        row_at: float,
        counted: Any,
    ) -> float:
        """Let a driver go through a batch, and report the rows that are due; returns when the next one is."""
        start = 0
        while start < len(batch):
            self._run["dump_at"] = row_at
            start = walk(at, start)
            if row is not None and counted["weighted_labeled"] + counted["weighted_unlabeled"] >= row_at:
                row_at = row(batch, start - 1, outputs)
        return row_at

    def single_run(self) -> NDArray[Any]:
        """A RUN record for batches of one example, with arrays of the batch and outputs still to be filled in."""
        run = self._run.copy()
        run["size"], run["dump_at"], run["classes"] = 1, np.inf, 0
        run["period"] = run["after"] = run["counter"] = 0
        run["tally"] = self._tally.ctypes.data
        return run

    def _describe(self, batch: Batch, outputs: Outputs, holdout: tuple[int, int, int]) -> list[NDArray[Any]]:
        """Describe a batch to the driver; returns the arrays that must live while it runs."""
        run, size = self._run, len(batch)
        seen = batch.seen if isinstance(batch, PinnedBatch) else Seen.of(batch)
        self._seen[:] = seen.addresses
        if not self.takes.lists_costs or len(batch.cost_ptr) <= 1:
            run["cost_ptr"] = 0
        self._example["cost_count"] = 0
        if self.takes is Labels.LOGGED_NUMBER and not len(batch.costs) and (batch.labels != UNLABELED).any():
            raise DataError(
                "label: got numbers alone, wanted each with its cost and density, as in `ca 1.5:0.2:0.1 |f x`"
            )
        run["size"] = size
        run["period"], run["after"], run["counter"] = holdout
        first = outputs.predictions.ctypes.data
        self._written[:] = [first + 4 * k * size for k in range(len(_OUTPUT_ARRAYS))]
        return seen.arrays

    def run(
        self,
        batches: Iterable[Batch],
        *,
        learn: bool = True,
        sink: Callable[[Batch, Outputs], None] | None = None,
        row: Row | None = None,
        row_at: float = np.inf,
        tally: NDArray[Any] | None = None,
        holdout_period: int = 0,
        holdout_after: int = 0,
        scores: bool = False,
    ) -> float:
        """Run all batches of one pass; `sink` gets each with its outputs, which the next one overwrites.

        Returns:
            The sum of importance in `tally` at which the next row of the progress table is due.
        """
        seen = 0
        for batch in batches:
            holdout = (holdout_period, holdout_after, seen)
            with self.turn:
                outputs, row_at = self.run_batch(
                    batch, learn=learn, row=row, row_at=row_at, tally=tally, holdout=holdout, scores=scores, reuse=True
                )
                seen = seen + len(batch) if self._decisions is None else int(self._run["counter"][0])
                if sink is not None:
                    sink(batch, outputs)
        return row_at

    def end_pass(self) -> None:
        """Notify every layer that a pass over the data has ended."""
        self.shared["pass"] += 1
        for layer in reversed(self.layers):
            layer.end_pass()

    def __reduce__(self) -> Any:
        raise TypeError("an Engine holds addresses and cannot be copied; a hutch.Chain can")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that a model file must hold, by name; the arrays are the live ones."""
        return arrays_of(self.stack)

    def restore(self, arrays: Mapping[str, Stored]) -> None:
        """Copy a model's arrays into this chain; see `hutch.core.chain.state.restore`."""
        restore(self.stack, arrays)
