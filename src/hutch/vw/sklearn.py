"""Estimators with the names of `vowpalwabbit.sklearn`, over `Workspace`; `hutch.sklearn` has those of Hutch itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_X_y, shuffle

from hutch.core.batch import CONSTANT_INDEX
from hutch.core.errors import did_you_mean
from hutch.vw.options.table import OPTIONS
from hutch.vw.workspace import Workspace

_OWN = ("convert_to_vw", "convert_labels")
_CLASSES = ("csoaa", "ect", "oaa")
_NAMES = {name for option in OPTIONS for name in (option.name, option.short) if name}


def tovw(x: Any, y: Any = None, sample_weight: Any = None, convert_labels: bool = False) -> list[str]:
    """A matrix as lines of text, features named by their column.

    Args:
        x: (rows, columns), dense or sparse.
        y: labels (rows); None: 1.
        sample_weight: whole numbers (rows); None: 1.
        convert_labels: of 0 and 1 make -1 and 1.

    >>> tovw(np.array([[1.0, 0.0], [0.0, 2.5]]), [0, 1], convert_labels=True)
    ['-1 1 | 0:1', '1 1 | 1:2.5']
    """
    x, y = (check_array(x, accept_sparse=True), None) if y is None else check_X_y(x, y, accept_sparse=True)
    labels = np.ones(x.shape[0], int) if y is None else np.where(y < 1, -1, 1) if convert_labels else y
    weights = np.ones(x.shape[0], int) if sample_weight is None else np.asarray(sample_weight, int)
    if weights.shape != (x.shape[0],):
        raise ValueError(f"sample_weight: got {weights.shape}, wanted ({x.shape[0]},)")
    rows = csr_matrix(x)
    rows.sort_indices()
    rows.eliminate_zeros()
    lines = []
    for i, (label, weight) in enumerate(zip(labels, weights, strict=True)):
        place = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[place].tolist(), rows.data[place].tolist(), strict=True)
        lines.append(f"{label} {weight} | " + " ".join(f"{column}:{value:.16g}" for column, value in pairs))
    return lines


class VW(BaseEstimator):  # type: ignore[misc]
    """An estimator made by options of VW.

    Args:
        convert_to_vw: X is a matrix; False: a list of lines with their labels.
        convert_labels: labels are 0 and 1, or -1 and 1.
        **options: those of `Workspace`, such as `loss_function="logistic"`, `l=0.1`, `passes=3`.

    Attributes:
        vw_: the `Workspace` once it is fitted.

    Raises:
        TypeError: another name than that of an option.

    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 20)
    >>> VWRegressor(quiet=True).fit(X, X[:, 0]).predict(X[:2]).round(1).tolist()
    [0.0, 1.0]
    """

    def __init__(self, convert_to_vw: bool = True, convert_labels: bool = True, **options: Any) -> None:
        if unknown := sorted(options.keys() - _NAMES):
            hint = did_you_mean(unknown[0], sorted(_NAMES))
            more = f"; {hint}" if hint.startswith("did") else ""
            raise TypeError(f"{type(self).__name__}: got argument {unknown[0]!r}, wanted an option of VW{more}")
        self.convert_to_vw, self.convert_labels = convert_to_vw, convert_labels
        self.options = {"passes": 1, "quiet": True, **options}
        self.vw_: Workspace | None = None

    def __getattr__(self, name: str) -> Any:
        """An option's value, None if it is not given."""
        options = self.__dict__.get("options", {})
        if name not in options and name not in _NAMES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return options.get(name)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = sorted((name, value) for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({', '.join(f'{name}: {value}' for name, value in given)})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """See scikit-learn."""
        return {"convert_to_vw": self.convert_to_vw, "convert_labels": self.convert_labels, **self.options}

    def set_params(self, **params: Any) -> "VW":
        """See scikit-learn; fit it again afterwards."""
        for name in _OWN:
            setattr(self, name, params.pop(name, getattr(self, name)))
        self.options, self.vw_ = {**self.options, **params}, None
        return self

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> "VW":
        """Learn; several passes go over the rows in a new order each.

        Raises:
            RuntimeError: options that learn at the end of passes over a file, and no file.
        """
        options = {name: value for name, value in {"quiet": True, **self._all_options()}.items() if value is not None}
        from_file = bool({"data", "d"} & options.keys())
        if not from_file and (options.get("bfgs") or options.get("conjugate_gradient")):
            raise RuntimeError("bfgs: wanted a file, `data=`: it learns at the end of each pass over it")
        passes = 1 if from_file else int(options.pop("passes", 1))
        model = self.vw_ = Workspace(**options)
        if X is not None:
            lines = tovw(X, y, sample_weight, self.convert_labels) if self.convert_to_vw else list(X)
            for number in range(passes):
                for line in shuffle(lines) if number else lines:
                    model.learn(line)
        return self

    def _all_options(self) -> dict[str, Any]:
        return self.options

    def get_vw(self) -> Workspace:
        """The workspace.

        Raises:
            NotFittedError: it is not fitted.
        """
        if self.vw_ is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet, wanted fit(X, y) before")
        return self.vw_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions (rows), or probabilities (rows, classes) where the options ask for them."""
        model = self.get_vw()
        lines: Sequence[str] = tovw(X) if self.convert_to_vw else X
        return np.array([model.predict(line) for line in lines], float)

    def get_coefs(self) -> Any:
        """The weights as a sparse row, by hash."""
        model = self.get_vw()
        return csr_matrix([model.get_weight(k) for k in range(model.num_weights())])

    def set_coefs(self, coefs: Any) -> None:
        """Take weights from a sparse row, as from `get_coefs`."""
        row = csr_matrix(coefs)
        for index, value in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            self.get_vw().set_weight(index, 0, value)

    def get_intercept(self) -> float:
        """The weight of the constant."""
        return self.get_vw().get_weight(CONSTANT_INDEX)

    def save(self, filename: str) -> None:
        """Write the model."""
        self.get_vw().save(filename)

    def load(self, filename: str) -> None:
        """Take a model from a file."""
        self.vw_ = Workspace(**{**self._all_options(), "initial_regressor": filename, "quiet": True})


class VWRegressor(RegressorMixin, VW):  # type: ignore[misc]
    """Predicts numbers."""

    def __init__(self, convert_labels: bool = False, **options: Any) -> None:
        super().__init__(convert_labels=convert_labels, **options)


class VWClassifier(ClassifierMixin, VW):  # type: ignore[misc]
    """Predicts one of two classes.

    Attributes:
        classes_: the classes, after `fit` those of `y`.
    """

    classes_: NDArray[Any] = np.array([-1.0, 1.0])

    def __init__(self, loss_function: str = "logistic", **options: Any) -> None:
        super().__init__(loss_function=loss_function, **options)

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> "VWClassifier":
        """Learn."""
        if y is not None:
            self.classes_, y = np.unique(y, return_inverse=True)
        super().fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """The score of the second class."""
        return VW.predict(self, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes."""
        scores = self.decision_function(X)
        found: NDArray[Any] = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probabilities of both classes (rows, 2)."""
        second = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack((1 - second, second))


class VWMultiClassifier(VWClassifier):
    """Predicts one of several classes, numbers from 1; by `--oaa` unless an option names another method."""

    def __init__(self, probabilities: bool = True, **options: Any) -> None:
        super().__init__(probabilities=probabilities, **options)

    def _all_options(self) -> dict[str, Any]:
        asked = any(self.options.get(name) for name in _CLASSES)
        return self.options if asked else {**self.options, "oaa": len(self.classes_)}

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> "VWMultiClassifier":
        """Learn."""
        if y is not None:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y) + 1
        else:
            classes = next((size for name in _CLASSES if (size := self.options.get(name))), 0)
            self.classes_ = np.arange(1, classes + 1)
        self.convert_labels = False
        VW.fit(self, X, y, sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes."""
        said = VW.predict(self, X)  # a probability per class, or without them the class itself
        found: NDArray[Any] = self.classes_[said.argmax(axis=1) if said.ndim > 1 else said.astype(int) - 1]
        return found

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probabilities of the classes (rows, classes).

        Raises:
            ValueError: the options ask for none.
        """
        found = VW.predict(self, X)
        if found.ndim < 2:
            raise ValueError("predict_proba: the options ask for no probabilities, wanted probabilities=True with oaa")
        return found

    decision_function = predict_proba
