"""Binary decisions: the sign of the prediction below, with 0/1 loss; learning is not touched.

With a label other than -1 and 1 the loss is that of the layer below, as in VW 9.11.9.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.reduction import Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, learn_next, predict_next
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity

_0, _1 = np.float32(0), np.float32(1)


@helper
def _decide(example, below, label, importance):
    """The sign of the prediction; 0 counts as -1."""
    sign = _1 if below > _0 else -_1
    known = label != UNLABELED and importance > _0
    if not known or abs(label) == _1:
        example_of(example).loss = np.float64(importance) if known and label != sign else 0.0
    return sign


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn, which may take another label or importance for the example's."""
    e = example_of(example)
    given, weight = e.label, e.importance
    below = learn_next(layer, example, label, importance, offset)
    label = label if e.label == given else e.label
    return _decide(example, below, label, importance if e.importance == weight else e.importance)


@kernel
def predict(layer, example, label, importance, offset):
    """The sign of the prediction below."""
    return _decide(example, predict_next(layer, example, label, importance, offset), label, importance)


class Binary(Reduction):
    """The sign of the prediction below."""

    name: ClassVar[str] = "binary"
    parallel = Parallel(merging={})
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, pass_importance_to, pass_sensitivity)

    @property
    def answers(self) -> Answers:
        """Those of the layer below, for two labels."""
        return replace(super().answers, labels=(-1.0, 1.0))
