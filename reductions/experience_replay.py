"""Experience replay: examples are learned later, in another order, or several times.

A buffer has room for so many examples. An example takes the place of one drawn at random, which is learned when it
leaves; what is left at the end of a pass is learned then. Neighbours in the data thus no longer follow each other.
With `plays` above 1 further ones, drawn with replacement, are learned each time, and stay.

Source: L.-J. Lin, "Self-improving reactive agents based on reinforcement learning, planning and teaching", Machine
Learning 8, 1992; VW 9.11.9, `--replay_b`, `--replay_m` and `--replay_c`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.derived import declared
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Reduction
from hutch.core.chain.stored import Stored, dense, room_for
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    EXAMPLE,
    UNLABELED,
    array_at,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
    uint64s_at,
    widen,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, buffer_of, reserve
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)
_WORDS_OF_EXAMPLE = np.uint64(EXAMPLE.itemsize // 4)


class ExperienceReplayParameters(Parameters):
    """Parameters of `experience_replay`.

    Attributes:
        size: examples in the buffer.
        plays: how often each example is learned on average; 1 only changes their order.
        late_range: a label that is a number widens the range of predictions when it is learned, as with VW's
            `--replay_m`; else when it arrives, as with `--replay_b`.
    """

    size: Annotated[int, Within(ge=1, le=1 << 20)] = 100
    plays: Annotated[int, Within(ge=1, le=1 << 10)] = 1
    late_range: bool = False


SLOT = np.dtype(
    [
        ("filled", "u8"),
        ("offset", "u8"),  # rows of the sub-model that learns the example
        ("length", "u8"),
        ("spaces", "u8"),
        ("costs", "u8"),
        ("group", "i8"),
        ("label", "f4"),
        ("importance", "f4"),
        ("base", "f4"),
        ("unused", "f4"),
    ]
)
STATE = np.dtype(
    [
        ("size", "u8"),
        ("plays", "u8"),
        ("slots", "u8"),  # address of SLOT[size]
        ("buffers", "u8"),  # address of uint64[size]: BUFFER of the content of each slot
        ("replayed", "u8"),  # address of the EXAMPLE that the layers below learn
        ("layer", "u8"),  # address of the LAYER, once it has run
        ("numbers", "u8"),  # 1: labels are numbers, which widen the range of predictions when they arrive
        ("costs", "u8"),  # 1: labels are costs; examples with unknown ones are kept, too, as in VW
    ]
)
own = state_of(STATE)
state_at = record_of(STATE)
slots_at = array_at(SLOT)


@inlined
def _halves(count):
    """Words that `count` 4-byte numbers take."""
    return (count + uint64(1)) // uint64(2)


@inlined
def _words(length, spaces, costs):
    return spaces + uint64(1) + uint64(2) * _halves(length) + _halves(spaces) + uint64(2) * _halves(costs)


@inlined
def _show(e, slot, address):
    """Point an example to the content of a slot."""
    e.namespaces = address
    e.indices = address + uint64(8) * (slot.spaces + uint64(1))
    e.values = e.indices + uint64(8) * _halves(slot.length)
    e.namespace_ids = e.values + uint64(8) * _halves(slot.length)
    e.cost_classes = e.namespace_ids + uint64(8) * _halves(slot.spaces)
    e.costs = e.cost_classes + uint64(8) * _halves(slot.costs)
    e.length, e.namespace_count, e.cost_count = slot.length, slot.spaces, slot.costs
    e.group, e.label, e.importance, e.base = slot.group, slot.label, slot.importance, slot.base


@helper
def _play(layer, state, n):
    """Let the layer below learn what is in a slot, if it is filled."""
    slot = slots_at(state.slots, state.size)[n]
    if slot.filled == uint64(0):
        return
    e = example_of(state.replayed)
    _show(e, slot, buffer_of(uint64s_at(state.buffers, state.size)[n]).address)
    e.scores = e.targets = e.score_count = e.predictions = e.prediction_count = e.is_predicted = uint64(0)
    e.next_length = e.behind = uint64(0)
    if slot.label == UNLABELED and state.costs == uint64(0):
        return
    learn_next(layer, state.replayed, slot.label, slot.importance, slot.offset)


@helper
def _keep(state, n, example, label, importance, offset):
    """Put an example into a slot; without memory it is left out."""
    e, slot = example_of(example), slots_at(state.slots, state.size)[n]
    length, spaces, costs = e.length, e.namespace_count, e.cost_count
    address = reserve(uint64s_at(state.buffers, state.size)[n], uint64(8) * _words(length, spaces, costs))
    slot.filled = uint64(0)
    if address == uint64(0):
        return
    slot.filled, slot.offset, slot.length, slot.spaces, slot.costs = uint64(1), offset, length, spaces, costs
    slot.group, slot.label, slot.importance, slot.base = e.group, label, importance, e.base
    kept, words = example_of(state.replayed), uint64s_at(address, _words(length, spaces, costs))
    for k in range(len(words)):
        words[k] = uint64(0)  # what fills the last half of a word is saved, too
    _show(kept, slot, address)
    source, target = int64s_at(e.namespaces, spaces + uint64(1)), int64s_at(kept.namespaces, spaces + uint64(1))
    for i in range(spaces + uint64(1)):
        target[i] = source[i] - source[0]
    copy(uint32s_at(e.indices, length), uint32s_at(kept.indices, length))
    copy(float32s_at(e.values, length), float32s_at(kept.values, length))
    copy(uint32s_at(e.namespace_ids, spaces), uint32s_at(kept.namespace_ids, spaces))
    copy(uint32s_at(e.cost_classes, costs), uint32s_at(kept.cost_classes, costs))
    copy(float32s_at(e.costs, costs), float32s_at(kept.costs, costs))


@helper
def _take(layer, example, label, importance, offset):
    """Learn examples drawn from the buffer, and keep this one in the place of the last."""
    state, e = own(layer), example_of(example)
    shared, n = shared_of(e.shared), 0
    if state.numbers == uint64(1) and label != UNLABELED:
        widen(shared, label)
    copy(uint32s_at(example, _WORDS_OF_EXAMPLE), uint32s_at(state.replayed, _WORDS_OF_EXAMPLE))
    for _ in range(state.plays):
        shared.random_state, draw = merand48(shared.random_state)
        n = int(draw * np.float32(state.size))
        _play(layer, state, n)
    _keep(state, n, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and exchange the example for one of the buffer, which is learned."""
    own(layer).layer = layer
    prediction = predict_next(layer, example, label, importance, offset)
    if importance > _0 and shared_of(example_of(example).shared).testing == 0:
        _take(layer, example, label, importance, offset)
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """Predict; an example whose label names classes without costs is kept like others."""
    state, e = own(layer), example_of(example)
    state.layer = layer
    prediction = predict_next(layer, example, label, importance, offset)
    if state.costs == uint64(1) and importance > _0 and shared_of(e.shared).testing == 0:
        known, costs = False, float32s_at(e.costs, e.cost_count)
        for k in range(e.cost_count):
            known |= costs[k] != UNLABELED
        if e.cost_count > uint64(0) and not known:
            _take(layer, example, label, importance, offset)
    return prediction


