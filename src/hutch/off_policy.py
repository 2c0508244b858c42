"""The estimated cost of a chain's decisions, in Python."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.errors import ConfigError, UsageError
from hutch.evaluation import off_policy
from hutch.evaluation.off_policy import OffPolicyValue
from hutch.evaluation.slots import SlotsValue, evaluate_slots

Propensities = Literal["logged", "estimated"]


def evaluate(
    log: Any,
    chain: Chain | str | Path | Mapping[str, Any],
    *,
    confidence: float = 0.95,
    propensities: Propensities = "logged",
    final_model: str | Path | None = None,
) -> OffPolicyValue | SlotsValue:
    """Estimate the mean cost of a chain's decisions from a log of another policy's decisions, as `hutch evaluate`.

    Args:
        log: logged decisions of any kind that `Chain.learn` takes: lines, mappings, the `pathlib.Path` of a file.
        chain: a configuration as `Chain.from_config` takes it, evaluated on each decision before learning from it; or a
            chain, which is evaluated unchanged.
        confidence: of the intervals, above 0 and below 1.
        propensities: `logged`: the log holds the probability of each choice; `estimated`: it need not, and a model
            of the choices estimates them, which assumes that the features hold all that moved both choice and cost.
        final_model: the file to which a configuration's chain is saved after it has learned from the log with
            estimated probabilities; None: none.

    Returns:
        The estimates `ips`, `snips` and `dr`, each with an interval, and reasons to doubt them; with estimated
        probabilities also `dm` and how well these fit, see `hutch.evaluation.estimated.EstimatedValue`. Of decisions
        with several slots `snips`, of all slots and of each, see `hutch.evaluation.slots.SlotsValue`.

    Raises:
        ConfigError: a mistake in the configuration, or an argument out of range.
        DataError: decisions that cannot be used.
        UsageError: a chain that does not decide, or a log without labels.

    Source: see `hutch.evaluation.off_policy`.

    >>> log = [{"actions": [{"x": {"a": 1.0}}, {"x": {"b": 1.0}}], "chosen": k % 2, "cost": k % 2, "probability": 0.5}
    ...        for k in range(200)]
    >>> layers = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    >>> found = evaluate(log, {"chain": layers})
    >>> found.decisions, found.logged, found.snips.value < 0.2
    (200, 0.5, True)
    """
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence: got {confidence}, wanted above 0 and below 1")
    learns = not isinstance(chain, Chain)
    judged = deepcopy(chain) if isinstance(chain, Chain) else Chain.from_config(chain)
    reads_as(judged, propensities)
    return of_batches(judged, judged.batches(log), learns, confidence, propensities, final_model)


def reads_as(chain: Chain, propensities: str) -> None:
    """Let a chain read logs without probabilities, if these are to be estimated.

    Args:
        chain: to be evaluated.
        propensities: see `evaluate`.

    Raises:
        ConfigError: neither `logged` nor `estimated`.
    """
    if propensities not in get_args(Propensities):
        raise ConfigError(f"propensities: got {propensities!r}, wanted 'logged' or 'estimated'")
    chain.parser = replace(chain.parser, chosen_alone=propensities == "estimated")


def of_batches(
    chain: Chain,
    batches: Iterable[Batch],
    learn: bool,
    confidence: float,
    propensities: str,
    final_model: str | Path | None = None,
) -> OffPolicyValue | SlotsValue:
    """The estimates for a chain from a log; the chain is changed if it learns.

    Args:
        chain: a chain after `reads_as`.
        batches: the log, as the chain reads it.
        learn: the chain is evaluated on each decision before it learns it.
        confidence, propensities, final_model: see `evaluate`.

    Raises:
        UsageError: see `evaluate`; or a model to save of a chain that learns nothing, or from logged probabilities.
    """
    if final_model is not None and not (learn and propensities == "estimated"):
        raise UsageError(
            "a final model: wanted a chain that learns from estimated propensities; others are trained by `hutch train`"
        )
    if chain.takes is not None and chain.takes.of_slots:
        if propensities != "logged":
            raise UsageError("propensities: got 'estimated' of decisions with several slots, wanted 'logged'")
        return evaluate_slots(chain, batches, learn=learn, confidence=confidence)
    config = off_policy.estimator_of(chain.config.to_dict(), chain.layers)
    estimator = Chain.from_config(config)
    if propensities == "logged":
        return off_policy.evaluate(chain, estimator, batches, learn=learn, confidence=confidence)
    from hutch.evaluation.estimated import evaluate as with_estimated
    from hutch.evaluation.estimated import filled

    regression = Chain.from_config(config)
    log = filled(chain, regression, map(Batch.copied, batches))
    value = with_estimated(chain, estimator, regression, log, learn=learn, confidence=confidence)
    if final_model is not None:
        reads_as(chain, "logged")
        chain.save(final_model)
    return value
