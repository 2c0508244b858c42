"""The contract checks of online EM models: ours pass, and each finds what it is for."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hutch.core.errors import PluginError
from hutch.em.base.model import Array, Model
from hutch.em.checks import MODEL_CHECKS
from hutch.em.models import BUILT_IN, ModelEntry
from hutch.plugins.checks import checks_of, checks_of_em_model


@dataclass(frozen=True)
class Mixture:
    """Parameters of the stranger's model below."""

    weights: Array
    means: Array


class BernoulliMixture(Model[Mixture]):
    """A mixture of independent Bernoulli variables."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def _joint(self, batch: Array, p: Mixture) -> Array:
        means = np.clip(p.means, 1e-9, 1 - 1e-9)
        return np.asarray(np.log(p.weights) + batch @ np.log(means).T + (1 - batch) @ np.log(1 - means).T)

    def statistics(self, batch: Array, parameters: Mixture) -> Array:
        joint = self._joint(batch, parameters)
        share = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        return np.concatenate([share.mean(axis=0), (share.T @ batch / len(batch)).ravel()])

    def maximise(self, statistics: Array) -> Mixture:
        weights = np.maximum(statistics[: self.rank], 1e-12)
        return Mixture(weights / weights.sum(), statistics[self.rank :].reshape(self.rank, -1) / weights[:, None])

    def log_likelihood(self, batch: Array, parameters: Mixture) -> Array:
        return np.asarray(np.logaddexp.reduce(self._joint(batch, parameters), axis=1))

    def expected_statistics(self, parameters: Mixture) -> Array:
        return np.concatenate([parameters.weights, (parameters.weights[:, None] * parameters.means).ravel()])

    def constants(self) -> dict[str, Any]:
        return {"rank": np.array(self.rank)}


def entry_of(model: type[BernoulliMixture]) -> ModelEntry:
    def build(rows: Array, rank: int, seed: int, missing: bool) -> tuple[BernoulliMixture, Mixture]:
        means = 0.25 + 0.5 * np.random.default_rng(seed).random((rank, rows.shape[1]))
        return model(rank), Mixture(np.full(rank, 1 / rank), means)

    return ModelEntry("stranger", build, Mixture, lambda constants: model(int(constants["rank"])), "A mixture.")


STRANGER = entry_of(BernoulliMixture)


@pytest.mark.parametrize("check", [c for e in (*BUILT_IN, STRANGER) for c in checks_of_em_model(e)], ids=str)
def test_contract(check: Any) -> None:
    check()


class Sums(BernoulliMixture):
    def statistics(self, batch: Array, parameters: Mixture) -> Array:
        return super().statistics(batch, parameters) * len(batch)


class Unweighted(BernoulliMixture):
    def expected_statistics(self, parameters: Mixture) -> Array:
        return np.concatenate([parameters.weights, parameters.means.ravel()])


class Falling(BernoulliMixture):
    def maximise(self, statistics: Array) -> Mixture:
        found = super().maximise(statistics)
        return replace(found, means=1 - found.means)


class Forgetful(BernoulliMixture):
    def log_likelihood(self, batch: Array, parameters: Mixture) -> Array:
        self.calls = getattr(self, "calls", 0) + 1
        return super().log_likelihood(batch, parameters) - self.calls

    def constants(self) -> dict[str, Any]:
        self.calls = 7
        return super().constants()


class Drifting(BernoulliMixture):
    def statistics(self, batch: Array, parameters: Mixture) -> Array:
        self.calls = getattr(self, "calls", 0) + 1
        return super().statistics(batch, parameters) * (1 + 1e-9 * self.calls)


@pytest.mark.parametrize(
    ("model", "fails"),
    [
        (Sums, "statistics_are_a_mean"),
        (Unweighted, "expected_statistics_are_a_fixed_point"),
        (Falling, "em_climbs"),
        (Forgetful, "constants_rebuild_it"),
        (Drifting, "resume"),
    ],
)
def test_each_check_finds_its_mistake(model: type[BernoulliMixture], fails: str) -> None:
    [check] = [check for check in MODEL_CHECKS if check.__name__ == fails]
    with pytest.raises(AssertionError):
        check(entry_of(model))


def test_models_are_checked_by_name() -> None:
    names = [check.name for check in checks_of("ppca")]
    assert {check.__name__ for check in MODEL_CHECKS} < set(names)
    with pytest.raises(PluginError, match="did you mean 'ppca'"):
        checks_of("pcpa")
