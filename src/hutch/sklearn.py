"""scikit-learn estimators around a chain, and one around crowd models.

They take dense and sparse matrices, column j being the feature `j`, and frames of pandas or polars with words,
categories, missing values, text and dates as they are. Needs the extra `sklearn`; nothing else in Hutch imports this
module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.utils import check_array
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[sklearn]'", name=error.name) from None

from hutch.all_or_nothing import all_or_nothing
from hutch.asking import AskAndTell
from hutch.chain import Chain
from hutch.column_pairs import PairsColumns
from hutch.core.chain.reduction import Labels
from hutch.core.errors import ConfigError, HutchError, warn
from hutch.core.loss import kinds
from hutch.core.run.probabilities import Probabilities
from hutch.default_layers import UNBOUNDED, Layers
from hutch.predictive import PredictsIntervals
from hutch.table_estimator import TableEstimator
from hutch.target_scale import TargetScale, can_rescale

if TYPE_CHECKING:
    from hutch.crowd_aggregator import CrowdAggregator as CrowdAggregator

EXPECTED_FAILURES = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
    "an online learner depends on the order of its examples, and this check reorders and repeats them",
)
"""Checks of scikit-learn that cannot pass, with the reason; `check_estimator(expected_failed_checks=...)` takes it."""
_LARGEST = float(np.finfo(np.float32).max)
_REACHES = (
    10.0,
    100.0,
    1000.0,
    10_000.0,
)  # of priors of numbers; spectra want the last
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


@dataclass(eq=False, repr=False, kw_only=True)
class HutchClassifier(ClassifierMixin, AskAndTell, PairsColumns, TableEstimator):  # type: ignore[misc]
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
    pairs : learn pairs of the columns of words, by `fields` in one pass; None: if they foretell rows that `fit` holds
        back clearly better than columns alone, where a frame has two or more and the rest is left to `fit`.
    early_stopping : hold a `validation_fraction` of the rows out, stop after `n_iter_no_change` passes in which the
        loss on them did not fall, and keep the best pass. The loss is that of the chain: 0/1 where it predicts classes.
        Without it `loss_curve_` has the loss of each row before it was learned.
    columns : the roles of columns, as in `hutch.core.data.roles.Roles`: `{"text": ["comment"]}` splits a column
        into words, `{"categorical": ["zip"]}` takes numbers as names, `namespaces` divides the columns.
    random_state : the chain's seed; None, or a generator: another one in every `fit`.
    verbose : above 0, `fit` prints the loss after each pass, and in the first after 4,096, 8,192, ... rows.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    n_iter_, loss_curve_ : passes that `fit` made, and the loss of each (see `early_stopping`).
    classes_ : the classes.
    pairs_ : whether pairs of columns are learned and why, in one sentence; None where none were tried.
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
    pairs: bool | None = None

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, `passes` times."""
        X, y = self._examples_and_targets(X, y, reset=True)
        weight, self._in_order = self._weights(X, sample_weight), self.passes == 1
        self._choose_pairs(X, y, weight)
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
            wanted = f"wanted those of the first call, {self.classes_!r}; hutch.river takes labels that appear later"
            raise ValueError(f"classes: got {classes!r}, {wanted}")
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
            later = "" if passes is not None else "; hutch.river takes labels that appear later"
            raise ValueError(f"y: got the class {got!r}, wanted one of {wanted}{later}")
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
class HutchRegressor(RegressorMixin, PredictsIntervals, TableEstimator):  # type: ignore[misc]
    """A chain of reductions as a regressor.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: for a table of numbers, `bayesian_linear` with squared
        loss, of moments, which makes no difference between `partial_fit` and `fit`, beyond 512 columns below
        `standardise`; else, as of `HutchClassifier`, `linear`, with the loss `poisson` below a `link`, so that
        predictions are means of counts, not their logarithms.
    loss, learning_rate, l2, interactions, bits, columns, random_state : as of `HutchClassifier`.
    verbose : as of `HutchClassifier`.
    passes : over the data in `fit`; None: as many as make 100,000 rows, at least 10 and at most 100.
    shuffle, early_stopping, validation_fraction, n_iter_no_change : as of `HutchClassifier`.
    scale_y : learn (y - mean) / deviation, and undo it in predictions, under losses that do not mind (`squared` and
        `quantile`) and without a `link`. In `partial_fit` both follow the targets, and a linear model is re-expressed
        when they change; other chains keep those of the first call, with a warning once the targets have left them.
        Predictions of the default chain may leave the range of the labels; otherwise they stay within it.
    extrapolation : of the default chain up to 512 columns: how far outside the values of a column that were learned
        predictions follow it, in widths of these values. A cell farther away counts as the nearest value learned, with
        a warning that names the first, as one wrong by a factor of ten would else decide a prediction. None: any
        distance.

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
    extrapolation: float | None = 3.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

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
            bounds = {"min_prediction": -UNBOUNDED, "max_prediction": UNBOUNDED}
            chain = self._build([*layers[:-1], {name: {**given, **bounds}}])
        self.chain_ = chain
        self._give_places()

    def _moments(self, classes: int | None, room: int) -> list[Any]:
        [layer] = super()._moments(classes, room)
        layer["bayesian_linear"] |= {"reaches": _REACHES, "extrapolation": self.extrapolation}
        return [layer]

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
