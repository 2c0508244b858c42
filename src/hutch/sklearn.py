"""scikit-learn estimators around a chain, and one around crowd models.

They take dense and sparse matrices; column j is the feature named `j`. For tables with words, for text and for records
use `hutch.Chain` itself. Needs the extra `sklearn`; nothing else in Hutch imports this module.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'hutch[sklearn]'", name=error.name) from None

from hutch.chain import Chain
from hutch.core.chain.reduction import Labels
from hutch.core.errors import ConfigError
from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.table import BUILT_IN, DEFAULT, create
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


class _ChainEstimator(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share: parameters, building, learning."""

    chain_: Chain
    n_features_in_: int

    def __init__(
        self,
        layers: Layers | None = None,
        *,
        bits: int = 18,
        passes: int = 10,
        columns: Mapping[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.bits = bits
        self.passes = passes
        self.columns = columns
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _build(self, layers: Layers) -> Chain:
        config = {"weights": {"bits": self.bits}, "seed": self.random_state, "chain": list(layers)}
        return Chain.from_config(config)

    def _matrix(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float32)

    def _matrix_and_targets(self, X: Any, y: Any, reset: bool, **options: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=np.float32, **options)
        return X, y

    def _learn(self, X: Any, labels: NDArray[np.float32], sample_weight: Any, passes: int) -> None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float32, ensure_non_negative=True)
        for _ in range(passes):
            self.chain_.learn(X, labels=labels, importance=weight, columns=self.columns)
            self.chain_.end_pass()

    def _predict(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        return self.chain_.predict(self._matrix(X, reset=False), columns=self.columns)


def _has_scores(estimator: "HutchClassifier") -> bool:
    check_is_fitted(estimator)
    chain = estimator.chain_
    if chain.takes != Labels.SIMPLE and not chain.score_count:
        raise AttributeError(f"the layer {chain.layers[0].name!r} has no scores")
    return True


class HutchClassifier(ClassifierMixin, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a classifier.

    Parameters
    ----------
    layers : list of layers as under `chain:` in YAML; None: `linear` with logistic loss, below `one_against_all` if
        there are more than two classes. Where a multiclass layer lacks `classes`, their number is filled in.
    bits : the weight table has 2^bits rows.
    passes : over the data in `fit`; `partial_fit` makes one.
    columns : divides the columns into namespaces, as in `hutch.core.data.sources.to_batches`.
    random_state : the chain's seed.

    Attributes
    ----------
    chain_ : the `hutch.Chain`.
    classes_ : the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(HutchClassifier().fit(scale(X), y).score(scale(X), y) > 0.97)
    True
    """

    classes_: NDArray[Any]

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, in the order of the rows, `passes` times."""
        X, y = self._matrix_and_targets(X, y, reset=True)
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
        X, y = self._matrix_and_targets(X, y, reset=first)
        self._targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            self._start(np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: got {classes!r}, wanted those of the first call, {self.classes_!r}")
        return self._go_on(X, y, sample_weight, 1)

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        check_classification_targets(y)
        return y

    def _start(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise ValueError(f"got {len(classes)} class, wanted at least two classes")
        self.classes_ = classes
        if self.layers is not None:
            layers = self._with_classes(self.layers)
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

    def _with_classes(self, layers: Layers) -> list[Any]:
        reductions = installed().registry.reductions
        found: list[Any] = []
        for layer in layers:
            name, given = (layer, None) if isinstance(layer, str) else next(iter(layer.items()))
            known = reductions[name].Parameters.model_fields if name in reductions else {}
            given = dict(given or {})
            if "classes" in known and "classes" not in given:
                given["classes"] = len(self.classes_)
            found.append({name: given})
        return found

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: Any, passes: int) -> Self:
        known = np.isin(y, self.classes_)
        if not known.all():
            raise ValueError(f"y: got the class {y[~known][0]!r}, wanted one of {self.classes_!r}")
        code = np.searchsorted(self.classes_, y)
        labels = 2 * code - 1 if self.chain_.takes == Labels.SIMPLE else code + 1
        self._learn(X, labels.astype(np.float32), sample_weight, passes)
        return self

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
        scores = self.chain_.scores(self._matrix(X, reset=False), columns=self.columns)
        return scores.astype(np.float64)

    @available_if(_has_scores)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The logistic function of the scores, over several classes divided by their sum, shape (rows, classes).

        These are probabilities as far as the base learner's loss makes them so: `logistic` does, `hinge` does not.
        """
        scores = self.decision_function(X)
        upper = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if scores.ndim == 1:
            return np.column_stack([1.0 - upper, upper])
        upper += 1e-12  # where every class has been ruled out, all are equal
        return np.asarray(upper / upper.sum(axis=1, keepdims=True), np.float64)


class HutchRegressor(RegressorMixin, _ChainEstimator):  # type: ignore[misc]
    """A chain of reductions as a regressor; parameters as those of `HutchClassifier`.

    `layers` None is `linear` with squared loss. Predictions stay within the range of the labels seen.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> bool(HutchRegressor().fit(X, 3 * X[:, 0] + 1).score(X, 3 * X[:, 0] + 1) > 0.99)
    True
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the beginning, in the order of the rows, `passes` times."""
        X, y = self._matrix_and_targets(X, y, reset=True, y_numeric=True)
        return self._start()._go_on(X, y, sample_weight, self.passes)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows once."""
        first = not hasattr(self, "chain_")
        X, y = self._matrix_and_targets(X, y, reset=first, y_numeric=True)
        if first:
            self._start()
        return self._go_on(X, y, sample_weight, 1)

    def _start(self) -> Self:
        self.chain_ = self._build(self.layers or ["linear"])
        if self.chain_.takes != Labels.SIMPLE:
            raise ConfigError(f"layers: got a chain that takes labels {self.chain_.takes.value!r}, wanted 'simple'")
        return self

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: Any, passes: int) -> Self:
        self._learn(X, np.asarray(y, np.float32), sample_weight, passes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The prediction for each row."""
        return self._predict(X).astype(np.float64)


class CrowdAggregator(BaseEstimator):  # type: ignore[misc]
    """Truth inference: the class behind many workers' labels, and how each worker labels.

    Parameters
    ----------
    model : name of a crowd model, such as `two_level` or `dawid_skene`; None: `mixed` if there is a reference, else
        `two_level`.
    parameters : of the model.
    reference : names or globs of the workers whose labels define the classes; all others are judges. None: all workers
        are alike.

    Attributes
    ----------
    classes_ : the classes.
    tasks_ : the tasks, in the order of `probability_`.
    workers_ : the workers, in the order of `confusions_`.
    probability_ : posteriors, shape (tasks, classes).
    confusions_ : P(label | class) of each worker, shape (workers, classes, labels).

    Examples
    --------
    >>> votes = [("ann", "t1", "cat"), ("bob", "t1", "cat"), ("cy", "t1", "dog"), ("ann", "t2", "dog")]
    >>> CrowdAggregator().fit(votes).predict(["t1", "t2"]).tolist()
    ['cat', 'dog']
    """

    def __init__(
        self,
        model: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        reference: str | Sequence[str] | None = None,
    ) -> None:
        self.model = model
        self.parameters = parameters
        self.reference = reference

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Infer from labels.

        Parameters
        ----------
        X : rows (worker, task, label).
        y : ignored.
        sample_weight : 0 leaves a row out, 1 counts it (the models know no other weights); None: all count.
        """
        self._votes = _counted(X, sample_weight)
        return self._infer()

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add further labels and infer anew from all of them."""
        self._votes = [*getattr(self, "_votes", []), *_counted(X, sample_weight)]
        return self._infer()

    def _infer(self) -> Self:
        labels = from_triples(self._votes)
        models = {model.name: model for model in BUILT_IN} | installed().registry.crowd_models
        parameters, name = dict(self.parameters or {}), self.model or DEFAULT
        if self.reference:
            patterns = (self.reference,) if isinstance(self.reference, str) else tuple(self.reference)
            name, parameters["reference"] = self.model or Mixed.name, patterns
        model = create(name, models, **parameters)
        found: Aggregate = aggregate(labels, model, Options())
        self.classes_ = np.array(found.labels.classes)
        self.tasks_ = np.array(found.labels.item_names)
        self.workers_ = np.array(found.labels.worker_names)
        self.probability_ = found.probability
        self.confusions_ = found.confusions
        return self

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:
        """Posteriors of tasks, shape (tasks, classes); the class prior for tasks without labels."""
        check_is_fitted(self)
        place = {task: i for i, task in enumerate(self.tasks_.tolist())}
        prior = self.probability_.mean(axis=0)
        return np.array([self.probability_[place[str(t)]] if str(t) in place else prior for t in X])

    def predict(self, X: Sequence[str]) -> NDArray[Any]:
        """The most probable class of each task."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]  # type: ignore[no-any-return]


def _counted(rows: Any, sample_weight: Any) -> list[tuple[str, str, str]]:
    votes = []
    for i, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
            raise ValueError(f"X: row {i}: got {row!r}, wanted (worker, task, label)")
        votes.append((str(row[0]), str(row[1]), str(row[2])))
    if sample_weight is None:
        return votes
    weights = np.asarray(sample_weight)
    if weights.shape != (len(votes),) or not np.isin(weights, (0, 1)).all():
        raise ValueError(f"sample_weight: got {sample_weight!r}, wanted {len(votes)} numbers that are 0 or 1")
    if not weights.any():
        raise ValueError("sample_weight: got zero for every row, wanted 1 for some")
    return [vote for vote, weight in zip(votes, weights, strict=True) if weight]
