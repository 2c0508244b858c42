"""Probabilistic PCA, x = mean + W z + ε with z ~ N(0, I) and ε ~ N(0, noise I): density, E-step, M-step.

Source: M. Tipping, C. Bishop, Probabilistic principal component analysis, JRSS B 61 (1999). Its W is our loadings'.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.model import Array, FisherModel, Rows
from hutch.em.ppca import missing as ppca_missing

TAKES_MISSING = "--missing, in Python missing=True, takes it for a missing value"
"""What to do about a number that is not there, in a message."""
LARGEST = 1e140
"""Numbers from here on are refused: sums of their squares overflow."""
NOISE_FLOOR = 1e-12
"""The least noise variance, as a share of the variance at the start."""


@dataclass(frozen=True, slots=True)
class PPCAParameters:
    """A Gaussian with covariance loadings' loadings + noise I.

    Attributes:
        mean: (dimension).
        loadings: (rank, dimension); a row is a latent axis.
        noise: variance, > 0.
    """

    mean: Array
    loadings: Array
    noise: float

    def latent_precision(self) -> Array:
        """M / noise with M = W'W + noise I: the precision of z given x (rank, rank)."""
        return self.loadings @ self.loadings.T / self.noise + np.eye(len(self.loadings))


def log_likelihood(rows: Rows, parameters: PPCAParameters) -> Array:
    """Log-density of each row, in nats; entries that are NaN are left out (the density of the others).

    Args:
        rows: (samples, dimension).
        parameters: the model.
    """
    if np.isnan(rows).any():
        return ppca_missing.log_likelihood(rows, parameters.mean, parameters.loadings, parameters.noise)
    centred = rows - parameters.mean
    latent = _posterior_means(centred, parameters)
    # x' C^-1 x = |x - Wz|^2 / noise + |z|^2 at the posterior mean z: a sum of squares, so nothing cancels.
    residual = centred - latent @ parameters.loadings
    quadratic = np.einsum("ij,ij->i", residual, residual) / parameters.noise + np.einsum("ij,ij->i", latent, latent)
    dimension = rows.shape[1]
    determinant = dimension * log(parameters.noise) + float(np.linalg.slogdet(parameters.latent_precision())[1])
    return np.asarray(-0.5 * (dimension * log(2 * pi) + determinant + quadratic))


def transform(rows: Rows, parameters: PPCAParameters) -> Array:
    """The posterior mean of z for each row (samples, rank); entries that are NaN are left out.

    >>> parameters = PPCAParameters(np.zeros(2), np.array([[3.0, 0.0]]), 1.0)
    >>> transform(np.array([[10.0, 5.0]]), parameters)
    array([[3.]])
    """
    if np.isnan(rows).any():
        return ppca_missing.posterior(rows, parameters.mean, parameters.loadings, parameters.noise)[0]
    return _posterior_means(np.asarray(rows - parameters.mean), parameters)


def draw(parameters: PPCAParameters, count: int, random: np.random.Generator) -> Array:
    """Draw samples (count, dimension) from the model."""
    latent = random.standard_normal((count, len(parameters.loadings)))
    noise = parameters.noise**0.5 * random.standard_normal((count, len(parameters.mean)))
    return np.asarray(parameters.mean + latent @ parameters.loadings + noise)


def _posterior_means(centred: Array, parameters: PPCAParameters) -> Array:
    scaled = parameters.loadings @ centred.T / parameters.noise
    return np.asarray(np.linalg.solve(parameters.latent_precision(), scaled).T, np.float64)


class _Parts(NamedTuple):
    """Mean statistics of y = x - centre and z, as views of the flat vector."""

    square: Array  # (1)              E |y|^2
    cross: Array  # (rank, dimension) E z y'
    latent: Array  # (rank, rank)     E z z'
    shift: Array  # (dimension)       E y
    latent_mean: Array  # (rank)      E z


