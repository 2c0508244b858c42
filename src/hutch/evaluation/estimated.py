"""Off-policy evaluation of a log whose probabilities are estimated.

A model of the logging policy learns which action was chosen, from the features that the log holds. Decision t is in
fold t mod 5, and its probabilities are those of a model that has not seen its fold. Probabilities below a floor count
as the floor. The estimates of `hutch.evaluation.off_policy` take them for the true ones; `dm`, the mean of
Σ_b π(b) x(b) with the costs x of a regression of the whole log that uses no probabilities, stands beside them.

This holds if everything that moved both the choice and the cost is among the features. No log can show whether it is.
A policy that changed over time counts with its mean, which is right if the decisions did not change in the meantime.

Sources: A. Strehl, J. Langford, L. Li, S. Kakade, "Learning from logged implicit exploration data", NIPS 2010;
M. Dudík, J. Langford, L. Li, "Doubly robust policy evaluation and learning", ICML 2011; folds as in V. Chernozhukov and
others, "Double/debiased machine learning", The Econometrics Journal 21, 2018.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels
from hutch.core.errors import UsageError
from hutch.core.kernel.abi import UNLABELED
from hutch.evaluation.checks import Fit, fit_of, warnings_of
from hutch.evaluation.features import Logged, alternatives_of, logged_of
from hutch.evaluation.logit import Alternatives
from hutch.evaluation.off_policy import (
    Choices,
    OffPolicyValue,
    joined_terms,
    judge,
    of_actions,
    of_classes,
    refuse_incomplete,
    refuse_others,
    terms_of,
    value_of,
)

FOLDS = 5
FLOOR = 0.01
"""The least probability, for few actions; for many a tenth of the share that each had of an equal draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedValue(OffPolicyValue):
    """Estimates for a chain from a log whose probabilities were estimated.

    Attributes:
        dm: mean predicted cost of the chain's decisions; it rests on the regression alone and has no interval.
        propensities: how well the estimated probabilities fit.
    """

    dm: float
    propensities: Fit


@dataclass(frozen=True, slots=True)
class FilledLog:
    """A log with estimated probabilities.

    Attributes:
        batches: whole decisions, each logged choice with its estimated probability.
        choices: of each batch.
        logged: of each batch, the decisions with one logged choice.
        classes: the choices are classes.
        alternatives: of all decisions with one logged choice.
        twins: a number that alternatives with the same features have in common, uint64 (alternatives).
        likely: the estimated probability of each alternative, float64 (alternatives).
        floors: the least that counts, float64 (alternatives).
    """

    batches: Sequence[Batch]
    choices: Sequence[Choices]
    logged: Sequence[Logged]
    classes: bool
    alternatives: Alternatives
    twins: NDArray[np.uint64]
    likely: NDArray[np.float64]
    floors: NDArray[np.float64]


def filled(chain: Engine, regression: Engine, batches: Iterable[Batch]) -> FilledLog:
    """A log with the estimated probabilities of its choices.

    Args:
        chain: takes logged decisions.
        regression: see `evaluate`; it learns the log.
        batches: the log, whole decisions; probabilities in it are ignored.

    Raises:
        UsageError: a chain of another kind, a log without labels, or one with too many features.
    """
    refuse_others(chain)
    held = [_without_probabilities(batch) for batch in batches]
    classes, choices = chain.takes is Labels.LOGGED_CLASS, []
    for batch in held:
        scores = regression.run_batch(batch)[0].scores
        choices.append(of_classes(batch, *scores.shape) if classes else of_actions(batch))
    logged = [logged_of(batch, one) for batch, one in zip(held, choices, strict=True)]
    if not sum(len(one.sizes) for one in logged):
        raise UsageError("got a log without labels, wanted action:cost at the actions that were chosen")
    alternatives, twins = alternatives_of(held, choices, logged, classes)
    likely = out_of_fold(alternatives)
    floors = np.repeat(np.minimum(FLOOR, 0.1 / alternatives.sizes), alternatives.sizes)
    counted, begun = np.maximum(likely, floors), 0
    for number, one in enumerate(logged):
        held[number] = _with_probabilities(held[number], one, counted[begun : begun + len(one.places)])
        begun += len(one.places)
    return FilledLog(held, choices, logged, classes, alternatives, twins, likely, floors)


def evaluate(
    chain: Engine,
    estimator: Engine,
    regression: Engine,
    log: FilledLog,
    *,
    learn: bool = True,
    confidence: float = 0.95,
) -> EstimatedValue:
    """Estimate the mean cost of a chain's decisions from a log of which only choices and costs are known.

    Args:
        chain: takes logged decisions; see `hutch.evaluation.off_policy.evaluate`.
        estimator: see `hutch.evaluation.off_policy.estimator_of`; it learns in any case.
        regression: another one, which has learned the log without probabilities; see `filled`.
        log: with estimated probabilities.
        learn: the chain is evaluated on each decision before it learns it; False evaluates it unchanged.
        confidence: of the intervals, between 0 and 1.
    """
    terms, policies, direct = [], [], []
    for batch, choices, logged in zip(log.batches, log.choices, log.logged, strict=True):
        judged = judge(chain, estimator, batch, learn)
        terms.append(terms_of(batch, judged))
        policies.append(judged.policy[logged.places])
        outputs = regression.run_batch(batch, learn=False)[0]
        costs = (outputs.scores if log.classes else outputs.predictions).ravel().astype(np.float64)
        means = np.bincount(choices.decision, np.where(choices.counts, judged.policy * costs, 0))
        direct.append(means[logged.decisions])
    refuse_incomplete(chain)
    value = value_of(*joined_terms(terms), confidence=confidence)
    fit = fit_of(log.alternatives, log.likely, np.concatenate(policies), log.floors, log.twins)
    found = {name: getattr(value, name) for name in ("decisions", "logged", "ips", "snips", "dr", "effective")}
    warnings = (*warnings_of(fit), *value.warnings)
    return EstimatedValue(**found, warnings=warnings, dm=float(np.concatenate(direct).mean()), propensities=fit)


def _without_probabilities(batch: Batch) -> Batch:
    """The batch, with probability 1 for each action that has a cost; its probabilities, if any, do not count."""
    known = (batch.costs != UNLABELED) & (batch.probabilities >= 0)
    return replace(batch, probabilities=np.where(known, np.float32(1), batch.probabilities))


def _with_probabilities(batch: Batch, logged: Logged, likely: NDArray[np.float64]) -> Batch:
    """The batch, with the probabilities of the actions that were chosen.

    Args:
        batch: whole decisions.
        logged: those with one logged choice.
        likely: float64 (alternatives), the probability of each.
    """
    found = batch.probabilities.copy()
    found[logged.entries] = likely[np.cumsum(logged.sizes) - logged.sizes + logged.taken]
    return replace(batch, probabilities=found)


def out_of_fold(alternatives: Alternatives) -> NDArray[np.float64]:
    """The probability of each alternative by a model that has not seen its fold, float64 (alternatives)."""
    folds, found = np.arange(len(alternatives.sizes)) % FOLDS, np.ones(int(alternatives.sizes.sum()))
    ridge, _ = alternatives.penalties()
    for fold in range(min(FOLDS, len(folds))):
        weights = alternatives.some(folds != fold).fit(ridge)
        found[np.repeat(folds == fold, alternatives.sizes)] = alternatives.some(folds == fold).probabilities(weights)
    return found
