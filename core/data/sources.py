"""Everything a chain accepts as examples, by its type, as batches."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from hutch.core.batch import Batch, whole_groups
from hutch.core.data.arrow import is_dataset, is_table, table_batches, tables_of
from hutch.core.data.decisions import DecisionReader
from hutch.core.data.matrix import is_matrix, matrix_batches
from hutch.core.data.records import RecordReader
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.rows import Rows
from hutch.core.errors import DataError, reading, warn
from hutch.core.text.parser import ParserOptions, TextParser

ACCEPTED = (
    "a Batch, a line or lines of text (str or bytes), dicts, a NumPy array, a SciPy sparse matrix, "
    "a table (pandas, polars, duckdb, pyarrow, datasets), or an iterable of batches, lines, dicts or tables"
)
_Text = str | bytes | bytearray | memoryview
_LINES = 1 << 12
_RECORDS = 1 << 13
_LABEL_ONLY = re.compile(r"\s*($|[-+]?\.?\d[-+\d.:e]*(\s|$))", re.IGNORECASE)


def to_batches(
    examples: Any, options: ParserOptions, columns: AnyRoles = None, *, labels: Any = None, importance: Any = None
) -> Iterator[Batch]:
    """Examples of any accepted kind as batches; each is valid until the next one is requested.

    Args:
        examples: one of `ACCEPTED`. A `str` is text, never a path.
        options: how names are hashed, and the kind of the labels.
        columns: roles of the columns of a table, the columns of a matrix or the keys of dicts; see
            `hutch.core.data.roles.Roles`.
        labels: labels of a matrix's or table's rows, shape (examples,); NaN: unlabeled.
        importance: importances of a matrix's or table's rows, shape (examples,).

    Raises:
        TypeError: something else; the message lists the accepted kinds.
        ConfigError: columns that do not exist.
        DataError: the name of a file instead of its text, or examples that cannot be used.

    >>> [batch] = to_batches([{"label": 1, "f": {"a": 0.5, "colour": "red: a|b"}}], ParserOptions())
    >>> batch.labels, batch.values
    (array([1.], dtype=float32), array([0.5, 1. , 1. ], dtype=float32))
    """
    found = _to_batches(examples, options, columns, labels, importance)
    cut = isinstance(examples, Batch | _Text)  # these come as one piece
    return whole_groups(found) if options.whole_groups and not cut else found


def _to_batches(
    examples: Any, options: ParserOptions, columns: AnyRoles, labels: Any, importance: Any
) -> Iterator[Batch]:
    if is_matrix(examples) or is_table(examples):
        options.refuse_made(type(examples).__name__)
    if is_matrix(examples):
        return matrix_batches(examples, options, columns, labels, importance)
    if is_table(examples):
        return table_batches([examples], options, columns, labels=labels, importance=importance)
    if labels is not None or importance is not None:
        wanted = "a matrix or a table; in text and records they stand in the examples themselves"
        raise TypeError(f"labels and importance: got them with {type(examples).__name__}, wanted them with {wanted}")
    if isinstance(examples, str) and _is_name(examples):
        raise DataError(f"got {examples!r}, wanted lines such as '1 |words a b'; a chain reads a file by pathlib.Path")
    if is_dataset(examples):
        examples = tables_of(examples)
    elif isinstance(examples, Batch | Mapping | _Text):
        examples = [examples]
    if isinstance(examples, Iterable):
        return _several(iter(examples), options, columns)
    raise TypeError(f"got {type(examples).__name__}, wanted {ACCEPTED}")


def _several(examples: Iterator[Any], options: ParserOptions, columns: AnyRoles) -> Iterator[Batch]:
    """Batches, lines, tables or dicts; the first item determines the kind."""
    first = next(examples, None)
    if first is None:
        return iter([])
    examples = chain([first], examples)
    if isinstance(first, Batch):
        return examples
    if isinstance(first, _Text):
        return _text(examples, options)
    options.refuse_made(type(first).__name__)
    if is_table(first):
        return table_batches(examples, options, columns)
    if isinstance(first, Mapping):
        return record_batches(examples, options, columns)
    raise TypeError(f"got an iterable of {type(first).__name__}, wanted {ACCEPTED}")


def _is_name(text: str) -> bool:
    """Whether a text is probably a file name and not a line: it has no label and no feature."""
    return "|" not in text and "\n" not in text and not _LABEL_ONLY.match(text)


def _text(lines: Iterable[_Text], options: ParserOptions) -> Iterator[Batch]:
    """Batches of lines; the first malformed places of each kind are reported as warnings."""
    parser, left, number, told = TextParser(options, "<lines>"), iter(lines), 0, 0
    while piece := list(islice(left, _LINES)):
        for i, line in enumerate(piece):
            if not isinstance(line, _Text):
                raise DataError(f"<lines>:{number + i + 1}: got {type(line).__name__}, wanted str or bytes")
        encoded = [line.encode() if isinstance(line, str) else bytes(line) for line in piece]
        number += len(piece)
        batch = parser.parse(b"".join(line if line.endswith(b"\n") else line + b"\n" for line in encoded))
        for problem in parser.problems.kept[told:]:
            warn(str(problem))
        told = len(parser.problems.kept)
        if len(batch):
            yield batch


def reader_of(options: ParserOptions) -> type[RecordReader]:
    """The reader of records with labels of this kind."""
    return DecisionReader if options.label in ("action_costs", "logged_action") else RecordReader


def record_batches(
    records: Iterable[Mapping[str, Any]], options: ParserOptions, columns: AnyRoles = None, source: str = "<records>"
) -> Iterator[Batch]:
    """Batches of records.

    Args:
        records: each maps namespaces to features (a mapping of names to numbers or words, a list of names, or one
            name) and holds the label (costs by class in a cost-sensitive chain), importance, base, tag and group. One
            with numbers beside these is a row of a table; see `hutch.core.data.rows`.
        options: how names are hashed, and the kind of the labels.
        columns: keys of these, if they differ from the defaults.
        source: name of the records in messages.

    Raises:
        DataError: a record or a value that cannot be used.
    """
    roles = Roles.of(columns)
    rows, reader, left = Rows(roles), reader_of(options)(options, roles), iter(records)
    table = reader_of(options) is RecordReader
    while piece := list(islice(left, _RECORDS)):
        if table:
            piece = [rows.record(each) if isinstance(each, Mapping) and rows.are(each) else each for each in piece]
        with reading(source):
            batch = reader.batch(piece)
        yield batch
