"""`hutch vw`: what it understands, what it refuses, and that one engine stands behind all doors."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from hutch import Chain
from hutch.core.errors import HutchError, UsageError
from hutch.vw.main import run
from hutch.vw.model_text import hexfloat
from hutch.vw.options.absent import ABSENT
from hutch.vw.options.table import OPTIONS
from hutch.vw.parse import help_text, parse
from hutch.vw.translate import chain_of

LINES = [f"{label} |a x{i % 5}:{1 + i % 3} y |b z{i % 4}" for i, label in enumerate([1, -1, -1, 1, 1, -1, 1, -1] * 6)]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.vw").write_text("\n".join(LINES) + "\n")
    return tmp_path


def predictions(path="p"):
    return np.array([float(line.split()[0]) for line in Path(path).read_text().splitlines()], np.float32)


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--loss_function logistic -q ab",
        "--loss_function hinge --sgd -l 0.1",
        "-q :: --l2 0.01 --link logistic",
        "--loss_function quantile --quantile_tau 0.8 -b 10 --hash all",
        "--interactions aab --ignore_linear b --noconstant",
        "--binary --loss_function logistic",
        "-q ab --random_weights --random_seed 3",
        "--lrq ab2 --random_seed 3",
        "--lrqfa abc2",
        "--active --simulation --mellowness 0.01",
    ],
)
def test_command_line_yaml_and_python_are_one_engine(data, options, capsys):
    from hutch.cli import dispatch

    assert run(["-d", "train.vw", "-p", "p", "--quiet", *options.split()]) == 0
    assert dispatch.run(["vw", "--to-yaml", *options.split()]) == 0
    text = capsys.readouterr().out
    Path("chain.yaml").write_text(text)
    assert dispatch.run(["train", "train.vw", "-C", "chain.yaml", "-p", "q", "--quiet"]) == 0
    assert Path("p").read_bytes() == Path("q").read_bytes()
    python = Chain.from_config(yaml.safe_load(text)).learn(LINES)
    np.testing.assert_allclose(predictions(), python, atol=5.1e-7)


def test_models_go_on_and_test(data):
    run(["-d", "train.vw", "-f", "model", "-q", "ab", "--loss_function", "logistic", "--quiet"])
    run(["-d", "train.vw", "-i", "model", "-t", "-p", "p", "--quiet"])
    chain = Chain.load("model")
    np.testing.assert_allclose(predictions(), chain.predict(LINES), atol=5.1e-7)
    run(["-d", "train.vw", "-i", "model", "-f", "model2", "--quiet"])
    chain.learn(LINES)
    np.testing.assert_array_equal(Chain.load("model2").weights, chain.weights)


def test_scores_and_probabilities(data):
    Path("classes.vw").write_text("".join(f"{1 + i % 3} |f c{i % 3}\n" for i in range(60)))
    options = ["-d", "classes.vw", "--oaa", "3", "--loss_function", "logistic", "-p", "p", "--quiet"]
    run([*options, "--probabilities"])
    last = [float(word.split(":")[1]) for word in Path("p").read_text().splitlines()[-1].split()]
    assert sum(last) == pytest.approx(1, abs=1e-5) and np.argmax(last) == 2


def test_readable_model(data):
    run(["-d", "train.vw", "--readable_model", "m", "--quiet", "--hexfloat_weights", "-b", "8"])
    lines = Path("m").read_text().splitlines()
    chain = Chain.from_config(chain_of(parse(["-b", "8"])))
    chain.learn(LINES)
    for line in lines[lines.index("l2_state 1") + 1 :]:
        row, _, values = line.partition(":")
        assert [float.fromhex(value) for value in values.split()] == chain.weights[int(row), :3].tolist()
    assert "bits:8" in lines


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "0x1.8p+0"), (-0.1, "-0x1.999999999999ap-4"), (float("inf"), "inf"), (2.0, "0x1p+1")]
)
def test_hexfloat(value, text):
    assert hexfloat(value) == text
    assert float.fromhex(text) == value


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--nosuchoption", "unknown option '--nosuchoption'"),
        ("--quadratik ab", "did you mean '--quadratic'"),
        ("--lda 5 --metrics", "--metrics is not supported: use --readable_model"),
        ("--rank 3 -q ab -q ac", "wanted one pair of namespaces at most"),
        ("-l abc", "--learning_rate: got 'abc', wanted a number"),
        ("--oaa x", "--oaa: got 'x', wanted a whole number"),
        ("-q a", "--quadratic: got 'a', wanted 2 letters"),
        ("--cubic ab", "wanted 3 letters"),
        ("--quantile_tau 0.3", "needs --loss_function quantile"),
        ("--oaa 3 --ect 3", "wanted one of them"),
        ("--loss_function foo", "unknown loss 'foo'"),
        ("--link foo", "--link: got 'foo'"),
        ("--lrq ab", "--lrq: got 'ab', wanted two letters and a rank"),
        ("--lrq a:2", "--lrq: got 'a:2', wanted two letters and a rank"),
        ("--lrqfa a2", "--lrqfa: got 'a2', wanted two letters or more and a rank"),
        ("--lrqfa aba2", "--lrqfa: got 'aba2', wanted different letters"),
        ("--lrq ab2 --lrqfa ab2", "got --lrq and --lrqfa, wanted one of them"),
        ("--new_mf 3", "--new_mf is not supported: use --rank, or the `dyadic`"),
        ("--ngram x", "--ngram: got 'x'"),
        ("--skips 2", "needs --ngram"),
        ("--l1 0.1 --l1 0.2", "--l1: got 0.1 and 0.2, wanted one value"),
        ("--redefine ab:=c", "--redefine: got 'ab:=c', wanted N:=S"),
        ("--oaa 2 --named_labels a,b,c", "--oaa: got 2, wanted 3"),
        ("--csoaa 2 --named_labels a,b,c", "--csoaa: got 2, wanted 3"),
        ("--random_weights --normal_weights", "got --random_weights and --normal_weights, wanted one of them"),
        ("--initial_weight 1 --normal_weights", "got --initial_weight and --normal_weights, wanted one of them"),
        ("--random_weights --sparse_weights", "--random_weights: got it with --sparse_weights"),
        ("--random_weights --coin", "--random_weights: --coin does not have it"),
        ("--cats 3", "--cats needs --min_value"),
        ("--passes 0", "--passes: got 0"),
        ("-b 99", "bits"),
        ("-i missing.model", "missing.model"),
        ("-d missing.vw", "missing.vw"),
        ("-l", "expected one argument"),
        ("--loss_function expectile", "--expectile_q"),
    ],
)
def test_mistakes_are_refused_by_name(data, options, text):
    with pytest.raises(HutchError, match=text.replace("(", "\\(")):
        run(["-d", "train.vw", "--quiet", *options.split()])


def test_every_absent_option_is_refused(data):
    for name in ABSENT:
        with pytest.raises(UsageError, match=f"--{name} is not supported"):
            parse([f"--{name}"])


def test_options_that_take_several_words_take_all_that_follow():
    options = parse(["-q", "ab", "cd", "--ignore", "a", "b", "-d", "x", "y"])
    assert (options.quadratic, options.ignore, options.data, options.files) == (["ab", "cd"], ["a", "b"], ["x"], ["y"])


def test_the_first_learning_rate_counts():
    assert parse(["-l", "0.1", "-l", "0.2"]).learning_rate == 0.1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-b 14", "-b: got 14, but the model has 12"),
        ("--oaa 4", "one_against_all: got classes 4, but the model has 3"),
        ("--ect 3", "got --oaa and --ect, wanted one of them; the model has --oaa 3"),
        ("--nn 2", "learned without one_hidden_layer, which the options ask for; its chain is one_against_all, linear"),
        ("--ftrl", "--ftrl: the model was learned by linear, got ftrl_proximal"),
        ("--rank 2 -q ff", "--rank: the model was learned by linear, got matrix_factorization"),
        ("--hash all", "--hash: got all, but the model has strings"),
    ],
)
def test_options_that_contradict_the_model_are_refused(data, options, text):
    Path("classes.vw").write_text("1 |f a\n2 |f b\n3 |f c\n")
    run(["-d", "classes.vw", "-f", "model", "-b", "12", "--oaa", "3", "--quiet"])
    with pytest.raises(UsageError, match=text):
        run(["-d", "classes.vw", "-i", "model", *options.split()])


def test_a_link_can_be_put_on_a_model(data):
    run(["-d", "train.vw", "-f", "model", "--loss_function", "logistic", "--quiet", "--ngram", "2"])
    run(["-d", "train.vw", "-i", "model", "-t", "-p", "p", "--quiet"])
    run(["-d", "train.vw", "-i", "model", "-t", "--link", "logistic", "-p", "q", "-f", "linked", "--quiet"])
    np.testing.assert_allclose(predictions("q"), 1 / (1 + np.exp(-predictions("p"))), atol=2e-6)
    run(["-d", "train.vw", "-i", "linked", "-t", "--binary", "-p", "r", "--quiet"])
    np.testing.assert_array_equal(predictions("r"), 1)
    assert [layer.name for layer in Chain.load("linked").layers] == ["ngrams", "link", "linear"]


def test_a_learning_rate_given_with_a_model_counts(data):
    run(["-d", "train.vw", "-f", "model", "-l", "0.1", "--quiet"])
    run(["-d", "train.vw", "-i", "model", "-l", "0.3", "-f", "faster", "--quiet"])
    chain = Chain.load("model")
    chain.layers[-1].state["learning_rate"] = 0.3
    chain.learn(LINES)
    np.testing.assert_array_equal(Chain.load("faster").weights, chain.weights)


def test_learning_goes_on_from_the_model_of_any_pass(data):
    words = ["-d", "train.vw", "-l", "0.1", "--decay_learning_rate", "0.5", "--holdout_off", "--quiet"]
    run([*words, "--passes", "3", "-f", "model", "--save_per_pass"])
    assert sorted(path.name for path in data.glob("model*")) == ["model", "model.1", "model.2", "model.3"]
    run(["-d", "train.vw", "-i", "model.1", "--passes", "2", "--holdout_off", "-f", "again", "--quiet"])
    for name in ("model.3", "again"):
        np.testing.assert_array_equal(Chain.load(name).weights, Chain.load("model").weights)


def test_labels_are_asked_for(data):
    lines = [f"{label} 't{i} |f x{i % 7}" for i, label in enumerate([1, -1, 1, 1] * 5)]
    Path("some.vw").write_text("\n".join([*lines, *(f"'q{i} |f x{i % 7} y" for i in range(20))]) + "\n")
    run(["-d", "some.vw", "--active", "--mellowness", "0.01", "-p", "p", "--quiet"])
    found = [line.split(" ") for line in Path("p").read_text().splitlines()]
    assert all(len(words) == 2 for words in found[:20])
    asked = [words for words in found[20:] if len(words) == 3]
    assert 0 < len(asked) < 20 and all(float(words[2]) >= 1 for words in asked)


def test_names_are_unique():
    names = [option.name for option in OPTIONS] + [option.short for option in OPTIONS if option.short]
    assert len(names) == len(set(names))
    assert all(f"--{option.name}" in help_text() for option in OPTIONS if option.supported)


def test_named_labels(data, capsys):
    Path("named.vw").write_text("cat |f a\ndog |f b\n |f a\ncat 2 |f a\n")
    options = ["-d", "named.vw", "--oaa", "2", "--named_labels", "dog,cat", "-p", "p", "--quiet", "--passes", "5"]
    run([*options, "--holdout_off"])
    assert Path("p").read_text().split()[-4:] == ["cat", "dog", "cat", "cat"]
    Path("named.vw").write_text("cat |f a\ncow |f b\n")
    capsys.readouterr()
    run(options)
    assert "named.vw:2:1: unknown class: the label counts as not given, got 'cow'" in capsys.readouterr().err


def test_audit_shows_features_before_they_are_learned(data, capsys):
    Path("two.vw").write_text("1 't |a x:2 |b y\n1 |a x:2\n")
    run(["-d", "two.vw", "--audit", "-q", "ab", "--quiet", "-b", "18"])
    first, features, _, again = capsys.readouterr().out.splitlines()
    assert first == "0 t"
    names = [part.split(":")[0] for part in features.split("\t")[1:]]
    assert names == ["a^x", "b^y", "Constant", "a^x*b^y"]
    assert all(part.split(":")[3] == "0@0" for part in features.split("\t")[1:])
    assert all(float(part.split(":")[3].split("@")[0]) > 0 for part in again.split("\t")[1:])
    run(["-d", "two.vw", "--audit", "-t", "--quiet", "-b", "18"])
    assert "@" not in capsys.readouterr().out  # sums of gradients are those of a run that learns


def test_invert_hash_names_what_was_learned(data):
    examples = [line.replace("-1 ", "2 ") for line in LINES]
    Path("classes.vw").write_text("\n".join(examples) + "\n")
    run(["-d", "classes.vw", "--invert_hash", "names", "-q", "ab", "--oaa", "2", "--quiet", "--hexfloat_weights"])
    lines = Path("names").read_text().splitlines()
    found = {line.rsplit(":", 2)[0]: line.rsplit(":", 2)[1:] for line in lines[lines.index("l2_state 1") + 1 :]}
    assert {"Constant", "Constant[1]", "a^x0", "a^x0*b^z0", "a^y*b^z3[1]"} <= found.keys()
    chain = Chain.from_config(chain_of(parse(["-q", "ab", "--oaa", "2"])))
    chain.learn(examples)
    assert len(found) == np.count_nonzero(chain.weights[:, :3].any(axis=1))


def test_several_options_in_one_word_are_taken_apart(capsys):
    from hutch.vw.main import vw

    assert vw(["--to-yaml", "--oaa 3 -q ab"]) == 0
    one = capsys.readouterr().out
    assert vw(["--to-yaml", "--oaa", "3", "-q", "ab"]) == 0
    assert one == capsys.readouterr().out and "one_against_all" in one
    with pytest.raises(UsageError, match="No closing quotation"):
        vw(["--oaa 3 -d 'x"])


def test_all_options_that_are_missing_are_named_at_once():
    with pytest.raises(UsageError) as caught:
        parse(["--new_mf", "2", "--automl", "3", "--progres", "5"])
    lines = str(caught.value).splitlines()
    assert [line.partition(" is")[0].partition(";")[0] for line in lines] == [
        "--new_mf",
        "--automl",
        "unknown option '--progres'",
    ]


def test_names_of_classes_stay_in_the_model(data):
    Path("named.vw").write_text("cat |f a\ndog |f b\n" * 20)
    assert run(["-d", "named.vw", "--oaa", "2", "--named_labels", "cat,dog", "-f", "model", "--quiet"]) == 0
    assert run(["-d", "named.vw", "-t", "-i", "model", "-p", "p", "--quiet"]) == 0
    assert Path("p").read_text().split() == ["cat", "dog"] * 20


def test_a_model_is_written_as_text_without_data(data):
    assert run(["-d", "train.vw", "-f", "model", "--quiet"]) == 0
    assert run(["-i", "model", "--readable_model", "text", "--no_stdin", "--quiet"]) == 0
    assert Path("text").read_text().startswith("Version ")
    assert run(["--no_stdin", "-p", "p", "--classweight", "1:2"]) == 0 and Path("p").read_bytes() == b""
    assert run(["-d", "train.vw", "-i", "model", "-p", "p", "--audit_regressor", "weights"]) == 0
    assert Path("p").read_bytes() == b"" and Path("weights").read_bytes()


def test_the_help_fits_80_columns():
    assert max(map(len, help_text().splitlines())) <= 80


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_data_is_text_whatever_its_ending(data, ending):
    Path(f"examples{ending}").write_text("\n".join(LINES) + "\n")
    assert run(["-d", f"examples{ending}", "-p", "found", "--quiet"]) == 0
    assert run(["-d", "train.vw", "-p", "wanted", "--quiet"]) == 0
    assert Path("found").read_text() == Path("wanted").read_text() != ""
