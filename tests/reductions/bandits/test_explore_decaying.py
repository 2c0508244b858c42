"""Exploration that fades: bounds against a mixture of bets in plain Python, and what champion and challengers do."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError, UsageError
from hutch.core.kernel.cache import compiled
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.confidence_sequence import COUNT, RATES, SIDE, lower_bound, note
from hutch.reductions.bandits.explore_decaying import ExploreDecaying
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of


@compiled
def bound_of(numbers, level, tolerance, side, costs):
    """The bound after all numbers."""
    for x in numbers:
        note(side, x)
    return lower_bound(side, level, tolerance, costs)


def bound_by_bets(numbers, level):
    """The mean at which the mixture of bets has a wealth of 1 / level, by all rates at once."""
    n, total, low, middle, far = 0, 0.0, 0.0, 0.0, []
    for x in numbers:
        error = x - min(1.0, (total + 0.5) / (n + 1))
        low, middle = low + error**2 * (error <= 0), middle + error**2 * (0 < error <= 1)
        far += [error] if error > 1 else []
        n, total = n + 1, total + x
    j = np.arange(400)
    rates = 0.5 * 1.6 ** -(j + 0.5)  # bets on a number; those of the paper are times the root of n + 1
    scale = 0.5 * (1 + 1.4406337970699393 / (np.float64(np.float32(0.95)) * math.pi**2 / 6))
    weights = scale * 0.6 * 1.6 ** -(1.0 + j)
    variance = 0.5 * rates**2 * (low / (1 - rates) + middle) * (n + 1) / (n + 1)
    for error in far:
        below = 1.5 ** math.floor(math.log(error) / math.log(1.5))
        part = (1.5 * below - error) / (0.5 * below)
        variance += part * (rates * below - np.log1p(rates * below))
        variance += (1 - part) * (rates * 1.5 * below - np.log1p(rates * 1.5 * below))
        variance -= 0.5 * part * (1 - part) * (rates * 0.5 * below / (1 + rates * 1.5 * below)) ** 2

    def wealth(mean):
        logs = rates * (total - n * mean) - variance + np.log(weights)
        return logs.max() + math.log(np.exp(logs - logs.max()).sum())

    if wealth(0.0) <= -math.log(level):
        return 0.0
    below, above = 0.0, 1.0
    for _ in range(50):
        middle_mean = (below + above) / 2
        below, above = (middle_mean, above) if wealth(middle_mean) >= -math.log(level) else (below, middle_mean)
    return below


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_bounds_by_a_mixture_of_bets(seed):
    random = np.random.default_rng(seed)
    numbers = random.choice([0.0, 0.3, 1.0, 3.0, 40.0], size=60 * (seed + 1), p=[0.4, 0.2, 0.3, 0.09, 0.01])
    numbers = np.minimum(numbers * random.uniform(0.5, 1.5, size=len(numbers)), [2, 5, 90][seed % 3])
    found = bound_of(numbers, 0.1, 1e-9, np.zeros(SIDE), np.zeros(RATES))
    assert found == pytest.approx(bound_by_bets(numbers, 0.1), abs=1e-7)
    assert 0.05 < found < 1


@pytest.mark.slow
def test_a_bound_rarely_exceeds_the_mean_at_any_time():
    random, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        side, costs = np.zeros(SIDE), np.zeros(RATES)
        numbers = random.choice([0.0, 2.0], size=100, p=[0.75, 0.25])  # 0.5 on average
        wrong += any(bound_of(numbers[k : k + 10], 0.1, 1e-6, side, costs) > 0.5 for k in range(0, 100, 10))
    assert wrong <= 200 * 0.1


def decisions(count, seed=0, change=10**9, cost=-1.0):
    """Decisions of three actions, the best of which depends on the user, as one text."""
    random, blocks = np.random.default_rng(seed), []
    for k in range(count):
        user, chosen = random.integers(3), random.integers(3)
        good = (chosen + user + k // change) % 3 == 0
        label = f"0:{cost if random.random() < (0.95 if good else 0.05) else 0}:0.3333 "
        blocks += [f"shared |u u{user}", *(f"{label if a == chosen else ''}|a a{a}" for a in range(3)), ""]
    return ["\n".join(blocks)]


def chain_with(**parameters):
    layers = [{"explore_decaying": parameters}, "contextual_bandit", "cost_sensitive_with_features"]
    linear = {"linear": {"interactions": ["ua"]}}
    return Chain.from_config({"chain": [*layers, linear], "input": {"namespaces": "letter"}, "weights": {"bits": 12}})


def counts_of(chain):
    return chain.layers[0].learned


@pytest.mark.slow
def test_epsilon_falls_with_the_decisions_of_the_champion():
    chain = chain_with(models=2, epsilon=0.8)
    for n in (7, 26):
        chain.learn(decisions(n - sum(counts_of(chain)[1:]), seed=n))
        probabilities = chain.predict(decisions(1))
        assert min(probabilities) == pytest.approx(0.8 * (n + 1) ** (-1 / 3) / 3, rel=1e-5)


@pytest.mark.slow
def test_challengers_are_renewed_and_one_becomes_the_champion_after_a_change():
    steady, chain = chain_with(scope=30), chain_with(scope=20, level=0.99, comparisons=1)
    steady.learn(decisions(600))
    assert counts_of(steady)[-1] == 600 and max(counts_of(steady)[:-1]) <= 600 ** (2 / 3) + 1
    assert steady.layers[0].saved()["places"][-1] == 2
    chain.learn(decisions(300, change=100))
    assert counts_of(chain)[-1] < 300


@pytest.mark.slow
def test_a_model_that_begins_again_has_forgotten_all():
    chain = chain_with(models=2, scope=5)
    chain.learn(decisions(120))
    place = chain.layers[0].saved()["places"][0]
    weights = chain.weights.reshape(-1, 2, chain.weights.shape[-1])
    while counts_of(chain)[0]:
        chain.learn(decisions(1, seed=counts_of(chain)[1]))
    assert not weights[:, place].any() and weights[:, 1 - place].any()


@pytest.mark.slow
def test_rewards_beyond_0_and_1_are_said():
    chain = chain_with()
    with pytest.warns(UserWarning, match="explore_decaying.*: [0-9] decisions with a reward outside of 0 to 1"):
        chain.learn(decisions(9, cost=-2.0))


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="explore_decaying: got 3 sub-models below it, wanted a power of two"):
        Chain.from_config(
            {
                "chain": [
                    "explore_decaying",
                    "contextual_bandit",
                    "cost_sensitive_with_features",
                    {"bootstrap": {"models": 3}},
                    "linear",
                ]
            }
        )
    for other in ("ccb_explore_adf", "slates", "cb_dro"):
        with pytest.raises(UsageError, match=f"got --epsilon_decay and --{other}, wanted one of them"):
            chain_of(parse(f"--cb_explore_adf --epsilon_decay --{other}".split()))
    with pytest.raises(UsageError, match="got --epsilon_decay and --squarecb|got --squarecb and --epsilon_decay"):
        chain_of(parse("--cb_explore_adf --epsilon_decay --squarecb".split()))
    with pytest.warns(UserWarning, match="--epsilon: it has no effect on --epsilon_decay"):
        chain_of(parse("--cb_explore_adf --epsilon_decay --epsilon 0.1".split()))


@pytest.mark.slow
def test_models_that_share_weights_are_refused():
    layer = chain_with(models=2).layers[0]
    arrays = {name: array.copy() for name, array in layer.saved().items()}
    layer.check_saved(arrays)
    for name, value in (("places", 1), ("sides", -1.0)):
        wrong = {key: array.copy() for key, array in arrays.items()}
        wrong[name].reshape(-1)[0 if name == "places" else COUNT] = value
        with pytest.raises(ModelError, match="explore_decaying: got models that share their weights"):
            layer.check_saved(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [{"models": 3, "scope": 2, "level": 0.9}, {"models": 1, "fades": False, "epsilon": 0.1}], ids=str
)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(ExploreDecaying, parameters):
        check()
