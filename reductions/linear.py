"""The linear learner: importance-aware online gradient descent over hashed features, as VW 9.11.9's gd, to the bit."""

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray
from pydantic import Field, model_validator

from hutch.core.abi import (
    UNLABELED,
    call_loss,
    example_at,
    float32s_at,
    float64s_at,
    kernel,
    layer_at,
    loss_at,
    shared_at,
    view,
)
from hutch.core.batch import CONSTANT_INDEX
from hutch.core.errors import ConfigError
from hutch.core.hashing import namespace_id
from hutch.core.hooks import hookimpl
from hutch.core.kernel_helper import njit
from hutch.core.loss_flow import budget_to
from hutch.core.losses import LossChoice
from hutch.core.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.reductions.linear_features import Features, features_at, gather, rows_of, values_of
from hutch.reductions.linear_rates import RATES, measure, rates_at
from hutch.reductions.linear_terms import MAX_ORDER, WILDCARD, Terms

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class LinearParameters(Parameters):
    """Parameters of `linear`.

    Attributes:
        loss: `hinge`, or `{quantile: {tau: 0.9}}`.
        learning_rate: step of the update.
        power_t: rates fall with the power_t-th power of what they adapt to.
        initial_t: importance taken as seen before the first example; 1 if neither adaptive nor normalized, else 0.
        decay: the learning rate is multiplied by this after each pass.
        adaptive: a rate for each feature, from its squared gradients.
        normalized: the scale of features does not matter.
        invariant: an example of importance 2 does what two examples do.
        l1, l2: regularisation, applied lazily with each update.
        sparse_l2: shrinks the features of the example only.
        initial_weight: what weights start from.
        initial_constant: what the constant feature's weight starts from.
        min_prediction, max_prediction: clip predictions to these; None: to the range of the labels seen.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too where namespaces go by letter.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces of which only the interactions are used.
    """

    loss: LossChoice = LossChoice(name="squared")
    learning_rate: NonNegative = 0.5
    power_t: Finite = 0.5
    initial_t: NonNegative | None = None
    decay: NonNegative = 1.0
    adaptive: bool = True
    normalized: bool = True
    invariant: bool = True
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    sparse_l2: NonNegative = 0.0
    initial_weight: Finite = 0.0
    initial_constant: Finite = 0.0
    min_prediction: Finite | None = None
    max_prediction: Finite | None = None
    interactions: tuple[str | tuple[str, ...], ...] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> "LinearParameters":
        if None not in (self.min_prediction, self.max_prediction) and self.min_prediction > self.max_prediction:  # type: ignore[operator]
            raise ValueError(f"min_prediction {self.min_prediction} is above max_prediction {self.max_prediction}")
        for term in self.interactions:
            if not 2 <= len(term) <= MAX_ORDER:
                raise ValueError(f"interactions: got {term!r}, wanted 2 to {MAX_ORDER} namespaces")
        return self


LINEAR = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("rates", "u8"),  # address of the RATES record
        ("regularization", "u8"),  # address of float64[2]: contraction and gravity
        ("learning_rate", "f4"),
        ("power_t", "f4"),
        ("adaptive", "u4"),
        ("normalized", "u4"),
        ("invariant", "u4"),
        ("l1", "f4"),
        ("l2", "f4"),
        ("sparse_l2", "f4"),
    ]
)
linear_at = view(LINEAR)

_LEAST_UPDATE = 1e-8
_0, _1 = np.float32(0), np.float32(1)
_MOST = np.float32(np.finfo(np.float32).max)


@njit(inline="always")
def _state(layer):  # type: ignore[no-untyped-def]
    return linear_at(layer_at(layer)[0].state)[0]


@njit(inline="always")
def _weights(shared):  # type: ignore[no-untyped-def]
    return float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)