@dataclass(frozen=True, slots=True)
class PPCA(FisherModel[PPCAParameters]):
    """The PPCA model of one stream: its sizes, and an origin near the data so that no digits are lost to an offset.

    Args:
        dimension: features of a row, ≥ 1.
        rank: latent dimension, ≥ 1; may exceed `dimension`.
        origin: (dimension); statistics are of rows minus this.
        variance: of the features, mean over them, > 0: the noise to start from.
        missing: read NaN as a missing value, else it is an error.
        m_step: `joint` estimates mean and loadings together; `recentred` centres each row at the mean in force and
            takes E[z] = 0, as the slides of Nat-oEM do.

    >>> model = PPCA.of(np.eye(4), rank=2)
    >>> model.start(seed=0).loadings.shape
    (2, 4)
    """

    dimension: int
    rank: int
    origin: Array
    variance: float
    missing: bool = False
    m_step: Literal["joint", "recentred"] = "joint"

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ConfigError(f"rank: got {self.rank}, wanted at least 1")

    @classmethod
    def of(
        cls, rows: Any, rank: int, *, missing: bool = False, m_step: Literal["joint", "recentred"] = "joint"
    ) -> Self:
        """The model for a stream that begins with these rows, any number from 1.

        A single row, or equal ones, have no scale: the variance is then taken as 1.
        """
        rows = checked_rows(rows, None, missing).astype(np.float64)
        known = ~np.isnan(rows)
        count = np.maximum(known.sum(axis=0), 1)
        origin = np.where(known, rows, 0.0).sum(axis=0) / count
        variance = float(np.mean(np.where(known, (rows - origin) ** 2, 0.0).sum(axis=0) / count))
        usable = np.isfinite(variance) and variance > 0
        return cls(rows.shape[1], rank, origin, variance if usable else 1.0, missing, m_step)

    def start(self, seed: int, scale: float = 0.1) -> PPCAParameters:
        """Random loadings, `scale` standard deviations long; loadings of 0 are a saddle that EM never leaves."""
        loadings = np.random.default_rng(seed).standard_normal((self.rank, self.dimension))
        return PPCAParameters(self.origin.copy(), scale * self.variance**0.5 * loadings, self.variance)

    def constants(self) -> dict[str, NDArray[Any]]:
        """The fixed parts of the model, for a model file."""
        numbers = {"rank": self.rank, "variance": self.variance, "missing": self.missing}
        recentred = np.array(self.m_step == "recentred")
        return {name: np.array(v) for name, v in numbers.items()} | {"origin": self.origin, "recentred": recentred}

    @classmethod
    def from_constants(cls, constants: dict[str, NDArray[Any]]) -> Self:
        """Undo `constants`."""
        rank, variance, missing = (constants[name].item() for name in ("rank", "variance", "missing"))
        m_step: Literal["joint", "recentred"] = "recentred" if constants["recentred"] else "joint"
        return cls(len(constants["origin"]), rank, constants["origin"].copy(), variance, missing, m_step)

    def validate(self, batch: Any) -> Rows:
        return checked_rows(batch, self.dimension, self.missing)

    def statistics(self, batch: Any, parameters: PPCAParameters) -> Array:
        centre = self._centre(parameters)
        out, parts = self._empty()
        if self.missing and np.isnan(batch).any():
            moments = ppca_missing.moments(batch, parameters.mean, parameters.loadings, parameters.noise, centre)
            parts.square[0], parts.cross[:], parts.latent[:], shift, parts.latent_mean[:] = moments
            parts.shift[:] = shift + (centre - self.origin)
            return out
        latent = _posterior_means(batch - parameters.mean, parameters)
        centred = batch - centre
        parts.square[0] = np.vdot(centred, centred) / len(batch)
        parts.cross[:] = latent.T @ centred / len(batch)
        parts.latent[:] = latent.T @ latent / len(batch) + np.linalg.inv(parameters.latent_precision())
        parts.shift[:] = centred.mean(axis=0) + (centre - self.origin)
        parts.latent_mean[:] = latent.mean(axis=0)
        return out

    def maximise(self, statistics: Array) -> PPCAParameters:
        square, cross, latent, shift, latent_mean = self._parts(statistics)
        total = float(square[0])
        mean = self.origin + shift
        if self.m_step == "joint":
            latent = latent - np.outer(latent_mean, latent_mean)
            cross = cross - np.outer(latent_mean, shift)
            total -= float(shift @ shift)
        loadings = np.asarray(np.linalg.solve(latent, cross), np.float64)
        if self.m_step == "joint":
            mean -= latent_mean @ loadings
        noise = (total - float(np.vdot(cross, loadings))) / self.dimension
        return PPCAParameters(mean, loadings, max(noise, NOISE_FLOOR * self.variance))

    def log_likelihood(self, batch: Any, parameters: PPCAParameters) -> Array:
        return log_likelihood(batch, parameters)

    def expected_statistics(self, parameters: PPCAParameters) -> Array:
        shift = parameters.mean - self._centre(parameters)
        out, parts = self._empty()
        variance = float(np.vdot(parameters.loadings, parameters.loadings)) + self.dimension * parameters.noise
        parts.square[0] = variance + float(shift @ shift)
        parts.cross[:] = parameters.loadings
        parts.latent[:] = np.eye(self.rank)
        parts.shift[:] = parameters.mean - self.origin
        parts.latent_mean[:] = 0.0
        return out

    def pull(
        self, parameters: PPCAParameters, anchor: PPCAParameters, weight: Callable[[float], float], metric: str
    ) -> PPCAParameters:
        location, noise = (weight(value) for value in _inverse_fisher(anchor, metric))
        return PPCAParameters(
            parameters.mean - location * (parameters.mean - anchor.mean),
            parameters.loadings - location * (parameters.loadings - anchor.loadings),
            parameters.noise - noise * (parameters.noise - anchor.noise),
        )

    def stiffness(self, anchor: PPCAParameters, metric: str) -> float:
        return max(_inverse_fisher(anchor, metric))

    def _centre(self, parameters: PPCAParameters) -> Array:
        return self.origin if self.m_step == "joint" else parameters.mean

    def _empty(self) -> tuple[Array, _Parts]:
        q, d = self.rank, self.dimension
        out = np.empty(1 + q * d + q * q + d + q)
        return out, self._parts(out)

    def _parts(self, flat: Array) -> _Parts:
        q, d = self.rank, self.dimension
        square, cross, latent, shift, latent_mean = np.split(flat, np.cumsum([1, q * d, q * q, d]))
        return _Parts(square, cross.reshape(q, d), latent.reshape(q, q), shift, latent_mean)


