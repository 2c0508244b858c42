"""The lines above the progress table, its cells, and the options in a readable model, as Vowpal Wabbit prints them."""

from pathlib import Path

import pytest

from hutch.vw.main import run

PAIRS = "1 |u a b |i c\n-1 |u b |i d\n1 |u a |i c\n"
ACTIONS = "ccb action |i a\nccb action |i b\n"
SLOTS = f"ccb shared |u a\n{ACTIONS}ccb slot 0:0.5:0.5 |s a\nccb slot 1:0:0.5 |s b\n\n" * 3
SLATES = (
    "slates shared {cost} |u a\nslates action 0 |i a\nslates action 0 |i b\n"
    "slates action 1 |i a\nslates action 1 |i c\n"
    "slates slot {first}:0.5 |s a\nslates slot 1:0.5 |s b\n\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs").write_text(PAIRS)
    Path("slots").write_text(SLOTS)
    Path("slates").write_text(SLATES.format(cost=1, first=0) + SLATES.format(cost=0, first=1))


def printed(capsys, *options):
    capsys.readouterr()
    run([*options])
    return capsys.readouterr().err.splitlines()


def test_the_products_of_a_model_come_first(capsys):
    run(["-d", "pairs", "-q", "ui", "-f", "model", "--quiet"])
    lines = printed(capsys, "-d", "pairs", "-t", "-i", "model", "-p", "p")
    assert lines[:3] == ["creating quadratic features for pairs: ui", "only testing", "predictions = p"]
    lines = printed(capsys, "-d", "pairs", "-t", "-i", "model", "-q", "ui", "--ignore", "u")
    assert lines[:3] == [
        "creating quadratic features for pairs: ui",
        "ignoring namespaces beginning with: u",
        "only testing",
    ]


def test_products_with_the_slot_are_not_shown(capsys):
    run(["-d", "slots", "--ccb_explore_adf", "-q", "ui", "-f", "model", "--quiet"])
    lines = printed(capsys, "-d", "slots", "-t", "-i", "model")
    assert [line for line in lines if line.startswith("creating")] == ["creating quadratic features for pairs: ui"]


def test_the_label_of_a_slate_is_its_actions(capsys):
    lines = printed(capsys, "-d", "slates", "--slates", "-P", "1")
    start = next(i for i, line in enumerate(lines) if line.startswith("loss     last"))
    assert [line.split()[4] for line in lines[start + 1 : start + 3]] == ["0,1", "1,1"]


@pytest.mark.parametrize(
    ("options", "kind"),
    [("", "dr"), ("--cb_type ips", "ips"), ("--cb_type mtr", "mtr")],  # VW learns mtr as dr, and says the former
)
def test_the_estimate_of_a_bandit_with_weights_per_class_is_shown(capsys, options, kind):
    Path("logged").write_text("1:1:0.5 |f a\n")
    lines = printed(capsys, "-d", "logged", "--cb", "2", "--cb_force_legacy", *options.split())
    assert f"cb_type = {kind}" in lines


@pytest.mark.parametrize(
    ("made", "options"),
    [
        ("-q ui --link logistic", " --link logistic --quadratic ui"),
        ("--cubic uui --noconstant", " --cubic uui --noconstant"),
        ("", ""),
    ],
)
def test_a_readable_model_has_the_options_of_the_model_continued(made, options):
    run(["-d", "pairs", *made.split(), "-f", "model", "--readable_model", "first", "--quiet"])
    run(["-d", "pairs", "-i", "model", "--readable_model", "again", "--quiet"])
    for name in ("first", "again"):
        assert f"options:{options}" in Path(name).read_text().splitlines()
