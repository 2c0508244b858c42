"""A namespace whose features are a row of fixed dimension: how the row is read, and which names it rejects."""

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Context
from hutch.core.errors import ConfigError, DataError
from hutch.core.kernel.abi import float32s_at, int64s_at, uint32s_at
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.text.hashing import hash_namespace, namespace_id


@helper
def place_of(index, first, mask, hashed, dimension):
    """The dimension of a feature; `dimension` or more if it has none.

    Args:
        index: of the feature.
        first: index of the feature that is dimension 0.
        mask: rows of the weight table less one.
        hashed: 1: the dimension is the index modulo `dimension`.
        dimension: of the row.
    """
    if hashed == 1:
        return int64(index) % dimension
    return int64((uint64(index) - first) & mask)


@helper
def read_dense(e, namespace, first, mask, hashed, dimension, row):
    """Write an example's features of a namespace into the row, missing ones as 0; False if it has none.

    Args:
        e: EXAMPLE record.
        namespace: its id.
        first, mask, hashed, dimension: as for `place_of`.
        row: out, float64 (at least dimension).
    """
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    row[:dimension] = 0.0
    found = False
    for j in range(e.namespace_count):
        if ids[j] == namespace:
            found = True
            for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
                place = place_of(indices[i], first, mask, hashed, dimension)
                if place < dimension:
                    row[place] += values[i]
    return found


@compiled
def _find_unusable(row_namespaces, namespace_ptr, namespace_id, indices, values, namespace, first, mask, dimension):
    """Example and feature of the first that has no place (`dimension` 0: all have one) or is not finite; else -1."""
    for i in range(len(row_namespaces) - 1):
        for j in range(row_namespaces[i], row_namespaces[i + 1]):
            if namespace_id[j] == namespace:
                for k in range(namespace_ptr[j], namespace_ptr[j + 1]):
                    if not np.isfinite(values[k]):
                        return i, k
                    if dimension > 0 and place_of(indices[k], first, mask, 0, dimension) >= dimension:
                        return i, k
    return -1, -1


class DenseNamespace:
    """A namespace of a fixed number of features, as a layer's parameters name it.

    Args:
        layer: name of the layer, for messages.
        namespace: name of the namespace.
        dimension: features of a row.
        hashed: names of any kind, which share dimensions; False: names are numbers from 0.
        context: of the layer.

    Raises:
        ConfigError: names cannot be read as numbers, or more dimensions than the table has rows.

    Attributes:
        id: of the namespace.
        first: index of the feature that is dimension 0.
    """

    def __init__(self, layer: str, namespace: str, dimension: int, hashed: bool, context: Context) -> None:
        parser = context.parser
        if not hashed and parser.hash == "all":
            raise ConfigError(
                f"{layer}.features: input.hash 'all' hashes numbers, too; wanted hashed, or input.hash strings"
            )
        if dimension > 1 << context.bits:
            rows = 1 << context.bits
            raise ConfigError(f"{layer}.dimension: got {dimension}, wanted at most the table's {rows} rows")
        self._mask = (1 << context.bits) - 1
        self._layer, self._name, self._dimension, self._hashed = layer, namespace, dimension, hashed
        self.id = namespace_id(namespace, parser.namespaces)
        self.first = hash_namespace(namespace, parser.hash_seed, parser.hash) & self._mask
        self._met = 0

    def check(self, batch: Batch) -> None:
        """Refuse features without a place and values that are not finite.

        Raises:
            DataError: it names the example.
        """
        example, feature = _find_unusable(
            batch.row_namespaces, batch.namespace_ptr, batch.namespace_id, batch.indices, batch.values,
            np.uint64(self.id), np.uint64(self.first), np.uint64(self._mask), 0 if self._hashed else self._dimension,
        )  # fmt: skip
        if example < 0:
            self._met += len(batch)
            return
        place = f"{self._layer}: example {self._met + example + 1} of this run, namespace {self._name!r}"
        if not np.isfinite(batch.values[feature]):
            raise DataError(f"{place}: got the value {batch.values[feature]}, wanted a finite number")
        raise DataError(
            f"{place}: got a feature whose name is not a number from 0 to {self._dimension - 1}; "
            f"wanted one, a larger {self._layer}.dimension, or other {self._layer}.features"
        )
