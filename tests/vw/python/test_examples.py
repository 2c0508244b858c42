"""What examples, labels and workspaces refuse, and where they differ from VW's."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hutch.vw as vw
from hutch import Chain
from hutch.core.errors import ConfigError, DataError, UsageError
from hutch.vw import pyvw, sklearn_vw


def test_a_feature_by_name_and_by_its_row_is_the_same() -> None:
    """The row goes through a line of text, whatever its bits, the namespace's hash, and the value."""
    random = np.random.default_rng(5)
    for bits, seed in ((10, 0), (18, 77), (22, 4000000000)):
        model = vw.Workspace(f"--quiet -b {bits} --hash_seed {seed}")
        for space in ("word", "x", " ", "7"):
            rows = random.integers(0, 2**bits, 40).tolist()
            short = [round(value, 3) or 0.125 for value in random.normal(size=20).tolist()]
            values = [np.float32(value).item() for value in (*random.normal(size=15), *short, 1e-7, 3e20, 5, 1e7, -0.1)]
            example = model.example()
            example.push_features(space, list(zip(rows, values, strict=True)))
            batch = example.as_batch()
            assert batch.indices[:-1].tolist() == rows and batch.values[:-1].tolist() == values
            example = model.example({space: dict(zip(map(str, range(20)), short, strict=True))})
            assert example.as_batch().values[:-1].tolist() == np.array(short, np.float32).tolist()
            name = f"|{'' if space == ' ' else space} good"
            assert [index for index, _ in model.example(name).iter_features()][0] == example.get_feature_id(
                space, "good"
            )


def test_a_row_beyond_the_table_is_kept_and_wraps_where_it_is_read() -> None:
    with vw.Workspace("--quiet") as model:
        wide, plain = model.example({"a": {2**40 + 3: 2}}), model.example({"a": {3: 2}})
        assert list(wide.iter_features()) == [(2**40 + 3, 2.0)]
        model.learn("1 |b c")
        for example in (wide, plain):
            example.set_label_string("1")
        model.learn(wide)
        assert model.predict(wide) == model.predict(plain) != 0


def test_what_an_example_refuses() -> None:
    model = vw.Workspace("--quiet")
    example = model.example("1 |a b")
    assert example.num_namespaces() == 2 and example.setup_done
    for call, error, text in (
        (lambda: model.example(3), TypeError, "expecting string or dict"),
        (lambda: example.push_features("a", [("x", "y")]), DataError, "got value 'y' of feature 'x', wanted a number"),
        (
            lambda: example.push_features("|", ["x"]),
            DataError,
            "got namespace '|', wanted one that begins with a letter",
        ),
        (lambda: example.get_feature_id("a", 1.5), TypeError, "feature: got 1.5, wanted a name or a row"),
        (lambda: example.get_ns(9), IndexError, "namespace 9: out of bounds: the example has"),
        (lambda: example.get_ns(0.5), TypeError, "namespace: got 0.5, wanted a place or a name"),
        (lambda: vw.ExampleNamespace(example, "a"), TypeError, "ns: got 'a', wanted a NamespaceId"),
        (lambda: example.setup_example(), RuntimeError, "the example is set up already"),
        (lambda: example.get_label(vw.CBLabel), TypeError, "kind CONTEXTUAL_BANDIT, but the chain takes SIMPLE"),
        (lambda: example.get_label(vw.LabelType.MULTILABEL), TypeError, "got MULTILABEL, wanted one of SIMPLE"),
        (lambda: vw.AbstractLabel.from_example(example), NotImplementedError, "wanted one of its subclasses"),
        (lambda: example.get_scalars(), TypeError, "got prediction type SCALARS, but the chain predicts SCALAR"),
    ):
        with pytest.raises(error, match=re.escape(text)):
            call()
    hashed = vw.Workspace("--quiet --hash all").example({"a": [7]})
    with pytest.raises(DataError, match="features by row with --hash all, wanted names"):
        hashed.learn()
    slots = vw.Workspace("--quiet --ccb_explore_adf")
    for label, text in (("2", "wanted ccb shared, action or slot"), ("ccb slot 0:x:1", "got '0:x:1' in label")):
        with pytest.raises(DataError, match=re.escape(text)):
            slots.example(f"{label} |a b").get_label()
    with pytest.raises(DataError, match="got JSON, wanted a line of text"):
        vw.Workspace("--quiet --json").example('{"a": {"b": 1}}').num_namespaces()


