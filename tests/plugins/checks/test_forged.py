"""Shipped layers survive a model that somebody made up: extreme numbers in its arrays are refused or harmless."""

import faulthandler
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Reduction
from hutch.core.errors import HutchError
from hutch.core.kernel.abi import float32s_at, kernel, learn_next, state_of
from hutch.core.kernel.passing import pass_predict
from hutch.core.kernel.record import Record
from hutch.plugins.checks.chain import Bench, bench, expect, run
from hutch.plugins.manager import Plugins

_SECONDS = 20
_LEARNED = 30  # examples; groups end there
_WHOLE = (0, 1, 2, 1 << 8, 1 << 20, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)
_REAL = (0.0, -1.0, 1e-300, 1e300, -1e300, np.inf, np.nan)


REGISTRY = Plugins(only=()).registry


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="it is tried in a process of its own, which the system cannot fork")
@pytest.mark.parametrize("name", sorted(REGISTRY.reductions))
def test_a_forged_model_is_refused_or_does_no_harm(name: str) -> None:
    forged(bench(REGISTRY.reductions[name], REGISTRY))


def forged(bench: Bench) -> None:
    """A model that holds extreme numbers is refused, or does not crash and does not hang."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the new process starts no thread
        child = os.fork()
    if not child:
        try:
            os.close(reader)
            _try_all(bench, writer)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8", errors="replace") as told:
        lines = told.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    last = lines[-1] if lines else ""
    end = "no end" if status == -signal.SIGALRM else f"the process ended by signal {-status}"
    expect(status == 0, f"a model with {last}", end, "a refusal, by what limits() says")
    expect(last == "done", "a model with " + (lines or [""])[-2:][0], last, "a refusal in a HutchError")


def _try_all(bench: Bench, out: int) -> None:
    """Learn with each forged model; tells by lines what it tries, and `done`, or what was raised."""
    faulthandler.disable()  # what a crash says is said by the check
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    first, records = bench.engine(), bench.records(2 * _LEARNED)
    run(first, records[:_LEARNED])
    sound = {name: array.copy() for name, array in first.arrays().items()}
    for name, array in _forgeries(bench, sound):
        os.write(out, f"{name} = {array.reshape(-1)[-1]}\n".encode())
        signal.alarm(_SECONDS)
        with np.errstate(all="ignore"):
            try:
                engine = bench.engine()
                engine.restore(sound | {name: array})
                run(engine, records[_LEARNED:])
                run(engine, records[_LEARNED:], learn=False)
            except HutchError:
                pass
            except BaseException as error:
                os.write(out, f"{type(error).__name__}: {error}".replace("\n", " ").encode())
                return
        signal.alarm(0)
    os.write(out, b"done")


def _forgeries(bench: Bench, sound: dict[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Each array of the layer with its last number, or all numbers, extreme."""
    for name, array in sound.items():
        if not name.startswith("layer.0.") or not array.size:
            continue
        kind = array.dtype.kind
        for value in _WHOLE if kind in "iu" else _REAL if kind == "f" else ():
            for place in (-1, slice(None)) if array.size > 1 else (-1,):
                forgery = array.copy()
                forgery.reshape(-1)[place] = _as(value, array.dtype)
                yield name, forgery


def _as(value: float, dtype: np.dtype[Any]) -> Any:
    """The number in this dtype; of an integer its lowest bits."""
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(value).astype(dtype)
    return np.array([int(value) % (1 << 8 * dtype.itemsize)], np.uint64).astype(f"u{dtype.itemsize}").view(dtype)[0]


RING = np.dtype([("values", "u8"), ("place", "u8")])
ring_of = state_of(RING)
_RING = 8


@kernel
def ring_learn(layer, example, label, importance, offset):
    ring = ring_of(layer)
    float32s_at(ring.values, ring.place + uint64(1))[ring.place] = label
    ring.place = (ring.place + uint64(1)) % uint64(_RING)
    return learn_next(layer, example, label, importance, offset)


class Trusting(Reduction):
    """Keeps the latest labels in a ring, and takes a model's word for where it stands."""

    name: ClassVar[str] = "ring"
    kernels = Kernels(ring_learn, pass_predict)

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        self._values = np.zeros(_RING, np.float32)
        self.state = Record(RING, values=self._values)

    def saved(self) -> dict[str, NDArray[Any]]:
        return {"values": self._values, "place": self.state["place"]}


class Wary(Trusting):
    """Says where it can stand."""

    def limits(self) -> dict[str, Limits]:
        return {"place": Limits(0, _RING - 1)}


def test_a_layer_that_takes_a_models_word_is_found() -> None:
    with pytest.raises(AssertionError, match=r"a model with layer\.0\.ring\.place = "):
        forged(bench(Trusting, REGISTRY))
    forged(bench(Wary, REGISTRY))
