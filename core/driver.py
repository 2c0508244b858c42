"""The driver kernel: walks over a batch, lets the chain predict or learn, keeps the statistics."""

import numpy as np
from numpy import uint64

from hutch.core.abi import (
    UNLABELED,
    call,
    example_at,
    float32s_at,
    int64s_at,
    layer_at,
    prefetch,
    shared_at,
    uint32s_at,
    view,
)
from hutch.core.kernel_cache import entry
from hutch.core.kernel_helper import njit

CACHE_LINE = np.uint64(64)
FETCHED = np.uint64(256)
"""At most so many bytes of a feature's rows are fetched ahead; a chain of many sub-models visits only few of them."""

RUN = np.dtype(
    [
        ("top", "u8"),  # address of the top LAYER
        ("example", "u8"),  # address of the EXAMPLE record that is filled anew for each
        ("size", "i8"),  # examples in the batch
        ("learning", "i8"),  # 0 predicts only
        ("dump_at", "f8"),  # stop after the example that lifts the sum of importance to this: a row of the table is due
        ("period", "i8"),  # examples of the pass whose number divides by this are only tested; 0: none
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
        ("ignored_count", "i8"),
        ("inverse", "i8"),
        ("kept_indices", "u8"),  # room for one example's kept features and namespaces
        ("kept_values", "u8"),
        ("kept_namespaces", "u8"),
        ("kept_ids", "u8"),
        ("predictions", "u8"),  # out: float32 (examples)
        ("raw", "u8"),
        ("queries", "u8"),
        ("losses", "u8"),
        ("scores", "u8"),  # out: float32 (examples, classes)
        ("classes", "i8"),
    ]
)
"""What `drive` is told; the arrays behind the addresses must live while it runs."""

run_at = view(RUN)


@njit
def _keep(indices, values, starts, ids, first, last, ignored, inverse, scratch):  # type: ignore[no-untyped-def]
    """Copy the features of the namespaces that stay; returns how many features and namespaces that are."""
    kept_indices, kept_values, kept_starts, kept_ids = scratch
    features, count = 0, 0
    for j in range(first, last):
        listed = False
        for k in range(len(ignored)):
            listed |= ids[j] == ignored[k]
        if listed == inverse or ids[j] == 128:  # the constant stays whatever is named
            kept_starts[count], kept_ids[count] = features, ids[j]
            count += 1
            for i in range(starts[j], starts[j + 1]):
                kept_indices[features], kept_values[features] = indices[i], values[i]
                features += 1
    kept_starts[count] = features
    return features, count


@njit
def _fetch(shared, indices, start, stop):  # type: ignore[no-untyped-def]
    """Ask for the rows of an example's features, so that they are at hand when its turn comes."""
    size = shared.multiplier * shared.stride * uint64(4)
    for line in range(uint64(0), min(size, FETCHED), CACHE_LINE):
        for i in range(uint64(start), uint64(stop)):
            prefetch(shared.weights + uint64(indices[i]) * size + line)


