"""People and judges in a stream: one pass, fixed memory."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed.model import NO_JUDGES, NO_REFERENCE, Mixed, MixedParameters, matches
from hutch.crowd.models.block_stream import BlockStream
from hutch.crowd.models.model import Array, State
from hutch.crowd.models.online import fit_of, hash_workers
from hutch.crowd.models.repeats import parted

LEAST, GROWTH, MOST = 100, 0.3, 100_000
"""Labels of a block, at least and at most, and between these the share of those learned that a block is to add."""


class MixedStream(BlockStream):
    """Blocks that begin small: people's labels say what the classes are, so there is no wrong start to fear.

    People have the even slots, judges the odd ones: their names, which are numbers, tell them apart.
    """

    parameters: MixedParameters

    def __init__(self, model: Mixed, classes: list[str], slots: int, history: State | None) -> None:
        self._reference = model.parameters.reference
        if not self._reference:
            raise UsageError(NO_REFERENCE)
        if slots < 2:
            raise UsageError(f"--slots: got {slots}, wanted at least 2: people and judges have separate ones")
        even = replace(model.parameters, reference=("*[02468]",))
        super().__init__(Mixed.of(even), classes, slots, history)

    def slots_of(self, names: list[str]) -> NDArray[np.int32]:
        """Even slots of people, odd ones of judges."""
        judge = ~matches(names, self._reference)
        return hash_workers(names, self.slots // 2) * 2 + judge.astype(np.int32)

    def voices(self, labels: Labels) -> Labels:
        """Those of judges are divided."""
        return parted(labels, ~matches(labels.worker_names, self._reference), least=1)

    def wanted(self, met: int) -> int:
        """A share of the labels learned, within bounds."""
        return int(np.clip(GROWTH * self.state.workers["seen"].sum(), LEAST, MOST))

    def probability(self, labels: Labels, posterior: Array) -> Array:
        """That of the model under the blocks before the present one, if any, which need not be learned again."""
        met, known = self._known()
        return self.model.probability(labels, fit_of(known if len(met) else self._learned()[1], posterior))

    def check(self) -> None:
        """Raise UsageError if there were no people, or no judges."""
        rows, _ = self._learned()
        if (rows % 2).all():
            raise UsageError(f"--reference: no worker is {' or '.join(map(repr, self._reference))}")
        if not (rows % 2).any():
            raise UsageError(NO_JUDGES)
