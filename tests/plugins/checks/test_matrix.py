"""The compositions of a layer: those that fit, whether they learn, and whether they resume."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hutch.core.chain.registry import Registry
from hutch.plugin import (
    Kernels,
    Labels,
    Parameters,
    Predictions,
    Record,
    Reduction,
    kernel,
    learn_next,
    predict_next,
    state_of,
)
from hutch.plugins.checks.matrix import compositions
from hutch.plugins.manager import installed

STATE = np.dtype([("seen", "u8")])
own_of = state_of(STATE)


@kernel
def predict_below(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def learn_every_other(layer, example, label, importance, offset):
    state = own_of(layer)
    state.seen += np.uint64(1)
    if state.seen % np.uint64(7) < np.uint64(4):
        return learn_next(layer, example, label, importance, offset)
    return predict_next(layer, example, label, importance, offset)


class Forgets(Reduction):
    """Counts examples in a state that models do not keep."""

    name: ClassVar[str] = "forgets"
    Parameters: ClassVar[type[Parameters]] = Parameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn_every_other, predict_below)

    def __init__(self, parameters: Any, context: Any) -> None:
        super().__init__(parameters, context)
        self.state = Record(STATE)


class Deaf(Forgets):
    """Learns nothing."""

    name: ClassVar[str] = "deaf"
    kernels = Kernels(predict_below, predict_below)


def few(layer: type[Reduction], *names: str) -> Registry:
    known = installed().registry
    return Registry({name: known.reductions[name] for name in ("linear", *names)} | {layer.name: layer}, known.losses)


def test_a_layer_is_tried_under_and_over_others() -> None:
    known = installed().registry
    bootstrap = known.reductions["bootstrap"]
    found = {each.chain: each for each in compositions(bootstrap, few(bootstrap, "one_against_all", "binary"))}
    assert {"bootstrap over linear (squared)", "bootstrap over linear (logistic)"} <= found.keys()
    assert "one_against_all over bootstrap over linear (squared)" in found
    assert "bootstrap over binary over linear (squared)" in found
    assert not [each for each in found.values() if each.problem]
    assert all(each.loss < each.chance for each in found.values())


def test_classes_above_a_loss_of_counts_do_not_fit() -> None:
    layer = installed().registry.reductions["one_against_all"]
    chains = [each.chain for each in compositions(layer, few(layer))]
    assert "one_against_all over linear (logistic)" in chains and not [each for each in chains if "poisson" in each]


def test_what_is_not_kept_and_what_does_not_learn_is_named() -> None:
    problems = {each.problem for each in compositions(Forgets, few(Forgets))}
    assert problems == {"a saved half and the rest are not the whole: weights differs"}
    assert {each.problem for each in compositions(Deaf, few(Deaf))} == {"learns no more than chance"}


@pytest.mark.slow
def test_the_command_prints_a_table(tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("hutch"), "plugins", "check", "link", "--matrix"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    first, *rows, last = done.stdout.splitlines()
    assert (
        first == "loss    chance  chain"
        and last == f"{len(rows)} of {len(rows)} chains learn more than chance and resume"
    )
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, cwd=tmp_path, check=True)
    found = json.loads(done.stdout)
    assert found["bad"] == 0 and found["good"] == len(rows) == len(found["compositions"])
    refused = subprocess.run([*command[:3], "hinge", "--matrix"], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2 and "--matrix: got 'hinge', wanted a layer" in refused.stderr
