"""What an Arrow stream declares of its size, read before anything is inflated: 65 kB may become 2 GiB.

Source: Apache Arrow, Columnar Format, "Encapsulated message format" and "Compression"; FlatBuffers, "Internals".
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any

_BYTE, _SMALL, _OFFSET, _SIGNED, _LONG, _PIECE = map(Struct, ("<B", "<H", "<I", "<i", "<q", "<qq"))
_HEADER_KIND, _HEADER = 1, 2  # fields of a message
_ROWS, _BUFFERS, _COMPRESSION = 0, 2, 3  # fields of a record batch
_DATA = 1  # the field of a dictionary batch that is a record batch
_DICTIONARIES, _RECORDS = 2, 3  # kinds of headers


def declared(messages: Any) -> Iterator[tuple[int, int]]:
    """The rows and the bytes, inflated, of each batch of a stream; a dictionary has no rows.

    Args:
        messages: a `pyarrow.ipc.MessageReader`.

    Raises:
        ValueError: a message that cannot be read, or that declares less than nothing.
        struct.error: the same.

    >>> import io
    >>> import pyarrow as pa
    >>> table, file = pa.table({"x": [0.0] * 1000}), io.BytesIO()
    >>> options = pa.ipc.IpcWriteOptions(compression="zstd")
    >>> with pa.ipc.new_stream(file, table.schema, options=options) as stream:
    ...     stream.write(table)
    >>> len(file.getvalue()) < 600, list(declared(pa.ipc.MessageReader.open_stream(file.getvalue())))
    (True, [(1000, 8000)])
    """
    for message in messages:
        metadata = memoryview(message.metadata).cast("B")
        table = _OFFSET.unpack_from(metadata)[0]
        kind, header = _field(metadata, table, _HEADER_KIND), _field(metadata, table, _HEADER)
        found = _BYTE.unpack_from(metadata, kind)[0] if kind and header else 0
        if found not in (_DICTIONARIES, _RECORDS):
            continue
        batch = _followed(metadata, header)
        if found == _DICTIONARIES:
            batch = _followed(metadata, _field(metadata, batch, _DATA))
        rows = _field(metadata, batch, _ROWS) if found == _RECORDS else 0
        inflated = sum(_sizes(metadata, batch, memoryview(message.body).cast("B") if message.body else memoryview(b"")))
        count = _LONG.unpack_from(metadata, rows)[0] if rows else 0
        if count < 0:
            raise ValueError(f"a batch declares {count} rows")
        yield count, inflated


def _field(metadata: memoryview, table: int, number: int) -> int:
    """Where a field of a table is; 0 where the table lacks it."""
    known = table - _SIGNED.unpack_from(metadata, table)[0]
    place = 4 + 2 * number
    if known < 0 or place >= _SMALL.unpack_from(metadata, known)[0]:
        return 0
    offset: int = _SMALL.unpack_from(metadata, known + place)[0]
    return table + offset if offset else 0


def _followed(metadata: memoryview, place: int) -> int:
    offset: int = _OFFSET.unpack_from(metadata, place)[0]
    return place + offset


def _sizes(metadata: memoryview, batch: int, body: memoryview) -> Iterator[int]:
    """The bytes of each buffer of a batch; a compressed one begins with its size, or with -1 if it is not inflated."""
    buffers = _field(metadata, batch, _BUFFERS)
    if not buffers:
        return
    vector, compressed = _followed(metadata, buffers), _field(metadata, batch, _COMPRESSION)
    for k in range(_OFFSET.unpack_from(metadata, vector)[0]):
        start, length = _PIECE.unpack_from(metadata, vector + 4 + _PIECE.size * k)
        size = _LONG.unpack_from(body, start)[0] if compressed and length else length
        if size < -1 or start < 0:
            raise ValueError(f"a buffer declares {size} bytes at {start}")
        yield length if size == -1 else size
