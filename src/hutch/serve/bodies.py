"""Bodies of requests: lines of text, JSON records, lines of dsjson or an Arrow stream as batches."""

import io
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, ends_of_groups, shared_rows, whole_groups
from hutch.core.chain.reduction import Labels
from hutch.core.data.roles import Roles
from hutch.core.data.sources import record_batches
from hutch.core.errors import DataError, at, counted
from hutch.core.kernel.abi import UNLABELED
from hutch.core.strict_json import loads
from hutch.core.text.parser import TextParser
from hutch.durable.choices import Choice
from hutch.net.application import JSON
from hutch.net.limits import Limits
from hutch.serve.inflated import declared

SOURCE = "<body>"
TEXT, ARROW, DSJSON = "text/plain", "application/vnd.apache.arrow.stream", "application/x-dsjson"
"""The kinds of bodies other than JSON: their content types."""
_LARGEST_TABLE, _FEW = 1 << 30, 64
SMALL = 1 << 14
"""Bytes of a body that may be read between other requests; larger ones are read in a thread of their own."""


class NoMemory(DataError):
    """A body that would take too much room."""


def single(kind: str, body: bytes) -> Any:
    """The example in a body if it holds just one line or record; else a value that `hutch.core.run.one` rejects.

    Raises:
        DataError: a body that is not UTF-8, not JSON or wraps its records in an object.
    """
    if kind == TEXT:
        return _utf8(body)
    return _records(body) if kind == JSON else None


def batches_of(chain: Chain, kind: str, body: bytes, most: float = math.inf) -> list[Batch]:
    """A body as batches, copied.

    Args:
        chain: the model.
        kind: of the body.
        body: as sent.
        most: examples, or lines of text.

    Raises:
        NoMemory: there are more.
        DataError: the first malformed place.
    """
    if kind == TEXT:
        _check_count(body.count(b"\n"), most, "line")
        return _nonempty([TextParser(replace(chain.parser, strict=True), SOURCE).parse(_utf8(body))])
    if kind == DSJSON:
        _check_count(body.count(b"\n"), most, "line")
        return _nonempty([_decision_log(chain, _utf8(body))])
    if kind == JSON:
        found = _records(body)
        if isinstance(found, Mapping) and "_label_cost" in found and "c" in found:
            raise DataError(at(SOURCE, 1, 1, f"got a line of dsjson, wanted it with the content type {DSJSON}"))
        if isinstance(found, Mapping) and len(body) <= SMALL and (one := chain.batch_of_decision(found)) is not None:
            return [one]
        records = [found] if isinstance(found, Mapping) else found
        if not isinstance(records, list):
            raise DataError(at(SOURCE, 1, 1, f"got {type(found).__name__}, wanted a record or a list of records"))
        _check_count(len(records) if isinstance(records, list) else 1, most, "record")
        columns = chain.columns.watched(chain.watch.apart())
        made: Iterator[Batch] = record_batches(records, chain.parser, columns, SOURCE)
    else:
        made = _arrow(chain, body, most)
    return _nonempty(list(whole_groups(made) if chain.whole_groups else made))


def _decision_log(chain: Chain, body: bytes) -> Batch:
    """Lines of Vowpal Wabbit's log of decisions; those without actions, and with `_skipLearn`, are none."""
    from hutch.vw.json.reader import JsonReader

    for number, line in enumerate(body.split(b"\n"), 1):  # a file of such lines may hold others, which are skipped
        if line.strip() and not line.startswith(b"{"):
            raise DataError(at(SOURCE, number, 1, f"got {line.decode()[:20]!r}, wanted a JSON object"))
    parser = TextParser(replace(chain.parser, strict=True), SOURCE)
    return JsonReader(parser.options, log=True, chained=False).parse(body, parser)


def _check_count(count: int, most: float, what: str) -> None:
    if count > most:
        text = f"got {counted(count, what)}, wanted at most {most:.0f} in a request; send several"
        raise NoMemory(at(SOURCE, None, None, text))


def _nonempty(batches: list[Batch]) -> list[Batch]:
    if not any(map(len, batches)):
        raise DataError(at(SOURCE, None, None, "got no example, wanted one or more"))
    return batches


def _utf8(body: bytes) -> bytes:
    try:
        body.isascii() or body.decode()
    except UnicodeDecodeError as error:
        line, start = body.count(b"\n", 0, error.start) + 1, body.rfind(b"\n", 0, error.start)
        raise DataError(at(SOURCE, line, error.start - start, "not UTF-8")) from None
    return body


_WRAPPERS = {"data", "examples", "inputs", "instances", "lines", "records", "rows"}
"""Keys under which other servers take a list of examples."""


def _records(body: bytes) -> Any:
    """A JSON body, unless it wraps its records in an object, whose key would be taken for a namespace."""
    found = parse_json(body)
    if isinstance(found, dict) and len(found) == 1 and isinstance(found[key := next(iter(found))], list):
        if key in _WRAPPERS or any(isinstance(each, str) and "|" in each for each in found[key]):
            text = f"got an object with the list {key!r}, wanted a record or a list of records"
            raise DataError(at(SOURCE, 1, 1, text))
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(at(SOURCE, None, None, f"got the key {twice!r} twice in one object"))
    return found


def _no_number(word: str) -> Any:
    raise DataError(at(SOURCE, None, None, f"got {word}, wanted JSON: a number or null"))


