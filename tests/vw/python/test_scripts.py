"""Scripts over VW's Python interface: the same results by Hutch, as recorded under VW 9.11.9, and by VW where it is.

`python tests/vw/python/test_scripts.py` records them; it needs the peer, `pip install vowpalwabbit==9.11.9`.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch.vw as ours

FILE = Path(__file__).with_name("recorded.json")
SCRIPTS: dict[str, Callable[[Any], Any]] = {}


def script(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCRIPTS[run.__name__] = run
    return run


def listed(example: Any) -> list[Any]:
    """An example's features, and what is said of its namespaces."""
    spaces = [example.namespace(k) for k in range(example.num_namespaces())]
    sizes = [[example.num_features_in(k), example.sum_feat_sq(k)] for k in range(len(spaces))]
    return [[list(pair) for pair in example.iter_features()], spaces, sizes, example.setup_done]


@script
def features_of_a_line(vw: Any) -> Any:
    model = vw.Workspace("--quiet")
    example = model.example("1 2 'tag|word good film:0.5 |by ann 7:2 |word long |x:3 a b:2")
    found = [listed(example), example.get_feature_number(), example.get_total_sum_feat_sq(), example.get_tag()]
    by = vw.NamespaceId(example, 1)
    found += [
        by.ord_ns,
        by.ns,
        by.id,
        example.get_ns("word").ord_ns,
        example[1].num_features_in(),
        list(example["x"][1]),
    ]
    found += [list(pair) for pair in example["word"].iter_features()]
    found += [example.feature("word", 1), example.feature_weight("x", 0), example.num_features_in("none")]
    example.unsetup_example()
    found.append(listed(example))
    for options in ("--oaa 3", "--csoaa 2", "--bootstrap 5"):
        model = vw.Workspace(f"--quiet {options}")
        example = model.example("|word good film:0.5")
        found += [[list(pair) for pair in example.iter_features()], example.feature("word", 1)]
    return found


@script
def features_that_change(vw: Any) -> Any:
    model = vw.Workspace("--quiet -b 12 -q ab")
    example = model.example("1 |a one two:2 |b three")
    example.push_hashed_feature("a", 1122)
    example.push_feature("b", "four", 0.25)
    example.push_feature(1, 77)
    example.push_features("c", ["five", ("six", 1.5), 8, (9, 0.1)])
    example["c"].push_features([("seven", -2.0)])
    found = [example.get_feature_id("a", "one"), example.get_feature_id("a", 5), listed(example)]
    found += [example.pop_feature("a"), example.pop_feature("none"), listed(example)]
    example.learn()
    found += [example.get_prediction(), round(example.get_updated_prediction(), 5), listed(example)]
    model.finish_example(example)
    example = model.example()
    example.set_label_string("0.5")
    example.push_features("x y", ["a b", ("c:d", 0.3)])
    example.push_namespace("z")
    found += [example.pop_namespace(), listed(example)]
    model.learn(example)
    found += [model.predict(example), model.predict("|a one two:2 |b three")]
    return found


@script
def examples_from_mappings(vw: Any) -> Any:
    model = vw.Workspace("--quiet --loss_function logistic -q ab")
    found = []
    for k in range(12):
        words = {"a": [f"w{k % 3}", (f"v{k % 2}", 0.5), k], "b": {"x": 1 + k % 4, 5: 0.25, "odd name": 2}}
        example = model.example(words)
        example.set_label_string("1" if k % 3 else "-1")
        found.append(listed(example))
        model.learn(example)
        found.append([example.get_prediction(), example.get_loss(), example.get_partial_prediction()])
        model.finish_example(example)
    return [*found, model.get_sum_loss(), model.get_weighted_examples()]


@script
def decisions_from_mappings(vw: Any) -> Any:
    """As libraries of bandits hand over their records."""
    found = []
    for options in (
        "--cb_explore_adf --epsilon 0.05 --interactions xxa --interactions xa --ignore_linear x --random_seed 1",
        "--cb_adf --interactions xa --noconstant",
        "--cb_explore_adf --squarecb",
    ):
        model = vw.Workspace(f"{options} --quiet")
        for k in range(8):
            shared = {"x": [("0", 0.25 + k), "user=ann", ("age", 0.1 * k + 0.7)]}
            examples = []
            for action in range(3):
                example = vw.Example(
                    model, {**shared, "a": [f"id={action}", ("1", 0.3), (action + 5, 1.5)]}, vw.LabelType(4)
                )
                if action == k % 3:
                    example.set_label_string(f"{action + 1}:{k % 2}:0.33333")
                example.setup_example()
                examples.append(example)
            found.append(model.predict(examples))
            model.learn(examples)
    return found


