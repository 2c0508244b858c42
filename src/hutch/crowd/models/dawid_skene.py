"""Dawid and Skene's model with Dirichlet priors."""

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np

from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import confusion_kernels as kernels
from hutch.crowd.models.model import Array, CrowdModel, Parameters, State, Sums, grown


class DawidSkeneParameters(Parameters):
    """Parameters of `DawidSkene`.

    Attributes:
        right: pseudo-count of the right label in every row.
        wrong: pseudo-count of each wrong label.
    """

    iterations: Annotated[int, Within(ge=1, le=100_000)] = 100
    right: Annotated[float, Within(gt=0)] = 1.0
    wrong: Annotated[float, Within(gt=0)] = 0.1


class CountModel(CrowdModel):
    """A model estimated entirely from expected counts, of workers [worker, label, class] and of classes."""

    room: ClassVar[tuple[int, int]] = (4, 3)

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, counts of the history."""
        workers, classes = len(labels.worker_names), len(labels.classes)
        old = history or State([], [])
        counts = grown(old.workers.get("counts"), (workers, classes, classes))
        class_counts = grown(old.shared.get("class_counts"), (classes,))
        return State(
            classes=labels.classes,
            worker_names=labels.worker_names,
            workers={"counts": counts},
            shared={"class_counts": class_counts},
            items={"posterior": labels.vote_share(gold=True)},
            scratch={"counts": counts.copy(), "class_counts": class_counts.copy()},
        )

    def count(self, labels: Labels, state: State) -> Sums:
        """Counts expected under the posteriors."""
        counts, q = np.zeros_like(state.workers["counts"]), state.items["posterior"]
        kernels.add_labels(labels.item_ptr, labels.workers, labels.labels, q, counts)
        return {"counts": counts, "class_counts": q.sum(axis=0)}

    def settle(self, state: State, sums: Sums) -> None:
        """Counts of the history plus these."""
        state.workers["counts"][...] = state.scratch["counts"] + sums["counts"]
        state.shared["class_counts"][...] = state.scratch["class_counts"] + sums["class_counts"]

    def posterior(self, state: State) -> Array:
        """The posteriors."""
        return state.items["posterior"]

    def expect_with(self, labels: Labels, state: State, log_table: Array) -> tuple[float, float]:
        """E step with a table log p(label | class, worker) (workers, labels, classes)."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior(state))
        objective, change = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, log_prior, np.ascontiguousarray(log_table),
            state.items["posterior"],
        )  # fmt: skip
        return objective, change


class DawidSkene(CountModel):
    """Each worker has a confusion row for each class; rows and class prior have Dirichlet priors.

    Dawid and Skene, Applied Statistics 28(1), 1979; the priors as in Raykar et al., JMLR 11, 2010, without features.
    """

    name = "dawid_skene"
    summary = "a confusion matrix for each worker, with pseudo-counts"
    Parameters: ClassVar[type[Parameters]] = DawidSkeneParameters
    parameters: DawidSkeneParameters

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """q_i(k) proportional to pi_k prod_w c_w[k, l]."""
        return self.expect_with(labels, state, np.log(self.confusions(state).transpose(0, 2, 1)))

    def confusions(self, state: State) -> Array:
        """Counts plus pseudo-counts, by rows."""
        prior = np.where(np.eye(len(state.classes)), self.parameters.right, self.parameters.wrong)
        rows = state.workers["counts"].transpose(0, 2, 1) + prior
        return np.asarray(rows / rows.sum(axis=2, keepdims=True))

    def population(self, state: State) -> Array:
        """The counts of all workers as those of one: the model has no mean of workers."""
        pooled = {name: array.sum(axis=0, keepdims=True) for name, array in state.workers.items()}
        return np.asarray(self.confusions(replace(state, workers=pooled))[0])

    def class_prior(self, state: State) -> Array:
        """Share of each class among the items, with half a pseudo-count, or the given prior."""
        return self.prior_of(state.shared["class_counts"] + 0.5)
