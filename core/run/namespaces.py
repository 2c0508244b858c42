"""Namespaces that a chain's parameters name: one that no example has is most likely a misspelling."""

from collections.abc import Iterator, Sequence

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Reduction
from hutch.core.text.hashing import NamespaceMode, namespace_id


class NamedNamespaces:
    """Which of the namespaces that layers look for have not been seen.

    Args:
        layers: from top to base; what one makes, those below it find.
        mode: how namespaces are told apart.
    """

    def __init__(self, layers: Sequence[Reduction], mode: NamespaceMode) -> None:
        self._missing: dict[int, tuple[str, str]] = {}
        made: set[str] = set()
        for k, layer in enumerate(layers):
            for name in layer.inputs.namespaces:
                if name not in made:
                    self._missing.setdefault(namespace_id(name, mode), (name, f"chain[{k}].{layer.name}"))
            made.update(layer.inputs.made_namespaces)

    def see(self, batch: Batch) -> None:
        """Look at the namespaces of a batch."""
        for found in [name for name in self._missing if np.any(batch.namespace_id == np.uint32(name))]:
            del self._missing[found]

    def missing(self) -> Iterator[str]:
        """What to say, one sentence per namespace."""
        for name, layer in self._missing.values():
            yield f"{layer} names the namespace {name!r}, which no example has"
