"""Predictions that Vowpal Wabbit 9.11.9 has written for options, and losses computed by hand."""

import re
from pathlib import Path

import pytest

from hutch.core.errors import DataError
from hutch.vw import Workspace
from hutch.vw.main import run

COSTS = """det:0.1 noun:0.9 verb:1 |x a b
verb:0 det:1 |x b c
 |x a
noun:0.2 det:0.7 verb:0.3 'tag|x c d
noun:1 verb:0.5 tag|x a d
 |x b
 |x d
"""
NAMES = "det |x a b\nverb |x b c\n |x a\nnoun 'tag|x c d\nverb |x a d\n |x b\n |x d\n"
CLASSES = "1 |x a\n2 |x b\n3 |x c\n" * 4
LOGGED = "1:1:0.5 |x a\n2:0:0.4 |x b\n|x a\n|x b\n3:-1:0.2 |x c\n|x c\n|x a\n"
NUMBERS = "1 |x a:2 b\n0 |x b c:0.5\n0.5 |x a c\n"
DRAWN = """0:0.333333,1:0.333333,2:0.333333

1:0.4,2:0.4,0:0.2

1:0.4,2:0.4,0:0.2

1:0.4,2:0.4,0:0.2

2:0.4,1:0.4,0:0.2

2:0.6,1:0.2,0:0.2

1:0.2,2:0.6,0:0.2

"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def predicted(data, options):
    Path("data").write_text(data)
    assert run(["-d", "data", *options.split(), "-p", "predictions", "--quiet"]) == 0
    return Path("predictions").read_text()


@pytest.mark.parametrize(
    ("data", "options", "of_vw"),
    [
        (COSTS, "--csoaa 3 --named_labels det,noun,verb", "det det det verb_tag noun_tag verb verb"),
        (NAMES, "--ect 3 --named_labels det,noun,verb", "det det det verb_tag det det noun"),
        (CLASSES, "--cbify 3 --cb_sample --epsilon 0.6", "2 2 1 3 1 2 3 3 3 1 2 1"),
        (NUMBERS, "--random_weights -b 8 --random_seed 3", "0 0.829384 0"),
        (NUMBERS, "--normal_weights -b 8 --random_seed 3", "1 0 0.199619"),
        (NUMBERS, "--truncated_normal_weights -b 8", "1 0 0.199619"),
    ],
)
def test_lines_of_vw(data, options, of_vw):
    assert predicted(data, options).replace(" ", "_").split() == of_vw.split()


def test_actions_drawn_by_vw():
    assert predicted(LOGGED, "--cb_explore 3 --cb_sample --epsilon 0.6") == DRAWN


def test_costs_of_named_classes():
    Path("data").write_text(COSTS)
    assert run(["-d", "data", "--csoaa", "3", "--named_labels", "det,noun,verb", "-r", "raw", "--quiet"]) == 0
    assert Path("raw").read_text().splitlines()[3] == "2:0.18539 1:0.409021 3:-0.0278417 tag"


def test_classes_without_costs_are_unknown(capfd):
    Path("data").write_text("1:0 2:1 3:1 |x a b\n1 2 3 |x a c\n1:1 2 3:0 |x b\n |x a\n")
    assert run(["-d", "data", "--csoaa", "3", "-P", "1"]) == 0
    rows = re.findall(r"^\d\.\d+ .*$", capfd.readouterr().err, re.M)
    assert [row.split()[4] for row in rows] == ["known", "unknown", "known", "unknown"]


def test_names_that_are_not_there(capsys):
    predicted("det:1 dett:0 |x a\n", "--csoaa 3 --named_labels det,noun,verb")
    assert "data:1:7: unknown class: the label counts as not given, got 'dett'" in capsys.readouterr().err
    with pytest.raises(DataError, match="data:1:7: unknown class"):
        predicted("det:1 dett:0 |x a\n", "--csoaa 3 --named_labels det,noun,verb --strict_parse")


def test_costs_of_named_classes_from_python():
    with Workspace("--quiet --csoaa 3 --named_labels det,noun,verb") as named, Workspace("--quiet --csoaa 3") as plain:
        named.learn("noun:-2 det:1 |x a")
        plain.learn("2:-2 1:1 |x a")
        assert named.predict("|x a") == plain.predict("|x a") == 2


PAIRS = "1 |i a b |u c\n0 |i a d |u c e\n1 |i b |u e\n0.5 |i a |u c\n"


@pytest.mark.parametrize(
    ("options", "of_vw"),
    [
        ("-q ii -q ::", "0 0.524197 0.211961 0.447653"),
        ("-q i: -q :i", "0 0.493295 0.255805 0.427156"),
        ("-q u: -q u:", "0 0.724712 0 0.547261"),
        ("-q ui -q ::", "0 0.548536 0.111352 0.471914"),
    ],
)
def test_duplicate_interactions_of_wildcards_stay_if_they_are_to(options, of_vw):
    assert predicted(PAIRS, f"{options} --leave_duplicate_interactions").split() == of_vw.split()


ACTIONS = "|f a\n0:1:0.5 |f b\n\n0:0:0.5 |f a c\n|f b\n\n|f c\n0:0.5:0.25 |f b\n\n|f a\n|f b\n\n"
CHOICES = "1:1:0.5 |f a\n2:0:0.5 |f b\n1:0:0.25 |f a c\n |f b\n"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (NUMBERS, "--bootstrap 3"),
        (NUMBERS, "--nn 2"),
        (CLASSES, "--oaa 3"),
        (CLASSES, "--ect 3"),
        (COSTS.replace("det", "1").replace("noun", "2").replace("verb", "3"), "--csoaa 3"),
        (CHOICES, "--cb_explore 2 --bag 2"),
        (CHOICES, "--cb 2 --cb_type dr"),
        (ACTIONS, "--cb_adf --cb_type dr"),
        (ACTIONS, "--cb_explore_adf --bag 3"),
        (ACTIONS, "--cb_explore_adf --cover 3"),
    ],
)
def test_an_initial_constant_has_no_effect_above_several_sub_models(data, options):
    assert predicted(data, f"{options} -C 0.5") == predicted(data, options)


@pytest.mark.parametrize(
    ("data", "options", "of_vw"),
    [
        (NUMBERS, "--bootstrap 1", "0.500000 0.500000 0.500000 0.500000 0.500000 0.500000 0.500000 0.500000 0.500000"),
        (
            ACTIONS,
            "--cb_adf --rank_all",
            "0:0.5,1:0.5 0:0.689221,1:0.878442 0:0.367635,1:0.734583 0:0.289413,1:0.537235",
        ),
    ],
)
def test_an_initial_constant_has_an_effect_above_one_model(data, options, of_vw):
    assert predicted(data, f"{options} -C 0.5").split() == of_vw.split()


def _log(decisions):
    """Each a letter, the action chosen, its cost and its probability."""
    lines = []
    for letter, chosen, cost, probability in decisions:
        label = f"0:{cost}:{probability} "
        lines += [f"shared |u {letter}", *(f"{label if k == chosen else ''}|x {'pq'[k]}" for k in (0, 1)), ""]
    return "\n".join(lines) + "\n"


def test_a_model_that_is_only_tested_is_judged_by_propensities(capfd):
    tested = [("a", 0, -1.0, 0.25), ("b", 1, -0.5, 0.4), ("b", 0, 0.3, 0.6)]
    Path("train").write_text(_log([("a", 0, 1.0, 0.5), ("b", 1, -0.8, 0.25), ("a", 0, 0.4, 0.5)]))
    Path("test").write_text(_log(tested))
    learner = ["--cb_adf", "--cb_type", "dr", "--noconstant"]
    assert run(["-d", "train", *learner, "-f", "model", "--quiet"]) == 0
    capfd.readouterr()
    assert run(["-d", "test", "-t", "-i", "model", "-p", "best"]) == 0
    best = map(int, Path("best").read_text().split())
    costs = [cost / p for (_, chosen, cost, p), action in zip(tested, best, strict=True) if action == chosen]
    printed = "".join(capfd.readouterr())
    assert sum(costs) / len(tested) == pytest.approx(-0.416667, abs=1e-6)
    assert re.search(r"average loss = (\S+)", printed)[1] == "-0.416667"  # as VW prints it
