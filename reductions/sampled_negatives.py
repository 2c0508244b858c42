"""Clicks alone: each is learned beside items drawn from those met, which count as not chosen.

After an example whose label is above that of a negative, the layer below learns `negatives` copies of it, with the
features of one namespace replaced by those of an item drawn uniformly from the items met so far, the example's own
excepted. The loss of the example is the mean over itself and its copies, each predicted before it was learned.

The score of user u and item i then tends to log P(i | u) + constant under logistic loss: items rank by how likely the
user takes them (M. Gutmann, A. Hyvärinen, "Noise-contrastive estimation", AISTATS 2010).

Source: Y. Hu, Y. Koren, C. Volinsky, "Collaborative filtering for implicit feedback datasets", ICDM 2008; drawn
negatives: S. Rendle et al., "BPR: Bayesian personalized ranking from implicit feedback", UAI 2009.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import COUNT, FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import DataError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    shared_of,
    state_of,
    uint32s_at,
    widen,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_importance_to, pass_predict, pass_sensitivity
from hutch.core.kernel.random import GOLDEN, mixed
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back, show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id

_0, _1 = np.float32(0), np.float32(1)
_ENOUGH = 100  # tries after which a single item is no accident
_MANY = 5000  # examples and negatives after which what was learned can be judged
_TRIES = 4  # of finding another item than the example's own
_COUNTED = uint64(0x3FFFFFFFFFFFFFFF)  # a number of things, to whoever reads a model


class SampledNegativesParameters(Parameters):
    """Parameters of `sampled_negatives`.

    Attributes:
        namespace: whose features are the item.
        negatives: items drawn for each example.
        label: of a negative; examples with a label above it are those beside which items are drawn.
        weight: importance of a negative, in that of its example.
        items: places for items; two items may share one, which then holds the later.
        width: features that an item has at most.
    """

    namespace: str
    negatives: Annotated[int, Within(ge=1, le=1000)] = 4
    label: float = -1.0
    weight: Annotated[float, Within(gt=0, le=1e6)] = 1.0
    items: Annotated[int, Within(ge=2, le=1 << 24)] = 1 << 15
    width: Annotated[int, Within(ge=1, le=1 << 12)] = 8


STATE = np.dtype(
    [
        ("name", "u4"),  # id of the namespace
        ("label", "f4"),
        ("weight", "f4"),
        ("negatives", "i8"),
        ("items", "i8"),
        ("width", "i8"),
        ("seed", "u8"),
        ("keys", "u8"),  # address of int64[items]: a hash of the item in each place, 0 without one
        ("lengths", "u8"),  # address of int64[items]: of its features
        ("indices", "u8"),  # address of uint32[items, width]
        ("values", "u8"),  # address of float32[items, width]
        ("taken", "u8"),  # address of int64[items]: the places that hold an item, in the order in which they were taken
        ("counts", "u8"),  # address of int64[2]: places taken, items drawn
        (
            "sums",
            "u8",
        ),  # address of float64[4] over what was learned in this run: losses, weights, labels, their squares
        ("built", "u8"),  # BUFFER of a copy: starts int64, indices uint32, values float32
    ]
)
own = state_of(STATE)


@helper
def _item_of(state, e):
    """Where the item's features begin and end in the example, (0, 0) without one."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(int64(e.namespace_count)):
        if ids[j] == state.name:
            return starts[j] - starts[0], starts[j + 1] - starts[0]
    return int64(0), int64(0)


@helper
def _key_of(indices, values, first, last):
    """A hash of features, above 0."""
    found = uint64(last - first)
    for i in range(first, last):
        found = mixed(found * GOLDEN + uint64(indices[i]))
        found = mixed(found + uint64(int64(np.float64(values[i]) * 65536.0)))
    return int64(max(found & _COUNTED, uint64(1)))


