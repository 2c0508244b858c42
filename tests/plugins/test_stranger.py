"""A stranger's package of one module adds a command, an option of VW, a crowd model and a learner, like Hutch's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = '''
"""A command, an explorer with an option of VW, a crowd model and a learner."""

from typing import Annotated

import numpy as np
from numpy import uint64

from hutch.plugin import (
    EXPLORING, UNLABELED, Explorer, Kernels, Labels, Parameters, Predictions, Record, Reduction, VwLayer, Within,
    conclude, decision_of, example_of, float32s_at, helper, hookimpl, kernel, new_flag, predict_and_teach,
    predict_next, shared_of, state_of, uint32s_at, values_of,
)


class Greedy(Explorer):
    """The best action, always."""

    name = "explore_greedy"
    dtype = np.dtype([("unused", "u8")])

    @property
    def kernels(self):
        return Kernels(predict_and_teach, predict_greedy)


@kernel
def predict_greedy(layer, example, label, importance, offset):
    """All on the first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    values = values_of(decision_of(example))
    for k in range(len(values)):
        values[k] = np.float32(1) if k == 0 else np.float32(0)
    return conclude(example, importance)


class PassiveParameters(Parameters):
    """Parameters of `passive`.

    Attributes:
        longest: the longest step for an example of importance 1.
    """

    longest: Annotated[float, Within(gt=0)] = 0.1


STATE = np.dtype([("longest", "f8")])
passive_of = state_of(STATE)


@helper
def row_of(shared, index, offset):
    """Where the weight of a feature is."""
    return ((uint64(index) * shared.multiplier + offset) & shared.mask) * shared.stride


@helper
def predicted(example, label, importance, offset):
    """Predict, and say the score and the hinge loss."""
    e = example_of(example)
    shared = shared_of(e.shared)
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    score = np.float64(e.base)
    for i in range(e.length):
        score += np.float64(weights[row_of(shared, indices[i], offset)]) * values[i]
    e.raw = np.float32(score)
    e.loss = importance * max(0.0, 1.0 - label * score) if label != UNLABELED else 0.0
    return e.raw


@kernel
def predict(layer, example, label, importance, offset):
    """Predict."""
    return predicted(example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """The smallest step to a margin of 1, or the longest."""
    longest, e = passive_of(layer).longest, example_of(example)
    prediction = predicted(example, label, importance, offset)
    shared = shared_of(e.shared)
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    indices, values, square = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length), 0.0
    for i in range(e.length):
        square += np.float64(values[i]) * values[i]
    loss = max(0.0, 1.0 - np.float64(label) * prediction)
    if loss > 0.0 and square > 0.0:
        step = min(longest * importance, loss / square) * label
        for i in range(e.length):
            weights[row_of(shared, indices[i], offset)] += np.float32(step * values[i])
    return prediction


class Passive(Reduction):
    """The smallest step that gives an example a margin of 1."""

    name = "passive"
    Parameters = PassiveParameters
    takes, predicts, is_base = Labels.SIMPLE, Predictions.SCALAR, True
    kernels = Kernels(learn, predict)

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, longest=parameters.longest)


def hello(name: str = "you") -> None:
    """Greet somebody.

    Example: hutch hello --name Ada
    """
    print(f"hello, {name}")


@hookimpl
def hutch_register_commands(register):
    register("hello", "hutch_stranger:hello", help="Greet somebody.")


@hookimpl
def hutch_register_vw_layers(register):
    register("explore_greedy", VwLayer(learner="greedy", explores=True, options=(
        new_flag("greedy", "Never explore.", needs=EXPLORING),)))


@hookimpl
def hutch_register_reductions(register):
    register(Greedy)
    register("hutch_stranger:Passive", name="passive")


@hookimpl
def hutch_register_crowd_models(register):
    register("hutch_voters:Coin", name="coin")
