"""Off-policy evaluation: against the truth of a simulated world, and by hand."""

import json

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.core.run.off_policy import _value, estimator_of, evaluate

CHAIN = {"chain": ["explore_epsilon", "contextual_bandit", "cost_sensitive_with_features", "linear"]}


def _log(seed, count=600):
    """Decisions between a cheap and a dear action, chosen with probability 0.3 and 0.7."""
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
    return evaluate(judged, Chain.from_config(estimator_of(chain)), judged.batches(list(log)), **how)


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
    w, c, dr = np.array([2.0, 0.5]), np.array([1.0, 3.0]), np.array([1.0, 2.0])
    found = _value(w, c, dr, 2.0)
    assert found.ips.value == pytest.approx(1.75)
    assert found.snips.value == pytest.approx(3.5 / 2.5)
    spread = np.sqrt(4 * (1 - 1.4) ** 2 + 0.25 * (3 - 1.4) ** 2) / 2.5
    assert found.snips.high - found.snips.value == pytest.approx(2 * spread)
    assert found.dr.high - found.dr.value == pytest.approx(2 * np.sqrt(0.5) / np.sqrt(2))
    assert found.effective == pytest.approx(2.5**2 / 4.25)


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
        evaluate(Chain.from_config(chain), Chain.from_config(estimator_of(chain)), [])


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
