"""scikit-learn estimators around a chain, and one around crowd models.

They take dense and sparse matrices, column j being the feature `j`, and frames of pandas or polars with words,
categories, missing values, text and dates as they are. Needs the extra `sklearn`; nothing else in Hutch imports this
module.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import (
        check_array,
        check_consistent_length,
        check_random_state,
        column_or_1d,
        compute_class_weight,
    )
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[sklearn]'", name=error.name) from None

from hutch.chain import Chain
from hutch.core.chain.model_file import overflow_of
from hutch.core.chain.reduction import Labels
from hutch.core.errors import ConfigError, DataError, HutchError, warn
from hutch.core.parameters import parameters_of
from hutch.crowd_aggregator import CrowdAggregator as CrowdAggregator
from hutch.frames import (
    as_table,
    check_columns,
    check_targets,
    checked,
    effective_weights,
    is_frame,
    roles_of,
    single_features,
    without_column,
)
from hutch.plugins.manager import installed

Layers = Sequence[Mapping[str, Any] | str]

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "an online learner depends on the order of its examples, and this check reorders and repeats them"
    ),
    "check_sample_weight_equivalence_on_sparse_data": (
        "an online learner depends on the order of its examples, and this check reorders and repeats them"
    ),
}
"""Checks of scikit-learn that cannot pass, with the reason; `check_estimator(expected_failed_checks=...)` takes it."""

_ROWS, _LEAST_PASSES, _MOST_PASSES = 100_000, 10, 100
_UNBOUNDED = 1e9  # in deviations of y


def _with_classes(layers: Layers, classes: int) -> list[Any]:
    """The layers, with the number of classes where a layer needs it and lacks it."""
    reductions = installed().registry.reductions
    found: list[Any] = []
    for layer in layers:
        name, given = (layer, None) if isinstance(layer, str) else next(iter(layer.items()))
        known = [each.name for each in parameters_of(reductions[name].Parameters)] if name in reductions else []
        given = dict(given or {})
        if "classes" in known and "classes" not in given:
            given["classes"] = classes
        found.append({name: given})
    return found


@lru_cache(maxsize=64)
def _layers_have_scores(layers: str) -> bool:
    """Whether chains of these layers, given as JSON, have scores, so that methods are there before `fit`."""
    try:
        chain = Chain.from_config({"weights": {"bits": 22}, "chain": _with_classes(json.loads(layers), 3)})
    except HutchError:
        return True  # `fit` says what is wrong
    return chain.takes == Labels.SIMPLE or chain.score_count > 0


def _has_scores(estimator: Any) -> bool:
    """Whether chains of an estimator's layers have scores; says so in an AttributeError if they have none."""
    if estimator.layers is None:
        return True
    try:
        layers = json.dumps(list(estimator.layers))
    except TypeError:
        return True  # `fit` says what is wrong
    if not _layers_have_scores(layers):
        raise AttributeError("the layer on top has no scores")
    return True


