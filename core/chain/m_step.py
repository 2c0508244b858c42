"""Layers that learn by an M-step over statistics, which a layer above may hold near an anchor."""

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from hutch.core.chain.reduction import Reduction


class MStepReduction(Reduction):
    """A layer whose M-step `nat_oem`, directly above it, may hold near an anchor."""

    @abstractmethod
    def constrain(self, constraint: NDArray[Any]) -> None:
        """Hold every M-step near an anchor.

        Args:
            constraint: a CONSTRAINT record, of `hutch.em.constrained.record`.

        Raises:
            ConfigError: this layer's parameters leave no room for the constraint.
        """
