"""The arithmetic of the dyadic importance-aware learner, on scalars and arrays.

The model predicts p = a·b + w·x; its state, as one example sees it, is four numbers: U = |a + b|², V = |a - b|²,
X = x·x and wx = w·x. `core.dyad.curve` derives the formulas; kernels use the scalar functions there and in
`core.dyad.step`. Everything here is float64 and broadcasts; scalars in give a scalar out.

Losses, by name: "hinge" max(0, 1 - yp), "logistic" ln(1 + e^-yp), "squared" (p - y)² / 2, "quantile" (tau (y - p) where
p < y, (1 - tau)(p - y) else), "expectile" (tau / 2 (p - y)² where p < y, (1 - tau) / 2 (p - y)² else), "poisson"
e^p - yp. Mind the 1/2: Vowpal Wabbit's squared loss has none, so its steps are those of twice the importance here.

A loss can also be any object with a `derivative`: a plain function (p, y) -> dl/dp that Numba can compile.
"""

from functools import cache
from inspect import ismethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hutch.core.dyad.curve import inverse_, prediction_
from hutch.core.dyad.step import importance_to_, step_exact, step_fast
from hutch.core.errors import ConfigError, did_you_mean
from hutch.core.kernel.abi import LOSS_SIGNATURE
from hutch.core.kernel.cache import compiled
from hutch.core.loss import kinds

_KINDS = {
    "hinge": kinds.HINGE,
    "logistic": kinds.LOGISTIC,
    "squared": kinds.SQUARED,
    "quantile": kinds.QUANTILE,
    "expectile": kinds.EXPECTILE,
    "poisson": kinds.POISSON,
}


class Derivative(Protocol):
    """A loss with only a derivative, and no closed form."""

    @staticmethod
    def derivative(p: float, y: float, /) -> float:
        """dl/dp at prediction p and label y."""


def prediction(s: ArrayLike, U: ArrayLike, V: ArrayLike, X: ArrayLike, wx: ArrayLike) -> Any:
    """The prediction after the step s, p(s) = U/4 e^-2s - V/4 e^2s + wx - s X.

    Args:
        s: step; 0 gives the present prediction.
        U, V, X: |a + b|², |a - b|² and x·x, ≥ 0.
        wx: w·x.

    >>> prediction(0.0, 4.0, 0.0, 1.0, 0.5)
    1.5
    """
    return _broadcast(_predictions, s, U, V, X, wx)


def inverse(y: ArrayLike, U: ArrayLike, V: ArrayLike, X: ArrayLike, wx: ArrayLike) -> Any:
    """The step s at which p(s) = y, or ±inf where no step leads there. Other arguments as for `prediction`.

    >>> inverse(1.0, 0.0, 0.0, 2.0, 0.0)
    -0.5
    """
    return _broadcast(_inverses, y, U, V, X, wx)


def step(
    loss: str | Derivative,
    h: ArrayLike,
    y: ArrayLike,
    eta: ArrayLike,
    U: ArrayLike,
    V: ArrayLike,
    X: ArrayLike,
    wx: ArrayLike,
    tau: ArrayLike = 0.5,
    *,
    dynamics: str = "exact",
) -> Any:
    """The step s that a label y of importance h makes: as if it came n times with importance h/n, n without bound.

    Args:
        loss: a name, or an object with a `derivative`.
        h: importance, ≥ 0.
        y: label: ±1 for hinge and logistic, ≥ 0 for poisson.
        eta: learning rate, ≥ 0.
        U, V, X, wx: as for `prediction`.
        tau: parameter of quantile and expectile, 0 to 1.
        dynamics: "exact", or "fast": to three digits, which is how training goes unless more is asked for.

    Raises:
        ConfigError: no such loss or dynamics.

    >>> step("hinge", 0.25, 1.0, 1.0, 0.0, 0.0, 2.0, 0.0)
    -0.25
    >>> round(step("squared", 1.0, 1.0, 1.0, 4.0, 0.0, 1.0, -1.0), 12)
    -0.26922323513
    """
    if dynamics not in ("exact", "fast"):
        raise ConfigError(f"dynamics is {dynamics!r}; {did_you_mean(dynamics, ('exact', 'fast'))}")
    kind, address = _resolve(loss)
    exact = dynamics == "exact"
    return _broadcast(_steps, h, y, eta, U, V, X, wx, tau, last=(kind, exact, np.uint64(address)))


