"""What was seen of metrics in a batch: checks of its decisions, and their costs from their metrics."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SLOT_ROW, Batch
from hutch.core.chain.capabilities import METRICS
from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

_MOST = float(UNLABELED)
GOOD, UNKNOWN, TWICE, UNCHOSEN, WITHOUT, BEYOND = range(6)


@helper
def _place_of(names, index):
    """The place of a metric, by the index of its feature; -1 if it is none."""
    for k in range(len(names)):
        if names[k] == index:
            return k
    return -1


@helper
def _is_labelled(ends, costs, row):
    """Whether a row has a cost."""
    found = False
    for at in range(ends[row], ends[row + 1]):
        found |= costs[at] != UNLABELED
    return found


@compiled
def weigh_rows(starts, ids, indices, values, spaces, ends, costs, names, weights, namespace, times, learn, worth):
    """Weigh the metrics of each row, and see that they can be used.

    Args:
        starts, ids, indices, values, spaces: as `namespace_ptr`, `namespace_id`, `indices`, `values` and
            `row_namespaces` of a batch.
        ends: int64 (rows + 1): where the costs of each row begin and end.
        costs: float32.
        names: uint32 (metrics): the index of each one's feature.
        weights: float64 (metrics).
        namespace: id of that of metrics.
        times: int64 (metrics), room.
        learn: whether each cost must have metrics.
        worth: float64 (rows), overwritten: the weighted sum of the metrics seen; NaN of a row without any.

    Returns:
        What is wrong, its row, and the number of rows that lack some metric, but not all.
    """
    lacking = 0
    for row in range(len(worth)):
        total, seen = 0.0, 0
        times[:] = 0
        for j in range(spaces[row], spaces[row + 1]):
            if ids[j] != namespace:
                continue
            for i in range(starts[j], starts[j + 1]):
                k = _place_of(names, indices[i])
                if k < 0:
                    return UNKNOWN, row, lacking
                times[k] += 1
                seen += 1
                total += weights[k] * np.float64(values[i])
                if times[k] > 1:
                    return TWICE, row, lacking
        if seen > 0 and not _is_labelled(ends, costs, row):
            return UNCHOSEN, row, lacking
        if not abs(total) < _MOST:
            return BEYOND, row, lacking
        lacking += 0 < seen < len(names)
        worth[row] = total if seen > 0 else np.nan
    for row in range(len(worth) if learn else 0):
        if worth[row] != worth[row] and _is_labelled(ends, costs, row):
            return WITHOUT, row, lacking
    return GOOD, 0, lacking


@compiled
def write_costs(ends, costs, worth):
    """Let the cost of each row with metrics be their negative worth."""
    for row in range(len(worth)):
        for at in range(ends[row], ends[row + 1]):
            if costs[at] != UNLABELED and worth[row] == worth[row]:
                costs[at] = -worth[row]


def weigh_metrics(
    batch: Batch,
    metrics: Sequence[str],
    names: NDArray[np.uint32],
    weights: NDArray[np.float64],
    namespace: int,
    learn: bool,
) -> int:
    """See that metrics are those of chosen actions, and let the cost of each be that of its metrics.

    Args:
        batch: its costs, or its labels if examples stand alone, are overwritten.
        metrics: their names.
        names: uint32 (metrics): the index of each one's feature.
        weights: float64 (metrics).
        namespace: id of that of metrics.
        learn: whether each cost must have metrics.

    Returns:
        The number of decisions that lack some metric.

    Raises:
        DataError: unknown metrics, one twice, those of an action without a label, or a label without metrics.
    """
    given, batch = batch, batch.rows(0, len(batch))
    low, high = batch.row_namespaces[0], batch.row_namespaces[-1]
    if not learn and not (batch.namespace_id[low:high] == namespace).any():
        return 0
    if (batch.probabilities == SLOT_ROW).any():
        raise DataError("weighted_metrics: got decisions with slots, wanted decisions for one action each")
    ends, costs = batch.cost_ptr, batch.costs
    if not len(ends):
        ends, costs = np.arange(len(batch) + 1), batch.labels
    if not costs.flags.writeable:  # of a cache file
        costs = costs.copy()
        setattr(given, "costs" if len(batch.cost_ptr) else "labels", costs)
    worth, room = np.empty(len(batch)), np.zeros(len(names), np.int64)
    features = (batch.namespace_ptr, batch.namespace_id, batch.indices, batch.values, batch.row_namespaces)
    wrong, row, lacking = weigh_rows(*features, ends, costs, names, weights, namespace, room, learn, worth)
    if wrong != GOOD:
        wanted = f"{METRICS!r} in the chosen action, with some of {', '.join(metrics)}"
        got = {
            UNKNOWN: f"unknown metric, wanted {', '.join(metrics)}",
            TWICE: "the same metric twice",
            UNCHOSEN: "metrics of an action that has no label, wanted them in the chosen action",
            WITHOUT: f"a cost without metrics, wanted {wanted}",
            BEYOND: "metrics whose worth is beyond 3.4e38",
        }
        raise DataError(f"decision {int(batch.group[row]) + 1}: got {got[wrong]}")
    write_costs(ends, costs, worth)
    return int(lacking)
