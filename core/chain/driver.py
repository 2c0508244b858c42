"""The driver kernel: walks over a batch, runs the chain on its examples, and keeps the statistics."""

from typing import Any

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    caller_of,
    example_of,
    float32s_at,
    int64s_at,
    layer_of,
    no_unroll,
    prefetch,
    record_of,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import inlined, intrinsic

CACHE_LINE = np.uint64(64)
FETCHED = np.uint64(256)
"""At most this many bytes of a feature's rows are fetched ahead; a chain of many sub-models visits only few of them."""

RUN = np.dtype(
    [
        ("top", "u8"),  # address of the top LAYER
        ("example", "u8"),  # address of the EXAMPLE record that is refilled for each
        ("size", "u8"),  # examples in the batch
        ("learning", "i8"),  # 0 predicts only
        ("unlabeled", "u8"),  # 1: the chain takes no labels, and learns every example
        ("ahead", "u8"),  # 1: the base learner looks ahead itself
        ("fetched", "u8"),  # bytes of a feature's rows that are fetched ahead
        (
            "dump_at",
            "f8",
        ),  # stop after the example that lifts the run's sum of importance to this: a row of the table is due
        ("period", "i8"),  # examples of the pass whose number is divisible by this are only tested; 0: none
        ("after", "i8"),  # those that come after this number are only tested; 0: none
        ("counter", "i8"),  # examples of the pass before the batch
        ("row_ptr", "u8"),  # addresses of the arrays of the batch
        ("indices", "u8"),
        ("values", "u8"),
        ("row_namespaces", "u8"),
        ("namespace_ptr", "u8"),
        ("namespace_id", "u8"),
        ("labels", "u8"),
        ("importance", "u8"),
        ("base", "u8"),
        ("group", "u8"),
        ("cost_ptr", "u8"),  # of its cost-sensitive labels; 0: they have none
        ("cost_classes", "u8"),
        ("costs", "u8"),
        ("ignored", "u8"),  # namespace ids to leave out, or with `inverse` the only ones to keep
        ("ignored_count", "u8"),
        ("inverse", "i8"),
        ("keep", "u8"),  # address of the kernel `keep`, where namespaces are ignored; else 0
        ("show_costs", "u8"),  # address of the kernel `show_costs`, where labels have costs; else 0
        ("kept_indices", "u8"),  # room for one example's kept features and namespaces
        ("kept_values", "u8"),
        ("kept_namespaces", "u8"),
        ("kept_ids", "u8"),
        ("kept_length", "u8"),  # capacity in features and namespaces
        ("kept_count", "u8"),
        ("predictions", "u8"),  # out: float32 (examples)
        ("raw", "u8"),
        ("queries", "u8"),
        ("losses", "u8"),
        ("scores", "u8"),  # out: float32 (examples, classes)
        ("classes", "u8"),
        ("tally", "u8"),  # address of a TALLY, to which the counters of the run are added
    ]
)
"""Arguments of `drive`; the arrays behind the addresses must live while it runs."""

run_of = record_of(RUN)

TALLY = np.dtype(
    [
        ("weighted_unlabeled", "f8"),
        ("weighted_holdout", "f8"),
        ("weighted_labeled", "f8"),
        ("weighted_labels", "f8"),
        ("sum_loss", "f8"),
        ("sum_loss_holdout", "f8"),
        ("examples", "u8"),
        ("features", "u8"),
        ("queries", "u8"),  # taken over from SHARED when the counters are read
        ("recent_loss", "f8"),  # since they were last set to 0
        ("recent_loss_holdout", "f8"),
    ]
)
"""Counters of one run, by the names of SHARED: a difference of sums over a model's life would cancel."""

tally_of = record_of(TALLY)

_KEPT_ARRAYS = ("kept_indices", "kept_values", "kept_namespaces", "kept_ids")


def make_scratch(run: NDArray[Any], features: int, namespaces: int) -> tuple[NDArray[Any], ...]:
    """Arrays for the kept part of an example where namespaces are left out; the RUN record holds their addresses."""
    arrays: tuple[NDArray[Any], ...] = (
        np.zeros(features, np.uint32),
        np.zeros(features, np.float32),
        np.zeros(namespaces + 1, np.int64),
        np.zeros(namespaces, np.uint32),
    )
    run["kept_length"], run["kept_count"] = features, namespaces
    for name, array in zip(_KEPT_ARRAYS, arrays, strict=True):
        run[name] = array.ctypes.data
    return arrays


@inlined
def row_ptr_of(r):
    """`row_ptr` of a RUN record, int64[size + 1]."""
    return int64s_at(r.row_ptr, r.size + uint64(1))


