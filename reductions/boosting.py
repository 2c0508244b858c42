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
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import int64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.chain.reduction import Kernels, Labels, Predictions
from hutch.core.declared.layer import Layer
from hutch.core.declared.outcome import OwnLoss
from hutch.core.declared.state import Array, State
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, learn_next, predict_next, shared_of, submodel
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
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


state = State(
    BoostingParameters,
    chances=Array("f4", "learners", "learners", first=lambda p, random: importances(p.learners, p.edge)),
    votes=Array("f4", "learners", learned=True, limits=Limits(-2, 2)),
    shares=Array("f4", "learners", first=lambda p, random: 1.0, learned=True, limits=POSITIVE),
    seen=Array("i8", learned=True, limits=COUNT),  # labelled examples
)


@helper
def _weight(own, i, s):
    """The importance of learner i for an example whose margin by those before it is s."""
    if own.algorithm != MAJORITY:
        return _1 / (_1 + math.exp(s))
    k = int64(math.floor((np.float32(own.learners - i) - s) / _2))
    if k < 0 or k > own.learners - i - 1:
        return _0
    return own.chances[i, k]


@helper
def _draw(own, example):
    """Where the vote ends: at a random sum of shares; never, but for `adaptive`."""
    shared = shared_of(example_of(example).shared)
    if own.algorithm != ADAPTIVE:
        return np.float32(np.inf)
    shared.random_state, found = merand48(shared.random_state)
    return found


@kernel
def predict(layer, example, label, importance, offset):
    """The vote."""
    own, vote, sum_of_shares = state(layer, offset), _0, _0
    end = _draw(own, example)
    for i in range(own.learners):
        if sum_of_shares > end:
            break
        p = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, i))
        vote += p if own.algorithm == MAJORITY else p * own.votes[i]
        sum_of_shares += own.shares[i]
    example_of(example).updated = vote
    return vote


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
    own, shared = state(layer, offset), shared_of(example_of(example).shared)
    if label == UNLABELED or not importance > _0 or shared.testing == 1:
        return predict(layer, example, label, importance, offset)
    first = predict(layer, example, label, importance, offset) if own.predict_first else _0
    own.seen[0] += 1
    rate, end = _4 / math.sqrt(np.float32(own.seen[0])), _draw(own, example)
    vote, whole, s, sum_of_shares = _0, _0, _0, _0
    widens = not shared.min_label <= label <= shared.max_label  # VW lets the first learner predict before that
    for i in range(own.learners):
        at, weight = submodel(layer, offset, i), importance * _weight(own, i, s)
        p = predict_next(layer, example, UNLABELED, importance, at) if i == 0 and widens else _0
        learned = learn_next(layer, example, label, weight, at)
        p = p if i == 0 and widens else learned
        if own.algorithm == MAJORITY:
            s, vote = s + label * p, vote + p
            continue
        margin = label * p
        s += margin * own.votes[i]
        whole += p * own.votes[i]
        vote += p * own.votes[i] if sum_of_shares <= end else _0
        sum_of_shares += own.shares[i]
        if own.algorithm == ADAPTIVE and label * whole < _0:
            own.shares[i] *= _FALL
        _move(own.votes, i, rate, margin, s)
    if own.algorithm == ADAPTIVE:
        _divide(own.shares)
    found = first if own.predict_first else vote
    example_of(example).updated = found
    return found


class Boosting(Layer):
    """Several weak learners, each taught most where those before it are wrong."""

    name: ClassVar[str] = "boosting"
    declares = state
    models = "learners"
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    loss = OwnLoss.LEARNED
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    @property
    def answers(self) -> Answers:
        """A vote on two labels."""
        return replace(super().answers, labels=(-1.0, 1.0))
