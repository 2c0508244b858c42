"""scikit-learn estimators around a chain, and one around crowd models.

They take dense and sparse matrices, column j being the feature `j`, and frames of pandas or polars with words,
categories, missing values, text and dates as they are. Needs the extra `sklearn`; nothing else in Hutch imports this
module.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
    from sklearn.utils import assert_all_finite, check_array, check_consistent_length, check_random_state
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[sklearn]'", name=error.name) from None

from hutch.all_or_nothing import all_or_nothing
from hutch.asking import AskAndTell
from hutch.chain import Chain, with_classes
from hutch.core.batch import Batch
from hutch.core.chain.capabilities import GivesPlaces, has
from hutch.core.chain.derived import learns_once
from hutch.core.chain.model_file import overflow_of
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import Labels
from hutch.core.errors import ConfigError, DataError, HutchError, warn
from hutch.core.kernel.abi import UNLABELED
from hutch.core.loss import kinds
from hutch.core.run.occupancy import advice
from hutch.core.run.probabilities import Probabilities
from hutch.explaining import Explains
from hutch.frames import (
    as_table,
    check_columns,
    checked,
    dense_columns,
    doubt_columns,
    is_frame,
    roles_of,
    row_of_ones,
    targets_of,
)
from hutch.predictive import PredictsIntervals
from hutch.target_scale import TargetScale, can_rescale

if TYPE_CHECKING:
    from hutch.crowd_aggregator import CrowdAggregator as CrowdAggregator

Layers = Sequence[Mapping[str, Any] | str]

EXPECTED_FAILURES = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
    "an online learner depends on the order of its examples, and this check reorders and repeats them",
)
"""Checks of scikit-learn that cannot pass, with the reason; `check_estimator(expected_failed_checks=...)` takes it."""

_ROWS, _ROWS_OF_COLUMN = 100_000, 8  # in all passes; below so many classifiers overfit in them
_UNBOUNDED = 1e9  # in deviations
_BEFORE = np.float32(20)  # times the importance of a row, when only its columns are met
_REACHES, _TRIAL = (2.0, 10.0, 50.0), 1000  # of priors of classifiers; rows by which one is chosen
_OWN = 1 << 20  # numbers in the covariances of all classes; beyond it they share one
_LARGEST = float(np.finfo(np.float32).max)
_MATRIX: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float32, "ensure_all_finite": "allow-nan"}
_LOSS_NAMES = {"log_loss": "logistic", "squared_error": "squared", "absolute_error": "quantile"}  # scikit-learn's
_WIDE, _RANK = 512, 128  # columns beyond which covariances are of low rank, and that of regressors
_LEAST = float(np.finfo(np.float32).tiny)
_NO_CLASSIFICATION = (kinds.POISSON, kinds.QUANTILE, kinds.EXPECTILE)


def _offers(what: Callable[[Chain], Any]) -> Any:
    """A test whether a classifier's chain has something; an AttributeError reports what `what` has found missing."""

    def test(estimator: Any) -> bool:
        try:
            chain = getattr(estimator, "chain_", None) or Chain.from_config(estimator._config(estimator._layers(3), 0))
        except (HutchError, TypeError, ValueError):
            return True  # `fit` reports the mistake
        try:
            what(chain)
        except ConfigError as error:
            raise AttributeError(str(error)) from None
        return True

    return test


def _scores(chain: Chain) -> None:
    if chain.takes != Labels.SIMPLE and not chain.score_count:
        raise ConfigError("the layer on top has no scores")


@dataclass(eq=False, repr=False)
class _Settings(BaseEstimator):  # type: ignore[misc]
    """The parameters that classifier and regressor share."""

    layers: Layers | None = None
    _: KW_ONLY
    loss: str | Mapping[str, Any] | None = None
    learning_rate: float | None = None
    l2: float | None = None
    interactions: Sequence[Sequence[str]] | None = None
    bits: int = 18
    passes: int | None = None
    shuffle: bool = True
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 3
    columns: Mapping[str, Any] | None = None
    random_state: Any = 0


