"""A source of labels as text in UTF-8: unpacked, decoded, and rows of text instead of Parquet and Feather."""

import codecs
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hutch.core.data.chunks import CHUNK_BYTES, Chunks, source_name
from hutch.core.data.packed import files_in
from hutch.core.errors import Problem, UsageError, reading
from hutch.core.strict_json import dumps
from hutch.crowd.data.frames import is_frame, text_of

_PARQUET, _FEATHER = b"PAR1", b"ARROW1"


@dataclass(frozen=True)
class Source:
    """Whole lines of a source.

    Attributes:
        name: of the source in messages.
        data: the lines, or an archive.
        line: the number of the first one.
    """

    name: str
    data: bytes
    line: int = 1


def read_source(path: str | Path, encoding: str = "") -> Source:
    """The whole content of a file; `-` is standard input. Arguments and errors are those of `pieces_of`."""
    return Source(called(path), b"".join(piece.data for piece in pieces_of(path, encoding)))


def called(path: Any) -> str:
    """The name of a source in messages; a frame is `X`, as in scikit-learn."""
    return "X" if is_frame(path) else source_name(path)


def pieces_of(path: str | Path, encoding: str = "", chunk_bytes: int = CHUNK_BYTES) -> Iterator[Source]:
    """The content of a file, some lines at a time; its first bytes tell whether it is packed, Parquet or Feather.

    Args:
        path: the file; `-` is standard input; a frame of pandas, polars or Arrow is one piece.
        encoding: its name; empty: UTF-8, or UTF-16 with its mark, which spreadsheets call Unicode.
        chunk_bytes: about so many at a time.

    Raises:
        DataError: the file cannot be read, or its bytes do not fit the encoding.
        UsageError: the encoding is unknown.
    """
    if not is_frame(path) and not isinstance(path, str | os.PathLike):
        raise UsageError(f"got {type(path).__name__}, wanted a frame of pandas, polars or Arrow, or the path of a file")
    name, line = called(path), 1
    with reading(name):
        if is_frame(path):
            yield Source(name, text_of(path))
            return
        if _is_export(path):
            yield Source(name, Path(path).read_bytes())
            return
        for data in _decoded((bytes(chunk.data) for chunk in Chunks([path], chunk_bytes)), encoding):
            yield Source(name, data, line)
            line += data.count(b"\n")


def _is_export(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an archive of several files, as some tools export; one of a single file is that file."""
    if Path(path).suffix.lower() != ".zip" or not os.path.isfile(path):
        return False
    from zipfile import BadZipFile, ZipFile  # not at the top: hardly any source is an archive

    try:
        with ZipFile(path) as archive:
            return len(files_in(archive)) > 1
    except (BadZipFile, OSError):
        return False


def _decoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Whole lines in UTF-8."""
    first = next(chunks, b"")
    if first.startswith((_PARQUET, _FEATHER)):
        yield _rows_of_columns(first + b"".join(chunks))
        return
    name = "utf-16" if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else encoding
    if not name:
        yield first
        yield from chunks
        return
    left = b""
    try:
        decoder = codecs.getincrementaldecoder(name)()
        while first:
            left += decoder.decode(first).encode()
            cut = left.rfind(b"\n") + 1
            yield left[:cut]
            left, first = left[cut:], next(chunks, b"")
        yield left + decoder.decode(b"", final=True).encode()
    except LookupError:
        raise UsageError(f"--encoding: got {encoding!r}, wanted an encoding of Python, such as cp1252") from None
    except UnicodeError as error:
        raise Problem(f"got {name.upper()} that cannot be read ({error})") from None


def _rows_of_columns(data: bytes) -> bytes:
    """A Parquet or Feather file as comma-separated text; lists and records are JSON in their cells."""
    from hutch.core.data.arrow import arrow  # not at the top: hardly any source is one of these

    pa = arrow()
    from pyarrow import csv, feather, parquet

    kind, read = ("Parquet", parquet.read_table) if data.startswith(_PARQUET) else ("Feather", feather.read_table)
    try:
        table = read(io.BytesIO(data))
        for place, field in enumerate(table.schema):
            column = table.column(place)
            if pa.types.is_dictionary(field.type):
                table = table.set_column(place, field.name, column.cast(field.type.value_type))
            elif pa.types.is_nested(field.type):
                cells = [None if value is None else dumps(value) for value in column.to_pylist()]
                table = table.set_column(place, field.name, pa.array(cells, pa.string()))
        text = io.BytesIO()
        csv.write_csv(table, text)
    except pa.ArrowException as error:
        raise Problem(f"got a {kind} file that cannot be read ({error})") from None
    return text.getvalue()
