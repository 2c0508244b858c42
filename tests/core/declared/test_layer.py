"""Layers that declare their state and their loss: equal to the same layers over records and addresses, bit for bit."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy import uint64

from hutch.core.chain.engine import Engine
from hutch.core.chain.outputs import Outputs
from hutch.core.chain.reduction import LayerConfig
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.kernel.decorators import INTERPRETED
from hutch.core.loss import kinds
from hutch.core.text.parser import TextParser
from hutch.plugin import (
    UNLABELED,
    Array,
    ExampleValue,
    Inputs,
    Kernels,
    Labels,
    Layer,
    Limits,
    OwnLoss,
    Parameters,
    Predictions,
    Record,
    Reduction,
    State,
    Within,
    add,
    checks_of_reduction,
    dot,
    example_of,
    features_at,
    float32s_at,
    helper,
    kernel,
    learn_next,
    predict_next,
    squared_norm,
    state_of,
    submodel,
)
from hutch.plugins.manager import installed

COLUMNS = 9


class CodesParameters(Parameters):
    """Parameters of `codes`.

    Attributes:
        classes: how many classes.
    """

    classes: Annotated[int, Within(ge=2)]


def signs(parameters: Any, random: np.random.Generator) -> Any:
    return random.choice(np.array([-1, 1]), size=(parameters.classes, COLUMNS))


codes_state = State(
    CodesParameters,
    code=Array("f4", "classes", COLUMNS, first=signs),
    margins=Array("f4", COLUMNS),
    scores=Array("f4", "classes"),
)


@kernel
def best(s):
    for c in range(s.classes):
        agreement = np.float32(0)
        for j in range(len(s.margins)):
            agreement += s.code[c, j] * s.margins[j]
        s.scores[c] = agreement
    return np.argmax(s.scores) + 1


@kernel
def predict_codes(layer, example, label, importance, offset):
    s = codes_state(layer, offset)
    for j in range(len(s.margins)):
        s.margins[j] = predict_next(layer, example, label, importance, submodel(layer, offset, j))
    return best(s)


@kernel
def learn_codes(layer, example, label, importance, offset):
    s = codes_state(layer, offset)
    for j in range(len(s.margins)):
        s.margins[j] = learn_next(layer, example, s.code[int(label) - 1, j], importance, submodel(layer, offset, j))
    return best(s)


class Codes(Layer):
    """A binary problem for each column of a random code."""

    name = "codes"
    declares = codes_state
    takes, predicts, loss = Labels.MULTICLASS, Predictions.CLASS, OwnLoss.ZERO_ONE
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    models = COLUMNS
    kernels = Kernels(learn_codes, predict_codes)


PLAIN = np.dtype([("classes", "u8"), ("code", "u8"), ("margins", "u8")])
plain_of = state_of(PLAIN)


@helper
def _decided(s, e, label, importance):
    columns = uint64(COLUMNS)
    code, margins = float32s_at(s.code, s.classes * columns), float32s_at(s.margins, columns)
    found, at = np.float32(-np.inf), uint64(0)
    for c in range(s.classes):
        score = np.float32(0)
        for j in range(columns):
            score += code[uint64(c) * columns + uint64(j)] * margins[j]
        if e.scores != 0:
            float32s_at(e.scores, e.score_count)[c] = score
        if score > found:
            found, at = score, uint64(c)
    e.raw = np.float32(at + uint64(1))
    e.loss = importance if label != UNLABELED and importance > 0 and label != e.raw else np.float32(0)
    return e.raw


@helper
def _predicted(layer, example, label, importance, offset):
    s, e = plain_of(layer), example_of(example)
    margins = float32s_at(s.margins, uint64(COLUMNS))
    for j in range(COLUMNS):
        margins[j] = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, j))
    return _decided(s, e, label, importance)


@kernel
def predict_plain(layer, example, label, importance, offset):
    return _predicted(layer, example, label, importance, offset)


@kernel
def learn_plain(layer, example, label, importance, offset):
    s, e = plain_of(layer), example_of(example)
    if not (label >= 1 and label <= s.classes and label == np.floor(label)):
        return _predicted(layer, example, label, importance, offset)
    code, margins = float32s_at(s.code, s.classes * uint64(COLUMNS)), float32s_at(s.margins, uint64(COLUMNS))
    e.is_predicted = uint64(0)
    for j in range(COLUMNS):
        y = code[uint64(label - 1) * uint64(COLUMNS) + uint64(j)]
        margins[j] = learn_next(layer, example, y, importance, submodel(layer, offset, j))
    return _decided(s, e, label, importance)


class PlainCodes(Reduction):
    """The same with a record and addresses."""

    name = "plain_codes"
    Parameters = CodesParameters
    takes, predicts = Labels.MULTICLASS, Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(learns_any_label=False)
    kernels = Kernels(learn_plain, predict_plain)

    def __init__(self, parameters: Any, context: Any) -> None:
        super().__init__(parameters, context)
        code = signs(parameters, np.random.default_rng(context.seed)).astype(np.float32)
        margins = np.zeros(COLUMNS, np.float32)
        self.state = Record(PLAIN, classes=parameters.classes, code=code, margins=margins)

    @classmethod
    def width(cls, parameters: Any) -> int:
        return COLUMNS

    @property
    def answers(self) -> Any:
        return replace(super().answers, score_count=self.parameters.classes)


class ShiftParameters(Parameters):
    """Parameters of `shift`.

    Attributes:
        rate: how fast it moves.
        steps: how many numbers it keeps.
        towards: what it is moved towards.
        backwards: move away.
    """

    rate: float = 0.25
    steps: Annotated[int, Within(ge=1), ExampleValue(2)] = 2
    towards: Literal["nothing", "label"] = "label"
    backwards: bool = False


def ones(parameters: Any, random: np.random.Generator) -> Any:
    return np.arange(1, parameters.steps + 1)


shift_state = State(
    ShiftParameters,
    shifts=Array("f8", "steps", learned=True),
    seen=Array("i8", learned=True, limits=Limits(0, 1 << 60)),
    weights=Array("f4", "steps", first=ones),
)


@kernel
def predict_shift(layer, example, label, importance, offset):
    s = shift_state(layer, offset)
    return predict_next(layer, example, label, importance, offset) + s.shifts[s.seen[0] % s.steps]


@kernel
def learn_shift(layer, example, label, importance, offset):
    s = shift_state(layer, offset)
    k = s.seen[0] % s.steps
    before = learn_next(layer, example, label, importance, offset) + s.shifts[k]
    if s.towards == 1 and not s.backwards:
        s.shifts[k] += min(s.rate * importance, 1.0) * (label - before) / s.weights[k]
    s.seen[0] += 1
    return before


class Shift(Layer):
    """Adds what is left of the labels, by turns."""

    name = "shift"
    declares = shift_state
    takes, predicts, loss = Labels.SIMPLE, Predictions.SCALAR, OwnLoss.LEARNED
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn_shift, predict_shift)


class MarginParameters(Parameters):
    """Parameters of `margin`.

    Attributes:
        longest: the longest step for an example of importance 1.
    """

    longest: Annotated[float, Within(gt=0)] = 0.1


margin_state = State(MarginParameters)


@kernel
def predict_margin(layer, example, label, importance, offset):
    return dot(features_at(example, offset))


@kernel
def learn_margin(layer, example, label, importance, offset):
    x = features_at(example, offset)
    p, norm = dot(x), squared_norm(x)
    missing = max(0.0, 1.0 - label * p)
    if missing > 0.0 and norm > 0.0:
        add(x, label * min(margin_state(layer, offset).longest * importance, missing / norm))
    return p


class Margin(Layer):
    """The smallest step that gives an example a margin of 1."""

    name = "margin"
    declares = margin_state
    takes, predicts, loss = Labels.SIMPLE, Predictions.SCALAR, "hinge"
    is_base = True
    kernels = Kernels(learn_margin, predict_margin)


LAYERS: dict[type[Reduction], dict[str, Any]] = {Codes: {"classes": 4}, Shift: {}, Margin: {}}
CHECKS = [check for layer, parameters in LAYERS.items() for check in checks_of_reduction(layer, parameters)]


def registry() -> Registry:
    known = installed().registry
    own = {layer.name: layer for layer in (*LAYERS, PlainCodes)}
    return Registry({**known.reductions, **own}, dict(known.losses))


def chain(*layers: Any, bits: int = 12) -> Engine:
    known = registry()
    configs = []
    for entry in layers:
        [(name, given)] = entry.items() if isinstance(entry, dict) else [(entry, {})]
        configs.append(LayerConfig(name, checked(known.reductions[name].Parameters, given)))
    return Engine(configs, known, bits=bits)


def learned(engine: Engine, lines: list[str], learn: bool = True) -> Outputs:
    text = "".join(f"{line}\n" for line in lines).encode()
    outputs, _ = engine.run_batch(TextParser(engine.parser).parse(text), learn=learn, scores=True)
    return outputs


def lines(count: int, classes: int = 4, seed: int = 0) -> list[str]:
    """Examples whose words say their class, most of the time; some of other classes than there are."""
    random = np.random.default_rng(seed)
    found = []
    for y in random.integers(1, classes + 2, count):
        word = y if random.random() < 0.8 else 1
        found.append(f"{y} {random.integers(1, 4)} |f c{word} n:{random.random():.3f}")
    return found


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_contract(check: Any) -> None:
    check()


def test_the_same_bits_as_with_records_and_addresses() -> None:
    own, plain = (chain({name: {"classes": 4}}, "linear") for name in ("codes", "plain_codes"))
    data = lines(600)
    for learn in (True, False):
        got, wanted = learned(own, data, learn), learned(plain, data, learn)
        for name in ("predictions", "losses", "scores"):
            assert getattr(got, name).tobytes() == getattr(wanted, name).tobytes(), name
    assert own.weights.tobytes() == plain.weights.tobytes()
    assert 0 < got.losses.sum() < 600


def test_a_label_beyond_the_classes_teaches_nothing_and_counts_as_wrong() -> None:
    engine = chain({"codes": {"classes": 4}}, "linear")
    assert learned(engine, ["5 |f a", "7 2 |f a"]).losses.tolist() == [1, 2]
    assert not engine.weights.any()


def test_learned_arrays_are_those_of_each_sub_model_and_numbers_those_of_the_parameters() -> None:
    rate, steps = 0.5, 3
    engine = chain(
        {"one_against_all": {"classes": 3}}, {"shift": {"rate": rate, "steps": steps}}, {"linear": {"learning_rate": 0}}
    )
    labels = [1, 3, 3, 2, 1, 3, 2]
    learned(engine, [f"{y} |f a" for y in labels])
    shifts, seen = np.zeros((3, steps)), np.zeros(3, int)
    for y in labels:
        for c in range(3):
            k = seen[c] % steps
            shifts[c, k] += rate * (np.float32(1 if c == y - 1 else -1) - np.float32(shifts[c, k])) / (k + 1)
            seen[c] += 1
    layer = engine.layers[1]
    assert isinstance(layer, Shift)
    assert layer.saved()["seen"].tolist() == seen.tolist()
    np.testing.assert_allclose(layer.saved()["shifts"], shifts, rtol=1e-6)
    assert list(layer.saved()) == ["shifts", "seen"]
    assert layer.limits() == {"shifts": Limits(finite=True), "seen": Limits(0, 1 << 60)}
    assert layer.arrays["weights"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("parameters", [{"towards": "nothing"}, {"backwards": True}], ids=str)
def test_choices_and_truth_values_reach_kernels(parameters: dict[str, Any]) -> None:
    engine = chain({"shift": parameters}, "linear")
    learned(engine, ["1 |f a", "2 |f b"])
    assert not engine.layers[0].saved()["shifts"].any()


@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
def test_the_learned_loss_is_that_of_the_learner_at_the_layers_own_prediction(loss: str) -> None:
    data = ["1 2 |f a", "-1 |f b", "1 |f a c"]
    plain = chain({"linear": {"loss": loss}})
    shifted = chain({"shift": {"towards": "nothing"}}, {"linear": {"loss": loss}})
    assert learned(shifted, data).losses.tobytes() == learned(plain, data).losses.tobytes()


def test_a_base_learner_whose_loss_has_a_name_is_known_by_it() -> None:
    assert chain("margin").layers[0].answers.loss_kind == kinds.HINGE
    engine, w = chain("margin"), {"a": 0.0, "Constant": 0.0, "b": 0.0}
    got = learned(engine, ["1 |f a:2", "-1 3 |f b a", "1 |f a:0.5"], learn=True)
    wanted = []
    for label, importance, x in ((1, 1, {"a": 2}), (-1, 3, {"b": 1, "a": 1}), (1, 1, {"a": 0.5})):
        x = x | {"Constant": 1}
        p = sum(w[name] * value for name, value in x.items())
        wanted.append(p)
        step = label * min(0.1 * importance, max(0, 1 - label * p) / sum(v * v for v in x.values()))
        for name, value in x.items():
            w[name] += step * value
    np.testing.assert_allclose(got.predictions, wanted, rtol=1e-6)


def test_labels_of_a_base_learner_widen_the_range_that_layers_above_clip_to() -> None:
    engine = chain({"hedge": {"copies": [{}, {}]}}, "margin")
    got = learned(engine, ["1 |f a", "-1 |f b"] * 10).predictions
    assert got[-2] > 0.3 and got[-1] < -0.3
    assert engine.shared["min_label"] == -1 and engine.shared["max_label"] == 1


def test_three_ways() -> None:
    for layers in ([{"codes": {"classes": 4}}, "linear"], ["shift", "linear"], ["margin"]):
        data = lines(40, classes=4 if len(layers) == 2 and "shift" not in layers else 1)
        first = learned(chain(*layers), data)
        INTERPRETED.add(__name__)
        try:
            again = learned(chain(*layers), data)
        finally:
            INTERPRETED.remove(__name__)
        assert again.predictions.tobytes() == first.predictions.tobytes()
        assert again.losses.tobytes() == first.losses.tobytes()


def test_mistakes_are_told_where_they_are_made() -> None:
    with pytest.raises(TypeError, match="got an array 'rate', wanted another name: a parameter has it"):
        State(ShiftParameters, rate=Array("f4"))
    with pytest.raises(TypeError, match="got the dtype 'U3', wanted one of numbers"):
        Array("U3")

    for scores in (Array("f8", "classes"), Array("f4", "classes", 2), Array("f4", "classes", learned=True)):
        with pytest.raises(TypeError, match="got scores of another kind"):
            State(CodesParameters, scores=scores)
    with pytest.raises(
        TypeError, match="size of 'means': got 'clases', wanted the name of a parameter; did you mean 'classes'"
    ):
        State(CodesParameters, means=Array("f4", 2, "clases"))
    with pytest.raises(TypeError, match=r"Misnamed.models: got 'clases', wanted the name of a parameter; did you mean"):

        class Misnamed(Layer):
            declares, models = State(CodesParameters), "clases"

    longer = State(CodesParameters, means=Array("f4", "classes", first=lambda parameters, random: np.ones(3)))
    with pytest.raises(TypeError, match=r"array 'means': first: got values of shape \(3,\), wanted \(2,\)"):
        longer.made(checked(CodesParameters, {"classes": 2}), 1, 0)


counted = State(Parameters, counts=Array("i8", learned=True))


@kernel
def counted_predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def counted_learn(layer, example, label, importance, offset):
    counted(layer, offset).counts[0] += importance
    return learn_next(layer, example, label, importance, offset)


class Counted(Layer):
    """Adds importances to an integer."""

    name = "counted"
    declares = counted
    takes, predicts, loss = Labels.SIMPLE, Predictions.SCALAR, OwnLoss.LEARNED
    kernels = Kernels(counted_learn, counted_predict)


def test_cpython_refuses_a_fraction_in_an_array_of_integers() -> None:
    registry = installed().registry
    known = Registry({**registry.reductions, "counted": Counted}, dict(registry.losses))
    layers = [LayerConfig("counted", Parameters()), LayerConfig("linear", known.reductions["linear"].Parameters())]
    INTERPRETED.add(__name__)
    try:
        engine = Engine(layers, known, bits=8, seed=0)
        learned(engine, ["1 2 |f a"])
        assert engine.layers[0].saved()["counts"].tolist() == [2]
        with pytest.raises(TypeError, match=r"an array of int64 gets 2.5, whose fraction would be lost"):
            learned(engine, ["1 0.5 |f a"])
    finally:
        INTERPRETED.remove(__name__)
