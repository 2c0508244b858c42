"""Layers that are broken in one way each, and the check that finds it."""

from dataclasses import replace
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy import uint64
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.chain.contract import kernels_of
from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import PluginError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
    submodel,
)
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.plugins.checks import checks_of_reduction
from hutch.plugins.manager import Plugins

REGISTRY = Plugins(only=()).registry
BIAS = np.dtype([("bias", "u8"), ("submodels", "u8")])
bias_of = state_of(BIAS)


class Nothing(Parameters):
    """No parameters."""


@kernel
def pass_on(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def teach(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, offset)


@kernel
def teaching_predict(layer, example, label, importance, offset):
    return learn_next(layer, example, np.float32(1), np.float32(1), offset)


@kernel
def unweighted_learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, np.float32(1), offset)


@kernel
def first_submodel_learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, uint64(0))


@kernel
def first_submodel_predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, uint64(0))


class Sound(Reduction):
    """Passes everything on."""

    name = "sound"
    Parameters = Nothing
    learn_kernel, predict_kernel = teach, pass_on

    @property
    def kernels(self) -> Kernels:
        return Kernels(self.learn_kernel, self.predict_kernel)


class Forgetful(Sound):
    """Never learns."""

    learn_kernel = pass_on


class Teaching(Sound):
    """Learns when it should only predict."""

    predict_kernel = teaching_predict


class Unweighted(Sound):
    """Teaches every example as if its importance were 1."""

    learn_kernel = unweighted_learn


class OneForAll(Sound):
    """Has one sub-model, however many are asked for."""

    learn_kernel, predict_kernel = first_submodel_learn, first_submodel_predict


class Undocumented(Nothing):
    rate: float = 1.0


class Silent(Sound):
    """Has a parameter that nobody explains."""

    Parameters = Undocumented


@kernel
def biased_learn(layer, example, label, importance, offset):
    state = bias_of(layer)
    own = offset // layer_of(layer).step if state.submodels > uint64(0) else uint64(0)
    bias = float32s_at(state.bias, own + uint64(1))
    prediction = learn_next(layer, example, label, importance, offset) + bias[own]
    bias[own] += min(np.float32(0.1) * importance, np.float32(1)) * (label - prediction)
    e = example_of(example)
    e.loss = importance * (prediction - label) ** 2
    return prediction


@kernel
def biased_predict(layer, example, label, importance, offset):
    state = bias_of(layer)
    own = offset // layer_of(layer).step if state.submodels > uint64(0) else uint64(0)
    prediction = predict_next(layer, example, label, importance, offset)
    prediction += float32s_at(state.bias, own + uint64(1))[own]
    e = example_of(example)
    e.loss = importance * (prediction - label) ** 2 if label != UNLABELED else 0.0
    return prediction


class Biased(Sound):
    """Adds a number of its own to what each sub-model says."""

    learn_kernel, predict_kernel = biased_learn, biased_predict
    takes, predicts = Labels.SIMPLE, Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        self._bias = np.zeros(self.context.submodels, np.float32)
        self.state = np.zeros(1, BIAS)
        self.state["bias"], self.state["submodels"] = self._bias.ctypes.data, self.tells_apart()

    def tells_apart(self) -> bool:
        return True

    def saved(self) -> dict[str, NDArray[np.float32]]:
        return {"bias": self._bias}


class Common(Biased):
    """Has one bias for all sub-models."""

    def tells_apart(self) -> bool:
        return False


class Unsaved(Biased):
    """Does not hand out its bias."""

    def saved(self) -> dict[str, NDArray[np.float32]]:
        return {}


class FirstSaved(Biased):
    """Hands out the bias of its first sub-model."""

    def saved(self) -> dict[str, NDArray[np.float32]]:
        return {"bias": self._bias[:1]}


@kernel
def mean_learn(layer, example, label, importance, offset):
    first = learn_next(layer, example, label, importance, offset)
    second = learn_next(layer, example, label, np.float32(0.1) * importance, offset + layer_of(layer).step)
    return np.float32(0.5) * (first + second)


@kernel
def mean_predict(layer, example, label, importance, offset):
    first = predict_next(layer, example, label, importance, offset)
    second = predict_next(layer, example, label, importance, offset + layer_of(layer).step)
    return np.float32(0.5) * (first + second)


class Lossless(Sound):
    """Says neither the loss of its own prediction nor the score behind it."""

    learn_kernel, predict_kernel = mean_learn, mean_predict
    takes, predicts = Labels.SIMPLE, Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)

    @classmethod
    def width(cls, parameters: Any) -> int:
        return 2


