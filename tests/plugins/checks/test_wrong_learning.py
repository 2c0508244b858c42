"""Learners and explorers that learn or decide wrongly, made of the templates of `hutch plugins new`: each is found."""

import importlib.util
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hutch.plugins.checks import checks_of_reduction
from hutch.plugins.manager import Plugins

REGISTRY = Plugins(only=()).registry
PRICES = """
@helper
def square_of(example):
    e, square = example_of(example), 0.0
    values = float32s_at(e.values, e.length)
    for i in range(e.length):
        square += np.float64(values[i]) * values[i]
    return square


@kernel
def importance_to(layer, example, label, target, offset):
    prediction = predicted(example, UNLABELED, np.float32(0), offset)
    square, way = square_of(example), np.float64(target - prediction) * label
    if way <= 0.0 or square == 0.0 or label * target > 1.0:
        return np.float32(np.inf)
    return np.float32(way / (square * own_of(layer).longest))


@kernel
def sensitivity(layer, example, label, importance, offset):
    prediction = predicted(example, UNLABELED, np.float32(0), offset)
    return np.float32(own_of(layer).longest * square_of(example) if label * prediction < 1.0 else 0.0)


class Mine("""
LEARNER = "base_learner"
STEP = "np.float32(step * values[i])"
WRONG = {
    "away from the label": (LEARNER, STEP, f"-{STEP}", "lowers_loss", "mean loss of examples that were learned: got "),
    "predicts after learning": (
        *(LEARNER, "    return prediction\n", "    return predicted(example, label, importance, offset)\n"),
        *("learns_after_predicting", "predictions while learning: got "),
    ),
    "no offset": (
        *(LEARNER, "score = np.float64(e.base)", "score = 0.0", "offsets_added"),
        "raw score with offsets of 0.125 and -0.125: got the same, wanted another: add e.base",
    ),
    "h_min ten times too large": (
        *(LEARNER, "np.float32(way / (", "np.float32(10.0 * way / (", "h_min_spent"),
        "share of the way that h_min goes: got 10, wanted about 1: it must reach the target",
    ),
    "h_min of one number": (
        *(LEARNER, "np.float32(way / (square * own_of(layer).longest))", "np.float32(100)", "h_min_spent"),
        "share of the way that h_min goes: got ",
    ),
    "sensitivity of the wrong sign": (
        *(LEARNER, "np.float32(own_of(layer).longest * square", "np.float32(-own_of(layer).longest * square"),
        *("sensitive", "sensitivity: got -"),
    ),
    "probabilities that sum to 2": (
        *("explorer", "np.float32(1) / np.float32(count)", "np.float32(2) / np.float32(count)", "probabilities"),
        "sum of the probabilities of a decision while predicting: got 2.0, wanted 1",
    ),
    "negative probabilities": (
        *("explorer", "else np.float32(0)", "else np.float32(-0.25)", "probabilities"),
        "probabilities while predicting: got [",
    ),
    "worst first": (
        *("explorer", "np.float32(1) / np.float32(count) if k < count else np.float32(0)", "np.float32(k / 3)"),
        *("probabilities", "ranked probabilities while predicting: got [0.         0.33333334 0.66666669], wanted"),
    ),
    "peeks": (
        *("explorer", "if k < count else", "if (k < count) == (decision_of(example).chosen < 0) else"),
        *("blind_to_the_log", "probability of an action with a label: got "),
    ),
}


def layer_of(folder: Path, template: str, old: str = "", new: str = "") -> Any:
    text = (files("hutch.plugins") / "templates" / f"{template}.py.txt").read_text().replace("class Mine(", PRICES, 1)
    if template == LEARNER:
        text = text.replace("Kernels(learn, predict)", "Kernels(learn, predict, importance_to, sensitivity)")
    else:
        text = text.replace(PRICES, "class Mine(")
    assert old in text
    (folder / "mine.py").write_text(text.replace(old, new))
    spec = importlib.util.spec_from_file_location("mine", folder / "mine.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Mine


@pytest.mark.parametrize("name", WRONG)
def test_wrong_layers_are_found(tmp_path: Path, name: str) -> None:
    template, old, new, check, wanted = WRONG[name]
    layer = layer_of(tmp_path, template, old, new)
    [found] = [each for each in checks_of_reduction(layer, registry=REGISTRY) if each.name == check]
    assert (found.failure() or "").startswith(wanted)


@pytest.mark.parametrize("template", [LEARNER, "explorer"])
def test_the_right_ones_pass(tmp_path: Path, template: str) -> None:
    layer = layer_of(tmp_path, template)
    assert {str(each): why for each in checks_of_reduction(layer, registry=REGISTRY) if (why := each.failure())} == {}
