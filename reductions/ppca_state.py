"""The memory of `ppca`, and what its kernels do: read a row, learn a block, show the example with latent features."""

import numpy as np
from numba import int64, njit, uint32, uint64

from hutch.core.abi import UNLABELED, float32s_at, float64s_at, int64s_at, shared_at, uint32s_at, view
from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.em.natural_kernel import absorb, dot
from hutch.em.ppca import NOISE_FLOOR
from hutch.reductions.linear_memory import reserve

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
        ("mean", "u8"),  # address of float64[dimension]
        ("loadings", "u8"),  # address of float64[rank, dimension]
        ("noise", "u8"),  # address of float64[2]: variance, and its floor
        ("to_latent", "u8"),  # address of float64[rank]: 1 / (squared length of an axis + noise)
        ("pending", "u8"),  # address of float64[capacity, dimension]: rows that wait to be learned
        ("row", "u8"),  # address of float64[dimension]: the present example's, centred while it is read
        ("workspace", "u8"),  # address of float64[workspace_size]
        ("workspace_size", "u8"),
        ("built", "u8"),  # BUFFER of the example that the layer below sees
        ("count", "i8"),  # rows that wait
        ("samples", "i8"),  # rows learned
        ("last", "u8"),  # 1 + number of the example whose row was taken last
    ]
)
ppca_at = view(PPCA)


@njit(inline="always")
def sketch_at(s):  # type: ignore[no-untyped-def]
    """Mean, loadings, and noise with its floor."""
    dimension, rank = uint64(s.dimension), uint64(s.rank)
    loadings = float64s_at(s.loadings, rank * dimension).reshape(int64(rank), int64(dimension))
    return float64s_at(s.mean, dimension), loadings, float64s_at(s.noise, uint64(2))


@njit(inline="always")
def workspace_at(s):  # type: ignore[no-untyped-def]
    """Room for a step."""
    return float64s_at(s.workspace, s.workspace_size)


@njit
def place_of(index, first, mask, hashed, dimension):  # type: ignore[no-untyped-def]
    """The dimension of a feature; `dimension` or more if it has none."""
    if hashed == 1:
        return int64(index) % dimension
    return int64((uint64(index) - first) & mask)


@njit
def read_row(s, e):  # type: ignore[no-untyped-def]
    """Write the example's features of the namespace into the row, those that are not there as 0; False without any."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    mask, row, found = shared_at(e.shared)[0].mask, float64s_at(s.row, uint64(s.dimension)), False
    for j in range(e.namespace_count):
        if ids[j] == s.namespace:
            if not found:
                row[:] = 0.0
            found = True
            for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
                place = place_of(indices[i], s.first, mask, s.hashed, s.dimension)
                if place < s.dimension:
                    row[place] += values[i]
    return found


@njit(error_model="numpy")
def _anchor_weight(s):  # type: ignore[no-untyped-def]
    """How many samples the sketch stands for beside the rows that wait; see `hutch.em.schedule.Schedule`."""
    kept = 1.0
    for i in range(s.count):
        kept *= 1.0 - s.scale * np.float64(s.samples + 2 + i) ** -s.exponent
    return s.count * kept / (1.0 - kept)


@njit(error_model="numpy")
def _start(rows, mean, noise):  # type: ignore[no-untyped-def]
    """Mean and variance of the first rows; 1 if they are all equal."""
    count, dimension = rows.shape
    mean[:] = 0.0
    for i in range(count):
        for t in range(dimension):
            mean[t] += rows[i, t] / count
    variance = 0.0
    for i in range(count):
        for t in range(dimension):
            variance += (rows[i, t] - mean[t]) ** 2 / (count * dimension)
    noise[0] = variance if variance > 0.0 else 1.0
    noise[1] = NOISE_FLOOR * noise[0]


@njit(error_model="numpy")
def learn_block(s):  # type: ignore[no-untyped-def]
    """Learn the rows that wait in one exact step."""
    mean, loadings, noise = sketch_at(s)
    rows = float64s_at(s.pending, uint64(s.count * s.dimension)).reshape(s.count, s.dimension)
    if s.samples == 0:
        _start(rows, mean, noise)
    workspace = workspace_at(s)
    absorb(rows, mean, loadings, noise, noise[1], _anchor_weight(s), workspace)
    to_latent = float64s_at(s.to_latent, uint64(s.rank))
    for k in range(s.rank):
        to_latent[k] = 1.0 / (dot(loadings[k], loadings[k], workspace) + noise[0])
    s.samples += s.count
    s.count = 0


@njit
def is_unlabeled(e, label):  # type: ignore[no-untyped-def]
    """Whether an example has no label of any kind."""
    costs = float32s_at(e.costs, e.cost_count)
    for k in range(e.cost_count):
        if costs[k] != UNLABELED:
            return False
    return label == UNLABELED


@njit
def take_row(s, e):  # type: ignore[no-untyped-def]
    """Let the row wait to be learned, once however often the layers above ask for the example."""
    if s.last != e.number + uint64(1):
        start = uint64(8 * s.count * s.dimension)
        float64s_at(s.pending + start, uint64(s.dimension))[:] = float64s_at(s.row, uint64(s.dimension))
        s.count += 1
        s.last = e.number + uint64(1)


@njit
def is_due(s, e):  # type: ignore[no-untyped-def]
    """Whether a block is full, and its last row's example is done with."""
    return s.count >= (s.warm_up if s.samples == 0 else s.block) and s.last != e.number + uint64(1)


@njit
def _write_latent(s, values):  # type: ignore[no-untyped-def]
    """The posterior mean of each latent feature; loadings are orthogonal, so each is by itself."""
    mean, loadings, _ = sketch_at(s)
    row, to_latent = float64s_at(s.row, uint64(s.dimension)), float64s_at(s.to_latent, uint64(s.rank))
    workspace = workspace_at(s)
    for t in range(s.dimension):
        row[t] -= mean[t]
    for k in range(s.rank):
        values[k] = np.float32(to_latent[k] * dot(loadings[k], row, workspace))


@njit
def build(s, e):  # type: ignore[no-untyped-def]
    """Let the example show the latent features, before the constant, and the namespace only if it is kept."""
    count, length, rank = int64(e.namespace_count), int64(e.length), s.rank if s.samples > 0 else 0
    address = reserve(s.built, uint64(8 * (count + 2) + 4 * (count + 1) + 8 * (length + rank)))
    if address == uint64(0):
        return  # out of memory: better no latent features than a crash
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
    output = uint32s_at(s.output_indices, uint64(s.rank))
    at, n, written = 0, 0, rank == 0
    for j in range(count + 1):
        if not written and (j == count or old_ids[j] == CONSTANT_NAMESPACE):
            starts[at], ids[at], written = n, uint32(s.output), True
            indices[n : n + rank] = output
            _write_latent(s, values[n : n + rank])
            at, n = at + 1, n + rank
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
