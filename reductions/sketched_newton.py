"""Online Newton steps with a sketch of the curvature: Oja's algorithm finds its largest eigenvectors as it goes.

The matrix by which a Newton step scales the gradient is α times the identity, plus what the gradients so far have along
m directions. The directions lie in the weight table, a column each, and stay those of an orthonormal basis by a small
matrix A beside them, so that the time per feature is that of m + 1 weights.

Source: H. Luo, A. Agarwal, N. Cesa-Bianchi, J. Langford, "Efficient second order online learning by sketching", NIPS
2016; VW 9.11.9, `--OjaNewton`.
"""

import ctypes
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    call_loss,
    example_of,
    float32s_at,
    kernel,
    loss_of,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
    uint64s_at,
    weights_of,
    widen,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Within
from hutch.reductions.ftrl.base import SumsParameters, learns
from hutch.reductions.linear.kernels import clip, predicted
from hutch.reductions.linear.layer import HashedLearner

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_FIRST_NORM = np.float32(0.1)
_MOST = 1e7
"""Numbers of the small matrices above it are taken into the weight table."""
_TURN = float(np.float32(2) * np.float32(3.1415927))

Positive = Annotated[float, Within(gt=0)]


class SketchedNewtonParameters(SumsParameters):
    """Parameters of `sketched_newton`.

    Attributes:
        sketch: directions, m.
        alpha: strength of the identity; 1 / alpha is like a learning rate.
        rate: directions move by rate / t at the t-th example, at most 1.
        normalize: features are divided by the root of the sum of their squared gradients.
        predict_first: as VW without `--binary`, predict before a label widens the range of predictions.
        epoch: examples after which the directions move, by each of these in turn; until then the gradients wait.
        random_start: directions begin with random numbers; else each with a row of the weight table.
    """

    sketch: Annotated[int, Within(ge=1, le=62)] = 10
    alpha: Positive = 1.0
    rate: Positive = 2.0
    normalize: bool = True
    predict_first: bool = False
    random_start: bool = True
    epoch: Annotated[int, Within(ge=1, le=1 << 20)] = 1


STATE = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("size", "u8"),  # m
        ("turns", "i8"),  # 1 + examples learned
        ("vectors", "u8"),  # address of float32[6, m]: eigenvalues, b, Z x, A Z x, move, scratch
        ("matrices", "u8"),  # address of float32[2, m, m]: A, and K, the products of the directions
        ("epoch", "u8"),
        ("waiting", "u8"),  # examples that wait for the end of an epoch
        ("ends", "u8"),  # address of uint64[epoch]: where the features of each end
        ("shares", "u8"),  # address of float32[epoch]: the slope of each, halved twice
        ("rows", "u8"),  # BUFFER of the rows of their features, uint32
        ("values", "u8"),  # BUFFER of their values, float32
        ("alpha", "f4"),
        ("rate", "f4"),
        ("normalize", "u4"),
        ("predict_first", "u4"),
    ]
)
own = state_of(STATE)
_EIGENVALUES, _B, _ZX, _AZX, _MOVE, _SCRATCH = range(6)


@inlined
def _vector(state, k):
    return float32s_at(state.vectors + uint64(4) * state.size * uint64(k), state.size)


@inlined
def _matrix(state, k):
    """A (0) or K (1), row by row."""
    return float32s_at(state.matrices + uint64(4) * state.size * state.size * uint64(k), state.size * state.size)


@inlined
def _scaled(state, weights, at, x):
    """A feature's value as the learner sees it."""
    if state.normalize == 1:
        return x / np.float32(math.sqrt(weights[at + state.size + uint64(1)]))
    return x


@helper
def _score(layer, example, offset):
    """Gather the features; returns the score."""
    state, e = own(layer), example_of(example)
    features, shared, p, b = features_of(state.features), shared_of(e.shared), e.base, _vector(state, _B)
    n = uint64(gather(features, example, offset))
    rows, values, weights = rows_of(features, n), values_of(features, n), weights_of(shared)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = _scaled(state, weights, at, values[i])
        p += weights[at] * x
        for j in range(state.size):
            p += weights[at + uint64(1) + j] * x * b[j]
    return p


@helper
def _project(state, shared, step):
    """Z x of the features gathered last, after a step of their weights; returns |x|²."""
    features, weights, zx, square = features_of(state.features), weights_of(shared), _vector(state, _ZX), _0
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for j in range(state.size):
        zx[j] = _0
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = _scaled(state, weights, at, values[i])
        for j in range(state.size):
            zx[j] += weights[at + uint64(1) + j] * x
        square += x * x
        weights[at] -= step * x / state.alpha
    a, azx = _matrix(state, 0), _vector(state, _AZX)
    for i in range(state.size):
        azx[i] = _0
        for j in range(i + uint64(1)):
            azx[i] += a[i * state.size + j] * zx[j]
    return square


