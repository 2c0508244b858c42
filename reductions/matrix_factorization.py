"""Matrix factorization: a linear model, and for one pair of namespaces a dot product of learned vectors.

With w a weight, l and r vectors of `rank` numbers for each feature, and L and R the pair of namespaces:

    p = Σ w_i x_i + (Σ_L l_i x_i) · (Σ_R r_j x_j)

Source: VW 9.11.9, `--rank`, plain gradient descent with learning rate / (3 (t + importance)^power_t), to the bit.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.features import Features, features_of, gather, rows_of, values_of
from hutch.core.learner.first_weights import AT_ONCE, next_numbers
from hutch.core.loss.kernels import update_of
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id
from hutch.reductions.linear.kernels import predicted
from hutch.reductions.linear.layer import HashedLearner, Linear, NonNegative

_0, _1, _3 = np.float32(0), np.float32(1), np.float32(3)
_NONE = 1 << 32
"""Beyond every namespace's id."""


class MatrixFactorizationParameters(Parameters):
    """Parameters of `matrix_factorization`.

    Attributes:
        rank: length of the vectors.
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        learning_rate: step of the update.
        power_t: the step falls with the power_t-th power of the importance seen.
        initial_t: importance taken as seen before the first example.
        decay: the learning rate is multiplied by this after each pass.
        l2: L2 regularisation of the features of the example.
        min_prediction: predictions below it become it; None: the smallest label seen.
        max_prediction: predictions above it become it; None: the largest label seen.
        interactions: the pair of namespaces, one at most: a list of two names, or of letters a string of two.
    """

    rank: Annotated[int, Within(ge=1, le=1 << 10)]
    loss: LossChoice = LossChoice(name="squared")
    learning_rate: NonNegative = 10.0
    power_t: float = 0.5
    initial_t: NonNegative = 1.0
    decay: NonNegative = 1.0
    l2: NonNegative = 0.0
    min_prediction: float | None = None
    max_prediction: float | None = None
    interactions: tuple[str | tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.interactions) > 1 or any(len(term) != 2 or ":" in term for term in self.interactions):
            raise ValueError(f"interactions: got {self.interactions}, wanted one pair of namespaces at most")


FACTORS = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("dots", "u8"),  # address of float32[2, rank]: the two sums of vectors of the last example
        ("rank", "u8"),
        ("left", "u8"),  # ids of the pair
        ("right", "u8"),
        ("learning_rate", "f4"),
        ("power_t", "f4"),
        ("l2", "f4"),
    ]
)
factors_of = state_of(FACTORS)


@helper
def _part(e, name):
    """Where the features of a namespace begin and end in the example; nowhere if it has none."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(e.namespace_count):
        if uint64(ids[j]) == name:
            return uint64(starts[j] - starts[0]), uint64(starts[j + uint64(1)] - starts[0])
    return uint64(0), uint64(0)


@helper
def _dot(features, shared, part, column):
    """Dot product of the values of some features with a column of the weights."""
    rows, values, total = rows_of(features, part[1]), values_of(features, part[1]), _0
    for i in range(part[0], part[1]):
        total += weights_of(shared)[uint64(rows[i]) * shared.stride + column] * values[i]
    return total


@helper
def _move(features, shared, part, column, update, regularization):
    """Move a column of the weights of some features."""
    rows, values, weights = rows_of(features, part[1]), values_of(features, part[1]), weights_of(shared)
    for i in range(part[0], part[1]):
        at = uint64(rows[i]) * shared.stride + column
        weights[at] += update * values[i] - regularization * weights[at]


@helper
def _predict(layer, example, label, importance, offset):
    """Gather the features, predict, and write the loss."""
    state, e = factors_of(layer), example_of(example)
    features, shared, one = features_of(state.features), shared_of(e.shared), uint64(1)
    widen(shared, label)
    p = e.base + _dot(features, shared, (uint64(0), uint64(gather(features, example, offset))), uint64(0))
    left, right, dots = _part(e, state.left), _part(e, state.right), float32s_at(state.dots, uint64(2) * state.rank)
    e.features += state.rank * (left[1] - left[0] + right[1] - right[0])
    if left[0] < left[1] and right[0] < right[1]:
        for k in range(state.rank):
            dots[k] = _dot(features, shared, left, one + k)
            dots[state.rank + k] = _dot(features, shared, right, one + state.rank + k)
            p += dots[k] * dots[state.rank + k]
    return predicted(example, state.loss, label, importance, p)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only."""
    return _predict(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then move the weights and the vectors of the features by one gradient step."""
    state, e = factors_of(layer), example_of(example)
    features, shared, one = features_of(state.features), shared_of(e.shared), uint64(1)
    prediction = _predict(layer, example, label, importance, offset)
    if label == UNLABELED or not importance > _0 or shared.testing != 0:
        return prediction
    step = state.learning_rate / (np.float32(shared.time) + importance) ** state.power_t / _3 * importance
    update, shrink = update_of(state.loss, prediction, label, step, _1, True), step * state.l2
    _move(features, shared, (uint64(0), features.length), uint64(0), update, shrink)
    left, right, dots = _part(e, state.left), _part(e, state.right), float32s_at(state.dots, uint64(2) * state.rank)
    if left[0] < left[1] and right[0] < right[1]:
        for k in range(state.rank):
            _move(features, shared, left, one + k, update * dots[state.rank + k], shrink)
        for k in range(state.rank):
            _move(features, shared, right, one + state.rank + k, update * dots[k], shrink)
    return prediction


class MatrixFactorization(HashedLearner):
    """A linear model with vectors for the features of a pair of namespaces."""

    name: ClassVar[str] = "matrix_factorization"
    Parameters: ClassVar[type[Parameters]] = MatrixFactorizationParameters
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"learning_rate": POSITIVE}

    def __init__(self, parameters: MatrixFactorizationParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, mode = parameters, context.parser.namespaces
        left, right = [namespace_id(name, mode) for name in self.inputs.namespaces] or [_NONE, _NONE]
        self.state = Record(
            FACTORS,
            loss=context.loss(p.loss),
            features=self._features.record,
            dots=np.zeros(2 * p.rank, np.float32),
            rank=p.rank,
            left=left,
            right=right,
            learning_rate=np.float32(p.learning_rate) * np.float32(p.initial_t) ** np.float32(p.power_t),
            power_t=p.power_t,
            l2=p.l2,
        )
        context.shared["time"] = p.initial_t

    def new_features(self, wildcards: bool = True) -> Features:
        """What the learner makes of an example, for another one."""
        return Features(None, [])  # the pair is no product of features

    @property
    def stride(self) -> int:
        """Weight and two vectors, rounded up to a power of two."""
        return 1 << (2 * int(self.parameters.rank)).bit_length()

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Numbers from 0 to 0.1, each row from a seed of its own, as in VW; vectors of zeros would never move."""
        for begin in range(0, len(weights), AT_ONCE):
            part = weights[begin : begin + AT_ONCE]
            states = np.arange(begin, begin + len(part), dtype=np.uint64) * np.uint64(weights.shape[1])
            for column in part.T:
                states, numbers = next_numbers(states)
                column[:] = np.float32(0.1) * numbers
                states += np.uint64(1)

    end_pass = Linear.end_pass
