"""The constant prediction that would have done best, for the end of VW's report."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.statistics import Statistics
from hutch.core.kernel.abi import UNLABELED

_f = np.float32
Single = np.float32


class BestConstant:
    """Gathers the labels seen; at most two are distinguished, since only then the constant's loss is known.

    >>> best = BestConstant()
    >>> best.observe(np.array([1, -1, -1, 1, 1], np.float32))
    >>> best.labels
    [1.0, -1.0]
    """

    def __init__(self) -> None:
        self.labels: list[float] = []
        self.many = False

    def observe(self, labels: NDArray[np.float32]) -> None:
        """See the labels of a batch."""
        while not self.many:
            new = labels != UNLABELED
            for known in self.labels:
                new &= labels != np.float32(known)
            if not new.any():
                return
            if len(self.labels) == 2:
                self.many = True
            else:
                self.labels.append(float(labels[np.argmax(new)]))

    def of(
        self,
        loss: str,
        seen: Statistics,
        parameters: Mapping[str, float] | None = None,
        label_range: tuple[float, float] = (-math.inf, math.inf),
    ) -> tuple[float | None, float | None]:
        """The best constant for a loss, and its loss per unit of importance; None where VW knows neither.

        Args:
            loss: `squared` and `classic` have one for any labels, `hinge`, `logistic` and `quantile` for two.
            seen: the counters of the run.
            parameters: of the loss.
            label_range: that of the predictions; squared loss is linear beyond it.

        Source: VW 9.11.9 (best_constant.cc), in float32.
        """
        if not self.labels:
            return None, None
        low, high = sorted(map(_f, [*self.labels, 0.0][:2]))
        weight, total = seen.weighted_labeled, seen.weighted_labels
        if low == high:
            return None, None
        lows = _f(total - float(high) * weight) / (low - high)  # the importance of the lower label
        highs = _f(weight) - lows
        if not lows + highs > 0:
            return None, None
        given = dict(parameters or {})
        if loss in ("squared", "classic"):
            best = _f(total) / _f(weight)
        elif self.many or loss not in ("hinge", "logistic", "quantile"):
            return None, None
        elif loss == "hinge":
            best = _f(-1.0 if highs <= lows else 1.0)
        elif loss == "logistic":
            low, high = _f(-1), _f(1)
            best = _f(1.0) if lows <= 0 else _f(-1.0) if highs <= 0 else np.log(highs / lows)
        else:
            best = high if _f(given.get("tau", 0.5)) * (lows + highs) < highs else low
        if self.many:
            return float(best), None
        value = _LOSSES[loss]
        losses = [
            value(best, label, given, label_range) * share if share > 0 else _f(0)
            for label, share in ((low, lows), (high, highs))
        ]
        return float(best), float((losses[0] + losses[1]) / (lows + highs))


def _squared(p: Single, y: Single, parameters: Mapping[str, float], label_range: tuple[float, float]) -> Single:
    low, high = map(_f, label_range)
    if low <= p <= high:
        return (p - y) * (p - y)
    bound, sign = (low, _f(1)) if p < low else (high, _f(-1))
    gap, excess = sign * (y - bound), sign * (bound - p)
    return _f(0) if gap == 0 else _f(float(gap * gap) + 2.0 * float(gap) * float(excess))


def _logistic(p: Single, y: Single, parameters: Mapping[str, float], label_range: tuple[float, float]) -> Single:
    lower, upper = _f(parameters.get("lower", -1.0)), _f(parameters.get("upper", 1.0))
    share = (y - lower) / (upper - lower)
    up, down = np.log(_f(1) + np.exp(-p)), np.log(_f(1) + np.exp(p))
    return _f(share * up + (_f(1) - share) * down)


def _quantile(p: Single, y: Single, parameters: Mapping[str, float], label_range: tuple[float, float]) -> Single:
    error, tau = y - p, _f(parameters.get("tau", 0.5))
    return tau * error if error > 0 else (tau - _f(1)) * error


_LOSSES: dict[str, Callable[[Single, Single, Mapping[str, float], tuple[float, float]], Single]] = {
    "squared": _squared,
    "classic": lambda p, y, parameters, label_range: (p - y) * (p - y),
    "hinge": lambda p, y, parameters, label_range: max(_f(0), _f(1) - y * p),
    "logistic": _logistic,
    "quantile": _quantile,
}