@kernel
def nearest_learn(layer, example, label, importance, offset):
    score = learn_next(layer, example, label - np.float32(2), importance, offset)
    return np.float32(round(min(max(score, np.float32(-1)), np.float32(1))) + 2)


@kernel
def nearest_predict(layer, example, label, importance, offset):
    score = predict_next(layer, example, UNLABELED, importance, offset)
    return np.float32(round(min(max(score, np.float32(-1)), np.float32(1))) + 2)


class LosslessClasses(Sound):
    """Three classes as numbers, without a loss."""

    learn_kernel, predict_kernel = nearest_learn, nearest_predict
    takes, predicts = Labels.MULTICLASS, Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)


@kernel
def deaf_learn(layer, example, label, importance, offset):
    teach, given = label != UNLABELED, label - np.float32(2)
    score = learn_next(layer, example, given, importance, offset) if teach else np.float32(0)
    return np.float32(round(min(max(score, np.float32(-1)), np.float32(1))) + 2)


class AsNumbers(LosslessClasses):
    """Says that its classes are numbers."""

    predicts = Predictions.SCALAR


class CountedParameters(Parameters):
    """Parameters of `few_classes`.

    Attributes:
        classes: how many.
    """

    classes: Annotated[int, Within(ge=2), ExampleValue(3)]


