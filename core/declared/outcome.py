"""Kernels around those of a layer that declares its loss: they write the raw score, the loss and the scores."""

from enum import StrEnum

import numpy as np
from numpy import uint64

from hutch.core.declared.state import header_of
from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, kernel, shared_of, widen
from hutch.core.kernel.decorators import helper
from hutch.core.loss.kernels import value_of

_0, _1 = np.float32(0), np.float32(1)


class OwnLoss(StrEnum):
    """The loss of a layer's predictions, beside that of a name."""

    ZERO_ONE = "zero_one"  # 1 for a wrong prediction
    LEARNED = "learned"  # the one by which the layer, or the layers below, learn


@helper
def _tell(h, e, label, importance, prediction):
    """Write the outcome of a prediction."""
    e.raw = prediction
    e.loss = 0.0
    if label != UNLABELED and importance > _0:
        if h.loss != uint64(0):
            e.loss = np.float64(value_of(h.loss, prediction, label) * importance)
        elif label != prediction:
            e.loss = np.float64(importance)
    if h.scores != uint64(0) and e.scores != uint64(0) and e.score_count == h.score_count:
        scores, wanted = float32s_at(h.scores, h.score_count), float32s_at(e.scores, e.score_count)
        for k in range(h.score_count):
            wanted[k] = scores[k]
    return prediction


@helper
def _run(layer, example, label, importance, offset, learns):
    h, e = header_of(layer), example_of(example)
    e.is_predicted = uint64(0)  # a layer above knows only this layer's prediction, those below learn from their own
    called = h.learn if learns else h.predict
    if h.classes != uint64(0) and not (label >= _1 and label <= np.float32(h.classes) and label == np.floor(label)):
        called = h.predict  # no class of its own
    if learns and h.widens != uint64(0):
        widen(shared_of(e.shared), label)
    return _tell(h, e, label, importance, call(called, layer, example, label, importance, offset))


@kernel
def predict(layer, example, label, importance, offset):
    """The layer's prediction, with its loss."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer learn; the loss is that of its prediction from before."""
    return _run(layer, example, label, importance, offset, True)