class _ChainEstimator(Explains, _Settings):
    """Common base of classifier and regressor: building and learning."""

    chain_: Chain
    classes_: NDArray[Any]
    n_features_in_: int
    _seed: Any
    _told: bool  # that the targets have left the scale of the first call
    _named: bool  # fitted to a frame
    _in_order: bool = False  # rows are learned as they come, and columns are not met before
    _row: tuple[int, bool] = (0, False)  # columns of a table of numbers, and whether they have words, too; 0: none
    _columns: list[str]
    _schema: Any  # an empty table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def _build(self, layers: Layers) -> Chain:
        """A chain of the layers; its base learner has the parameters that are set on the estimator."""
        self._seed = self.random_state
        if not isinstance(self._seed, Integral):  # None, or a generator that draws one
            self._seed = int(check_random_state(self._seed).randint(1 << 31))
        return Chain.from_config(self._config(layers, int(self._seed)))

    def _layers(self, classes: int | None) -> list[Any]:
        """The layers for so many classes, or for numbers (None): those given, or defaults for the rows and the loss."""
        if isinstance(self.layers, str):
            raise ConfigError(f"layers: got {self.layers!r}, wanted a list such as [{self.layers!r}]")
        if self.layers is not None:
            return list(self.layers) if classes is None else with_classes(self.layers, classes)
        once = self.passes in (None, 1) and not self.early_stopping
        if 0 < self._row[0] <= 2**self.bits and once and not self._tuning():
            return self._posterior(classes)
        if classes is None:
            loss = next(iter(self.loss)) if isinstance(self.loss, Mapping) else self.loss
            link = [{"link": {"function": "poisson"}}] if loss == "poisson" else []  # predictions are means of labels
            return [*link, {"linear": {}}]
        above = [] if classes == 2 else [{"one_against_all": {"classes": classes}}]
        return [*above, {"linear": {"loss": "logistic"}}]

    def _posterior(self, classes: int | None, reach: float = 10.0) -> list[Any]:
        """A posterior of all columns, with reach and variances that suit tables, and outliers cut off for classes."""
        columns, words = self._row
        own = classes is not None and classes * columns**2 <= _OWN
        if columns <= _WIDE and (classes is None or (own and self._in_order)):
            return self._moments(classes)
        row: dict[str, Any] = {"namespace": "" if self._named else "x", "dimension": columns, "features": "named"}
        row |= {"reach": reach, "constant_variance": 4.0, "loss": "logistic" if classes == 2 else "squared"}
        clip = {"clip": _UNBOUNDED} if classes is None else {}
        row |= {"rank": _RANK} if classes is None and columns > _WIDE else {}
        above: list[Any] = [{"standardise": {"columns": 1 << 12 if words else columns, **clip}}]
        if classes is not None and classes > 2:
            row["covariance"] = "own" if own else "shared"
            above.append({"multinomial": {"classes": classes}})
        return [*above, {"bayesian_linear": row}]

    def _moments(self, classes: int | None) -> list[Any]:
        """A posterior that does not mind the order of rows and the units of columns; of classes, nearly."""
        row: dict[str, Any] = {"namespace": "" if self._named else "x", "dimension": self._row[0], "features": "named"}
        row |= {"reach": 10.0, "loss": "logistic" if classes == 2 else "squared"}
        if classes is None:
            return [{"bayesian_linear": {**row, "covariance": "moments"}}]
        above = [] if classes == 2 else [{"multinomial": {"classes": classes}}]
        return [*above, {"bayesian_linear": {**row, "covariance": "sites", "constant_variance": 4.0}}]

    def _give_places(self) -> None:
        """Let columns of numbers have their places among moments before words take them all."""
        base = self.chain_.layers[-1]
        if self._row[1] and self.layers is None and has(base, GivesPlaces) and base.can_give_places:
            table = row_of_ones(self._schema, roles_of(self.columns).categorical)
            for batch in self.chain_.batches(table, columns=roles_of(self.columns).optional()):
                base.give_places(batch.indices[:-1])

    def _tuning(self) -> dict[str, Any]:
        """Parameters of the base learner that are set."""
        names = ("loss", "learning_rate", "l2", "interactions")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def _config(self, layers: Layers, seed: int) -> dict[str, Any]:
        """The configuration of the chain that `_build` makes."""
        if tuning := self._tuning():
            *above, base = layers
            name, given = (base, None) if isinstance(base, str) else next(iter(base.items()))
            if isinstance(tuning.get("loss"), str):
                tuning["loss"] = _LOSS_NAMES.get(tuning["loss"], tuning["loss"])
            layers = [*above, {name: {**(given or {}), **tuning}}]
        return {"weights": {"bits": self.bits}, "seed": seed, "chain": list(layers)}

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
            doubt_columns(given, roles_of(self.columns))
            self._row = dense_columns(X, self.columns)
        return X

    def _table(self, X: Any, reset: bool) -> Any:
        """X, checked, as an Arrow table."""
        if not is_frame(X):
            X = check_array(X, **_MATRIX)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if 0 in X.shape:
            raise ValueError(f"X: got the shape {X.shape}, wanted at least one row and one column")
        table = as_table(X, None if is_frame(X) else self._columns)
        if reset:
            self._columns, self._schema = table.column_names, table.schema.empty_table()
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
        given, roles, order = X, roles_of(self.columns), np.flatnonzero(weight > 0)
        if passes is not None and self.shuffle and not self.chain_.whole_groups:
            order = np.random.default_rng(self._seed).permutation(order)
        stops = passes is not None and self.early_stopping
        if stops and not (isinstance(self.n_iter_no_change, Integral) and int(self.n_iter_no_change) >= 1):
            raise ValueError(f"n_iter_no_change: got {self.n_iter_no_change!r}, wanted an integer of at least 1")
        held = int(float(self.validation_fraction) * len(order)) if stops else 0
        if stops and not 0 < held < len(order):
            got = f"{self.validation_fraction!r}, {held} of {len(order)} rows"
            raise ValueError(f"validation_fraction: got {got}, wanted rows to hold out and rows to learn")

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
                if self.layers is None and is_classifier(self):
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
            if once or learns_once(self.chain_.layers[0]):
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
            chain.learn(learned)
            chain.end_pass()
            if not tested:
                self.loss_curve_.append(chain.last_run.average_loss)
            else:
                losses = [chain.run_apart(batch, False).losses.sum(dtype=float) for batch in tested]
                self.loss_curve_.append(sum(losses) / sum(batch.importance.sum(dtype=float) for batch in tested))
                if self.loss_curve_[-1] < best:
                    kept = {name: array.copy() for name, array in chain.arrays().items()}
                    best, at = self.loss_curve_[-1], self.n_iter_
                elif self.n_iter_ - at >= self.n_iter_no_change:
                    break
        if tested:
            chain.restore(kept)

    def _weights(self, X: Any, sample_weight: Any) -> NDArray[np.float32]:
        rows = np.zeros((_num_samples(X), 1), np.float32)
        return np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float32, ensure_non_negative=True))

    def _outputs(self, X: Any) -> Iterator[Outputs]:
        """The chain's outputs for the rows, batch by batch."""
        check_is_fitted(self)
        for batch in self.chain_.batches(self._examples(X, reset=False), columns=roles_of(self.columns).optional()):
            yield self.chain_.run_apart(batch, False)

    def _raw(self, X: Any) -> NDArray[np.float64]:
        """Scores or predictions before they become classes, (rows,) or (rows, classes)."""
        found = [outputs.scores if self.chain_.score_count else outputs.predictions for outputs in self._outputs(X)]
        return np.concatenate(found).astype(np.float64)


