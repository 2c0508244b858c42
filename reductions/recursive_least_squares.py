"""Recursive least squares over hashed features: a Gaussian posterior in blocks, its noise estimated, its prior chosen.

With y the label, b the running mean of labels, x the features, and for each of several prior variances a mean m, a
covariance S in units of the noise, and the noise variance v:

    u = b + m·x        q = x' S x        e = y - u
    v = (r² + Σ h e² / (1 + h q)) / (1 + Σ h)        b = (r₀ + Σ h y) / (1 + Σ h)
    m += S x e h / (1 + h q)        S -= S x x' S h / (1 + h q)
    log evidence += -h/2 (log v (1 + q) + e² / (v (1 + q)))

r₀ is the middle of the range of labels, r half its width. A weight has under prior t the variance t / (n x²) at first,
with x the value of its feature when it is met first, and n the features of that example: units do not matter. All
priors learn; the one with the greatest evidence predicts. Features that are met first in one example share a block of
S; between blocks covariances are 0.

Source: recursive least squares with a ridge prior is the Kalman filter of a constant state (R. E. Kalman, 1960); one
step ahead the prediction errors give the likelihood (F. Schweppe, "Evaluation of likelihood functions", 1965).
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.hooks import registering
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    int64s_at,
    kernel,
    record_of,
    shared_of,
    state_of,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.parameters import Within
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.linear.features import features_of, gather, rows_of, values_of
from hutch.reductions.linear.kernels import clip
from hutch.reductions.linear.layer import Linear, namespaces_of
from hutch.reductions.linear.memory import Buffer, reserve
from hutch.reductions.linear.terms import MOST_TERMS

_MOST_PRIORS = 8
_MOST_BYTES = 1 << 34
_LEAST, _LARGEST = 1e-24, 1e300
_0 = np.float32(0)

Positive = Annotated[float, Within(gt=0)]


class RecursiveLeastSquaresParameters(Parameters):
    """Parameters of `recursive_least_squares`.

    Attributes:
        prior_variances: that a prediction has whose features are all new, in units of the noise; of several, the
            likeliest decides.
        block: features that share a matrix of covariances.
        blocks: how many such matrices there may be; features met later share the places of others.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too where namespaces go by letter.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces of which only the interactions are used.
    """

    prior_variances: Annotated[tuple[Positive, ...], Within(min_length=1, max_length=_MOST_PRIORS)] = (
        0.0625, 0.25, 1.0, 4.0, 16.0,
    )  # fmt: skip
    block: Annotated[int, Within(ge=1, le=1024)] = 64
    blocks: Annotated[int, Within(ge=1, le=1 << 20)] = 1024
    interactions: Annotated[tuple[str | tuple[str, ...], ...], Within(max_length=MOST_TERMS)] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()


STATE = np.dtype(
    [
        ("features", "u8"),  # address of the FEATURES record
        ("groups", "u8"),  # address of GROUP[submodels]
        ("priors", "u8"),  # address of float64[count]
        ("count", "i8"),
        ("size", "i8"),  # places in a block
        ("blocks", "i8"),  # how many there may be
        ("used", "i8"),  # how many there are
        ("taken", "u8"),  # address of int64[blocks]: places that have a feature
        ("means", "u8"),  # address of float64[blocks, count, size]
        ("covariances", "u8"),  # address of float64[blocks, count, size, size]
        ("numbers", "u8"),  # address of int64[blocks]: 1 + a block's place among those of the example; 0: none
        ("found", "u8"),  # BUFFER of int64: the blocks of the example
        ("rows", "u8"),  # BUFFER of float64[blocks of the example, size]: its features
        ("products", "u8"),  # BUFFER, as `rows`: the covariance times these
        ("sums", "u8"),  # address of float64[64]
    ]
)
GROUP = np.dtype(
    [
        ("importance", "f8"),  # sum over the labels seen
        ("labels", "f8"),  # importance-weighted sum
        ("low", "f8"),
        ("high", "f8"),
        ("residuals", "f8", _MOST_PRIORS),  # Σ h e² / (1 + h q) by prior
        ("evidence", "f8", _MOST_PRIORS),
    ]
)
own_of, group_of = state_of(STATE), record_of(GROUP)
_GROUP_SIZE = np.uint64(GROUP.itemsize)
_8 = uint64(8)


@inlined
def _group_at(s, offset):
    return group_of(s.groups + offset * _GROUP_SIZE)


@inlined
def _row_at(s, buffer, j):
    """Row j of a buffer of float64[…, size]."""
    size = uint64(s.size)
    return float64s_at(reserve(buffer, uint64(0)) + _8 * uint64(j) * size, size)


@inlined
def _mean_at(s, block, k):
    size = uint64(s.size)
    return float64s_at(s.means + _8 * size * (uint64(block) * uint64(s.count) + uint64(k)), size)


@inlined
def _covariance_at(s, block, k):
    square = uint64(s.size * s.size)
    return float64s_at(s.covariances + _8 * square * (uint64(block) * uint64(s.count) + uint64(k)), square)


@inlined
def _best(s, group):
    """The prior with the greatest evidence; at first one in the middle."""
    best = s.count // 2
    for k in range(s.count):
        if group.evidence[k] > group.evidence[best]:
            best = k
    return best


@inlined
def _centre(group):
    """The running mean of labels."""
    return (0.5 * (group.low + group.high) + group.labels) / (1.0 + group.importance)


@inlined
def _noise(group, k):
    """The noise variance; 1 as long as all labels are the same."""
    half = 0.5 * (group.high - group.low)
    return (half * half + group.residuals[k]) / (1.0 + group.importance) if half > 0.0 else 1.0


@helper
def _collect(s, features, shared):
    """Write the features gathered last as a row for each block that has one of them.

    Returns:
        How many blocks these are, -1 if there is no memory; and the share of the features that have no place.
    """
    n, count, without, failed = features.length, int64(0), 0, False
    rows, values, weights, size = rows_of(features, n), values_of(features, n), weights_of(shared), uint64(s.size)
    numbers, most = int64s_at(s.numbers, uint64(s.blocks)), np.float32(s.used * s.size)
    for i in range(n):
        x, place = np.float64(values[i]), weights[uint64(rows[i])]
        if not np.float32(1) <= place <= most:
            without += x != 0.0
            continue
        at = int64(place) - 1
        block = at // s.size
        if numbers[block] == 0:
            more = uint64(count + 1)
            found = reserve(s.found, _8 * more)
            if found == uint64(0) or reserve(s.rows, _8 * more * size) == uint64(0):
                failed = True
                break
            int64s_at(found, more)[count] = block
            _row_at(s, s.rows, count)[:] = 0.0
            count = int64(more)
            numbers[block] = count
        _row_at(s, s.rows, numbers[block] - 1)[at - block * s.size] += x
    for j in range(count):
        numbers[int64s_at(reserve(s.found, uint64(0)), uint64(count))[j]] = 0
    return int64(-1) if failed else count, np.float64(without) / np.float64(n) if without > 0 else 0.0


@inlined
def _block(s, j):
    """The j-th block of the example."""
    return int64s_at(reserve(s.found, uint64(0)), uint64(j) + uint64(1))[j]


@helper
def _fullest(s, count):
    """Of the example's blocks with a free place, the one that holds most of its features; -1 if there is none."""
    best, most, taken = int64(-1), 0, int64s_at(s.taken, uint64(s.blocks))
    for j in range(count):
        held, row = 0, _row_at(s, s.rows, j)
        for i in range(s.size):
            held += row[i] != 0.0
        if held > most and taken[_block(s, j)] < s.size:
            best, most = _block(s, j), held
    return best


