"""Tables that speak the Arrow PyCapsule protocol as batches: kernels over the columns' buffers, no text between.

pandas, polars, duckdb and pyarrow itself hand their columns over without copying them, Hugging Face `datasets` as
tables of some rows each. A number is the feature `name` with that value; a word is the feature that the text
`name:word` would be, whatever bytes it holds; an empty one is missing. The values of a dictionary are words, as
categories are; dates are taken apart as `hutch.core.data.dates` says, columns of text as `hutch.core.data.words` does.
The index of a pandas frame is not a column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import (
    FEATURES_PER_BATCH,
    WANTED,
    Namespaces,
    as_given,
    as_labels,
    assemble,
    hash_names,
    hash_texts,
    joined_texts,
)
from hutch.core.data.choices import ChoiceTableReader
from hutch.core.data.class_names import ClassNames, class_names, numbers_wanted
from hutch.core.data.dates import Part, parts_of
from hutch.core.data.disguises import Where, in_table
from hutch.core.data.label_lists import label_lists
from hutch.core.data.number_columns import NumberColumns, are_plain, numbers_of, singles, valid
from hutch.core.data.roles import AnyRoles, FeatureColumn, Roles, position_of, refuse_twice
from hutch.core.data.vectors import FixedLists, elements_of
from hutch.core.data.words import hash_words, with_words
from hutch.core.errors import DataError, HutchError, Problem, at, reading
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.cache import compiled
from hutch.core.text.hashing import PADDING, hash_namespace
from hutch.core.text.parser import ParserOptions

"""Arrow's names of types that are not NumPy's."""
_SOURCE = "<table>"
_MOST_LABELS = 1 << 12  # of words that may be names of classes
_MOST_BYTES = (1 << 31) - 1
"""Of one array of strings."""


def is_table(data: Any) -> bool:
    """Whether an object can hand over its columns by the Arrow PyCapsule protocol."""
    return hasattr(data, "__arrow_c_stream__")


def is_dataset(data: Any) -> bool:
    """Whether an object is a dataset of Hugging Face (`datasets` itself is not imported)."""
    return type(data).__module__.partition(".")[0] == "datasets" and hasattr(data, "with_format")


def tables_of(dataset: Any) -> Iterator[Any]:
    """The rows of a dataset of Hugging Face, in their present order, as Arrow tables."""
    tables: Iterator[Any] = dataset.with_format("arrow").iter(batch_size=FEATURES_PER_BATCH // 16)
    return tables


def arrow() -> ModuleType:
    """The module pyarrow.

    Raises:
        HutchError: it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise HutchError("tables need pyarrow: pip install 'hutch[arrow]'") from None
    return pyarrow  # type: ignore[no-any-return]


@compiled
def _take(codes, hashes, first, stride, indices, values):
    """Column `first` of the row-major features: hashes of the codes; a negative code is a missing word."""
    for row in range(len(codes)):
        if codes[row] >= 0:
            indices[row * stride + first] = hashes[codes[row]]
            values[row * stride + first] = float32(1)
        else:
            values[row * stride + first] = float32(np.nan)


