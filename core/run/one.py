"""One example at a time: the buffers of a batch are made once and filled again.

The kernels are those that batches go through, so the results are the same to the bit. Anything unusual (a malformed
line, an infinite value, a label that the chain is not made for) is left to batches, which report it.
"""

import weakref
from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SEEN, Batch
from hutch.core.chain.driver import drive, make_scratch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.chain.outputs import outputs_in
from hutch.core.data.one_record import RecordFiller
from hutch.core.data.roles import AnyRoles
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import LineParser
from hutch.core.text.state import FIELDS_OF_SEEN

LONGEST_LINE = 1 << 14
"""Longer lines run as batches; their allocations per call matter little."""
_KNOWN_LABELS = 1 << 12


class OneExample:
    """Runs single examples through a chain.

    Args:
        engine: the chain.
        columns: which keys of a record hold the label and so on.

    Attributes:
        counters: the engine's, as bytes that can be put back.
        last: the example that `can_learn` accepted last.
    """

    def __init__(self, engine: Engine, columns: AnyRoles = None) -> None:
        self._engine: Engine = weakref.proxy(engine)  # which holds this: memory is freed without a search for cycles
        self._parser = LineParser(engine.parser, LONGEST_LINE)
        self._filler = RecordFiller(engine.parser, columns)
        self._of_lines = _Single(engine, FIELDS_OF_SEEN)
        self._of_records = _Single(engine, {})
        self._usual: set[float] = {float(UNLABELED)}
        self._testing = engine.shared["testing"]
        self.counters = engine.shared.view(np.uint8).data

    def run(self, example: Any, learn: bool, *, stays: bool = True) -> Outputs | None:
        """Predict one example, and learn it if `learn`.

        Args:
            example: anything a chain accepts.
            learn: False leaves the chain unchanged, its counters too.
            stays: False lets predicted examples count in the counters.

        Returns:
            The outputs, made before learning, which the next call overwrites; None if this is not one usual line or
            record.
        """
        single = self._filled(example)
        if single is None:
            return None
        if not learn and stays:
            kept = bytes(self.counters)
            try:
                return self._drive(single, False)
            finally:
                self.counters[:] = kept
        if not learn:
            return self._drive(single, False)
        return self._drive(single, True) if self._has_usual_label(single) else None

    @property
    def labeled(self) -> bool:
        """Whether the line that `run` took last has a label, or a cost."""
        return self._of_lines.labeled

    @property
    def tag(self) -> bytes:
        """The tag of the line that `run` or `can_learn` took last."""
        arrays = self._parser.buffers.arrays
        length = arrays["tag_ptr"].item(1)
        return arrays["tag_bytes"][:length].tobytes() if length else b""

    def can_learn(self, example: Any) -> bool:
        """Whether `run` would learn from this example: one usual line or record, with a label.

        Raises:
            DataError: a layer refuses it.
        """
        single = self._filled(example)
        if single is None or not single.labeled or not self._has_usual_label(single):
            return False
        for layer in self._engine.layers:
            layer.begin_batch(cast(Batch, single), True)
        self.last = cast(Batch, single)
        return True

    def _filled(self, example: Any) -> "_Single | None":
        if self._engine.whole_groups or self._engine.decides:  # a single line is incomplete there
            return None
        if type(example) is list and len(example) == 1:
            example = example[0]
        if isinstance(example, str | bytes):
            line = example if isinstance(example, bytes) else example.encode()
            if b"|" in line and self._parser.parse(line):
                return self._of_lines.see(self._parser.buffers.arrays)
        elif isinstance(example, Mapping) and self._engine.parser.made is None and self._filler.fill(example):
            return self._of_records.see(self._filler.arrays)
        return None

    def _has_usual_label(self, single: "_Single") -> bool:
        label = single.label
        if not self._engine.label_check.takes_all and label not in self._usual:
            if len(self._engine.label_check.unexpected(cast(Batch, single))[0]):
                return False
            if len(self._usual) < _KNOWN_LABELS:
                self._usual.add(label)
            return self._engine.label_check.doubts() is None  # else it is reported, once
        return True

    def _drive(self, single: "_Single", learn: bool) -> Outputs:
        self._testing[0] = not learn
        for layer in self._engine.layers:
            layer.begin_batch(cast(Batch, single), learn)
        single.learning[0] = learn
        drive(single.at, 0)
        return single.outputs


class _Single:
    """A batch of one example in arrays that are reused; each is cut to its length on access.

    Args:
        engine: the chain.
        fields: names of arrays of a batch in the dict of arrays, where they are not their own.
    """

    def __init__(self, engine: Engine, fields: Mapping[str, str]) -> None:
        self._fields, self._has_costs = fields, engine.takes.lists_costs
        self._arrays: dict[str, NDArray[Any]] = {}
        self._run = engine.single_run()
        classes = engine.score_count
        self.outputs = outputs_in(np.zeros(4 + classes, np.float32), 1, classes)
        for field in fields_of(Outputs):
            if field.name not in (self._run.dtype.names or ()):
                continue  # only decisions have it
            self._run[field.name] = getattr(self.outputs, field.name).ctypes.data
        self._run["classes"] = classes
        self.learning = self._run["learning"]
        self.at = int(self._run.ctypes.data)

    def see(self, arrays: dict[str, NDArray[Any]]) -> "_Single":
        """Take the arrays that hold the example."""
        if arrays is self._arrays:
            return self
        self._arrays = arrays
        for name in SEEN:
            self._run[name] = arrays[self._fields.get(name, name)].ctypes.data
        if not self._has_costs:
            self._run["cost_ptr"] = 0
        self._scratch = make_scratch(self._run, len(arrays["indices"]), len(arrays["namespace_id"]))
        return self

    @property
    def labeled(self) -> bool:
        """Whether the example has a label, or a cost."""
        return bool((self.costs != UNLABELED).any()) if self._has_costs else self.label != UNLABELED

    @property
    def label(self) -> float:
        """The example's label."""
        return float(self._arrays["labels"].item(0))

    def __len__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in SEEN:
            raise AttributeError(name)
        arrays = self._arrays
        if name in ("indices", "values"):
            length = arrays["row_ptr"].item(1)
        elif name in ("namespace_id", "namespace_ptr"):
            length = arrays["row_namespaces"].item(1) + (name == "namespace_ptr")
        elif name in ("cost_classes", "costs"):
            length = arrays["cost_ptr"].item(1) if self._has_costs else 0
        elif name == "cost_ptr":
            length = 2 * self._has_costs
        else:
            length = 2 if name in ("row_ptr", "row_namespaces") else 1
        return arrays[self._fields.get(name, name)][:length]