@inlined
def features_of_batch(r):
    """Indices and values of all features of a batch."""
    count = uint64(row_ptr_of(r)[r.size])
    return uint32s_at(r.indices, count), float32s_at(r.values, count)


@inlined
def row_namespaces_of(r):
    """`row_namespaces` of a RUN record, int64[size + 1]."""
    return int64s_at(r.row_namespaces, r.size + uint64(1))


@inlined
def namespaces_of_batch(r):
    """Offsets and ids of all namespaces of a batch."""
    count = uint64(row_namespaces_of(r)[r.size])
    return int64s_at(r.namespace_ptr, count + uint64(1)), uint32s_at(r.namespace_id, count)


@inlined
def cost_ptr_of(r):
    """`cost_ptr` of a RUN record whose labels have costs, int64[size + 1]."""
    return int64s_at(r.cost_ptr, r.size + uint64(1))


@inlined
def costs_of_batch(r):
    """Classes and costs of all labels of a batch."""
    count = uint64(cost_ptr_of(r)[r.size])
    return uint32s_at(r.cost_classes, count), float32s_at(r.costs, count)


_BY_ADDRESS = "int64(uint64, uint64, uint64)"
"""Rarely needed functions are separate kernels, so that chains without them do not compile them."""


@intrinsic
def _call(typing_context: Any, address: Any, run: Any, first: Any, last: Any) -> Any:
    return caller_of(_BY_ADDRESS)


@entry(_BY_ADDRESS)
def keep(run, first, last):
    """Point the example to copies of the features of the namespaces, from the first on, that stay; returns 0.

    Args:
        run: address of a RUN record.
        first, last: the namespaces of the example, the last exclusive.
    """
    r = run_of(run)
    e = example_of(r.example)
    (indices, values), (starts, ids) = features_of_batch(r), namespaces_of_batch(r)
    ignored, count, features = uint32s_at(r.ignored, r.ignored_count), uint64(0), uint64(0)
    kept_indices, kept_values = uint32s_at(r.kept_indices, r.kept_length), float32s_at(r.kept_values, r.kept_length)
    kept_starts, kept_ids = int64s_at(r.kept_namespaces, r.kept_count + uint64(1)), uint32s_at(r.kept_ids, r.kept_count)
    for j in range(first, last):
        listed = False
        for k in range(r.ignored_count):
            listed |= ids[j] == ignored[k]
        if listed == (r.inverse != 0) or ids[j] == CONSTANT_NAMESPACE:  # the constant always stays
            kept_starts[count], kept_ids[count] = features, ids[j]
            count += uint64(1)
            for i in range(uint64(starts[j]), uint64(starts[j + uint64(1)])):
                kept_indices[features], kept_values[features] = indices[i], values[i]
                features += uint64(1)
    kept_starts[count] = features
    e.indices, e.values, e.length = r.kept_indices, r.kept_values, features
    e.namespaces, e.namespace_ids, e.namespace_count = r.kept_namespaces, r.kept_ids, count
    return int64(0)


@inlined
def _fetch(r, shared, i):
    """Prefetch the rows of an example's features, so that they are in the cache at its turn."""
    row_ptr, size = row_ptr_of(r), shared.stride * uint64(4)
    first, last, weights = uint64(row_ptr[i]), uint64(row_ptr[i + uint64(1)]), shared.weights
    indices, block, mask = uint32s_at(r.indices, last), shared.multiplier * size, shared.mask * size
    for line in range(uint64(0), r.fetched, CACHE_LINE):
        for k in range(first, last):
            prefetch(weights + (uint64(indices[k]) * block & mask) + line)


@entry(_BY_ADDRESS)
def show_costs(run, i, unused):
    """Point the example to the costs of example `i` of the batch; returns whether it has any.

    Args:
        run: address of a RUN record.
        i: number of the example.
        unused: the signature is that of `keep`.
    """
    r = run_of(run)
    e, ends = example_of(r.example), cost_ptr_of(r)
    first, last, given = uint64(ends[i]), uint64(ends[i + uint64(1)]), False
    e.cost_classes, e.costs = r.cost_classes + uint64(4) * first, r.costs + uint64(4) * first
    e.cost_count = last - first
    for k in range(first, last):
        no_unroll()
        given |= costs_of_batch(r)[1][k] != UNLABELED
    return int64(given)


