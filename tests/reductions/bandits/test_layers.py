"""Layers that decide: learning by hand as an oracle."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.data.sources import to_batches
from hutch.core.errors import ConfigError
from hutch.core.kernel.cache import compiled
from hutch.reductions.bandits.explore_squarecb import _spread_over_possible


def _plain(*above, **parameters):
    """A chain on plain gradient descent: w += 2 rate importance (label - w·x) x."""
    linear = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.1}
    lower = [{"contextual_bandit": parameters}, "cost_sensitive_with_features", {"linear": linear}]
    return Chain.from_config({"chain": [*above, *lower], "input": {"constant": False}})


def _decisions(count, actions=3):
    """Decisions of actions with one feature each and a shared one, and their logged choices."""
    random = np.random.default_rng(3)
    for _ in range(count):
        features = random.integers(0, 5, actions)
        chosen = int(random.integers(actions))
        cost, probability = float(features[chosen] % 2), float(random.uniform(0.2, 1))
        record = {
            "shared": {"s": {"s": 0.5}},
            "actions": [{"a": [f"f{k}"]} for k in features],
            "chosen": chosen,
            "cost": cost,
            "probability": probability,
        }
        yield record, features, chosen, cost, probability


def _by_hand(kind, clip):
    """Scores before each decision is learned, by the same arithmetic in float64; `mtr`, `ips` and `dr`."""
    policy, regressor, low, high = np.zeros(6), np.zeros(6), 0.0, 0.0
    seen = actions = 0
    for _, features, chosen, cost, logged in _decisions(60):
        probability = max(logged, clip)
        x = np.zeros((len(features), 6))
        x[np.arange(len(features)), features], x[:, 5] = 1, 0.5
        yield x @ policy
        if kind == "mtr":
            seen, actions = seen + 1, actions + len(features)
            targets, weights = {chosen: cost}, {chosen: seen / actions / probability}
        elif kind == "ips":
            targets, weights = {k: cost / probability * (k == chosen) for k in range(len(features))}, {}
        else:
            targets, weights = {}, {}
            for k in range(len(features)):
                if k == chosen:
                    low, high = min(low, cost), max(high, cost)
                estimate = targets[k] = np.clip(x[k] @ regressor, low, high)
                if k == chosen:
                    targets[k] += (cost - estimate) / probability
                    regressor += 0.2 / logged * (cost - estimate) * x[k]
        for k, target in targets.items():
            low, high = min(low, target), max(high, target)
            policy += 0.2 * weights.get(k, 1) * (target - np.clip(x[k] @ policy, low, high)) * x[k]


@pytest.mark.parametrize("clip", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["mtr", "ips", "dr"])
def test_learns_as_by_hand(kind, clip):
    chain = _plain(type=kind, clip=clip)
    scores = [chain.learn([record]) for record, *_ in _decisions(60)]
    np.testing.assert_allclose(scores, list(_by_hand(kind, clip)), rtol=2e-4, atol=2e-5)


def test_squarecb_by_its_formula():
    chain, scored = _plain({"explore_squarecb": {"scale": 3.0}}), _plain()
    for t, (record, *_) in enumerate(_decisions(40)):
        last = record["chosen"] == 2
        scores = scored.predict([record]).astype(float)
        gap = 3 * t**0.5 * (scores - scores.min())
        wanted = 1 / (3 + gap)
        best = int(np.argmin(scores))
        wanted[best] = 0
        wanted[best] = 1 - wanted.sum()
        np.testing.assert_allclose(chain.learn([record]), wanted, rtol=1e-4)
        scored.learn([record if last else {**record, "probability": 1.0}])  # which is how SquareCB has it learned


def _epsilon_greedy(scores):
    best = scores - scores.min() <= 1e-4 * np.maximum(1, abs(scores.min()))
    return 0.3 / len(scores) + 0.7 * best / best.sum()


def _softmax(scores):
    weights = np.exp(-2 * scores)
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("explorer", "formula"),
    [({"explore_epsilon": {"epsilon": 0.3}}, _epsilon_greedy), ({"explore_softmax": {"rate": 2.0}}, _softmax)],
    ids=["epsilon", "softmax"],
)
def test_simple_explorers_by_their_formulas(explorer, formula):
    chain, scored = _plain(explorer), _plain()
    for record, *_ in _decisions(40):
        wanted = formula(scored.predict([record]).astype(float))
        np.testing.assert_allclose(chain.learn([record]), wanted, rtol=1e-4)
        scored.learn([record])


def test_the_loss_of_an_explorer_is_the_inverse_propensity_estimate_of_its_cost():
    chain, estimate = _plain({"explore_epsilon": {"epsilon": 0.3}}), 0.0
    for record, _, chosen, cost, probability in _decisions(40):
        record["importance"] = importance = 0.5 + chosen
        estimate += importance * chain.learn([record])[chosen] * cost / probability
    assert chain.statistics.sum_loss == pytest.approx(estimate, rel=1e-5)


def test_actions_of_a_batch_without_seeds_are_drawn_by_chance_again():
    """Decisions with a seed leave the run's random state as it is, and their seeds are theirs alone."""
    first, second = (_plain("sample_action", {"explore_epsilon": {"epsilon": 1.0}}) for _ in range(2))
    decisions = [{key: record[key] for key in ("shared", "actions")} for record, *_ in _decisions(30)]

    def ranked(chain, tag):
        batches = to_batches([{**decision, "tag": tag} for decision in decisions], chain.parser)
        return np.concatenate([chain.run_batch(batch)[0].ranked for batch in batches])

    np.testing.assert_array_equal(ranked(first, "seed=a"), ranked(first, "seed=a"))
    np.testing.assert_array_equal(ranked(first, ""), ranked(second, ""))


