"""A plugin's layer of classes that knows hard labels only learns the posteriors of the crowd above it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PLUGIN = '''
"""A binary problem for each class."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from hutch.plugin import (
    UNLABELED, Kernels, Labels, Parameters, Predictions, Record, Reduction, Within,
    example_of, float32s_at, helper, kernel, learn_next, predict_next, registering, state_of, submodel,
)
from numpy import uint64


class EachParameters(Parameters):
    """Parameters of `each_class`.

    Attributes:
        classes: how many classes.
    """

    classes: Annotated[int, Within(ge=2, le=100)]


STATE = np.dtype([("classes", "u8"), ("scores", "u8")])
state = state_of(STATE)


@helper
def finish(e, s, label, importance):
    own, best = float32s_at(s.scores, s.classes), uint64(0)
    for k in range(s.classes):
        if own[k] > own[best]:
            best = uint64(k)
        if e.scores != uint64(0):
            float32s_at(e.scores, e.score_count)[k] = own[k]
    e.raw = np.float32(best + uint64(1))
    e.loss = importance if label != UNLABELED and label != e.raw else 0.0
    return e.raw


@kernel
def predict(layer, example, label, importance, offset):
    s, e = state(layer), example_of(example)
    for k in range(s.classes):
        own = submodel(layer, offset, k)
        float32s_at(s.scores, s.classes)[k] = predict_next(layer, example, UNLABELED, importance, own)
    return finish(e, s, label, importance)


@kernel
def learn(layer, example, label, importance, offset):
    s, e = state(layer), example_of(example)
    for k in range(s.classes):
        own, sign = submodel(layer, offset, k), np.float32(1 if label == k + 1 else -1)
        if label == UNLABELED:
            float32s_at(s.scores, s.classes)[k] = predict_next(layer, example, UNLABELED, importance, own)
        else:
            float32s_at(s.scores, s.classes)[k] = learn_next(layer, example, sign, importance, own)
    return finish(e, s, label, importance)


class EachClass(Reduction):
    """A binary problem for each class."""

    name = "each_class"
    Parameters = EachParameters
    takes, predicts = Labels.MULTICLASS, Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, classes=parameters.classes, scores=np.zeros(parameters.classes, np.float32))

    @classmethod
    def width(cls, parameters):
        return parameters.classes

    @property
    def answers(self):
        return replace(super().answers, score_count=self.parameters.classes)


hutch_register_reductions = registering(EachClass)
'''
CHAIN = """
weights: {{bits: 14}}
chain:
  - crowd_em: {{classes: 3, passes: {passes}}}
  - {layer}: {{classes: 3}}
  - linear: {{loss: logistic}}
"""


def _hutch(folder: Path, *words: str) -> str:
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", "from hutch.cli.main import main; main()", *words]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_learns_what_our_own_layer_learns(tmp_path: Path) -> None:
    (tmp_path / "hutch_each.py").write_text(PLUGIN)
    info = tmp_path / "hutch_each-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hutch-each\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[hutch]\nhutch_each = hutch_each\n")
    random, lines, plain = np.random.default_rng(3), [], []
    truth = random.integers(1, 4, 300)
    for item, right in enumerate(truth):
        words = f"|words w{right}_{random.integers(4)} n{random.integers(20)}"
        for worker in random.choice(9, 3, replace=False):
            answer = right if random.random() < 0.75 else random.integers(1, 4)
            lines.append(f"{answer} 'i{item}|worker p{worker} {words}")
        lines.append("")
        plain += [words, ""]
    (tmp_path / "crowd.vw").write_text("\n".join(lines) + "\n")
    (tmp_path / "plain.vw").write_text("\n".join(plain) + "\n")
    for passes in (1, 2):
        wrong = {}
        for layer in ("each_class", "one_against_all"):
            (tmp_path / "chain.yaml").write_text(CHAIN.format(layer=layer, passes=passes))
            _hutch(tmp_path, "train", "crowd.vw", "-C", "chain.yaml", "--passes", "4", "-f", "model", "--quiet")
            said = _hutch(tmp_path, "predict", "plain.vw", "-i", "model", "-p", "-", "--quiet").split("\n")
            found = [float(line.split()[0]) for line in said if line.strip()]
            wrong[layer] = float(np.mean(np.array(found) != truth))
        assert wrong["each_class"] <= wrong["one_against_all"] + 0.05 < 0.2
