"""VW's Python interface: the same scripts by Hutch and, where it is installed, by VW itself.

The scripts' results under VW 9.11.9 are recorded below, so that they are compared without the peer, too.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch.vw as ours
from hutch.core.errors import DataError, UsageError

RECORDED = json.loads((Path(__file__).parent / "workspace.json").read_text())
ROWS = [
    (f"|f x{i % 5}:{1 + i % 3} y |g z{i % 4} 1:0.5", 1 if i % 3 else -1, 1 + (i * 7) % 3, round(i % 7 * 0.3 - 1, 2))
    for i in range(24)
]
SCRIPTS: dict[str, Callable[[Any], Any]] = {}


def script(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SCRIPTS[run.__name__] = run
    return run


@script
def lines_of_numbers(vw: Any) -> Any:
    with vw.Workspace("--quiet -q fg --l2 1e-4") as model:
        found = []
        for features, _, _, y in ROWS:
            found.append(model.predict(features))
            model.learn(f"{y} {features}")
        weights = [model.get_weight_from_name(*pair) for pair in (("y", "f"), ("z1", "g"), ("1", "g"), ("x3", "f"))]
        return [found, weights, model.num_weights(), model.get_sum_loss(), model.get_weighted_examples()]


@script
def labels_and_plain_updates(vw: Any) -> Any:
    model = vw.Workspace("--sgd", quiet=True, loss_function="logistic", b=12, l=0.5)
    found = []
    for features, y, _, _ in ROWS:
        example = model.example(f"{y} 2 'tag{features}")
        model.predict(example)
        model.learn(example)
        found.append([example.get_prediction(), example.get_simplelabel_prediction(), example.get_tag()])
        model.finish_example(example)
        model.predict(f"{y} {features}")  # VW lets even this move the clock
    features = list(model.example("1 |f y:2").iter_features())
    model.finish()
    return [found, features[0], model.finished]


@script
def classes(vw: Any) -> Any:
    model = vw.Workspace(arg_list=["--oaa", "3", "--quiet", "--loss_function", "logistic"])
    found = []
    for features, _, y, _ in ROWS:
        model.learn(f"{y} {features}")
        found.append(model.predict(features))
    kind = [model.get_prediction_type().name, model.get_label_type().name]
    model.finish()
    return [found, kind]


@script
def probabilities(vw: Any) -> Any:
    with vw.Workspace("--oaa 3 --probabilities --loss_function logistic --quiet") as model:
        for features, _, y, _ in ROWS:
            model.learn(f"{y} {features}")
        return [model.predict(ROWS[3][0]), model.get_prediction_type().name]


@script
def costs(vw: Any) -> Any:
    with vw.Workspace("--csoaa 3 --quiet") as model:
        found = []
        for features, _, y, _ in ROWS:
            found.append(model.predict(features))
            model.learn(f"{' '.join(f'{c}:{(c - y) ** 2}' for c in (1, 2, 3))} {features}")
        return [found, model.get_prediction_type().name, model.get_label_type().name]


@script
def costs_of_actions(vw: Any) -> Any:
    model = vw.Workspace("--csoaa_ldf m --quiet")
    found = []
    for features, _, y, _ in ROWS:
        decision = [f"{c}:{abs(c - y)} |a c{c} {features}" for c in (1, 2, 3)]
        examples = model.parse(decision)
        model.learn(examples)
        found.append([example.get_multiclass_prediction() for example in examples])
        model.finish_example(examples)
    found.append(model.predict("\n".join(f"{c} |a c{c}" for c in (1, 2, 3))))
    model.finish()
    return found


@script
def bandit(vw: Any) -> Any:
    found = []
    for options in ("--cb_adf", "--cb_explore_adf --epsilon 0.1", "--csoaa_ldf m --csoaa_rank"):
        with vw.Workspace(f"--quiet {options}") as model:
            for k, (features, _, y, _) in enumerate(ROWS):
                if "csoaa" in options:
                    model.learn([f"{c - 1}:{abs(c - y)} |a c{c} {features}" for c in (1, 2, 3)])
                    continue
                decision = ["shared |s u", *(f"|a c{c} {features}" for c in (1, 2, 3))]
                decision[1 + k % 3] = f"0:{abs(1 + k % 3 - y)}:0.5 {decision[1 + k % 3]}"
                model.learn(decision)
            lines = [f"{c - 1 if 'csoaa' in options else ''} |a c{c} y" for c in (1, 2, 3)]
            found.append([model.predict(lines), model.get_prediction_type().name, model.get_label_type().name])
    return found


@script
def single_line_bandits(vw: Any) -> Any:
    found = []
    for options, label in (("--cb 3", "2:1:0.5"), ("--cb_explore 3", "2:1:0.5"), ("--ect 3", "3"), ("--binary", "-1")):
        with vw.Workspace(f"--quiet {options}") as model:
            for _ in range(5):
                model.learn(f"{label} |f a b")
            found.append([model.predict("|f a"), model.get_prediction_type().name])
    return found


@script
def save_and_go_on(vw: Any) -> Any:
    with vw.Workspace("--quiet --loss_function logistic -f at_end --readable_model text") as model:
        for features, y, _, _ in ROWS[:12]:
            model.learn(f"{y} {features}")
        model.save("now")
    found = [Path("text").exists()]
    for name in ("now", "at_end"):
        with vw.Workspace(f"--quiet -i {name} --loss_function logistic") as model:
            model.learn(f"1 {ROWS[12][0]}")
            found.append(model.predict(ROWS[13][0]))
        with vw.Workspace(f"--quiet -t -i {name} --loss_function logistic") as model:
            model.learn(f"1 {ROWS[12][0]}")
            found.append(model.predict(ROWS[13][0]))
    return found


@script
def data_file_first(vw: Any) -> Any:
    Path("data.vw").write_text("".join(f"{y} {features}\n" for features, y, _, _ in ROWS))
    with vw.Workspace("-d data.vw --quiet --loss_function logistic --passes 2 --holdout_off -c -k") as model:
        return model.predict(ROWS[0][0])


@script
def mistakes(vw: Any) -> Any:
    with vw.Workspace("--quiet") as model:
        found = []
        for call in (lambda: model.predict(3), lambda: model.learn(["1 |f a"]), lambda: model.parse("1 |a\n1 |b")):
            with pytest.raises(TypeError):
                call()
            found.append("TypeError")
        with pytest.raises(ValueError):
            model.finish_example([model.example("1 |f a")])
        return found


def rounded(value: Any) -> Any:
    """As JSON gives it back; nine digits tell all float32 apart."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(np.float32(text)))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_gives_what_it_gives_under_vw(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert rounded(SCRIPTS[name](ours)) == rounded(RECORDED[name])


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_was_recorded_is_what_vw_gives(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    monkeypatch.chdir(tmp_path)
    assert rounded(SCRIPTS[name](theirs)) == rounded(RECORDED[name])


def test_a_mapping_is_predicted_as_its_line_is() -> None:
    with ours.Workspace("--quiet -q ab", b=10, noconstant=False) as model:
        for _ in range(3):
            model.learn("1 |a x:2 y |b z:0.5")
        mapping = {"a": [("x", 2), "y"], "b": {"z": 0.5}}
        example = model.example(mapping)
        example.set_label_string("3")
        assert model.predict(mapping) == model.predict("|a x:2 y |b z:0.5") == model.predict(example) != 0
        assert example.get_label().label == 3 and example.get_feature_number() == 4
        for wrong in ({"a": [("x", "2")]}, {"|a": ["x y"]}):
            with pytest.raises(DataError, match="example: got"):
                model.example(wrong)


def test_names_of_classes_stand_in_labels() -> None:
    with ours.Workspace("--quiet --oaa 2 --named_labels cat,dog") as model:
        for _ in range(5):
            model.learn("dog |f barks")
            model.learn("cat |f purrs")
        assert [model.predict("|f barks"), model.predict("|f purrs")] == [2, 1]
        with pytest.raises(DataError, match="did you mean 'cat'"):
            model.learn("cta |f purrs")


def test_options_that_only_a_run_over_data_has_are_refused() -> None:
    with pytest.raises(UsageError, match="--audit_regressor needs data"):
        ours.Workspace("--quiet --audit_regressor names")
    with pytest.raises(UsageError, match="unknown option '--foo'"):
        ours.Workspace("--foo")
    with pytest.raises(AttributeError):
        _ = ours.Nothing  # type: ignore[attr-defined]


def test_several_examples_in_flight_count_when_they_are_finished() -> None:
    with ours.Workspace("--quiet") as model:
        first, second = model.example("1 3 |f a"), model.example("2 |f a")
        model.learn(first)
        model.learn(second)
        assert model.get_weighted_examples() == 0
        model.finish_example(second)
        model.finish_example(first)
        model.finish_example(first)
        assert model.get_weighted_examples() == 4 and model.get_sum_loss() > 0


def _decisions(labels: str) -> Any:
    """Decisions as lines: some without a label, without a shared line, with one action, as one text."""
    random = np.random.default_rng(11)
    for i in range(60):
        actions = int(random.integers(1, 5))
        lines = [f"|A a{random.integers(9)} b:{random.uniform(-1, 1):.3f} |B c{k}" for k in range(actions)]
        if labels == "costs" and i % 5:
            lines = [f"{k}:{random.uniform():.2f} {line}" for k, line in enumerate(lines)]
        elif labels == "chosen" and i % 5:
            chosen = int(random.integers(actions))
            lines[chosen] = f"{chosen}:{random.uniform():.2f}:{random.uniform(0.1, 1):.2f} {lines[chosen]}"
        if i % 7:
            lines.insert(0, f"shared |U u{random.integers(5)} |A common")
        yield "\n".join(lines) if i % 2 else lines
    yield ["shared |U u1"]
    yield ["|A a1", "shared |U u2"]
    yield ["7:1:0.5 |A a1", "3:1:0.5 |A a2"]
    yield ["0:1:2 |A a1", "|A a2"]
    yield ["0:1:0.5 |A a1", "", "|A a2"]


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ("chosen", "--cb_explore_adf -q UA"),
        ("chosen", "--cb_explore_adf --squarecb -q :: --ignore B"),
        ("chosen", "--cb_explore_adf --bag 3 --cb_sample"),
        ("chosen", "--cb_adf --cb_type dr --rank_all"),
        ("costs", "--csoaa_ldf m --csoaa_rank"),
    ],
)
def test_one_decision_at_a_time_is_a_batch_of_one(labels: str, options: str) -> None:
    """A decision read without a batch gives the bits of the batch, in the model and in the report."""
    quick, slow = (ours.Workspace(f"{options} --quiet") for _ in range(2))
    assert quick._decision is not None
    slow._decision = None
    for i, lines in enumerate(_decisions(labels)):
        told = []
        for model in (quick, slow):
            try:
                before = model.predict(lines) if i % 3 else None
                model.learn(lines)
                told.append((before, model.predict(lines)))
            except DataError as error:
                told.append(str(error).rpartition(":")[2])
        assert told[0] == told[1]
    one, other = (model.chain.arrays() for model in (quick, slow))
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], name)
    assert quick.get_sum_loss() == slow.get_sum_loss()
    assert quick.get_weighted_examples() == slow.get_weighted_examples()
