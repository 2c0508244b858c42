"""What a chain's decisions would have cost, from a log of decisions that somebody else made.

Each decision is predicted before it is learned. With the cost c of the logged action a, the probability p with which it
was chosen, the probability π(a) that the chain gives it, and w = π(a) / p, over n decisions:

* ips: the mean of w c, without bias;
* snips: Σ w c / Σ w, which costs in a narrow range far from 0 do not blow up; its bias falls with 1 / n;
* dr: the mean of Σ_b π(b) x(b) + w (c - x(a)), x the costs predicted by a regression that has seen the decisions
  before: without bias, and the narrower the better x is.

Intervals are normal ones, for snips by the delta method. Sources: D. Horvitz, D. Thompson, JASA 1952; A. Swaminathan,
T. Joachims, "The self-normalized estimator for counterfactual learning", NIPS 2015; M. Dudík, J. Langford, L. Li,
"Doubly robust policy evaluation and learning", ICML 2011.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels, Predictions
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED

_DECIDES = "cost_sensitive_with_features"


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated mean cost and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OffPolicyValue:
    """What a log says of a chain.

    Attributes:
        decisions: how many had a label.
        logged: mean cost of the actions that were chosen.
        ips, snips, dr: estimates of the mean cost of the chain's decisions.
        effective: (Σ w)² / Σ w², how many decisions of the chain's own the log is worth.
    """

    decisions: int
    logged: float
    ips: Estimate
    snips: Estimate
    dr: Estimate
    effective: float


def estimator_of(chain: dict[str, Any]) -> dict[str, Any]:
    """The chain that regresses the costs of actions, with the learner of the one that is judged.

    Args:
        chain: a configuration with `cost_sensitive_with_features` among its layers.

    Raises:
        UsageError: there is none.
    """
    layers = chain["chain"]
    names = [layer if isinstance(layer, str) else next(iter(layer)) for layer in layers]
    if _DECIDES not in names:
        raise UsageError(f"got a chain without {_DECIDES}, wanted one that decides among actions with features")
    return {**chain, "chain": ["contextual_bandit", _DECIDES, *layers[names.index(_DECIDES) + 1 :]]}


def evaluate(
    chain: Engine, estimator: Engine, batches: Iterable[Batch], *, learn: bool = True, confidence: float = 0.95
) -> OffPolicyValue:
    """Estimate the mean cost of a chain's decisions from a log.

    Args:
        chain: takes logged decisions; without a layer that explores it chooses the action with the lowest score.
        estimator: see `estimator_of`; it learns in any case.
        batches: the log, whole decisions.
        learn: the chain is judged on each decision before it learns it; False judges it as it is.
        confidence: of the intervals, between 0 and 1.

    Raises:
        UsageError: a chain of another kind, or a log without labels.
    """
    if chain.takes is not Labels.LOGGED_ACTION:
        raise UsageError(f"got a chain that takes labels {chain.takes.value!r}, wanted one of logged decisions")
    terms: list[NDArray[np.float64]] = []
    for batch in batches:
        policy = chain.run_batch(batch, learn=learn)[0]
        costs = estimator.run_batch(batch)[0].predictions.astype(np.float64)
        found = policy.predictions.astype(np.float64)
        if chain.predicts is Predictions.ACTION_SCORES:
            found = _greedy(batch, policy.ranked, found)
        terms.append(_terms(batch, found, costs))
    table = np.concatenate([*terms, np.zeros((0, 3))])
    if not len(table):
        raise UsageError("got a log without labels, wanted action:cost:probability at the actions that were chosen")
    weight, cost, robust = table.T
    return _value(weight, cost, robust, NormalDist().inv_cdf((1 + confidence) / 2))


def _greedy(batch: Batch, ranked: NDArray[np.uint32], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability 1 for the best action of each decision."""
    found, shared = np.zeros(len(scores)), shared_rows(batch)
    starts = np.concatenate([[0], ends_of_groups(batch)[:-1]])
    first = starts + shared[starts]
    first = first[first < len(batch)]
    found[first + ranked[first]] = 1
    return found


def _terms(batch: Batch, policy: NDArray[np.float64], estimates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight, cost and doubly robust term of each labelled decision of a batch, float64 (decisions, 3)."""
    ends, shared = ends_of_groups(batch), shared_rows(batch)
    starts = np.concatenate([[0], ends[:-1]])
    numbers = np.repeat(np.arange(len(ends)), ends - starts)
    rows = np.repeat(np.arange(len(batch)), np.diff(batch.cost_ptr))
    low, high = batch.cost_ptr[0], batch.cost_ptr[-1]
    given, likely = batch.costs[low:high].astype(np.float64), batch.probabilities[low:high].astype(np.float64)
    known = (given != UNLABELED) & (likely >= 0)
    once = np.bincount(numbers[rows[known]], minlength=len(ends)) == 1
    known &= once[numbers[rows]] & (likely > 0)
    mean = np.bincount(numbers, np.where(shared, 0, policy * estimates), len(ends))
    at, cost = rows[known], given[known]
    weight = policy[at] / likely[known]
    return np.stack([weight, cost, mean[numbers[at]] + weight * (cost - estimates[at])], axis=1)


def _value(w: NDArray[np.float64], c: NDArray[np.float64], dr: NDArray[np.float64], z: float) -> OffPolicyValue:
    n, total = len(w), float(w.sum())
    ratio = float((w * c).sum()) / total if total > 0 else math.nan
    spread = math.sqrt(float((w * w * (c - ratio) ** 2).sum())) / total if total > 0 else math.nan
    effective = total * total / float((w * w).sum()) if total > 0 else 0.0
    snips = Estimate(ratio, ratio - z * spread, ratio + z * spread)
    return OffPolicyValue(n, float(c.mean()), _mean(w * c, z), snips, _mean(dr, z), effective)


def _mean(values: NDArray[np.float64], z: float) -> Estimate:
    """Mean and normal interval."""
    mean = float(values.mean())
    half = z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Estimate(mean, mean - half, mean + half)
