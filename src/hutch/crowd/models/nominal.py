"""Mineiro's nominal model: worker confusion, item difficulty and a population mean as hyperprior."""

from typing import Annotated, ClassVar

import numpy as np

from hutch.core.parameters import Within
from hutch.crowd.data.labels import Labels
from hutch.crowd.models import nominal_kernels as kernels
from hutch.crowd.models.model import Array, CrowdModel, Parameters, State, Sums, grown, without_own


class NominalParameters(Parameters):
    """Parameters of `Nominal`.

    Attributes:
        symmetric: alpha[k, l] = alpha[l, k]: half the parameters.
        difficulty: learn each item's beta; else it stays at its prior mean.
        steps: steps of log beta in each E step, of alpha in each M step.
        learning_rate: online: eta in the step eta (initial_t + t)^-decay.
        initial_t: online: items that the first step counts as seen.
        decay: online: rho in the step.
        largest_step: online: a slot's step is at most this divided by the root of its labels.
        n_items: online: prior strength; the workers' prior is shared among this many items.
        item_steps: online: EM steps of (beta, q) per item at most.
        item_tolerance: online: no more of them once log beta moves by less; 0 takes them all.
        drift: online: rate per item of the stream at which workers return to the population's mean; steps grow no
            smaller after 1 / drift items.
    """

    symmetric: bool = False
    difficulty: bool = True
    steps: Annotated[int, Within(ge=1, le=1000)] = 2
    learning_rate: Annotated[float, Within(ge=0)] = 20.0
    initial_t: Annotated[float, Within(ge=0)] = 1000.0
    decay: Annotated[float, Within(ge=0)] = 0.5
    largest_step: Annotated[float, Within(gt=0)] = 2.0
    n_items: Annotated[int, Within(ge=1)] = 10000
    item_steps: Annotated[int, Within(ge=1, le=1000)] = 5
    item_tolerance: Annotated[float, Within(ge=0)] = 0.02
    drift: Annotated[float, Within(ge=0, le=1)] = 0.0


