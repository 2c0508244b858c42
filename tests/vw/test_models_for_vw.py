"""Models that VW can read: they come back as they were, VW predicts and learns on as Hutch does, others are refused."""

import random
from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.vw.command_line import options_of
from hutch.vw.main import run
from hutch.vw.model_binary import read_vw_model, vw_model
from hutch.vw.parse import parse
from tests.vw.test_old_models import CONSTANT, SUMS, A, B, old_model


def lines(kind):
    """Examples of each kind of label."""
    draw = random.Random(kind)
    for k in range(24):
        features = f"|f w{draw.randrange(5)}:{draw.random():.3f} w{draw.randrange(5)} |g h{draw.randrange(3)}"
        cost, place = f"{draw.random():.2f}", draw.randrange(3)
        if kind in ("number", "sign"):
            yield f"{draw.random():.3f} {features}" if kind == "number" else f"{draw.choice([-1, 1])} {features}"
        elif kind == "class":
            yield f"{place + 1} {features}"
        elif kind == "costs":
            yield f"1:{cost} 2:0 3:1 {features}"
        elif kind == "logged":
            yield f"{place + 1}:{cost}:0.5 {features}"
        elif kind == "slots":
            actions = "ccb action |a x\nccb action |a y"
            yield f"ccb shared {features}\n{actions}\nccb slot {k % 2}:{cost}:0.5 |s p\nccb slot |s q\n"
        else:
            labels = [f"{i}:{cost}" if kind == "ldf" else f"0:{cost}:0.5" * (i == place) for i in range(3)]
            yield "".join(f"{label} |a x{i} {features}\n" for i, label in enumerate(labels))


