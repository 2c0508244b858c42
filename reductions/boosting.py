"""Online boosting: weak learners, each taught most where those before it are wrong, vote together.

With y the label, p_i the prediction of weak learner i, and N of them, learner i gets the importance w_i:

* `majority`, boost by majority: s = Σ_{j<i} y p_j, k = ⌊(N - i - s) / 2⌋, w_i = C(N - i - 1, k) (1/2 + γ)^k
  (1/2 - γ)^(N - i - 1 - k); the vote is Σ p_i.
* `logistic`, AdaBoost.OL.W: s = Σ_{j<i} a_j y p_j, w_i = 1 / (1 + e^s); the vote is Σ a_i p_i. After the t-th example
  a_i moves by 4 / √t · y p_i / (1 + e^(s + a_i y p_i)), and stays within -2 and 2.
* `adaptive`, AdaBoost.OL: the same, and only the first learners vote, whose number is drawn: the vote ends where the
  running sum of shares v exceeds a random number. The share of learner i falls by e⁻¹ when the first i are wrong.

Source: A. Beygelzimer, S. Kale, H. Luo, "Optimal and adaptive algorithms for online boosting", ICML 2015; VW 9.11.9,
`--boosting`.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.loss.kernels import value_of
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import ExampleValue, Parameters, Within

Algorithm = Literal["majority", "logistic", "adaptive"]
MAJORITY, LOGISTIC, ADAPTIVE = range(3)

_0, _1, _2, _4 = np.float32(0), np.float32(1), np.float32(2), np.float32(4)
_FALL = np.float32(0.36788)  # e^-1, as VW has it


class BoostingParameters(Parameters):
    """Parameters of `boosting`.

    Attributes:
        learners: number of weak learners.
        algorithm: `majority`, which needs to know how much better than chance they are, or `logistic` or `adaptive`,
            which learn how much each of them counts.
        edge: by how much a weak learner is right more often than half the time; for `majority` only.
        predict_first: as VW without `--binary`, all weak learners predict before any learns. It matters only where a
            label widens the range of predictions, with regularisation, and for `adaptive`, which then draws twice.
            False is faster.
    """

    learners: Annotated[int, Within(ge=1, le=60), ExampleValue(4)]
    algorithm: Algorithm = "majority"
    edge: Annotated[float, Within(ge=0, le=0.5)] = 0.1
    predict_first: bool = False


BOOSTING = np.dtype(
    [
        ("algorithm", "i8"),
        ("learners", "i8"),
        ("loss", "u8"),  # address of the LOSS record of the layer below
        ("predict_first", "i8"),
        ("chances", "u8"),  # address of float32[learners, learners]: the importance of learner i where k is so much
        ("votes", "u8"),  # address of float32[submodels, learners]: a
        ("shares", "u8"),  # address of float32[submodels, learners]: v
        ("seen", "u8"),  # address of int64[submodels]: labelled examples
    ]
)
own = state_of(BOOSTING)


def importances(learners: int, edge: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The importance of each weak learner, by boost by majority, for each k that it may have: learners × learners.

    Args:
        learners: how many there are.
        edge: by how much they are right more often than half the time, 0 to 0.5.

    >>> importances(3, 0.0)
    array([[0.25, 0.5 , 0.25],
           [0.5 , 0.5 , 0.  ],
           [1.  , 0.  , 0.  ]], dtype=float32)
    """
    found = np.zeros((learners, learners), np.float32)
    up, down = 0.5 + float(np.float32(edge)), 0.5 - float(np.float32(edge))
    for i in range(learners):
        rest = learners - i - 1
        for k in range(rest + 1):
            ways = np.float32(math.comb(rest, k))
            found[i, k] = ways * np.float32(math.pow(up, k)) * np.float32(math.pow(down, rest - k))
    return found


@helper
def _weight(state, i, s):
    """The importance of learner i for an example whose margin by those before it is s."""
    if state.algorithm != MAJORITY:
        return _1 / (_1 + math.exp(s))
    k = int64(math.floor((np.float32(state.learners - i) - s) / _2))
    if k < 0 or k > state.learners - i - 1:
        return _0
    return float32s_at(state.chances, uint64(state.learners * state.learners))[i * state.learners + k]


@inlined
def _place(layer, offset):
    """The number of this sub-model, whose weak learners are sub-models of the layer below."""
    return offset // (layer_of(layer).step * uint64(own(layer).learners))


@helper
def _rows(layer, offset):
    """How much each learner of this sub-model counts, and its share of the votes."""
    state = own(layer)
    start = uint64(4) * _place(layer, offset) * uint64(state.learners)
    votes = float32s_at(state.votes + start, uint64(state.learners))
    return votes, float32s_at(state.shares + start, uint64(state.learners))