def importance_to(
    target: ArrayLike,
    loss: str | Derivative,
    y: ArrayLike,
    eta: ArrayLike,
    U: ArrayLike,
    V: ArrayLike,
    X: ArrayLike,
    wx: ArrayLike,
    tau: ArrayLike = 0.5,
) -> Any:
    """h_min: the importance with which a label y would move the prediction to `target`; inf where none does.

    Arguments as for `step`, to which this is the inverse: active learning asks it for the importance that flips a
    decision.

    >>> importance_to(0.0, "hinge", -1.0, 0.5, 0.0, 0.0, 2.0, 0.5)
    0.5
    """
    kind, address = _resolve(loss)
    return _broadcast(_importances, target, y, eta, U, V, X, wx, tau, last=(kind, np.uint64(address)))


def _resolve(loss: str | Derivative) -> tuple[int, int]:
    """Kind of a loss, and the address of its derivative kernel where the kind does not imply it."""
    if isinstance(loss, str):
        if loss not in _KINDS:
            raise ConfigError(f"no loss {loss!r}; {did_you_mean(loss, _KINDS)}")
        return _KINDS[loss], 0
    derivative = getattr(loss, "derivative", None)
    if not callable(derivative) or ismethod(derivative):
        wanted = "a name, or an object whose `derivative` is a plain function of (p, y), static in a class"
        raise ConfigError(f"loss: got {loss!r}, wanted {wanted}")
    return kinds.GENERIC, _derivative_kernel(loss.derivative)[1]


@cache
def _derivative_kernel(function: Any) -> tuple[Any, int]:
    """A derivative under the signature of loss kernels, and its address, kept for the process's life."""
    from numba import njit

    from hutch.core.kernel.private import pointer_to

    derivative = function if hasattr(function, "py_func") else njit(error_model="numpy")(function)

    def kernel(prediction: float, label: float, scale: float, norm: float, record: int) -> float:
        return float(derivative(prediction, label))

    options: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher: Any = njit(LOSS_SIGNATURE, **options)(kernel)
    (result,) = dispatcher.overloads.values()
    return dispatcher, pointer_to(result)


def _broadcast(kernel: Any, *arguments: ArrayLike, last: tuple[Any, ...] = ()) -> Any:
    arrays = np.broadcast_arrays(*[np.asarray(argument, np.float64) for argument in arguments])
    out: NDArray[np.float64] = np.empty(arrays[0].shape)
    kernel(*[np.ascontiguousarray(array).ravel() for array in arrays], *last, out.reshape(-1))
    return out if out.shape else out.item()


@compiled
def _predictions(s, U, V, X, wx, out):
    for i in range(len(out)):
        out[i] = prediction_(s[i], U[i], V[i], X[i], wx[i])


@compiled
def _inverses(y, U, V, X, wx, out):
    for i in range(len(out)):
        out[i] = inverse_(y[i], U[i], V[i], X[i], wx[i])


@compiled
def _steps(h, y, eta, U, V, X, wx, tau, kind, exact, derivative, out):
    loss = (derivative, np.uint64(0))
    for i in range(len(out)):
        if exact:
            out[i] = step_exact(kind, eta[i] * h[i], y[i], U[i], V[i], X[i], wx[i], tau[i], loss)
        else:
            out[i] = step_fast(kind, eta[i] * h[i], y[i], U[i], V[i], X[i], wx[i], tau[i], loss)


@compiled
def _importances(target, y, eta, U, V, X, wx, tau, kind, derivative, out):
    loss = (derivative, np.uint64(0))
    for i in range(len(out)):
        out[i] = importance_to_(kind, target[i], y[i], eta[i], U[i], V[i], X[i], wx[i], tau[i], loss)
