"""The arrays of `bayesian_linear` with `covariance: moments`: making, saving, and another scale of labels."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.capabilities import FarValue
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.stored import Stored, dense
from hutch.core.conformal import KEPT
from hutch.core.errors import ModelError
from hutch.core.kernel.record import Record
from hutch.reductions.bayesian_linear.moments import FAR, MOMENTS, TOTALS
from hutch.reductions.bayesian_linear.posterior import NumbersPosterior, likeliest

_ANY_DISTANCE = 1e300
_CLIP = 4.0  # as `standardise` has by default
_PAIRS = ("pair_counts", "pair_means", "pairs")
_SQUARES = ("whole", "inverse", *_PAIRS)
_VECTORS = ("counts", "centres", "squares", "lows", "highs", "words", "units", "weights", "focus", "whole_means")
_SAVED_TOTALS = ("rows", "since", "whole", "width", "paired", "stale")


class MomentArrays:
    """Moments of so many sub-models.

    Args:
        submodels: their number.
        room: places, with the label's, which is the first.
        constant_variance: of sites, the constant's before anything is learned; None: labels are numbers.
        reaches: of which the likeliest decides; empty: that of the layer.
        extrapolation: how far outside the values learned predictions follow a column, in widths of these; None: always.

    Attributes:
        exact: float64 (sub-models, room): the weights as the last prediction without learning solved for them.
    """

    def __init__(
        self,
        submodels: int,
        room: int,
        constant_variance: float | None,
        reaches: Sequence[float],
        extrapolation: float | None,
    ) -> None:
        self._room = room
        self._totals = np.zeros(submodels, TOTALS)
        self._vectors = {name: np.zeros((submodels, room)) for name in _VECTORS}
        self._squares = {name: np.zeros((submodels, room * room)) for name in _SQUARES}
        self.exact, self._without = np.zeros((submodels, room)), np.zeros(1, np.int64)
        self._far = np.zeros(1, FAR)
        self._residuals = np.zeros((submodels, KEPT if constant_variance is None else 0))
        self.record = Record(
            MOMENTS,
            totals=self._totals,
            **self._vectors,
            **self._squares,
            exact=self.exact,
            residuals=self._residuals,
            scratch=np.zeros(room * room),
            present=np.zeros(room, np.int64),
            marks=np.zeros(room, np.int64),
            away=np.zeros(room),
            along=np.zeros(room),
            without=self._without,
            sites=constant_variance is not None,
            unit=2.0 if constant_variance is None else 1.0,
            constant=0.0 if constant_variance is None else 1.0 / constant_variance,
            clip=_CLIP,
            reaches=np.array(reaches or [0.0]),
            reach_count=len(reaches),
            extrapolation=_ANY_DISTANCE if extrapolation is None else extrapolation,
            far=self._far,
        )

    @property
    def without_place(self) -> int:
        """How often a number found no place."""
        return int(self._without[0])

    def far(self, features: NDArray[np.int64]) -> FarValue | None:
        """What was too far outside the values learned for predictions to follow it; None: nothing.

        Args:
            features: index of the feature at each place.
        """
        values, place, value, low, high = self._far[0].item()
        return FarValue(int(features[place]), value, low, high, values) if values else None

    def columns(self, features: NDArray[np.int64], submodel: int) -> dict[int, tuple[float, float]]:
        """Mean and deviation of each column met, by the index of its feature."""
        counts, centres, squares = (self._vectors[name][submodel] for name in ("counts", "centres", "squares"))
        return {
            int(index): (float(centre), math.sqrt(square / count))
            for index, count, centre, square in zip(features, counts, centres, squares, strict=True)
            if index >= 0 and count > 0
        }

    def posterior(
        self, features: NDArray[np.int64], priors: Sequence[Callable[[float], float]], outside: float, namespace: int
    ) -> NumbersPosterior | None:
        """The posterior of the first sub-model, in double as `solution` has it; None before there are two rows.

        Args:
            features: index of the feature at each place.
            priors: λ for so many columns, of each reach; the likeliest decides.
            outside: variance of the weight of a feature without a place, before anything is learned.
            namespace: id of that whose features have places.
        """
        size = 1 + int(np.count_nonzero(features >= 0))
        counts, centres, squares, words, whole_means = (
            self._vectors[name][0, :size] for name in ("counts", "centres", "squares", "words", "whole_means")
        )
        if not self._totals["rows"][0] > 1:
            return None
        lower = {
            name: self._squares[name][0].reshape(self._room, self._room)[:size, :size]
            for name in ("whole", "pairs", "pair_counts", "pair_means")
        }
        for name in ("whole", "pairs", "pair_counts"):
            lower[name] = np.tril(lower[name]) + np.tril(lower[name], -1).T
        means, shares = np.where(words == 1, 0.0, centres), np.where(words == 1, counts / counts[0], 0.0)
        away, left = whole_means - means, lower["pair_means"] - means[:, None]
        products = lower["whole"] + self._totals["whole"][0] * np.outer(away, away)
        products += lower["pairs"] + lower["pair_counts"] * left * left.T - counts[0] * np.outer(shares, shares)
        units = np.sqrt(np.where(squares > 0, squares / np.maximum(counts, 1e-300), 1.0))[1:]
        columns = float(np.sum((counts[1:] > 0) & (words[1:] == 0)) + shares[1:].sum()) or 1.0
        scaled = products[1:, 1:] / units / units[:, None]
        ridge = likeliest([prior(columns) for prior in priors], scaled, products[1:, 0] / units, squares[0], counts[0])
        inner = scaled + ridge * np.eye(size - 1)
        covariance = np.linalg.inv(inner) / units / units[:, None]
        weights = covariance @ products[1:, 0]
        rest = products[0, 0] - 2 * products[1:, 0] @ weights + weights @ products[1:, 1:] @ weights
        freedom = max(float(counts[0] - 1.0 - np.sum(covariance * products[1:, 1:])), 1e-9)
        noise = max(float(rest), 0.0) / freedom
        rows = int(self._totals["rows"][0])
        kept = self._residuals[0, 1:rows] if rows <= KEPT else np.roll(self._residuals[0], -(rows % KEPT))
        return NumbersPosterior(
            features[1:size],
            means[1:],
            shares[1:],
            covariance,
            noise,
            float(counts[0]),
            freedom,
            1.0 / ridge if size < len(features) else None,
            outside,
            namespace,
            kept,
        )

    def rescale(self, ratio: float, shift: float) -> None:
        """Turn every label y into ratio y + shift."""
        vectors, room = self._vectors, self._room
        vectors["weights"] *= ratio
        self._residuals *= abs(ratio)
        vectors["squares"][:, 0] *= ratio * ratio
        for name, kept in (
            ("lows", vectors["counts"]),
            ("highs", vectors["counts"]),
            ("centres", vectors["counts"]),
            ("focus", vectors["counts"]),
            ("whole_means", self._totals["whole"][:, None]),
        ):
            vectors[name][:, 0] = np.where(kept[:, 0] > 0, ratio * vectors[name][:, 0] + shift, 0.0)
        means, counts = (self._squares[name].reshape(-1, room, room) for name in ("pair_means", "pair_counts"))
        means[:, 0] = np.where(counts[:, :, 0] > 0, ratio * means[:, 0] + shift, 0.0)
        for name in ("whole", "pairs"):
            matrices = self._squares[name].reshape(-1, room, room)
            matrices[:, :, 0] *= ratio
            matrices[:, 0] *= ratio
        self._totals["current"] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        """All sums, the inverse with its units, and the sums of pairs if there are any."""
        pairs = len(self._totals) if self._totals["paired"].any() else 0
        found = {name: array[:pairs] if name in _PAIRS else array for name, array in self._squares.items()}
        return {
            "residuals": self._residuals,
            **self._vectors,
            **found,
            **{f"total_{name}": self._totals[name] for name in _SAVED_TOTALS},
        }

    def limits(self) -> Mapping[str, Limits]:
        """Numbers, and which of them count."""
        found = dict.fromkeys((*_VECTORS, *_SQUARES), FINITE) | dict.fromkeys(
            ("counts", "squares", "residuals"), POSITIVE
        )
        found |= dict.fromkeys(_PAIRS, Limits(finite=True, grows=True)) | {"words": Limits(0, 1)}
        found |= dict.fromkeys(("total_rows", "total_since", "total_whole"), POSITIVE)
        return found | {
            "total_width": Limits(0, self._room),
            "total_paired": Limits(0, 1),
            "total_stale": Limits(0, 1),
        }

    def check(self, arrays: Mapping[str, Stored]) -> None:
        """Refuse sums of pairs that are not of all sub-models, or of none.

        Raises:
            ModelError: they are of others.
        """
        paired = bool(dense(arrays["total_paired"]).any())
        for name in _PAIRS:
            if (got := len(dense(arrays[name]))) != (wanted := len(self._totals) if paired else 0):
                raise ModelError(f"bayesian_linear.{name}: got sums of {got} sub-models, wanted {wanted}")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the model's sums of pairs, if it has any; forget the weights solved for."""
        for name in _PAIRS:
            self._squares[name][:] = 0.0
        self._totals["paired"] = dense(arrays["total_paired"])
        self._totals["current"] = 0
        self._without[0], self._far[0] = 0, 0