@compiled
def play_all(address):
    """Learn what is left in the buffer, in the order of its slots, and empty it.

    Args:
        address: of the STATE record of a layer that has run.
    """
    state = state_at(address)
    for n in range(state.size):
        _play(state.layer, state, n)
        slots_at(state.slots, state.size)[n].filled = uint64(0)


@compiled
def fill(address, n, words):
    """Put words that were saved back into a slot; returns False without memory."""
    state = state_at(address)
    at = reserve(uint64s_at(state.buffers, state.size)[n], uint64(8) * uint64(len(words)))
    if at == uint64(0):
        return False
    copy(words, uint64s_at(at, uint64(len(words))))
    return True


_KEPT_LABELS = (Labels.SIMPLE, Labels.MULTICLASS, Labels.COST_SENSITIVE)


class ExperienceReplay(Reduction):
    """Learns examples later, in another order.

    Raises:
        ConfigError: the layers below take other labels than numbers, classes or costs of classes.
    """

    name: ClassVar[str] = "experience_replay"
    Parameters: ClassVar[type[Parameters]] = ExperienceReplayParameters
    kernels = Kernels(learn, predict, pass_importance_to, pass_sensitivity)

    def __init__(self, parameters: ExperienceReplayParameters, context: Context) -> None:
        super().__init__(parameters, context)
        takes = declared(self, "takes")
        if context.below is not None and takes not in _KEPT_LABELS:
            wanted = "one that learns numbers, classes or costs of classes"
            raise ConfigError(f"{self.name}: got {context.below.name!r} below it, wanted {wanted}")
        p = parameters
        self._slots, self._buffers = np.zeros(p.size, SLOT), [Buffer() for _ in range(p.size)]
        self._replayed = np.zeros(1, EXAMPLE)
        self._incoming: dict[str, NDArray[Any]] | None = None
        self.state = Record(
            STATE,
            size=p.size,
            plays=p.plays,
            slots=self._slots,
            buffers=np.array([each.address for each in self._buffers], np.uint64),
            replayed=self._replayed,
            numbers=takes == Labels.SIMPLE and not p.late_range,
            costs=takes == Labels.COST_SENSITIVE,
        )

    def end_pass(self) -> None:
        """Learn what is left in the buffer."""
        if self.state["layer"][0] and self._slots["filled"].any():
            self._replayed["shared"] = self.context.shared.ctypes.data
            play_all(self.state.address)  # type: ignore[union-attr]

    def saved(self) -> dict[str, NDArray[Any]]:
        """The examples in the buffer."""
        if self._incoming is not None:
            return self._incoming
        kept = np.flatnonzero(self._slots["filled"])
        words = (self._buffers[n].read(np.uint64, _size_of(self._slots[n])) for n in kept.tolist())
        return {
            "places": kept.astype(np.int64),
            "counts": np.stack([self._slots[name][kept].astype(np.int64) for name in _COUNTS], axis=1),
            "labels": np.stack([self._slots[name][kept] for name in _NUMBERS], axis=1),
            "words": np.concatenate([np.zeros(0, np.uint64), *words]),
        }

    def limits(self) -> Mapping[str, Limits]:
        """Places in the buffer; the rest is checked by `check_saved`."""
        return {
            "places": Limits(0, self.parameters.size - 1, grows=True),
            "counts": Limits(0, 1 << 40, grows=True),
            "labels": Limits(finite=True, grows=True),
            "words": Limits(grows=True),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """Every example has features, namespaces and a label that a reader could have made.

        Raises:
            ModelError: one has not.
        """
        places, counts, labels, words = (dense(arrays[name]) for name in ("places", "counts", "labels", "words"))
        rows, start = self.context.submodels * self.context.step, 0
        sound = counts.shape == (len(places), len(_COUNTS)) and labels.shape == (len(places), len(_NUMBERS))
        sound = sound and bool((np.diff(places) > 0).all()) and bool((labels[:, 1] >= 0).all())
        for offset, length, spaces, costs, _ in counts.tolist() if sound else ():
            size = _count_words(length, spaces, costs)
            part = np.ascontiguousarray(words[start : start + size])
            starts = part[: spaces + 1].view(np.int64)
            start += size
            sound &= len(part) == size and offset < rows and bool((np.diff(starts) >= 0).all())
            sound = sound and int(starts[0]) == 0 and int(starts[-1]) == length
            values = part[spaces + 1 + (length + 1) // 2 :].view(np.float32)[:length] if sound else np.zeros(0)
            if not sound or not np.isfinite(values).all():
                break
        if not sound or start != len(words):
            raise ModelError(f"{self.name}: its buffer holds an example that was never kept")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the model's examples."""
        self._incoming = room_for(arrays)

    def loaded(self) -> None:
        """Put the model's examples into the buffer.

        Raises:
            ModelError: there is no memory for them.
        """
        found, self._incoming = self._incoming or {}, None
        self._slots["filled"], start = 0, 0
        for row, n in enumerate(found["places"].tolist()):
            self._slots[n]["filled"] = 1
            for names, table in ((_COUNTS, "counts"), (_NUMBERS, "labels")):
                for name, value in zip(names, found[table][row], strict=True):
                    self._slots[n][name] = value
            size = _size_of(self._slots[n])
            if not fill(self.state.address, n, found["words"][start : start + size]):  # type: ignore[union-attr]
                raise ModelError(f"{self.name}: its buffer needs more memory than there is")
            start += size


_COUNTS = ("offset", "length", "spaces", "costs", "group")
_NUMBERS = ("label", "importance", "base")


def _count_words(length: int, spaces: int, costs: int) -> int:
    """Words of 8 bytes that an example takes."""
    return spaces + 1 + 2 * ((length + 1) // 2) + (spaces + 1) // 2 + 2 * ((costs + 1) // 2)


def _size_of(slot: Any) -> int:
    return _count_words(*(int(slot[name]) for name in ("length", "spaces", "costs")))
