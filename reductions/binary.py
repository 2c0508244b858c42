"""Binary decisions: the sign of the prediction below, with 0/1 loss; learning is not touched."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hutch.core.chain.reduction import DefinedIn, Kernels, Labels, Predictions, Reduction
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import (
    UNLABELED,
    example_at,
    importance_to_next,
    kernel,
    learn_next,
    predict_next,
    sensitivity_next,
)
from hutch.core.kernel.decorators import helper

_0, _1 = np.float32(0), np.float32(1)


@helper
def _decide(example, below, label, importance):
    """The sign of the prediction; 0 counts as -1."""
    sign = _1 if below > _0 else -_1
    wrong = label != UNLABELED and importance > _0 and label != sign
    example_at(example)[0].loss = np.float64(importance) if wrong else 0.0
    return sign


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn."""
    return _decide(example, learn_next(layer, example, label, importance, offset), label, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """The sign of the prediction below."""
    return _decide(example, predict_next(layer, example, label, importance, offset), label, importance)


@kernel
def importance_to(layer, example, label, target, offset):
    """h_min of the layer below."""
    return importance_to_next(layer, example, label, target, offset)


@kernel
def sensitivity(layer, example, label, importance, offset):
    """Sensitivity of the layer below."""
    return sensitivity_next(layer, example, label, importance, offset)


class Binary(Reduction):
    """The sign of the prediction below."""

    name: ClassVar[str] = "binary"
    Parameters: ClassVar[Any] = DefinedIn("hutch.reductions.link_parameters:BinaryParameters")
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict, importance_to, sensitivity)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register binary decisions."""
    register(Binary)
