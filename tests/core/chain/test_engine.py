"""The engine with two toy layers: what the driver counts, whom it lets learn, and what it refuses to build."""

import numpy as np
import pytest
from numba import float32, uint64

from hutch.core.chain.driver import TALLY
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, Labels, LayerConfig, Parameters, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.chain.statistics import Statistics
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.cache import compilations
from hutch.core.text.parser import ParserOptions, TextParser


@kernel
def base_predict(layer, example, label, importance, offset):
    e = example_of(example)
    s = shared_of(e.shared)
    weights = float32s_at(s.weights, s.mask + uint64(1))
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    prediction = e.base
    for i in range(e.length):
        prediction += weights[(uint64(indices[i]) * s.multiplier + offset) & s.mask] * values[i]
    e.raw, e.loss = prediction, importance * (prediction - label) ** 2 if label != UNLABELED else 0.0
    return prediction


@kernel
def base_learn(layer, example, label, importance, offset):
    e = example_of(example)
    s = shared_of(e.shared)
    weights = float32s_at(s.weights, s.mask + uint64(1))
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    prediction = e.base
    for i in range(e.length):
        prediction += weights[(uint64(indices[i]) * s.multiplier + offset) & s.mask] * values[i]
    e.raw, e.loss = prediction, importance * (prediction - label) ** 2
    for i in range(e.length):
        row = (uint64(indices[i]) * s.multiplier + offset) & s.mask
        weights[row] += float32(0.1) * importance * (label - prediction) * values[i]
    return prediction


@kernel
def pass_learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, offset)


@kernel
def pass_predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, offset)


@kernel
def careless_learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, float32(1), offset)


class Base(Reduction):
    name = "base"
    Parameters = Parameters
    takes, predicts, is_base = Labels.SIMPLE, Predictions.SCALAR, True

    @property
    def kernels(self) -> Kernels:
        return Kernels(base_learn, base_predict)


class Pass(Reduction):
    name = "pass"
    Parameters = Parameters

    @property
    def kernels(self) -> Kernels:
        return Kernels(pass_learn, pass_predict)


class Careless(Pass):
    """Has whatever it is given learned with importance 1."""

    name = "careless"

    @property
    def kernels(self) -> Kernels:
        return Kernels(careless_learn, pass_predict)


class Multiclass(Pass):
    name = "multiclass"
    takes, predicts = Labels.MULTICLASS, Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)

    @classmethod
    def width(cls, parameters: Parameters) -> int:
        return 3


REGISTRY = Registry()
for reduction in (Base, Pass, Careless, Multiclass):
    REGISTRY.add("reductions", reduction.name, reduction, "test")


def build(*names: str, **options: object) -> Engine:
    return Engine([LayerConfig(name, Parameters()) for name in names], REGISTRY, bits=10, **options)  # type: ignore[arg-type]


def run(engine: Engine, text: bytes, **options: object) -> object:
    return engine.run_batch(TextParser(engine.parser).parse(text), **options)[0]  # type: ignore[arg-type]


LINES = b"1 |a x y\n-1 2 |a x z\n|a y\n1 0 |a z\n1 |b x\n"


def test_driver_counts_as_vw_does() -> None:
    engine = build("base")
    run(engine, LINES)
    seen = engine.statistics
    assert (seen.examples, seen.features) == (5, 12)
    assert seen.weighted_examples == 5.0
    assert seen.weighted_labeled == 4.0
    assert seen.weighted_labels == 0.0


def test_unlabeled_and_weightless_examples_are_not_learned() -> None:
    engine = build("careless", "base")
    run(engine, b"|a x\n5 0 |a x\n")
    assert not engine.weights.any()
    run(engine, b"5 |a x\n")
    assert engine.weights.any()


def test_testing_changes_no_weight() -> None:
    engine = build("base")
    run(engine, LINES, learn=False)
    assert not engine.weights.any()


def test_a_layer_that_passes_through_changes_nothing() -> None:
    outputs = [run(build(*names), LINES * 5) for names in (("base",), ("pass", "pass", "base"))]
    np.testing.assert_array_equal(outputs[0].predictions, outputs[1].predictions)  # type: ignore[attr-defined]