def test_greedy_finds_the_cheap_actions():
    chain = _plain("explore_epsilon")
    chain.learn([record for record, *_ in _decisions(400)])
    for record, features, *_ in _decisions(20):
        best = features[int(np.argmax(chain.predict([record])))]
        assert best % 2 == 0 or all(features % 2 == 1)


def test_the_shared_line_counts_for_every_action():
    chain = _plain()
    decision, *_ = next(_decisions(1))
    merged = {**decision, "shared": None, "actions": [{**a, **decision["shared"]} for a in decision["actions"]]}
    np.testing.assert_array_equal(chain.learn([decision] * 3), _plain().learn([merged] * 3))


def test_importance_is_that_of_the_line():
    heavy, twice = _plain(type="ips"), _plain(type="ips")
    decision = {**next(_decisions(1))[0], "cost": 1.0}
    heavy.learn([{**decision, "importance": 2.0}])
    assert heavy.statistics.weighted_labeled == 2
    twice.learn([decision])
    assert not np.array_equal(heavy.predict([decision]), twice.predict([decision]))


@pytest.mark.parametrize("name", ["explore_regcb", {"explore_squarecb": {"eliminate": True}}])
def test_ranges_need_a_learner_that_has_them(name):
    with pytest.raises(ConfigError, match="needs sensitivity from the layers below it, which 'pistol' lacks"):
        Chain.from_config({"chain": [name, "contextual_bandit", "cost_sensitive_with_features", "pistol"]})


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        (["explore_squarecb", {"contextual_bandit": {"type": "dr"}}], "needs contextual_bandit.type mtr"),
        ([{"explore_cover": {"policies": 2}}, {"contextual_bandit": {"type": "sm"}}], "mtr, dr or ips"),
        (["explore_epsilon"], "needs a layer below it that takes labels 'logged_action'"),
        (["ngrams", "contextual_bandit"], "reads single examples"),
    ],
)
def test_layers_that_do_not_fit_are_refused(layers, text):
    names = [{"ngrams": {"size": 2}} if layer == "ngrams" else layer for layer in layers]
    with pytest.raises(ConfigError, match=text):
        Chain.from_config({"chain": [*names, "cost_sensitive_with_features", "linear"]})


@pytest.mark.parametrize(
    ("top", "label"), [({"simulate_bandit": {"classes": 3}}, "2"), ("action_per_class", "1:1:0.5")]
)
@pytest.mark.parametrize("mode", ["strings", "all"])
@pytest.mark.parametrize("letter", ["", "f"])
def test_names_that_share_their_weights_are_named(top, label, mode, letter):
    top = {"action_per_class": {"classes": 3}} if top == "action_per_class" else top
    below = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    chain = Chain.from_config({"chain": [top, *below], "input": {"hash": mode}})
    lines = [f"{label} |x " + " ".join(f"{letter}{k}:0.5" for k in range(10))] * 5
    if mode == "all" or letter:
        chain.learn(lines)
        return
    with pytest.warns(UserWarning, match=r"4 share their weights; wanted names with letters, or hash: all"):
        chain.learn(lines)
    chain.learn(lines)  # said once


def test_columns_of_a_matrix_share_their_weights():
    random = np.random.default_rng(0)
    below = ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]
    chain = Chain.from_config({"chain": [{"simulate_bandit": {"classes": 4}}, *below]})
    with pytest.warns(UserWarning, match="columns of matrices"):
        chain.learn(random.normal(size=(50, 8)), random.integers(1, 5, 50))


