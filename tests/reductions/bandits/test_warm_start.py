"""Bandit tests that begin with full labels: what they are at their ends, and how weights between them are chosen."""

from types import SimpleNamespace

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.warm_start import WarmStartBandit, candidate_weights, importances
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

pytestmark = pytest.mark.filterwarnings("ignore:no example had a label")  # first examples do not count
PLAIN = {"linear": {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.1}}
BELOW = [{"explore_epsilon": {"epsilon": 0.2}}, "contextual_bandit", "cost_sensitive_with_features", PLAIN]


def build(name, below=BELOW, **parameters):
    return Chain.from_config({"chain": [{name: {"classes": 3} | parameters}, *below], "weights": {"bits": 20}})


def lines(count=200, seed=0):
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        word = random.integers(9)
        label = word % 3 + 1 if random.random() < 0.8 else random.integers(1, 4)
        found.append(f"{label} |w word{word} other{random.integers(4)}")
    return found


def test_without_first_examples_it_is_the_simulated_bandit():
    one, other = build("warm_start_bandit", right=-1.0, wrong=2.0), build("simulate_bandit", right=-1.0, wrong=2.0)
    np.testing.assert_array_equal(one.learn(lines()), other.learn(lines()))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5)
    assert one.statistics.sum_loss == other.statistics.sum_loss


def test_with_first_examples_alone_it_learns_the_cost_of_every_class():
    one = build("warm_start_bandit", warm_start=200, interaction=0)
    below = [PLAIN]
    other = build("cost_sensitive_one_against_all", below, first_class=1)
    costs = [" ".join(f"{k}:{int(k != int(line[0]))}" for k in (1, 2, 3)) + line[1:] for line in lines()]
    found = one.learn(lines())
    np.testing.assert_array_equal(found[1:], other.learn(costs)[1:])  # a tie is the first example's
    assert one.statistics.weighted_labeled == 0 and one.statistics.sum_loss == 0


def test_phases_end_and_later_examples_are_passed_over():
    chain = build("warm_start_bandit", warm_start=20, interaction=30)
    chain.learn(lines(50))
    kept = chain.weights.copy()
    assert set(chain.learn(lines(40, 1))) == {1.0}
    np.testing.assert_array_equal(chain.weights, kept)
    assert chain.statistics.weighted_labeled == 30


@pytest.mark.parametrize(("learns", "phase"), [("warm_start", 0), ("interaction", 1), ("nothing", 2)])
def test_only_the_named_phase_is_learned(learns, phase):
    chain, moved = build("warm_start_bandit", warm_start=20, learns=learns), []
    for k in range(2):
        before = chain.weights.copy()
        chain.learn(lines(20, k))
        moved.append(bool((before != chain.weights).any()))
    assert moved == [phase == 0, phase == 1]


def test_weights_halve_their_distance_to_the_ends():
    def found(**given):
        usual = {"candidates": 5, "learns": "both", "weights": "half", "epsilon": 0.25}
        return candidate_weights(SimpleNamespace(**{**usual, **given})).tolist()

    assert found() == [0.125, 0.25, 0.5, 0.75, 0.875]
    assert found(weights="half_with_ends") == [0, 0.25, 0.5, 0.75, 1]
    assert found(weights="minimax", candidates=2) == pytest.approx([0.1, 0.2])
    assert found(learns="warm_start") == [0] * 5 and found(learns="interaction") == [1] * 5


def test_importances_add_up_to_the_examples():
    p = SimpleNamespace(candidates=4, learns="both", weights="half", epsilon=0.1, warm_start=30, interaction=70)
    np.testing.assert_allclose(30 * importances(p)[0] + 70 * importances(p)[1], 100, rtol=1e-6)
    weights = candidate_weights(p)
    np.testing.assert_allclose(importances(p)[0] * weights, importances(p)[1] * (1 - weights), rtol=1e-6)


def test_misleading_labels_are_left_behind():
    """All first examples show class 1: the weights that trust them least win, and errors come to rest far below."""
    ends = {}
    for probability in (0.0, 1.0):
        chain = build("warm_start_bandit", warm_start=100, candidates=7, corruption="overwrite",
                      corruption_probability=probability, interaction=600)  # fmt: skip
        chain.learn(lines(700, 5))
        costs = chain.layers[0].saved()["cumulated"]
        ends[probability] = int(np.argmin(costs)), chain.statistics.average_loss
    assert ends[1.0][0] > ends[0.0][0]
    assert ends[0.0][1] < ends[1.0][1] < 0.6


@pytest.mark.parametrize(("corruption", "wanted"), [("next", {2: 3, 3: 1, 1: 2}), ("overwrite", {1: 2, 2: 2, 3: 2})])
def test_corrupted_labels(corruption, wanted):
    """What it learns from lines of a class each is the class by which that one is replaced."""
    chain = build("warm_start_bandit", warm_start=90, corruption=corruption, corruption_probability=1.0,
                  corruption_class=2, interaction=0)  # fmt: skip
    chain.learn([f"{k % 3 + 1} |w only{k % 3 + 1}" for k in range(90)])
    assert {k: int(chain.predict([f"|w only{k}"])[0]) for k in (1, 2, 3)} == wanted


def test_costs_guide_it_as_classes_do():
    rows = [" ".join(f"{k}:{int(k != int(line[0]))}" for k in (1, 2, 3)) + line[1:] for line in lines()]
    one = build("warm_start_bandit", warm_start=50, candidates=3)
    other = build("warm_start_cost_sensitive_bandit", warm_start=50, candidates=3)
    one.shared["random_state"] = other.shared["random_state"]
    np.testing.assert_array_equal(one.learn(lines()), other.learn(rows))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.slow
def test_contract_with_other_parameters():
    given = {"classes": 3, "warm_start": 3, "candidates": 2, "weights": "minimax", "draws_warm_start": True}
    for check in checks_of_reduction(WarmStartBandit, given):
        check()


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="corruption_class: got 5, wanted 1 to 3"):
        build("warm_start_bandit", corruption_class=5)
    with pytest.raises(UsageError, match="got --warm_cb and --cbify, wanted one of them"):
        chain_of(parse("--warm_cb 3 --cbify 3 --cb_explore_adf".split()))
    with pytest.raises(UsageError, match="got it with --warm_cb_cs, wanted labels that are classes"):
        chain_of(parse("--warm_cb 3 --cb_explore_adf --warm_cb_cs --corrupt_prob_warm_start 0.5".split()))