def parse_json(body: bytes) -> Any:
    """The content of a JSON body.

    Raises:
        DataError: as of `strict_json.loads`, or it has a key twice.
    """
    return loads(body, SOURCE, object_pairs_hook=_once, parse_constant=_no_number)


def _arrow(chain: Chain, body: bytes, most: float) -> Iterator[Batch]:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError("Arrow bodies need pyarrow on the server: pip install 'hutch[arrow]'") from None
    from hutch.core.data.arrow import table_batches

    try:
        count = size = 0
        for rows, inflated in declared(pa.ipc.MessageReader.open_stream(body)):
            count, size = count + rows, size + inflated
            _check_count(count, most, "row")
            if size > _LARGEST_TABLE:
                raise NoMemory(at(SOURCE, None, None, f"got a table beyond {_LARGEST_TABLE} bytes"))
        with pa.ipc.open_stream(io.BytesIO(body)) as stream:
            pieces, size, count = [], 0, 0
            for piece in stream:
                count += piece.num_rows  # of nothing but nulls a row takes no bytes
                _check_count(count, most, "row")
                piece.validate(full=True)  # first of all: anything else may follow offsets out of the message
                pieces.append(piece)
                size += piece.nbytes
                if size > _LARGEST_TABLE:
                    raise NoMemory(at(SOURCE, None, None, f"got a table beyond {_LARGEST_TABLE} bytes"))
            table = pa.Table.from_batches(pieces, stream.schema)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise DataError(at(SOURCE, None, None, f"not an Arrow stream: {error}")) from None
    columns = Roles.of(chain.config.input.columns).watched(chain.watch.apart().of_lengths())
    return table_batches([table], chain.parser, columns)


def check_labels(chain: Chain, batches: list[Batch]) -> None:
    """Check that every example has a label that every layer can learn, without learning.

    Raises:
        DataError: an example without a label, a label the chain is not made for, or one that a layer refuses.
    """
    row = 0
    for batch in batches:
        known = has_label(batch)
        if chain.takes.of_decisions:
            every = (known.astype(np.int64) + shared_rows(batch) > 0) if chain.takes is Labels.ACTION_COSTS else known
            ends = ends_of_groups(batch)
            starts = np.concatenate([[0], ends[:-1]])
            good = (np.minimum if chain.takes is Labels.ACTION_COSTS else np.maximum).reduceat(every, starts)
            bad = starts[~good]
        else:
            bad = np.flatnonzero(~known) if not (chain.whole_groups and known.any()) else known[:0]
        if len(bad):
            raise DataError(at(SOURCE, row + int(bad[0]) + 1, 1, "got no label, wanted one to learn from"))
        rows, strange = chain.label_check.unexpected(batch)
        if len(strange):
            text = f"got label {strange[0]:g}, which this chain is not made for"
            raise DataError(at(SOURCE, row + int(rows[0]) + 1, 1, text))
        row += len(batch)
    for batch in batches:
        for layer in chain.layers:
            layer.begin_batch(batch, True)


def check_numbers(batches: Sequence[Any], limits: Limits) -> None:
    """Check that no number to be learned is beyond the limits.

    Args:
        batches: or objects with their arrays.
        limits: on importance and values.

    Raises:
        DataError: a number is.
    """
    row = 0
    for batch in batches:
        starts = {"importance": None, "value": batch.row_ptr, "label": None, "cost": batch.cost_ptr}
        arrays = (batch.importance, batch.values, batch.labels, batch.costs)
        for (what, ptr), array in zip(starts.items(), arrays, strict=True):
            most = min(limits.importance if what == "importance" else limits.value, float(UNLABELED))
            if len(array) <= _FEW and all(-most <= value <= most for value in array.tolist()):
                continue  # NumPy would take longer for so few
            sizes = np.abs(array)
            if float(sizes.max(initial=0)) > most and len(
                wrong := np.flatnonzero((sizes > most) & (array != UNLABELED))
            ):
                found = int(wrong[0])
                place = row + (found if ptr is None else int(np.searchsorted(ptr, found, "right")) - 1) + 1
                option = "--max-importance" if what == "importance" else "--max-value"
                text = f"got the {what} {array[found]:g}, wanted at most {most:g}; {option} changes that"
                raise DataError(at(SOURCE, place, 1, text))
        row += len(batch)


def has_label(batch: Batch) -> NDArray[np.bool_]:
    """Which examples have a label, or a cost; bool (examples)."""
    if len(batch.cost_ptr) < 2:
        return np.asarray(batch.labels != UNLABELED)
    given = np.concatenate([[0], np.cumsum(batch.costs != UNLABELED)])
    return np.asarray(given[batch.cost_ptr[1:]] > given[batch.cost_ptr[:-1]])


def with_choice(batch: Batch, takes: Labels, choice: Choice) -> Batch:
    """A decision without a label as one whose action was chosen.

    Args:
        batch: one decision; a shared row comes first.
        takes: the kind of labels that the chain takes.
        choice: its label.
    """
    of_lines = takes is Labels.LOGGED_ACTION
    row = choice.action + int(shared_rows(batch)[0]) if of_lines else 0
    place = int(batch.cost_ptr[row])
    ends = batch.cost_ptr.copy()
    ends[row + 1 :] += 1
    return replace(
        batch,
        cost_ptr=ends,
        cost_classes=np.insert(batch.cost_classes, place, choice.action),
        costs=np.insert(batch.costs, place, choice.cost),
        probabilities=np.insert(batch.probabilities, place, choice.probability),
    )