class TableReader:
    """Record batches of one schema as batches.

    Args:
        schema: the Arrow schema.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.
        source: name of the table in messages.
        after: the reader of the rows before, if their table had another schema; rows and groups are counted on.
        given: `labels` and `importance` of all rows, float32, if no column holds them.

    Raises:
        ConfigError: a column that is named but does not exist.
        DataError: a column of a type that cannot be a feature, or two of the same name.
    """

    def __init__(
        self,
        schema: Any,
        options: ParserOptions,
        columns: AnyRoles = None,
        source: str = _SOURCE,
        after: "TableReader | None" = None,
        given: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> None:
        self._arrow = arrow()
        self.schema = schema
        self._options = options
        self._source = source
        self._given = given or {}
        roles = _without_index(Roles.of(columns), schema)
        names = list(schema.names)
        with reading(source):
            refuse_twice(names)
        self._classes = class_names(roles.classes, options.label)
        self._roles = {role: roles.position(role, names) for role in ("label", "importance", "base", "tag", "group")}
        self._categorical = {position_of("columns.categorical", str(name), names) for name in roles.categorical}
        texts = roles.texts(names)
        self._features: list[FeatureColumn] = []
        self._parts: list[Part | None] = []
        self._texts: list[FeatureColumn] = []
        features = roles.features(names)
        elements: list[tuple[FeatureColumn, Part]] = []  # behind all cells, as the words of texts are
        with reading(source):
            for column in features:
                kind = schema.field(column.position).type
                parts = elements_of(self._arrow.types, kind)
                elements += [(column._replace(name=part.suffix, namespace=column.name), part) for part in parts or ()]
                if parts is None:
                    self._add(column, kind, column.position in texts)
            self._features += [column for column, _ in elements]
            self._parts += [part for _, part in elements]
            self._watch = roles.see(source, [column.name for column in features])
        self._doubted = {names[c.position] for c in features if c.position not in texts | self._categorical}
        spaces = Namespaces(options)
        self._numbers = np.array([spaces.number(column.namespace) for column in self._features], np.int32)
        self._text_numbers = [spaces.number(column.namespace) for column in self._texts]
        self._ids = spaces.ids
        seeds = [hash_namespace(column.namespace, options.hash_seed, options.hash) for column in self._features]
        self._text_seeds = [hash_namespace(column.namespace, options.hash_seed, options.hash) for column in self._texts]
        self._hashes = hash_names(
            [column.name for column in self._features], np.array(seeds or [0], np.uint32), options
        )
        self._mask = np.uint32((1 << options.bits) - 1)
        plain = [
            k
            for k, (column, part) in enumerate(zip(self._features, self._parts, strict=True))
            if part is None
            and column.position not in self._categorical
            and are_plain(self._arrow.types, schema.field(column.position).type)
        ]
        self._plain, self._others = np.array(plain, np.int64), sorted(set(range(len(self._features))) - set(plain))
        self._plain_columns = NumberColumns([self._features[k].position for k in plain])
        self._row: int = after._row if after else 1
        self._group: int = after._group if after else 0
        self._last_group: Any = after._last_group if after else None

    def _add(self, column: FeatureColumn, kind: Any, text: bool) -> None:
        """Take a column of Arrow's type `kind` for features."""
        types = self._arrow.types
        if text:
            if not _is_word(types, kind):
                raise Problem(f"column {column.name!r} is {kind}, wanted text")
            self._texts.append(column)
        elif (parts := parts_of(types, kind)) and column.position in self._categorical:
            if not types.is_date(kind):
                raise Problem(f"column {column.name!r} is {kind}, wanted words, numbers or dates under 'categorical'")
            self._features.append(column)
            self._parts.append(None)
        elif parts:
            self._features += [column._replace(name=column.name + part.suffix) for part in parts]
            self._parts += parts
        else:
            self._check_type(column, kind)
            self._features.append(column)
            self._parts.append(None)

    def batches(self, record_batch: Any) -> Iterator[Batch]:
        """One record batch in pieces."""
        rows = max(1, FEATURES_PER_BATCH // max(1, len(self._features) + 64 * len(self._texts)))
        if self._watch is not None:
            looked = [name for name in self._doubted if self._watch.looks(name)]
            where: Where = "frame" if self._source == _SOURCE else "file"
            for name, text in in_table(record_batch, looked, where, numbers_of):
                self._watch.say(self._source, name, text)
        self._plain_columns.start()
        for start in range(0, record_batch.num_rows, rows):
            with reading(self._source):
                stop = min(start + rows, record_batch.num_rows)
                numbers = self._plain_columns.rows(record_batch, start, stop)
                batch = self._batch(record_batch.slice(start, rows), numbers)
            yield batch

    def _batch(self, piece: Any, plain: NDArray[np.float32]) -> Batch:
        """The rows of a piece, of which the columns of numbers have been read."""
        rows, width = piece.num_rows, len(self._features)
        indices, values = np.empty(rows * width, np.uint32), np.empty(rows * width, np.float32)
        indices.reshape(rows, width)[:, self._plain] = self._hashes[self._plain] & self._mask
        values.reshape(rows, width)[:, self._plain] = plain
        for k in self._others:
            column, part = self._features[k], self._parts[k]
            array = piece.column(column.position)
            self._fill(k, column, part.of(array) if part else array, indices, values)
        row_ptr, numbers = np.arange(rows + 1, dtype=np.int64) * width, np.tile(self._numbers, rows)
        if self._texts:
            row_ptr, indices, values, numbers = self._with_words(piece, indices, values, numbers)
        batch = assemble(
            row_ptr,
            indices,
            values,
            numbers,
            self._ids,
            self._options,
            self._row,
            lambda _, place: f"column {self._features[place].name!r}",
            **self._columns(piece),
        )
        self._row += rows
        return batch

    def _with_words(
        self, piece: Any, indices: NDArray[np.uint32], values: NDArray[np.float32], numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32], NDArray[np.int32]]:
        """The features of a piece and the words of its columns of text: row offsets, indices, values, namespaces."""
        found = []
        for column, seed in zip(self._texts, self._text_seeds, strict=True):
            data, offsets = _buffers(_without_nulls(self._words(piece.column(column.position))))
            found.append(hash_words(data, offsets[:-1], offsets[1:], seed, self._options.hash == "all", self._mask))
        return with_words(len(self._features), piece.num_rows, (indices, values, numbers), found, self._text_numbers)

    def _fill(
        self,
        k: int,
        column: FeatureColumn,
        array: Any,
        indices: NDArray[np.uint32],
        values: NDArray[np.float32],
    ) -> None:
        types, width = self._arrow.types, len(self._features)
        if types.is_dictionary(array.type):
            words = array.dictionary
            codes, (hashes, there) = _codes(array, -1), self._hash_words(k, words)
            if not there.all():
                codes = np.where((codes >= 0) & ~there[codes], -1, codes)
            _take(codes, hashes, k, width, indices, values)
        elif column.position in self._categorical or _is_word(types, array.type):
            indices[k::width], there = self._hash_words(k, array)
            values[k::width] = np.where(there, float32(1), float32(np.nan))
        else:
            indices[k::width] = self._hashes[k] & self._mask
            values[k::width] = self._floats(array, float("nan"))

    def _words(self, array: Any) -> Any:
        types, kind = self._arrow.types, array.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            return array
        return array.cast(self._arrow.large_string())

    def _hash_words(self, k: int, array: Any) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
        """The indices of words, and which are there: an empty one is missing, as an empty cell of CSV is."""
        out = np.zeros(len(array), np.uint32)
        data, offsets = _buffers(self._words(array))
        seed, hash_all = self._hashes[k : k + 1], self._options.hash == "all"
        hash_texts(data, offsets, seed, hash_all, self._mask, out)
        return out, valid(array) & (np.diff(offsets) > 0)

    def _floats(self, array: Any, missing: float) -> NDArray[np.float32]:
        """A numeric column as float32, nulls as `missing`."""
        if self._arrow.types.is_decimal(array.type):
            array = array.cast("float64")
        with np.errstate(over="ignore", invalid="ignore"):  # too large values become infinite, and are reported as such
            return singles(array, missing)

    def _columns(self, piece: Any) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for role, name in (("label", "labels"), ("importance", "importance"), ("base", "base")):
            position = self._roles[role]
            if name in self._given:
                found[name] = self._given[name][self._row - 1 : self._row - 1 + piece.num_rows]
            elif position is not None and role == "label" and self._options.label in WANTED:
                found.update(self._label_lists(piece.column(position)))
            elif position is not None:
                found[name] = self._number_column(role, piece.column(position))
        position = self._roles["tag"]
        if position is not None:
            data, offsets = _buffers(_without_nulls(self._words(piece.column(position))))
            found["tags"] = data[offsets[0] : offsets[-1]]
            found["tag_ptr"] = offsets - offsets[0]
        position = self._roles["group"]
        if position is not None:
            found["group"] = self._groups(piece.column(position))
        return found

    def _label_lists(self, array: Any) -> dict[str, NDArray[Any]]:
        """The columns of labels that are more than a number; a null in a struct is left out."""
        given = array.to_pylist()
        if self._arrow.types.is_map(array.type):
            given = [None if value is None else dict(value) for value in given]
        for value in given:
            for name in [name for name, each in value.items() if each is None] if isinstance(value, dict) else ():
                del value[name]

        def wrong(i: int, text: str) -> Problem:
            return Problem(f"the label: {text}", self._row + i)

        return label_lists(self._options.label, given, wrong, self._options.chosen_alone)

    def _class_column(self, classes: ClassNames, array: Any) -> NDArray[np.float32]:
        """Labels of a column that names classes; each name is looked up once."""
        if not self._arrow.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        names = ["" if name is None else _text_of(name).strip() for name in array.dictionary.to_pylist()]
        labels = np.full(len(names) + 1, UNLABELED)  # the last is the label of a missing name
        codes = _codes(array, len(names))
        for code, name in enumerate(names):
            try:
                labels[code] = classes.label(name) if name else UNLABELED
            except DataError as error:
                rows = np.flatnonzero(codes == code)
                if len(rows):
                    raise Problem(f"the label: {error}", self._row + int(rows[0])) from None
        found: NDArray[np.float32] = labels[codes]
        return found

    def _number_column(self, role: str, array: Any) -> NDArray[np.float32]:
        if role == "label" and self._classes is not None:
            return self._class_column(self._classes, array)
        types = self._arrow.types
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if not _is_number(types, array.type):
            words = array.slice(0, _MOST_LABELS).to_pylist() if role == "label" else []
            wanted = numbers_wanted([str(word).encode() for word in words if word], "numbers")
            raise Problem(f"the {role} column is {array.type}, {wanted}")
        if role == "label":
            return as_labels(self._floats(array, float("nan")))
        return self._floats(array, float("nan") if role == "importance" else 0.0)

    def _groups(self, array: Any) -> NDArray[np.int64]:
        """Numbers that rise whenever the value differs from the row before, across record batches too."""
        if not self._arrow.types.is_dictionary(array.type):
            array = array.dictionary_encode(null_encoding="encode")
        codes = _codes(array, -1)
        rises = np.zeros(len(codes), np.int64)
        rises[1:] = codes[1:] != codes[:-1]
        first, last = array[0].as_py(), array[-1].as_py()
        rises[0] = self._row > 1 and first != self._last_group
        groups = self._group + np.cumsum(rises)
        self._last_group, self._group = last, int(groups[-1])
        return groups

    def _check_type(self, column: FeatureColumn, kind: Any) -> None:
        types = self._arrow.types
        value = kind.value_type if types.is_dictionary(kind) else kind
        if not (_is_number(types, value) or _is_word(types, value) or types.is_null(value)):
            wanted = "numbers, words, dates or lists of floats; convert it, or name it in `ignore` of `columns`"
            raise Problem(f"column {column.name!r} is {kind}, wanted {wanted}")


def _without_index(roles: Roles, schema: Any) -> Roles:
    """The roles where the index of a frame of pandas, unless they name it, is left out."""
    spaces = (roles.namespaces or {}).values()
    named = {str(name) for names in spaces for name in ([names] if isinstance(names, str) else names)}
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    ignored = [name for name in index if name in schema.names and name not in named]
    return replace(roles, ignore=(*roles.ignore, *ignored)) if ignored else roles


def _text_of(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _is_word(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        return _is_word(types, kind.value_type)
    checks = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(types, check)(kind) for check in checks if hasattr(types, check))


def array_of(values: NDArray[Any], kind: Any) -> Any:
    """Numbers as an Arrow array of a type, without a copy."""
    arrow_ = arrow()
    return arrow_.Array.from_buffers(kind, len(values), [None, arrow_.py_buffer(np.ascontiguousarray(values))])


def texts_of(texts: Sequence[str | None]) -> Any:
    """Texts, None for missing ones, as an Arrow array.

    >>> texts_of(["a", None, "bc"]).to_pylist()
    ['a', None, 'bc']
    """
    arrow_ = arrow()
    data, offsets = joined_texts([(text or "").encode() for text in texts])
    if offsets[-1] > _MOST_BYTES:
        return arrow_.array(texts, arrow_.string())
    there = np.packbits(np.array([text is not None for text in texts], np.bool_), bitorder="little")
    buffers = [arrow_.py_buffer(each) for each in (there, offsets.astype(np.int32), data)]
    return arrow_.Array.from_buffers(arrow_.string(), len(texts), buffers)


def _codes(array: Any, missing: int) -> NDArray[np.int64]:
    """The codes of an array of a dictionary's words, `missing` for null."""
    codes = numbers_of(array.indices).astype(np.int64)
    if array.indices.null_count:
        codes[~valid(array.indices)] = missing
    return codes


def _without_nulls(words: Any) -> Any:
    """Words with empty text for missing ones; nearly always they have it already."""
    if not words.null_count or not np.diff(_buffers(words)[1])[~valid(words)].any():
        return words
    return words.fill_null("")


def _buffers(words: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Bytes and offsets of an array of strings or of bytes; `PADDING` bytes follow the last text."""
    _, offsets, data = words.buffers()
    kind: Any = np.int64 if str(words.type).startswith("large_") else np.int32
    starts = np.frombuffer(offsets, kind) if offsets is not None and offsets.size else np.zeros(1, kind)
    starts = starts[words.offset : words.offset + len(words) + 1].astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    if starts[-1] + PADDING > len(text):
        text = np.concatenate([text[starts[0] : starts[-1]], np.zeros(PADDING, np.uint8)])
        starts = starts - starts[0]
    return text, starts


def table_reader(
    schema: Any,
    options: ParserOptions,
    columns: AnyRoles,
    source: str,
    after: Any = None,
    given: Mapping[str, NDArray[np.float32]] | None = None,
) -> Any:
    """The reader of record batches of a schema: rows as examples, or as decisions; arguments as for `TableReader`."""
    if (roles := Roles.of(columns)).are_choices(options.label, schema.names) and not given:
        return ChoiceTableReader(schema, options, roles, source, TableReader, after)
    if options.label not in ("action_costs", "logged_action"):
        return TableReader(schema, options, columns, source, after, given)
    if given:
        raise DataError(f"{source}: got {' and '.join(given)} beside a table of decisions, wanted columns")
    from hutch.core.data.decisions import DecisionTableReader

    return DecisionTableReader(schema, options, columns, source, after)


def table_batches(
    tables: Iterable[Any], options: ParserOptions, columns: AnyRoles = None, labels: Any = None, importance: Any = None
) -> Iterator[Batch]:
    """Batches of any tables that speak the Arrow PyCapsule protocol.

    Args:
        tables: frames of pandas or polars, duckdb relations, Arrow tables or streams, with the same columns.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.
        labels, importance: one for each row, in place of columns; None: a column may hold them.

    Raises:
        ConfigError: a column that is named but does not exist.
        DataError: no table, or a column or a value that cannot be used.
        HutchError: pyarrow is not installed.
    """
    with reading(_SOURCE):
        given = as_given(labels, importance)
    reader: Any = None
    lists = FixedLists(Roles.of(columns))
    for table in tables:
        try:
            stream = arrow().RecordBatchReader.from_stream(table)
        except (arrow().ArrowException, TypeError, OverflowError) as error:
            got = f"got {type(table).__name__}, wanted a table of named columns: {error}"
            raise DataError(at(_SOURCE, None, None, got)) from None
        for piece in lists.pieces(stream, stream.schema, _SOURCE):
            if reader is None or reader.schema != piece.schema:
                reader = table_reader(piece.schema, options, columns, _SOURCE, reader, given)
            for name, array in given.items():
                if len(array) < lists.rows:
                    raise DataError(f"{_SOURCE}: got {len(array)} {name}, wanted one for each row")
            yield from reader.batches(piece)
    for name, array in given.items():
        if len(array) != lists.rows:
            raise DataError(f"{_SOURCE}: got {len(array)} {name}, wanted {lists.rows}, one for each row")
