"""Decisions for a number by steps against the cost: a linear policy, or a constant, that explores at a radius.

The centre is w·x, or one constant. The prediction is a density of two spikes, at the centre minus and plus the radius,
as likely as each other. For a logged number a that had the cost c, the gradient of the cost at the centre m is
estimated by c / (a - m), and each weight takes the step -rate (c / (a - m) x + l1 sign(w) + l2 w).

Source: A. D. Flaxman, A. T. Kalai, H. B. McMahan, "Online convex optimization in the bandit setting", SODA 2005; VW
9.11.9, `--cbzo`.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX
from hutch.core.chain.declarations import Answers, Inputs, Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, shared_of, state_of, weights_of, widen
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.parameters import Within
from hutch.reductions.continuous_actions.action_density import logged_of
from hutch.reductions.continuous_actions.grid import LARGEST, SEGMENT
from hutch.reductions.linear.layer import HashedLearner, NonNegative, namespaces_of

_0, _HALF = np.float32(0), np.float64(0.5)
_SPIKES = 2
_SCORES = _SPIKES * SEGMENT
_STEP = 0.6 * 2.0**-23
"""From 0.6 to 1.2 steps between neighbours in float32: the product rounds to the neighbour."""
_SMALLEST = np.float32(1.2e-38)
_NEAR_0 = np.float32(1e-5)
"""How wide each half of a spike at 0 is: the neighbours of 0 in float32 are far too close."""


class ZerothOrderParameters(Parameters):
    """Parameters of `zeroth_order`.

    Attributes:
        policy: `linear` in the features, or one `constant`.
        radius: how far from the centre numbers are tried.
        learning_rate: step of the update.
        l1: L1 regularisation.
        l2: L2 regularisation.
        regularize_constant: the constant feature's weight is regularised as well.
        initial_constant: initial value of the constant feature's weight.
        min_prediction: centres below it become it; None: any.
        max_prediction: centres above it become it; None: any.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too if namespaces are letters.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces used only in interactions.
    """

    policy: Literal["linear", "constant"] = "linear"
    radius: Annotated[float, Within(gt=0)] = 0.1
    learning_rate: NonNegative = 0.5
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    regularize_constant: bool = True
    initial_constant: float = 0.0
    min_prediction: float | None = None
    max_prediction: float | None = None
    interactions: tuple[str | tuple[str, ...], ...] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        low, high = self.min_prediction, self.max_prediction
        if low is not None and high is not None and low > high:
            raise ValueError(f"min_prediction {low} is above max_prediction {high}")


STATE = np.dtype(
    [
        ("features", "u8"),  # address of the FEATURES record
        ("constant", "i8"),  # 1: one constant is the policy
        ("row", "u8"),  # of the constant's weight
        ("spared", "u8"),  # the row that is not regularised; beyond the table: none
        ("radius", "f4"),
        ("learning_rate", "f4"),
        ("l1", "f4"),
        ("l2", "f4"),
        ("lowest", "f4"),
        ("highest", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _centre(state, example, offset):
    """Gather the features; returns the number that the policy prefers, before it is clipped."""
    e = example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    n, weights, centre = uint64(gather(features, example, offset)), weights_of(shared), _0
    if state.constant == 1:
        return weights[(state.row + offset & shared.mask) * shared.stride] + e.base
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        centre += values[i] * weights[uint64(rows[i]) * shared.stride]
    return centre + e.base


@helper
def _neighbour(number, up):
    """The next float32 above or below a number; a little further from 0."""
    if abs(number) < _SMALLEST:
        return _NEAR_0 if up else -_NEAR_0
    return np.float32(np.float64(number) * (1.0 + _STEP if up == (number > _0) else 1.0 - _STEP))


@helper
def _write(state, e, centre):
    """Write the two spikes to the scores."""
    segments = float32s_at(e.scores, uint64(_SCORES))
    for k in range(_SPIKES):
        at = centre - state.radius if k == 0 else centre + state.radius
        low, high = _neighbour(at, False), _neighbour(at, True)
        segments[SEGMENT * k], segments[SEGMENT * k + 1] = low, high
        segments[SEGMENT * k + 2] = np.float32(_HALF / np.float64(high - low))


@inlined
def _pull(state, weight, row):
    """The gradient of the regularisation of a weight."""
    if row == state.spared:
        return _0
    return (state.l1 if weight >= _0 else -state.l1) + state.l2 * weight


@helper
def _update(state, example, offset, gradient):
    """Take a step."""
    features, shared = features_of(state.features), shared_of(example_of(example).shared)
    weights, n = weights_of(shared), features.length
    if state.constant == 1:
        row = state.row + offset & shared.mask
        weights[row * shared.stride] += -state.learning_rate * (
            gradient + _pull(state, weights[row * shared.stride], row)
        )
        return
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        weights[at] += -state.learning_rate * (gradient * values[i] + _pull(state, weights[at], uint64(rows[i])))


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    raw = _centre(state, example, offset)
    centre = min(max(raw, state.lowest), state.highest)
    if e.scores != uint64(0) and e.score_count >= uint64(_SCORES):
        _write(state, e, centre)
    e.raw, e.loss = raw, 0.0
    known = label != UNLABELED and e.cost_count == uint64(2)
    if known:
        cost = logged_of(e)[0]
        e.loss = np.float64(cost) * np.float64(importance)
        if learns:
            widen(shared_of(e.shared), raw)
        if learns and importance > _0 and label != raw:
            _update(state, example, offset, cost / (label - raw) * importance)
    return centre


@kernel
def predict(layer, example, label, importance, offset):
    """The centre; its two spikes go to the scores."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then take a step."""
    return _run(layer, example, label, importance, offset, True)


class ZerothOrder(HashedLearner):
    """A number, learned from the costs of numbers around it."""

    name: ClassVar[str] = "zeroth_order"
    Parameters: ClassVar[type[Parameters]] = ZerothOrderParameters
    takes = Labels.LOGGED_NUMBER
    predicts = Predictions.DENSITY
    parallel = Parallel(merging={})
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: ZerothOrderParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, shared = parameters, context.shared
        if p.policy == "constant" and not context.parser.constant:
            raise ConfigError(f"{self.name}: got policy constant and no constant feature, wanted input.constant: true")
        self._row = CONSTANT_INDEX * int(shared["multiplier"][0]) & int(shared["mask"][0])
        self.state = Record(
            STATE,
            features=self._features.record,
            constant=p.policy == "constant",
            row=self._row,
            spared=1 << 63 if p.regularize_constant else self._row,
            lowest=-LARGEST if p.min_prediction is None else p.min_prediction,
            highest=LARGEST if p.max_prediction is None else p.max_prediction,
            **{name: getattr(p, name) for name in ("radius", "learning_rate", "l1", "l2")},
        )
        self.inputs = Inputs(namespaces=namespaces_of(p))

    def _set_range(self, shared: NDArray[Any]) -> None:
        """Labels are not what is predicted: they set no range."""

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the constant's weight."""
        for k in range(self.context.submodels):
            weights[(self._row + k) & int(self.context.shared["mask"][0]), 0] = self.parameters.initial_constant

    @property
    def answers(self) -> Answers:
        """The two spikes."""
        return replace(super().answers, score_count=_SCORES)
