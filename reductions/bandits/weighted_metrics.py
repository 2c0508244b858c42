"""Several metrics of each decision, learned apart, and weighed only when actions are scored.

With the weight w_k of metric k, the greater the better, and m_k(x, a) the layer below's prediction of it for action a,
the score of a, the lower the better, is

    c(x, a) = - Σ w_k m_k(x, a)

Each metric has a sub-model of its own, which learns what was seen of that metric for the chosen action. None of them
depends on the weights, so these may change at any time. A metric that was not seen teaches nothing. Where the layer
below knows the posterior variance v_k of its predictions, that of the score is Σ w_k² v_k: the errors of different
metrics count as independent.

Source: S. Natarajan, P. Tadepalli, "Dynamic preferences in multi-criteria reinforcement learning", ICML 2005; linear
scalarisation, D. Roijers et al., "A survey of multi-objective sequential decision-making", JAIR 2013.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import METRICS
from hutch.core.chain.declarations import Inputs, Parallel
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.chain.stored import Stored, dense
from hutch.core.errors import ConfigError, ModelError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    sensitivity_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.loss import kinds
from hutch.core.loss.kernels import value_of
from hutch.core.parameters import ExampleValue, Parameters
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.reductions.bandits.seen_metrics import weigh_metrics

_0 = np.float32(0)


class WeightedMetricsParameters(Parameters):
    """Parameters of `weighted_metrics`.

    Attributes:
        weights: of each metric, by its name: what one more of it is worth; below 0 where less is better.
    """

    weights: Annotated[Mapping[str, float], ExampleValue({"right": 1.0, "price": -0.5})]


STATE = np.dtype(
    [
        ("count", "i8"),  # metrics, in the order of their names
        ("weights", "u8"),  # address of float64[count]
        ("names", "u8"),  # address of uint32[count]: the index of each one's feature
        ("namespace", "u8"),  # id
        ("loss", "u8"),  # address of the LOSS record of the layer below
        ("built", "u8"),  # BUFFER of the example without metrics: starts int64, ids and indices uint32, values float32
    ]
)
own = state_of(STATE)


@inlined
def _is_plain(state, e):
    """Whether the example shows neither metrics nor features of value 0."""
    plain, ids, x = True, uint32s_at(e.namespace_ids, e.namespace_count), float32s_at(e.values, e.length)
    for j in range(e.namespace_count):
        plain &= uint64(ids[j]) != state.namespace
    for i in range(e.length):
        plain &= x[i] != _0
    return plain


@helper
def _hide(state, e):
    """Make the example show no metrics, and no zeros, which readers keep for them; without memory no features."""
    if _is_plain(state, e):
        return
    spaces, length = e.namespace_count, e.length
    address = reserve(state.built, uint64(8) * (spaces + uint64(1) + length) + uint64(4) * spaces)
    if address == uint64(0):
        e.length = e.namespace_count = uint64(0)
        return
    place = address + uint64(8) * (spaces + uint64(1))
    old, starts = int64s_at(e.namespaces, spaces + uint64(1)), int64s_at(address, spaces + uint64(1))
    indices, x = uint32s_at(e.indices, length), float32s_at(e.values, length)
    new, values = uint32s_at(place, length), float32s_at(place + uint64(4) * length, length)
    old_ids, ids = uint32s_at(e.namespace_ids, spaces), uint32s_at(place + uint64(8) * length, spaces)
    n, kept = uint64(0), uint64(0)
    for j in range(spaces):
        if uint64(old_ids[j]) == state.namespace:
            continue
        starts[kept], ids[kept] = n, old_ids[j]
        for i in range(uint64(old[j] - old[0]), uint64(old[j + uint64(1)] - old[0])):
            if x[i] != _0:
                new[n], values[n] = indices[i], x[i]
                n += uint64(1)
        kept += uint64(1)
    starts[kept] = n
    show(e, (place, place + uint64(4) * length, n, address, place + uint64(8) * length, kept))


@helper
def _seen(state, features, k):
    """The value of metric k among the features of an example; UNLABELED if it was not seen."""
    first, values, length, namespaces, namespace_ids, spaces = features
    indices, x = uint32s_at(first, length), float32s_at(values, length)
    starts, ids = int64s_at(namespaces, spaces + uint64(1)), uint32s_at(namespace_ids, spaces)
    name = uint32s_at(state.names, uint64(state.count))[k]
    for j in range(spaces):
        if uint64(ids[j]) == state.namespace:
            for i in range(uint64(starts[j] - starts[0]), uint64(starts[j + uint64(1)] - starts[0])):
                if indices[i] == name:
                    return x[i]
    return UNLABELED


@helper
def _score(layer, example, label, importance, offset, learns):
    """Weigh the predictions of all metrics, made before those seen are learned; returns the score."""
    state, e = own(layer), example_of(example)
    read, score = shown_by(e), 0.0
    weights = float64s_at(state.weights, uint64(state.count))
    _hide(state, e)
    e.is_predicted = uint64(0)  # a layer above knows only the score
    for k in range(uint64(state.count)):
        value = _seen(state, read, k) if learns else UNLABELED
        if value != UNLABELED:
            learn_next(layer, example, value, importance, submodel(layer, offset, k))
        else:
            predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, k))
        score -= weights[k] * np.float64(e.raw)
    show(e, read)
    e.raw, e.loss = np.float32(score), 0.0
    if label != UNLABELED and importance > _0:
        e.loss = np.float64(value_of(state.loss, e.raw, label) * importance)
    return e.raw


@kernel
def predict(layer, example, label, importance, offset):
    """The score of an action."""
    return _score(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The score of an action, then let each metric that was seen of it be learned."""
    return _score(layer, example, label, importance, offset, label != UNLABELED)