'''
VOTERS = """
from hutch.crowd.models.one_coin import OneCoin


class Coin(OneCoin):
    name = "coin"
    summary = "a stranger's coin"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _install(tmp_path, "hutch_stranger", PACKAGE)
    (tmp_path / "hutch_voters.py").write_text(VOTERS)
    return tmp_path


def _install(folder: Path, name: str, source: str) -> None:
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[hutch]\n{name} = {name}\n")


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", "from hutch.cli.main import main; main()", *words]
    return subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)


def _out(folder: Path, *words: str) -> str:
    done = _run(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_command_is_listed_runs_and_explains_itself(folder: Path) -> None:
    assert "  hello           Greet somebody.\n" in _out(folder, "--help")
    assert _out(folder, "hello", "--name", "Ada") == "hello, Ada\n"
    assert "Usage: hutch hello [OPTIONS]" in _out(folder, "hello", "--help")
    assert "did you mean 'hello'?" in _run(folder, "helo").stderr


@pytest.mark.slow
def test_its_option_of_vw_builds_its_layer(folder: Path) -> None:
    (folder / "data.vw").write_text("1:0.5:0.5 | a\n| b\n\n")
    run = _run(folder, "vw", "--cb_explore_adf", "--greedy", "-d", "data.vw", "-p", "out.txt", "-f", "model")
    assert run.returncode == 0 and "greedy" in run.stderr.partition("Enabled learners")[2], run.stderr
    assert sorted((folder / "out.txt").read_text().split()) == ["0:1,1:0"]
    assert "explore_greedy" in _out(folder, "inspect", "model", "--json")
    assert "--greedy" in _out(folder, "vw", "--help")
    wrong = _run(folder, "vw", "--greeedy", "-d", "data.vw")
    assert wrong.returncode == 2 and "did you mean '--greedy'" in wrong.stderr


@pytest.mark.parametrize("option", ["oaa", "epsilon", "quiet"])
def test_an_option_that_is_taken_leaves_its_layer_out(option: str, folder: Path) -> None:
    source = PACKAGE.replace('new_flag("greedy"', f'new_flag("{option}"')
    (folder / "hutch_stranger.py").write_text(source)
    (folder / "data.vw").write_text("1 | a\n")
    done = _run(folder, "vw", "-d", "data.vw", "--quiet")
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1
    assert f"the layer 'explore_greedy' has the option --{option}, which " in done.stderr


@pytest.mark.slow
def test_its_crowd_model_and_learner_do_what_ours_do(folder: Path) -> None:
    (folder / "votes.tsv").write_text("ann\tt1\tx\nbob\tt1\tx\ncy\tt1\ty\nann\tt2\ty\nbob\tt2\ty\n")
    ours, theirs = (_out(folder, "crowd", "votes.tsv", "--model", each, "-p", "-") for each in ("one_coin", "coin"))
    assert ours == theirs
    (folder / "data.vw").write_text("1 | a\n-1 | b\n" * 20)
    (folder / "chain.yaml").write_text("chain: [passive]\n")
    _out(folder, "train", "data.vw", "-C", "chain.yaml", "-f", "model", "--quiet")
    found = [float(each) for each in _out(folder, "predict", "data.vw", "-i", "model", "-p", "-", "--quiet").split()]
    assert found[0] > 0.9 and found[1] < -0.9


@pytest.mark.slow
def test_it_is_listed_and_checked_like_ours(folder: Path) -> None:
    listed = json.loads(_out(folder, "plugins", "list", "--json"))
    [own] = [plugin for plugin in listed["plugins"] if plugin["name"] == "hutch_stranger"]
    assert own["registered"] == {
        "commands": ["hello"],
        "crowd_models": ["coin"],
        "reductions": ["explore_greedy", "passive"],
        "vw_layers": ["explore_greedy"],
    }
    done = _run(folder, "plugins", "check", "hutch_stranger")
    assert done.returncode == 0, done.stdout
    checked = {line.split()[1].partition(":")[0] for line in done.stdout.splitlines()[:-1]}
    assert checked == {"coin", "explore_greedy", "hello", "hutch_stranger", "passive"}


TAKEN = {
    "crowd": ("crowd_models", "hutch.plugin:CrowdModel", "two_level", "crowd model 'two_level' is already registered"),
    "command": ("commands", "x:y", "crowd", "command 'crowd' is already registered by hutch.crowd"),
    "layer": ("reductions", "x:y", "linear", "reduction 'linear' is already registered by hutch.reductions"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_name_that_is_taken_is_refused(case: str, tmp_path: Path) -> None:
    kind, place, name, said = TAKEN[case]
    call = f'"{name}", "{place}", help="mine"' if kind == "commands" else f'"{place}", name="{name}"'
    _install(
        tmp_path,
        "thief",
        f"import hutch\n@hutch.hookimpl\ndef hutch_register_{kind}(register):\n    register({call})\n",
    )
    done = _run(tmp_path, "plugins", "list")
    assert done.returncode == 0 and f"plugin 'thief' (thief 0.1) failed in hutch_register_{kind}" in done.stderr
    assert said in done.stderr


def test_the_door_of_a_crowd_model_is_one(tmp_path: Path) -> None:
    """A plugin cannot take the place of a built-in model, neither in the command nor in Python."""
    source = (
        "from hutch.plugin import registering\nfrom hutch.crowd.models.one_coin import OneCoin\n\n\n"
        "class Twin(OneCoin):\n    name = 'two_level'\n\n    def posterior(self, state):\n        print('STRANGER')\n"
        "        return super().posterior(state)\n\n\nhutch_register_crowd_models = registering(Twin)\n"
    )
    _install(tmp_path, "hutch_twin", source)
    (tmp_path / "votes.tsv").write_text("ann\tt1\tx\nbob\tt1\tx\ncy\tt1\ty\n")
    for words in (("crowd", "votes.tsv", "-p", "-"), ("crowd", "votes.tsv", "--model", "two_level", "-p", "-")):
        assert "STRANGER" not in _out(tmp_path, *words)
    code = (
        "from hutch.crowd_aggregator import CrowdAggregator\n"
        "CrowdAggregator(model='two_level').fit([('a', 't', 'x'), ('b', 't', 'x')])\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout == ""
    assert "crowd model 'two_level' is already registered by hutch.crowd" in done.stderr
