"""A scikit-learn estimator around crowd models; `hutch.sklearn` is where to import it from."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.choice import suited
from hutch.crowd.data.frames import FrameVotes, is_frame, make_frame, read_frame
from hutch.crowd.data.labels import from_triples
from hutch.crowd.data.values import name_of
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.table import DEFAULT, create, find
from hutch.plugins.manager import installed


class CrowdAggregator(BaseEstimator):  # type: ignore[misc]
    """Truth inference: the class behind many workers' labels, and how each worker labels.

    Parameters
    ----------
    model : name of a crowd model, such as `two_level` or `dawid_skene`; None: `mixed` if there is a reference,
        `ordinal` if the labels are an ordered category of pandas, `many_classes` or `two_level` otherwise, whichever
        suits the labels.
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
    labels_, probas_ : if fitted on a frame, frames of the same package: the class of each task, and the probability of
        each class; as crowd-kit has them, a series and a frame with the tasks as index, in pandas.

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
        X : rows (worker, task, label), or a frame of pandas, polars or Arrow with columns of these names.
        y : ignored.
        sample_weight : 0 leaves a row out, 1 counts it (the models know no other weights); None: all count.
        """
        self._votes = _counted(X, sample_weight)
        return self._infer()

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Infer, and return the class of each task: `labels_` of a frame, else an array in the order of `tasks_`."""
        self.fit(X)
        return self.labels_ if self._votes.package else self.predict(self.tasks_.tolist())

    def fit_predict_proba(self, X: Any, y: Any = None) -> Any:
        """Infer, and return the probability of each class: `probas_` of a frame, else `probability_`."""
        self.fit(X)
        return self.probas_ if self._votes.package else self.probability_

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add further labels and infer again from all of them."""
        found = _counted(X, sample_weight)
        if hasattr(self, "_votes"):
            before = copy.deepcopy(self._votes)
            before.extend(found)
            found = before
        self._votes = found
        return self._infer()

    def _infer(self) -> Self:
        labels = from_triples(self._votes.triples, self._votes.classes)
        models = installed().registry.crowd_models
        parameters, name = dict(self.parameters or {}), self.model or (Ordinal.name if self._votes.ordered else DEFAULT)
        if self.reference:
            patterns = (self.reference,) if isinstance(self.reference, str) else tuple(self.reference)
            name, parameters["reference"] = self.model or Mixed.name, patterns
            if find(name, models).wants_people and self._votes.ordered:
                parameters.setdefault("ordered", True)
        model = create(name, models, **parameters)
        if name == DEFAULT and self.model is None and not parameters:
            model = suited(labels)
        if model.kind != "classes":
            raise UsageError(f"model: got {name!r}, which is for numbers; use hutch crowd --model {name}")
        found: Aggregate = aggregate(labels, model, Options())
        people, tasks, answers = self._votes.originals
        classes = [answers.get(name, name) for name in found.labels.classes]
        names = [tasks.get(name, name) for name in found.labels.item_names]
        self.classes_ = np.array(classes)
        self.tasks_ = np.array(names)
        self.workers_ = np.array([people.get(name, name) for name in found.labels.worker_names])
        self.probability_ = found.probability
        self.confusions_ = found.confusions
        if self._votes.package:
            best = [classes[k] for k in found.probability.argmax(axis=1).tolist()]
            self.labels_ = make_frame(self._votes.package, "task", {"task": names, "agg_label": best})
            if self._votes.package == "pandas":
                self.labels_ = self.labels_["agg_label"]
            columns: dict[Any, Any] = {"task": names}
            headings = classes if self._votes.package == "pandas" else map(str, classes)  # others want text
            columns |= {name: found.probability[:, k] for k, name in enumerate(headings)}
            self.probas_ = make_frame(self._votes.package, "task", columns)
        return self

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:
        """Posteriors of tasks, shape (tasks, classes); the class prior for tasks without labels."""
        check_is_fitted(self)
        place = {name_of(task): i for i, task in enumerate(self.tasks_.tolist())}
        prior = self.probability_.mean(axis=0)
        return np.array([self.probability_[place[name_of(t)]] if name_of(t) in place else prior for t in X])

    def predict(self, X: Sequence[str]) -> NDArray[Any]:
        """The most probable class of each task."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]  # type: ignore[no-any-return]


def _counted(rows: Any, sample_weight: Any) -> FrameVotes:
    """The rows that count; for anything but a frame, `package` is empty."""
    if is_frame(rows):
        found = read_frame(rows)
    else:
        found = FrameVotes(package="")
        for i, row in enumerate(rows):
            if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
                raise ValueError(f"X: row {i}: got {row!r}, wanted (worker, task, label)")
            found.triples.append((str(row[0]), str(row[1]), str(row[2])))
    if sample_weight is None:
        return found
    weights, count = np.asarray(sample_weight), len(found.triples)
    if weights.shape != (count,) or not np.isin(weights, (0, 1)).all():
        raise ValueError(f"sample_weight: got {sample_weight!r}, wanted {count} numbers that are 0 or 1")
    if not weights.any():
        raise ValueError("sample_weight: got zero for every row, wanted 1 for some")
    found.triples = [vote for vote, weight in zip(found.triples, weights, strict=True) if weight]
    return found