@helper
def _give_places(s, features, shared, count):
    """Give each feature without a place one: in a block of the example, in a new one, or another feature's."""
    n, taken, block = features.length, int64s_at(s.taken, uint64(s.blocks)), _fullest(s, count)
    rows, values, weights = rows_of(features, n), values_of(features, n), weights_of(shared)
    priors = float64s_at(s.priors, uint64(s.count))
    for i in range(n):
        row, x = uint64(rows[i]), np.float64(values[i])
        if x == 0.0 or np.float32(1) <= weights[row] <= np.float32(s.used * s.size):
            continue
        if (block < 0 or taken[block] == s.size) and s.used < s.blocks:
            block = s.used
            s.used += 1
        if block >= 0 and taken[block] < s.size:
            place = taken[block]
            taken[block] += 1
            for k in range(s.count):
                _covariance_at(s, block, k)[place * (s.size + 1)] = priors[k] / (np.float64(n) * max(x * x, _LEAST))
            weights[row] = np.float32(block * s.size + place + 1)
        else:
            other = int64(row) % s.blocks
            weights[row] = np.float32(other * s.size + (int64(row) // s.blocks) % taken[other] + 1)


@helper
def _multiply(s, k, j):
    """The covariance of the example's j-th block under prior k times its row, into the products; and x' S x."""
    row, out, covariance = _row_at(s, s.rows, j), _row_at(s, s.products, j), _covariance_at(s, _block(s, j), k)
    out[:] = 0.0
    for i in range(s.size):
        x = row[i]
        if x != 0.0:
            line = covariance[i * s.size : (i + 1) * s.size]
            for t in range(uint64(s.size)):
                out[t] += x * line[t]
    return dot(row, out, float64s_at(s.sums, uint64(64)))


@helper
def _score(s, group, k, count, base):
    """The prediction before clipping under prior k."""
    u = base + _centre(group)
    for j in range(count):
        u += dot(_mean_at(s, _block(s, j), k), _row_at(s, s.rows, j), float64s_at(s.sums, uint64(64)))
    return u


@helper
def _spread(s, k, count):
    """x' S x under prior k; the products stay."""
    if reserve(s.products, _8 * uint64(count) * uint64(s.size)) == uint64(0):
        return np.inf
    q = 0.0
    for j in range(count):
        q += _multiply(s, k, j)
    return max(q, 0.0)


@inlined
def _judge(example, u, label, importance):
    """Write what a score means for the example; returns the prediction."""
    e = example_of(example)
    prediction = clip(shared_of(e.shared), np.float32(u))
    e.raw, e.updated, e.loss = np.float32(u), prediction, 0.0
    if label != UNLABELED and importance > _0:
        e.loss = np.float64((prediction - label) * (prediction - label) * importance)
    return prediction


@helper
def _read(layer, example, offset):
    """Read the example; returns its blocks, the share of features without a place, and the score."""
    s, e = own_of(layer), example_of(example)
    features, group = features_of(s.features), _group_at(s, offset)
    gather(features, example, offset)
    count, without = _collect(s, features, shared_of(e.shared))
    return count, without, _score(s, group, _best(s, group), count, np.float64(e.base))


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return _judge(example, _read(layer, example, offset)[2], label, importance)


@kernel
def sensitivity(layer, example, label, importance, offset):
    """The posterior variance of the prediction."""
    s = own_of(layer)
    group = _group_at(s, offset)
    count, without, u = _read(layer, example, offset)
    _judge(example, u, UNLABELED, _0)
    k = _best(s, group)
    return np.float32(_noise(group, k) * (_spread(s, k, count) + float64s_at(s.priors, uint64(s.count))[k] * without))


@helper
def _update(s, k, count, move, gain):
    """Move the means by `move` along the products, and take `gain` times their square from the covariance."""
    for j in range(count):
        along, block = _row_at(s, s.products, j), _block(s, j)
        mean, covariance = _mean_at(s, block, k), _covariance_at(s, block, k)
        for i in range(s.size):
            mean[i] += move * along[i]
            share = gain * along[i]
            if share != 0.0:
                line = covariance[i * s.size : (i + 1) * s.size]
                for t in range(uint64(s.size)):
                    line[t] -= share * along[t]


@helper
def _learn_priors(s, group, count, base, y, h):
    """Let all priors learn the label of an example whose features have places."""
    varied = group.high > group.low
    for k in range(s.count):
        q, error = _spread(s, k, count), y - _score(s, group, k, count, base)
        gain = h / (1.0 + h * q)
        if not (q < _LARGEST and abs(error) < 1e150):
            continue
        if varied:
            variance = _noise(group, k) * (1.0 + q)
            group.evidence[k] -= 0.5 * h * (math.log(variance) + error * error / variance)
        group.residuals[k] += gain * error * error
        _update(s, k, count, gain * error, gain)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn."""
    s, e = own_of(layer), example_of(example)
    features, shared, group = features_of(s.features), shared_of(e.shared), _group_at(s, offset)
    count, without, u = _read(layer, example, offset)
    widen(shared, label)
    prediction = _judge(example, u, label, importance)
    if label == UNLABELED or not importance > _0 or shared.testing == uint64(1) or count < 0:
        return prediction
    y, h = np.float64(label), np.float64(importance)
    first = group.importance == 0.0
    group.low, group.high = y if first else min(group.low, y), y if first else max(group.high, y)
    if without > 0.0:
        _give_places(s, features, shared, count)
        count = _collect(s, features, shared)[0]
    if count >= 0:
        _learn_priors(s, group, count, np.float64(e.base), y, h)
    group.importance += h
    group.labels += h * y
    e.updated = clip(shared, np.float32(_score(s, group, _best(s, group), count, np.float64(e.base))))
    return prediction


_SUMS = ("importance", "labels", "low", "high", "residuals", "evidence")


class RecursiveLeastSquares(Reduction):
    """A linear model of hashed features with a Gaussian posterior in blocks.

    Raises:
        ConfigError: more memory than any machine should be asked for.
    """

    name: ClassVar[str] = "recursive_least_squares"
    Parameters: ClassVar[type[Parameters]] = RecursiveLeastSquaresParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    kernels = Kernels(learn, predict, sensitivity=sensitivity)
    begin_batch = Linear.begin_batch
    gathered = Linear.gathered
    features = Linear.features
    _make_features = Linear._make_features

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        p, count = parameters, len(parameters.prior_variances)
        if p.blocks * p.block >= 1 << 24 or 8 * p.blocks * p.block**2 * count > _MOST_BYTES:
            raise ConfigError(
                f"recursive_least_squares: got {p.blocks} blocks of {p.block} features under {count} priors, wanted "
                f"fewer than {1 << 24} features, and matrices of at most {_MOST_BYTES >> 30} GB"
            )
        self.inputs = Inputs(namespaces=namespaces_of(p), one_pass=True)
        self._features = self._make_features()  # type: ignore[misc]
        self._groups = np.zeros(context.submodels, GROUP)
        self._taken = np.zeros(p.blocks, np.int64)
        self._means = np.zeros((p.blocks, count, p.block))
        self._covariances = np.zeros((p.blocks, count, p.block, p.block))
        self.state = Record(
            STATE,
            features=self._features.record,
            groups=self._groups,
            priors=np.array(p.prior_variances),
            count=count,
            size=p.block,
            blocks=p.blocks,
            taken=self._taken,
            means=self._means,
            covariances=self._covariances,
            numbers=np.zeros(p.blocks, np.int64),
            found=Buffer(),
            rows=Buffer(),
            products=Buffer(),
            sums=np.zeros(64),
        )

    @property
    def answers(self) -> Answers:
        """Its sensitivity is a variance."""
        return replace(super().answers, sensitivity_is_variance=True)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Sums for each sub-model, and the blocks in use."""
        used = int(self.state["used"][0])
        blocks = {"taken": self._taken, "means": self._means, "covariances": self._covariances}
        return {name: self._groups[name] for name in _SUMS} | {name: array[:used] for name, array in blocks.items()}

    def limits(self) -> Mapping[str, Limits]:
        """Sums, places, and moments."""
        found = dict.fromkeys(("importance", "residuals"), POSITIVE)
        found |= dict.fromkeys(("labels", "low", "high", "evidence"), FINITE)
        found |= dict.fromkeys(("means", "covariances"), Limits(finite=True, grows=True))
        return found | {"taken": Limits(1, self.parameters.block, grows=True)}

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Means and covariances are of the same blocks.

        Raises:
            ModelError: they are not, or there are more than the parameters allow.
        """
        taken, *others = (len(dense(arrays[name])) for name in ("taken", "means", "covariances"))
        if others != [taken, taken] or taken > self.parameters.blocks:
            raise ModelError(
                f"recursive_least_squares: got {taken} blocks, {others[0]} of means and {others[1]} of covariances, "
                f"wanted as many of each, at most {self.parameters.blocks}"
            )

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Let as many blocks be in use as the model has."""
        for array in (self._taken, self._means, self._covariances):
            array[int(self.state["used"][0]):] = 0  # fmt: skip
        self.state["used"] = len(dense(arrays["taken"]))


hutch_register_reductions = registering(RecursiveLeastSquares)
