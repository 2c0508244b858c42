"""Predictions written beside the columns that they were made of."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hutch.core.atomic import atomic_write
from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.data.arrow import array_of, texts_of
from hutch.core.data.cells import read_records
from hutch.core.data.files import ending_of
from hutch.core.data.json_lines import json_objects
from hutch.core.errors import DataError, UsageError, at
from hutch.core.run.output import class_names_of
from hutch.core.run.passes import PassesDone
from hutch.core.run.probabilities import Probabilities
from hutch.core.run.run import Reporter, Run

Columns = dict[str, NDArray[Any]]


class ColumnsWithPredictions(Reporter):
    """Writes the columns of the data, and behind them the prediction, and the probability of each label.

    Args:
        path: where to; its ending is that of the data.
        sources: one table.
        engine: the chain.
        probabilities: of its labels; None: predictions alone.
        names: of the classes, if the data has names.

    Raises:
        UsageError: the data is no single table, or of another kind than the file, or no row stands for an example.
    """

    def __init__(
        self,
        path: str,
        sources: Sequence[str],
        engine: Engine,
        probabilities: Probabilities | None,
        names: Sequence[str] = (),
    ) -> None:
        kinds = {ending_of(source) for source in sources}
        if len(sources) != 1 or sources[0] == "-" or kinds & _WRITERS.keys() != kinds:
            raise UsageError(f"--beside: got {' '.join(sources)}, wanted one file of {', '.join(_WRITERS)}")
        if kinds != {ending_of(path)} or path.endswith((".gz", ".zst")):
            raise UsageError(f"--beside: got {path}, wanted a name that ends with {kinds.pop()}, as the data's does")
        if engine.predicts.of_actions or engine.takes.of_decisions or engine.whole_groups:
            raise UsageError(f"--beside: chain[0].{engine.layers[0].name} makes no prediction for each row")
        self._path, self._source, self._probabilities = path, sources[0], probabilities
        self._classes, self._names = engine.predicts.value == "class", names
        self.scores = probabilities is not None and probabilities.of_classes
        self._found: list[NDArray[np.float32]] = []
        self._chances: list[NDArray[np.float64]] = []

    def see(self, run: Run, batch: Batch, outputs: Outputs) -> None:
        """See `Reporter`."""
        self._found.append(outputs.predictions.copy())
        if self._probabilities is not None:
            self._chances.append(self._probabilities.of(outputs))

    def close(self, run: Run, done: PassesDone) -> None:
        """See `Reporter`."""
        predictions = np.concatenate(self._found) if self._found else np.zeros(0, np.float32)
        columns: Columns = {"prediction": self._shown(predictions)}
        if self._probabilities is not None and self._chances:
            chances = np.concatenate(self._chances)
            columns |= {f"probability_{name}": chances[:, k] for k, name in enumerate(self._probabilities.names)}
        with atomic_write(self._path) as file:
            written = _WRITERS[ending_of(self._path)](self._source, columns, file)
        if written != len(predictions):
            raise DataError(
                at(self._source, None, None, f"{len(predictions)} rows were predicted, now it has {written}")
            )

    def _shown(self, predictions: NDArray[np.float32]) -> NDArray[Any]:
        if not self._classes:
            return predictions
        return np.array(class_names_of(predictions, self._names)) if self._names else predictions.astype(np.int64)


def _checked(names: Sequence[str], columns: Columns, source: str) -> None:
    for name in columns:
        if name in names:
            raise DataError(at(source, None, None, f"has a column {name!r} itself, wanted another name for it"))


def _rows(columns: Columns) -> Iterator[tuple[float | str, ...]]:
    """The values of each example; float32 with as many digits as tell it apart."""
    shown = [[float(str(v)) if v.dtype == np.float32 else v.item() for v in column] for column in columns.values()]
    return zip(*shown, strict=True)


def _to_csv(source: str, columns: Columns, file: BinaryIO, delimiter: str = ",") -> int:
    text = io.TextIOWrapper(file, "utf-8", errors="surrogateescape", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    written, values = 0, _rows(columns)  # the header is one of those written
    try:
        for records in read_records(source, delimiter):
            rows = records.rows("surrogateescape")
            if not written:
                names = next(rows)
                _checked(names, columns, source)
                writer.writerow([*names, *columns])
            writer.writerows([*cells, *next(values, ())] for cells in rows)
            written += len(records)
    finally:
        text.detach()
    return max(written - 1, 0)


def _to_tsv(source: str, columns: Columns, file: BinaryIO) -> int:
    return _to_csv(source, columns, file, "\t")


def _to_json_lines(source: str, columns: Columns, file: BinaryIO) -> int:
    written, values, names = 0, _rows(columns), list(columns)
    for _, record in json_objects(source):
        _checked(list(record), columns, source)
        found = dict(zip(names, next(values, ()), strict=False))
        file.write(json.dumps(record | found, ensure_ascii=False).encode() + b"\n")
        written += 1
    return written


def _to_parquet(source: str, columns: Columns, file: BinaryIO) -> int:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    written = 0
    with ExitStack() as stack:
        data: Any = stack.enter_context(ParquetFile(source))
        _checked(data.schema_arrow.names, columns, source)
        writer: Any = None
        for batch in data.iter_batches():
            table = pa.Table.from_batches([batch])
            for name, values in columns.items():
                table = table.append_column(name, _array_of(values[written : written + len(table)]))
            if writer is None:
                writer = stack.enter_context(ParquetWriter(file, table.schema))
            writer.write_table(table)
            written += len(table)
        if writer is None:
            empty = [pa.field(name, _array_of(values[:0]).type) for name, values in columns.items()]
            schema = pa.schema([*data.schema_arrow, *empty])
            stack.enter_context(ParquetWriter(file, schema))
    return written


def _array_of(values: NDArray[Any]) -> Any:
    """Values as an Arrow array."""
    import pyarrow as pa

    if values.dtype.kind == "U":
        return texts_of(values.tolist())
    return array_of(values, pa.from_numpy_dtype(values.dtype))


_WRITERS: dict[str, Callable[[str, Columns, BinaryIO], int]] = {
    ".csv": _to_csv,
    ".tsv": _to_tsv,
    ".jsonl": _to_json_lines,
    ".ndjson": _to_json_lines,
    ".parquet": _to_parquet,
}
