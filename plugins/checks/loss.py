"""The contract of a loss, check by check."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import SHARED, call_loss
from hutch.core.kernel.cache import compiled
from hutch.core.loss import kinds
from hutch.core.loss.flow import budget_to
from hutch.core.loss.losses import LABELS_TO_TRY, Loss

Floats = NDArray[np.float64]

_STEP = 1 / 128  # of finite differences; kernels may compute in float32
_TOLERANCE = 2e-3
_CLOSE = 1e-12  # to an optimum, where a derivative may be mere rounding


@compiled
def _evaluate(address, predictions, labels, scales, norm, loss, out):
    """The loss kernel at `address` for each prediction, label and scale."""
    for i in range(len(out)):
        out[i] = call_loss(address, predictions[i], labels[i], scales[i], norm, loss)


@compiled
def _budgets(predictions, targets, labels, loss, out):
    """Importance times rate times norm that carries each prediction to its target; inf where it never arrives."""
    for i in range(len(out)):
        out[i] = budget_to(predictions[i], targets[i], labels[i], loss)


class Points:
    """A loss on a grid of predictions and labels.

    Args:
        loss: the loss.
        parameters: its parameters; those left out have their defaults.

    Attributes:
        predictions, labels: float64 (points).
    """

    def __init__(self, loss: Loss, parameters: Mapping[str, float]) -> None:
        self.loss = loss
        self._shared = np.zeros(1, SHARED)
        self._shared["min_label"], self._shared["max_label"] = -10.0, 10.0  # no prediction below is clipped
        self._record = loss.record(self._shared, parameters)
        grid = np.linspace(-3.3, 3.7, 57)
        self.predictions = np.tile(grid, len(LABELS_TO_TRY[loss.labels]))
        self.labels = np.repeat(LABELS_TO_TRY[loss.labels], len(grid))

    def __call__(
        self, kernel: str, predictions: Floats | None = None, scale: float | Floats = 0.0, norm: float = 0.0
    ) -> Floats:
        """One of the loss's kernels at every point, float64 (points)."""
        at = self.predictions if predictions is None else predictions
        out = np.zeros(len(at))
        address = np.uint64(self._record[kernel][0])
        scales = np.full(len(at), scale)
        _evaluate(address, at, self.labels, scales, norm, np.uint64(self._record.ctypes.data), out)
        return out

    def budget(self, targets: Floats) -> Floats:
        """The budget that carries each prediction to its target."""
        out = np.zeros(len(targets))
        _budgets(self.predictions, targets, self.labels, np.uint64(self._record.ctypes.data), out)
        return out

    def expect(self, good: NDArray[np.bool_], what: str, got: Floats, wanted: Floats | str) -> None:
        """Fail at the first point that is not good."""
        if not good.all():
            i = int(np.argmin(good))
            want = wanted if isinstance(wanted, str) else f"{wanted[i]:.6g}"
            place = f"prediction {self.predictions[i]:.4g}, label {self.labels[i]:g}"
            raise AssertionError(f"{what} at {place}: got {got[i]:.6g}, wanted {want}")


def _slack(*sizes: Floats) -> Floats:
    return np.asarray(_TOLERANCE * (1.0 + sum(np.abs(size) for size in sizes)))


def finite(points: Points) -> None:
    """Value, derivative and squared gradient are finite, the latter not negative."""
    for kernel in ("value", "derivative", "square_gradient"):
        found = points(kernel)
        points.expect(np.isfinite(found), kernel, found, "a finite number")
    squares = points("square_gradient")
    points.expect(squares >= 0, "square_gradient", squares, "a number ≥ 0")


def gradient(points: Points) -> None:
    """The derivative lies between the difference quotients on both sides."""
    here, slope = points("value"), points("derivative")
    left = (here - points("value", points.predictions - _STEP)) / _STEP
    right = (points("value", points.predictions + _STEP) - here) / _STEP
    room = _slack(slope) + (0.0 if points.loss.convex else np.abs(right - left))
    good = (slope >= np.minimum(left, right) - room) & (slope <= np.maximum(left, right) + room)
    points.expect(good, "derivative", slope, (left + right) / 2)


def convexity(points: Points) -> None:
    """A loss declared as convex has a derivative that never falls."""
    if not points.loss.convex:
        return
    slope = points("derivative")
    ahead = points("derivative", points.predictions + 0.125)
    points.expect(ahead >= slope - _slack(slope) / 10, "derivative 0.125 further on", ahead, slope)