def test_chains_in_any_combination_compile_nothing_again() -> None:
    for names in (("pass", "base"), ("base",)):
        run(build(*names), LINES)
    before = compilations()
    for names in (("pass", "pass", "pass", "base"), ("multiclass", "pass", "base"), ("multiclass", "base")):
        run(build(*names), b"1 |a x\n")
    assert compilations() == before


def test_rows_of_the_table_fall_due_at_the_thresholds() -> None:
    engine, due, tally = build("base"), [], np.zeros(1, TALLY)
    run(engine, b"1 |a x\n" * 3)  # an earlier run, which does not count

    def row(batch: object, i: int, outputs: object) -> float:
        due.append((i, Statistics.of(tally).weighted_examples))
        return 2 * due[-1][1]

    run(engine, b"1 |a x\n" * 9, row=row, row_at=1.0, tally=tally)
    assert due == [(0, 1.0), (1, 2.0), (3, 4.0), (7, 8.0)]
    assert engine.statistics.examples == 12


@pytest.mark.parametrize(("period", "after", "held_out"), [(2, 0, [1, 3, 5]), (0, 4, [4, 5]), (3, 4, [2, 4, 5])])
def test_examples_held_out_are_predicted_but_not_learned(period: int, after: int, held_out: list[int]) -> None:
    engine = build("base", parser=ParserOptions(constant=False))
    run(engine, b"".join(b"1 |a f%d\n" % i for i in range(6)), holdout=(period, after, 0))
    answers = run(engine, b"".join(b"|a f%d\n" % i for i in range(6)), learn=False).predictions  # type: ignore[attr-defined]
    assert [i for i in range(6) if answers[i] == 0] == held_out
    seen = engine.statistics
    assert seen.weighted_holdout == len(held_out)
    assert seen.sum_loss_holdout == len(held_out)  # (0 - 1)² each
    assert seen.sum_loss == seen.weighted_labeled == 6 - len(held_out)


@pytest.mark.parametrize(
    ("options", "features"), [({}, 4), ({"ignore": ["b"]}, 3), ({"keep": ["b"]}, 2), ({"keep": ["none"]}, 1)]
)
def test_namespaces_are_left_out_and_the_constant_stays(options: dict[str, object], features: int) -> None:
    engine = build("base", **options)
    run(engine, b"1 |a x y |b z\n")
    assert engine.statistics.features == features
    assert np.count_nonzero(engine.weights) == features


def test_ignoring_equals_not_writing() -> None:
    ignoring, plain = build("base", ignore=["b"]), build("base")
    run(ignoring, b"1 |a x y |b z |c q:2\n-1 |b z |c q\n" * 3)
    run(plain, b"1 |a x y |c q:2\n-1 |c q\n" * 3)
    np.testing.assert_array_equal(ignoring.weights, plain.weights)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "got no layer"),
        (("pass",), "chain[0].pass: got nothing below it"),
        (("base", "base"), "chain[0].base: a base learner comes last"),
        (
            ("multiclass", "multiclass", "base"),
            "chain[0].multiclass needs a layer below it that takes labels 'simple' and predicts 'scalar', but "
            "chain[1].multiclass takes labels 'multiclass' and predicts 'class'",
        ),
    ],
)
def test_layers_that_do_not_fit_are_named(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build(*names)
    assert message in str(error.value)


def test_more_sub_models_than_rows_is_an_error() -> None:
    with pytest.raises(ConfigError, match="weights.bits: got 1, wanted at least 2"):
        Engine([LayerConfig(n, Parameters()) for n in ("multiclass", "base")], REGISTRY, bits=1)


def test_resuming_is_exact() -> None:
    whole, first, second = build("pass", "base"), build("pass", "base"), build("pass", "base")
    run(whole, LINES * 4)
    run(first, LINES * 2)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    run(second, LINES * 2)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


def test_a_model_of_another_chain_is_refused() -> None:
    arrays = build("base").arrays()
    with pytest.raises(ModelError, match="weights: got shape"):
        Engine([LayerConfig("base", Parameters())], REGISTRY, bits=11).restore(arrays)
    del arrays["shared.time"]
    with pytest.raises(ModelError, match="the model lacks 'shared.time'"):
        build("base").restore(arrays)