@helper
def _remember(state, e, key, first, last):
    """Put an item into its place."""
    at, size = key % state.items, uint64(state.items)
    keys, counts = int64s_at(state.keys, size), int64s_at(state.counts, uint64(2))
    if keys[at] == key:
        return
    if keys[at] == 0 and counts[0] < state.items:
        int64s_at(state.taken, size)[counts[0]] = at
        counts[0] += 1
    keys[at], int64s_at(state.lengths, size)[at] = key, last - first
    room, start = uint64(state.width), uint64(4 * at * state.width)
    length = e.length
    copy(uint32s_at(e.indices, length)[first:last], uint32s_at(state.indices + start, room)[: last - first])
    copy(float32s_at(e.values, length)[first:last], float32s_at(state.values + start, room)[: last - first])


@helper
def _draw(state, key):
    """The place of an item other than that of the key; -1 if none was found."""
    counts, size = int64s_at(state.counts, uint64(2)), uint64(state.items)
    for _ in range(_TRIES):
        if counts[0] == 0:
            break
        counts[1] += 1
        number = mixed(state.seed + GOLDEN * uint64(counts[1]))
        at = int64s_at(state.taken, size)[int64(number % uint64(min(counts[0], state.items)))]
        if int64s_at(state.keys, size)[at] != key:
            return at
    return int64(-1)


@helper
def _replace(state, e, at, first, last):
    """Make the example show another item; False without memory."""
    spaces, length = e.namespace_count, e.length
    count = int64s_at(state.lengths, uint64(state.items))[at]
    total = uint64(int64(length) - (last - first) + count)
    address = reserve(state.built, uint64(8) * (spaces + uint64(1) + total))
    if address == uint64(0):
        return False
    old, starts = int64s_at(e.namespaces, spaces + uint64(1)), int64s_at(address, spaces + uint64(1))
    place, room, begin = address + uint64(8) * (spaces + uint64(1)), uint64(state.width), uint64(4 * at * state.width)
    indices, values = uint32s_at(e.indices, length), float32s_at(e.values, length)
    new, x = uint32s_at(place, total), float32s_at(place + uint64(4) * total, total)
    copy(indices[:first], new[:first])
    copy(values[:first], x[:first])
    copy(uint32s_at(state.indices + begin, room)[:count], new[first : first + count])
    copy(float32s_at(state.values + begin, room)[:count], x[first : first + count])
    copy(indices[last:], new[first + count :])
    copy(values[last:], x[first + count :])
    for j in range(int64(spaces) + 1):
        start = old[j] - old[0]
        starts[j] = start if start <= first else start - (last - first) + count
    show(e, (place, place + uint64(4) * total, total, address, e.namespace_ids, spaces))
    return True


@helper
def _add_up(state, losses, importance, label, negatives):
    """Sum up what was learned of an example and of negatives of some weight in its importance."""
    sums, other = float64s_at(state.sums, uint64(4)), np.float64(state.label)
    sums[0] += losses
    sums[1] += importance * (1.0 + negatives)
    sums[2] += importance * (label + negatives * other)
    sums[3] += importance * (label * label + negatives * other * other)


@kernel
def learn(layer, example, label, importance, offset):
    """Learn the example, and beside a positive one items that were not chosen."""
    state, e = own(layer), example_of(example)
    prediction = learn_next(layer, example, label, importance, offset)
    taught = label != UNLABELED and importance > _0 and shared_of(e.shared).testing == uint64(0)
    first, last = _item_of(state, e)
    if not taught or first == last or last - first > state.width:
        return prediction
    key = _key_of(uint32s_at(e.indices, e.length), float32s_at(e.values, e.length), first, last)
    if label > state.label:
        widen(shared_of(e.shared), state.label)
        outcome, read, known = outcome_of(e), shown_by(e), e.is_predicted
        losses, weights, share = e.loss, 1.0, importance * state.weight
        e.is_predicted = uint64(0)
        for _ in range(state.negatives):
            at = _draw(state, key)
            if at >= 0 and _replace(state, e, at, first, last):
                learn_next(layer, example, state.label, share, offset)
                losses += e.loss
                weights += np.float64(state.weight)
                show(e, read)
        e.is_predicted = known
        put_back(e, outcome)
        _add_up(state, losses, np.float64(importance), np.float64(label), weights - 1.0)
        e.loss = losses / weights
    _remember(state, e, key, first, last)
    return prediction


