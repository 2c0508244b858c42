"""Learning for the worst case: against the same problem solved by linear algebra, decision by decision."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import HutchError, UsageError
from hutch.core.kernel.cache import compiled
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.distributionally_robust import (
    DistributionallyRobust,
    _distance,
    _importance,
    _note,
    quantile,
)
from hutch.vw.decisions import decision_layers
from hutch.vw.model_binary import vw_model
from hutch.vw.parse import parse


@compiled
def importance_after(sums, memory, radius, w, r):
    """The importance of the last of some decisions, noted one after the other."""
    found = np.float32(0)
    for k in range(len(w)):
        _note(sums, memory, w[k], r[k])
        if k == len(w) - 1:
            found = _importance(sums, radius, w[k], r[k])
    return found


@compiled
def distance_of(sums, radius):
    return _distance(sums, radius)


def new_sums(most):
    return np.array([0, 0, 0, 0, 0, 0, 0, most, 0, 1], float)


def worst_importance(w, r, most, radius, squared):
    """n q / w of the last decision where q minimises the mean of q w r.

    One more decision is added, of the least or the greatest w; q has the mean 1, q w too, and the squares of q - 1 have
    the sum `squared`.
    """
    n, bounds = len(w), []
    for extra in (min(0.0, *w), most):
        weights, rewards = np.append(w, extra), np.append(r, min(0.0, *r))
        A = np.vstack([np.ones(n + 1), weights]) / (n + 1)
        a = weights * rewards
        start = 1 + A.T @ np.linalg.solve(A @ A.T, 1 - A @ np.ones(n + 1))
        slope = a - A.T @ np.linalg.solve(A @ A.T, A @ a)
        room = squared - np.sum((start - 1) ** 2)
        if room < 0:
            continue
        q = start - slope / np.linalg.norm(slope) * np.sqrt(room)
        bounds.append((a @ q, n * q[-2] / (n + 1) / w[-1]))
    return max(min(bounds)[1], 0.01)


@pytest.mark.parametrize("seed", range(8))
def test_by_linear_algebra(seed):
    random = np.random.default_rng(seed)
    count, most, radius = int(random.integers(4, 40)), 20.0, quantile(0.05)
    w = np.where(random.random(count) < 0.5, 1 / random.uniform(0.1, 1, count), 0)
    w[-1], r = 1 / random.uniform(0.1, 1), -random.random(count)
    sums = new_sums(most)
    found = importance_after(sums, 1.0, radius, w, r)
    squared = -2 * distance_of(sums, radius) * (count + 1)
    assert found == pytest.approx(worst_importance(w, r, most, radius, squared), rel=1e-4)


def test_without_a_bound_of_w_it_is_the_limit_of_large_bounds():
    random = np.random.default_rng(3)
    w, r = 1 / random.uniform(0.1, 1, 30), -random.random(30)
    found = [importance_after(new_sums(most), 0.9, quantile(0.1), w, r) for most in (1e7, np.inf)]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


@pytest.mark.parametrize(("level", "wanted"), [(0.05, 3.8415), (0.5, 0.4549), (0.01, 6.6349)])
def test_the_quantile_is_that_of_the_chi_squared_distribution(level, wanted):
    assert quantile(level) == pytest.approx(wanted, rel=2e-3)


def decisions(count=60, seed=0):
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        actions = [{"a": {f"a{k}": 1.0, f"b{random.integers(3)}": 1.0}} for k in range(3)]
        chosen = int(random.integers(3))
        cost, probability = float(chosen) / 3 + float(random.random()), float(random.choice([0.25, 0.5]))
        found.append({"actions": actions, "chosen": chosen, "cost": cost, "probability": probability})
    return found


BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


@pytest.mark.parametrize("explorer", [[], [{"explore_epsilon": {"epsilon": 0.2}}]], ids=["scores", "probabilities"])
def test_a_decision_is_learned_with_this_importance(explorer):
    config = {"chain": [{"distributionally_robust": {"memory": 0.95, "level": 0.2}}, *explorer, *BELOW]}
    chain, twin = Chain.from_config(config), Chain.from_config({"chain": [*explorer, *BELOW]})
    sums, factors = new_sums(np.inf), []
    for each in decisions():
        [ranked] = [outputs.ranked for outputs in chain_outputs(twin, each)]
        tied = explorer and not twin.weights.any()  # VW then takes the last
        best = 2 if tied else ranked[0]
        w = np.float64(np.float32(1) / np.float32(each["probability"])) if best == each["chosen"] else 0.0
        _note_in(sums, float(np.float32(0.95)), w, -float(np.float32(each["cost"])))
        logged = float(np.float32(1) / np.float32(each["probability"]))
        factors.append(_importance_of(sums, quantile(float(np.float32(0.2))), logged, -float(np.float32(each["cost"]))))
        twin.learn([{**each, "importance": float(factors[-1])}])
        chain.learn([each])
    np.testing.assert_allclose(chain.weights, twin.weights, rtol=1e-4, atol=1e-6)
    assert len(set(factors)) > 30 and max(factors) > 3 * min(factors)


def chain_outputs(chain, decision):
    hidden = {"actions": decision["actions"]}
    return [chain.run_batch(batch, learn=False)[0] for batch in chain.batches([hidden])]


@compiled
def _note_in(sums, memory, w, r):
    _note(sums, memory, w, r)


@compiled
def _importance_of(sums, radius, w, r):
    return _importance(sums, radius, w, r)


@pytest.mark.parametrize("parameters", [{"memory": 1.0, "greatest_weight": 9.0}, {"level": 0.5}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(DistributionallyRobust, parameters):
        check()


def test_slots_are_refused():
    with pytest.raises(UsageError, match="^got --cb_dro and --ccb_explore_adf, wanted one of them"):
        decision_layers(parse(["--ccb_explore_adf", "--cb_explore_adf", "--cb_dro"]))


def test_vw_models_do_not_keep_the_sums():
    with pytest.raises(HutchError, match="VW models do not keep the state of distributionally_robust"):
        vw_model(Chain.from_config({"chain": ["distributionally_robust", *BELOW]}))
