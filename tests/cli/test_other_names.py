"""Rooms ask for abilities: each of Hutch's classes does the same under another name, at every door."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch
from hutch.active.loop import active_layer
from hutch.chain import Chain
from hutch.core.chain.reduction import Labels
from hutch.crowd_aggregator import CrowdAggregator
from hutch.plugins.checks.chain import bench, identical, outcomes, run, same
from hutch.plugins.manager import Plugins, installed
from hutch.river import HutchRegressor as RiverRegressor
from hutch.sklearn import HutchClassifier, HutchRegressor

OWN = Plugins(third_parties=False).registry
KINDS = ("reductions", "crowd_models")
_LONG = (
    "search_",
    "explore_decaying",
    "interaction_grounded",
    "few_actions",
    "recall_tree",
    "eigen_memory",
    "memory_",
    "simulate_",
    "warm_start_",
    "bandit_per_class",
    "crowd_em",
    "multinomial",
    "nat_oem",
    "offset_tree",
)
"""How the names of layers begin that take seconds."""


@pytest.fixture(autouse=True)
def others() -> Iterator[None]:
    """Every reduction and every crowd model once more, as a plugin's subclass that is called like_NAME."""
    registry = installed().registry
    made = [
        (kind, f"like_{name}", type(f"Like{item.__name__}", (item,), {"name": f"like_{name}"}))
        for kind in KINDS
        for name, item in getattr(OWN, kind).items()
    ]
    for kind, name, item in made:
        registry.add(kind, name, item, "hutch.reductions")
    yield
    for kind, name, _ in made:
        del getattr(registry, kind)[name], registry.origins[kind, name]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * name.startswith(_LONG)) for name in OWN.reductions]
)
def test_a_layer_learns_predicts_and_keeps_the_same(name: str) -> None:
    known = installed().registry.reductions
    benches = [bench(known[each], OWN) for each in (name, f"like_{name}")]
    (engine, records), (other, _) = (each.trained(120) for each in benches)
    identical(run(other, records, learn=False), run(engine, records, learn=False), name)
    same({k.replace("like_", ""): v for k, v in other.arrays().items()}, engine.arrays(), name)
    scores = [[each.scores for each in outcomes(one, records[:9], learn=False)] for one in (engine, other)]
    for first, second in zip(*scores, strict=True):
        np.testing.assert_array_equal(first, second)


LEARNERS = (
    "linear",
    {"bayesian_linear": {"features": "named", "dimension": 8, "loss": "squared"}},
    "coin_betting",
    "pistol",
)


def renamed(layer: Any) -> Any:
    return f"like_{layer}" if isinstance(layer, str) else {f"like_{name}": given for name, given in layer.items()}


def rows(seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(600, 4))
    return X, 10_000 + 500 * (X @ [1, -2, 3, 0.5]) + random.normal(size=600)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.filterwarnings("ignore:y. it is learned by")
