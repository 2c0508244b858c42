"""Chains as estimators of River, a row or a frame at a time. Needs the extra `river`; nothing else in Hutch imports it.

An `x` maps names to numbers, words, dates, times and truth values; a missing value gives no feature. All are in the
anonymous namespace. A frame is learned and predicted as its rows are, to the bit.
"""

import math
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from river import base
    from river.conf import Interval
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[river]'", name=error.name) from None

from hutch.chain import Chain, with_classes
from hutch.core.chain.capabilities import KnowsNoise, has
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.conformal import KEPT, reach_of
from hutch.core.errors import ConfigError, DataError, HutchError
from hutch.core.loss import kinds
from hutch.core.run.prediction_intervals import Intervals
from hutch.core.run.probabilities import Probabilities
from hutch.growing import can_grow, grown
from hutch.stream_rows import (
    Doubts,
    Features,
    batches_of,
    frame_of,
    labels_of,
    like,
    record_of,
    takes_pairs,
    weights_of,
)
from hutch.target_scale import TargetScale, can_rescale

Layers = Sequence[Mapping[str, Any] | str]
_CLASSES = 16  # for which there is room before any is known
_LARGEST = float(np.finfo(np.float32).max)  # target
_ENOUGH = 20  # rows from which intervals are made


def _memory(model: Any) -> int:
    """Bytes of the learned state; River's own walk over all references would enter kernels and plugins."""
    chain: Chain = model.chain
    return chain.weights.nbytes + sum(array.nbytes for layer in chain.layers for array in layer.saved().values())


def _target_of(y: Any) -> float:
    """A target as a number; DataError if it is none that the chain can learn."""
    try:
        target = float(y)
    except (TypeError, ValueError, OverflowError):
        target = math.nan
    if isinstance(y, str) or not abs(target) <= _LARGEST:
        raise DataError(f"y: got {y!r:.40}, wanted a number within ±3.4e38")
    return target


