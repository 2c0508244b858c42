"""The estimated cost of a chain's decisions, in Python."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from hutch.chain import Chain
from hutch.core.errors import ConfigError
from hutch.core.run import off_policy
from hutch.core.run.off_policy import OffPolicyValue


def evaluate(log: Any, chain: Chain | str | Path | Mapping[str, Any], *, confidence: float = 0.95) -> OffPolicyValue:
    """Estimate the mean cost of a chain's decisions from a log of another policy's decisions, as `hutch evaluate`.

    Args:
        log: logged decisions of any kind that `Chain.learn` takes: lines, mappings, the `pathlib.Path` of a file.
        chain: a configuration as `Chain.from_config` takes it, evaluated on each decision before learning from it; or a
            chain, which is evaluated unchanged.
        confidence: of the intervals, above 0 and below 1.

    Returns:
        The estimates `ips`, `snips` and `dr`, each with an interval, and reasons to doubt them.

    Raises:
        ConfigError: a mistake in the configuration, or a confidence out of range.
        DataError: decisions that cannot be used.
        UsageError: a chain that does not decide, or a log without labels.

    Source: see `hutch.core.run.off_policy`.

    >>> log = [{"actions": [{"x": {"a": 1.0}}, {"x": {"b": 1.0}}], "chosen": k % 2, "cost": k % 2, "probability": 0.5}
    ...        for k in range(200)]
    >>> layers = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    >>> found = evaluate(log, {"chain": layers})
    >>> found.decisions, found.logged, found.snips.value < 0.2
    (200, 0.5, True)
    """
    if not 0 < confidence < 1:
        raise ConfigError(f"confidence: got {confidence}, wanted above 0 and below 1")
    judged = deepcopy(chain) if isinstance(chain, Chain) else Chain.from_config(chain)
    estimator = Chain.from_config(off_policy.estimator_of(judged.config.to_dict(), judged.layers))
    learns = not isinstance(chain, Chain)
    return off_policy.evaluate(judged, estimator, judged.batches(log), learn=learns, confidence=confidence)
