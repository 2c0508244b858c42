"""Every option over every layer of a model: beside `-i` each has an effect, is the model's own, is refused, or is said
to have none."""

import random
import re
import warnings
from pathlib import Path

import pytest

from hutch import Chain
from hutch.core.chain.model_of_chain import load_chain_model
from hutch.core.chain.stored import RowsInUse
from hutch.core.errors import HutchError
from hutch.vw.beside import own_options
from hutch.vw.main import run
from hutch.vw.model_binary import vw_model
from hutch.vw.options.table import GROUPS
from hutch.vw.parse import parse


def _features(draw, known):
    return f"|u u{draw.randrange(known)} u{draw.randrange(known)} w |i v{draw.randrange(known)}:{draw.random():.3f} w x"


def _lines(label, known, count, seed):
    draw = random.Random(seed)
    return "".join(f"{label(draw)} {_features(draw, known)}\n" for _ in range(count))


def _decisions(label, known, count, seed, kind=""):
    """Decisions over two to four actions, of which the first two are alike in every other one."""
    draw, found = random.Random(seed), []
    for number in range(count):
        actions = draw.randrange(2, 5)
        chosen, features = draw.randrange(actions), ""
        found.append(f"{kind}shared |u u{draw.randrange(known)} x w")
        for k in range(actions):
            if k != 1 or number % 2:
                features = f"|i a{draw.randrange(known)} b{draw.randrange(known)}:{draw.random():.2f} c"
            found.append(label(draw, k, k == chosen) + features)
        slots = range(2 if kind else 0)
        found += [f"{kind}slot {draw.randrange(2)}:{draw.random():.2f}:0.5 |s s{k}" for k in slots] + [""]
    return "\n".join(found) + "\n"


def _logged(draw, k, chosen):
    return f"{k}:{draw.random():.2f}:{draw.choice((0.25, 0.5))} " if chosen else ""


