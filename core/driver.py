"""The driver kernel: walks over a batch, lets the chain predict or learn, keeps the statistics."""

import numpy as np
from numpy import uint64

from hutch.core.abi import UNLABELED, call, example_at, layer_at, prefetch, shared_at
from hutch.core.kernel_cache import compiled
from hutch.core.kernel_helper import njit

CACHE_LINE = np.uint64(64)
FETCHED = np.uint64(256)
"""At most so many bytes of a feature's rows are fetched ahead; a chain of many sub-models visits only few of them."""


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


@compiled
def drive(  # type: ignore[no-untyped-def]
    top,
    example,
    start,
    learning,
    dump_at,
    holdout,
    arrays,
    costs,
    ignored,
    inverse,
    scratch,
    outputs,
):
    """Run examples `start`, `start + 1`, … of a batch through the chain.

    Args:
        top: address of the top LAYER.
        example: address of the EXAMPLE record that is filled anew for each.
        start: the first example.
        learning: False predicts only.
        dump_at: stop after the example that lifts the sum of importance to this (a row of the progress table is due).
        holdout: (period, after, counter): examples of the pass whose number divides by `period`, or that come after
            number `after`, are only tested; 0 switches either off. `counter` examples of the pass came before `start`.
        arrays: the arrays of the batch.
        costs: its cost-sensitive labels.
        ignored: namespace ids to leave out, or with `inverse` the only ones to keep.
        inverse: see `ignored`.
        scratch: room for one example's kept features and namespaces.
        outputs: (predictions, raw, queries, losses), float32 (examples), and scores, float32 (examples, classes).

    Returns:
        The number of the next example.
    """
    row_ptr, indices, values, row_namespaces, namespace_ptr, namespace_id, labels, importance, base, group = arrays
    cost_ptr, cost_classes, cost_values = costs
    predictions, raw, queries, losses, scores = outputs
    period, after, counter = holdout
    e, layer = example_at(example)[0], layer_at(top)[0]
    shared = shared_at(e.shared)[0]
    filtering = len(ignored) > 0 or inverse
    e.score_count = uint64(scores.shape[1])
    has_costs = len(cost_ptr) > 1
    for i in range(start, len(labels)):
        if i + 1 < len(labels):
            _fetch(shared, indices, row_ptr[i + 1], row_ptr[i + 2])
        first, last = row_namespaces[i], row_namespaces[i + 1]
        if filtering:
            length, count = _keep(indices, values, namespace_ptr, namespace_id, first, last, ignored, inverse, scratch)
            e.indices, e.values = uint64(scratch[0].ctypes.data), uint64(scratch[1].ctypes.data)
            e.namespaces, e.namespace_ids = uint64(scratch[2].ctypes.data), uint64(scratch[3].ctypes.data)
        else:
            length, count = row_ptr[i + 1] - row_ptr[i], last - first
            e.indices = uint64(indices.ctypes.data) + uint64(4 * row_ptr[i])
            e.values = uint64(values.ctypes.data) + uint64(4 * row_ptr[i])
            e.namespaces = uint64(namespace_ptr.ctypes.data) + uint64(8 * first)
            e.namespace_ids = uint64(namespace_id.ctypes.data) + uint64(4 * first)
        e.length, e.namespace_count = uint64(length), uint64(count)
        label, weight = labels[i], importance[i]
        labeled = label != UNLABELED
        if has_costs:
            e.cost_classes = uint64(cost_classes.ctypes.data) + uint64(4 * cost_ptr[i])
            e.costs = uint64(cost_values.ctypes.data) + uint64(4 * cost_ptr[i])
            e.cost_count = uint64(cost_ptr[i + 1] - cost_ptr[i])
            labeled = False
            for k in range(cost_ptr[i], cost_ptr[i + 1]):
                labeled |= cost_values[k] != UNLABELED
        if scores.shape[1] > 0:
            e.scores = uint64(scores.ctypes.data) + uint64(4 * scores.shape[1] * i)
        e.base, e.label, e.importance, e.group = base[i], label, weight, group[i]
        e.last = uint64(i + 1 == len(labels) or group[i + 1] != group[i])
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
    return len(labels)