@entry("int64(uint64, int64)")
def drive(run, start):  # type: ignore[no-untyped-def]
    """Run examples `start`, `start + 1`, … of a batch through the chain.

    Args:
        run: address of a RUN record.
        start: the first example.

    Returns:
        The number of the next example.
    """
    r = run_at(run)[0]
    size, learning, dump_at, top, example = r.size, r.learning != 0, r.dump_at, r.top, r.example
    period, after, counter = r.period, r.after, r.counter + start
    row_ptr, row_namespaces = int64s_at(r.row_ptr, size + 1), int64s_at(r.row_namespaces, size + 1)
    features, namespaces = row_ptr[size], row_namespaces[size]
    indices, values = uint32s_at(r.indices, features), float32s_at(r.values, features)
    namespace_ptr, namespace_id = int64s_at(r.namespace_ptr, namespaces + 1), uint32s_at(r.namespace_id, namespaces)
    labels, importance = float32s_at(r.labels, size), float32s_at(r.importance, size)
    base, group = float32s_at(r.base, size), int64s_at(r.group, size)
    ignored, inverse = uint32s_at(r.ignored, r.ignored_count), r.inverse != 0
    scratch = (
        uint32s_at(r.kept_indices, features),
        float32s_at(r.kept_values, features),
        int64s_at(r.kept_namespaces, namespaces + 1),
        uint32s_at(r.kept_ids, namespaces),
    )
    predictions, raw = float32s_at(r.predictions, size), float32s_at(r.raw, size)
    queries, losses = float32s_at(r.queries, size), float32s_at(r.losses, size)
    has_costs = r.cost_ptr != 0
    cost_ptr = int64s_at(r.cost_ptr, size + 1)
    cost_values = float32s_at(r.costs, cost_ptr[size] if has_costs else 0)
    e, layer = example_at(example)[0], layer_at(top)[0]
    shared = shared_at(e.shared)[0]
    filtering = len(ignored) > 0 or inverse
    e.score_count = uint64(r.classes)
    for i in range(start, size):
        if i + 1 < size:
            _fetch(shared, indices, row_ptr[i + 1], row_ptr[i + 2])
        first, last = row_namespaces[i], row_namespaces[i + 1]
        if filtering:
            length, count = _keep(indices, values, namespace_ptr, namespace_id, first, last, ignored, inverse, scratch)
            e.indices, e.values = r.kept_indices, r.kept_values
            e.namespaces, e.namespace_ids = r.kept_namespaces, r.kept_ids
        else:
            length, count = row_ptr[i + 1] - row_ptr[i], last - first
            e.indices = r.indices + uint64(4 * row_ptr[i])
            e.values = r.values + uint64(4 * row_ptr[i])
            e.namespaces = r.namespace_ptr + uint64(8 * first)
            e.namespace_ids = r.namespace_id + uint64(4 * first)
        e.length, e.namespace_count = uint64(length), uint64(count)
        label, weight = labels[i], importance[i]
        labeled = label != UNLABELED
        if has_costs:
            e.cost_classes = r.cost_classes + uint64(4 * cost_ptr[i])
            e.costs = r.costs + uint64(4 * cost_ptr[i])
            e.cost_count = uint64(cost_ptr[i + 1] - cost_ptr[i])
            labeled = False
            for k in range(cost_ptr[i], cost_ptr[i + 1]):
                labeled |= cost_values[k] != UNLABELED
        if r.classes > 0:
            e.scores = r.scores + uint64(4 * r.classes * i)
        e.base, e.label, e.importance, e.group = base[i], label, weight, group[i]
        e.last = uint64(i + 1 == size or group[i + 1] != group[i])
        e.loss, e.query, e.raw = 0.0, np.float32(-1), np.float32(0)
        e.features, e.number = uint64(length), shared.examples
        counter += 1
        held_out = learning and ((period > 0 and counter % period == 0) or (after > 0 and counter > after))
        if learning and labeled and weight > 0 and not held_out:
            predictions[i] = call(layer.learn, top, example, label, weight, uint64(0))
        else:
            predictions[i] = call(layer.predict, top, example, label, weight, uint64(0))
        raw[i], queries[i], losses[i] = e.raw, e.query, e.loss
        weight = e.importance  # a layer may have changed it: an active layer's decision, a tournament's last match
        shared.time += weight
        if held_out and labeled:
            shared.weighted_holdout += weight
            shared.sum_loss_holdout += e.loss
            continue
        if labeled:
            shared.weighted_labeled += weight
            if not has_costs:
                shared.weighted_labels += np.float64(label) * weight
        else:
            shared.weighted_unlabeled += weight
        shared.sum_loss += e.loss
        shared.examples += uint64(1)
        shared.features += e.features
        if shared.weighted_labeled + shared.weighted_unlabeled >= dump_at:
            return i + 1
    return size
