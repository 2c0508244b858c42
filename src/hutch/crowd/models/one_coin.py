"""The one-coin model: a worker is right with one probability, whatever the class."""

from typing import Annotated, ClassVar

import numpy as np

from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.dawid_skene import add_to_history, count_labels, count_state, expect_table
from hutch.crowd.models.model import Array, CrowdModel, Parameters, State, Sums


class OneCoinParameters(Parameters):
    """Parameters of `OneCoin`.

    Attributes:
        right: pseudo-count of right labels.
        wrong: pseudo-count of wrong labels.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 100
    right: Annotated[float, Within(gt=0)] = 2.0
    wrong: Annotated[float, Within(gt=0)] = 1.0


class OneCoin(CrowdModel):
    """A worker gives the right label with probability r_w and any other with (1 - r_w) / (K - 1).

    For few labels per worker; it fails where workers confuse particular classes. Demartini et al., WWW 2012 (ZenCrowd).
    """

    name = "one_coin"
    summary = "one accuracy for each worker"
    room: ClassVar[tuple[int, int]] = (4, 3)
    Parameters: ClassVar[type[Parameters]] = OneCoinParameters
    parameters: OneCoinParameters

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors."""
        return count_state(labels, history)

    def count(self, labels: Labels, state: State) -> Sums:
        """Expected counts; the coin reads right and wrong from them."""
        return count_labels(labels, state)

    def settle(self, state: State, sums: Sums) -> None:
        """Counts of the history plus these."""
        add_to_history(state, sums)

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """q_i(k) proportional to pi_k prod_w coin(r_w, l = k)."""
        return expect_table(labels, state, self.class_prior(state), np.log(self.confusions(state)))

    def posterior(self, state: State) -> Array:
        """The posteriors."""
        return state.items["posterior"]

    def confusions(self, state: State) -> Array:
        """r_w on the diagonal, the rest shared."""
        counts, classes = state.workers["counts"], len(state.classes)
        right = np.trace(counts, axis1=1, axis2=2) + self.parameters.right
        skill = right / (counts.sum(axis=(1, 2)) + self.parameters.right + self.parameters.wrong)
        skill = skill[:, None, None]
        return np.where(np.eye(classes), skill if classes > 1 else 1.0, (1 - skill) / max(classes - 1, 1))

    def class_prior(self, state: State) -> Array:
        """Share of each class among the items, with half a pseudo-count, or what was given."""
        fixed = self.fixed_prior(len(state.classes))
        counts = state.shared["class_counts"] + 0.5
        return fixed if fixed is not None else np.asarray(counts / counts.sum())