DATA = {
    "binary": lambda *n: _lines(lambda draw: draw.choice((-1, 1)), *n),
    "number": lambda *n: _lines(lambda draw: round(3 * draw.random() - 0.5, 3), *n),
    "class": lambda *n: _lines(lambda draw: draw.randrange(1, 5), *n),
    "set": lambda *n: _lines(lambda draw: ",".join(map(str, draw.sample(range(4), 2))), *n),
    "costs": lambda *n: _lines(lambda draw: " ".join(f"{k}:{draw.random():.2f}" for k in range(1, 5)), *n),
    "priced number": lambda *n: _lines(lambda draw: f"ca {3 * draw.random():.2f}:{draw.random():.2f}:0.25", *n),
    "number in a range": lambda *n: _lines(lambda draw: round(3 * draw.random(), 3), *n),
    "sequence": lambda *n: re.sub("((?:.+\n){3})", "\\1\n", _lines(lambda draw: draw.randrange(1, 5), *n)),
    "graph": lambda *n: re.sub(
        "(.+\n)(.+\n).+? (.*\n)",
        r"\1\g<2>1,2 \3\n",
        _lines(lambda draw: draw.randrange(1, 5), *n),
    ),
    "tree": lambda *n: re.sub(
        "(.+\n)(.+\n)(.+\n)",
        r"2,\g<1>0,\g<2>2,\g<3>\n",
        _lines(lambda draw: draw.randrange(1, 5), *n),
    ),
    "relations": lambda *n: re.sub(
        "(.+?) (.*\n).+? (.*\n).+? (.*\n)",
        r"\1 'E_0 \2\1 'E_1 \g<3>7 'R_0_1 \4" + "\n",
        _lines(lambda draw: draw.randrange(1, 5), *n),
    ),
    "logged": lambda *n: _lines(lambda draw: f"{draw.randrange(1, 5)}:{draw.random():.2f}:0.25", *n),
    "actions": lambda *n: _decisions(_logged, *n),
    "priced": lambda *n: _decisions(lambda draw, k, chosen: f"{k + 1}:{draw.random():.2f} ", *n),
    "slots": lambda *n: _decisions(lambda draw, k, chosen: "ccb action ", *n, "ccb "),
}
MODELS = {
    "--loss_function logistic": "binary",
    "-q ui --l1 1e-4 --power_t 0.4": "number",
    "--sgd -l 0.1": "number",
    "--ngram 2 --link logistic --binary --loss_function logistic": "binary",
    "--autolink 2": "number",
    "--confidence": "binary",
    "--marginal u": "number",
    "--stage_poly --batch_sz 5": "number",
    "--boosting 2": "binary",
    "--bootstrap 2": "number",
    "--nn 2": "number",
    "--active --simulation --mellowness 0.1": "binary",
    "--affix -1u --spelling i": "number",
    "--feature_limit 2": "number",
    "--baseline --lr_multiplier 2": "number",
    "--interact ui": "number",
    "--multilabel_oaa 4": "set",
    "--oaa 4": "class",
    "--oaa 4 --probabilities --loss_function logistic": "class",
    "--ect 4": "class",
    "--csoaa 4": "costs",
    "--ftrl": "number",
    "--pistol": "number",
    "--coin": "number",
    "--freegrad": "number",
    "--svrg": "number",
    "--rank 2 -q ui": "number",
    "--cb 4": "logged",
    "--cb_explore 4 --epsilon 0.1": "logged",
    "--cbify 4": "class",
    "--cb 4 --cb_force_legacy": "logged",
    "--cb_explore 4 --cb_force_legacy --cover 2": "logged",
    "--cbify 4 --cb_force_legacy": "class",
    "--ot 4": "logged",
    "--ksvm": "binary",
    "--OjaNewton": "number",
    "--active_cover --mellowness 0.1": "binary",
    "--log_multi 4": "class",
    "--recall_tree 4": "class",
    "--emt": "class",
    "--memory_tree 7": "class",
    "--search 4 --search_task sequence --search_alpha 0.01": "sequence",
    "--search 5 --search_task sequencespan": "sequence",
    "--search 10 --search_task entity_relation": "relations",
    "--search 4 --search_task argmax": "sequence",
    "--search 4 --search_task multiclasstask": "sequence",
    "--search 4 --search_task dep_parser --num_label 4 --root_label 1": "tree",
    "--search 4 --search_task graph": "graph",
    "--cats 4 --min_value 0 --max_value 3 --bandwidth 0.9": "priced number",
    "--cats_pdf 4 --min_value 0 --max_value 3": "priced number",
    "--cats_tree 4": "logged",
    "--cbzo -l 0.01": "priced number",
    "--cbify 4 --cbify_reg --min_value 0 --max_value 3": "number in a range",
    "--cbify 4 --cbify_reg --cb_discrete --min_value 0 --max_value 3": "number in a range",
    "--cb_explore_adf --synthcover": "actions",
    "--cb_explore_adf --epsilon_decay": "actions",
    "--cb_explore_adf --rnd 2": "actions",
    "--cbify_ldf": "priced",
    "--csoaa_ldf m": "priced",
    "--csoaa_ldf mc --loss_function logistic": "priced",
    "--cb_adf": "actions",
    "--cb_adf --cb_type dr": "actions",
    "--cb_explore_adf --epsilon 0.1": "actions",
    "--cb_explore_adf --softmax": "actions",
    "--cb_explore_adf --cb_dro": "actions",
    "--cb_explore_adf --squarecb": "actions",
    "--cb_explore_adf --regcb --mellowness 1e-5": "actions",
    "--cb_explore_adf --first 3": "actions",
    "--cb_explore_adf --bag 2": "actions",
    "--cb_explore_adf --cover 2": "actions",
    "--cb_explore_adf --thompson": "actions",
    "--cb_explore_adf --cb_sample": "actions",
    "--cb_explore_adf --explore_eval": "actions",
    "--ccb_explore_adf": "slots",
}
"""Options of models, and the kind of data that they learn."""

QUICK = ("--oaa 4",)
"""Options of models that take part in the quick tests of every option, too."""
SHORT = (*QUICK, "--sgd -l 0.1", "--cb_explore_adf --epsilon 0.1", "--ftrl", "--autolink 2", "--csoaa 4", "--nn 2")
"""The same of the tests of a model's own options."""

VALUES = {
    **{"quadratic": "uu", "cubic": "uii", "interactions": "uuii", "ignore": "u", "ignore_linear": "u", "keep": "u"},
    **{
        "loss_function": "hinge",
        "quantile_tau": "0.2",
        "expectile_q": "0.2",
        "logistic_min": "-3",
        "logistic_max": "3",
    },
    **{"link": "glf1", "bs_type": "vote", "cb_type": "dm", "csoaa_ldf": "mc", "named_labels": "a,b,c,d"},
    **{"classweight": "1:3", "indexing": "0", "hash": "all", "hash_seed": "5", "bit_precision": "12", "ngram": "3"},
    **{"skips": "1", "oaa": "3", "ect": "3", "csoaa": "3", "cb": "3", "cb_explore": "3", "cbify": "3", "error": "1"},
    **{
        "min_prediction": "0.1",
        "max_prediction": "0.2",
        "cb_min_cost": "0.9",
        "cb_max_cost": "0.5",
        "mellowness": "0.7",
        "clip_p": "0.99",
    },
    **{"initial_t": "50", "power_t": "0.9", "l1": "0.01", "l2": "0.01", "l1_state": "0.1", "l2_state": "0.5"},
    **{"learning_rate": "0.9", "first": "20", "bag": "3", "cover": "3", "rank": "3", "nn": "3", "bootstrap": "3"},
    **{"affix": "+1u", "spelling": "u", "redefine": "i:=u", "feature_limit": "1", "interact": "iu"},
    **{"autolink": "3", "boosting": "3", "alg": "logistic", "stage_size": "3", "degree": "3"},
    "search_graph_num_loops": "3",
}
"""Values that no model has; of other options 0.3 or 2."""