@inlined
def _show(run, r, e, i):
    """Make the EXAMPLE record example `i`; returns whether it has a label."""
    row_ptr, row_namespaces, size = row_ptr_of(r), row_namespaces_of(r), r.size
    start, first, last = uint64(row_ptr[i]), uint64(row_namespaces[i]), uint64(row_namespaces[i + uint64(1)])
    if r.ignored_count != uint64(0):
        _call(r.keep, run, first, last)
    else:
        e.indices, e.values = r.indices + uint64(4) * start, r.values + uint64(4) * start
        e.length = uint64(row_ptr[i + uint64(1)]) - start
        e.namespaces, e.namespace_ids = r.namespace_ptr + uint64(8) * first, r.namespace_id + uint64(4) * first
        e.namespace_count, e.next_length, e.behind = last - first, uint64(0), uint64(0)
        if r.ahead == uint64(1) and i + uint64(1) < size:
            e.next_length = uint64(row_ptr[i + uint64(2)] - row_ptr[i + uint64(1)])
            e.behind = uint64(row_ptr[size] - row_ptr[i + uint64(1)])
            e.next_namespace_count = uint64(row_namespaces[i + uint64(2)]) - last
    group = int64s_at(r.group, size)
    e.base, e.label = float32s_at(r.base, size)[i], float32s_at(r.labels, size)[i]
    e.importance, e.group = float32s_at(r.importance, size)[i], group[i]
    e.last = uint64(i + uint64(1) == size or group[i + uint64(1)] != group[i])
    e.loss, e.query, e.raw, e.features = 0.0, np.float32(-1), np.float32(0), e.length
    if r.classes > uint64(0):
        e.scores = r.scores + uint64(4) * r.classes * i
    if r.unlabeled != uint64(0):
        e.label = np.float32(0)
    return e.label != UNLABELED if r.cost_ptr == uint64(0) else _call(r.show_costs, run, i, uint64(0)) != 0


@inlined
def tally(e, shared, run, labeled, held_out):
    """Take the weight and the loss of an example or a decision into the statistics.

    Args:
        e: its EXAMPLE record; a layer may have changed the importance: an active layer, a tournament's last match.
        shared: SHARED record.
        run: TALLY record.
        labeled: whether it has a label.
        held_out: whether it is only tested.

    Returns:
        False if it was only tested.
    """
    weight = e.importance
    if held_out and labeled:
        shared.weighted_holdout += weight
        shared.sum_loss_holdout += e.loss
        run.weighted_holdout += weight
        run.sum_loss_holdout += e.loss
        run.recent_loss_holdout += e.loss
        return False
    if labeled:
        shared.weighted_labeled += weight
        run.weighted_labeled += weight
    else:
        shared.weighted_unlabeled += weight
        run.weighted_unlabeled += weight
    shared.sum_loss += e.loss
    run.sum_loss += e.loss
    run.recent_loss += e.loss
    shared.examples += uint64(1)
    run.examples += uint64(1)
    shared.features += e.features
    run.features += e.features
    return True


@inlined
def _count(r, e, shared, run, labeled, held_out):
    """Take the example into the statistics."""
    shared.time += e.importance
    if tally(e, shared, run, labeled, held_out) and labeled and r.cost_ptr == uint64(0):
        shared.weighted_labels += np.float64(e.label) * e.importance
        run.weighted_labels += np.float64(e.label) * e.importance


@entry("int64(uint64, int64)")
def drive(run, start):
    """Run examples `start`, `start + 1`, … of a batch through the chain.

    Args:
        run: address of a RUN record.
        start: the first example.

    Returns:
        The number of the next example.
    """
    r = run_of(run)
    size, learning, top, example = r.size, r.learning != 0, r.top, r.example
    period, after, counter = r.period, r.after, r.counter + start
    e, layer = example_of(example), layer_of(top)
    shared, counted = shared_of(e.shared), tally_of(r.tally)
    predictions, raw = float32s_at(r.predictions, size), float32s_at(r.raw, size)
    queries, losses = float32s_at(r.queries, size), float32s_at(r.losses, size)
    e.score_count, e.scores = r.classes, uint64(0)
    for i in range(uint64(start), size):
        if r.ahead == uint64(0) and i + uint64(1) < size:
            _fetch(r, shared, i + uint64(1))
        labeled = _show(run, r, e, i)
        e.number = shared.examples
        e.line += uint64(1)
        label, weight = e.label, e.importance
        counter += 1
        held_out = learning and ((period > 0 and counter % period == 0) or (after > 0 and counter > after))
        if learning and labeled and weight > 0 and not held_out:
            predictions[i] = call(layer.learn, top, example, label, weight, uint64(0))
        else:
            predictions[i] = call(layer.predict, top, example, label, weight, uint64(0))
        raw[i], queries[i], losses[i] = e.raw, e.query, e.loss
        _count(r, e, shared, counted, labeled, held_out)
        if counted.weighted_labeled + counted.weighted_unlabeled >= r.dump_at and not (held_out and labeled):
            return int64(i) + 1
    return int64(size)
