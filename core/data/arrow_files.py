"""Files of columns, Parquet and Feather (Arrow), as batches, a piece at a time."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from hutch.core.batch import Batch
from hutch.core.data.arrow import arrow, table_reader
from hutch.core.data.places import opened_anywhere
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.vectors import FixedLists
from hutch.core.errors import DataError, at, reading
from hutch.core.text.parser import ParserOptions

Pieces = tuple[Any, Iterator[Any]]
"""The schema of a file, and its record batches."""


@contextmanager
def _parquet(path: str) -> Iterator[Pieces]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(opened_anywhere(path)) as file:
        yield file.schema_arrow, file.iter_batches()


@contextmanager
def _feather(path: str) -> Iterator[Pieces]:
    from pyarrow import ArrowInvalid, OSFile, ipc

    place = opened_anywhere(path)
    with OSFile(place) if isinstance(place, str) else place as file:
        first = file.read(6)
        file.seek(0)
        if first == b"ARROW1":
            with ipc.open_file(file) as reader:
                yield reader.schema, map(reader.get_batch, range(reader.num_record_batches))
        elif first.startswith(b"\xff\xff\xff\xff"):
            with ipc.open_stream(file) as reader:
                yield reader.schema, reader
        else:
            raise ArrowInvalid("its first bytes are none of Arrow's")


_FORMATS: dict[str, tuple[str, Callable[[str], AbstractContextManager[Pieces]]]] = {
    ".parquet": ("Parquet", _parquet),
    ".feather": ("Feather", _feather),
    ".arrow": ("Feather", _feather),
}
ENDINGS = frozenset(_FORMATS)
"""Endings of files of columns."""


@contextmanager
def opened_columns(path: str, ending: str) -> Iterator[Pieces]:
    """The schema and the checked record batches of a file.

    Args:
        path: the file.
        ending: one of `ENDINGS`.

    Raises:
        DataError: at once or while reading, if it is missing, of another format, truncated or corrupt.
        HutchError: pyarrow is not installed.
    """
    error, (name, opened) = arrow().ArrowException, _FORMATS[ending]
    try:
        with opened(path) as (schema, pieces):
            yield schema, _checked(pieces)
    except OSError as reason:
        text = f"cannot be read: {os.strerror(reason.errno) if reason.errno else reason}"
        raise DataError(at(path, None, None, text)) from None
    except error as reason:
        raise DataError(at(path, None, None, f"not a {name} file:  {reason}")) from None


def _checked(pieces: Iterator[Any]) -> Iterator[Any]:
    for piece in pieces:
        piece.validate(full=True)
        yield piece


def read_parquet(path: str, options: ParserOptions, columns: AnyRoles = None) -> Iterator[Batch]:
    """Batches of a Parquet file.

    Args:
        path: the file.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.

    Raises:
        ConfigError: a column that is named but does not exist.
        DataError: as of `opened_columns`, or a column or value that cannot be used.
        HutchError: pyarrow is not installed.
    """
    with opened_columns(path, ".parquet") as (schema, pieces):
        yield from _batches(path, options, columns, schema, pieces)


def read_feather(path: str, options: ParserOptions, columns: AnyRoles = None) -> Iterator[Batch]:
    """Batches of a Feather file, which is one of Arrow; arguments and errors are those of `read_parquet`."""
    with opened_columns(path, ".feather") as (schema, pieces):
        yield from _batches(path, options, columns, schema, pieces)


def _batches(
    path: str, options: ParserOptions, columns: AnyRoles, schema: Any, pieces: Iterator[Any]
) -> Iterator[Batch]:
    reader: Any = None
    for piece in FixedLists(Roles.of(columns)).pieces(pieces, schema, path):
        if reader is None or reader.schema != piece.schema:
            with reading(path):
                reader = table_reader(piece.schema, options, columns, path, reader)
        yield from reader.batches(piece)