def smooth(points: Points) -> None:
    """Close to its optimum the derivative is no mere rounding, which the flow would follow at great cost."""
    if points.loss.kind != kinds.GENERIC:  # the built-in ones are computed in float32
        return
    low, high = points.predictions, points.predictions + 0.125
    turns = points("derivative", low) * points("derivative", high) < 0
    for _ in range(1100):  # towards 0 it takes as many as there are exponents
        middle = 0.5 * (low + high)
        falls = points("derivative", middle) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    for side in (-_CLOSE, _CLOSE):
        first, second, third = (points("derivative", high + side * (1 + k / 8192)) for k in range(3))
        rough = np.abs(first - 2 * second + third) / np.maximum(np.abs(second), 1e-300)
        allowed = 1e-6 + 4 * np.spacing(np.maximum(np.abs(high), _CLOSE)) / _CLOSE
        wanted = (
            "a smooth function of the prediction: math.expm1(x) for math.exp(x) - 1, math.log1p(x) for math.log(1 + x)"
        )
        points.expect(~turns | (rough <= allowed), "derivative next to its optimum", rough, wanted)


def direction(points: Points) -> None:
    """The update goes against the derivative, more so with more importance, and nowhere with none."""
    slope, before = points("derivative"), np.zeros(len(points.predictions))
    for scale in (0.0, 1e-3, 0.1, 1.0, 30.0, 1e6):
        step = points("update", scale=scale, norm=1.5)
        points.expect(np.isfinite(step), f"update of scale {scale:g}", step, "a finite number")
        points.expect(step * slope <= 0, f"update of scale {scale:g}", step, "a step against the derivative")
        room = _slack(step)
        points.expect(np.abs(step) >= np.abs(before) - room, f"update of scale {scale:g}", step, before)
        before = step
    none = points("update", scale=0.0, norm=1.5)
    points.expect(none == 0, "update of scale 0", none, "0")


def plain_step(points: Points) -> None:
    """The plain step is the gradient step."""
    step, wanted = points("unsafe_update", scale=0.25, norm=1.5), -0.25 * points("derivative")
    points.expect(np.abs(step - wanted) <= _slack(wanted), "unsafe_update of scale 0.25", step, wanted)


def importance_aware(loss: Loss) -> bool:
    """Whether the loss has a separate update; one that gives the plain step twice has none."""
    return loss.update is not loss.unsafe_update


def semigroup(points: Points) -> None:
    """Learning with importance 2 equals learning twice (Karampatziakis and Langford 2011)."""
    if not importance_aware(points.loss):
        return
    norm = 1.5
    for first, second in ((0.1, 0.1), (0.05, 1.0), (2.0, 0.5)):
        between = points.predictions + norm * points("update", scale=first, norm=norm)
        twice = between + norm * points("update", between, second, norm)
        once = points.predictions + norm * points("update", scale=first + second, norm=norm)
        good = np.abs(once - twice) <= _slack(once)
        points.expect(good, f"prediction after importance {first:g} + {second:g}", once, twice)


def h_min(points: Points) -> None:
    """h_min is never negative; uphill and beyond the optimum it is infinite; spent, it leads to its target."""
    if not importance_aware(points.loss):
        return
    slope, norm = points("derivative"), 1.5
    for distance in (0.25, 1.0):
        uphill = points.budget(points.predictions + distance * np.where(slope == 0, 1.0, np.sign(slope)))
        points.expect(np.isinf(uphill), "h_min of a target uphill", uphill, "inf")
        targets = points.predictions - distance * np.sign(slope)
        budget = points.budget(targets)
        points.expect(budget >= 0, "h_min", budget, "a number ≥ 0 or inf")
        spent = np.where(np.isfinite(budget), budget / norm, 0.0)
        reached = points.predictions + norm * points("update", scale=spent, norm=norm)
        good = ~np.isfinite(budget) | (np.abs(reached - targets) <= 5 * _slack(targets))
        points.expect(good, "prediction after h_min", reached, targets)


def extremes(points: Points) -> None:
    """Huge and tiny importance and norms give finite steps, and NaN does not hang."""
    for scale, norm in ((1e30, 1.0), (1e-30, 1.0), (1.0, 1e-30), (1.0, 1e30)):
        step = points("update", scale=scale, norm=norm) if importance_aware(points.loss) else np.zeros(1)
        what = f"update of scale {scale:g} and norm {norm:g}"
        points.expect(np.isfinite(step), what, step, "a finite number")
    points("update", np.full(len(points.predictions), np.nan), 1.0, 1.0)


def parameter_ranges(points: Points) -> None:
    """A parameter at the end of its range, and one that does not exist, are refused."""
    for parameter in points.loss.parameters:
        for end in (parameter.low, parameter.high):
            _refused(points, {parameter.name: end})
    _refused(points, {"no_such_parameter": 1.0})


def _refused(points: Points, parameters: dict[str, Any]) -> None:
    try:
        points.loss.record(points._shared, parameters)
    except ConfigError:
        return
    raise AssertionError(f"parameters {parameters}: got no error, wanted a ConfigError")


LOSS_CHECKS: tuple[Callable[[Points], None], ...] = (
    finite,
    gradient,
    convexity,
    smooth,
    direction,
    plain_step,
    semigroup,
    h_min,
    extremes,
    parameter_ranges,
)