@helper
def _draw(state, example):
    """Where the vote ends: at a random sum of shares; never, but for `adaptive`."""
    shared = shared_of(example_of(example).shared)
    if state.algorithm != ADAPTIVE:
        return np.float32(np.inf)
    shared.random_state, found = merand48(shared.random_state)
    return found


@helper
def _say(layer, example, label, importance, vote):
    """Write score and loss; returns the vote."""
    e, loss = example_of(example), own(layer).loss
    e.raw = e.updated = vote
    known = label != UNLABELED and importance > _0
    e.loss = np.float64(value_of(loss, vote, label) * importance) if known else 0.0
    return vote


@helper
def _vote(layer, example, label, importance, offset):
    """The vote."""
    state, vote, sum_of_shares = own(layer), _0, _0
    votes, shares = _rows(layer, offset)
    end = _draw(state, example)
    for i in range(state.learners):
        if sum_of_shares > end:
            break
        p = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, i))
        vote += p if state.algorithm == MAJORITY else p * votes[i]
        sum_of_shares += shares[i]
    return _say(layer, example, label, importance, vote)


@kernel
def predict(layer, example, label, importance, offset):
    """The vote."""
    return _vote(layer, example, label, importance, offset)


@helper
def _move(votes, i, rate, margin, s):
    """Let a learner count more if it was right, where the others were not."""
    votes[i] = min(max(votes[i] + rate * margin / (_1 + math.exp(s)), -_2), _2)


@helper
def _divide(shares):
    """Make the sum of the shares 1."""
    total = _0
    for v in shares:
        total += v
    for i in range(len(shares)):
        if total != _0:
            shares[i] /= total


@kernel
def learn(layer, example, label, importance, offset):
    """Teach the weak learners in turn; returns their vote before."""
    state = own(layer)
    if label == UNLABELED or not importance > _0 or shared_of(example_of(example).shared).testing == 1:
        return _vote(layer, example, label, importance, offset)
    first = _vote(layer, example, label, importance, offset) if state.predict_first == 1 else _0
    votes, shares = _rows(layer, offset)
    seen = int64s_at(state.seen + uint64(8) * _place(layer, offset), uint64(1))
    seen[0] += 1
    rate, end = _4 / math.sqrt(np.float32(seen[0])), _draw(state, example)
    vote, whole, s, sum_of_shares = _0, _0, _0, _0
    shared = shared_of(example_of(example).shared)
    widens = not shared.min_label <= label <= shared.max_label  # VW lets the first learner predict before that
    for i in range(state.learners):
        at, weight = submodel(layer, offset, i), importance * _weight(state, i, s)
        p = predict_next(layer, example, UNLABELED, importance, at) if i == 0 and widens else _0
        learned = learn_next(layer, example, label, weight, at)
        p = p if i == 0 and widens else learned
        if state.algorithm == MAJORITY:
            s, vote = s + label * p, vote + p
            continue
        margin = label * p
        s += margin * votes[i]
        whole += p * votes[i]
        vote += p * votes[i] if sum_of_shares <= end else _0
        sum_of_shares += shares[i]
        if state.algorithm == ADAPTIVE and label * whole < _0:
            shares[i] *= _FALL
        _move(votes, i, rate, margin, s)
    if state.algorithm == ADAPTIVE:
        _divide(shares)
    return _say(layer, example, label, importance, first if state.predict_first == 1 else vote)


class Boosting(Reduction):
    """Several weak learners, each taught most where those before it are wrong."""

    name: ClassVar[str] = "boosting"
    Parameters: ClassVar[type[Parameters]] = BoostingParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"votes": Limits(-2, 2), "shares": POSITIVE, "seen": COUNT}

    def __init__(self, parameters: BoostingParameters, context: Context) -> None:
        super().__init__(parameters, context)
        rows = (context.submodels, parameters.learners)
        self.state = Record(
            BOOSTING,
            algorithm=get_args(Algorithm).index(parameters.algorithm),
            learners=parameters.learners,
            loss=context.loss(self.answers.loss or LossChoice(name="squared")),
            predict_first=parameters.predict_first,
            chances=importances(parameters.learners, parameters.edge),
            votes=np.zeros(rows, np.float32),
            shares=np.ones(rows, np.float32),
            seen=np.zeros(context.submodels, np.int64),
        )

    @classmethod
    def width(cls, parameters: BoostingParameters) -> int:
        """One sub-model per weak learner."""
        return parameters.learners

    @property
    def answers(self) -> Answers:
        """A vote on two labels."""
        return replace(super().answers, labels=(-1.0, 1.0))
