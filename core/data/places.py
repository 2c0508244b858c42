"""Places of data: paths, globs, and addresses of files on other machines, which pyarrow reads."""

import contextlib
import os
import re
from collections.abc import Iterable
from typing import Any

from hutch.core.errors import DataError, HutchError, at

SCHEMES = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
"""Of addresses that pyarrow reads."""
_ADDRESS = re.compile(r"(" + "|".join((*SCHEMES, "file")) + r"):/+(.*)", re.DOTALL)
_WORKBOOKS = (".xlsx", ".xls", ".ods", ".numbers")
_UNKNOWN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def located(source: Any) -> str:
    """A source as text: `file://` addresses as paths, other addresses with both slashes, as `Path` drops one.

    >>> located("file:///data/a%20b.vw"), located("s3:/bucket/a.vw"), located("a.vw")
    ('/data/a b.vw', 's3://bucket/a.vw', 'a.vw')
    """
    text = str(os.fspath(source))
    found = _ADDRESS.fullmatch(text)
    if found is None or os.path.exists(text):
        return text
    scheme, rest = found.groups()
    if scheme == "file":
        from urllib.parse import unquote  # here and below: not on the path of every run

        return "/" + unquote(rest.removeprefix("localhost/"))
    return text if "://" in text and not text.startswith(f"{scheme}:///") or scheme == "hdfs" else f"{scheme}://{rest}"


def is_remote(source: str) -> bool:
    """Whether a source, as `located` gives it, is on another machine."""
    return source.partition("://")[0] in SCHEMES and "://" in source


def expanded(sources: Iterable[Any]) -> list[str]:
    """The files that sources denote: globs are replaced by their matches, in the order of the names.

    A file whose name looks like a glob is that file. `**` matches any number of folders.

    Args:
        sources: paths, globs, addresses of files or globs; `-` is standard input.

    Raises:
        DataError: a glob without matches, or an address that cannot be accessed.
    """
    found: list[str] = []
    for each in sources:
        source = located(each)
        if is_remote(source):
            found += _remote_matches(source) if re.search(r"[*\[]", source) else [source]
        elif re.search(r"[*?\[]", source) and not os.path.exists(source):
            from glob import glob

            matches = sorted(path for path in glob(source, recursive=True) if not os.path.isdir(path))
            if not matches:
                raise DataError(at(source, None, None, "matches no file"))
            found += matches
        else:
            found.append(source)
    return found


def only_file(source: Any) -> str:
    """The file that a source denotes, where only one is allowed.

    Raises:
        DataError: a glob that matches none, or several.
    """
    found = expanded([source])
    if len(found) > 1:
        raise DataError(at(os.fspath(source), None, None, f"matches {len(found)} files, wanted one"))
    return found[0]


def missing(source: str) -> str | None:
    """Why a source, as `expanded` gives it, cannot be read; None if it can."""
    if is_remote(source):
        from pyarrow.fs import FileType

        system, path = _system(source)
        kind = _asked(source, lambda: system.get_file_info(path).type)
        if kind == FileType.Directory:
            return "is a directory, wanted a file of examples"
        return "no such file" if kind == FileType.NotFound else None
    if not os.path.exists(source):
        known = _UNKNOWN.match(source)
        return f"no such file; addresses begin with {', '.join((*SCHEMES, 'file'))}" if known else _no_such(source)
    if os.path.splitext(source)[1].lower() in _WORKBOOKS:
        return "is a workbook of a spreadsheet, wanted its sheet saved as CSV"
    if os.path.isdir(source):
        return "is a directory, wanted a file of examples"
    return None if os.access(source, os.R_OK) else "cannot be read: permission denied"


def opened(source: str) -> Any:
    """A source, as `expanded` gives it, as a stream of its bytes from the beginning.

    Raises:
        OSError: it cannot be read.
    """
    if not is_remote(source):
        return open(source, "rb", buffering=0)
    system, path = _system(source)
    return _asked(source, lambda: system.open_input_stream(path, compression=None))


def opened_anywhere(source: str) -> Any:
    """A source for a reader that jumps about in it, such as that of Parquet: a path, or a file on another machine.

    Raises:
        OSError: it cannot be read.
    """
    if not is_remote(source):
        return source
    system, path = _system(source)
    return _asked(source, lambda: system.open_input_file(path))


def _no_such(source: str) -> str:
    """That a file is not there, and the file beside it whose name is nearest, if one is near."""
    from difflib import get_close_matches  # not at the top: most runs make no mistake

    folder, name = os.path.split(source)
    with contextlib.suppress(OSError):
        near = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.7)
        return f"no such file; did you mean {os.path.join(folder, near[0])!r}?" if near else "no such file"
    return "no such file"


def _system(source: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        from pyarrow.fs import FileSystem
    except ImportError:
        text = f"{source.partition('://')[0]}:// is read by pyarrow: pip install 'hutch[arrow]'"
        raise HutchError(at(source, None, None, text)) from None
    found: tuple[Any, str] = _asked(source, lambda: FileSystem.from_uri(source))
    return found


def _asked(source: str, question: Any) -> Any:
    """The answer of a file system; its failures become data errors."""
    try:
        return question()
    except FileNotFoundError:
        raise DataError(at(source, None, None, "no such file")) from None
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's errors are of these kinds
        raise DataError(at(source, None, None, f"cannot be read: {str(error).splitlines()[0]}")) from None


def _remote_matches(source: str) -> list[str]:
    from_first = re.search(r"[*\[]", source)
    assert from_first is not None
    folder = source[: source.rindex("/", 0, from_first.start())]
    system, base = _system(folder)
    from pyarrow.fs import FileSelector, FileType

    prefix = folder[: len(folder) - len(base)] if folder.endswith(base) else folder[: folder.index("://") + 3]
    deep = "**" in source or "/" in source[from_first.start() :]
    selector = FileSelector(base, allow_not_found=True, recursive=deep)
    names = [prefix + info.path for info in _asked(source, lambda: system.get_file_info(selector))
             if info.type == FileType.File]  # fmt: skip
    wanted = source.split("/")
    found = sorted(name for name in names if _matches(name.split("/"), wanted))
    if not found:
        raise DataError(at(source, None, None, "matches no file"))
    return found


def _matches(words: list[str], wanted: list[str]) -> bool:
    """Whether the words of a path match those of a glob, in which `**` matches any number of them."""
    if not wanted or not words:
        return not wanted and not words
    if wanted[0] == "**":
        return _matches(words, wanted[1:]) or _matches(words[1:], wanted)
    from fnmatch import fnmatchcase

    return fnmatchcase(words[0], wanted[0]) and _matches(words[1:], wanted[1:])