@helper
def _sketch(state, shared, share, square):
    """Move eigenvalues and directions by the features gathered last, whose gradient is `share` of them."""
    t, vectors = np.float32(state.turns), _vector(state, _EIGENVALUES)
    gamma = min(state.rate / t, _1)
    zx, azx, move, b = _vector(state, _ZX), _vector(state, _AZX), _vector(state, _MOVE), _vector(state, _B)
    back = _0
    for i in range(state.size):
        along = azx[i] * share
        if state.turns == 1:
            vectors[i] = gamma * along * along
        else:
            vectors[i] = (_1 - gamma) * t * vectors[i] / np.float32(state.turns - 1) + gamma * t * along * along
        move[i] = gamma * zx[i] * share
        back += move[i] * b[i]
    products, length = _matrix(state, 1), square * share * share
    for i in range(state.size):
        for j in range(state.size):
            at = i * state.size + j
            products[at] += move[i] * zx[j] * share
            products[at] += move[j] * zx[i] * share
            products[at] += move[i] * move[j] * length
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        x = share * _scaled(state, weights, at, values[i])
        for j in range(state.size):
            weights[at + uint64(1) + j] += move[j] * x
        weights[at] -= x * back
    state.turns += 1


@helper
def _orthonormalise(state):
    """Make A Z orthonormal again, row by row, by the products of the directions."""
    a, products, size = _matrix(state, 0), _matrix(state, 1), int64(state.size)
    z, v = _vector(state, _MOVE), _vector(state, _SCRATCH)
    for i in range(size):
        for j in range(i):
            z[j] = _0
            for k in range(i + 1):
                z[j] += a[i * size + k] * products[k * size + j]
        for j in range(i):
            v[j] = _0
            for k in range(j + 1):
                v[j] += a[j * size + k] * z[k]
        for j in range(i):
            for k in range(j, i):
                a[i * size + j] -= v[k] * a[k * size + j]
        norm = _0
        for j in range(i + 1):
            part = _0
            for k in range(i + 1):
                part += products[j * size + k] * a[i * size + k]
            norm += a[i * size + j] * part
        norm = np.float32(math.sqrt(norm))
        for j in range(i + 1):
            a[i * size + j] /= norm


@helper
def _update_b(state, slope):
    """What the step leaves out along the directions, which the weights do not have."""
    a, b, azx, size = _matrix(state, 0), _vector(state, _B), _vector(state, _AZX), int64(state.size)
    eigenvalues = _vector(state, _EIGENVALUES)
    for j in range(size):
        part = _0
        for i in range(j, size):
            value = eigenvalues[i]
            part += value * azx[i] * a[i * size + j] / (state.alpha * (state.alpha + value))
        b[j] += part * slope


@helper
def _take_in(state, shared):
    """Take A and b into the table where numbers of K have become large, and begin with the identity again."""
    a, products, b, size = _matrix(state, 0), _matrix(state, 1), _vector(state, _B), int64(state.size)
    row, largest = _vector(state, _SCRATCH), 0.0
    for i in range(size):
        for j in range(i, size):
            largest = max(largest, np.float64(abs(products[i * size + j])))
    if largest < _MOST:
        return
    for side in range(2):
        for j in range(size):
            for i in range(size):
                row[i] = _0
                for h in range(size):
                    k = products[h * size + j] if side == 0 else products[j * size + h]
                    row[i] += a[i * size + h] * k
            for i in range(size):
                products[i * size + j if side == 0 else j * size + i] = row[i]
    weights, stride = weights_of(shared), int64(shared.stride)
    for at in range(0, len(weights), stride):
        for i in range(size):
            weights[at] += weights[at + 1 + i] * b[i]
            row[i] = _0
            for h in range(size):
                row[i] += a[i * size + h] * weights[at + 1 + h]
        for i in range(size):
            weights[at + 1 + i] = row[i]
    for i in range(size):
        b[i] = _0
        for j in range(size):
            a[i * size + j] = _1 if i == j else _0


@helper
def _normalise(state, shared, slope):
    """Add the squared gradients of the features gathered last to their sums."""
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride + state.size + uint64(1)
        weights[at] += values[i] * values[i] * slope * slope