class FewClasses(LosslessClasses):
    """Takes four classes at most, and does not say so."""

    Parameters = CountedParameters

    def __init__(self, parameters: CountedParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.place = {2: 0, 3: 1, 4: 2}[parameters.classes]


class Deaf(LosslessClasses):
    """Declares soft labels, and learns hard ones only."""

    learn_kernel = deaf_learn
    inputs = Inputs(soft_labels=True)


class Scoreless(LosslessClasses):
    """Has scores, as it says, and writes none."""

    @property
    def answers(self) -> Answers:
        return replace(super().answers, score_count=3)


@kernel
def scored_predict(layer, example, label, importance, offset):
    score, e = predict_next(layer, example, UNLABELED, importance, offset), example_of(example)
    if e.scores != uint64(0):
        float32s_at(e.scores, e.score_count)[0] = np.float32(3)
    return np.float32(round(min(max(score, np.float32(-1)), np.float32(1))) + 2)


class WrongScores(Scoreless):
    """Gives the first class the best score, whatever it predicts."""

    predict_kernel = scored_predict


@kernel
def two_models_predict(layer, example, label, importance, offset):
    predict_next(layer, example, label, importance, submodel(layer, offset, 1))
    return predict_next(layer, example, label, importance, offset)


class Wide(Sound):
    """Asks a second sub-model of the layer below, and says that it needs one."""

    predict_kernel = two_models_predict


FOUND = [
    (AsNumbers, "predictions_in_range", "declared predictions: got scalar, wanted Predictions.CLASS: all predictions"),
    (Deaf, "soft_labels", "share of equal classes learned from soft and from weighted labels: got 0."),
    (Wide, "width", "sub-models of the layer below: got one asked that is number 1, from 0, wanted 1 in all"),
    (Wide, "submodels", "not tried, since it could end the process: sub-models of the layer below: got one"),
    (Forgetful, "learns", "predictions after learning: got those from before, wanted others"),
    (Teaching, "unlabeled_examples", "after unlabeled examples: weights: got other bits, wanted the same"),
    (Silent, "parameters_documented", "parameter rate: got no description, wanted one"),
    (Unweighted, "importance", "learned with importance 3: got the same as with importance 1, wanted more of it"),
    (OneForAll, "submodels", "sub-model 1 after sub-model 0 has learned: example "),
    (Common, "submodels", "sub-model 1 after sub-model 0 has learned: example "),
    (Unsaved, "save_and_load", "predicted after loading: example "),
    (FirstSaved, "submodels_saved", "sub-model 1 after loading: example "),
    (Lossless, "loss", "loss of the label -1 less that of 1 at predictions "),
    (Lossless, "raw", "raw score at predictions "),
    (WrongScores, "scores", "score of the predicted class "),
    (Scoreless, "scores", "scores: got the same for all classes, wanted scores that tell classes apart"),
    (LosslessClasses, "loss", "loss of the class predicted: got 0.0, wanted less than 0, that of another"),
]


@pytest.mark.parametrize(("layer", "check", "message"), FOUND)
def test_a_broken_layer_is_found(layer: type[Reduction], check: str, message: str) -> None:
    [found] = [each for each in checks_of_reduction(layer, registry=REGISTRY) if each.name == check]
    with pytest.raises(AssertionError) as raised:
        found()
    assert str(raised.value).startswith(message)


def test_more_classes_than_the_default_are_tried() -> None:
    [check] = [each for each in checks_of_reduction(FewClasses, registry=REGISTRY) if each.name == "more_classes"]
    assert "17" in (check.failure() or "")


@pytest.mark.parametrize("layer", [Sound, Biased])
def test_a_sound_layer_passes(layer: type[Reduction]) -> None:
    for check in checks_of_reduction(layer, registry=REGISTRY):
        check()


@kernel
def counting_learn(layer, example, label, importance, offset):
    bias = bias_of(layer)
    float32s_at(bias.bias, bias.submodels)[0] += importance
    return learn_next(layer, example, label, importance, offset)


class Keeps(Sound):
    """Keeps arrays below names that a base class might use for itself."""

    learn_kernel = counting_learn

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        for name in ("losses", "state", "context", "parameters", "arrays", "kernels", "below", "loss", "limits"):
            setattr(self, f"_{name}", np.zeros(3, np.float32))
        self.state = Record(BIAS, bias=self._losses, submodels=3)

    def saved(self) -> dict[str, NDArray[Any]]:
        return {"sums": self._losses}


def test_names_with_an_underscore_are_the_layers_own() -> None:
    assert not [name for name in vars(Reduction) if name.startswith("_") and not name.startswith(("__", "_abc_"))]
    made = Chain.from_config({"chain": ["linear"]}).layers[0].context
    assert [name for name in vars(Sound(Nothing(), made)) if name.startswith("_")] == []
    for check in checks_of_reduction(Keeps, registry=REGISTRY):
        if check.name in ("learns", "save_and_load"):
            check()


@pytest.mark.parametrize("field", ["calls", "self_contained"])
@pytest.mark.parametrize("wrong", ["importance_to", ("importance",), ["sensitivity"]])
def test_names_of_kernels_that_are_called_exist(field: str, wrong: Any) -> None:
    layer = Sound(Nothing(), Chain.from_config({"chain": ["linear"]}).layers[0].context)
    with patch.object(Sound, "kernels", replace(layer.kernels, **{field: wrong})):
        with pytest.raises(PluginError, match=f"Sound.kernels.{field} of the layer 'sound': got .* wanted some of"):
            kernels_of(layer)


@kernel
def zero_based_learn(layer, example, label, importance, offset):
    best, top = 0, -np.inf
    for k in range(3):
        side = np.float32(1) if np.float32(k) == label else np.float32(-1)
        score = learn_next(layer, example, side, importance, submodel(layer, offset, k))
        if score > top:
            best, top = k, score
    return best


@kernel
def zero_based_predict(layer, example, label, importance, offset):
    best, top = 0, -np.inf
    for k in range(3):
        score = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
        if score > top:
            best, top = k, score
    return best


class ZeroBased(LosslessClasses):
    """Counts its classes from 0."""

    learn_kernel, predict_kernel = zero_based_learn, zero_based_predict

    @classmethod
    def width(cls, parameters: Any) -> int:
        return 3


@kernel
def neighbours_learn(layer, example, label, importance, offset):
    one = learn_next(layer, example, label, importance, offset)
    return (one + learn_next(layer, example, label, importance, offset + uint64(1))) / 2


@kernel
def neighbours_predict(layer, example, label, importance, offset):
    one = predict_next(layer, example, label, importance, offset)
    return (one + predict_next(layer, example, label, importance, offset + uint64(1))) / 2


class Neighbours(Sound):
    """Takes the next row for the next sub-model, which is true above a single base learner."""

    learn_kernel, predict_kernel = neighbours_learn, neighbours_predict

    @classmethod
    def width(cls, parameters: Any) -> int:
        return 2


@pytest.mark.parametrize(
    ("layer", "name", "told"),
    [
        (ZeroBased, "learns", "classes predicted after learning: got [0.0, 1.0, 2.0], wanted [1, 2, 3]"),
        (Neighbours, "width", "got 1 rows behind one, wanted that of a sub-model: submodel(layer, offset, i)"),
    ],
)
def test_what_is_right_by_chance_is_found(layer: type[Reduction], name: str, told: str) -> None:
    [check] = [each for each in checks_of_reduction(layer, registry=REGISTRY) if each.name == name]
    assert told in (check.failure() or "")