_ELSEWHERE = ("Data and passes", "Models and output", "Daemon", "Accepted for compatibility")
"""Headings of options that do not concern the chain."""
OPTIONS = [option for heading, group in GROUPS.items() if heading not in _ELSEWHERE for option in group]
NOTHING = {
    "no_predict",
    "no_bias_regularization",
    "random_seed",
    "decay_learning_rate",
    "meanfield",
    "first_only",
    "stage_size",
    "unweighted_marginals",
    "redefine",
    "bern_hyper",
    "leaf_example_multiplier",
    "max_number_of_labels",
    "top_K",
    "relation_none_cost",
    "search_alpha",
    "search_condition_feature_value",
    "search_history_length",
    "search_linear_ordering",
    "search_max_bias_ngram_length",
    "search_max_quad_ngram_length",
    "search_neighbor_features",
    "search_no_caching",
    "search_perturb_oracle",
    "search_rollout_num_steps",
    "skip_cost",
}
"""Options without an effect on most data: `first_only` only decides between actions of the same score,
`stage_size` between passes, `unweighted_marginals` where importances differ, `redefine` where namespaces are named;
`bern_hyper` in deeper trees, `skip_cost` where choices are put off, `leaf_example_multiplier` where more leaves are
divided; `max_number_of_labels` and `top_K` have none in VW, too; those of a search where a task has several steps, and
labels do not decide the rest."""


def _outcome(folder, words):
    """Predictions, what was learned, and messages."""
    out = folder / "out"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run([*words, "-p", str(folder / "p"), "-f", str(out), "--quiet"])
    arrays, _ = load_chain_model(str(out))
    learned = {name: array.dense().tobytes() if isinstance(array, RowsInUse) else array.tobytes()
               for name, array in arrays.items()}  # fmt: skip
    return (folder / "p").read_bytes(), learned, [str(each.message) for each in told]


@pytest.mark.parametrize("by", [pytest.param("hutch", marks=pytest.mark.slow), "vw"])
@pytest.mark.parametrize(
    "made", [made if made in QUICK else pytest.param(made, marks=pytest.mark.slow) for made in MODELS]
)
def test_no_option_is_dropped(made, by, tmp_path, capsys):
    kind = DATA[MODELS[made]]
    for name, known, count, seed in (("train", 5, 30, 1), ("test", 9, 12, 2)):
        (tmp_path / name).write_text(kind(known, count, seed))
    model = str(tmp_path / "model")
    run(["-d", str(tmp_path / "train"), "-b", "10", *made.split(), "-f", model, "--quiet"])
    chain = Chain.load(model)
    if by == "vw":
        try:
            Path(model).write_bytes(vw_model(chain))
        except HutchError as error:
            pytest.skip(f"Vowpal Wabbit cannot keep it: {error}")
    own = own_options(chain.config)
    assert own is not None
    words = ["-d", str(tmp_path / "test"), "-i", model]
    words += ["--loss_function", "logistic"] if "logistic" in made else []
    as_it_is, dropped = _outcome(tmp_path, words), []
    assert not as_it_is[2]
    for option in OPTIONS:
        value = VALUES.get(option.name, "0.3" if option.kind == "float" else "2")
        given = [f"--{option.name}", *([value] if option.kind != "flag" else [])]
        if option.name == "loss_function" and "logistic" in made:
            given = []
        capsys.readouterr()
        try:
            found = _outcome(tmp_path, [*words[:4], *given, *(words[4:] if option.name != "loss_function" else [])])
        except HutchError:
            continue
        heard = found[2] or capsys.readouterr().err
        if heard or found[:2] != as_it_is[:2] or option.name in NOTHING or not given:
            continue
        asks_for_layer = (
            option.brings_layer and not option.key and any(option.layer == each.name for each in chain.layers)
        )
        if not asks_for_layer and option.given(parse(given)) != option.given(own):
            dropped.append(" ".join(given))
    assert " | ".join(dropped) == ""


