"""The inverse Fisher information of PPCA, block by block, as an operator whose eigenvalues can be mapped.

With W (d, q) the transposed loadings, C = WW' + s I and λ_i = l_i + s, where W = U √l V' is a thin SVD:

    block   complete-data F⁻¹     marginal F⁻¹ (pseudo-inverse)
    mean    s                     C
    W       s                     s λ_i / l_i outside the span of U; inside, λ_i λ_j / (l_i + l_j) on the one
                                  direction of (Y_ij, Y_ji), Y = U'XV, that changes C; rotations of z: 0
    noise   2 s² / d              2 / tr C⁻²

The marginal information couples W and the noise; the block form of the slides leaves that out, and so does this.
"""

from collections.abc import Callable

import numpy as np

from hutch.core.errors import ConfigError, did_you_mean
from hutch.em.base.model import Array

Weight = Callable[[Array], Array]
METRICS = ("complete", "marginal", "identity")
_NEGLIGIBLE = 1e-12
"""Components whose variance is below this share of the largest one's carry no direction."""


def inverse(loadings: Array, noise: float, metric: str) -> "_Scalar | _Marginal":
    """F⁻¹ at these parameters: w(F⁻¹) of changes of mean, loadings and noise, for any function w of its eigenvalues.

    Args:
        loadings: (q, d).
        noise: > 0.
        metric: one of `METRICS`.
    """
    if metric == "complete":
        return _Scalar(noise, 2 * noise**2 / loadings.shape[1])
    if metric == "identity":
        return _Scalar(1.0, 1.0)
    if metric == "marginal":
        return _Marginal(loadings, noise)
    raise ConfigError(f"metric: got {metric!r}; {did_you_mean(metric, METRICS)}")


class _Scalar:
    """One eigenvalue for mean and loadings, one for the noise."""

    def __init__(self, location: float, noise: float) -> None:
        self.location = np.array(location)
        self.noise = np.array(noise)

    def on_mean(self, change: Array, weight: Weight) -> Array:
        return weight(self.location) * change

    def on_loadings(self, change: Array, weight: Weight) -> Array:
        return weight(self.location) * change

    def on_noise(self, change: float, weight: Weight) -> float:
        return float(weight(self.noise)) * change

    def largest(self) -> float:
        return float(max(self.location, self.noise))


class _Marginal:
    """The table above, in O(d q²): nothing of size d × d or dq × dq."""

    def __init__(self, loadings: Array, noise: float) -> None:
        rank, dimension = loadings.shape
        self.v, singular, self.ut = np.linalg.svd(loadings, full_matrices=False)
        used = singular**2 > _NEGLIGIBLE * max(float(singular[0]) ** 2, noise)
        self.v, self.ut, power = self.v[:, used], self.ut[used], singular[used] ** 2
        self.noise = noise
        self.variance = power + noise
        self.across = noise * self.variance / power
        self.within = self.variance[:, None] * self.variance / (power[:, None] + power)
        # Component (i, j) of the direction that changes C: v = (√l_j, √l_i) / norm.
        self.direction = np.sqrt(power / (power[:, None] + power))
        self.on_variance = 2 / float(np.sum(self.variance**-2) + (dimension - len(power)) / noise**2)

    def on_mean(self, change: Array, weight: Weight) -> Array:
        isotropic = weight(np.array(self.noise))
        inside = self.ut @ change
        return np.asarray(isotropic * change + ((weight(self.variance) - isotropic) * inside) @ self.ut)

    def on_loadings(self, change: Array, weight: Weight) -> Array:
        rotated = self.v.T @ change  # row i belongs to component i
        inside = self.ut @ rotated.T  # Y_ij, i along U, j the component
        outside = rotated - inside.T @ self.ut
        along = self.direction * inside + self.direction.T * inside.T
        mapped = weight(self.within) * along * self.direction
        return np.asarray(self.v @ (weight(self.across)[:, None] * outside + mapped.T @ self.ut))

    def on_noise(self, change: float, weight: Weight) -> float:
        return float(weight(np.array(self.on_variance))) * change

    def largest(self) -> float:
        parts = (self.variance, self.across, self.within.ravel(), [self.noise, self.on_variance])
        return float(max(np.max(part) for part in parts if len(part)))