@kernel
def sensitivity(layer, example, label, importance, offset):
    """The posterior variance of the score."""
    state, e = own(layer), example_of(example)
    read, total = shown_by(e), 0.0
    weights = float64s_at(state.weights, uint64(state.count))
    _hide(state, e)
    e.is_predicted = uint64(0)
    for k in range(uint64(state.count)):
        variance = sensitivity_next(layer, example, label, importance, submodel(layer, offset, k))
        total += weights[k] * weights[k] * np.float64(variance)
    show(e, read)
    return np.float32(total)


class WeightedMetrics(Reduction):
    """Scores actions by the weighted sum of what is predicted of several metrics.

    Raises:
        ConfigError: no metric, a weight that is not finite, names that cannot be told apart, or namespaces told apart
            by their first letters only.
    """

    name: ClassVar[str] = "weighted_metrics"
    Parameters: ClassVar[type[Parameters]] = WeightedMetricsParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    inputs = Inputs(keeps_zeros=True)
    keeps: ClassVar[Mapping[str, Limits]] = {"names": Limits(0, np.iinfo(np.uint32).max)}
    parallel = Parallel(merging={"names": "keep"})
    kernels = Kernels(learn, predict, sensitivity=sensitivity)

    def __init__(self, parameters: WeightedMetricsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, parser = parameters, context.parser
        self.metrics = dict(sorted(p.weights.items()))
        if not self.metrics or not all(map(math.isfinite, self.metrics.values())):
            got = "no metric" if not self.metrics else f"{dict(p.weights)}"
            raise ConfigError(f"weighted_metrics.weights: got {got}, wanted a finite weight for each of some metrics")
        if parser.namespaces != "name":
            raise ConfigError(f"weighted_metrics: got namespaces by {parser.namespaces}, wanted them by name")
        seed = hash_namespace(METRICS, parser.hash_seed, parser.hash)
        rows = (1 << context.bits) - 1
        names = np.array([hash_text(name, seed, parser.hash) & rows for name in self.metrics], np.uint32)
        for i, j in pairwise(np.argsort(names)):
            if names[i] == names[j]:
                one, other = (list(self.metrics)[k] for k in (i, j))
                raise ConfigError(f"weighted_metrics.weights: {one!r} and {other!r} have the same hash, wanted others")
        answers = self.answers
        if answers.loss is None or answers.loss_kind != kinds.SQUARED:
            got = answers.loss.name if answers.loss else "none"
            raise ConfigError(f"weighted_metrics: got the loss {got} below, wanted squared: weights need expectations")
        if not answers.sensitivity_is_variance:
            self.kernels = Kernels(learn, predict)
        self._names, self._weights = names, np.array(list(self.metrics.values()))
        self.incomplete = 0
        self.state = Record(
            STATE,
            count=len(names),
            weights=self._weights,
            names=names,
            namespace=namespace_id(METRICS, parser.namespaces),
            loss=context.loss(answers.loss),
            built=Buffer(),
        )

    @classmethod
    def width(cls, parameters: WeightedMetricsParameters) -> int:
        """A sub-model for each metric."""
        return max(len(parameters.weights), 1)

    def check_saved(self, arrays: Mapping[str, Stored]) -> None:
        """See that the model has learned these metrics."""
        if not np.array_equal(dense(arrays["names"]), self._names):
            wanted = f"those that it has learned, with other weights: got {', '.join(self.metrics)}"
            raise ModelError(f"weighted_metrics.weights: the model has other metrics; wanted {wanted}")

    def with_metrics(self, action: Mapping[str, Any], seen: Mapping[str, float]) -> dict[str, Any]:
        """The chosen action of a decision with what was seen of its metrics.

        Args:
            action: by namespace.
            seen: the value of each metric that was seen, by name.
        """
        return {**action, METRICS: dict(seen)}

    def with_seen(self, batch: Batch, row: int, seen: Mapping[str, float]) -> Batch:
        """A batch in which a row that has none holds what was seen of its metrics.

        Args:
            batch: stays as it is.
            row: of the chosen action.
            seen: the value of each metric that was seen, by name.
        """
        start, space, count = int(batch.row_ptr[row]), int(batch.row_namespaces[row]), len(seen)
        names = self._names[[list(self.metrics).index(name) for name in seen]]
        behind = np.arange(len(batch) + 1) > row
        starts = batch.namespace_ptr + count * (np.arange(len(batch.namespace_ptr)) >= space)
        return replace(
            batch,
            row_ptr=batch.row_ptr + count * behind,
            indices=np.insert(batch.indices, start, names),
            values=np.insert(batch.values, start, np.array(list(seen.values()), np.float32)),
            row_namespaces=batch.row_namespaces + behind,
            namespace_ptr=np.insert(starts, space, start),
            namespace_id=np.insert(batch.namespace_id, space, self.state["namespace"][0]),
        )

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """See that metrics are those of chosen actions, and let the cost of each be that of its metrics.

        Raises:
            DataError: unknown metrics, one twice, those of an action without a label, or a label without metrics.
        """
        namespace = int(self.state["namespace"][0])
        self.incomplete += weigh_metrics(batch, list(self.metrics), self._names, self._weights, namespace, learn)