class _ChainEstimator(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share: parameters, building, learning, coefficients, explanations."""

    chain_: Chain
    n_features_in_: int
    bits: int
    columns: Mapping[str, Any] | None
    random_state: Any
    _seed: Any
    _named: bool  # fitted to a frame
    _columns: list[str]
    _schema: Any  # an empty table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _build(self, layers: Layers) -> Chain:
        """A chain of the layers; its base learner has the parameters that are set on the estimator."""
        self._seed = self.random_state
        if not isinstance(self._seed, Integral):  # None, or a generator that draws one
            self._seed = int(check_random_state(self._seed).randint(1 << 31))
        names = ("loss", "learning_rate", "l2", "interactions")
        if tuning := {name: value for name in names if (value := getattr(self, name)) is not None}:
            *above, base = layers
            name, given = (base, None) if isinstance(base, str) else next(iter(base.items()))
            layers = [*above, {name: {**(given or {}), **tuning}}]
        return Chain.from_config({"weights": {"bits": self.bits}, "seed": int(self._seed), "chain": list(layers)})

    def _examples(self, X: Any, reset: bool) -> Any:
        """X, checked, as a matrix or, if the estimator was fitted to a frame, as an Arrow table."""
        X = checked(X)
        if reset:
            self._named = is_frame(X)
        if not self._named:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)
        if not is_frame(X):
            X = check_array(X, accept_sparse="csr", dtype=np.float32)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if _num_samples(X) == 0:
            raise ValueError("Found array with 0 sample(s), wanted at least one")
        table = as_table(X, None if is_frame(X) else self._columns)
        if reset:
            self._columns, self._schema = table.column_names, table.schema.empty_table()
        check_columns(table, self._schema)
        return table

    def _examples_and_targets(self, X: Any, y: Any, reset: bool, **options: Any) -> tuple[Any, NDArray[Any]]:
        X = checked(X)
        if not (is_frame(X) if reset else self._named):
            if reset:
                self._named = False
            X, y = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=np.float32, **options)
            return X, y
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._examples(X, reset)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if options.get("y_numeric"):
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return X, y

    def _learn(self, X: Any, labels: NDArray[np.float32], weight: NDArray[np.float32], passes: int | None) -> None:
        """Learn all rows so many times; None: further rows of a stream, once, and in their order."""
        if passes is not None and not (isinstance(passes, Integral) and passes >= 1):
            raise ValueError(f"passes: got {passes!r}, wanted an integer of at least 1")
        given, roles = X, roles_of(self.columns)
        if passes is not None and self.shuffle and not self.chain_.whole_groups:
            order = np.random.default_rng(self._seed).permutation(np.flatnonzero(weight > 0))
            X, labels, weight = X.take(order) if self._named else X[order], labels[order], weight[order]
        try:
            self.chain_.learn(X, labels=labels, importance=weight, columns=roles, passes=passes or 1)
        except DataError:
            for _ in self.chain_.batches(given, columns=roles):
                pass  # names the row by its place in X, not in the order of learning
            raise
        self.chain_.end_pass()
        if passes is not None and (text := overflow_of(self.chain_.weights)):
            warn(text)

    def _weights(self, X: Any, sample_weight: Any) -> NDArray[np.float32]:
        rows = np.zeros((_num_samples(X), 1), np.float32)
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float32, ensure_non_negative=True)
        return np.asarray(weight, np.float32)

    def _predict(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        return self.chain_.predict(self._examples(X, reset=False), columns=roles_of(self.columns))

    def _raw(self, X: Any) -> NDArray[np.float64]:
        """What predictions are made of, before they become classes, (rows,) or (rows, classes)."""
        if self.chain_.score_count:
            return self.chain_.scores(X, columns=roles_of(self.columns)).astype(np.float64)
        return self.chain_.predict(X, columns=roles_of(self.columns)).astype(np.float64)

    def explain(self, X: Any) -> NDArray[np.float64]:
        """How much each column moves each row's score: the score less what it is with the column missing.

        Parameters
        ----------
        X : as in `predict`.

        Returns
        -------
        Shape (rows, columns): of the prediction of a regressor, of the second class's score under a binary chain, else
        of the score of the predicted class.
        """
        check_is_fitted(self)
        if self.chain_.takes != Labels.SIMPLE and not self.chain_.score_count:
            raise AttributeError(f"explain: the layer {self.chain_.layers[0].name!r} has no scores")
        X = self._examples(X, reset=False)
        whole = self._raw(X)
        chosen = None if whole.ndim == 1 else whole.argmax(axis=1)

        def of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
            return scores if chosen is None else np.take_along_axis(scores, chosen[:, None], axis=1)[:, 0]

        columns = [of(whole) - of(self._raw(without_column(X, j))) for j in range(X.shape[1])]
        return np.column_stack(columns) if columns else np.zeros((len(whole), 0))

    def _linear_weights(self) -> NDArray[np.float64]:
        """Weights of the columns, and last of the constant, (sub-models, columns + 1)."""
        check_is_fitted(self)
        chain, names = self.chain_, [layer.name for layer in self.chain_.layers]
        linear = names in (["linear"], ["link", "linear"], ["one_against_all", "linear"], ["multinomial", "linear"])
        if not linear or chain.layers[-1].parameters.interactions:
            raise AttributeError(f"coef_: a chain of {', '.join(names)} is not linear in the columns; use explain(X)")
        try:
            example = single_features(self._schema if self._named else np.ones((1, self.n_features_in_)))
        except ValueError as error:
            raise AttributeError(f"coef_: {error}; use explain(X)") from None
        [batch] = chain.batches(example, columns=roles_of(self.columns))
        if len(batch.indices) != self.n_features_in_ + 1 or len(batch.namespace_id) != 2:
            raise AttributeError("coef_: `columns` divides the columns or leaves some out; use explain(X)")
        return effective_weights(chain, batch.indices)


class HutchClassifier(ClassifierMixin, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a classifier.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `linear` with logistic loss, below `one_against_all` if
        there are more than two classes. Where a multiclass layer lacks `classes`, their number is filled in.
    loss, learning_rate, l2, interactions : of the base learner, the last of the layers; None: as the layers say. The
        columns of a matrix lie in the namespace `x`: `interactions=[["x", "x"]]` multiplies each with each.
    class_weight : by class, or `"balanced"`: the importance of a row is multiplied by that of its class.
    bits : the weight table has 2^bits rows.
    passes : over the data in `fit`; `partial_fit` makes one.
    shuffle : let `fit` learn the rows in a random order, as files are often sorted by class; False: in their own order.
        Chains that learn from whole groups of rows keep the order.
    columns : what the columns stand for, as in `hutch.core.data.roles.Roles`: `{"text": ["comment"]}` splits a column
        into words, `{"categorical": ["zip"]}` takes numbers as names, `namespaces` divides the columns.
    random_state : the chain's seed; None, or a generator: another one in every `fit`.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    classes_ : the classes.
    coef_, intercept_ : weights of the columns and of the constant, shape (1, columns) or (classes, columns), where the
        chain is linear in columns of numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(HutchClassifier().fit(scale(X), y).score(scale(X), y) > 0.97)
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        layers: Layers | None = None,
        *,
        loss: str | Mapping[str, Any] | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        interactions: Sequence[Sequence[str]] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        bits: int = 18,
        passes: int = 10,
        shuffle: bool = True,
        columns: Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.layers = layers
        self.loss = loss
        self.learning_rate = learning_rate
        self.l2 = l2
        self.interactions = interactions
        self.class_weight = class_weight
        self.bits = bits
        self.passes = passes
        self.shuffle = shuffle
        self.columns = columns
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, `passes` times."""
        X, y = self._examples_and_targets(X, y, reset=True)
        self._start(np.unique(self._targets(y)))
        return self._go_on(X, y, sample_weight, self.passes)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn further rows once; the first call must name all classes."""
        first = not hasattr(self, "chain_")
        X, y = self._examples_and_targets(X, y, reset=first)
        self._targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            self._start(np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: got {classes!r}, wanted those of the first call, {self.classes_!r}")
        return self._go_on(X, y, sample_weight, None)

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        check_targets(y)
        check_classification_targets(y)
        return y

    def _start(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise ValueError(f"got {len(classes)} class, wanted at least two classes")
        self.classes_ = classes
        if self.layers is not None:
            layers = _with_classes(self.layers, len(classes))
        else:
            layers = [{"linear": {"loss": "logistic"}}]
            if len(classes) > 2:
                layers.insert(0, {"one_against_all": {"classes": len(classes)}})
        self.chain_ = self._build(layers)
        if self.chain_.takes == Labels.SIMPLE and len(classes) > 2:
            raise ConfigError(
                f"layers: {len(classes)} classes need a multiclass layer such as 'one_against_all' on top"
            )
        if self.chain_.takes == Labels.COST_SENSITIVE:
            raise ConfigError("layers: a cost-sensitive chain learns from costs, wanted one that takes classes")

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: Any, passes: int | None) -> Self:
        known = np.isin(y, self.classes_)
        if not known.all():
            got, wanted = y[~known].tolist()[0], ", ".join(map(repr, self.classes_.tolist()))
            raise ValueError(f"y: got the class {got!r}, wanted one of {wanted}")
        code = np.searchsorted(self.classes_, y)
        labels = 2 * code - 1 if self.chain_.takes == Labels.SIMPLE else code + 1
        weight = self._weights(X, sample_weight)
        if self.class_weight is not None:
            if self.class_weight == "balanced" and passes is None:
                raise ValueError("class_weight='balanced' needs all rows: with partial_fit, pass the weights by class")
            weight = weight * compute_class_weight(self.class_weight, classes=self.classes_, y=y)[code]
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

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row."""
        found = self._predict(X)
        if self.chain_.takes == Labels.SIMPLE:
            return self.classes_[(found > 0).astype(int)]  # type: ignore[no-any-return]
        return self.classes_[np.clip(found.astype(int) - 1, 0, len(self.classes_) - 1)]  # type: ignore[no-any-return]

    @available_if(_has_scores)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores, shape (rows,) for two classes under a binary chain, else (rows, classes)."""
        check_is_fitted(self)
        if self.chain_.takes == Labels.SIMPLE:
            return self._predict(X).astype(np.float64)
        scores: NDArray[np.float64] = self._raw(self._examples(X, reset=False))
        return scores

    @available_if(_has_scores)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The logistic function of the scores, over several classes divided by their sum, shape (rows, classes).

        These are probabilities only if the base learner's loss makes them so: `logistic` does, `hinge` does not. Scores
        that are probabilities already, as those of `multinomial`, stay as they are.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2 and self.chain_.layers[0].answers.scores_are_probabilities:
            return np.asarray(scores / scores.sum(axis=1, keepdims=True), np.float64)
        upper = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if scores.ndim == 1:
            return np.column_stack([1.0 - upper, upper])
        upper += 1e-12  # where every class has been ruled out, all are equal
        return np.asarray(upper / upper.sum(axis=1, keepdims=True), np.float64)


def _numbers(y: Any) -> Any:
    """y, unless it is words, of which scikit-learn's own checks say nothing that helps."""
    values = np.asarray(y) if isinstance(y, list | np.ndarray) else y
    if isinstance(values, np.ndarray) and values.dtype.kind in "US" and values.size:
        raise ValueError(f"y: got {values.flat[0].item()!r}, wanted numbers; HutchClassifier takes names of classes")
    return y


class HutchRegressor(RegressorMixin, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a regressor.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `linear` with squared loss, and with the loss `poisson`
        below a `link`, so that predictions are means of counts, not their logarithms.
    loss, learning_rate, l2, interactions, bits, columns, random_state : as of `HutchClassifier`.
    passes : over the data in `fit`; None: as many as make 100,000 rows, at least 10 and at most 100.
    shuffle : as of `HutchClassifier`.
    scale_y : learn (y - mean) / deviation, and undo it in predictions, under losses that do not mind (`squared` and
        `quantile`) and without a `link`; `partial_fit` keeps what the first rows had. Predictions of the default chain
        may then leave the range of the labels; otherwise they stay within it.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    coef_, intercept_ : weights of the columns, shape (columns,), and of the constant, where the chain is linear in
        columns of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> bool(HutchRegressor().fit(X, 3000 * X[:, 0] + 500).score(X, 3000 * X[:, 0] + 500) > 0.99)
    True
    """

    def __init__(
        self,
        layers: Layers | None = None,
        *,
        loss: str | Mapping[str, Any] | None = None,
        learning_rate: float | None = None,
        l2: float | None = None,
        interactions: Sequence[Sequence[str]] | None = None,
        scale_y: bool = True,
        bits: int = 18,
        passes: int | None = None,
        shuffle: bool = True,
        columns: Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.layers = layers
        self.loss = loss
        self.learning_rate = learning_rate
        self.l2 = l2
        self.interactions = interactions
        self.scale_y = scale_y
        self.bits = bits
        self.passes = passes
        self.shuffle = shuffle
        self.columns = columns
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, `passes` times."""
        X, y = self._examples_and_targets(X, _numbers(y), reset=True, y_numeric=True)
        passes = self.passes
        if passes is None:
            passes = min(max(-(-_ROWS // len(y)), _LEAST_PASSES), _MOST_PASSES)
        return self._start(y)._go_on(X, y, sample_weight, passes)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows once."""
        first = not hasattr(self, "chain_")
        X, y = self._examples_and_targets(X, _numbers(y), reset=first, y_numeric=True)
        if first:
            self._start(y)
        return self._go_on(X, y, sample_weight, None)

    def _start(self, y: NDArray[Any]) -> Self:
        loss = next(iter(self.loss)) if isinstance(self.loss, Mapping) else self.loss
        link = [{"link": {"function": "poisson"}}] if loss == "poisson" else []  # predictions are means of the labels
        chain = self._build(self.layers or [*link, "linear"])
        if chain.takes != Labels.SIMPLE:
            raise ConfigError(f"layers: got a chain that takes labels {chain.takes.value!r}, wanted 'simple'")
        loss = getattr(getattr(chain.layers[-1].parameters, "loss", None), "name", None)
        self._centre, self._scale = 0.0, 1.0
        if self.scale_y and loss in ("squared", "quantile") and all(layer.name != "link" for layer in chain.layers):
            self._centre, self._scale = float(np.mean(y)), float(np.std(y)) or 1.0
            if self.layers is None:
                chain = self._build([{"linear": {"min_prediction": -_UNBOUNDED, "max_prediction": _UNBOUNDED}}])
        self.chain_ = chain
        return self

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: Any, passes: int | None) -> Self:
        labels = (np.asarray(y, np.float64) - self._centre) / self._scale
        self._learn(X, labels.astype(np.float32), self._weights(X, sample_weight), passes)
        return self

    def _raw(self, X: Any) -> NDArray[np.float64]:
        return super()._raw(X) * self._scale + self._centre

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the columns."""
        return np.asarray(self._linear_weights()[0, :-1] * self._scale)

    @property
    def intercept_(self) -> float:
        """Weight of the constant."""
        return float(self._linear_weights()[0, -1] * self._scale + self._centre)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The prediction for each row."""
        check_is_fitted(self)
        return self._raw(self._examples(X, reset=False))