def test_the_updated_prediction_is_asked_for_in_time() -> None:
    model = vw.Workspace("--quiet")
    one, other = model.example("1 |f a"), model.example("-1 |f b")
    model.learn(one)
    model.learn(other)
    with pytest.raises(RuntimeError, match="another example was learned since"):
        one.get_updated_prediction()
    model.learn(one)
    model.learn("2 |f c")
    then = one.get_updated_prediction()
    assert then > 0 and model.predict(one) != then
    with pytest.raises(TypeError, match="got prediction type SCALAR"):
        vw.Workspace("--quiet --oaa 2").example("1 |f a").get_updated_prediction()
    with pytest.raises(TypeError, match="a line of a decision has none"):
        vw.Workspace("--quiet --cb_adf").example("|f a").get_loss()


def test_a_chain_with_names_of_namespaces_takes_changed_examples(tmp_path: Path) -> None:
    """A model of `hutch train` distinguishes namespaces by their names, not their letters."""
    Chain.from_config({"chain": ["linear"]}).save(tmp_path / "model")
    model = vw.Workspace(f"--quiet -i {tmp_path / 'model'}")
    changed = model.example("1 |user ann |use b")
    changed.push_features("used", ["c", ("d", 0.5)])
    line = model.example("1 |user ann |use b |used c d:0.5")
    assert list(changed.iter_features()) == list(line.iter_features())[:-1]
    model.learn(line)
    assert model.predict(changed) == model.predict(line) != 0
    with pytest.raises(DataError, match="wanted a name without blanks"):
        changed.push_features("two words", ["c"])


def test_models_that_cannot_be_merged() -> None:
    one, other = vw.Workspace("--quiet"), vw.Workspace("--quiet -b 10")
    for base, models, error in (
        (None, [], UsageError),
        (None, [one, other], UsageError),
        (other, [one, one], UsageError),
        (None, [vw.Workspace("--quiet --cbify 2")] * 2, ConfigError),
    ):
        with pytest.raises(error):
            vw.merge_models(base, models)


def test_a_merged_model_goes_on_from_its_base(tmp_path: Path) -> None:
    base = vw.Workspace("--quiet")
    for _ in range(3):
        base.learn("1 |f a")
    base.save(tmp_path / "base")
    models = [vw.Workspace(f"--quiet -i {tmp_path / 'base'}") for _ in range(2)]
    for model, word in zip(models, "bc", strict=True):
        model.learn(f"0 2 |f {word}")
    merged = vw.merge_models(base, models)
    assert merged.get_weighted_examples() == 3 + 2 + 2
    for word, source in zip("abc", (base, *models), strict=True):
        assert merged.get_weight_from_name(word, "f") == source.get_weight_from_name(word, "f") != 0
    merged.learn("1 |f a b c")
    merged.save(tmp_path / "merged")
    assert vw.Workspace(f"--quiet -i {tmp_path / 'merged'}").predict("|f a") == merged.predict("|f a")
    assert base.get_weighted_examples() == 3


def test_decisions_count_when_they_are_finished() -> None:
    for more in ("", " --extra_metrics"):  # by themselves, and as batches
        model = vw.Workspace(f"--cb_adf --quiet{more}")
        first, second = (model.parse(["shared |u a", f"0:{cost}:0.5 |f a", "|f b"]) for cost in (1, 3))
        for decision in (first, second):
            model.learn(decision)
        assert (model.get_weighted_examples(), model.get_sum_loss()) == (0, 0)
        model.finish_example(second)
        assert (model.get_weighted_examples(), model.get_sum_loss()) == (1, 0)
        model.finish_example(first)
        assert (model.get_weighted_examples(), model.get_sum_loss()) == (2, 2)


