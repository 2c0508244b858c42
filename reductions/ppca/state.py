"""The memory of `ppca`, and its kernels: read a row, learn a block, show the example with latent features."""

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import UNLABELED, float32s_at, float64s_at, int64s_at, shared_of, state_of, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import shown_by
from hutch.core.learner.dense_row import read_dense
from hutch.core.learner.memory import reserve
from hutch.em.constrained.natural_kernel import dot

PPCA = np.dtype(
    [
        ("namespace", "u8"),  # id of the namespace whose features are the row
        ("first", "u8"),  # index of the feature that is dimension 0
        ("hashed", "i8"),  # 1: a feature's dimension is its index modulo `dimension`
        ("dimension", "i8"),
        ("rank", "i8"),
        ("block", "i8"),  # rows learned at a time
        ("warm_up", "i8"),  # rows of the first block, which sets mean and scale
        ("keep", "i8"),  # 1: the layer below sees the namespace, too
        ("output", "u8"),  # id of the namespace of latent features
        ("output_indices", "u8"),  # address of uint32[rank]
        ("exponent", "f8"),
        ("scale", "f8"),
        ("current", "u8"),  # address of a sketch, float64[SKETCH]: changed by the steps
        ("past", "u8"),  # of the anchor, in class mode; else 0
        ("report", "u8"),  # of the sketch that is shown: the current one, or both merged
        ("first_mean", "u8"),  # address of float64[dimension + 1]: mean and variance of the first rows
        ("shown", "u8"),  # address of float64[rank, dimension]: the map to latent features
        ("turn", "u8"),  # address of float64[rank, rank]: rotation of the latent features
        ("pending", "u8"),  # address of float64[capacity, dimension]: rows that wait to be learned
        ("row", "u8"),  # address of float64[dimension]: the present example's, centred while it is read
        ("workspace", "u8"),  # address of float64[workspace_size]
        ("workspace_size", "u8"),
        ("built", "u8"),  # BUFFER of the example that the layer below sees
        ("constraint", "u8"),  # address of a CONSTRAINT record, 0 for none
        ("boundaries", "u8"),  # of the constraint, that were heeded
        ("count", "i8"),  # rows that wait
        ("samples", "i8"),  # rows learned
        ("past_samples", "i8"),  # of them before the last boundary
        ("classes", "i8"),  # that have ended
        ("last", "u8"),  # 1 + number of the example whose row was taken last
    ]
)
ppca_of = state_of(PPCA)

_NOTHING = np.finfo(np.float32).eps  # of a latent feature, whose deviation is about 1


def sketch_size(rank: int, dimension: int) -> int:
    """Numbers of a sketch: noise, its floor, mean, loadings."""
    return 2 + dimension * (1 + rank)


@inlined
def sketch_at(s, address):
    """Mean, loadings, and noise with its floor, of the sketch at an address."""
    size = uint64(8) * uint64(s.dimension)
    mean = float64s_at(address + uint64(16), uint64(s.dimension))
    loadings = matrix_at(address + uint64(16) + size, s.rank, s.dimension)
    return mean, loadings, float64s_at(address, uint64(2))


@inlined
def matrix_at(address, rows, columns):
    """A float64 matrix."""
    return float64s_at(address, uint64(rows * columns)).reshape(int64(rows), int64(columns))


@inlined
def workspace_at(s):
    """Room for a step."""
    return float64s_at(s.workspace, s.workspace_size)


@helper
def read_row(s, e):
    """Write the example's features of the namespace into the row, missing ones as 0; False if it has none."""
    row = float64s_at(s.row, uint64(s.dimension))
    return read_dense(e, s.namespace, s.first, shared_of(e.shared).mask, s.hashed, s.dimension, row)


@helper
def is_unlabeled(e, label):
    """Whether an example has no label of any kind."""
    costs = float32s_at(e.costs, e.cost_count)
    for k in range(e.cost_count):
        if costs[k] != UNLABELED:
            return False
    return label == UNLABELED


@helper
def take_row(s, e):
    """Queue the row to be learned, once, however often the layers above call for the example."""
    if s.last != e.number + uint64(1):
        start = uint64(8 * s.count * s.dimension)
        copy(float64s_at(s.row, uint64(s.dimension)), float64s_at(s.pending + start, uint64(s.dimension)))
        s.count += 1
        s.last = e.number + uint64(1)


@helper
def _write_latent(s, indices, values):
    """Write the posterior means, turned as by `hutch.em.constrained.alignment`; returns the number that are not 0.

    As in text, a value of 0 is no feature: rates of learners below are normalised by the sizes of features.
    """
    mean, _, _ = sketch_at(s, s.report)
    row, shown = float64s_at(s.row, uint64(s.dimension)), matrix_at(s.shown, s.rank, s.dimension)
    workspace, output, count = workspace_at(s), uint32s_at(s.output_indices, uint64(s.rank)), 0
    for t in range(s.dimension):
        row[t] -= mean[t]
    for k in range(s.rank):
        latent = np.float32(dot(shown[k], row, workspace))
        if abs(latent) > _NOTHING:
            indices[count], values[count] = output[k], latent
            count += 1
    return count


@helper
def show_latent(s, e):
    """Make the example show the latent features, before the constant, and the namespace only if it is kept.

    Returns:
        The previous features, for `show`.
    """
    read = shown_by(e)
    count, length, rank = int64(e.namespace_count), int64(e.length), s.rank if s.samples > 0 else 0
    address = reserve(s.built, uint64(8 * (count + 2) + 4 * (count + 1) + 8 * (length + rank)))
    if address == uint64(0):
        return read  # out of memory: better no latent features than a crash
    starts, ids_address = int64s_at(address, uint64(count + 2)), address + uint64(8 * (count + 2))
    indices_address = ids_address + uint64(4 * (count + 1))
    values_address = indices_address + uint64(4 * (length + rank))
    ids = uint32s_at(ids_address, uint64(count + 1))
    indices, values = (
        uint32s_at(indices_address, uint64(length + rank)),
        float32s_at(values_address, uint64(length + rank)),
    )
    old_starts, old_ids = int64s_at(e.namespaces, uint64(count + 1)), uint32s_at(e.namespace_ids, uint64(count))
    old_indices, old_values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    at, n, written = 0, 0, rank == 0
    for j in range(count + 1):
        if not written and (j == count or old_ids[j] == CONSTANT_NAMESPACE):
            starts[at], ids[at], written = n, uint32(s.output), True
            at, n = at + 1, n + _write_latent(s, indices[n:], values[n:])
        if j < count and (s.keep == 1 or old_ids[j] != s.namespace):
            starts[at], ids[at] = n, old_ids[j]
            for i in range(old_starts[j] - old_starts[0], old_starts[j + 1] - old_starts[0]):
                indices[n], values[n] = old_indices[i], old_values[i]
                n += 1
            at += 1
    starts[at] = n
    e.indices, e.values, e.length = indices_address, values_address, uint64(n)
    e.namespaces, e.namespace_ids, e.namespace_count = address, ids_address, uint64(at)
    e.features = uint64(n)
    return read
