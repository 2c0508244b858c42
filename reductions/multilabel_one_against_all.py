"""Several labels per example: a binary problem for each label, each predicted or not on its own.

The label is a set, such as `1,4`. Sub-model k learns 1 where its label is in the set, and -1 where it is not. Labels
are predicted whose sub-model is above the threshold, 0 or that of a link below. The loss of an example is the number of
labels that are predicted or true, but not both.

Source: VW 9.11.9 (multilabel_oaa.cc), which counts labels from 0.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within

_1 = np.float32(1)


class MultilabelParameters(Parameters):
    """Parameters of `multilabel_one_against_all`.

    Attributes:
        classes: number of labels that there are.
        first_class: the smallest label, 0 or 1.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20)]
    first_class: Literal[0, 1] = 0


MULTILABEL = np.dtype([("threshold", "f8"), ("classes", "i8"), ("first", "i8")])
own = state_of(MULTILABEL)


@helper
def _run(layer, example, importance, offset, learning):
    """Go over all labels; returns the number of those that are predicted."""
    state, e = own(layer), example_of(example)
    given, known = uint32s_at(e.cost_classes, e.cost_count), int64(e.cost_count)
    scores, writes = (
        float32s_at(e.scores, state.classes),
        e.scores != uint64(0) and int64(e.score_count) >= state.classes,
    )
    count, right, at = 0, 0, 0
    for k in range(state.classes):
        while at < known and int64(given[at]) < k + state.first:
            at += 1
        holds = at < known and int64(given[at]) == k + state.first
        if learning:
            score = learn_next(layer, example, _1 if holds else -_1, importance, submodel(layer, offset, k))
        else:
            score = predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, k))
        if writes:
            scores[k] = score
        predicted = np.float64(score) > state.threshold
        if predicted:
            count += 1
            right += 1 if holds else 0
    e.loss = np.float64(importance) * np.float64(known + count - 2 * right) if known > 0 else 0.0
    return np.float32(count)


@kernel
def predict(layer, example, label, importance, offset):
    """The number of labels predicted; the score of each is in the example's scores."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and train each sub-model on whether its label is among those of the example."""
    return _run(layer, example, importance, offset, True)


class MultilabelOneAgainstAll(Reduction):
    """A sub-model for each label, of which an example may have several."""

    name: ClassVar[str] = "multilabel_one_against_all"
    Parameters: ClassVar[type[Parameters]] = MultilabelParameters
    takes = Labels.MULTILABEL
    predicts = Predictions.LABELS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parallel = Parallel(merging={"first_class": "keep"})
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: MultilabelParameters, context: Context) -> None:
        super().__init__(parameters, context)
        assert context.below is not None
        self.state = Record(
            MULTILABEL,
            classes=parameters.classes,
            first=parameters.first_class,
            threshold=context.below.answers.decision_threshold,
        )

    @classmethod
    def width(cls, parameters: Any) -> int:
        """One sub-model per label."""
        count: int = parameters.classes
        return count

    @property
    def answers(self) -> Answers:
        """One score per label, and the threshold above which it is predicted."""
        return replace(super().answers, score_count=self.parameters.classes)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The smallest label."""
        return {"first_class": self.state["first"]}

    def limits(self) -> Mapping[str, Limits]:
        """That of the parameters."""
        return {"first_class": Limits(0, 1, fixed=True)}
