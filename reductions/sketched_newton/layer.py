"""Online Newton steps with a sketch of the curvature: Oja's algorithm finds its largest eigenvectors as it goes.

The matrix by which a Newton step scales the gradient is α times the identity, plus what the gradients so far have along
m directions. The directions lie in the weight table, a column each, and stay those of an orthonormal basis by a small
matrix A beside them, so that the time per feature is that of m + 1 weights.

Source: H. Luo, A. Agarwal, N. Cesa-Bianchi, J. Langford, "Efficient second order online learning by sketching", NIPS
2016; VW 9.11.9, `--OjaNewton`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import COUNT, FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.chain.stored import Stored, dense, room_for
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import call_loss, example_of, kernel, loss_of, shared_of, widen
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import Within
from hutch.reductions.ftrl.base import SumsParameters, learns
from hutch.reductions.linear.kernels import clip, predicted
from hutch.reductions.linear.layer import HashedLearner
from hutch.reductions.sketched_newton.directions import fill_directions
from hutch.reductions.sketched_newton.steps import (
    STATE,
    normalise,
    orthonormalise,
    own,
    project,
    score,
    sketch,
    take_in,
    update_b,
)
from hutch.reductions.sketched_newton.waiting import end_epoch, fill, wait

_0, _2 = np.float32(0), np.float32(2)
_FIRST_NORM = np.float32(0.1)

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


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, own(layer).loss, label, importance, score(layer, example, offset))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, sketch the gradient, and take a step."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    given = score(layer, example, offset)
    first = clip(shared, given)
    widen(shared, label)
    prediction = predicted(example, state.loss, label, importance, given)
    if not learns(shared, label, importance):
        return prediction
    slope = call_loss(loss_of(state.loss).derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    half = np.float32(slope) * importance / _2
    if state.normalize == 1:
        normalise(state, shared, half)
    if state.epoch == uint64(1):
        sketch(state, shared, half / _2, project(state, shared, _0))
        orthonormalise(state)
    else:
        wait(state, half / _2)
        if state.waiting == state.epoch:
            end_epoch(state, shared)
            orthonormalise(state)
    project(state, shared, half)
    update_b(state, half)
    take_in(state, shared)
    return first if state.predict_first == 1 else prediction


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
        length = int(targets["ends"][count - 1]) if count else 0
        return found | {
            "ends": targets["ends"][:count].astype(np.int64),
            "shares": targets["shares"][:count].copy(),
            "rows": self._rows.read(np.uint32, length),
            "values": self._values.read(np.float32, length),
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
        self._incoming = room_for({name: arrays[name] for name in names})

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