class Nominal(CrowdModel):
    """p(l | z = k, w, j) is proportional to exp(-alpha_w[k, l] beta_j).

        alpha_w[k, k] = 0,   alpha_w[k, l] ~ N(gamma[k, l], 1),   gamma[k, l] ~ N(1, 1),   log beta_j ~ N(1, 1)

    EM over the classes with the maximum of alpha, beta and gamma. The history of a worker is a Gaussian at their former
    alpha with the curvature found then. See `nominal_kernels` for sources.
    """

    name = "nominal"
    summary = "Mineiro's model: worker confusion, item difficulty, population mean"
    room: ClassVar[tuple[int, int]] = (9, 3)
    online = "hutch.crowd.models.nominal_stream:NominalStream"
    Parameters: ClassVar[type[Parameters]] = NominalParameters
    parameters: NominalParameters

    def start(self, labels: Labels, history: State | None) -> State:
        """Vote shares as posteriors, workers like the population, items of usual difficulty."""
        workers, classes = len(labels.worker_names), len(labels.classes)
        off = 1 - np.eye(classes)
        old = history or State([], [])
        gamma = grown(old.shared.get("gamma"), (classes, classes), 1.0) * off
        known = len(old.worker_names), len(old.classes)
        alpha = np.tile(gamma, (workers, 1, 1))
        alpha[: known[0], : known[1], : known[1]] = old.workers.get("alpha", alpha[:0, :0, :0])
        bend = grown(old.workers.get("bend"), alpha.shape)
        class_counts = grown(old.shared.get("class_counts"), (classes,))
        return State(
            classes=labels.classes,
            worker_names=labels.worker_names,
            workers={"alpha": alpha, "bend": bend},
            shared={"gamma": gamma, "class_counts": class_counts},
            items={
                "posterior": labels.vote_share(gold=True),
                "log_beta": np.full(labels.items, kernels.MEAN_LOG_BETA),
            },
            scratch={"alpha": alpha.copy(), "bend": bend.copy(), "class_counts": class_counts.copy()},
        )

    @property
    def settlements(self) -> int:  # type: ignore[override]
        """Steps of alpha."""
        return int(self.parameters.steps)

    def count(self, labels: Labels, state: State) -> Sums:
        """Slopes of alpha, a diagonal bound of the curvature, and class counts."""
        alpha, q = state.workers["alpha"], state.items["posterior"]
        slope, bend = np.zeros_like(alpha), np.zeros_like(alpha)
        log_beta = state.items["log_beta"]
        kernels.slopes(labels.item_ptr, labels.workers, labels.labels, q, log_beta, alpha, slope, bend)
        return {"slope": slope, "bend": bend, "class_counts": q.sum(axis=0)}

    def settle(self, state: State, sums: Sums) -> None:
        """A Newton step of alpha under the bound, gamma in closed form."""
        workers, shared = state.workers, state.shared
        off = 1 - np.eye(len(state.classes))
        alpha = workers["alpha"]
        slope = sums["slope"] - state.scratch["bend"] * (alpha - state.scratch["alpha"])
        bend = sums["bend"] + state.scratch["bend"]
        if self.parameters.symmetric:
            slope, bend = slope + slope.transpose(0, 2, 1), bend + bend.transpose(0, 2, 1)
        # where p is almost 0 the bound is only good nearby, hence no step above 1
        alpha += off * np.clip((slope - (alpha - shared["gamma"])) / (bend + 1), -1, 1)
        shared["gamma"][...] = off * (1 + alpha.sum(axis=0)) / (len(alpha) + 1)
        workers["bend"][...] = bend
        shared["class_counts"][...] = state.scratch["class_counts"] + sums["class_counts"]

    def expect(self, labels: Labels, state: State, learned: bool) -> tuple[float, float]:
        """Steps of log beta, then q."""
        steps = (self.parameters.steps if learned else 20) if self.parameters.difficulty else 0
        objective, change = kernels.expect(
            labels.item_ptr, labels.workers, labels.labels, labels.gold, self.class_prior(state),
            state.workers["alpha"], steps, state.items["log_beta"], state.items["posterior"],
        )  # fmt: skip
        return objective, change

    def posterior(self, state: State) -> Array:
        """The posteriors."""
        return state.items["posterior"]

    def others(self, labels: Labels, state: State, learned: bool = True) -> Array:
        """The posteriors over p(l | k) at each item's beta."""
        likelihood = label_likelihood(labels, state.workers["alpha"], state.items["log_beta"])
        return without_own(labels, self.posterior(state), likelihood)

    def beta(self, state: State) -> Array:
        """beta itself."""
        return np.exp(state.items["log_beta"])

    def informative(self, state: State) -> Array:
        """beta, 1 from the usual difficulty on."""
        return usual_difficulty(state.items["log_beta"])

    def confusions(self, state: State) -> Array:
        """Rows at the prior mean of log beta."""
        return softmax_rows(state.workers["alpha"])

    def class_prior(self, state: State) -> Array:
        """Class counts plus one each, or the given prior (`priorz`)."""
        return self.prior_of(state.shared["class_counts"] + 1)

    def log_prior(self, state: State) -> float:
        """log P(alpha, gamma) up to a constant."""
        alpha, gamma = state.workers["alpha"], state.shared["gamma"]
        off = 1 - np.eye(len(gamma))
        sides = 2 if self.parameters.symmetric else 1
        return float(-0.5 * (np.sum((alpha - gamma) ** 2) + np.sum(off * (gamma - 1) ** 2)) / sides)


def softmax_rows(alpha: Array) -> Array:
    """p(l | k) at the prior mean of log beta (workers, classes, labels)."""
    scores = -alpha * np.exp(kernels.MEAN_LOG_BETA)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


def label_likelihood(labels: Labels, alpha: Array, log_beta: Array) -> Array:
    """p(l | k) of each label at its item's beta (labels, classes).

    Args:
        labels: the labels; their workers are rows of `alpha`.
        alpha: (workers, classes, labels).
        log_beta: (items).
    """
    beta = np.exp(log_beta)[labels.label_items, None]
    total = np.zeros((len(labels), alpha.shape[1]))
    for label in range(alpha.shape[2]):
        total += np.exp(-alpha[labels.workers, :, label] * beta)
    return np.asarray(np.exp(-alpha[labels.workers, :, labels.labels] * beta) / total)


def usual_difficulty(log_beta: Array) -> Array:
    """beta over its usual value, at most 1."""
    return np.asarray(np.minimum(np.exp(log_beta - kernels.MEAN_LOG_BETA), 1.0))
