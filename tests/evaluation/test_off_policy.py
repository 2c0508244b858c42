"""Off-policy evaluation: against the truth of a simulated world, and by hand."""

import json

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.core.intervals import quantile, wilson
from hutch.evaluation.off_policy import estimator_of, evaluate, value_of

CHAIN = {"chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]}


def _regressor(judged: Chain) -> Chain:
    return Chain.from_config(estimator_of(judged.config.to_dict(), judged.layers))


def _log(seed, count=600):
    """Decisions between a cheap and an expensive action, chosen with probability 0.3 and 0.7."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        chosen = int(random.random() < 0.7)
        cost = float(random.random() < (0.2, 0.8)[chosen])
        yield {
            "actions": [{"a": ["cheap"]}, {"a": ["dear"]}],
            "chosen": chosen,
            "cost": cost,
            "probability": (0.3, 0.7)[chosen],
        }


def _evaluate(log, chain=CHAIN, **how):
    judged = Chain.from_config(chain)
    return evaluate(judged, _regressor(judged), judged.batches(list(log)), **how)


def test_estimates_find_the_true_cost_of_an_untrained_chain():
    """It chooses either action with probability one half, which costs 0.5."""
    found = [_evaluate(_log(seed), learn=False) for seed in range(30)]
    for name in ("ips", "snips", "dr"):
        estimates = [getattr(each, name) for each in found]
        assert np.mean([each.value for each in estimates]) == pytest.approx(0.5, abs=0.02)
        assert sum(each.low <= 0.5 <= each.high for each in estimates) >= 25
    widths = [[getattr(each, name).high - getattr(each, name).low for each in found] for name in ("dr", "ips")]
    assert np.mean(widths[0]) < np.mean(widths[1])


def test_a_chain_that_learns_is_cheaper_than_the_log():
    found = _evaluate(_log(1))
    assert found.decisions == 600
    assert found.dr.high < found.logged


def test_by_hand():
    """Two more decisions: weight 65 / 34, costs of 1 and 3, a predicted cost of 0.9 (weighted mean of 1 and 0.5)."""
    w, c, model, predicted = np.array([2.0, 0.5]), np.array([1.0, 3.0]), np.array([0.7, 0.9]), np.array([1.0, 0.5])
    found = value_of(w, c, model, predicted, 0.9)
    heavy = 65 / 34
    more, costs = np.array([2.0, 0.5, heavy, heavy]), np.array([1.0, 3.0, 1, 3])
    at = (3.5 + 4 * heavy) / (2.5 + 2 * heavy)
    assert found.ips.value == pytest.approx(1.75)
    assert found.snips.value == pytest.approx(3.5 / 2.5)
    terms = np.array([0.7, 0.9 + 0.5 * 2.5, 0.8 + heavy * 0.1, 0.8 + heavy * 2.1])
    assert found.dr.value == pytest.approx(terms[:2].mean())
    variances = {
        "ips": np.var(more * costs) / 2,
        "snips": np.sum(more**2 * (costs - at) ** 2) / more.sum() / 2.5,
        "dr": np.var(terms) / 2,
    }
    reach = quantile(0.9, 4.25**2 / (16 + 1 / 16) + 1)
    for name, variance in variances.items():
        each = getattr(found, name)
        ends = (0, 3) if name == "ips" else (1, 3)
        low, high = wilson(each.value, variance, at, ends, reach)
        assert (each.low, each.high) == pytest.approx((min(low, each.value), high))
    assert found.effective == pytest.approx(2.5**2 / 4.25)


def test_an_estimate_beyond_all_costs_is_said_to_be() -> None:
    weight = np.concatenate([np.full(150, 0.5), [60.0]])
    cost = np.concatenate([np.zeros(75), np.ones(76)])
    found = value_of(weight, cost, np.full(151, 0.9), np.full(151, 0.1))
    assert found.dr.value > 1 >= found.snips.value
    (said,) = [text for text in found.warnings if text.startswith("dr is ")]
    assert said.startswith(
        f"dr is {found.dr.value:.4f}, beyond all costs of the log, 0 to 1: it rests on few decisions"
    )
    calm = value_of(np.ones(151), cost, np.full(151, 0.5), np.full(151, 0.5))
    assert not any("beyond all costs" in text for text in calm.warnings)


def test_what_makes_an_estimate_doubtful():
    ones, costs = np.ones(400), np.arange(400) % 2.0
    assert value_of(ones, costs, ones, ones).warnings == ()
    (few,) = value_of(ones[:50], costs[:50], ones[:50], ones[:50]).warnings
    assert few.startswith("50 effective decisions, below 100")
    (wrong,) = value_of(2 * ones, costs, ones, ones).warnings
    assert wrong.startswith("weights have the mean 2, wanted about 1")
    (wrong,) = value_of(0.5 * ones, costs, ones, ones).warnings
    assert wrong.startswith("weights have the mean 0.5, wanted about 1")
    assert "every decision cost 1: the log does not say" in value_of(ones, ones, ones, ones).warnings[0]
    nothing = value_of(0 * ones, costs, ones, ones)
    assert (nothing.snips.low, nothing.snips.high, nothing.effective) == (0, 1, 0)
    assert "the chain never does what was done" in nothing.warnings[0]


@pytest.mark.parametrize("seed", range(8))
def test_every_interval_holds_its_estimate(seed):
    """Even where weights cannot be right, so that the plain estimate lies beyond all costs."""
    random = np.random.default_rng(seed)
    weight, cost = random.gamma(0.5, 8, 20), random.normal(seed - 4, 1, 20)
    found = value_of(weight, cost, random.normal(size=20), random.normal(size=20))
    for each in (found.ips, found.snips, found.dr):
        assert each.low <= each.value <= each.high


@pytest.mark.parametrize(("least", "rate"), [(0.01, 1.0), (0.02, 0.1)])
def test_intervals_cover_the_cost_of_what_was_rarely_done(least, rate):
    """2,000 decisions between five actions, one of them mostly; the policy always does another."""
    held, n = [], 2000
    chances = np.array([1 - 4 * least, *[least] * 4])
    means = rate * np.array([0.2, 0.4, 0.5, 0.6, 0.8])
    for seed in range(200):
        random = np.random.default_rng(seed)
        chosen = random.choice(5, n, p=chances)
        cost = (random.random(n) < means[chosen]).astype(float)
        seen = np.cumsum(cost) / np.arange(1, n + 1) - cost / np.arange(1, n + 1)
        for action in (1, 4):
            found = value_of((chosen == action) / chances[chosen], cost, seen, seen)
            held.append([each.low <= means[action] <= each.high for each in (found.ips, found.snips, found.dr)])
    assert min(np.mean(held, axis=0)) >= 0.93


def test_classes_are_judged_as_actions_are():
    """A log of classes, and the same as decisions with features of their own, in a chain of as many weights."""
    classes = {"chain": [{"action_per_class": {"classes": 2}}, *CHAIN["chain"]]}
    log = list(_log(5, 400))
    lines = [f"{d['chosen'] + 1}:{d['cost']:g}:{d['probability']} |f here" for d in log]
    lines.insert(7, "3:1:0.5 |f here")  # no such class
    judged = Chain.from_config(classes)
    estimator = _regressor(judged)
    found = evaluate(judged, estimator, judged.batches(lines))
    wanted = _evaluate(log)
    assert found.decisions == 400 and found.logged == pytest.approx(wanted.logged)
    for name in ("ips", "snips", "dr"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert one.low < other.value < one.high and one.value == pytest.approx(other.value, abs=0.05)
    greedy = {"chain": [classes["chain"][0], *CHAIN["chain"][1:]]}
    judged = Chain.from_config(greedy)
    best = evaluate(judged, _regressor(judged), judged.batches(lines))
    assert best.ips.value < 0.4


@pytest.mark.filterwarnings("ignore:.*nothing is learned from the decision")
def test_decisions_that_are_not_one_logged_choice_are_left_out():
    decision = "shared |s s\n{} |a x\n{} |a y\n\n"
    good = [decision.format("0:1:0.5", ""), decision.format("", "1:3:0.25")] * 3
    bad = [decision.format(*labels) for labels in (("0:1:0.5", "1:9:0.5"), ("", ""), ("0:9:0", ""))]
    judged = [
        evaluate(
            chain,
            _regressor(chain),
            chain.batches("".join(log).splitlines()),
            learn=False,
        )
        for log in (good, [*bad, *good, *bad])
        for chain in [Chain.from_config(CHAIN)]
    ]
    assert judged[0].decisions == judged[1].decisions == 6 and judged[0].logged == judged[1].logged == 2
    assert judged[0].ips == judged[1].ips and judged[0].ips.value == pytest.approx(np.mean([1, 6]))
    assert judged[0].snips == judged[1].snips and all(1 <= each.dr.low <= each.dr.high <= 3 for each in judged)


def test_greedy_chains_choose_the_best_score():
    greedy = {"chain": CHAIN["chain"][1:]}
    turned = [{**d, "actions": d["actions"][::-1], "chosen": 1 - d["chosen"]} for d in _log(2)]
    for log in (_log(2), turned):
        assert _evaluate(log, greedy).ips.value < 0.4


@pytest.mark.parametrize(
    ("chain", "text"),
    [({"chain": ["linear"]}, "wanted one that decides"), ({"chain": CHAIN["chain"][2:]}, "logged decisions")],
)
def test_other_chains_are_refused(chain, text):
    with pytest.raises(UsageError, match=text):
        judged = Chain.from_config(chain)
        evaluate(judged, _regressor(judged), [])


def test_a_log_without_labels_is_refused():
    with pytest.raises(UsageError, match="without labels"):
        _evaluate([{"actions": [{"a": ["x"]}]}])


def test_command(tmp_path, capfd):
    from hutch.cli.commands import app

    lines = []
    for record in _log(3, 50):
        label = f"{record['chosen']}:{record['cost']:g}:{record['probability']} "
        lines += [f"{label if k == record['chosen'] else ''}|a {('cheap', 'dear')[k]}" for k in range(2)] + [""]
    (tmp_path / "log.vw").write_text("\n".join(lines) + "\n")
    (tmp_path / "chain.yaml").write_text(json.dumps(CHAIN))
    with pytest.raises(SystemExit):
        app(["evaluate", str(tmp_path / "log.vw"), "-C", str(tmp_path / "chain.yaml"), "--json"])
    found = json.loads(capfd.readouterr().out)
    assert found["decisions"] == 50
    assert found["ips"]["low"] <= found["ips"]["value"] <= found["ips"]["high"]