@pytest.mark.parametrize(
    "made",
    [
        *(made if made in SHORT else pytest.param(made, marks=pytest.mark.slow) for made in MODELS),
        "--ccb_explore_adf --bag 2 --cb_type ips --all_slots_loss -q uu --ignore s",
        "--ccb_explore_adf --squarecb --gamma_scale 5 --ftrl",
        "--cb_explore_adf --explore_eval --softmax --lambda 2",
        "--loss_function quantile --quantile_tau 0.3 --nn 2 --inpass",
    ],
)
def test_the_model_s_own_options_change_nothing(made, tmp_path):
    kind = MODELS.get(made, "slots" if "ccb" in made else "actions" if "adf" in made else "number")
    for name, known, count, seed in (("train", 5, 30, 1), ("test", 9, 12, 2)):
        (tmp_path / name).write_text(DATA[kind](known, count, seed))
    run(["-d", str(tmp_path / "train"), "-b", "10", *made.split(), "-f", str(tmp_path / "model"), "--quiet"])
    words = ["-d", str(tmp_path / "test"), "-i", str(tmp_path / "model")]
    as_it_is = _outcome(tmp_path, words + ["--probabilities"] * ("--probabilities" in made))
    assert _outcome(tmp_path, words + made.split()) == as_it_is and not as_it_is[2]
    for option in ("-l", "--noconstant"):  # others leave them as they are
        given = [option, "0.3"] if option == "-l" else [option]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run([*words, *given, "-f", str(tmp_path / "other"), "--quiet"])
        except HutchError as error:
            assert "--learning_rate" in str(error)
            continue
        names = [[layer.name for layer in Chain.load(str(tmp_path / each)).layers] for each in ("model", "other")]
        assert names[0] == names[1]


@pytest.mark.parametrize(
    ("kind", "made", "more", "of_vw"),
    [
        (
            "actions",
            "--cb_adf",
            "--cb_explore_adf --epsilon 0.2",
            "0:0.5,1:0.5 2:0.866667,1:0.066667,0:0.066667 0:0.466667,1:0.466667,2:0.066667 "
            "1:0.866667,2:0.066667,0:0.066667",
        ),
        (
            "actions",
            "--cb_adf",
            "--cb_explore_adf --softmax --lambda 3",
            "0:0.5,1:0.5 2:0.411539,1:0.371168,0:0.217293 0:0.343315,1:0.343315,2:0.31337 "
            "1:0.401725,2:0.323031,0:0.275243",
        ),
        (
            "actions",
            "--cb_adf",
            "--rank_all",
            "0:0.539926,1:0.539926 2:0.347814,1:0.38223,0:0.5607 0:0.519771,1:0.519771,2:0.550191 "
            "1:0.705328,2:0.778,0:0.831365",
        ),
        (
            "priced",
            "--csoaa_ldf m",
            "--csoaa_rank",
            "1:0.069795,2:0.069795 2:0.448873,3:0.469312,1:0.536602,4:0.556062 1:0.416973,2:0.416973 "
            "3:0.415458,1:0.533879,2:0.562567",
        ),
        (
            "logged",
            "--cb 4",
            "--cb_explore 4 --epsilon 0.2",
            "0:0.85,2:0.05,3:0.05,1:0.05 0:0.85,2:0.05,3:0.05,1:0.05 0:0.85,2:0.05,3:0.05,1:0.05 "
            "0:0.85,3:0.05,2:0.05,1:0.05",
        ),
        (
            "actions",
            "--cb_explore_adf --epsilon 0.2",
            "--softmax",
            "0:0.5,1:0.5 2:0.360436,1:0.348242,0:0.291322 0:0.336696,1:0.336696,2:0.326608 "
            "1:0.355684,2:0.330752,0:0.313564",
        ),
        (
            "actions",
            "--cb_explore_adf --squarecb",
            "--gamma_scale 100",
            "0:0.5,1:0.5 1:0.701547,2:0.291505,0:0.006949 0:0.581706,1:0.333333,2:0.08496 "
            "1:0.960934,2:0.023814,0:0.015251",
        ),
        ("class", "--oaa 4", "--link logistic", "4 2 3 3"),
        ("class", "--oaa 4", "--initial_weight 0.3", "4 2 3 3"),
        ("number", "--ftrl", "--ftrl_beta 3", "0.974838 2.211132 0.930290 0.814303"),
        ("number", "--nn 2", "-t --link logistic", "0.768874 0.797494 0.784341 0.775711"),
        ("number", "", "--ngram 2", "0.888428 1.803629 1.126201 1.003571"),
        ("number", "", "--initial_t 50", "0.888428 1.713390 1.113145 1.003360"),
        ("number", "", "--sparse_l2 0.1", "0.888428 1.700183 1.077399 0.945006"),
        ("number", "--ignore u", "--ignore i", "0.371709 0.468983 0.446305 0.485456"),
    ],
)
def test_layers_and_settings_beside_a_model_are_vw_s(kind, made, more, of_vw, tmp_path, monkeypatch):
    """Predictions that Vowpal Wabbit 9.11.9 wrote for a model of its own."""
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(DATA[kind](5, 30, 1))
    Path("test").write_text(DATA[kind](9, 4, 2))
    run(["-d", "train", "-b", "10", *made.split(), "-f", "model", "--quiet"])
    run(["-d", "test", "-i", "model", *more.split(), "-p", "p", "--quiet"])
    assert Path("p").read_text().split() == of_vw.split()


