"""The losses against formulas in double precision, an independent quadrature, and the laws of importance weights."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import SHARED, call_loss
from hutch.core.kernel.cache import compiled
from hutch.core.loss.flow import budget_to
from hutch.core.loss.losses import BUILTIN_LOSSES, Loss, LossChoice, LossParameter

LOSSES = {loss.name: loss for loss in BUILTIN_LOSSES}
SHARED_RECORD = np.zeros(1, SHARED)
SHARED_RECORD["min_label"], SHARED_RECORD["max_label"] = -10, 10


@compiled
def call(address, p, y, scale, norm, loss):
    return call_loss(address, p, y, scale, norm, loss)


@compiled
def budget(p, target, y, loss):
    return budget_to(p, target, y, loss)


@compiled
def small_steps(derivative, p, y, scale, norm, loss, steps):
    for _ in range(steps):
        p -= scale / steps * norm * call_loss(derivative, p, y, 0.0, 0.0, loss)
    return p


def evaluate(record, kernel, p, y, scale=0.0, norm=0.0):
    at = np.uint64(record.ctypes.data)
    return call(np.uint64(record[0][kernel]), float(p), float(y), float(scale), float(norm), at)


def price(record, p, target, y):
    return budget(float(p), float(target), float(y), np.uint64(record.ctypes.data))


def huber(prediction, label, parameter):
    e = abs(prediction - label)
    return 0.5 * e * e if e <= parameter else parameter * (e - 0.5 * parameter)


def huber_slope(prediction, label, parameter):
    return min(max(prediction - label, -parameter), parameter)


def smooth_hinge(prediction, label, parameter):
    gap = max(0.0, 1.0 - label * prediction)
    return 0.5 * gap * gap


def smooth_hinge_slope(prediction, label, parameter):
    return -label * max(0.0, 1.0 - label * prediction)


def log_loss(prediction, label, parameter):
    return math.log1p(math.exp(-label * prediction))


def log_loss_slope(prediction, label, parameter):
    return -label / (1.0 + math.exp(label * prediction))


def absolute(prediction, label, parameter):
    return abs(prediction - label)


def absolute_slope(prediction, label, parameter):
    return 1.0 if prediction > label else (-1.0 if prediction < label else 0.0)


PLAIN = {
    "huber": Loss.plain("huber", huber, huber_slope, parameter=LossParameter("delta", 1.0, 0.0)),
    "smooth_hinge": Loss.plain("smooth_hinge", smooth_hinge, smooth_hinge_slope),
    "log": Loss.plain("log", log_loss, log_loss_slope),
    "absolute": Loss.plain("absolute", absolute, absolute_slope),
}
ALL = {**LOSSES, **PLAIN}
LABELS = {
    "hinge": (-1, 1),
    "logistic": (-1, 1),
    "smooth_hinge": (-1, 1),
    "log": (-1, 1),
    "poisson": (0, 1, 4),
}


@cache
def record_of(name):
    """The record of a loss, with the addresses of its kernels."""
    return ALL[name].record(SHARED_RECORD)


def labels_of(name):
    return LABELS.get(name, (-2.0, 0.0, 1.5))


def formulas(name, p, y, tau=0.5):
    """Value and derivative in double precision, from the textbook."""
    e = y - p
    weight = tau if e > 0 else 1 - tau
    return {
        "squared": lambda: (e * e, -2 * e),
        "classic": lambda: (e * e, -2 * e),
        "hinge": lambda: (max(0, 1 - y * p), -y if y * p < 1 else 0),
        "logistic": lambda: (math.log1p(math.exp(-y * p)), -y / (1 + math.exp(y * p))),
        "quantile": lambda: (weight * abs(e), -math.copysign(weight, e) if e else 0),
        "expectile": lambda: (weight * e * e, -2 * weight * e),
        "poisson": lambda: (2 * (y * (math.log(y + 1e-6) - p) - (y - math.exp(p))), math.exp(p) - y),
    }[name]()


@pytest.mark.parametrize("p", [80.0, 88.0, 88.7228, 88.7229, 135.0, 1e30])
def test_the_logistic_loss_of_far_predictions_is_the_textbook_s(p):
    record = record_of("logistic")
    assert evaluate(record, "value", p, -1.0) == pytest.approx(p, rel=1e-6)
    assert evaluate(record, "value", -p, 1.0) == pytest.approx(p, rel=1e-6)
    assert evaluate(record, "value", p, 1.0) == 0
    assert evaluate(record, "value", p, 0.25) == pytest.approx(evaluate(record, "value", p, -1.0) * 0.375, rel=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("p", [-3.0, -0.5, 0.0, 0.25, 2.0])
def test_values_and_derivatives_are_the_textbook_s(name, p):
    for y in labels_of(name):
        value, slope = formulas(name, p, y)
        record = record_of(name)
        assert evaluate(record, "value", p, y) == pytest.approx(value, rel=2e-6, abs=1e-6)
        assert evaluate(record, "derivative", p, y) == pytest.approx(slope, rel=2e-6, abs=1e-7)
        assert evaluate(record, "unsafe_update", p, y, 0.25) == pytest.approx(-0.25 * slope, rel=2e-6, abs=1e-7)
        squared = 4 * (y - p) ** 2 * (0.25 if name == "expectile" else 1)
        squared = squared if name in ("squared", "classic", "expectile") else slope * slope
        assert evaluate(record, "square_gradient", p, y) == pytest.approx(squared, rel=4e-6, abs=1e-9)


def test_squared_loss_goes_on_as_its_tangent_beyond_the_label_range():
    shared = np.zeros(1, SHARED)
    shared["max_label"] = 1
    record = LOSSES["squared"].record(shared)
    assert evaluate(record, "value", 3.0, 0.5) == 0.25 + 2 * 0.5 * 2.0
    assert evaluate(record, "value", 3.0, 1.0) == 0.0
    assert evaluate(record, "derivative", 3.0, 0.5) == 1.0


@pytest.mark.parametrize("name", [name for name in ALL if name != "classic"])
@pytest.mark.parametrize(("scale", "norm"), [(0.01, 1.0), (0.5, 2.0), (3.0, 0.7)])
def test_update_follows_the_gradient_flow(name, scale, norm):
    record = record_of(name)
    for p in (-1.7, 0.3, 2.2):
        for y in labels_of(name):
            update = evaluate(record, "update", p, y, scale, norm)

            at = np.uint64(record.ctypes.data)
            end = small_steps(np.uint64(record[0]["derivative"]), p, float(y), scale, norm, at, 20_000)
            assert p + norm * update == pytest.approx(end, abs=5e-4)


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=40, deadline=None)
@given(
    p=st.floats(-5, 5), label=st.integers(0, 1), first=st.floats(1e-6, 1e4), second=st.floats(1e-6, 1e4),
    norm=st.floats(1e-3, 1e3),
)  # fmt: skip
def test_plain_losses_learn_twice_as_once_and_never_beyond_the_optimum(name, p, label, first, second, norm):
    record, y = record_of(name), labels_of(name)[label]
    middle = p + norm * evaluate(record, "update", p, y, first, norm)
    twice = middle + norm * evaluate(record, "update", middle, y, second, norm)
    once = p + norm * evaluate(record, "update", p, y, first + second, norm)
    assert once == pytest.approx(twice, rel=1e-7, abs=1e-7)
    before, after = evaluate(record, "derivative", p, y), evaluate(record, "derivative", once, y)
    assert before * after >= 0 or abs(once - y) < 1e-9


@pytest.mark.parametrize("name", ["squared", "hinge", "logistic", "quantile", "expectile"])
@settings(max_examples=30, deadline=None)
@given(p=st.floats(-4, 4), label=st.integers(0, 1), first=st.floats(1e-3, 50), second=st.floats(1e-3, 50))
def test_built_in_updates_learn_twice_as_once(name, p, label, first, second):
    record, y = record_of(name), labels_of(name)[label]
    middle = p + evaluate(record, "update", p, y, first, 1.0)
    twice = middle + evaluate(record, "update", middle, y, second, 1.0)
    assert p + evaluate(record, "update", p, y, first + second, 1.0) == pytest.approx(twice, abs=3e-4)


@pytest.mark.parametrize("name", [name for name in ALL if name != "classic"])
@settings(max_examples=30, deadline=None)
@given(p=st.floats(-3, 3), label=st.integers(0, 1), scale=st.floats(0.01, 2))
def test_budget_is_what_the_update_spends(name, p, label, scale):
    record, y = record_of(name), labels_of(name)[label]
    target = p + evaluate(record, "update", p, y, scale, 1.0)
    stopped = abs(evaluate(record, "derivative", target, y)) < 1e-3 or abs(target - y) < 1e-3 or abs(p - target) < 1e-3
    if not stopped and 1 - y * target > 1e-3 * ("hinge" in name):
        assert price(record, p, target, y) == pytest.approx(scale, rel=5e-3)


@pytest.mark.parametrize(
    ("name", "p", "target", "y", "wanted"),
    [
        ("hinge", -0.5, 0.0, 1, 0.5),
        ("hinge", -0.5, 1.5, 1, math.inf),
        ("hinge", -0.5, -1.0, 1, math.inf),
        ("squared", 0.0, 0.5, 1, math.log(2) / 2),
        ("squared", 0.0, 1.0, 1, math.inf),
        ("squared", 0.0, -0.1, 1, math.inf),
        ("logistic", -1.0, 0.0, 1, 1 + 1 - math.exp(-1)),
        ("logistic", 1.0, 0.0, 1, math.inf),
        ("quantile", 0.0, 1.0, 1.5, 2.0),
        ("absolute", 0.0, 1.0, 1.5, 1.0),
        ("absolute", 0.0, 1.6, 1.5, math.inf),
        ("huber", 3.0, 0.5, 0.0, 2 + math.log(2)),
        ("poisson", 1.0, 0.0, 0, 1 - math.exp(-1)),
        ("log", 0.3, 0.3, 1, 0.0),
    ],
)
def test_budget_by_hand(name, p, target, y, wanted):
    assert price(record_of(name), p, target, y) == pytest.approx(wanted, rel=1e-6)


class Layer(BaseModel):
    loss: LossChoice = LossChoice(name="squared")


@pytest.mark.parametrize("given", ["hinge", {"quantile": {"tau": 0.9}}])
def test_choice_reads_and_writes_yaml_values(given):
    layer = Layer.model_validate({"loss": given})
    assert layer.model_dump()["loss"] == given
    assert Layer.model_validate(layer.model_dump()) == layer
    assert layer.loss.resolve(LOSSES).record(SHARED_RECORD, layer.loss.parameters).shape == (1,)


def test_choice_accepts_a_name_without_parameters():
    assert Layer.model_validate({"loss": {"hinge": None}}).loss == LossChoice(name="hinge")


@pytest.mark.parametrize("given", [3, ["hinge"], {"hinge": {}, "squared": {}}, {"quantile": {"tau": "much"}}])
def test_choice_refuses_what_is_no_loss(given):
    with pytest.raises(ValidationError):
        Layer.model_validate({"loss": given})


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("hinje", {}, "did you mean 'hinge'"),
        ("quantile", {"tua": 0.1}, "did you mean 'tau'"),
        ("hinge", {"tau": 0.1}, "loss.hinge.tau: unknown key; the loss has no parameters"),
        ("quantile", {"tau": 1.0}, "got 1, wanted more than 0 and less than 1"),
        ("quantile", {"tau": math.nan}, "got nan, wanted more than 0 and less than 1"),
        ("logistic", {"lower": 3, "upper": 3}, "got labels from 3 to 3, wanted lower below upper"),
    ],
)
def test_unknown_names_and_bad_parameters_are_named(name, parameters, text):
    with pytest.raises(ConfigError, match=text):
        LossChoice(name=name, parameters=parameters).resolve(LOSSES).record(SHARED_RECORD, parameters)
