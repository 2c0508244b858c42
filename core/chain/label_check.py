"""Which labels a chain is made for, and a check of those that it has seen."""

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.derived import accepted, declared
from hutch.core.chain.reduction import Labels, Reduction
from hutch.core.kernel.abi import UNLABELED

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

    def unexpected(self, batch: Batch) -> NDArray[np.float32]:
        """The labels of a batch that the chain is not made for: 0 under hinge loss, class 7 of 5."""
        labels: NDArray[np.float32] = batch.labels[batch.labels != UNLABELED]
        if len(labels):
            self._span = min(self._span[0], float(labels.min())), max(self._span[1], float(labels.max()))
        return labels[~accepted(self._top, labels)]

    def doubts(self) -> str | None:
        """Warning if the labels seen so far most likely do not mean what the loss takes them for."""
        choice = self._top.answers.loss
        if declared(self._top, "takes") is not Labels.SIMPLE or choice is None or choice.name != "logistic":
            return None
        if self._span != (0, 1) or dict(choice.parameters).get("lower", -1) != -1:
            return None
        taken = "logistic loss takes 0 for as likely as not"
        return f"labels go from 0 to 1: {taken}, wanted -1 and 1, or loss: {{logistic: {{lower: 0}}}}"