class SampledNegatives(Reduction):
    """Learns drawn items beside those that were chosen."""

    name: ClassVar[str] = "sampled_negatives"
    Parameters: ClassVar[type[Parameters]] = SampledNegativesParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    keeps: ClassVar[Mapping[str, Limits]] = {
        "keys": COUNT,
        "lengths": COUNT,
        "indices": Limits(0, (1 << 32) - 1),
        "values": FINITE,
        "taken": COUNT,
        "counts": COUNT,
    }
    known_failures: ClassVar[Mapping[str, str]] = {
        "loss_while_learning": "its loss counts the negatives, too",
        "lowers_loss": "items drawn as negatives may be those of positive examples",
    }
    kernels = Kernels(learn, pass_predict, pass_importance_to, pass_sensitivity)
    parameters: SampledNegativesParameters

    def __init__(self, parameters: SampledNegativesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p = parameters
        self.inputs = Inputs(namespaces=(p.namespace,), adds_examples=True)
        self._id = namespace_id(p.namespace, context.parser.namespaces)
        self._counts: NDArray[np.int64] = np.zeros(2, np.int64)
        self._sums: NDArray[np.float64] = np.zeros(4)
        self.state = Record(
            STATE,
            name=self._id,
            label=np.float32(p.label),
            weight=np.float32(p.weight),
            negatives=p.negatives,
            items=p.items,
            width=p.width,
            seed=context.seed,
            keys=np.zeros(p.items, np.int64),
            lengths=np.zeros(p.items, np.int64),
            indices=np.zeros((p.items, p.width), np.uint32),
            values=np.zeros((p.items, p.width), np.float32),
            taken=np.zeros(p.items, np.int64),
            counts=self._counts,
            sums=self._sums,
            built=Buffer(),
        )

    def limits(self) -> Mapping[str, Limits]:
        """Places, and numbers of features."""
        p = self.parameters
        return {**self.keeps, "lengths": Limits(0, p.width), "taken": Limits(0, p.items - 1)}

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Refuse an item that has more features than there is room for."""
        if learn and len(batch):
            lengths = np.diff(batch.namespace_ptr) * (batch.namespace_id == np.uint32(self._id))
            if lengths.max(initial=0) > self.parameters.width:
                got, width = f"an item with {lengths.max()} features", self.parameters.width
                raise DataError(f"sampled_negatives: got {got}, wanted at most {width}; a larger `width` takes more")

    def _known_without(self) -> float:
        """The mean loss of the best constant over what was learned; infinite where it is not known."""
        loss, (_, weight, labels, squares) = self.answers.loss, self._sums.tolist()
        mean = labels / weight
        if loss is not None and loss.name == "squared":
            return float(squares / weight - mean * mean)
        if loss is None or loss.name != "logistic":
            return math.inf
        given = dict(loss.parameters)
        low, high = given.get("lower", -1.0), given.get("upper", 1.0)
        share = (mean - low) / (high - low)
        return -share * math.log(share) - (1 - share) * math.log(1 - share) if 0 < share < 1 else math.inf

    def doubts(self) -> str | None:
        """That nothing was drawn, or that what was learned foretells no more than how many negatives there are."""
        if self._counts[0] == 1 and self._counts[1] >= _ENOUGH:
            where = f"the namespace {self.parameters.namespace!r}"
            return f"all examples have the same item in {where}: no negative was drawn"
        if self._sums[1] < _MANY:
            return None
        got, known = self._sums[0] / self._sums[1], self._known_without()
        if got < known or known == math.inf:
            return None
        losses = f"an average loss of {got:.3g}, and without any feature {known:.3g}"
        return f"{losses}: so far the features do not tell who takes which item, wanted more examples or other features"