def test_probabilities_of_actions_are_sigmoids_of_scores():
    classifies = {"cost_sensitive_with_features": {"method": "classification"}}
    logistic = {"linear": {"loss": "logistic"}}
    chain = Chain.from_config({"chain": ["action_probabilities", classifies, logistic]})
    scored = Chain.from_config({"chain": [classifies, logistic]})
    for record, features, *_ in _decisions(60):
        decision = {key: record[key] for key in ("shared", "actions")} | {"costs": [float(k % 2) for k in features]}
        sigmoids = 1 / (1 + np.exp(scored.predict([decision]).astype(float)))
        np.testing.assert_allclose(chain.predict([decision]), sigmoids / sigmoids.sum(), rtol=1e-5)
        [batch] = to_batches([decision], chain.parser)
        outputs, _ = chain.run_batch(batch, learn=False)
        np.testing.assert_array_equal(outputs.raw[1:], scored.predict([decision]))
        assert chain.learn([decision]).shape == scored.learn([decision]).shape


@compiled
def _spread_over(values, ranked, gamma, low, high):
    _spread_over_possible(values, ranked, gamma, low, high)


def _possible(scores, ranked, gamma, low, high):
    """Probabilities of `explore_squarecb` with `eliminate`, the best first."""
    possible = low[ranked] <= high.min()
    before = np.array([min(scores[:k][possible[:k]], default=np.inf) for k in range(len(scores))])
    count = np.sum(possible & (scores < before))  # of those that are better than all before
    best = int(np.flatnonzero(possible & (scores == scores[possible].min()))[0])
    found = np.where(possible, 1 / (count + gamma * (scores - scores[best])), 0)
    found[best] = 0
    found[best] = 1 - found.sum()
    return found


@pytest.mark.parametrize("seed", range(20))
def test_squarecb_counts_actions_that_are_better_than_all_before(seed):
    random = np.random.default_rng(seed)
    scores = random.integers(1, 4, 5).astype(np.float32)  # so few values that some are equal
    scores = np.sort(scores) if seed % 2 else scores
    low, high, ranked = scores - 1, scores + np.float32(0.5 + 0.5 * random.integers(2)), random.permutation(5)
    values = scores.copy()
    _spread_over(values, ranked.astype(np.uint32), np.float32(3), low[ranked.argsort()], high[ranked.argsort()])
    wanted = _possible(scores.astype(float), ranked, 3, low[ranked.argsort()], high[ranked.argsort()])
    np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "explorer", ["explore_regcb", {"explore_squarecb": {"eliminate": True}}], ids=["regcb", "squarecb"]
)
def test_no_action_is_impossible_where_all_cost_more_than_costs_can(explorer):
    name, own = (explorer, {}) if isinstance(explorer, str) else next(iter(explorer.items()))
    chain = _plain({name: {**own, "highest_cost": 0.25, "mellowness": 1e-6}})
    for _ in range(30):
        for chosen in range(3):
            record = {"actions": [{"a": [f"f{k}"]} for k in range(3)], "chosen": chosen, "cost": 1.0 + chosen}
            chain.learn([{**record, "probability": 1.0}])
    found = chain.predict([{"actions": [{"a": [f"f{k}"]} for k in range(3)]}])
    if name == "explore_regcb":
        np.testing.assert_allclose(found, [1 / 3] * 3, rtol=1e-6)
    else:
        assert found.min() > 0, found


@pytest.mark.parametrize(("multiplier", "accepts"), [(1.0, True), (1e-12, False)])
def test_rejection_sampling_accepts_all_or_nothing(multiplier, accepts):
    """An explorer that chooses as the log does learns from every decision; with a factor of nearly 0, from none."""
    log = [{**record, "probability": 1 / 3} for record, *_ in _decisions(40)]
    explorer = {"explore_epsilon": {"epsilon": 1.0}}
    chain, other = _plain({"rejection_sampling": {"multiplier": multiplier}}, explorer), _plain(explorer)
    for each in (chain, other):
        each.learn(log)
    found, wanted = chain.weights, other.weights
    assert wanted.any()
    np.testing.assert_array_equal(found, wanted if accepts else np.zeros_like(wanted))


def test_rejection_sampling_keeps_to_its_rate():
    """So many decisions are learned: importances above 1 make up for probabilities that cannot be."""
    log = [record for record, *_ in _decisions(2000)]
    chain = _plain({"rejection_sampling": {"target_rate": 0.2}}, {"explore_first": {"decisions": 1 << 20}})
    chain.learn(log)
    learned = (1 << 20) - int(chain.layers[1].saved()["left"][0])
    assert learned == pytest.approx(400, rel=0.1)


def test_rejection_sampling_leaves_importances_as_they_are():
    """Those of a batch are the same in its next pass, although decisions are learned with larger ones."""
    log = [{**record, "importance": 0.3 + 0.01 * k} for k, (record, *_) in enumerate(_decisions(200))]
    chain = _plain({"rejection_sampling": {"target_rate": 0.9}}, {"explore_epsilon": {"epsilon": 0.2}})
    batches = list(chain.batches(log))
    before = [batch.importance.copy() for batch in batches]
    for batch in batches:
        chain.learn(batch)
    for batch, importance in zip(batches, before, strict=True):
        np.testing.assert_array_equal(batch.importance, importance)
