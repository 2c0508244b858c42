"""The interface of a model for online EM: four functions over mean sufficient statistics."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers in double precision: statistics are never kept in less."""
Rows = NDArray[np.floating[Any]]
"""Data of shape (samples, dimension), in single or double precision as they come."""

P = TypeVar("P")


class Model(ABC, Generic[P]):
    """An exponential-family latent-variable model, immutable; `P` is the type of its parameters.

    Statistics are one flat float64 vector, a *mean* over samples, so that mixing two of them in any convex proportion
    gives statistics again. That is all the engine and its constraints do with them.
    """

    @abstractmethod
    def statistics(self, batch: Any, parameters: P) -> Array:
        """E-step: the mean over the batch of E[s(x, z) | x, parameters]."""

    @abstractmethod
    def maximise(self, statistics: Array) -> P:
        """M-step: the parameters that maximise the complete-data likelihood at these mean statistics."""

    @abstractmethod
    def log_likelihood(self, batch: Any, parameters: P) -> Array:
        """Log-likelihood of each sample of the batch, in nats."""

    @abstractmethod
    def expected_statistics(self, parameters: P) -> Array:
        """E[s(x, z)] under the model itself: the statistics at which `parameters` is a fixed point of EM."""

    def constants(self) -> dict[str, NDArray[Any]]:
        """The fixed parts of the model, for a model file; its entry in `hutch.em.models` rebuilds it."""
        return {}

    def validate(self, batch: Any) -> Any:  # noqa: B027 - a model without input rules has nothing to check
        """The batch in the form that the model needs.

        Raises:
            DataError: the batch cannot be learned from; the message gives place and reason.
        """
        return batch


class FisherModel(Model[P]):
    """A model whose Fisher information is known in closed form; the Fisher forms of Nat-oEM need it."""

    @abstractmethod
    def pull(self, parameters: P, anchor: P, weight: Callable[[float], float], metric: str) -> P:
        """`parameters - w(F⁻¹)(parameters - anchor)`, F the Fisher information at the anchor.

        Args:
            parameters: result of the M-step.
            anchor: where F is taken, and the target of the pull.
            weight: maps eigenvalues of F⁻¹ to weights; the operator w(F⁻¹) has F's eigenvectors.
            metric: `complete` for the complete-data Fisher information, `identity` for F = I, the natural gradient of
                the Fisher norm itself.
        """

    @abstractmethod
    def stiffness(self, anchor: P, metric: str) -> float:
        """The largest eigenvalue of F⁻¹ at the anchor; an explicit step of size β is stable iff β × it ≤ 2."""
