"""Sub-models: above the layer under test one that asks for several, each of which must have state of its own; below it
one that sees which of them it asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

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
_FIRST = 30  # records that show every kind of label

_PROBED = np.dtype([("submodel", "u8"), ("count", "u8"), ("most", "i8")])
_probed_by = state_of(_PROBED)


@helper
def _asked(layer, offset):
    """The offset of the chosen sub-model; notes which one it was asked for, and takes the first where there is none."""
    s = _probed_by(layer)
    number = offset // layer_of(layer).step
    s.most = max(s.most, int64(number))
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
    """Hands everything on, and sees which sub-models it is asked for."""

    name: ClassVar[str] = "watching"
    inputs = Inputs(passes_decisions=True)
    kernels = Kernels(_learn, _predict, _importance_to, _sensitivity)

    def __init__(self, parameters: Parameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(_PROBED, count=context.submodels)


class _OneOfSeveral(_Watching):
    """Hands every example to the sub-model chosen from Python."""

    name: ClassVar[str] = "one_of_several"
    kernels = Kernels(_learn, _predict)

    @classmethod
    def width(cls, parameters: Parameters) -> int:
        """Three sub-models."""
        return _SUBMODELS


@dataclass(frozen=True, slots=True)
class _Guard:
    """Zeros behind an array of a layer, which stay zeros unless a kernel writes past the array's end."""

    field: str
    before: NDArray[Any]  # where the array was; kept alive for whoever else knows its address
    behind: NDArray[np.uint8]


def _arrays(holder: Any) -> Iterator[tuple[Any, Any, NDArray[Any]]]:
    """The arrays on an object, in its dicts and lists and behind its records: what holds each, and under which key."""
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, np.ndarray):
            yield holder, key, value
        elif isinstance(value, dict | list):
            yield from _arrays(value)
        elif isinstance(value, Record):
            yield from _arrays(value.targets)


def _guard(layer: Reduction) -> list[_Guard]:
    """Move the arrays whose addresses the layer's state holds to where writing past their ends does no harm."""
    names = layer.state.dtype.names or ()
    held: dict[int, list[tuple[Any, Any, NDArray[Any]]]] = {}
    for place in _arrays(vars(layer)):
        held.setdefault(id(place[2]), []).append(place)
    guards = []
    for places in held.values():
        key, array = places[0][1:]
        fields = [name for name in names if layer.state[name][0] == array.ctypes.data]
        if not fields or key == "state" or not array.nbytes or not array.flags.c_contiguous:
            continue
        room = np.zeros(array.nbytes + min(64 * array.nbytes, 1 << 20) + 4096, np.uint8)
        moved = room[: array.nbytes].view(array.dtype).reshape(array.shape)
        moved[...] = array
        for holder, key, _ in places:
            holder[key] = moved
        for field in fields:
            layer.state[field] = moved if isinstance(layer.state, Record) else moved.ctypes.data
        guards.append(_Guard(fields[0], array, room[array.nbytes :]))
    return guards


class _Several:
    """A chain with the layer under test below one that asks for several sub-models.

    Args:
        bench: the chain without that layer.

    Raises:
        ConfigError: the layer refuses to stand there.
    """

    def __init__(self, bench: Bench) -> None:
        self.engine: Engine = bench.with_layer(_OneOfSeveral).engine()
        self._guards = _guard(self.engine.layers[1])

    def run(self, submodel: int, records: list[Example], learn: bool = True) -> NDArray[np.float32]:
        """Predictions of one sub-model; fails if it has written where nothing of the layer is."""
        self.engine.layers[0].state["submodel"] = submodel
        found = run(self.engine, records, learn)
        for guard in self._guards:
            room = f"{guard.before.size} numbers, and sub-model {submodel} of {_SUBMODELS} wrote past them"
            expect(not guard.behind.any(), f"state.{guard.field}", room, "room for each of context.submodels")
        return found


def submodels(bench: Bench) -> None:
    """Below a layer that asks for three sub-models, what one learns changes no prediction of another."""
    for learner in (0, 2):
        try:
            several = _Several(bench)
        except ConfigError:
            return  # the layer says itself that it cannot stand there
        records = bench.records()
        several.run(learner, records[:_FIRST])  # from here on the labels' range is known
        others = [learner_k for learner_k in range(_SUBMODELS) if learner_k != learner]
        before = [several.run(learner_k, records, learn=False) for learner_k in others]
        several.run(learner, records[_FIRST:])
        for learner_k, wanted in zip(others, before, strict=True):
            got = several.run(learner_k, records, learn=False)
            identical(got, wanted, f"sub-model {learner_k} after sub-model {learner} has learned")


def submodels_saved(bench: Bench) -> None:
    """What each of three sub-models has learned is saved and loaded."""
    try:
        saved, loaded = _Several(bench), _Several(bench)
    except ConfigError:
        return
    records = bench.records()
    for learner_k in range(_SUBMODELS):
        third = slice(learner_k * len(records) // _SUBMODELS, (learner_k + 1) * len(records) // _SUBMODELS)
        saved.run(learner_k, records[third])
    reload(saved.engine, loaded.engine)
    for learner_k in range(_SUBMODELS):
        got, wanted = (each.run(learner_k, records, learn=False) for each in (loaded, saved))
        identical(got, wanted, f"sub-model {learner_k} after loading")


def width(bench: Bench) -> None:
    """No sub-model of the layer below is asked beyond those that `width` says it needs."""
    if len(bench.layers) == 1:
        return
    try:
        engine = bench.with_layer(_Watching, above=1).engine()
    except ConfigError:
        return  # it wants a certain layer directly below it
    run(engine, bench.records())
    run(engine, bench.records(), learn=False)
    state = engine.layers[1].state
    count, most = int(state["count"][0]), int(state["most"][0])
    expect(most < count, "sub-models of the layer below", f"one asked that is number {most}, from 0", f"{count} in all")
