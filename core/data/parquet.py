"""Parquet files as batches, a row group at a time."""

import os
from collections.abc import Iterator

from hutch.core.batch import Batch
from hutch.core.data.arrow import arrow, table_reader
from hutch.core.data.places import opened_anywhere
from hutch.core.data.roles import AnyRoles
from hutch.core.errors import DataError, at, reading
from hutch.core.text.parser import ParserOptions


def read_parquet(path: str, options: ParserOptions, columns: AnyRoles = None) -> Iterator[Batch]:
    """Batches of a Parquet file.

    Args:
        path: the file.
        options: how names are hashed, and the kind of the labels.
        columns: the role of each column; see `hutch.core.data.roles.Roles`.

    Raises:
        ConfigError: a column that is named but does not exist.
        DataError: no Parquet file, or a column or value that cannot be used.
        HutchError: pyarrow is not installed.
    """
    error = arrow().ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(opened_anywhere(path)) as file:
            with reading(path):
                reader = table_reader(file.schema_arrow, options, columns, path)
            for record_batch in file.iter_batches():
                record_batch.validate(full=True)
                yield from reader.batches(record_batch)
    except OSError as reason:
        raise DataError(
            at(path, None, None, f"cannot be read: {os.strerror(reason.errno) if reason.errno else reason}")
        ) from None
    except error as reason:
        raise DataError(at(path, None, None, f"not a Parquet file:  {reason}")) from None
