"""Archives of exports."""

import io
import struct
import zipfile

from zstandard import ZstdDecompressor, ZstdError

from hutch.core.errors import Problem

_LARGEST_ARCHIVE = 1 << 32
_ZSTANDARD = 93
"""The compression method's number in the ZIP format."""


def texts_in(data: bytes) -> dict[str, bytes]:
    """The files of an archive that hold JSON, by name; only those below `samples/` if there are any.

    Args:
        data: the archive.

    Raises:
        Problem: it cannot be read, or is too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted(name for name in archive.namelist() if name.endswith((".json", ".jsonl")))
            if {"xl/workbook.xml", "content.xml"} & {*archive.namelist()}:
                raise Problem("got the workbook of a spreadsheet, wanted its sheet saved as CSV")
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_ARCHIVE:
                raise Problem("got an archive of more than 4 GiB, wanted a smaller one")
            samples = [name for name in names if name.startswith("samples/")]
            return {name: _content(archive, name, data) for name in samples or names}
    except (zipfile.BadZipFile, ZstdError, NotImplementedError, ValueError, OSError, RuntimeError) as error:
        hint = "wanted its files unpacked, or as JSON"
        raise Problem(f"got an archive that cannot be read ({error}), {hint}") from None


def _content(archive: zipfile.ZipFile, name: str, data: bytes) -> bytes:
    """A file of an archive; Zstandard, which Inspect packs with, is newer than Python's own module."""
    entry = archive.getinfo(name)
    if entry.compress_type != _ZSTANDARD:
        return archive.read(name)
    name_length, extra_length = struct.unpack_from("<HH", data, entry.header_offset + 26)
    start = entry.header_offset + 30 + name_length + extra_length
    with ZstdDecompressor().stream_reader(data[start : start + entry.compress_size]) as reader:
        content: bytes = reader.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise ValueError(f"{name} is not as long as the archive says")
    return content
