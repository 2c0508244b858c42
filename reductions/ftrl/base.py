"""Base of the learners of this folder: features as `linear` makes them, and a dot product as the score."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Parallel, Shortcuts
from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Parameters
from hutch.core.kernel.abi import (
    UNLABELED,
    call_loss,
    example_of,
    kernel,
    loss_of,
    shared_of,
    state_of,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Within
from hutch.reductions.linear.kernels import predicted
from hutch.reductions.linear.layer import HashedLearner
from hutch.reductions.linear.layer import NonNegative as NonNegative

_0 = np.float32(0)

Positive = Annotated[float, Within(gt=0)]


class SumsParameters(Parameters):
    """Parameters that the learners of this folder share.

    Attributes:
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        min_prediction: predictions below it become it; None: the smallest label seen.
        max_prediction: predictions above it become it; None: the largest label seen.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too if namespaces are letters.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces used only in interactions.
    """

    loss: LossChoice = LossChoice(name="squared")
    min_prediction: float | None = None
    max_prediction: float | None = None
    interactions: tuple[str | tuple[str, ...], ...] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()


SUMS = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("norm", "f8"),  # coin betting: sum of importance times Σ (x / max |x|)²
        ("importance", "f8"),  # coin betting: sum of importance
        ("alpha", "f4"),
        ("beta", "f4"),
        ("l1", "f4"),
        ("l2", "f4"),
    ]
)
sums_of = state_of(SUMS)


@helper
def score(layer, example, offset):
    """Gather the features; returns base + w·x."""
    state, e = sums_of(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    n = uint64(gather(features, example, offset))
    rows, values, weights, p = rows_of(features, n), values_of(features, n), weights_of(shared), e.base
    for i in range(n):
        p += weights[uint64(rows[i]) * shared.stride] * values[i]
    return p


@helper
def judge(layer, example, label, importance, p, before, raw):
    """Write the loss of the prediction that is learned from, but the score and the prediction made before."""
    prediction, e = predicted(example, sums_of(layer).loss, label, importance, p), example_of(example)
    e.raw, e.updated = raw, before
    return prediction


@helper
def gradient(state, prediction, label, importance):
    """Slope of the loss at a prediction, times the importance."""
    slope = call_loss(loss_of(state.loss).derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    return np.float32(slope) * importance


@inlined
def learns(shared, label, importance):
    """Whether an update is needed."""
    return label != UNLABELED and importance > _0 and shared.testing == 0


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, sums_of(layer).loss, label, importance, score(layer, example, offset))


class Sums(HashedLearner):
    """A linear learner whose weights follow from sums over the gradients of each feature.

    Attributes:
        exchanges_loss: whether a layer above may exchange its loss.
    """

    exchanges_loss: ClassVar[bool] = True
    keeps: ClassVar[Mapping[str, Limits]] = {"norm": POSITIVE, "importance": POSITIVE}
    parallel = Parallel(merging={"norm": "add", "importance": "add"})

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        given = {name: getattr(parameters, name, 0.0) for name in ("alpha", "beta", "l1", "l2")}
        self.state = Record(SUMS, loss=context.loss(parameters.loss), features=self._features.record, **given)
        if self.exchanges_loss:
            self.shortcuts = Shortcuts(loss_at=int(self.state["loss"].ctypes.data))
