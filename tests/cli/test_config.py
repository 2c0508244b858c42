import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hutch.core.config.read import load_chain
from hutch.plugins.manager import installed

Run = Callable[..., Any]
CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_chains_are_sound(hutch: Run, path: Path) -> None:
    result = hutch("config", "check", path)
    assert result.code == 0 and result.out.startswith(f"{path}: valid: ")


def test_there_are_shipped_chains() -> None:
    assert {"linear", "ethnicity", "sentiment"} <= {path.stem for path in CONFIGS}


def test_a_sound_chain_says_what_it_is(hutch: Run, tmp_path: Path) -> None:
    path = tmp_path / "chain.yaml"
    path.write_text("chain:\n- linear: {loss: hinge}\n")
    assert hutch("config", "check", path).out == f"{path}: valid: linear, takes simple labels, predicts a scalar\n"
    wanted = {"valid": True, "chain": ["linear"], "takes": "simple", "predicts": "scalar"}
    assert json.loads(hutch("config", "check", path, "--json").out) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chain:\n- linear: {los: hinge}\n", "2:12: chain[0].linear.los: unknown key; did you mean 'loss'?"),
        ("chain:\n- linear\n- linear\n", "2:3: chain[0].linear: a base learner comes last, got 'linear' below it"),
        ("chain:\n- active\n", "2:3: chain[0].active: got nothing below it, wanted a base learner such as 'linear'"),
        (
            "chain:\n- filter_tree: {classes: 3}\n- filter_tree: {classes: 2}\n- linear\n",
            "2:3: chain[0].filter_tree needs a layer below it that takes labels 'simple' and predicts 'scalar', "
            "but chain[1].filter_tree takes labels 'multiclass' and predicts 'class'",
        ),
    ],
)
def test_an_unsound_chain_is_placed(hutch: Run, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "chain.yaml"
    path.write_text(text)
    result = hutch("config", "check", path)
    assert (result.code, result.out, result.err) == (2, "", f"{path}:{message}\n")


def test_what_is_shown_can_be_used_again(hutch: Run, tmp_path: Path) -> None:
    path = tmp_path / "chain.yaml"
    path.write_text("weights: {bits: 20}\nchain:\n- linear: {loss: hinge}\n")
    shown = hutch("config", "show", path, "--set", "linear.l2=1e-6").out
    assert "learning_rate: 0.5" in shown and "l2: 1.0e-06" in shown
    registry = installed().registry
    assert load_chain(shown, registry) == load_chain(path, registry, ["linear.l2=1e-6"])
    assert load_chain(json.loads(hutch("config", "show", path, "--json").out), registry) == load_chain(path, registry)
    assert hutch("config", "show", path, "--short").out == path.read_text()


def test_a_model_shows_its_chain(hutch: Run, tmp_path: Path) -> None:
    (tmp_path / "data.vw").write_text("1 |f a\n")
    hutch("train", tmp_path / "data.vw", "-b", "10", "-f", tmp_path / "model", "--quiet")
    assert "weights: {bits: 10}" in hutch("config", "show", tmp_path / "model").out


def test_the_schema_is_written_or_printed(hutch: Run, tmp_path: Path) -> None:
    printed = hutch("config", "schema").out
    assert "linear" in json.dumps(json.loads(printed)["properties"]["chain"])
    assert hutch("config", "schema", tmp_path / "schema.json").code == 0
    assert (tmp_path / "schema.json").read_text() == printed
