"""What the checks compute with kernels: a loss over arrays of points, h_min over the examples of a batch."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import call, call_loss, example_of, layer_of
from hutch.core.kernel.cache import compiled
from hutch.core.loss.flow import budget_to


@compiled
def evaluate(address, predictions, labels, scales, norm, loss, out):
    """The loss kernel at `address` for each prediction, label and scale."""
    for i in range(len(out)):
        out[i] = call_loss(address, predictions[i], labels[i], scales[i], norm, loss)


@compiled
def budgets(predictions, targets, labels, loss, out):
    """Importance times rate times norm that carries each prediction to its target; inf where it never arrives."""
    for i in range(len(out)):
        out[i] = budget_to(predictions[i], targets[i], labels[i], loss)


@compiled
def importances_to(top, example, arrays, labels, targets, out):
    """h_min of each example of a batch: the importance of its label that moves the prediction to its target."""
    row_ptr, indices, values, row_namespaces, namespace_ptr, namespace_id = arrays
    e, layer = example_of(example), layer_of(top)
    for i in range(len(out)):
        first = row_namespaces[i]
        e.indices = uint64(indices.ctypes.data) + uint64(4 * row_ptr[i])
        e.values = uint64(values.ctypes.data) + uint64(4 * row_ptr[i])
        e.length = uint64(row_ptr[i + 1] - row_ptr[i])
        e.namespaces = uint64(namespace_ptr.ctypes.data) + uint64(8 * first)
        e.namespace_ids = uint64(namespace_id.ctypes.data) + uint64(4 * first)
        e.namespace_count = uint64(row_namespaces[i + 1] - first)
        e.base, e.label, e.importance = np.float32(0), labels[i], np.float32(1)
        out[i] = call(layer.importance_to, top, example, labels[i], targets[i], uint64(0))
