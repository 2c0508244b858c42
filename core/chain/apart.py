"""Sub-models of a base learner that twins of a chain teach apart from each other, each a share of them.

Every twin walks over the whole batch. Its layers call the base learner for all sub-models in turn, but between them
stands a layer that passes on only the calls for its own share, and notes what comes of them. So what all sub-models
share, and what follows from labels alone (their range, the importance seen, the smallest class), becomes in each twin
what it would in the chain, at the same calls. Then the chain walks over the batch, and its layers are told what was
noted: predictions, losses, counters and rows of the progress table are made as ever, by the same code.
"""

from concurrent.futures import Executor, wait

import numpy as np
from numpy import uint64

from hutch.core.batch import Batch
from hutch.core.chain.contract import saved_of
from hutch.core.chain.driver import drive
from hutch.core.chain.engine import Engine
from hutch.core.chain.outputs import Learned
from hutch.core.errors import PluginError
from hutch.core.kernel.abi import (
    LAYER,
    array_at,
    example_of,
    kernel,
    learn_next,
    predict_next,
    record_of,
    shared_of,
    state_of,
    widen,
)
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import inlined
from hutch.core.kernel.passing import missing
from hutch.core.kernel.record import Record

CALL = np.dtype(
    [
        ("loss", "f8"),
        ("features", "u4"),
        ("prediction", "f4"),
        ("raw", "f4"),
        ("updated", "f4"),
    ]
)
"""What came of a call of the base learner."""

SHARE = np.dtype(
    [
        ("calls", "u8"),  # address of CALL (room): of this share, in their order
        ("room", "u8"),
        ("count", "u8"),  # of calls so far; when they are told again, of those told
        ("first", "u8"),  # offsets of its sub-models, the last exclusive
        ("last", "u8"),
        ("next", "u8"),  # address of the next SHARE
        ("apart", "u8", 10),  # what different threads write lies in different cache lines
    ]
)

_share_at, _share_of, _calls_at = record_of(SHARE), state_of(SHARE), array_at(CALL)
_0 = np.float32(0)
_CALLS = 3


@inlined
def _is_own(share, offset):
    return share.first <= offset < share.last


@inlined
def _note(share, example, prediction):
    """Note what came of a call; returns the prediction."""
    e, k = example_of(example), share.count
    share.count = k + uint64(1)
    if k < share.room:
        call = _calls_at(share.calls, share.room)[k]
        call.loss, call.features, call.raw, call.updated = e.loss, e.features, e.raw, e.updated
        call.prediction = prediction
    return prediction


@inlined
def _tell(layer, example, offset):
    """Tell what came of the next call for a sub-model; returns the prediction."""
    share, e = _share_of(layer), example_of(example)
    while not _is_own(share, offset):
        share = _share_at(share.next)
    call = _calls_at(share.calls, share.room)[share.count]
    share.count += uint64(1)
    e.loss, e.features, e.raw, e.updated = call.loss, call.features, call.raw, call.updated
    return call.prediction


@kernel
def learn_own(layer, example, label, importance, offset):
    """Let the base learner below learn if the sub-model is one of the share."""
    share = _share_of(layer)
    if _is_own(share, offset):
        return _note(share, example, learn_next(layer, example, label, importance, offset))
    widen(shared_of(example_of(example).shared), label)
    return _0


@kernel
def predict_own(layer, example, label, importance, offset):
    """Let the base learner below predict if the sub-model is one of the share."""
    share = _share_of(layer)
    if _is_own(share, offset):
        return _note(share, example, predict_next(layer, example, label, importance, offset))
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return _0


@kernel
def tell_learned(layer, example, label, importance, offset):
    """What came of learning."""
    widen(shared_of(example_of(example).shared), label)
    return _tell(layer, example, offset)


@kernel
def tell_predicted(layer, example, label, importance, offset):
    """What came of predicting."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return _tell(layer, example, offset)


def _layer(learn: AddressKernel, predict: AddressKernel, share: int, below: np.uint64) -> Record:
    others = dict.fromkeys(("importance_to", "sensitivity", "predict_many", "rewrite"), missing)
    return Record(LAYER, learn=learn, predict=predict, state=share, next=below, **others)


class Apart:
    """Twins of a chain that learn for it.

    Args:
        engine: the chain, which `may_learn_apart`.
        threads: how many twins there are.
        together: how many sub-models, whose rows fill cache lines, no two twins divide; at least so many for each.
    """

    def __init__(self, engine: Engine, threads: int, together: int) -> None:
        self._engine = engine
        self._shares = shares = np.zeros(threads, SHARE)
        bounds = (np.arange(threads + 1) * engine.submodels / (threads * together) + 0.5).astype(np.uint64) * together
        bounds[-1] = engine.submodels
        places = [shares.ctypes.data + SHARE.itemsize * t for t in range(threads)]
        shares["first"], shares["last"], shares["next"] = bounds[:-1], bounds[1:], np.roll(places, -1)
        self._calls = [np.zeros(0, CALL)] * threads
        self._twins = [engine.twin() for _ in range(threads)]
        self._between = [_layer(tell_learned, tell_predicted, places[0], engine.base_link[0])]
        for twin, share, place in zip(self._twins, shares, places, strict=True):
            self._between.append(_layer(learn_own, predict_own, place, twin.base_link[0]))
            twin.base_link[0] = self._between[-1].address
            twin.fetch_ahead(int(share["first"]), int(share["last"]))

    def learn(self, batch: Batch, holdout: tuple[int, int, int], pool: Executor) -> Learned:
        """Teach every sub-model a batch; the chain has learned it when it has walked over what is returned.

        Args:
            batch: the examples.
            holdout: as of `Engine.run_batch`.
            pool: runs all twins but one.
        """
        for t, twin in enumerate(self._twins):
            self._make_room(t, batch)
            twin.follow(self._engine)
        jobs = [pool.submit(twin.run_batch, batch, holdout=holdout, reuse=True) for twin in self._twins[1:]]
        try:
            self._twins[0].run_batch(batch, holdout=holdout, reuse=True)
        finally:
            wait(jobs)
        for job in jobs:
            job.result()
        self._take_over()
        return Learned(batch, self._tell)

    def _make_room(self, t: int, batch: Batch) -> None:
        share = self._shares[t]
        room = _CALLS * len(batch) * int(share["last"] - share["first"]) + len(batch.costs)
        if len(self._calls[t]) < room:
            self._calls[t] = np.empty(room, CALL)
        share["calls"], share["room"], share["count"] = self._calls[t].ctypes.data, room, 0

    def _take_over(self) -> None:
        """Let the chain have what its twins have learned beside the weights."""
        if (self._shares["count"] > self._shares["room"]).any():
            names = ", ".join(layer.name for layer in self._engine.layers[:-1])
            raise PluginError(f"{names}: a sub-model was taught more often than `teaches_by_labels` allows")
        own, *learned = (saved_of(engine.layers[-1]) for engine in (self._engine, *self._twins))
        for name in self._engine.layers[-1].learns_apart or ():
            for arrays, share in zip(learned, self._shares, strict=True):
                taught = slice(int(share["first"]), int(share["last"]))
                own[name][taught] = arrays[name][taught]

    def _tell(self, run: int, start: int) -> int:
        """Walk over a batch that was learned, as `drive` does."""
        if start == 0:
            self._shares["count"] = 0
        link = self._engine.base_link
        below, link[0] = int(link[0]), self._between[0].address
        self._engine.fetch_ahead(0, 0)
        try:
            done: int = drive(run, start)
            return done
        finally:
            link[0] = below
            self._engine.fetch_ahead(0, self._engine.submodels)
