"""What the estimators of scikit-learn around a chain share: reading X and y, learning, and the chain's outputs."""

import math
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, validate_data

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.chain.capabilities import BoundsColumns, FarValue, GivesPlaces, has
from hutch.core.chain.derived import learns_once
from hutch.core.chain.model_file import overflow_of
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import DataError, warn
from hutch.core.kernel.abi import UNLABELED
from hutch.core.run.occupancy import advice
from hutch.core.run.progress import ProgressEvent
from hutch.default_layers import ChoosesLayers
from hutch.explaining import Explains
from hutch.frames import (
    as_table,
    check_columns,
    checked,
    dense_columns,
    doubt_columns,
    is_frame,
    row_of_ones,
    targets_of,
    with_missing_lists,
)

_ROWS, _ROWS_OF_COLUMN = 100_000, 8  # in all passes; below so many classifiers overfit in them
_BEFORE = np.float32(20)  # times the importance of a row, when only its columns are met
_TOLD_FROM = 1 << 12  # rows
_REACHES, _TRIAL = (2.0, 10.0, 50.0), 1000  # of priors of classifiers; rows by which one is chosen
_MATRIX: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32, "ensure_all_finite": "allow-nan"}
_LEAST = float(np.finfo(np.float32).tiny)


class TableEstimator(Explains, ChoosesLayers):
    """Common base of classifier and regressor."""

    chain_: Chain
    classes_: NDArray[Any]
    _told: bool  # that the targets have left the scale of the first call
    _columns: list[str]
    _schema: Any  # an empty table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, the chain and the columns as bytes, which pickle and skops can save."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "chain_" in state:
            state["chain_"] = self.chain_.to_bytes()
        if "_schema" in state:
            state["_schema"] = self._schema.schema.serialize().to_pybytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "chain_" in state:
            state["chain_"] = Chain.from_bytes(state["chain_"])
        if "_schema" in state:
            from pyarrow import ipc, py_buffer

            state["_schema"] = ipc.read_schema(py_buffer(state["_schema"])).empty_table()
        super().__setstate__(state)

    def _give_places(self) -> None:
        """Let columns of numbers have their places among moments before words take them all."""
        base = self.chain_.layers[-1]
        if self._row[1] and self.layers is None and has(base, GivesPlaces) and base.can_give_places:
            table = row_of_ones(self._schema, self._roles.categorical)
            for batch in self.chain_.batches(table, columns=self._roles.optional()):
                base.give_places(batch.indices[:-1])

    def _examples(self, X: Any, reset: bool) -> Any:
        """X, checked, as a matrix or, if the estimator was fitted to a frame, as an Arrow table."""
        given = X = checked(X)
        if reset:
            self._named = is_frame(X)
        if self._named:
            given = X = self._table(X, reset)
        else:
            X = validate_data(self, X, reset=reset, **_MATRIX)
        if reset:
            doubt_columns(given, self._roles)
            self._row = dense_columns(X, self.columns)
        return X

    def _table(self, X: Any, reset: bool) -> Any:
        """X, checked, as an Arrow table."""
        if not is_frame(X):
            X = check_array(X, **_MATRIX)
        if reset or getattr(X, "column_names", None) != self._columns:  # those may come from columns of lists
            validate_data(self, X, reset=reset, skip_check_array=True)
        if 0 in X.shape:
            raise ValueError(f"X: got the shape {X.shape}, wanted at least one row and one column")
        table = as_table(X, None if is_frame(X) else self._columns)
        if reset:
            self._columns, self._schema = table.column_names, table.schema.empty_table()
        elif table.column_names != self._columns:
            table = with_missing_lists(table, self._columns)
        check_columns(table, self._schema)
        return table

    def _examples_and_targets(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._examples(X, reset)
        y = targets_of(y)
        check_consistent_length(X, y)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        if is_classifier(self):
            check_classification_targets(y)
        return X, y

    def _learn(self, X: Any, labels: NDArray[np.float32], weight: NDArray[np.float32], passes: int | None) -> None:
        """Learn all rows so many times; None: further rows of a stream, once, and in their order."""
        given, roles, order = X, self._roles, np.flatnonzero(weight > 0)
        if passes is not None and self.shuffle and not self.chain_.whole_groups:
            order = np.random.default_rng(self._seed).permutation(order)
        stops = passes is not None and self.early_stopping
        if stops and not (isinstance(self.n_iter_no_change, Integral) and int(self.n_iter_no_change) >= 1):
            raise ValueError(f"n_iter_no_change: got {self.n_iter_no_change!r}, wanted an integer of at least 1")
        held = int(float(self.validation_fraction) * len(order)) if stops else 0
        if stops and not 0 < held < len(order):
            got = f"{self.validation_fraction!r}, {held} of {len(order)} samples"
            raise ValueError(f"validation_fraction: got {got}, wanted some to hold out and some to learn")

        def batches(rows: NDArray[np.int64]) -> list[Batch]:
            part = X if len(rows) == len(labels) and not self.shuffle else X.take(rows) if self._named else X[rows]
            return list(self.chain_.batches(part, labels[rows], weight[rows], columns=roles))

        try:
            learned, tested = batches(order[held:]), batches(order[:held])
        except DataError:
            for _ in self.chain_.batches(given, columns=roles):
                pass  # names the row by its place in X, not in the order of learning
            raise
        if passes is None:
            self.chain_.learn(learned)
            self.chain_.end_pass()
        else:
            if self.passes is None and self.chain_.layers[0].inputs.fits_scale:
                if self.layers is None and self._paired is None and is_classifier(self):
                    self._choose_prior(batches(order[:_TRIAL]))
                self._meet_columns(learned)
            self.chain_.occupancy_from = math.inf  # reported once, at the end
            self._make_passes(passes, learned, tested)
            for text in (overflow_of(self.chain_.weights), advice(self.chain_)):
                if text:
                    warn(text)

    def _choose_prior(self, batches: list[Batch]) -> None:
        """Take the prior under which later ones of some rows, each before it is learned, are most probable."""
        found = []
        for reach in _REACHES:
            layers = self._posterior(len(self.classes_), reach)
            self.chain_ = Chain.from_config(self._config(layers, int(self._seed)))
            self._meet_columns(batches)
            losses: list[float] = []
            for batch in batches:
                outputs, _ = self.chain_.run_batch(batch, scores=True)
                if self.chain_.takes != Labels.SIMPLE:
                    chances = outputs.scores[np.arange(len(batch)), batch.labels.astype(int) - 1]
                    outputs.losses = -batch.importance * np.log(np.maximum(chances, _LEAST))
                losses += outputs.losses.tolist()
            found.append((sum(losses[len(losses) // 2 :]), layers))
        layers = min(found, key=lambda each: each[0])[1]
        self.chain_ = Chain.from_config(self._config(layers, int(self._seed)))

    def _meet_columns(self, batches: list[Batch]) -> None:
        """Let `standardise` learn the columns' statistics before any weight depends on them, firmly enough to stay."""
        counters = self.chain_.shared.copy()
        for batch in batches:
            nothing = np.full(len(batch), UNLABELED)
            self.chain_.run_batch(replace(batch, labels=nothing, importance=_BEFORE * batch.importance))
        self.chain_.shared[...] = counters

    def _passes(self, rows: int) -> int:
        """The number of passes of `fit` over so many rows."""
        once = any(layer.inputs.buys_labels for layer in self.chain_.layers)
        if self.passes is None:
            if once or self._paired is not None or learns_once(self.chain_.layers[0]):
                return 1
            narrow = self.layers is None and not self._named and rows >= _ROWS_OF_COLUMN * self.n_features_in_
            return min(max(-(-_ROWS // rows), 10), 100) if narrow or not is_classifier(self) else 10
        if not (isinstance(self.passes, Integral) and int(self.passes) >= 1):
            raise ValueError(f"passes: got {self.passes!r}, wanted an integer of at least 1")
        if once and int(self.passes) > 1:
            raise ValueError(f"passes: got {self.passes}, wanted 1: `active` would pay for labels again in each")
        return int(self.passes)

    def _make_passes(self, passes: int, learned: list[Batch], tested: list[Batch]) -> None:
        """Learn batches over and over; with rows to test, until their loss no longer falls, and keep the best pass."""
        chain, best, at = self.chain_, np.inf, 0
        self.loss_curve_, kept = [], chain.arrays()
        for self.n_iter_ in range(1, passes + 1):
            chain.learn(learned, on_progress=self._tell if self.verbose and self.n_iter_ == 1 else None)
            chain.end_pass()
            if not tested:
                self.loss_curve_.append(chain.last_run.average_loss)
            else:
                losses = [chain.run_apart(batch, False).losses.sum(dtype=float) for batch in tested]
                self.loss_curve_.append(sum(losses) / sum(batch.importance.sum(dtype=float) for batch in tested))
                if self.loss_curve_[-1] < best:
                    kept = {name: array.copy() for name, array in chain.arrays().items()}
                    best, at = self.loss_curve_[-1], self.n_iter_
            if self.verbose:
                print(f"[{type(self).__name__}] pass {self.n_iter_} of {passes}, loss {self.loss_curve_[-1]:.4g}")
            if tested and self.n_iter_ - at >= self.n_iter_no_change:
                break
        if tested:
            chain.restore(kept)

    def _tell(self, event: ProgressEvent) -> None:
        """Print how far the first pass is, from so many rows on that it takes a while."""
        if event.examples >= _TOLD_FROM:
            print(f"[{type(self).__name__}] {event.examples:,} rows, loss {event.average_loss:.4g}")

    def _weights(self, X: Any, sample_weight: Any) -> NDArray[np.float32]:
        rows = np.zeros((_num_samples(X), 1), np.float32)
        return np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float32, ensure_non_negative=True))

    def _outputs(self, X: Any) -> Iterator[Outputs]:
        """The chain's outputs for the rows, batch by batch."""
        check_is_fitted(self)
        base, first = self.chain_.layers[-1], 0
        for batch in self.chain_.batches(self._examples(X, reset=False), columns=self._roles.optional()):
            before = base.far if has(base, BoundsColumns) else None
            outputs = self.chain_.run_apart(batch, False)
            if has(base, BoundsColumns) and before is None and (far := base.far):
                self._warn_of_far(far, batch, first)
            first += len(batch)
            yield outputs

    def _warn_of_far(self, far: FarValue, batch: Batch, first: int) -> None:
        """Say the column and the row of a value that a prediction did not follow.

        Parameters
        ----------
        far : the value.
        batch : rows that have it.
        first : the number of the first of them in X.
        """
        at = int(np.flatnonzero((batch.indices == far.feature) & (batch.values == np.float32(far.value)))[0])
        row = first + int(np.searchsorted(batch.row_ptr, at + batch.row_ptr[0], side="right")) - 1
        table = np.ones((1, self.n_features_in_), np.float32)
        names: list[Any] = list(range(self.n_features_in_))
        if self._named:
            table = row_of_ones(self._schema, self._roles.categorical)
            names = [name for name, cell in zip(self._columns, table.to_pylist()[0].values(), strict=True) if cell]
        [ones] = self.chain_.batches(table, columns=self._roles.optional())
        found = [repr(name) for name, index in zip(names, ones.indices.tolist(), strict=False) if index == far.feature]
        column = f"column {found[0]}" if found else "a date"
        warn(
            f"X: {column}, row {row}, counted from 0: got {far.value:g}, where {far.low:g} to {far.high:g} were "
            f"learned; it counts as {far.nearest:g} (extrapolation=None follows it)"
        )

    def _raw(self, X: Any) -> NDArray[np.float64]:
        """Scores or predictions before they become classes, (rows,) or (rows, classes)."""
        found = [outputs.scores if self.chain_.score_count else outputs.predictions for outputs in self._outputs(X)]
        return np.concatenate(found).astype(np.float64)