def test_a_learner_is_the_same_regressor(learner: Any) -> None:
    X, y = rows()
    found = []
    for layers in (["standardise", learner], ["like_standardise", renamed(learner)]):
        parts = HutchRegressor(layers=layers)
        for start in range(0, 600, 100):
            parts.partial_fit(X[start : start + 100], y[start : start + 100])
        whole = HutchRegressor(layers=layers).fit(X, y)
        one = [parts.predict(X), whole.predict(X), whole.explain(X[:5])]
        one += [
            np.append(each.coef_, each.intercept_)
            for each in (parts, whole)
            if learner not in ("coin_betting", "pistol")
        ]
        found.append(one)
    for got, wanted in zip(*found, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_learner_is_the_same_in_river(learner: Any) -> None:
    X, y = rows()
    found = []
    for layers in (["standardise", learner], ["like_standardise", renamed(learner)]):
        model, each = (
            RiverRegressor(json.loads(json.dumps(layers).replace('"features"', '"namespace": "", "features"'))),
            [],
        )
        for row, target in zip(X[:200].tolist(), y[:200].tolist(), strict=True):
            record = dict(zip("abcd", row, strict=True))
            each.append(model.predict_one(record))
            model.learn_one(record, target)
        found.append(each)
    assert found[0] == found[1]


@pytest.mark.parametrize("above", ["one_against_all", "multinomial", "link"])
def test_what_stands_above_keeps_coefficients(above: str) -> None:
    X, y = rows()
    found = []
    for like in ("", "like_"):
        base = {f"{like}bayesian_linear": {"features": "named", "dimension": 8, "loss": "squared"}}
        learner = base if above == "multinomial" else f"{like}linear"
        if above == "link":
            found.append(HutchRegressor(layers=[f"{like}link", learner]).fit(X, (y > 10_000).astype(float)).coef_)
        else:
            layers = [{f"{like}{above}": {"classes": 3}}, learner]
            found.append(HutchClassifier(layers=layers).fit(X, np.digitize(y, [9_000, 11_000])).coef_)
    np.testing.assert_array_equal(*found)


def test_a_layer_that_asks_is_asked_everywhere(tmp_path: Path) -> None:
    X, y = rows()
    found: list[Any] = []
    for name in ("active", "like_active"):
        chain = Chain.from_config({"chain": [name, {"linear": {"loss": "logistic"}}]})
        assert active_layer(chain) is chain.layers[0]
        model = HutchClassifier(layers=[name, {"linear": {"loss": "logistic"}}], random_state=1)
        places, chances = model.ask(X, 20, classes=[False, True])
        model.tell(X[places], y[places] > 10_000, chances)
        again, _ = model.ask(X, 20)
        found.append([places.tolist(), again.tolist(), model.predict_proba(X).tolist()])
    assert found[0] == found[1]


Hutch = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("top", ["active", "like_active"])
def test_commands_of_active_take_it(top: str, folder: Path, hutch: Hutch) -> None:
    lines = [f"{1 if k % 3 else -1} 't{k} |f a{k % 3} b{k % 5}\n" for k in range(60)]
    (folder / "data.vw").write_text("".join(lines))
    (folder / "pool.vw").write_text("".join(line.partition(" ")[2] for line in lines))
    (folder / "chain.yaml").write_text(f"chain: [{top}, {{linear: {{loss: logistic}}}}]\n")
    assert hutch("train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet").code == 0
    asked = hutch("active", "ask", "pool.vw", "-i", "model", "--store", "store", "-n", "5")
    assert asked.code == 0, asked.err
    simulated = hutch("active", "simulate", "data.vw", "-C", "chain.yaml", "--budget", "0.5", "--json")
    assert simulated.code == 0, simulated.err
    shown = hutch("inspect", "model", "--json")
    assert shown.code == 0 and top in shown.out


def test_inspect_shows_the_same(folder: Path, hutch: Hutch) -> None:
    (folder / "data.vw").write_text("1 |f a b:2\n-1 |f b c\n" * 20)
    shown = []
    for like in ("", "like_"):
        chain = f"[{{{like}ngrams: {{size: 2}}}}, {{{like}linear: {{l1: 1e-4}}}}]"
        (folder / "chain.yaml").write_text(f"chain: {chain}\n")
        assert hutch("train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet").code == 0
        shown.append(
            [
                json.loads(hutch("inspect", "model", "--explain", "1 |f a b:2", "--json").out),
                json.loads(hutch("inspect", "model", "--invert-hash", "data.vw", "--json").out),
            ]
        )
    assert shown[0] == shown[1]
    assert shown[1][0]["sums"] is not None and len(shown[1][0]["features"]) == 4


EXPLORERS = [
    name
    for name, layer in OWN.reductions.items()
    if name.startswith("explore_") and name != "explore_posterior" and layer.takes is Labels.LOGGED_ACTION
]


@pytest.mark.parametrize("explorer", EXPLORERS)
def test_an_explorer_is_evaluated_alike(explorer: str) -> None:
    log = [
        {"actions": [{"x": {"a": 1.0}}, {"x": {"b": 1.0}}], "chosen": k % 2, "cost": k % 2, "probability": 0.5}
        for k in range(100)
    ]
    found = []
    for like in ("", "like_"):
        layers = [f"{like}{name}" for name in (explorer, "contextual_bandit", "cost_sensitive_with_features", "linear")]
        given = {"bag": {"policies": 3}, "cover": {"policies": 3}, "first": {"decisions": 10}}
        short = explorer.removeprefix("explore_")
        layers[0] = {layers[0]: given[short]} if short in given else layers[0]  # type: ignore[call-overload]
        found.append(hutch.evaluate(log, {"chain": layers}))
    assert found[0] == found[1]


LABELS = "".join(
    f"w{w}\tt{t}\t{(t + (w * 7 + t * 3) % 5 // 4) % 3}\n" for t in range(30) for w in range(5) if (w + t) % 3
)


@pytest.mark.parametrize("name", OWN.crowd_models)
def test_a_crowd_model_infers_the_same(name: str, folder: Path, hutch: Hutch) -> None:
    (folder / "labels.tsv").write_text(LABELS)
    found = []
    for model in (name, f"like_{name}"):
        people = ["--reference", "w1"] if name == "mixed" else []
        done = hutch(
            "crowd", "labels.tsv", "--model", model, *people, "-p", "truth.tsv", "-f", "model", "--quiet", "--json"
        )
        assert done.code == 0, done.err
        summary = json.loads(done.out)
        assert summary.pop("model") == model
        summary["next_command"] = (summary["next_command"] or "").replace("like_", "")
        shown = hutch("inspect", "model", "--json").out.replace("like_", "")
        found.append([summary, (folder / "truth.tsv").read_text(), shown])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [name for name in OWN.crowd_models if name != "numbers"])
def test_a_crowd_model_is_the_same_aggregator(name: str) -> None:
    triples = [line.split("\t") for line in LABELS.splitlines()]
    reference = "w1" if name == "mixed" else None
    found = [
        CrowdAggregator(model=model, reference=reference).fit(np.array(triples, object))
        for model in (name, f"like_{name}")
    ]
    np.testing.assert_array_equal(found[0].probability_, found[1].probability_)
