"""What a policy would have cost that chooses a class for each example, from a log of what others chose.

A label names the class that the policy chooses, and then the logged one with its cost and probability: `2 1:0.5:0.25`.
The loss is an estimate of what the policy's class costs, unbiased if the probabilities are right:

* `ips` (inverse propensity scores): c / p if the policy's class is the logged one, else 0.
* `dr` (doubly robust): the x of a regressor for each class, in addition (c - x) / p if the classes are the same; the
  regressors learn c with importance 1 / p afterwards.

No policy is learned; the prediction is the class that the label names, whose score is 1.

Source: M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML 2011; VW 9.11.9,
`--cb K --eval`.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.errors import DataError
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, layer_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.scratch import numbers
from hutch.reductions.class_bandits.class_bandit import DR, ClassBandit, own_of
from hutch.reductions.class_bandits.labels import estimated_cost, known_class, list_classes, regress_class

_0, _1 = np.float32(0), np.float32(1)


class EvaluateClassPolicyParameters(Parameters):
    """Parameters of `evaluate_class_policy`.

    Attributes:
        classes: how many, counted from 1; as many as the layer below has.
        type: how costs are estimated.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]
    type: Literal["ips", "dr"] = "dr"


@helper
def _run(layer, example, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns, room, count = list_classes(state.scratch, example, state.classes, uint64(1))
    if columns == uint64(0) or e.cost_count == uint64(0):
        return _1
    chosen = int64(uint32s_at(e.cost_classes, e.cost_count)[0])
    known, at, found, any_x = known_class(d, state.classes), offset + layer_of(layer).step, _0, False
    listed, features = numbers(columns, room, 0), e.length
    for j in range(count if known > 0 else uint64(0)):
        number, x = int64(listed[j]), _0
        if state.type == DR and (learns or number == chosen):
            x = regress_class(layer, example, number, at, known if learns else int64(0), d, importance)
            if not any_x:
                features, any_x = e.features, True
        if number == chosen:
            found = estimated_cost(d, known, chosen, x)
    ranked, values = uint32s_at(d.ranked, state.classes), float32s_at(d.values, state.classes)
    for k in range(state.classes):
        ranked[k] = (k + uint64(chosen) - uint64(1)) % state.classes
        values[k] = _1 if k == uint64(0) else _0
    e.features, e.raw, e.loss = features, _0, np.float64(found * importance)
    return np.float32(chosen)


@kernel
def predict(layer, example, label, importance, offset):
    """The class that the label names; the loss estimates its cost."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same; the regressors learn."""
    return _run(layer, example, importance, offset, True)


class EvaluateClassPolicy(ClassBandit):
    """Estimates what the classes that the labels name would have cost."""

    name: ClassVar[str] = "evaluate_class_policy"
    Parameters: ClassVar[type[Parameters]] = EvaluateClassPolicyParameters
    inputs = Inputs(evaluates_policy=True)
    known_failures = {"learns": "it predicts the class that the label names, whatever was learned"}

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Check that each label names the policy's class.

        Raises:
            DataError: one does not.
        """
        size, classes = len(batch), self.parameters.classes
        pointers = batch.cost_ptr if len(batch.cost_ptr) > 1 else np.zeros(size + 1, np.int64)
        given = np.diff(pointers) > 0
        named, alone = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        named[given] = batch.cost_classes[pointers[:-1][given]]
        alone[given] = batch.costs[pointers[:-1][given]] == UNLABELED
        wrong = np.flatnonzero(~alone | (named < 1) | (named > classes))
        if len(wrong):
            raise DataError(
                f"{self.name}: got a label that does not begin with a class alone (example {wrong[0] + 1} of its "
                f"batch), wanted the policy's class from 1 to {classes} and the logged one, such as 2 1:0.5:0.25"
            )


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the evaluation of policies on logged classes."""
    register(EvaluateClassPolicy)