def _inverse_fisher(parameters: PPCAParameters, metric: str) -> tuple[float, float]:
    """Eigenvalues of the inverse Fisher information: one for mean and loadings, and that of the noise."""
    if metric == "identity":
        return 1.0, 1.0
    return parameters.noise, 2 * parameters.noise**2 / parameters.mean.size


def checked_rows(rows: Any, dimension: int | None, missing: bool) -> Rows:
    """Rows as an array (samples, dimension) of single or double precision; a single row may come as a vector.

    Args:
        rows: anything that NumPy turns into numbers.
        dimension: features of a row; None takes any number from 1.
        missing: whether NaN is allowed; infinity, or a value near it, never is.

    Raises:
        DataError: not two-dimensional, another number of features, NaN or too large; with the place.
    """
    try:
        array = np.asarray(rows)
        array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"rows: {error}; wanted an array of numbers") from None
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"rows: got shape {array.shape}, wanted (samples, features)")
    if dimension is not None and array.shape[1] != dimension:
        raise DataError(f"rows: got {array.shape[1]} features, wanted {dimension}")
    # Maximum and minimum are NaN if any entry is: two cheap passes, and only an array that fails them is searched.
    if array.size and not (float(array.min()) > -LARGEST and float(array.max()) < LARGEST):
        small = np.abs(array, dtype=np.float64) < LARGEST
        bad = ~(small | np.isnan(array)) if missing else ~small
        if bad.any():
            row, column = np.argwhere(bad)[0]
            hint = f"; {TAKES_MISSING}" if np.isnan(array[row, column]) else ""
            place = f"row {row}, column {column} (from 0)"
            raise DataError(f"rows: got {array[row, column]} at {place}, wanted a number below {LARGEST:g}{hint}")
    return array


def closed_form(rows: Rows, rank: int) -> PPCAParameters:
    """The maximum-likelihood parameters in closed form: the leading eigenvectors, the mean of the others as noise.

    Args:
        rows: (samples, dimension), no missing values.
        rank: ≥ 1; components that the rows cannot determine (`rank` ≥ `dimension`) are rows of zeros.

    Source: Tipping & Bishop (1999), equations 7 and 8.

    >>> rows = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> fitted = closed_form(rows, rank=1)
    >>> round(fitted.noise, 12), np.abs(fitted.loadings).round(12)
    (0.5, array([[2., 0.]]))
    """
    model = PPCA.of(rows, rank)
    rows = model.validate(rows)
    _, singular, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    variances = singular**2 / len(rows)
    kept = min(rank, model.dimension - 1, len(variances))
    noise = float(variances[kept:].sum()) / (model.dimension - kept)
    noise = max(noise, NOISE_FLOOR * model.variance)
    loadings = np.zeros((rank, model.dimension))
    loadings[:kept] = np.sqrt(np.maximum(variances[:kept, None] - noise, 0.0)) * axes[:kept]
    return PPCAParameters(rows.mean(axis=0), loadings, noise)
