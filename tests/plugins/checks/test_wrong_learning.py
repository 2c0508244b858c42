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
@kernel
def importance_to(layer, example, label, target, offset):
    x = features_at(example, offset)
    norm, way = squared_norm(x), (target - dot(x)) * label
    if way <= 0.0 or norm == 0.0 or label * target > 1.0:
        return math.inf
    return way / (norm * state(layer, offset).longest)


@kernel
def sensitivity(layer, example, label, importance, offset):
    x = features_at(example, offset)
    return state(layer, offset).longest * squared_norm(x) if label * dot(x) < 1.0 else 0.0


class Mine("""
LEARNER, EXPLORER = "base_learner", "explorer"
CLASS = "class Mine(Explorer):"
SILENT = f"""
from hutch.plugin import example_of, teach_next


@kernel
def predict_and_teach(layer, example, label, importance, offset):
    predict(layer, example, label, importance, offset)
    teach_next(layer, example, importance, offset)
    example_of(example).loss = 0.0
    return 0.0


{CLASS}"""
WRONG = {
    "away from the label": (
        *(LEARNER, "add(x, label * min", "add(x, -label * min"),
        *("lowers_loss", "mean loss of examples that were learned: got "),
    ),
    "predicts after learning": (
        *(LEARNER, "    return p\n", "    return dot(x)\n"),
        *("learns_after_predicting", "predictions while learning: got "),
    ),
    "no offset": (
        *(
            LEARNER,
            "return dot(features_at(example, offset))",
            "x = features_at(example, offset)\n    return dot(x) - x.base",
        ),
        *("offsets_added", "raw score with offsets of 0.125 and -0.125: got the same, wanted another: add e.base"),
    ),
    "h_min ten times too large": (
        *(LEARNER, "return way / (", "return 10.0 * way / (", "h_min_spent"),
        "share of the way that h_min goes: got 10, wanted about 1: it must reach the target",
    ),
    "h_min of one number": (
        *(LEARNER, "return way / (norm * state(layer, offset).longest)", "return 100.0", "h_min_spent"),
        "share of the way that h_min goes: got ",
    ),
    "sensitivity of the wrong sign": (
        *(LEARNER, "return state(layer, offset).longest * squared", "return -state(layer, offset).longest * squared"),
        *("sensitive", "sensitivity: got -"),
    ),
    "makes a list": (
        *(LEARNER, "    return p\n", "    seen = [p]\n    seen.append(1.0)\n    return seen[0]\n"),
        *(
            "kernels_kept",
            "kernel 'learn': got code that each process has Numba load again, wanted kernels that make no",
        ),
    ),
    "probabilities that sum to 2": (
        *(EXPLORER, "1 / count", "2 / count", "probabilities"),
        "sum of the probabilities of a decision while predicting: got 2.0, wanted 1",
    ),
    "negative probabilities": (
        *(EXPLORER, "if k < count else 0", "if k < count else -0.25", "probabilities"),
        "probabilities while predicting: got [",
    ),
    "worst first": (
        *(EXPLORER, "1 / count if k < count else 0", "k / 3"),
        *("probabilities", "ranked probabilities while predicting: got [0.         0.33333334 0.66666669], wanted"),
    ),
    "peeks": (
        *(EXPLORER, "if k < count else", "if (k < count) == (decision_of(example).chosen < 0) else"),
        *("blind_to_the_log", "probability of an action with a label: got "),
    ),
    "tells no loss": (EXPLORER, CLASS, SILENT, "tells_its_loss", "loss of a decision: got "),
}


def layer_of(folder: Path, template: str, old: str = "", new: str = "") -> Any:
    text = (files("hutch.plugins") / "templates" / f"{template}.py.txt").read_text()
    if template == LEARNER:
        text = text.replace("class Mine(", PRICES, 1).replace("from typing", "import math\nfrom typing", 1)
        text = text.replace("Kernels(learn, predict)", "Kernels(learn, predict, importance_to, sensitivity)")
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


@pytest.mark.parametrize("template", [LEARNER, EXPLORER])
def test_the_right_ones_pass(tmp_path: Path, template: str) -> None:
    layer = layer_of(tmp_path, template)
    assert {str(each): why for each in checks_of_reduction(layer, registry=REGISTRY) if (why := each.failure())} == {}
