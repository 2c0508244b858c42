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

from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.vw_option import VwLayer, new_flag
from hutch.core.errors import ConfigError, DataError
from hutch.core.hooks import registering
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.action_per_class import logged_class
from hutch.reductions.bandits.scratch import make_columns, numbers
from hutch.reductions.linear.memory import Buffer

_0, _1 = np.float32(0), np.float32(1)


class EvaluateClassPolicyParameters(Parameters):
    """Parameters of `evaluate_class_policy`.

    Attributes:
        classes: how many, counted from 1; as many as the layer below has.
        type: how costs are estimated.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]
    type: Literal["ips", "dr"] = "dr"


STATE = np.dtype(
    [
        ("classes", "u8"),
        ("scratch", "u8"),  # BUFFER
        ("estimates", "u8"),  # 1: there are regressors
    ]
)
own_of = state_of(STATE)


@helper
def _list_classes(buffer, example, classes):
    """Write the classes, from 0, that there were to choose from: those that the label names, or all if it names none.

    Args:
        buffer: address of a BUFFER for them.
        example: address of the EXAMPLE, whose label begins with the policy's class.
        classes: how many there are.

    Returns:
        Address of uint32[room], 0 if there is no memory; room; and how many classes there are to choose from.
    """
    e, count = example_of(example), uint64(0)
    room = max(classes, e.cost_count)
    columns = make_columns(buffer, room, 1)
    if columns == uint64(0):
        return columns, room, count
    listed, named = numbers(columns, room, 0), uint32s_at(e.cost_classes, e.cost_count)
    costs = float32s_at(e.costs, e.cost_count)
    given = e.cost_count - min(uint64(1), e.cost_count)
    if given == uint64(0) or (given == uint64(1) and costs[e.cost_count - uint64(1)] != UNLABELED):
        for k in range(classes):
            listed[k] = k
        return columns, room, classes
    for j in range(e.cost_count - given, e.cost_count):
        if uint32(1) <= named[j] <= classes:
            listed[count] = named[j] - uint32(1)
            count += uint64(1)
    return columns, room, count


@helper
def _regress(layer, example, place, offset, learns, importance):
    """What the regressor predicts a class costs; it then learns the logged cost if `learns`."""
    d, above = decision_of(example), layer_of(layer_of(layer).next)  # the layer whose sub-models are classes
    below, at = above.next, offset + uint64(place) * above.step
    if learns:
        return call(layer_of(below).learn, below, example, d.cost, importance / d.probability, at)
    return call(layer_of(below).predict, below, example, UNLABELED, _1, at)


@helper
def _run(layer, example, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns, room, count = _list_classes(state.scratch, example, state.classes)
    if columns == uint64(0) or e.cost_count == uint64(0):
        return _1
    chosen = int64(uint32s_at(e.cost_classes, e.cost_count)[0]) - 1
    known, at, found, any_x = logged_class(d, state.classes), offset + layer_of(layer).step, _0, False
    listed, features = numbers(columns, room, 0), e.length
    for j in range(count if known >= 0 else uint64(0)):
        place, x = int64(listed[j]), _0
        if state.estimates == uint64(1) and (learns or place == chosen):
            x = _regress(layer, example, place, at, learns and place == known, importance)
            if not any_x:
                features, any_x = e.features, True
        if place == chosen:
            found = (d.cost - x) / d.probability + x if place == known else x
    ranked, values = uint32s_at(d.ranked, state.classes), float32s_at(d.values, state.classes)
    for k in range(state.classes):
        ranked[k] = (k + uint64(chosen)) % state.classes
        values[k] = _1 if k == uint64(0) else _0
    e.features, e.raw, e.loss = features, _0, np.float64(found * importance)
    return np.float32(chosen + 1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class that the label names; the loss estimates its cost."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same; the regressors learn."""
    return _run(layer, example, importance, offset, True)


class EvaluateClassPolicy(Reduction):
    """Estimates what the classes that the labels name would have cost."""

    name: ClassVar[str] = "evaluate_class_policy"
    Parameters: ClassVar[type[Parameters]] = EvaluateClassPolicyParameters
    vw = VwLayer(
        learner="cb-eval",
        options=(new_flag("eval", "what the class at the start of each label would have cost.", needs=("cb",)),),
        beside=(("cb", "classes"), ("cb_type", "type")),
    )
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.CLASS
    asks = (Labels.COST_SENSITIVE, Predictions.CLASS)
    inputs = Inputs(evaluates_policy=True)
    known_failures = {"learns": "it predicts the class that the label names, whatever was learned"}
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: EvaluateClassPolicyParameters, context: Context) -> None:
        super().__init__(parameters, context)
        below, classes = context.below, parameters.classes
        if below is None or below.name != "cost_sensitive_one_against_all":
            got = below.name if below else None
            raise ConfigError(f"{self.name} needs cost_sensitive_one_against_all below it: got {got!r}")
        if below.answers.classes != classes:
            raise ConfigError(
                f"{self.name}.classes: got {classes}, wanted {below.answers.classes}: so many has {below.name} below it"
            )
        self.state = Record(STATE, classes=classes, estimates=parameters.type == "dr", scratch=Buffer())

    @classmethod
    def width(cls, parameters: EvaluateClassPolicyParameters) -> int:
        """A policy, which stays as it is, and regressors where costs are estimated."""
        return 2 if parameters.type == "dr" else 1

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


hutch_register_reductions = registering(EvaluateClassPolicy)