CASES = [
    ("number", "-q fg -l 0.3 --l2 1e-3 --power_t 0.4 --initial_weight 0.1"),
    ("number", "--sgd -l 0.01 --initial_t 2 --hash all --hash_seed 3 --noconstant"),
    ("number", "--adaptive --ignore_linear g --interactions fgg --permutations -C 0.3"),
    ("number", "--normalized --loss_function quantile --quantile_tau 0.3 --ngram f2 --skips f1"),
    ("number", "--l1 1e-3 --min_prediction -0.5 --ngram 2 --ignore g"),
    ("number", "--loss_function expectile --expectile_q 0.3 --interactions fg"),
    ("number", "--random_weights --random_seed 3"),
    ("number", "--decay_learning_rate 0.9 --passes 2 --holdout_off"),
    ("number", "--coin --link logistic"),
    ("sign", "--ftrl --l1 0.01 --ftrl_alpha 0.3 --loss_function logistic"),
    ("number", "--freegrad --restart --fepsilon 0.5"),
    ("number", "--freegrad --project --radius 0.5"),
    ("sign", "--pistol --binary --loss_function hinge"),
    ("number", "--lrq fg2"),
    ("number", "--lrqfa fg2"),
    ("number", "--bootstrap 3 --bs_type vote"),
    ("sign", "--boosting 3 --binary"),
    ("number", "--nn 3 --inpass -q fg"),
    ("sign", "--nn 2 --loss_function logistic --link logistic"),
    ("class", "--oaa 3 --nn 2 --multitask"),
    ("class", "--oaa 3 --named_labels cat,dog,cow"),
    ("class", "--oaa 3 --bootstrap 2"),
    ("class", "--oaa 3 --probabilities --loss_function logistic"),
    ("class", "--ect 3 --error 1"),
    ("costs", "--csoaa 3"),
    ("ldf", "--csoaa_ldf mc --csoaa_rank"),
    ("adf", "--cb_adf --rank_all --cb_type dr"),
    ("adf", "--cb_explore_adf --epsilon 0.2 --clip_p 0.1 -q af"),
    ("adf", "--cb_explore_adf --bag 2 --greedify"),
    ("adf", "--cb_explore_adf --cover 2 --nounif"),
    ("adf", "--cb_explore_adf --squarecb --gamma_scale 20"),
    ("adf", "--cb_explore_adf --regcbopt --mellowness 0.1"),
    ("adf", "--cb_explore_adf --softmax --lambda 2 --cb_sample"),
    ("adf", "--cb_explore_adf --first 7"),
    ("logged", "--cb 3 --cb_type dm"),
    ("logged", "--cb_explore 3 --bag 2 --coin"),
    ("slots", "--ccb_explore_adf --all_slots_loss -q fs"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def converted(kind, options):
    """Train on examples, and write the model for VW; the chain."""
    names = {"1": "cat", "2": "dog", "3": "cow"} if "named" in options else {}
    Path("data").write_text("".join(f"{names.get(line[0], line[0])}{line[1:]}\n" for line in lines(kind)))
    assert run(["-d", "data", *options.split(), "-b", "8", "-f", "ours", "--quiet"]) == 0
    chain = Chain.load("ours")
    Path("for_vw").write_bytes(vw_model(chain))
    return chain


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_a_model_comes_back_as_it_was(kind, options):
    chain = converted(kind, options)
    again = read_vw_model("for_vw", parse([]))
    assert [layer.name for layer in again.layers] == [layer.name for layer in chain.layers]
    np.testing.assert_array_equal(again.weights[:, :3], chain.weights[:, :3])
    kept = {layer.name: layer.saved() for layer in again.layers}
    for layer in chain.layers:
        for name in layer.saved().keys() - {"seed", "seen"}:  # of low-rank features, which VW does not keep either
            np.testing.assert_array_equal(kept[layer.name][name], layer.saved()[name], err_msg=name)
    for name in ("time", "min_label", "max_label", "random_state", "multiplier"):
        assert again.shared[0][name] == chain.shared[0][name], name
    assert again.remarks == chain.remarks and options_of(again) == options_of(chain)


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_the_peer_predicts_and_learns_on_as_hutch_does(kind, options):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    converted(kind, options)
    again = [word for word in options.split() if word in ("--probabilities", "--all_slots_loss")]
    for more in ["-t"] * ("regcb" not in options) + [""]:  # --regcb -t: see "in the last digits, or in rare cases"
        vowpalwabbit.Workspace(f"-d data --quiet -i for_vw -p theirs {more}", enable_logging=True).finish()
        assert run(["-i", "ours", "-d", "data", "--quiet", "-p", "found", *again, *more.split()]) == 0
        assert Path("found").read_text() == Path("theirs").read_text(), more


@pytest.mark.parametrize(
    ("options", "kind", "added"),
    [
        ("--cb_explore_adf -q fg", "slots", "--ccb_explore_adf"),
        ("--ccb_explore_adf -q fs", "slots", "--ccb_explore_adf"),
        ("--cb_explore_adf --squarecb", "slots", "--ccb_explore_adf --all_slots_loss"),
        ("--cb_explore_adf --softmax", "adf", "--cb_explore_adf --cb_sample"),
    ],
)
def test_a_decisions_model_goes_on_with_slots_or_draws_as_the_peers_does(options, kind, added):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    converted("slots" if "ccb" in options else "adf", options)
    Path("next").write_text("".join(f"{line}\n" for line in lines(kind)))
    vowpalwabbit.Workspace(f"-d next --quiet -i for_vw -p theirs {added}", enable_logging=True).finish()
    assert run(["-i", "ours", "-d", "next", "--quiet", "-p", "found", *added.split()]) == 0
    assert Path("found").read_text() == Path("theirs").read_text()


def test_the_model_of_each_pass_predicts_as_the_peers_does():
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the peer: pip install vowpalwabbit==9.11.9")
    Path("data").write_text("".join(f"{line}\n" for line in lines("number")))
    words = "-d data -c -k --passes 3 --holdout_off --decay_learning_rate 0.5 --save_per_pass --quiet"
    assert run([*words.split(), "-f", "ours"]) == 0
    vowpalwabbit.Workspace(f"{words} -f theirs").finish()
    for number in range(1, 4):
        vowpalwabbit.Workspace(f"-d data -t -i theirs.{number} -p wanted --quiet").finish()
        assert run(["-d", "data", "-t", "-i", f"ours.{number}", "-p", "found", "--quiet"]) == 0
        assert Path("found").read_text() == Path("wanted").read_text()


def test_the_layout_is_that_of_other_models():
    sums = [0.0, 6.0, 2.0, 0.0, 0.0, 1.0, -9.0, 9.0, 0.0, 0.0, 0.0, 0, 0, 2.0, 0.0, 1, 0.125, 0.5]
    weights = [(A, 1.125, 0.25, 1.0), (CONSTANT, 0.125, 1.0, 1.0), (B, -0.625, 0.25, 2.0)]
    content = old_model("--learning_rate 0.25", weights, sums=sums, span=(-9, 9))
    Path("old").write_bytes(content)
    found = vw_model(read_vw_model("old", parse([])))
    size = 1 + SUMS.size + 16 * len(weights)
    assert found[-size:] == content[-size:]
    assert b" --learning_rate 0.25\0" in found and found.startswith(content[:10])


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([{"filter_tree": {"classes": 3}}, "linear"], "no filter_tree"),
        (["explore_posterior", "contextual_bandit", "cost_sensitive_with_features", "linear"], "no explore_posterior"),
        ([{"link": {"function": "logistic"}}, "binary", "linear"], "no link|no binary"),
        (
            [{"low_rank_quadratic": {"pairs": [{"namespaces": ["a", "b"], "rank": 2}], "dropout": True}}, "linear"],
            "do not keep the state of low_rank_quadratic",
        ),
        ([{"dyadic": {"left": "user", "right": "item"}}], "no dyadic"),
        ([{"linear": {"interactions": [["user", "item"]]}}], "no such linear: got interactions"),
        ([{"linear": {"ignore_linear": ["user"]}}], "no such linear: got ignore_linear"),
        ([{"simulate_bandit": {"classes": 3}}, "explore_epsilon", "contextual_bandit", "cost_sensitive_with_features",
          "linear"], "the state of simulate_bandit"),
    ],
)  # fmt: skip
def test_what_vw_does_not_have_is_refused_by_name(layers, message):
    with pytest.raises(UsageError, match=f"^VW .*{message}"):
        vw_model(Chain.from_config({"chain": layers, "weights": {"bits": 8}}))


def test_losses_of_plugins_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("hutch.vw.command_line._LOSSES", ("squared", "hinge"))
    with pytest.raises(UsageError, match="^VW has no loss 'logistic', wanted one of squared, hinge"):
        vw_model(Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}], "weights": {"bits": 8}}))


def test_the_command(capsys):
    from hutch.cli.commands import app

    converted("sign", "--loss_function logistic")
    assert not app(["convert", "ours", "--to", "vw", "-f", "new"], standalone_mode=False)
    assert Path("new").read_bytes() == Path("for_vw").read_bytes()
    Chain.from_config({"chain": [{"filter_tree": {"classes": 3}}, "linear"]}).save("tree")
    for words, message in (
        (["ours", "--to", "VW"], "--to: got 'VW', wanted hutch or vw"),
        (["tree"], "tree: VW has no filter_tree"),
        (["for_vw"], "for_vw: "),
        (["ours", "--loss_function", "logistic"], "Hutch's hold the loss"),
    ):
        assert app(["convert", "--to", "vw", "-f", "other", *words], standalone_mode=False)
        assert message in capsys.readouterr().err
        assert not Path("other").exists()