@helper
def _wait(state, share):
    """Keep the features gathered last until the epoch ends; without memory they are left out."""
    features, count = features_of(state.features), state.waiting
    ends, n = uint64s_at(state.ends, state.epoch), features.length
    start = ends[count - uint64(1)] if count > uint64(0) else uint64(0)
    rows, values = reserve(state.rows, uint64(4) * (start + n)), reserve(state.values, uint64(4) * (start + n))
    if rows == uint64(0) or values == uint64(0):
        return
    copy(rows_of(features, n), uint32s_at(rows + uint64(4) * start, n))
    copy(values_of(features, n), float32s_at(values + uint64(4) * start, n))
    ends[count], float32s_at(state.shares, state.epoch)[count] = start + n, share
    state.waiting += uint64(1)


@helper
def _end_epoch(state, shared):
    """Sketch the gradients that wait, one after the other."""
    features = features_of(state.features)
    kept, start = (features.rows, features.values, features.length), uint64(0)
    rows, values = reserve(state.rows, uint64(0)), reserve(state.values, uint64(0))
    for k in range(state.waiting):
        end = uint64s_at(state.ends, state.epoch)[k]
        features.rows, features.values = rows + uint64(4) * start, values + uint64(4) * start
        features.length, start = end - start, end
        _sketch(state, shared, float32s_at(state.shares, state.epoch)[k], _project(state, shared, _0))
    state.waiting = uint64(0)
    features.rows, features.values, features.length = kept


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, own(layer).loss, label, importance, _score(layer, example, offset))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, sketch the gradient, and take a step."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    score = _score(layer, example, offset)
    first = clip(shared, score)
    widen(shared, label)
    prediction = predicted(example, state.loss, label, importance, score)
    if not learns(shared, label, importance):
        return prediction
    slope = call_loss(loss_of(state.loss).derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    half = np.float32(slope) * importance / _2
    if state.normalize == 1:
        _normalise(state, shared, half)
    if state.epoch == uint64(1):
        _sketch(state, shared, half / _2, _project(state, shared, _0))
        _orthonormalise(state)
    else:
        _wait(state, half / _2)
        if state.waiting == state.epoch:
            _end_epoch(state, shared)
            _orthonormalise(state)
    _project(state, shared, half)
    _update_b(state, half)
    _take_in(state, shared)
    return first if state.predict_first == 1 else prediction


state_at = record_of(STATE)


@compiled
def fill(address, rows, values):
    """Put features that were saved back into the buffers; returns False without memory.

    Args:
        address: of the STATE record.
        rows: uint32 (features).
        values: float32 (features).
    """
    state, n = state_at(address), uint64(len(rows))
    new, numbers = reserve(state.rows, uint64(4) * n), reserve(state.values, uint64(4) * n)
    if new == uint64(0) or numbers == uint64(0):
        return False
    copy(rows, uint32s_at(new, n))
    copy(values, float32s_at(numbers, n))
    return True


@compiled
def fill_directions(weights, stride, size, random_state, draws):
    """Fill columns 1 to m of the table with an orthonormal basis.

    Args:
        weights: the table as one array, float32[rows · stride].
        stride: numbers per row.
        size: m.
        random_state: uint64 (1): of the run; it moves on.
        draws: whether the basis is that of random numbers.
    """
    for at in range(0, len(weights), stride):
        for j in range(size):
            if not draws:
                weights[at + 1 + j] = _1 if at == (j + 1) * stride else _0
                continue
            first, second = _0, _0
            while first == _0:
                random_state[0], first = merand48(random_state[0])
                random_state[0], second = merand48(random_state[0])
            root = np.float32(math.sqrt(np.float32(-2) * np.float32(math.log(first))))
            weights[at + 1 + j] = root * np.float32(math.cos(_TURN * np.float64(second)))
    for j in range(1, size + 1):
        for k in range(1, j):
            product = 0.0
            for at in range(0, len(weights), stride):
                product += np.float64(weights[at + j]) * np.float64(weights[at + k])
            for at in range(0, len(weights), stride):
                weights[at + j] -= np.float32(product) * weights[at + k]
        square = 0.0
        for at in range(0, len(weights), stride):
            square += np.float64(weights[at + j]) * np.float64(weights[at + j])
        norm = np.float32(math.sqrt(square))
        for at in range(0, len(weights), stride):
            weights[at + j] /= norm


class SketchedNewton(HashedLearner):
    """A linear learner whose steps know how gradients go together.

    Raises:
        ConfigError: several sub-models, or fewer rows than directions.
    """

    name: ClassVar[str] = "sketched_newton"
    Parameters: ClassVar[type[Parameters]] = SketchedNewtonParameters
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"turns": Limits(1, COUNT.most), "vectors": FINITE, "matrices": FINITE}

    def __init__(self, parameters: SketchedNewtonParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p = parameters
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got {context.submodels} sub-models, wanted one: it keeps one sketch")
        if p.sketch >= 1 << context.bits:
            raise ConfigError(f"{self.name}.sketch: got {p.sketch}, wanted fewer than the {1 << context.bits} rows")
        self._rows, self._values = Buffer(), Buffer()
        self._incoming: dict[str, NDArray[Any]] | None = None
        self.state = Record(
            STATE,
            epoch=p.epoch,
            ends=np.zeros(p.epoch, np.uint64),
            shares=np.zeros(p.epoch, np.float32),
            rows=self._rows,
            values=self._values,
            loss=context.loss(p.loss),
            features=self._features.record,
            size=p.sketch,
            turns=1,
            vectors=np.zeros((6, p.sketch), np.float32),
            matrices=np.stack([np.eye(p.sketch, dtype=np.float32)] * 2),
            alpha=p.alpha,
            rate=p.rate,
            normalize=p.normalize,
            predict_first=p.predict_first,
        )

    @property
    def stride(self) -> int:
        """The weight, its share of each direction, and the sum of squared gradients."""
        columns: int = self.parameters.sketch + 2
        return 1 << (columns - 1).bit_length()

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the first directions, and sums of squared gradients by which one can divide."""
        p, random_state = self.parameters, np.array([self.context.shared["random_state"][0]], np.uint64)
        if p.normalize:
            weights[:, p.sketch + 1] = _FIRST_NORM
        fill_directions(weights.reshape(-1), self.stride, p.sketch, random_state, bool(p.random_start))
        self.context.shared["random_state"] = random_state[0]

    def saved(self) -> dict[str, NDArray[Any]]:
        """Also the gradients that wait for the end of an epoch."""
        found = super().saved()
        if self.parameters.epoch == 1:
            return found
        if self._incoming is not None:
            return found | self._incoming
        count, targets = int(self.state["waiting"][0]), self.state.targets  # type: ignore[union-attr]
        size = 4 * int(targets["ends"][count - 1]) if count else 0
        rows, values = (
            ctypes.string_at(int(each.record["address"][0]), size) if size else b""
            for each in (self._rows, self._values)
        )
        return found | {
            "ends": targets["ends"][:count].astype(np.int64),
            "shares": targets["shares"][:count].copy(),
            "rows": np.frombuffer(rows, np.uint32),
            "values": np.frombuffer(values, np.float32),
        }

    def limits(self) -> Mapping[str, Limits]:
        """All finite; rows within the table."""
        if self.parameters.epoch == 1:
            return self.keeps
        rows = int(self.context.shared["mask"][0])
        return {
            **self.keeps,
            "ends": Limits(0, 1 << 40, grows=True),
            "shares": Limits(finite=True, grows=True),
            "rows": Limits(0, rows, grows=True),
            "values": Limits(finite=True, grows=True),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """The examples that wait have features, and are fewer than an epoch.

        Raises:
            ModelError: they do not fit each other.
        """
        if self.parameters.epoch == 1:
            return
        ends, shares, rows, values = (dense(arrays[name]) for name in ("ends", "shares", "rows", "values"))
        count = int(ends[-1]) if len(ends) else 0
        wrong = len(ends) != len(shares) or len(ends) >= self.parameters.epoch or len(rows) != len(values)
        if wrong or len(rows) != count or (np.diff(ends, prepend=0) < 0).any():
            raise ModelError(f"{self.name}: got {len(ends)} examples and {len(rows)} features, which do not fit")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the gradients of the model that wait."""
        names = ("ends", "shares", "rows", "values") if self.parameters.epoch > 1 else ()
        self._incoming = {name: np.zeros_like(dense(arrays[name])) for name in names}

    def loaded(self) -> None:
        """Let the gradients of the model wait here.

        Raises:
            ModelError: there is no memory for them.
        """
        found, self._incoming = self._incoming or {}, None
        if not found:
            return
        state, count = self.state, len(found["ends"])
        state.targets["ends"][:count], state.targets["shares"][:count] = found["ends"], found["shares"]  # type: ignore[union-attr]
        state["waiting"] = count
        if not fill(state.address, found["rows"], found["values"]):  # type: ignore[union-attr]
            raise ModelError(f"{self.name}: its {count} examples need more memory than there is")
