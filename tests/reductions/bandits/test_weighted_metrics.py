"""Several metrics of each decision: learned apart, weighed when actions are scored, and the weights may change."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import hutch
from hutch import Chain
from hutch.core.errors import ConfigError, DataError, ModelError, UsageError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.weighted_metrics import WeightedMetrics

PAIRS = [["subject", "model"]]
BLOCKS = {"covariance": "blocks", "dimension": 64, "loss": "squared", "priors": [4.0], "interactions": PAIRS}
WEIGHTS = {"right": 1.0, "price": -20.0, "seconds": -0.05}
OTHER = {"seconds": -0.2, "right": 2.0, "price": 3.0}
MODELS = ["small", "medium", "large"]


def layers(weights: dict[str, float] | None, base: Any = None, explorer: Any = None) -> list[Any]:
    """A chain with metrics, or without; without an explorer it predicts scores."""
    metrics = [] if weights is None else [{"weighted_metrics": {"weights": weights}}]
    top = [] if explorer is None else [explorer]
    return [*top, "contextual_bandit", "cost_sensitive_with_features", *metrics, base or {"bayesian_linear": BLOCKS}]


def chain_of(weights: dict[str, float] | None, base: Any = None, explorer: Any = None) -> Chain:
    """The same, built."""
    return Chain.from_config({"chain": layers(weights, base, explorer), "weights": {"bits": 12}})


def decision(k: int) -> dict[str, Any]:
    """A prompt of one of five subjects, and three models."""
    return {"shared": {"subject": [f"s{k % 5}"]}, "actions": [{"model": [name]} for name in MODELS]}


def log(count: int = 300, seed: int = 0) -> list[tuple[dict[str, Any], int, dict[str, float]]]:
    """Decisions, actions chosen at random, and what was seen of them."""
    random = np.random.default_rng(seed)
    chances = random.uniform(0.1, 0.9, (5, 3))
    found = []
    for k in range(count):
        chosen = int(random.integers(3))
        seen = {
            "right": float(random.random() < chances[k % 5, chosen]),
            "price": [0.001, 0.005, 0.02][chosen] * float(random.uniform(0.5, 1.5)),
            "seconds": float(random.exponential(1 + chosen)),
        }
        found.append((decision(k), chosen, seen))
    return found


def record(entry: tuple[dict[str, Any], int, dict[str, float]], *names: str) -> dict[str, Any]:
    """A logged decision with the metrics of some names; with all, if none is named."""
    made, chosen, seen = entry
    actions = [*made["actions"]]
    actions[chosen] = {**actions[chosen], "metrics": {name: seen[name] for name in names or seen}}
    return {**made, "actions": actions, "chosen": chosen, "cost": 0.0, "probability": 1 / 3}


def worth(seen: dict[str, float], weights: dict[str, float]) -> float:
    """The weighted sum of metrics."""
    return sum(weights[name] * value for name, value in seen.items())


def scores(chain: Chain) -> Any:
    """Scores of all actions for all subjects, float32 (5, 3)."""
    return np.array(chain.predict_decisions([decision(k) for k in range(5)]))


def importances(chain: Chain) -> list[float]:
    """How much each metric has learned, in the order of their names."""
    found: list[float] = chain.arrays()["layer.3.bayesian_linear.importance"].tolist()
    return found


def learned(weights: dict[str, float]) -> Chain:
    """A chain that has learned the log."""
    chain = chain_of(weights)
    chain.learn([record(entry) for entry in log()])
    return chain


def same(one: Chain, other: Chain) -> None:
    """All that was learned is the same, to the bit."""
    for name, array in one.arrays().items():
        assert_array_equal(array, other.arrays()[name], name)


def test_other_weights_give_what_training_with_them_gives(tmp_path: Path) -> None:
    learned(WEIGHTS).save(tmp_path / "model")
    changes = [f"weighted_metrics.weights.{name}={weight}" for name, weight in OTHER.items()]
    changed, anew = Chain.load(tmp_path / "model", changes), learned(OTHER)
    assert changed.layers[2].parameters.weights == OTHER
    assert_array_equal(scores(changed), scores(anew))
    assert (scores(changed) != scores(learned(WEIGHTS))).any()
    for name, array in changed.arrays().items():  # what is learned does not depend on the weights; the loss does
        if name != "shared.sum_loss":
            assert_array_equal(array, anew.arrays()[name], name)
    changed.save(tmp_path / "changed")
    assert_array_equal(scores(Chain.load(tmp_path / "changed")), scores(anew))


@pytest.mark.parametrize("weights", [WEIGHTS, OTHER])
def test_choices_are_those_of_a_model_of_the_weighted_sum(weights: dict[str, float]) -> None:
    """One posterior with a fixed prior is linear in its labels, so its mean of a sum is the sum of its means."""
    apart, summed = chain_of(weights), chain_of(None)
    for entry in log(400, seed=2):
        apart.learn([record(entry)])
        summed.learn([{**record(entry), "actions": entry[0]["actions"], "cost": -worth(entry[2], weights)}])
    found, wanted = scores(apart), scores(summed)
    assert_allclose(found, wanted, atol=2e-4 * np.abs(wanted).max())
    assert_array_equal(found.argmin(axis=1), wanted.argmin(axis=1))
    assert np.ptp(wanted, axis=1).min() > 0.01


def test_each_metric_learns_what_a_chain_of_its_own_learns() -> None:
    chain, alone = chain_of(WEIGHTS), {name: chain_of(None) for name in WEIGHTS}
    for entry in log(200):
        chain.learn([record(entry)])
        for name, other in alone.items():
            plain = {**record(entry), "actions": entry[0]["actions"], "cost": entry[2][name]}
            other.learn([plain])
    assert importances(chain) == [200, 200, 200]
    for k, name in enumerate(sorted(WEIGHTS)):
        for part in ("low", "high", "residuals", "evidence"):
            whole = chain.arrays()[f"layer.3.bayesian_linear.{part}"]
            assert_array_equal(whole[k], alone[name].arrays()[f"layer.2.bayesian_linear.{part}"][0], f"{name} {part}")


def spread(weights: dict[str, float]) -> float:
    """The variance of the difference of two scores, from the chance that Thompson sampling gives the first."""
    thompson = {"explore_posterior": {"method": "thompson", "width": 1}}
    chains = [chain_of(weights, explorer=thompson), chain_of(weights)]
    for made, chosen, seen in log(60, seed=4):
        if chosen < 2:
            two = {**made, "actions": made["actions"][:2]}
            for chain in chains:
                chain.learn([{**record((two, chosen, seen), *weights), "probability": 0.5}])
    asked = [{**decision(1), "actions": decision(1)["actions"][:2]}]
    (first, _), (one, other) = (chain.predict(asked).tolist() for chain in chains)
    assert 0.01 < first < 0.99
    return float(((other - one) / norm.ppf(first)) ** 2)


def test_the_variance_of_a_score_is_that_of_independent_metrics() -> None:
    found, right, seconds = spread({"right": 3.0, "seconds": -0.5}), spread({"right": 1.0}), spread({"seconds": 1.0})
    assert_allclose(found, 9 * right + 0.25 * seconds, rtol=0.02)


def test_metrics_may_come_apart_and_some_never() -> None:
    whole, parts = chain_of(WEIGHTS), chain_of(WEIGHTS)
    for entry in log(100):
        whole.learn([record(entry)])
        for name in ("seconds", "right", "price"):
            parts.learn([record(entry, name)])
    assert_array_equal(scores(whole), scores(parts))
    lacking, without = chain_of(WEIGHTS), learned(WEIGHTS)
    for entry in log():
        lacking.learn([record(entry, "right", "price")])
    assert importances(lacking) == [300, 300, 0]  # price, right, seconds
    assert lacking.layers[2].incomplete == 300 and without.layers[2].incomplete == 0


def test_a_metric_of_0_is_learned_and_a_feature_of_0_changes_nothing() -> None:
    zeros, plain = chain_of({"right": 1.0}), chain_of({"right": 1.0})
    for _ in range(30):
        own = {"model": ["small"], "metrics": {"right": 0}}
        label = {"chosen": 0, "cost": 0.0, "probability": 0.5}
        zeros.learn([{"shared": {"x": {"a": 0.0, "b": 1.0}}, "actions": [own, {"model": ["large"]}], **label}])
        plain.learn([{"shared": {"x": {"b": 1.0}}, "actions": [own, {"model": ["large"]}], **label}])
    same(zeros, plain)
    assert importances(zeros) == [30]
    asked = [{"shared": {"x": {"a": 0.0, "b": 1.0}}, "actions": [{"model": ["small"]}, {"model": ["large"]}]}]
    less = [{**asked[0], "shared": {"x": {"b": 1.0}}}]
    assert_array_equal(zeros.predict(asked), zeros.predict(less))


def test_the_loss_is_that_of_the_weighted_sum_and_so_is_an_evaluation() -> None:
    entries = [record(entry) for entry in log()]
    summed = [{**record(entry), "actions": entry[0]["actions"], "cost": -worth(entry[2], WEIGHTS)} for entry in log()]
    mean = -np.mean([worth(seen, WEIGHTS) for _, _, seen in log()])
    found, plain = (
        hutch.evaluate(entries, {"chain": layers(WEIGHTS, explorer="explore_epsilon")}),
        hutch.evaluate(summed, {"chain": layers(None, explorer="explore_epsilon")}),
    )
    assert_allclose(found.logged, mean, rtol=1e-6)
    assert_allclose(plain.logged, mean, rtol=1e-6)
    assert found.snips.value < mean - 0.1
    uniform = {"explore_epsilon": {"epsilon": 1.0}}
    chain = chain_of(WEIGHTS, explorer=uniform)
    chain.learn(entries)
    assert_allclose(chain.statistics.average_loss, mean, rtol=1e-5)


def test_an_evaluation_wants_all_metrics() -> None:
    with pytest.raises(UsageError, match="300 decisions without some of the metrics price, right, seconds"):
        hutch.evaluate(
            [record(entry, "right") for entry in log()], {"chain": layers(WEIGHTS, explorer="explore_epsilon")}
        )


def lines_of(form: str, entries: list[dict[str, Any]]) -> str:
    """The log in a form."""
    found = []
    for each in entries:
        chosen, context = each["chosen"], {name: dict.fromkeys(words, 1) for name, words in each["shared"].items()}
        actions = [
            {name: words if isinstance(words, dict) else dict.fromkeys(words, 1) for name, words in action.items()}
            for action in each["actions"]
        ]
        if form == "dsjson":
            label = {"_label_cost": 0, "_label_probability": each["probability"], "_label_Action": chosen + 1}
            line = {**label, "_labelIndex": chosen, "a": [1, 2, 3], "c": {**context, "_multi": actions}}
            found.append(json.dumps(line))
            continue
        spaces = [
            "".join(f" |{name} " + " ".join(f"{k}:{v!r}" for k, v in words.items()) for name, words in one.items())
            for one in (context, *actions)
        ]
        label = f"{chosen}:0:{each['probability']!r}"
        found += [f"shared{spaces[0]}", *(f"{label if k == chosen else ''}{text}" for k, text in enumerate(spaces[1:]))]
        found.append("")
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("form", ["vw", "dsjson", "parquet"])
@pytest.mark.parametrize("passes", [1, 2])
def test_logs_of_all_forms_teach_the_same(form: str, passes: int, tmp_path: Path) -> None:
    entries = [record(entry) for entry in log(120)]
    for number, each in enumerate(entries):
        each["actions"][each["chosen"]]["metrics"]["right"] = number % 2
    path = tmp_path / f"log.{form}"
    if form == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as parquet

        parquet.write_table(pa.Table.from_pylist(entries), path)
    else:
        path.write_text(lines_of(form, entries))
    read, given = chain_of(WEIGHTS), chain_of(WEIGHTS)
    read.learn(path, passes=passes)
    given.learn(entries, passes=passes)
    assert_allclose(importances(read), 120 * passes, rtol=1e-6)  # 1 / 3 is written in float32 or not
    assert_allclose(scores(read), scores(given), rtol=1e-5, atol=1e-6)


def metrics_of(values: Any, chosen: int = 0, at: int = 0, **others: Any) -> dict[str, Any]:
    """A decision with metrics in action `at`."""
    actions: list[dict[str, Any]] = [{"model": ["small"]}, {"model": ["large"]}]
    actions[at] |= {"metrics": values}
    return {"actions": actions, "chosen": chosen, "cost": 0.0, "probability": 0.5, **others}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (metrics_of({"rigth": 1.0}), "decision 2: got unknown metric, wanted price, right, seconds"),
        (metrics_of({"right": 1.0}, at=1), "decision 2: got metrics of an action that has no label"),
        (metrics_of({}), "decision 2: got a cost without metrics, wanted 'metrics' in the chosen action"),
        ({**decision(0), "chosen": 0, "cost": 1.0, "probability": 0.5}, "decision 2: got a cost without metrics"),
    ],
)
def test_metrics_that_cannot_be_learned_are_refused(entry: dict[str, Any], said: str) -> None:
    chain, good = chain_of(WEIGHTS), metrics_of({"right": 1.0})
    with pytest.raises(DataError, match=said):
        chain.learn([good, entry])
    with pytest.raises(DataError, match=said.replace("decision 2", "decision 1")):
        chain.learn([entry])
    assert importances(chain) == [0, 1, 0]  # the first decision, before the other was read


def test_a_metric_twice_is_refused() -> None:
    with pytest.raises(DataError, match="decision 1: got the same metric twice"):
        chain_of(WEIGHTS).learn("0:0:0.5 |model small |metrics right:1 right:0\n|model large\n\n")


@pytest.mark.parametrize(
    ("top", "said"),
    [
        (layers({}), "got no metric"),
        (layers({"right": float("inf")}), "finite"),
        (layers({"right": 1.0}, {"linear": {"loss": "logistic"}}), "wanted squared"),
        ([{"explore_cover": {"policies": 4}}, *layers({"right": 1.0})], "explore_cover teaches costs that it makes up"),
        (
            [{"contextual_bandit": {"type": "dr"}}, *layers({"right": 1.0})[1:]],
            "contextual_bandit.type: dr",
        ),
        (
            [
                "contextual_bandit",
                {"cost_sensitive_with_features": {"method": "classification"}},
                *layers({"right": 1.0})[2:],
            ],
            "method: classification",
        ),
        (layers({"right": 1.0}, "linear", "explore_posterior"), "sensitivity"),
    ],
)  # fmt: skip
def test_chains_that_could_not_learn_metrics_are_refused(top: list[Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Chain.from_config({"chain": top})


def test_a_model_with_other_metrics_is_refused(tmp_path: Path) -> None:
    learned(WEIGHTS).save(tmp_path / "model")
    with pytest.raises(ModelError, match="the model has other metrics"):
        Chain.load(tmp_path / "model", ["weighted_metrics.weights={right: 1, cost: -20, seconds: -0.05}"])
    with pytest.raises(ModelError, match="names"):
        Chain.load(tmp_path / "model", ["weighted_metrics.weights={right: 1}"])


def test_the_order_of_the_weights_means_nothing(tmp_path: Path) -> None:
    turned = dict(reversed(WEIGHTS.items()))
    same(learned(WEIGHTS), learned(turned))


def test_it_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    entries = [record(entry) for entry in log(100)]
    whole, first = chain_of(WEIGHTS), chain_of(WEIGHTS)
    whole.learn(entries)
    first.learn(entries[:50])
    first.save(tmp_path / "model")
    rest = Chain.load(tmp_path / "model")
    rest.learn(entries[50:])
    same(whole, rest)


def test_the_contract() -> None:
    for parameters, below in (({"weights": {"b": 1.0, "a": 2.0}}, None), (None, ["dyadic"])):
        for check in checks_of_reduction(WeightedMetrics, parameters, below):
            check()


def test_decisions_with_slots_are_refused() -> None:
    chain = Chain.from_config({"chain": ["choose_slots", "explore_epsilon", *layers({"right": 1.0})]})
    with pytest.raises(DataError, match="got decisions with slots"):
        chain.learn("ccb shared |u a\nccb action |m x\nccb action |m y\nccb slot 0:1:0.5 |s t\n\n")


def test_the_worth_of_metrics_beyond_float32_is_refused() -> None:
    with pytest.raises(DataError, match="decision 1: got metrics whose worth is beyond 3.4e38"):
        chain_of({"right": 1e10}).learn([metrics_of({"right": 1e30})])