def test_a_row_of_the_table_shows_the_example_that_is_finished() -> None:
    model = vw.Workspace("--noconstant", enable_logging=True)
    wide, narrow = model.example("1 |f a b c d"), model.example("3 |f a")
    model.learn(wide)
    model.learn(narrow)
    model.finish_example(wide)
    assert model.get_driver_output()[-1].split()[4:] == ["1.0000", "0.0000", "4"]
    model.finish_example(narrow)
    assert model.get_driver_output()[-1].split()[4:] == ["3.0000", f"{narrow.get_prediction():.4f}", "1"]


def test_a_log_holds_messages_about_data() -> None:
    model = vw.Workspace("--loss_function logistic", enable_logging=True)
    model.learn("x |f a")
    model.finish()
    assert "average loss" in "\n".join(model.get_driver_output())
    assert model.get_log_output() == ["1 x bad label, first at <example>:1:1"]
    assert model.get_log() == [*model.get_driver_output(), *model.get_log_output()]
    quiet = vw.Workspace("--quiet")
    for read in (quiet.get_log, quiet.get_driver_output, quiet.get_log_output):
        with pytest.raises(RuntimeError, match="enable_logging"):
            read()


def test_a_workspace_that_is_forgotten_writes_its_model(tmp_path: Path) -> None:
    model = vw.Workspace("--quiet", final_regressor=str(tmp_path / "a model"))
    model.learn("1 |f a")
    before = model.predict("|f a")
    del model
    assert vw.Workspace(quiet=True, i=str(tmp_path / "a model")).predict("|f a") == before


def test_a_program_that_ends_writes_what_its_workspaces_owe(tmp_path: Path) -> None:
    program = """import hutch.vw as vw
model = vw.Workspace("--quiet -f model --readable_model text -p predictions")
model.learn("1 |f a")
raise SystemExit(3)"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (3, "")
    assert {path.name for path in tmp_path.iterdir()} == {"model", "text", "predictions"}


def test_names_of_the_package() -> None:
    assert all(getattr(vw, name).__name__ for name in vw.__all__)
    assert vw.Workspace.pACTION_PROBS is vw.PredictionType.ACTION_PROBS and vw.Workspace.lSlates == 7
    assert pyvw.get_label_class_from_enum(2) is vw.MulticlassLabel
    options = {option.name for groups in pyvw.get_all_vw_options().values() for _, each in groups for option in each}
    assert pyvw.pylibvw.vw.lContextualBandit == 4 and vw.version.__version__ == pyvw.__version__
    assert sklearn_vw.VWClassifier is vw.sklearn.VWClassifier
    assert {"oaa", "learning_rate", "quadratic", "squarecb"} <= options and "automl" not in options


def test_labels_of_a_policy_that_is_evaluated():
    model = vw.Workspace("--cb 4 --eval", quiet=True)
    assert model.get_label_type() is vw.LabelType.CONTEXTUAL_BANDIT_EVAL
    label = vw.CBEvalLabel.from_example(model.example("3 1:10:0.5 |a b"))
    assert (label.action, str(label), label.cb_label.costs[0].probability) == (3, "3 1:10.0:0.5", 0.5)
    with pytest.raises(TypeError, match="kind CONTEXTUAL_BANDIT, but the chain takes CONTEXTUAL_BANDIT_EVAL"):
        vw.CBLabel.from_example(model.example("3 1:10:0.5 |a b"))


def test_rows_in_memory_do_not_make_passes_of_a_file():
    with pytest.raises(RuntimeError, match="bfgs: wanted a file, `data=`"):
        sklearn_vw.VW(bfgs=True, passes=3).fit([[1.0], [2.0]], [1, -1])
