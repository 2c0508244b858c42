"""Estimated cost of a chain's decisions, from a log of decisions made by another policy.

Each decision is predicted before it is learned. With the cost c of the logged action a, the probability p with which it
was chosen, the probability π(a) that the chain gives it, and w = π(a) / p, over n decisions:

* ips: the mean of w c, without bias;
* snips: Σ w c / Σ w, which costs in a narrow range far from 0 do not blow up; its bias falls with 1 / n;
* dr: the mean of Σ_b π(b) x(b) + w (c - x(a)), x the costs predicted by a regression that has seen the decisions
  before: without bias, and the narrower the better x is.

An interval allows for two more decisions, one with the lowest and one with the highest cost, each with the weight
Σ w³ / Σ w² and the mean predicted cost, so that decisions too rare to be in the log do not make it narrow; its quantile
is Student's, and it is bent to the range of costs as Wilson's is, see `hutch.core.intervals`.

Sources: D. Horvitz, D. Thompson, JASA 1952; A. Swaminathan, T. Joachims, "The self-normalized estimator for
counterfactual learning", NIPS 2015; M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML
2011.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.capabilities import WeighsMetrics, has
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels, Predictions, Reduction
from hutch.core.errors import UsageError, counted
from hutch.core.intervals import quantile, wilson
from hutch.core.kernel.abi import UNLABELED

_DECIDES = "cost_sensitive_with_features"
ENOUGH = 100
"""Effective decisions below which intervals rest on few decisions."""
FAR = 6.0
"""Standard deviations at most between the mean weight and 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated mean cost and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OffPolicyValue:
    """Estimates for a chain from a log.

    Attributes:
        decisions: number of labelled decisions.
        logged: mean cost of the chosen actions.
        ips, snips, dr: estimates of the mean cost of the chain's decisions.
        effective: (Σ w)² / Σ w², number of the chain's own decisions that the log is worth.
        warnings: reasons to doubt the estimates.
    """

    decisions: int
    logged: float
    ips: Estimate
    snips: Estimate
    dr: Estimate
    effective: float
    warnings: tuple[str, ...] = ()

    @property
    def best(self) -> Estimate:
        """The estimate that a verdict rests on."""
        return self.dr


def estimator_of(chain: dict[str, Any], layers: Sequence[Reduction]) -> dict[str, Any]:
    """The chain that regresses the costs of actions, with the learner of the evaluated chain.

    Args:
        chain: the configuration of the evaluated chain.
        layers: its layers, one of which takes costs of actions.

    Raises:
        UsageError: none does.
    """
    if layers[0].takes is Labels.LOGGED_NUMBER:
        wanted = "wanted one that decides among actions; the average loss of `hutch train` is its estimated cost"
        raise UsageError(f"got a chain that decides for a number of a range, {wanted}")
    deciding = [place for place, layer in enumerate(layers) if layer.takes is Labels.ACTION_COSTS]
    if not deciding:
        raise UsageError(f"got a chain without {_DECIDES}, wanted one that decides among actions with features")
    classes = chain["chain"][: layers[0].takes is Labels.LOGGED_CLASS]
    return {**chain, "chain": [*classes, "contextual_bandit", _DECIDES, *chain["chain"][deciding[-1] + 1 :]]}


def evaluate(
    chain: Engine, estimator: Engine, batches: Iterable[Batch], *, learn: bool = True, confidence: float = 0.95
) -> OffPolicyValue:
    """Estimate the mean cost of a chain's decisions from a log.

    Args:
        chain: takes logged decisions; without a layer that explores it chooses the action with the lowest score.
        estimator: see `estimator_of`; it learns in any case.
        batches: the log, whole decisions.
        learn: the chain is evaluated on each decision before it learns it; False evaluates it unchanged.
        confidence: of the intervals, between 0 and 1.

    Raises:
        UsageError: a chain of another kind, a log without labels, or one that lacks some of the chain's metrics.
    """
    refuse_others(chain)
    terms = [terms_of(batch, judge(chain, estimator, batch, learn)) for batch in batches]
    refuse_incomplete(chain)
    return value_of(*joined_terms(terms), confidence=confidence)


def refuse_others(chain: Engine) -> None:
    """Refuse a chain that does not take logged decisions.

    Args:
        chain: to be evaluated.

    Raises:
        UsageError: it does not.
    """
    if chain.takes not in (Labels.LOGGED_ACTION, Labels.LOGGED_CLASS):
        raise UsageError(f"got a chain that takes labels {chain.takes.value!r}, wanted one of logged decisions")