@script
def updated_predictions(vw: Any) -> Any:
    found = []
    options = ("", "--sgd -l 0.05", "--loss_function logistic", "--loss_function hinge", "--ftrl", "--invariant")
    for given in (*options, "--link logistic --loss_function logistic"):
        model = vw.Workspace(f"--quiet {given}")
        one, other = model.example("1 |f a b:2"), model.example("-1 3 |f a c")
        before = one.get_updated_prediction()
        model.learn(one)
        first = round(one.get_updated_prediction(), 5)
        for _ in range(3):
            model.learn(one)
            model.learn(other)
        updated = [round(each.get_updated_prediction(), 5) for each in (one, other)]
        if "ftrl" in given:
            updated, first = [], 0.0  # VW keeps none of it
        found.append([given, before, first, *updated, one.get_partial_prediction(), one.get_loss()])
    return found


@script
def labels(vw: Any) -> Any:
    found: list[Any] = []
    model = vw.Workspace("--quiet")
    for text in ("1 0.5 0.25", "-2", "", "1 2 'tag"):
        label = model.example(f"{text} |f a").get_label()
        found.append([str(label), label.label, label.weight, label.initial, label.prediction])
    model = vw.Workspace("--quiet --oaa 3")
    for text in ("2", "3 0.5", ""):
        label = model.example(f"{text} |f a").get_label()
        found.append([str(label), label.label, label.weight, label.prediction])
    model = vw.Workspace("--quiet --csoaa 3")
    for text in ("1:0.5 2:0.1 3", ""):
        label = model.example(f"{text} |f a").get_label()
        found.append([str(label), *([each.label, each.cost, each.partial_prediction] for each in label.costs)])
    for options in ("--cb 3", "--cb_adf"):
        model = vw.Workspace(f"--quiet {options}")
        for text in ("2:0.3:0.25", "", "1:2:0.5"):
            label = model.example(f"{text} |f a").get_label()
            costs = ([each.action, each.cost, each.probability, each.partial_prediction] for each in label.costs)
            found.append([label.weight, *costs] if text == "" else [str(label), label.weight, *costs])
    return found


@script
def labels_of_slots(vw: Any) -> Any:
    found: list[Any] = []
    model = vw.Workspace("--quiet --ccb_explore_adf")
    for text in ("ccb shared", "ccb action", "ccb slot", "ccb slot 0:0.8:0.7,1:0.3 0,1,2", "ccb slot 1:0.25:0.5", ""):
        label = model.example(f"{text} |f a").get_label()
        outcome = label.outcome and [label.outcome.cost, *([a.action, a.score] for a in label.outcome.action_probs)]
        found.append([str(label), int(label.type), list(label.explicit_included_actions), label.weight, outcome])
    model = vw.Workspace("--quiet --slates")
    for text in ("slates shared 0.8", "slates shared", "slates action 1", "slates slot 1:0.8,0:0.2", "slates slot", ""):
        label = model.example(f"{text} |f a").get_label()
        pairs = [[a.action, a.score] for a in label.probabilities]
        found.append([str(label), int(label.type), label.labeled, label.weight, label.cost, label.slot_id, pairs])
    return found


LINES = {
    "": ["1 |f a", "0 2 't|f b", "|f a c", "0.5 |g x:2", "1 |f b", "0 |f a", "2 |f c", "1 |g", "x |f a"],
    "--oaa 3 --loss_function logistic": [f"{k % 3 + 1} |f x{k} y" for k in range(9)],
    "--csoaa 2": [f"1:{k % 2} 2:0.5 |f x{k % 3}" for k in range(5)],
    "--cb 3": [f"{k % 3 + 1}:{k % 2}:0.5 |f x{k % 4}" for k in range(5)],
    "--cb_explore 2 --epsilon 0.1": ["1:0.5:0.5 |f a b", "2:0.3:0.5 |f d", "|f a"],
    "-P 2 --loss_function logistic": [f"{1 - k % 2 * 2} |f x{k % 2}" for k in range(7)],
}
DECISIONS = [["shared |u a", f"0:{k % 2}:0.5 |a x{k % 3}", "|a y"] for k in range(5)]