@njit(inline="always")
def _loss(state, prediction, label):  # type: ignore[no-untyped-def]
    record = loss_at(state.loss)[0]
    value = call_loss(record.value, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    return np.float32(value)


@njit
def _shrunk(w, gravity):  # type: ignore[no-untyped-def]
    """A weight after its part of l1 regularisation."""
    if not gravity < abs(w):
        return _0
    return w - gravity if w > _0 else w + gravity


@njit
def _score(state, features, example, n):  # type: ignore[no-untyped-def]
    """The prediction before clipping."""
    e = example_at(example)[0]
    shared = shared_at(e.shared)[0]
    weights, stride = _weights(shared), shared.stride
    rows, values = rows_of(features, n), values_of(features, n)
    contraction, gravity = float64s_at(state.regularization, uint64(2))
    p = e.base
    if state.l1 > _0:
        for i in range(uint64(n)):
            p += _shrunk(weights[uint64(rows[i]) * stride], np.float32(gravity)) * values[i]
    else:
        for i in range(uint64(n)):
            p += weights[uint64(rows[i]) * stride] * values[i]
    return p * np.float32(contraction)


@njit
def _clip(shared, raw):  # type: ignore[no-untyped-def]
    if math.isnan(raw):
        return _0
    return min(max(raw, shared.min_label), shared.max_label)


@njit
def _predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Gather the features and predict; returns how many there are, the clipped prediction and its loss."""
    state, e = _state(layer), example_at(example)[0]
    features = features_at(state.features)[0]
    n = gather(features, example, offset)
    e.raw = _score(state, features, example, n)
    prediction = _clip(shared_at(e.shared)[0], e.raw)
    e.updated, e.loss = prediction, 0.0
    loss = _0
    if label != UNLABELED and importance > _0:
        loss = _loss(state, prediction, label)
        e.loss = np.float64(loss * importance)
    return n, prediction, loss


@njit
def _scale(state, shared, importance):  # type: ignore[no-untyped-def]
    """Learning rate times importance; without adaptive rates it falls with the importance seen so far."""
    scale = state.learning_rate * importance
    if state.adaptive == 0:
        time = shared.time + importance - shared.weighted_holdout - shared.weighted_unlabeled
        scale *= np.float32(time) ** -state.power_t
    return scale


@njit
def _materialise(weights, stride, regularization):  # type: ignore[no-untyped-def]
    """Write the pending regularisation into all weights."""
    contraction, gravity = np.float32(regularization[0]), np.float32(regularization[1])
    for at in range(0, len(weights), stride):
        weights[at] = _shrunk(weights[at], gravity) * contraction
    regularization[0], regularization[1] = 1.0, 0.0


@njit(error_model="numpy")
def _regularized(state, update, prediction, label):  # type: ignore[no-untyped-def]
    """The update in terms of the weights before their lazy contraction; moves contraction and gravity on."""
    if (state.l1 == _0 and state.l2 == _0) or not abs(update) > _LEAST_UPDATE:
        return update
    regularization, record = float64s_at(state.regularization, uint64(2)), loss_at(state.loss)[0]
    slope = call_loss(record.derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    step = -np.float64(update) / slope if abs(slope) > _LEAST_UPDATE else 0.0
    regularization[0] *= 1.0 - np.float64(state.l2) * step
    regularization[1] += step * np.float64(state.l1)
    return update / np.float32(regularization[0])


@njit(error_model="numpy")
def _update(state, features, example, n, prediction, loss, label, importance, offset):  # type: ignore[no-untyped-def]
    """The update per unit of feature and rate; rates and norms are moved on."""
    e, record = example_at(example)[0], loss_at(state.loss)[0]
    p, y, update = np.float64(prediction), np.float64(label), _0
    if loss > _0:
        square = importance * np.float32(call_loss(record.square_gradient, p, y, 0.0, 0.0, state.loss))
        norm = measure(rates_at(state.rates)[0], features, example, n, offset, importance, square, True)
        scale = _scale(state, shared_at(e.shared)[0], importance)
        step = record.update if state.invariant == 1 else record.unsafe_update
        update = np.float32(call_loss(step, p, y, np.float64(scale), np.float64(norm), state.loss))
        e.updated = prediction + norm * update
        update = _regularized(state, update, prediction, label)
    if state.sparse_l2 > _0:
        update -= state.sparse_l2 * prediction
    return _0 if math.isnan(update) else update


@njit
def _move(state, features, shared, n, update):  # type: ignore[no-untyped-def]
    """Move the weights of the features gathered last."""
    weights, stride = _weights(shared), shared.stride
    rows, values = rows_of(features, n), values_of(features, n)
    if state.normalized == 1:
        update *= rates_at(state.rates)[0].multiplier
    for i in range(uint64(n)):
        if abs(values[i]) < _MOST:
            at = uint64(rows[i]) * stride
            x = values[i]
            if stride > uint64(1):
                x *= weights[at + uint64(3)]
            weights[at] += update * x
    regularization = float64s_at(state.regularization, uint64(2))
    if regularization[0] < 1e-9 or regularization[1] > 1e3:
        _materialise(weights, np.int64(stride), regularization)


@njit
def _widen(shared, label):  # type: ignore[no-untyped-def]
    """Take a label into the range that predictions are clipped to."""
    if shared.fixed_range == 0 and label != UNLABELED and shared.testing == 0:
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)


@kernel
def predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Predict only; a label without importance still says what range labels have."""
    if not importance > _0:
        _widen(shared_at(example_at(example)[0].shared)[0], label)
    return _predict(layer, example, label, importance, offset)[1]


@kernel
def learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Predict, then train if there is a label."""
    state, e = _state(layer), example_at(example)[0]
    shared = shared_at(e.shared)[0]
    _widen(shared, label)
    n, prediction, loss = _predict(layer, example, label, importance, offset)
    if label == UNLABELED or not importance > _0 or shared.testing == 1 or state.learning_rate == _0:
        return prediction
    features = features_at(state.features)[0]
    update = _update(state, features, example, n, prediction, loss, label, importance, offset)
    if update != _0:
        _move(state, features, shared, n, update)
    return prediction


@njit
def _hypothetical_norm(state, example, n, at, label, importance, offset):  # type: ignore[no-untyped-def]
    """Change of the prediction per unit of update, had the gradient at prediction `at` been learned."""
    features, record = features_at(state.features)[0], loss_at(state.loss)[0]
    p, y = np.float64(at), np.float64(label)
    square = importance * np.float32(call_loss(record.square_gradient, p, y, 0.0, 0.0, state.loss))
    return measure(rates_at(state.rates)[0], features, example, n, offset, importance, square, False)


@kernel
def sensitivity(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Change of the prediction per unit of importance, to first order, as VW's active learner asks for it."""
    state, e = _state(layer), example_at(example)[0]
    n, prediction, _ = _predict(layer, example, label, importance, offset)
    norm = _hypothetical_norm(state, example, n, prediction, label, importance, offset)
    return _scale(state, shared_at(e.shared)[0], _1) * norm


@kernel
def importance_to(layer, example, label, target, offset):  # type: ignore[no-untyped-def]
    """h_min: the importance with which the example, so labelled, moves the prediction to `target`; inf if none does.

    The adaptive rates are those after the gradient at the target has been added, at importance 1.
    """
    state, e = _state(layer), example_at(example)[0]
    n, prediction, _ = _predict(layer, example, label, _1, offset)
    norm = _hypothetical_norm(state, example, n, target, label, _1, offset)
    budget = budget_to(np.float64(prediction), np.float64(target), np.float64(label), state.loss)
    return np.float32(budget / np.float64(_scale(state, shared_at(e.shared)[0], _1) * norm)) if budget > 0.0 else _0


class Linear(Reduction):
    """A linear model of hashed features, learned online.

    Raises:
        ConfigError: a parameter that does not fit the others.
    """

    name: ClassVar[str] = "linear"
    Parameters: ClassVar[type[Parameters]] = LinearParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True

    def __init__(self, parameters: LinearParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, shared = parameters, context.shared
        plain = not (p.adaptive or p.normalized)
        self._initial_t = p.initial_t if p.initial_t is not None else float(plain)
        self._loss = self.loss(p.loss)
        self._features = self._make_features()
        self._norms = np.zeros((context.submodels, 2))
        self._norms[0] = p.initial_t or 0.0
        self._regularization = np.array([1.0, 0.0])
        self._rates = np.zeros(1, RATES)
        rates = self._rates[0]
        rates["norms"], rates["adaptive"], rates["normalized"] = self._norms.ctypes.data, p.adaptive, p.normalized
        rates["square_root"], rates["power_t"], rates["multiplier"] = p.power_t == 0.5, p.power_t, 1.0
        self.state = np.zeros(1, LINEAR)
        state = self.state[0]
        state["loss"], state["features"] = self._loss.ctypes.data, self._features.record.ctypes.data
        state["rates"], state["regularization"] = self._rates.ctypes.data, self._regularization.ctypes.data
        for name in ("learning_rate", "power_t", "adaptive", "normalized", "invariant", "l1", "l2", "sparse_l2"):
            state[name] = getattr(p, name)
        if plain:
            state["learning_rate"] *= np.float32(self._initial_t) ** np.float32(p.power_t)
        shared["time"] = self._initial_t
        self._set_range(shared)

    def _set_range(self, shared: NDArray[Any]) -> None:
        p = self.parameters
        given = (p.min_prediction, p.max_prediction)
        shared["fixed_range"] = given != (None, None)
        initial = self.context.losses[p.loss.name].prediction_range
        low, high = initial if initial and given == (None, None) else (0.0, 0.0)
        shared["min_label"] = low if p.min_prediction is None else p.min_prediction
        shared["max_label"] = high if p.max_prediction is None else p.max_prediction

    def _make_features(self) -> Features:
        p, mode = self.parameters, self.context.parser.namespaces
        letters = mode == "letter"

        def identify(name: str) -> int:
            return WILDCARD if name == ":" else namespace_id(name, mode)

        for term in p.interactions:
            if isinstance(term, str) and not letters:
                wanted = "a list of names; terms are strings of letters only where namespaces go by letter"
                raise ConfigError(f"linear.interactions: got {term!r}, wanted {wanted}")
        ids = [[identify(name) for name in term] for term in p.interactions]
        options = {"permutations": p.permutations, "duplicates": p.duplicate_interactions}
        terms = Terms(ids, letters=letters, **options) if ids else None
        return Features(terms, [namespace_id(name, mode) for name in p.ignore_linear])

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict, importance_to, sensitivity)

    @property
    def stride(self) -> int:
        """4 for (w, G, N, rate), 1 for w alone."""
        return 4 if self.parameters.adaptive or self.parameters.normalized else 1

    def initialise(self, weights: NDArray[np.float32]) -> None:
        """Set the first weights and squared gradients."""
        p, shared = self.parameters, self.context.shared[0]
        weights[:, 0] = p.initial_weight
        if p.adaptive:
            weights[:, 1] = self._initial_t
        if p.initial_constant:
            first = CONSTANT_INDEX * int(shared["multiplier"])
            for k in range(self.context.submodels):
                weights[(first + k) & int(shared["mask"]), 0] = p.initial_constant

    def saved(self) -> dict[str, NDArray[Any]]:
        """Mean norms, pending regularisation, the learning rate after its decay, and the last multiplier."""
        return {
            "norms": self._norms,
            "regularization": self._regularization,
            "learning_rate": self.state["learning_rate"],
            "multiplier": self._rates["multiplier"],
        }

    def gathered(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], list[list[int]]]:
        """The features of the last example, for those who explain it; see `Features.gathered`."""
        return self._features.gathered()

    def end_pass(self) -> None:
        """Let the learning rate decay."""
        self.state["learning_rate"] *= np.float32(self.parameters.decay)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the linear learner."""
    register(Linear)