@pytest.mark.parametrize(
    ("kind", "made", "more", "text"),
    [
        (
            "class",
            "--oaa 4",
            "-C 0.5",
            "--constant: has no effect on this model, whose chain is one_against_all, linear",
        ),
        ("number", "", "-C 0.5", "--constant: has no effect on this model, which has all weights already"),
        ("number", "", "--permutations", "--permutations: has no effect on this model, whose chain is linear"),
        ("number", "--ftrl", "-l 3", "--learning_rate: has no effect on this model, whose chain is ftrl_proximal"),
        (
            "number",
            "--max_prediction 0.6",
            "--max_prediction 0.2",
            "--max_prediction: got 0.2, but predictions stay in the model's range, which ends at 0.6, as in VW",
        ),
    ],
)
def test_an_option_without_effect_is_said_to_have_none(kind, made, more, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(DATA[kind](5, 30, 1))
    run(["-d", "train", "-b", "10", *made.split(), "-f", "model", "--quiet"])
    with pytest.warns(UserWarning) as told:
        run(["-d", "train", "-i", "model", *more.split(), "-p", "p", "--quiet"])
    assert [str(each.message) for each in told] == [text]


@pytest.mark.parametrize(
    ("kind", "made", "more", "text"),
    [
        ("number", "", "--ftrl", "--ftrl: the model was learned by linear, got ftrl_proximal"),
        ("number", "", "--coin", "--coin: the model was learned by linear, got coin_betting"),
        ("number", "", "--rank 2 -q ui", "--rank: the model was learned by linear, got matrix_factorization"),
        ("actions", "--cb_adf", "--cb_type ips", "contextual_bandit: got type ips, but the model has mtr"),
        ("actions", "--cb_adf", "--cb_explore_adf --bag 2", "got 2 sub-models of explore_bag, but the model has 1"),
        ("binary", "--link logistic", "--link identity", "learned with link, which the options leave out"),
        ("class", "--oaa 4 --named_labels a,b,c,d", "--named_labels a,b,c,e", "got a,b,c,e, but the model has a,b,c,d"),
        ("class", "--oaa 4", "--ect 4", "got --oaa and --ect, wanted one of them; the model has --oaa 4"),
    ],
)
def test_an_option_that_contradicts_the_model_is_refused(kind, made, more, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(DATA[kind](5, 30, 1))
    run(["-d", "train", "-b", "10", *made.split(), "-f", "model", "--quiet"])
    with pytest.raises(HutchError, match=re.escape(text)):
        run(["-d", "train", "-i", "model", *more.split(), "-p", "p", "--quiet"])


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("--binary", "binary: VW has no such chain as the model's"),
        ("--ftrl", "--ftrl: the model was learned by dyadic, got ftrl_proximal"),
        ("--l1 0.1", "--l1: the model was learned by dyadic, which does not have it"),
        ("-q ui", "--quadratic: it names namespaces by letter, but the model has their full names"),
    ],
)
def test_a_chain_that_vw_lacks_takes_options_of_its_learner_alone(more, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(DATA["number"](5, 30, 1))
    chain = Chain.from_config({"chain": [{"dyadic": {"left": "u", "right": "i"}}]})
    chain.learn(Path("train"))
    chain.save("model")
    words = ["-d", "train", "-i", "model", "--quiet", "-p", "p"]
    run([*words, "-f", "as_it_is"])
    run([*words, "-f", "slower", "-l", "0.01"])
    assert Chain.load("slower").weights.tobytes() != Chain.load("as_it_is").weights.tobytes()
    with pytest.raises(HutchError, match=re.escape(text)):
        run([*words, *more.split()])