@dataclass(eq=False, repr=False, kw_only=True)
class HutchClassifier(ClassifierMixin, AskAndTell, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a classifier.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: for a table of numbers, `bayesian_linear` below
        `standardise`, with `multinomial` between them if there are more than two classes, and for `partial_fit` and
        one pass its `sites` instead, which do not mind how columns move with time; `linear` with logistic loss,
        below `one_against_all`, for sparse matrices, text, namespaces, more than 4,096 columns, several passes,
        `early_stopping`, and if one of the next four is given. A table may have words, categories and dates. Where a
        multiclass layer lacks `classes`, their number is filled in.
    loss, learning_rate, l2, interactions : of the base learner, the last layer; None: as the layers have them. A loss
        that does not separate classes is refused; scikit-learn's names `log_loss` and the like are known. The
        columns of a matrix lie in the namespace `x`: `interactions=[["x", "x"]]` multiplies each with each.
    class_weight : by class, or `"balanced"`: the importance of a row is multiplied by that of its class.
    bits : the weight table has 2^bits rows.
    passes : over the data in `fit`; None: 1 where labels are bought (`active`) or each row is one observation
        (`bayesian_linear`), and `standardise` then meets all rows before any is learned, and the prior is the one that
        suits some of them; else 10, or of a matrix with 8 rows or more for each column, without `layers`, as many as
        make 100,000 rows, at most 100. `partial_fit` makes one.
    shuffle : let `fit` learn the rows in a random order, as files are often sorted by class; False: in their own order.
        Chains that learn from whole groups of rows keep the order.
    early_stopping : hold a `validation_fraction` of the rows out, stop after `n_iter_no_change` passes in which the
        loss on them did not fall, and keep the best pass. The loss is that of the chain: 0/1 where it predicts classes.
        Without it `loss_curve_` has the loss of each row before it was learned.
    columns : the roles of columns, as in `hutch.core.data.roles.Roles`: `{"text": ["comment"]}` splits a column
        into words, `{"categorical": ["zip"]}` takes numbers as names, `namespaces` divides the columns.
    random_state : the chain's seed; None, or a generator: another one in every `fit`.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    n_iter_, loss_curve_ : passes that `fit` made, and the loss of each (see `early_stopping`).
    classes_ : the classes.
    coef_, intercept_ : weights of the columns and of the constant, shape (1, columns) or (classes, columns), where the
        chain is linear in columns of numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(HutchClassifier().fit(X, y).score(X, y) > 0.97)
    True
    """

    class_weight: Mapping[Any, float] | str | None = None

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, `passes` times."""
        X, y = self._examples_and_targets(X, y, reset=True)
        weight, self._in_order = self._weights(X, sample_weight), self.passes == 1
        self._start(np.unique(y[weight > 0]))
        return self._go_on(X, y, weight, self._passes(int(np.count_nonzero(weight))))

    @all_or_nothing
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn further rows once; the first call must name all classes."""
        first = not hasattr(self, "chain_")
        X, y = self._examples_and_targets(X, y, reset=first)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            self._in_order = True
            self._start(np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: got {classes!r}, wanted those of the first call, {self.classes_!r}")
        return self._go_on(X, y, sample_weight, None)

    def _start(self, classes: NDArray[Any], above: Layers = ()) -> None:
        if len(classes) < 2:
            raise ValueError(f"got {len(classes)} class, wanted at least two classes")
        self.classes_ = classes
        self.chain_ = self._build([*above, *self._layers(len(classes))])
        self._give_places()
        loss = self.chain_.layers[0].answers
        if loss.loss is not None and loss.loss_kind in _NO_CLASSIFICATION:
            wanted = "one that tells classes apart, such as logistic or hinge"
            raise ConfigError(f"loss: got {loss.loss.name!r}, wanted {wanted}")
        if self.chain_.takes == Labels.SIMPLE and len(classes) > 2:
            raise ConfigError(
                f"layers: {len(classes)} classes need a multiclass layer such as 'one_against_all' on top"
            )
        if self.chain_.takes == Labels.COST_SENSITIVE:
            raise ConfigError("layers: a cost-sensitive chain learns from costs, wanted one that takes classes")

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: Any, passes: int | None) -> Self:
        weight = self._weights(X, sample_weight)
        unknown = ~np.isin(y, self.classes_) & (weight > 0)
        if unknown.any():
            got, wanted = y[unknown].tolist()[0], ", ".join(map(repr, self.classes_.tolist()))
            raise ValueError(f"y: got the class {got!r}, wanted one of {wanted}")
        code = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        labels = 2 * code - 1 if self.chain_.takes == Labels.SIMPLE else code + 1
        if self.class_weight is not None:
            if self.class_weight == "balanced" and passes is None:
                raise ValueError("class_weight='balanced' needs all rows: with partial_fit, pass the weights by class")
            counted = y[weight > 0]
            weight = weight * compute_class_weight(self.class_weight, classes=self.classes_, y=counted)[code]
            if weight.min() < 0:
                raise ValueError(f"class_weight: got {self.class_weight!r}, wanted weights of at least 0")
        self._learn(X, labels.astype(np.float32), weight.astype(np.float32), passes)
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the columns."""
        return self._linear_weights()[:, :-1]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Weights of the constant."""
        return self._linear_weights()[:, -1]

    def _raw(self, X: Any) -> NDArray[np.float64]:
        """Scores before they are clipped to the range of the labels, as no loss of classes asks for."""
        check_is_fitted(self)
        simple, shared = self.chain_.takes == Labels.SIMPLE, self.chain_.shared
        bounds = shared[["min_label", "max_label"]].copy()
        try:
            if not simple:  # a score is a prediction of the layer below, which clips it
                shared["min_label"], shared["max_label"] = -_LARGEST, _LARGEST
            found = [outputs.raw if simple else outputs.scores for outputs in self._outputs(X)]
        finally:
            shared[["min_label", "max_label"]] = bounds
        return np.concatenate(found).astype(np.float64)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row, where the chain has scores the one with the highest."""
        check_is_fitted(self)
        if self.chain_.takes != Labels.SIMPLE and self.chain_.score_count:
            return self.classes_[self._raw(X).argmax(axis=1)]  # type: ignore[no-any-return]
        found = np.concatenate([outputs.predictions for outputs in self._outputs(X)])
        if self.chain_.takes == Labels.SIMPLE:
            upper = found > self.chain_.layers[0].answers.decision_threshold
            return self.classes_[upper.astype(int)]  # type: ignore[no-any-return]
        return self.classes_[np.clip(found.astype(int) - 1, 0, len(self.classes_) - 1)]  # type: ignore[no-any-return]

    @available_if(_offers(_scores))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores, shape (rows, classes); for two classes that of the second, less that of the first if there is one."""
        scores = self._raw(X)
        return scores if scores.shape[1:] != (2,) else scores[:, 1] - scores[:, 0]

    @available_if(_offers(Probabilities))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probability of each class, shape (rows, classes), where the chain knows it: of `loss="logistic"` the
        logistic function of the scores, over several classes divided by their sum; of layers whose scores are
        probabilities, such as `multinomial`, the scores.
        """
        check_is_fitted(self)
        probabilities = Probabilities(self.chain_)
        return np.concatenate([probabilities.of(outputs) for outputs in self._outputs(X)])


def __getattr__(name: str) -> Any:
    if name != "CrowdAggregator":  # which takes a third of the time that this module takes to import
        raise AttributeError(f"module 'hutch.sklearn' has no attribute {name!r}")
    from hutch.crowd_aggregator import CrowdAggregator

    return CrowdAggregator


@dataclass(eq=False, repr=False, kw_only=True)
class HutchRegressor(RegressorMixin, PredictsIntervals, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a regressor.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: for a table of numbers, `bayesian_linear` with squared
        loss, of moments, which makes no difference between `partial_fit` and `fit`, beyond 512 columns below
        `standardise`; else, as of `HutchClassifier`, `linear`, with the loss `poisson` below a `link`, so that
        predictions are means of counts, not their logarithms.
    loss, learning_rate, l2, interactions, bits, columns, random_state : as of `HutchClassifier`.
    passes : over the data in `fit`; None: as many as make 100,000 rows, at least 10 and at most 100.
    shuffle, early_stopping, validation_fraction, n_iter_no_change : as of `HutchClassifier`.
    scale_y : learn (y - mean) / deviation, and undo it in predictions, under losses that do not mind (`squared` and
        `quantile`) and without a `link`. In `partial_fit` both follow the targets, and a linear model is re-expressed
        when they change; other chains keep those of the first call, with a warning once the targets have left them.
        Predictions of the default chain may leave the range of the labels; otherwise they stay within it.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    n_iter_, loss_curve_ : as of `HutchClassifier`.
    coef_, intercept_ : weights of the columns, shape (columns,), and of the constant, where the chain is linear in
        columns of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> bool(HutchRegressor().fit(X, 3000 * X[:, 0] + 500).score(X, 3000 * X[:, 0] + 500) > 0.99)
    True
    """

    scale_y: bool = True

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, `passes` times."""
        given = X
        X, y = self._examples_and_targets(X, y, reset=True)
        weights = self._weights(X, sample_weight)
        self._start()
        if self._scaled:
            self._target.settle(y[weights > 0])
        self._learn(X, self._target.of(y), weights, self._passes(int(np.count_nonzero(weights))))
        answers = self.chain_.layers[-1].answers
        if (loss := answers.loss) is not None and answers.loss_kind == kinds.QUANTILE:
            # the constant that is best for the other weights: steps stop it where rows are denser on one side
            left, tau = y - self._raw(given), loss.parameters.get("tau", 0.5)
            self._shift = float(np.quantile(left, tau, weights=weights.astype(float), method="inverted_cdf"))
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows once."""
        first = not hasattr(self, "chain_")
        X, y = self._examples_and_targets(X, y, reset=first)
        if first:
            self._start()
        weights = self._weights(X, sample_weight)
        if len(kept := np.flatnonzero(weights)) < len(y):
            X, y, weights = X.take(kept) if self._named else X[kept], y[kept], weights[kept]
        follows = self._scaled and (first or can_rescale(self.chain_))
        if self._scaled and not follows and not self._told and self._target.strays(y):
            self._told = True
            got = f"mean {self._target.centre:.4g} and deviation {self._target.scale:.4g} of the first call"
            warn(f"y: it is learned by {got}, which it has left; wanted a first call with typical rows, or `fit`")
        by_row = getattr(self.chain_.layers[-1].parameters, "covariance", None) == "moments"
        for rows in self._target.follow(y, self.chain_, by_row) if follows else [slice(0, len(y))]:
            part = X.slice(rows.start, rows.stop - rows.start) if self._named else X[rows]
            self._learn(part, self._target.of(y[rows]), weights[rows], None)
        return self

    def _examples_and_targets(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = super()._examples_and_targets(X, y, reset)
        if words := [value for value in y[:1].tolist() if isinstance(value, str)]:
            raise ValueError(f"y: got {words[0]!r}, wanted numbers; HutchClassifier takes names of classes")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if len(large := np.flatnonzero(np.abs(y) > _LARGEST)):
            row = int(large[0])
            raise ValueError(f"y: row {row}, counted from 0: got {y[row]:g}, wanted numbers within ±{_LARGEST:.2g}")
        return X, y

    def _start(self) -> None:
        layers = self._layers(None)
        chain = self._build(layers)
        if chain.takes != Labels.SIMPLE:
            raise ConfigError(f"layers: got a chain that takes labels {chain.takes.value!r}, wanted 'simple'")
        loss = getattr(getattr(chain.layers[-1].parameters, "loss", None), "name", None)
        scalable = loss in ("squared", "quantile") and not chain.layers[0].answers.linked
        self._scaled, self._target, self._shift, self._told = self.scale_y and scalable, TargetScale(), 0.0, False
        if self._scaled and self.layers is None:
            [(name, given)] = layers[-1].items()
            bounds = {"min_prediction": -_UNBOUNDED, "max_prediction": _UNBOUNDED}
            chain = self._build([*layers[:-1], {name: {**given, **bounds}}])
        self.chain_ = chain
        self._give_places()

    def _raw(self, X: Any) -> NDArray[np.float64]:
        return super()._raw(X) * self._target.scale + self._target.centre + self._shift

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the columns."""
        return np.asarray(self._linear_weights()[0, :-1] * self._target.scale)

    @property
    def intercept_(self) -> float:
        """Weight of the constant."""
        weight = float(self._linear_weights()[0, -1])
        return weight * self._target.scale + self._target.centre + self._shift
