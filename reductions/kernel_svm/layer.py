"""A support vector machine with a kernel, learned online by LASVM.

It keeps examples in place of weights. Its score is that of a linear model over all features that the kernel stands for:

* `linear`: x·y, the features themselves.
* `rbf`: exp(-bandwidth |x - y|²).
* `poly`: (1 + x·y)^degree, all products of up to so many features.

Source: A. Bordes, S. Ertekin, J. Weston, L. Bottou, "Fast kernel classifiers with online and active learning", JMLR
2005; VW 9.11.9, `--ksvm`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.chain.stored import Stored, dense, room_for
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    kernel,
    record_of,
    shared_of,
    state_of,
    widen,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.flat import flat_of, flatten
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Within
from hutch.reductions.kernel_svm.memory import (
    FIELDS,
    SLOT,
    column_of,
    compare,
    order_of,
    similarity,
    slots_of,
    store,
)
from hutch.reductions.kernel_svm.steps import append, pool_of, score_of, take
from hutch.reductions.linear.layer import HashedLearner

Kernel = Literal["linear", "rbf", "poly"]
_0, _1 = np.float32(0), np.float32(1)


class KernelSvmParameters(Parameters):
    """Parameters of `kernel_svm`.

    Attributes:
        kernel: which features its scores are linear in.
        bandwidth: of `rbf`: how fast similarity falls with the squared distance.
        degree: of `poly`.
        l2: strength of regularisation; weights of examples lie between 0 and their importance.
        reprocess: support vectors that are adjusted after each new one.
        pool: examples that wait until there are so many, and are then learned.
        interactions: products of namespaces, each a list of names; `:` stands for every namespace, and a string of
            letters is a term too if namespaces are letters.
        permutations: a namespace with itself gives all pairs instead of those in order.
        duplicate_interactions: keep terms that are permutations of each other.
        ignore_linear: namespaces used only in interactions.
    """

    kernel: Kernel = "linear"
    bandwidth: Annotated[float, Within(gt=0)] = 1.0
    degree: Annotated[int, Within(ge=1, le=64)] = 2
    l2: Annotated[float, Within(gt=0)] = 1.0
    reprocess: Annotated[int, Within(ge=0, le=1 << 20)] = 1
    pool: Annotated[int, Within(ge=1, le=1 << 20)] = 1
    interactions: tuple[str | tuple[str, ...], ...] = ()
    permutations: bool = False
    duplicate_interactions: bool = False
    ignore_linear: tuple[str, ...] = ()


STATE = np.dtype(
    [
        *FIELDS,
        ("features", "u8"),  # address of the FEATURES record
        ("waiting", "u8"),  # address of uint64[pool]: slots of examples that wait
        ("waiting_count", "u8"),
        ("pool", "u8"),
        ("reprocess", "u8"),
        ("scale", "f4"),
    ]
)
own = state_of(STATE)


@helper
def _report(layer, example, label, importance, score):
    """Write score and loss; returns the score, the base of the example included."""
    e = example_of(example)
    score += e.base
    e.raw = e.updated = score
    known = label != UNLABELED and importance > _0
    e.loss = np.float64(max(_1 - score * label, _0) * importance) if known else 0.0
    return score


@helper
def _score(layer, example, label, importance, offset):
    """The score of an example that is not kept."""
    state = own(layer)
    count, square = flatten(state.features, state.sorted, example, offset)
    rows, values = flat_of(state.sorted, count)
    slots, order, total = slots_of(state), order_of(state), _0
    for position in range(state.supports):
        slot = slots[order[position]]
        total += similarity(state, rows, values, square, slot) * slot.alpha
    return _report(layer, example, label, importance, total / state.scale if state.supports > uint64(0) else _0)


@kernel
def predict(layer, example, label, importance, offset):
    """The score of an example."""
    return _score(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, keep the example, and learn those that wait if they are enough."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    if label == UNLABELED or not importance > _0 or shared.testing == 1:
        return _score(layer, example, label, importance, offset)
    widen(shared, label)
    count, square = flatten(state.features, state.sorted, example, offset)
    k, found = store(state, count, square, label, importance)
    if not found:
        return _report(layer, example, label, importance, _0)
    compare(state, k)
    score = score_of(state, column_of(state, k))
    pool_of(state)[state.waiting_count] = k
    state.waiting_count += uint64(1)
    if state.waiting_count == state.pool:
        state.waiting_count = uint64(0)
        for place in range(state.pool):
            waited = pool_of(state)[place]
            if state.pool > uint64(1):
                compare(state, waited)
            take(state, shared, waited)
    return _report(layer, example, label, importance, score)


_state_at = record_of(STATE)


@compiled
def restore(address, ends, supports, rows, values, numbers):
    """Keep the examples of a model in an empty state, the support vectors first; returns how many there was memory for.

    Args:
        address: of the STATE record.
        ends: int64 (examples): where the features of each end.
        supports: number of support vectors.
        rows: uint32 (features).
        values: float32 (features).
        numbers: float32 (examples, 4): label, importance, alpha and delta.
    """
    state, start = _state_at(address), 0
    for j in range(len(ends)):
        length, square = uint64(ends[j] - start), _0
        place = reserve(state.sorted, uint64(8) * max(length, uint64(1)))
        if place == uint64(0):
            return j
        own_rows, own_values = flat_of(state.sorted, length)
        for i in range(length):
            own_rows[i], own_values[i] = rows[uint64(start) + i], values[uint64(start) + i]
            square += own_values[i] * own_values[i]
        k, found = store(state, length, square, numbers[j, 0], numbers[j, 1])
        if not found:
            return j
        slot = slots_of(state)[k]
        slot.alpha, slot.delta, start = numbers[j, 2], numbers[j, 3], ends[j]
        if j < supports:
            compare(state, k)
            append(state, k)
        else:
            state.waiting_count += uint64(1)
            pool_of(state)[state.waiting_count - uint64(1)] = k
    return len(ends)


_BUFFERS = ("slots", "order", "free", "rows", "values", "spare_rows", "spare_values", "sorted", "gram", "column")
_NUMBERS = ("label", "importance", "alpha", "delta")


class KernelSvm(HashedLearner):
    """A support vector machine with a kernel.

    Raises:
        ConfigError: several sub-models.
    """

    name: ClassVar[str] = "kernel_svm"
    Parameters: ClassVar[type[Parameters]] = KernelSvmParameters
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: KernelSvmParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(
                f"{self.name}: got {context.submodels} sub-models, wanted one: it keeps one set of examples"
            )
        p, self._buffers = parameters, {name: Buffer() for name in _BUFFERS}
        self.state = Record(
            STATE,
            **self._buffers,
            features=self._features.record,
            kernel=get_args(Kernel).index(p.kernel),
            degree=p.degree,
            bandwidth=p.bandwidth,
            scale=p.l2,
            reprocess=p.reprocess,
            pool=p.pool,
            waiting=np.zeros(p.pool, np.uint64),
        )
        self._incoming: dict[str, NDArray[Any]] | None = None

    def _set_range(self, shared: NDArray[Any]) -> None:
        """Scores are not clipped."""

    @property
    def answers(self) -> Answers:
        """A score of two labels, by hinge loss."""
        loss = LossChoice(name="hinge")
        kind = loss.resolve(self.context.losses).kind
        return replace(super().answers, labels=(-1.0, 1.0), loss=loss, loss_kind=kind)

    def _bytes(self, name: str, kind: Any, count: int) -> NDArray[Any]:
        """The first elements in a buffer; kernels exchange some buffers for each other."""
        place = int(self.state[name][0])
        return next(each for each in self._buffers.values() if each.address == place).read(kind, count)

    @property
    def support_count(self) -> int:
        """Number of support vectors."""
        return int(self.state["supports"][0])

    def saved(self) -> dict[str, NDArray[Any]]:
        """The support vectors in their order, and the examples that wait."""
        if self._incoming is not None:
            return self._incoming
        supports, waiting = self.support_count, int(self.state["waiting_count"][0])
        pool = self.state.targets["waiting"][:waiting]  # type: ignore[union-attr]
        kept = np.concatenate([self._bytes("order", np.uint64, supports), pool]).astype(np.int64)
        slots, used = self._bytes("slots", SLOT, int(self.state["slot_count"][0]))[kept], int(self.state["used"][0])
        lengths = slots["length"].astype(np.int64)
        places = np.repeat(slots["start"].astype(np.int64) - np.cumsum(lengths) + lengths, lengths)
        places += np.arange(len(places))
        return {
            "supports": self.state["supports"],
            "ends": np.cumsum(lengths),
            "rows": self._bytes("rows", np.uint32, used)[places],
            "values": self._bytes("values", np.float32, used)[places],
            "numbers": np.stack([slots[name] for name in _NUMBERS], axis=1),
        }

    def limits(self) -> Mapping[str, Limits]:
        """Counts within the memory of the examples; the rest are numbers."""
        rows = int(self.context.shared["mask"][0])
        return {
            "supports": Limits(0, 1 << 40),
            "ends": Limits(0, 1 << 40, grows=True),
            "rows": Limits(0, rows, grows=True),
            "values": Limits(finite=True, grows=True),
            "numbers": Limits(finite=True, grows=True),
        }

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """All examples have features, rising rows and numbers.

        Raises:
            ModelError: they do not.
        """
        supports, ends, rows, values, numbers = (dense(arrays[name]) for name in self.saved())
        count, lengths = len(ends), np.diff(ends, prepend=0)
        wrong = len(numbers) != count or not 0 <= count - int(supports[0]) < self.parameters.pool
        wrong |= len(rows) != len(values) or len(rows) != (int(ends[-1]) if count else 0) or bool((lengths < 0).any())
        if wrong:
            raise ModelError(f"{self.name}: got {count} examples, {int(supports[0])} support vectors and {len(rows)} "
                             "features, which do not fit each other")  # fmt: skip
        falls = np.flatnonzero(np.diff(rows.astype(np.int64)) <= 0) + 1
        if np.setdiff1d(falls, ends).size:
            raise ModelError(f"{self.name}: got an example whose rows do not rise")

    def loading(self, arrays: Mapping[str, Stored]) -> None:
        """Make room for the model's examples."""
        self._incoming = room_for(arrays)

    def loaded(self) -> None:
        """Keep the model's examples, and compute their kernels again.

        Raises:
            ModelError: there is no memory for them.
        """
        found, self._incoming = self._incoming or {}, None
        for name in ("supports", "slot_count", "free_count", "used", "live", "waiting_count"):
            self.state[name] = 0
        arrays = (found[name] for name in ("rows", "values", "numbers"))
        if restore(self.state.address, found["ends"], int(found["supports"][0]), *arrays) < len(found["ends"]):  # type: ignore[union-attr]
            raise ModelError(f"{self.name}: its {len(found['ends'])} examples need more memory than there is")
