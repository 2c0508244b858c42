"""A layer that stands below the one under test and sees which of its sub-models that layer asks."""

from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.reduction import Context, Kernels, LayerConfig, Parameters, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    importance_to_next,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    sensitivity_next,
    state_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.plugins.checks.chain import Bench, run
from hutch.plugins.checks.expect import expect

_STATE = np.dtype([("count", "u8"), ("most", "i8")])
_state_of = state_of(_STATE)


@helper
def _within(layer, offset):
    """Note which sub-model is asked; the offset, or that of the first sub-model where there is no such one."""
    s = _state_of(layer)
    asked = offset // layer_of(layer).step
    s.most = max(s.most, int64(asked))
    return offset if asked < s.count else uint64(0)


@kernel
def _learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, _within(layer, offset))


@kernel
def _predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, _within(layer, offset))


@kernel
def _importance_to(layer, example, label, importance, offset):
    return importance_to_next(layer, example, label, importance, _within(layer, offset))


@kernel
def _sensitivity(layer, example, label, importance, offset):
    return sensitivity_next(layer, example, label, importance, _within(layer, offset))


class _Watching(Reduction):
    """Hands everything on."""

    name: ClassVar[str] = "watching"
    inputs = Inputs(passes_decisions=True)
    kernels = Kernels(_learn, _predict, _importance_to, _sensitivity)

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(_STATE, count=context.submodels)


def width(bench: Bench) -> None:
    """No sub-model of the layer below is asked beyond those that `width` says it needs."""
    top, *below = bench.layers
    if not below:
        return
    known = Registry({**bench.registry.reductions, _Watching.name: _Watching}, dict(bench.registry.losses))
    try:
        engine = Bench((top, LayerConfig(_Watching.name, None), *below), known, bench.labels).engine()
    except ConfigError:
        return  # it wants a certain layer directly below it
    run(engine, bench.records())
    run(engine, bench.records(), learn=False)
    state = engine.layers[1].state
    count, most = int(state["count"][0]), int(state["most"][0])
    expect(most < count, "sub-models of the layer below", f"one asked that is number {most}, from 0", f"{count} in all")