@script
def tables(vw: Any) -> Any:
    found = []
    for options, lines in LINES.items():
        model = vw.Workspace(options, enable_logging=True)
        for k, line in enumerate(lines):
            model.learn(line)
            if k == 2:
                model.predict("|f a")
            if k == 4:
                example = model.example("1 |f q" if "cb" not in options and "csoaa" not in options else "|f q")
                model.learn(example)
                model.finish_example(example)
        model.finish()
        found.append([line for line in model.get_driver_output() if line and not line.startswith("[")])
    for options in ("--cb_adf", "--cb_explore_adf -q ua"):
        model = vw.Workspace(options, enable_logging=True)
        for decision in DECISIONS:
            examples = model.parse(decision)
            model.learn(examples)
            model.finish_example(examples)
        model.finish()
        counts = ("features", "total feature")  # VW counts shared features once
        table = [line for line in model.get_driver_output() if line and not line.startswith(counts)]
        found.append([line[:-8] if line[:1].isdigit() else line for line in table])
    return found


@script
def files_of_predictions(vw: Any) -> Any:
    found = []
    for options in ("", "--oaa 3", "--oaa 3 --probabilities --loss_function logistic"):
        with vw.Workspace(f"--quiet -p predictions -r raw {options}") as model:
            for k in range(6):
                model.learn(f"{k % 3 + 1} 't{k}|f x{k % 2} y")
            model.predict("|f y")
        found += [Path("predictions").read_text(), Path("raw").read_text() if "prob" not in options else ""]
    with vw.Workspace("--quiet --invert_hash names -q ff") as model:
        model.learn("1 |f good film:0.5")
        example = model.example("-1 |g bad")
        model.learn(example)
        model.finish_example(example)
    found += sorted(line for line in Path("names").read_text().splitlines() if line.startswith(("f^", "g^")))
    return found


@script
def learners_and_options(vw: Any) -> Any:
    found = []
    for options in ("", "--oaa 3 -b 20", "-q ab -q cd --noconstant --loss_function logistic", "--id x --random_seed 3"):
        with vw.Workspace(f"{options} --quiet") as model:
            config = model.get_config()
            given = {str(option) for groups in config.values() for _, each in groups for option in each}
            found.append([sorted(given), model.get_enabled_reductions(), model.get_id(), model.get_holdout_sum_loss()])
    for options in ("--cb_explore_adf --squarecb -q ab", "--link logistic --binary", "--ftrl", "--cb 3", "--nn 2"):
        with vw.Workspace(f"{options} --quiet") as model:
            found.append(model.get_enabled_learners())
    return found


@script
def counts_of_learners(vw: Any) -> Any:
    found = []
    for options in ("--ftrl", "--pistol --ftrl_alpha 0.5", "--coin"):
        model = vw.Workspace(f"{options} --quiet --extra_metrics m.json")
        model.learn("1 |f a b")
        (metrics,) = (each for name, each in model.get_learner_metrics().items() if name.startswith("ftrl"))
        found.append([metrics[name] for name in ("ftrl_algorithm", "ftrl_alpha", "ftrl_beta", "ftrl_size")])
    model = vw.Workspace("--cb_explore_adf --quiet --extra_metrics m.json")
    for decision in DECISIONS:
        model.learn(decision)
    metrics = model.get_learner_metrics()["cb_explore_adf_greedy"]
    names = "labeled_ex", "label_first_action", "label_not_first", "non_zero_cost", "min_actions", "sum_cost"
    return [*found, [metrics[f"cbea_{name}"] for name in names], vw.Workspace("--quiet").get_learner_metrics()]


@script
def models_that_are_merged(vw: Any) -> Any:
    models = []
    for word in ("one", "two"):
        model = vw.Workspace("--quiet --noconstant")
        for k in range(5):
            model.learn(f"{k % 2} |f {word} n{k}{word}")
        models.append(model)
    merged = vw.merge_models(None, models)
    weights = [merged.get_weight_from_name(name, "f") for name in ("one", "two", "n1one", "n3two", "none")]
    return [weights, merged.get_weighted_examples(), merged.get_sum_loss(), merged.predict("|f one two")]


def rounded(value: Any) -> Any:
    """As JSON gives it back; numbers in float32, in the six digits that tables have, too."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(np.float32(text)))


def results(vw: Any, name: str) -> Any:
    return rounded(SCRIPTS[name](vw))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_gives_what_it_gives_under_vw(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert results(ours, name) == rounded(json.loads(FILE.read_text())[name])


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_was_recorded_is_what_vw_gives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    assert results(theirs, name) == rounded(json.loads(FILE.read_text())[name])


def record() -> None:
    """Record the results under VW."""
    import os
    import tempfile

    import vowpalwabbit

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = {name: SCRIPTS[name](vowpalwabbit) for name in SCRIPTS}
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(record())