class HutchClassifier(base.MiniBatchClassifier):  # type: ignore[misc]
    """A chain of reductions as a classifier, whose labels are booleans, words or numbers, met as they come.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `standardise`, which centres and scales numbers,
        `one_against_all`, and `linear` with logistic loss and a constant rate, which follows a stream that changes.
    max_classes : fills in the number of classes where a layer lacks it, ≥ 2, of which each has a sub-model from the
        start, so that a new label changes nothing learned before. None: as many as come, if the only such layer is
        `one_against_all` or `multinomial`: the chain begins with 16, and has twice as many whenever one is left, which
        begin as that one, with what it has learned of the rows so far.
    bits : the weight table has 2^bits rows.
    seed : of the chain.

    Attributes
    ----------
    chain : the `hutch.Chain`.
    classes : the labels so far; the first is the chain's class 1. Of two booleans, False is.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), HutchClassifier(), metrics.Accuracy())
    Accuracy: 89.51%
    """

    def __init__(
        self, layers: Layers | None = None, max_classes: int | None = None, bits: int = 18, seed: int = 0
    ) -> None:
        self.layers, self.max_classes, self.bits, self.seed = layers, max_classes, bits, seed
        plain = {"adaptive": False, "normalized": False, "power_t": 0, "learning_rate": 0.03}
        default: Layers = ["standardise", "one_against_all", {"linear": {"loss": "logistic", **plain}}]
        given = list(default if layers is None else layers)
        filled = with_classes(given, max_classes or _CLASSES)
        self.chain = Chain.from_config({"weights": {"bits": bits}, "seed": seed, "chain": filled})
        self._grows = max_classes is None and can_grow(given, self.chain)
        self.classes: list[Hashable] = []
        self._codes: dict[Hashable, int] = {}
        self._doubts, self._apart = Doubts(), takes_pairs(self.chain)
        self._simple = self.chain.takes is Labels.SIMPLE
        if self.chain.takes not in (Labels.SIMPLE, Labels.MULTICLASS):
            raise ConfigError(f"layers: got a chain that takes {self.chain.takes.value!r} labels, wanted classes")
        try:
            self._has_probabilities = bool(Probabilities(self.chain))
        except ConfigError:
            self._has_probabilities = False  # such as hinge loss

    _raw_memory_usage = property(_memory)

    @property
    def _multiclass(self) -> bool:
        return not self._simple

    @property
    def _room(self) -> int:
        """The number of classes that the chain has."""
        return 2 if self._simple else self.chain.layers[0].answers.classes or self.max_classes or _CLASSES

    def _code(self, y: Hashable) -> int:
        """The number of a label, from 1."""
        if (code := self._codes.get(y)) is None:
            if y is None or y != y:
                raise DataError(f"y: got {y!r}, wanted a label")
            for label in (False, True) if not self.classes and isinstance(y, bool | np.bool_) else (y,):
                if self._grows and len(self.classes) + 1 == self._room:
                    self.chain = grown(self.chain)
                if len(self.classes) == (room := self._room):
                    raise DataError(f"y: got {y!r} after {room} other labels; wanted max_classes={room + 1} or more")
                self.classes.append(label)
                self._codes[label] = len(self.classes)
            code = self._codes[y]
        return code

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn a row.

        Raises
        ------
        DataError : values that cannot be used, or one label too many.
        """
        record = record_of(x, self._apart)
        with self.chain.turn:
            code = self._code(y)
            self._doubts.see(x)
            self.chain.learn({**record, "label": self._label(code), "importance": w})

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame of pandas, polars or Arrow, in their order.

        Parameters
        ----------
        X : the frame.
        y : a label for each row.
        w : importance, one for all rows or one for each.

        Raises
        ------
        DataError : columns or labels that cannot be used.
        """
        table = frame_of(X)
        codes = [self._label(self._code(label)) for label in labels_of(y, table)]
        self._doubts.see_table(table)
        self.chain.learn(batches_of(self.chain, table, codes, weights_of(w, table)))

    def _label(self, code: int) -> int:
        """The chain's label for the number of a label."""
        return 2 * code - 3 if self._simple else code

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The label of a row; None before any was learned, or if a chain without scores predicts a class never seen."""
        with self.chain.turn:
            return self._labels(self.chain.outputs_of_one(record_of(x, self._apart)))[0]

    def predict_many(self, X: Any) -> Any:
        """The label of each row of a frame, as a series of the frame's kind."""
        return like(X, [label for outputs in self._outputs(X) for label in self._labels(outputs)])

    def _outputs(self, X: Any) -> Iterator[Outputs]:
        for batch in batches_of(self.chain, frame_of(X)):
            yield self.chain.run_apart(batch, False)

    def _labels(self, outputs: Outputs) -> list[Any]:
        """The label that is predicted for each row."""
        known = len(self.classes)
        codes: NDArray[Any]
        if self._simple:
            codes = 1 + (outputs.predictions > self.chain.layers[0].answers.decision_threshold)
        elif known and self.chain.score_count:
            codes = 1 + np.argmax(outputs.scores[:, :known], axis=1)
        else:
            codes = outputs.predictions
        return [self.classes[int(code) - 1] if code <= known else None for code in codes]

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of each label so far.

        Raises
        ------
        NotImplementedError : the chain knows none, as that of a hinge loss; River then takes `predict_one`.
        """
        with self.chain.turn:
            [chances] = self._chances(self.chain.outputs_of_one(record_of(x, self._apart)))
            return dict(zip(self._known, chances.tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of each label so far for each row of a frame: a frame of pandas, a column for each label.

        Raises
        ------
        NotImplementedError : the chain knows none.
        """
        import pandas as pd

        found = [np.zeros((0, len(self._known))), *(self._chances(outputs) for outputs in self._outputs(X))]
        index = X.index if hasattr(X, "iloc") else None
        return pd.DataFrame(np.concatenate(found), columns=pd.Index(self._known, dtype=object), index=index)

    @property
    def _known(self) -> list[Any]:
        """The labels that have a probability; of a binary chain both."""
        return self.classes or [False, True] if self._simple else self.classes

    def _chances(self, outputs: Outputs) -> NDArray[np.float64]:
        """The probabilities of the labels so far, float64 (rows, labels)."""
        if not self._has_probabilities:
            raise NotImplementedError("wanted `loss: logistic`, or `multinomial`, for probabilities")
        found = np.asarray(self.chain.probabilities.of(outputs), np.float64)[:, : len(self._known)]
        total = found.sum(axis=1, keepdims=True)
        return found / np.where(total > 0, total, 1.0)


