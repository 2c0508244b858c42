"""Which labels a chain is made for, and a check of those that it has seen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.derived import accepted, declared, first_class
from hutch.core.chain.reduction import Labels, Reduction
from hutch.core.kernel.abi import UNLABELED
from hutch.core.loss.losses import LossLabels

_LARGEST = np.finfo(np.float32).max


class LabelCheck:
    """Looks at the labels of batches on behalf of a chain.

    Args:
        top: the top layer.

    Attributes:
        takes_all: whether the chain is made for any number.
    """

    def __init__(self, top: Reduction) -> None:
        self._top = top
        self._span = (np.inf, -np.inf)
        self.takes_all = bool(accepted(top, np.array([-_LARGEST, 0.5, _LARGEST], np.float32)).all())

    def unexpected(self, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The labels of a batch that the chain is not made for: 0 under hinge loss, class 7 of 5, action 0.

        Returns:
            Their rows, and the labels.
        """
        if declared(self._top, "takes") in (Labels.LOGGED_CLASS, Labels.COST_SENSITIVE, Labels.MULTILABEL):
            return self._unexpected_classes(batch)
        rows = np.flatnonzero(batch.labels != UNLABELED)
        labels: NDArray[np.float32] = batch.labels[rows]
        if len(labels):
            self._span = min(self._span[0], float(labels.min())), max(self._span[1], float(labels.max()))
        bad = ~accepted(self._top, labels)
        return rows[bad], labels[bad]

    def _unexpected_classes(self, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Those of labels that give classes their costs."""
        known = np.flatnonzero(batch.costs != UNLABELED)
        classes = batch.cost_classes[known]
        first, count = first_class(self._top), self._top.answers.classes or self._top.answers.score_count
        bad = (classes < first % 2) | (classes > count - (first == 0)) if count else np.zeros(len(known), np.bool_)
        return np.searchsorted(batch.cost_ptr, known[bad], "right") - 1, classes[bad].astype(np.float32)

    def doubts(self) -> str | None:
        """Warning if the labels seen so far most likely do not mean what the loss takes them for."""
        choice = self._top.answers.loss
        if declared(self._top, "takes") is not Labels.SIMPLE or choice is None or choice.name != "logistic":
            return None
        if self._span != (0, 1) or dict(choice.parameters).get("lower", -1) != -1:
            return None
        wanted = "wanted -1 and 1, or loss: {logistic: {lower: 0}}, which is --logistic_min 0 of Vowpal Wabbit"
        return f"logistic loss takes 0 for as likely as not, {wanted}"


def counted_classes(layers: Sequence[Reduction]) -> str | None:
    """Warning if layers of classes, which teach -1 and 1, stand above a loss of counts, which takes no -1.

    Args:
        layers: of a chain, from the top.
    """
    base = layers[-1]
    choice = base.answers.loss
    if choice is None or choice.resolve(base.context.losses).labels is not LossLabels.COUNT:
        return None
    teacher = next((layer.name for layer in layers if declared(layer, "takes") is Labels.MULTICLASS), None)
    return teacher and f"{teacher} teaches -1 and 1, and {choice.name} loss learns no -1, wanted one such as logistic"
