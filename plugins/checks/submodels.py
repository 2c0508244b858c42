"""Sub-models: above the layer under test, a layer that uses several, each of which must have separate state; below it,
a layer that records which of them are called."""

from typing import ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Context, Kernels, Parameters, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    importance_to_next,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    sensitivity_next,
    state_of,
    submodel,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.plugins.checks.chain import Bench, Example, expect, identical, reload, run

_SUBMODELS = 3
_THREE = uint64(_SUBMODELS)
_FIRST = 30  # records that show every kind of label

_PROBED = np.dtype([("submodel", "u8"), ("count", "u8"), ("most", "i8"), ("between", "u8")])
_probed_by = state_of(_PROBED)


@helper
def _asked(layer, offset):
    """The offset of the chosen sub-model; records the requested one, and uses the first if it does not exist."""
    s = _probed_by(layer)
    rows = layer_of(layer).step * _THREE  # of one of its own sub-models
    number = offset // rows
    s.most = max(s.most, int64(number))
    s.between = max(s.between, offset % rows)
    return submodel(layer, offset if number < s.count else uint64(0), s.submodel)


@kernel
def _learn(layer, example, label, importance, offset):
    return learn_next(layer, example, label, importance, _asked(layer, offset))


@kernel
def _predict(layer, example, label, importance, offset):
    return predict_next(layer, example, label, importance, _asked(layer, offset))


@kernel
def _importance_to(layer, example, label, target, offset):
    return importance_to_next(layer, example, label, target, _asked(layer, offset))


@kernel
def _sensitivity(layer, example, label, importance, offset):
    return sensitivity_next(layer, example, label, importance, _asked(layer, offset))


class _Watching(Reduction):
    """Passes everything on to one of several sub-models, and records those of its own that are called."""

    name: ClassVar[str] = "watching"
    inputs = Inputs(passes_decisions=True)
    kernels = Kernels(_learn, _predict, _importance_to, _sensitivity)

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(_PROBED, count=context.submodels)

    @classmethod
    def width(cls, parameters: Parameters) -> int:
        """Three sub-models, so that its own lie three steps from each other."""
        return _SUBMODELS


class _OneOfSeveral(_Watching):
    """Passes every example to the sub-model chosen from Python."""

    name: ClassVar[str] = "one_of_several"
    kernels = Kernels(_learn, _predict)


def _run(several: Engine, submodel: int, records: list[Example], learn: bool = True) -> NDArray[np.float32]:
    """Predictions of one sub-model of the layer below `_OneOfSeveral`."""
    several.layers[0].state["submodel"] = submodel
    return run(several, records, learn)


def submodels(bench: Bench) -> None:
    """Below a layer that uses three sub-models, learning in one changes no prediction of another."""
    for learner in (0, 2):
        try:
            several = bench.with_layer(_OneOfSeveral).engine()
        except ConfigError:
            return  # the layer itself refuses this place
        records = bench.records()
        _run(several, learner, records[:_FIRST])  # from here on the labels' range is known
        before = {k: _run(several, k, records, learn=False) for k in range(_SUBMODELS) if k != learner}
        _run(several, learner, records[_FIRST:])
        for learner_k, wanted in before.items():
            got = _run(several, learner_k, records, learn=False)
            identical(got, wanted, f"sub-model {learner_k} after sub-model {learner} has learned")


def submodels_saved(bench: Bench) -> None:
    """The learned state of each of three sub-models is saved and loaded."""
    try:
        saved, loaded = (bench.with_layer(_OneOfSeveral).engine() for _ in range(2))
    except ConfigError:
        return
    records = bench.records()
    for learner_k in range(_SUBMODELS):
        third = slice(learner_k * len(records) // _SUBMODELS, (learner_k + 1) * len(records) // _SUBMODELS)
        _run(saved, learner_k, records[third])
    reload(saved, loaded)
    for learner_k in range(_SUBMODELS):
        got, wanted = (_run(each, learner_k, records, learn=False) for each in (loaded, saved))
        identical(got, wanted, f"sub-model {learner_k} after loading")


def width(bench: Bench) -> None:
    """Sub-models of the layer below are called where they lie, and none beyond those that `width` declares."""
    if len(bench.layers) == 1:
        return
    try:
        engine = bench.with_layer(_Watching, above=1).engine()
    except ConfigError:
        return  # it needs a certain layer directly below it
    run(engine, bench.records())
    run(engine, bench.records(), learn=False)
    count, most = (int(engine.layers[1].state[name][0]) for name in ("count", "most"))
    expect(most < count, "sub-models of the layer below", f"one asked that is number {most}, from 0", f"{count} in all")
    between = int(engine.layers[1].state["between"][0])
    wanted = "that of a sub-model: submodel(layer, offset, i)"
    expect(between == 0, "offset for the layer below", f"{between} rows behind one", wanted)
