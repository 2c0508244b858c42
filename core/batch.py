"""The one form in which examples reach a chain, wherever they came from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONSTANT_INDEX = 11650396
"""Index of the constant feature before masking (VW's)."""
CONSTANT_NAMESPACE = 128
"""Namespace id of the constant feature."""


def _empty(kind: Any) -> Any:
    return field(default_factory=lambda: np.zeros(0, kind))


@dataclass(slots=True)
class Batch:
    """Examples as compressed sparse rows, with the namespaces of each row.

    The features of example i are `indices[row_ptr[i]:row_ptr[i + 1]]`, in the order of the line, each namespace in one
    piece, the constant last. Its namespaces are numbers `row_namespaces[i]` to `row_namespaces[i + 1]` (exclusive);
    namespace j begins at feature `namespace_ptr[j]` and ends where the next begins.

    Attributes:
        row_ptr: int64 (examples + 1).
        indices: uint32 (features), hashed, below 2^bits.
        values: float32 (features).
        row_namespaces: int64 (examples + 1).
        namespace_ptr: int64 (namespaces + 1); the last equals `row_ptr[-1]`.
        namespace_id: uint32 (namespaces): hash of the full name, or the first byte in VW's letter mode.
        labels: float32 (examples); `UNLABELED` where there is none; the class of a multiclass label.
        importance: float32 (examples), ≥ 0.
        base: float32 (examples), added to the prediction.
        group: int64 (examples), number of the block (lines between empty lines).
        tag_ptr: int64 (examples + 1), offsets into `tags`.
        tags: uint8, the tags' bytes one after the other.
        cost_ptr: int64 (examples + 1), offsets into the costs of cost-sensitive labels; empty for other labels.
        cost_classes: uint32.
        costs: float32; `UNLABELED` where not given.
    """

    row_ptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    row_namespaces: NDArray[np.int64]
    namespace_ptr: NDArray[np.int64]
    namespace_id: NDArray[np.uint32]
    labels: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]
    group: NDArray[np.int64]
    tag_ptr: NDArray[np.int64]
    tags: NDArray[np.uint8] = _empty(np.uint8)
    cost_ptr: NDArray[np.int64] = _empty(np.int64)
    cost_classes: NDArray[np.uint32] = _empty(np.uint32)
    costs: NDArray[np.float32] = _empty(np.float32)

    def __len__(self) -> int:
        return len(self.labels)

    def tag(self, i: int) -> bytes:
        """The tag of example i."""
        return self.tags[self.tag_ptr[i] : self.tag_ptr[i + 1]].tobytes()

    def row(self, i: int) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.float32]]]:
        """Namespace id, indices and values of each namespace of example i."""
        for j in range(self.row_namespaces[i], self.row_namespaces[i + 1]):
            piece = slice(self.namespace_ptr[j], self.namespace_ptr[j + 1])
            yield int(self.namespace_id[j]), self.indices[piece], self.values[piece]