def refuse_incomplete(chain: Engine) -> None:
    """Refuse a log that lacks some of the metrics that a chain weighs.

    Args:
        chain: which has seen the log.

    Raises:
        UsageError: it does.
    """
    for layer in chain.layers:
        if has(layer, WeighsMetrics) and layer.incomplete:
            text = f"got {counted(layer.incomplete, 'decision')} without some of the metrics {', '.join(layer.metrics)}"
            raise UsageError(f"{text}, wanted all of them: a decision costs their weighted sum")


Column = NDArray[np.float64]


def joined_terms(terms: Sequence[NDArray[np.float64]]) -> tuple[Column, Column, Column, Column]:
    """The four columns of `terms_of` of all batches, float64 (decisions).

    Args:
        terms: of each batch.

    Raises:
        UsageError: there are none.
    """
    table = np.concatenate([*terms, np.zeros((0, 4))])
    if not len(table):
        raise UsageError(
            "got a log without labels, wanted action:cost:probability at the actions that were chosen; where the log "
            "has no probabilities, --propensities estimated estimates them, under an assumption"
        )
    weight, cost, model, predicted = table.T
    return weight, cost, model, predicted


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of the decisions of a batch, one after the other.

    Attributes:
        decision: of each choice; `counts` gives weight 0 to rows that are shared features, not choices.
        counts: whether it is a choice.
        first: of each decision that has any.
        at: the choice of each logged cost; -1 if none.
    """

    decision: NDArray[np.int64]
    counts: NDArray[np.bool_]
    first: NDArray[np.int64]
    at: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Judged:
    """The decisions of a batch as a chain makes them.

    Attributes:
        choices: of the decisions.
        policy: the probability that the chain gives each choice, float64 (choices).
        estimates: the predicted cost of each choice, float64 (choices).
    """

    choices: Choices
    policy: NDArray[np.float64]
    estimates: NDArray[np.float64]


def judge(chain: Engine, estimator: Engine, batch: Batch, learn: bool) -> Judged:
    """The decisions of a batch, each made before it is learned.

    Args:
        chain, estimator, learn: see `evaluate`.
        batch: whole decisions.
    """
    policy = chain.run_batch(batch, learn=learn)[0]
    costs = estimator.run_batch(batch)[0]
    if chain.takes is Labels.LOGGED_CLASS:
        choices, probabilities, estimates = of_classes(batch, *policy.scores.shape), policy.scores, costs.scores
    else:
        choices, probabilities, estimates = of_actions(batch), policy.predictions, costs.predictions
    found = probabilities.ravel().astype(np.float64)
    if chain.predicts is Predictions.ACTION_SCORES:
        found = np.zeros(len(found))
        found[choices.first + policy.ranked[choices.first]] = 1
    return Judged(choices, found, estimates.ravel().astype(np.float64))


def of_actions(batch: Batch) -> Choices:
    """The choices are rows.

    Args:
        batch: whole decisions.
    """
    ends, shared = ends_of_groups(batch), shared_rows(batch)
    starts = np.concatenate([[0], ends[:-1]])
    first = starts + shared[starts]
    at = np.repeat(np.arange(len(batch)), np.diff(batch.cost_ptr))
    return Choices(np.repeat(np.arange(len(ends)), ends - starts), ~shared, first[first < ends], at)


def of_classes(batch: Batch, decisions: int, classes: int) -> Choices:
    """The choices of a row are classes.

    Args:
        batch: a row is a decision.
        decisions, classes: their numbers.
    """
    low, high = batch.cost_ptr[0], batch.cost_ptr[-1]
    row = np.repeat(np.arange(decisions), np.diff(batch.cost_ptr))
    chosen = batch.cost_classes[low:high].astype(np.int64) - 1
    logged = np.flatnonzero((batch.costs[low:high] != UNLABELED) & (batch.probabilities[low:high] > 0))
    first_logged = np.zeros(len(row), np.bool_)
    first_logged[logged[np.unique(row[logged], return_index=True)[1]]] = True  # as the chain takes it
    at = np.where(first_logged & (chosen >= 0) & (chosen < classes), row * classes + chosen, -1)
    first = np.arange(decisions) * classes
    return Choices(np.repeat(np.arange(decisions), classes), np.ones(decisions * classes, np.bool_), first, at)


def logged_once(batch: Batch, choices: Choices) -> NDArray[np.int64]:
    """The costs of decisions with one logged choice and its probability, counted from the batch's first one.

    Args:
        batch: whole decisions.
        choices: theirs.
    """
    low, high = batch.cost_ptr[0], batch.cost_ptr[-1]
    likely = batch.probabilities[low:high]
    known = np.flatnonzero((batch.costs[low:high] != UNLABELED) & (likely >= 0) & (choices.at >= 0))
    once = np.bincount(choices.decision[choices.at[known]], minlength=decisions_of(choices)) == 1
    found: NDArray[np.int64] = known[once[choices.decision[choices.at[known]]] & (likely[known] > 0)]
    return found


def decisions_of(choices: Choices) -> int:
    """The number of decisions that have choices."""
    return int(choices.decision[-1]) + 1 if len(choices.decision) else 0


def terms_of(batch: Batch, judged: Judged) -> NDArray[np.float64]:
    """Weight, cost, mean cost predicted for the chain and cost predicted for the logged choice of each decision.

    Args:
        batch: whole decisions.
        judged: the same.

    Returns:
        float64 (decisions with one logged choice, 4).
    """
    choices, known = judged.choices, logged_once(batch, judged.choices)
    low = batch.cost_ptr[0]
    at = choices.at[known]
    cost, likely = (each[low + known].astype(np.float64) for each in (batch.costs, batch.probabilities))
    weighted = np.where(choices.counts, judged.policy * judged.estimates, 0)
    mean = np.bincount(choices.decision, weighted, decisions_of(choices))
    return np.stack([judged.policy[at] / likely, cost, mean[choices.decision[at]], judged.estimates[at]], axis=1)


def value_of(
    weight: NDArray[np.float64],
    cost: NDArray[np.float64],
    model: NDArray[np.float64],
    predicted: NDArray[np.float64],
    confidence: float = 0.95,
) -> OffPolicyValue:
    """The estimates, from arrays with one entry per decision of a log.

    Args:
        weight: probability of the logged action, over that with which it was chosen.
        cost: of the logged action.
        model: mean predicted cost of the actions of the evaluated policy.
        predicted: predicted cost of the logged action.
        confidence: of the intervals, between 0 and 1.

    >>> found = value_of(np.ones(100), np.arange(100) % 2.0, np.zeros(100), np.zeros(100))
    >>> round(found.snips.value, 3), round(found.snips.low, 3), round(found.snips.high, 3)
    (0.5, 0.403, 0.597)
    """
    n, total = len(weight), float(weight.sum())
    ends = (float(cost.min()), float(cost.max()))
    around_0 = (min(ends[0], 0.0), max(ends[1], 0.0))
    logged, warnings = float(cost.mean()), []
    if ends[0] == ends[1]:
        warnings.append(f"every decision cost {ends[0]:g}: the log does not say what others may cost")
    if not total > 0:
        warnings.append("the chain never does what was done: the log says nothing of it")
        unknown = Estimate(sum(ends) / 2, *ends)
        return OffPolicyValue(n, logged, Estimate(0.0, *around_0), unknown, unknown, 0.0, tuple(warnings))
    squares = float(weight @ weight)
    effective, heavy = total * total / squares, float(np.sum(weight**3)) / squares
    if effective < ENOUGH:
        warnings.append(f"{effective:.3g} effective decisions, below {ENOUGH}: the chain does what the log rarely did")
    if abs(total / n - 1) * n > FAR * math.sqrt(squares + 2 * heavy**2):
        warnings.append(
            f"weights have the mean {total / n:.3g}, wanted about 1: the log's probabilities cannot be right"
        )
    w, c = np.append(weight, [heavy, heavy]), np.append(cost, ends)
    at = float(w @ c / w.sum())
    reach = quantile(confidence, squares**2 / float(weight**2 @ weight**2) + 1)
    terms = model + weight * (cost - predicted)
    every_term = np.append(terms, model.mean() + heavy * (np.array(ends) - weight @ predicted / total))
    plain, ratio, robust = float((weight * cost).mean()), float(weight @ cost / total), float(terms.mean())
    for name, value in (("ips", plain), ("dr", robust)):
        slack = 1e-9 * (ends[1] - ends[0])  # for rounding
        if slack > 0 and not ends[0] - slack <= value <= ends[1] + slack:
            warnings.append(
                f"{name} is {value:.4f}, beyond all costs of the log, {ends[0]:g} to {ends[1]:g}: "
                "it rests on few decisions with great weights; snips stays between the costs"
            )

    def estimate(value: float, variance: float, between: tuple[float, float]) -> Estimate:
        low, high = wilson(value, variance, at, between, reach) if ends[1] > ends[0] else between
        return Estimate(value, min(low, value), max(high, value))

    return OffPolicyValue(
        n,
        logged,
        estimate(plain, float((w * c).var()) / n, around_0),
        estimate(ratio, float(w**2 @ (c - at) ** 2 / (w.sum() * total)), ends),
        estimate(robust, float(every_term.var()) / n, ends),
        effective,
        tuple(warnings),
    )
