"""One decision at a time, as lines of text or as a record: the buffers of a batch are made once and filled again.

The kernels are those that batches go through, so the results are the same to the bit. Anything unusual is left to
batches, which report it.
"""

import weakref
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import SEEN, SHARED_ROW, Batch
from hutch.core.chain.decisions import drive_decisions
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Labels
from hutch.core.data.one_decision import DecisionFiller
from hutch.core.data.roles import AnyRoles
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import LineParser
from hutch.core.text.state import FIELDS_OF_SEEN

LONGEST_DECISION = 1 << 16
"""Longer ones run as batches; their allocations per call matter little."""
_UNLABELED, _SHARED = float(UNLABELED), float(SHARED_ROW)


class _Filled(NamedTuple):
    """A decision in arrays.

    Attributes:
        arrays: those of a batch, and under which names.
        fields: the names that are not the batch's own.
        first: row of the first action.
        rows: of the decision.
        batch: makes a batch of it.
    """

    arrays: dict[str, NDArray[Any]]
    fields: Mapping[str, str]
    first: int
    rows: int
    batch: Callable[[], Batch]


def decision_of(examples: Any) -> str | Mapping[str, Any]:
    """The only decision of what was given: a record, or a text; an empty text if it is something else."""
    one = examples[0] if type(examples) is list and len(examples) == 1 else examples
    if isinstance(one, Mapping):
        return one
    return text if "|" in (text := text_of(examples)) else ""


def text_of(lines: Any) -> str:
    """A decision as a text: of a text, or of a list of lines; empty for anything else, and where lines are empty."""
    if type(lines) is list and lines and all(type(line) is str for line in lines):
        lines = "\n".join(lines)
    if type(lines) is not str:
        return ""
    text: str = lines.replace("\r", "").strip()
    return text if "\n\n" not in text else ""


class OneDecision:
    """Runs single decisions through a chain that takes them.

    Args:
        engine: the chain, whose labels are costs of actions or a logged action.
        columns: which keys of records hold what.

    Attributes:
        filler: of records.
    """

    def __init__(self, engine: Engine, columns: AnyRoles = None) -> None:
        self._engine: Engine = weakref.proxy(engine)  # which holds this: memory is freed without a search for cycles
        self._all_costs = engine.takes is Labels.ACTION_COSTS
        self._parser = LineParser(engine.parser, LONGEST_DECISION)
        self.filler = DecisionFiller(engine.parser, columns)
        self._constant = int(engine.parser.constant)
        self._run = engine.single_run()
        assert engine._decisions is not None
        self._driver = engine._decisions.apart(self._run)
        self._learning, self._size = self._run["learning"], self._run["size"]
        self._testing = engine.shared["testing"]
        self._arrays: dict[str, NDArray[Any]] = {}
        self._written: dict[str, NDArray[np.float32]] = {}
        self._predictions = np.zeros(0, np.float32)

    def run(self, decision: str | Mapping[str, Any], learn: bool) -> NDArray[np.float32] | None:
        """Predict a decision, and learn it if `learn` and if it has a label.

        Args:
            decision: its lines, or a record.
            learn: False leaves all weights unchanged.

        Returns:
            Scores or probabilities by action, made before learning, which the next call overwrites; None for anything
            but one usual decision, without running any of it.
        """
        self._filled = filled = self._parsed(decision) if isinstance(decision, str) else self._of_record(decision)
        arrays, _, first, rows, _ = filled
        if first < 0:
            return None
        if arrays is not self._arrays:
            self._point(filled)
        self._driver.make_room(rows, rows * arrays["row_ptr"].item(rows), rows * arrays["row_namespaces"].item(rows))
        self._testing[0] = not learn
        for layer in self._engine.layers:
            layer.begin_batch(cast(Batch, self), learn)
        self._learning[0], self._size[0] = learn, rows
        drive_decisions(self._driver.address, 0)
        return self._predictions[first:rows]

    def _parsed(self, text: str) -> _Filled:
        parsed, buffers = self._parser.parse_lines(text.encode()), self._parser.buffers
        first = self._first_action(buffers.arrays, buffers.examples) if parsed else -1
        return _Filled(buffers.arrays, FIELDS_OF_SEEN, first, buffers.examples, buffers.batch)

    def _of_record(self, record: Mapping[str, Any]) -> _Filled:
        filler = self.filler
        first = filler.fill(record) if self._engine.parser.made is None else -1
        return _Filled(filler.arrays, {}, first, filler.size, filler.batch)

    def _first_action(self, arrays: dict[str, NDArray[Any]], rows: int) -> int:
        """The row of the first action; -1 where the rows are not one decision with a label that has a meaning."""
        if arrays["group_of"].item(0) != arrays["group_of"].item(rows - 1):
            return -1
        ends = arrays["cost_ptr"][: rows + 1].tolist()
        costs, probabilities = (arrays[name][: ends[-1]].tolist() for name in ("cost_values", "probabilities"))
        shared = sum(probability == _SHARED for probability in probabilities)
        first = int(ends[1] > 0 and probabilities[0] == _SHARED)
        given = sum(cost != _UNLABELED for cost in costs)
        wanted = rows - first if self._all_costs else 1
        good = shared == first < rows and given in (0, wanted) and len(costs) == first + given and ends[first] == first
        features = arrays["row_ptr"][first : rows + 1].tolist()
        good = good and all(last - start > self._constant for start, last in pairwise(features))
        if self._all_costs and given:
            good = good and ends == list(range(rows + 1))
        return first if good else -1

    def _point(self, filled: _Filled) -> None:
        """Set the addresses of all arrays in the records."""
        self._arrays = arrays = filled.arrays
        many = len(arrays["labels"])
        for name in SEEN:
            self._run[name] = arrays[filled.fields.get(name, name)].ctypes.data
        self._written = {name: np.zeros(many, np.float32) for name in ("predictions", "raw", "queries", "losses")}
        for name, array in self._written.items():
            self._run[name] = array.ctypes.data
        self._predictions, self._ranked = self._written["predictions"], np.zeros(many, np.uint32)
        self._driver.point(arrays["probabilities"], self._ranked)

    def __len__(self) -> int:
        return self._filled.rows

    def __getattr__(self, name: str) -> Any:  # layers see this in place of a batch; hardly one looks at it
        return getattr(self._filled.batch(), name)