class HutchRegressor(base.MiniBatchRegressor):  # type: ignore[misc]
    """A chain of reductions as a regressor.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `standardise` and `linear` with squared loss.
    bits : the weight table has 2^bits rows.
    seed : of the chain.

    Targets are learned in units of their deviation about their mean, as far as these are known; the linear model is
    re-expressed when they change. Chains that end in something other than `linear` learn them as they are.

    Attributes
    ----------
    chain : the `hutch.Chain`, whose predictions are on the scale of the targets so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), HutchRegressor(), metrics.MAE())
    MAE: 0.394168
    """

    def __init__(self, layers: Layers | None = None, bits: int = 18, seed: int = 0) -> None:
        self.layers, self.bits, self.seed = layers, bits, seed
        wide = {"linear": {"min_prediction": -1e9, "max_prediction": 1e9}}
        chosen = ["standardise", wide] if layers is None else list(layers)
        self.chain = Chain.from_config({"weights": {"bits": bits}, "seed": seed, "chain": chosen})
        if self.chain.takes is not Labels.SIMPLE:
            raise ConfigError(f"layers: got a chain that takes {self.chain.takes.value!r} labels, wanted 'simple'")
        self._scaled = can_rescale(self.chain) and self.chain.layers[-1].answers.loss_kind == kinds.SQUARED
        self._target, self._doubts, self._apart = TargetScale(), Doubts(), takes_pairs(self.chain)
        self._residuals: deque[float] = deque(maxlen=KEPT)

    _raw_memory_usage = property(_memory)

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn a row.

        Raises
        ------
        DataError : a target or values that cannot be used.
        """
        target = _target_of(y)
        record = record_of(x, self._apart)
        with self.chain.turn:
            with self._target.forgetting_refused():
                if self._scaled and w > 0:
                    list(self._target.follow(np.array([target]), self.chain))
                self._doubts.see(x)
                label = (target - self._target.centre) / self._target.scale
                found = self.chain.learn({**record, "label": label, "importance": w})
            if w > 0:
                self._keep(found, np.array([target]))

    def _keep(self, predictions: NDArray[np.float32], targets: NDArray[np.float64]) -> None:
        """Keep how far targets were from what was predicted for them."""
        found = predictions.astype(np.float64) * self._target.scale + self._target.centre
        self._residuals.extend(np.abs(targets - found).tolist())

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame of pandas, polars or Arrow, in their order.

        Parameters
        ----------
        X : the frame.
        y : a target for each row.
        w : importance, one for all rows or one for each.

        Raises
        ------
        DataError : columns or targets that cannot be used.
        """
        table = frame_of(X)
        targets = np.array([_target_of(target) for target in labels_of(y, table)])
        self._doubts.see_table(table)
        weights = weights_of(w, table)
        if len(kept := np.flatnonzero(weights > 0)) < len(targets):
            table, targets, weights = table.take(kept), targets[kept], weights[kept]
        if not len(targets):
            return
        with self.chain.turn:
            parts = self._target.follow(targets, self.chain, True) if self._scaled else [slice(0, len(targets))]
            for part in parts:
                labels = self._target.of(targets[part])
                rows = table.slice(part.start, part.stop - part.start)
                self._keep(self.chain.learn(batches_of(self.chain, rows, labels, weights[part])), targets[part])

    def predict_many(self, X: Any) -> Any:
        """The prediction for each row of a frame, as a series of the frame's kind."""
        with self.chain.turn:
            batches = batches_of(self.chain, frame_of(X))
            each = [self.chain.run_apart(batch, False).predictions for batch in batches]
            found = np.concatenate([np.zeros(0, np.float32), *each])  # a frame may have no rows
            self.chain.warn_of_far_values()
            return like(X, found.astype(np.float64) * self._target.scale + self._target.centre)

    def predict_interval_one(self, x: Features, level: float = 0.9) -> Interval:
        """An interval that holds a row's target with a probability, if rows are like those learned last.

        It reaches as far as the targets of the rows learned last were from what had been predicted for them, and
        farther if intervals before would have held too few of them (adaptive conformal inference, of 400 rows); where
        the chain keeps moments, in units of what each row leaves uncertain.

        Raises
        ------
        ValueError : a level that is not between 0 and 1.
        HutchError : less than 20 rows have been learned.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: got {level!r}, wanted a number between 0 and 1")
        with self.chain.turn:
            centre = self.predict_one(x)
            if len(self._residuals) < _ENOUGH:
                raise HutchError(
                    f"interval: got {len(self._residuals)} rows that were learned, wanted at least {_ENOUGH}"
                )
            half = reach_of(np.array(self._residuals), level)
            if len(self.chain.layers) == 1 and has(self.chain.layers[0], KnowsNoise):
                [batch] = self.chain.batches([record_of(x, self._apart)])
                [[low, high]] = Intervals(self.chain, level).ends(batch, self.chain.run_apart(batch, False))
                half = 0.5 * (high - low) * self._target.scale
        return Interval(centre - half, centre + half)

    def predict_one(self, x: Features) -> float:
        """The prediction for a row."""
        with self.chain.turn:
            found = float(self.chain.outputs_of_one(record_of(x, self._apart)).predictions[0])
            self.chain.warn_of_far_values()
            return found * self._target.scale + self._target.centre
