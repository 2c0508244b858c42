"""Contract checks of a reader of files: what it does with files that it cannot read, which it is given in any case."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.batch import Batch
from hutch.core.chain.registry import Registry
from hutch.core.errors import HutchError
from hutch.core.text.parser import ParserOptions

Reader = Callable[..., Any]


@contextmanager
def _file(content: bytes | None) -> Iterator[str]:
    """A file with some content; None: one that does not exist."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        if content is not None:
            path.write_bytes(content)
        yield str(path)


def _refusal(reader: Reader, content: bytes | None) -> str | None:
    """The message with which a reader refuses a file; None if it gives batches.

    Raises:
        AssertionError: it raises something else, or gives something else, or does not name the file.
    """
    with _file(content) as path:
        try:
            found = reader(path, ParserOptions(), None)
            if isinstance(found, Batch | str | bytes) or not hasattr(found, "__iter__"):
                raise AssertionError(f"got {type(found).__name__}, wanted an iterator of Batch")
            for batch in found:
                if not isinstance(batch, Batch):
                    raise AssertionError(f"got {type(batch).__name__} among the batches, wanted Batch")
        except HutchError as error:
            if path not in str(error):
                raise AssertionError(f"got the message {str(error)!r}, wanted the file's name in it") from None
            return str(error).replace(path, "file")
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"got {type(error).__name__}: {error}, wanted a DataError with the place") from None
    return None


def a_missing_file_is_named(reader: Reader) -> None:
    """A file that does not exist is a DataError with its name."""
    if _refusal(reader, None) is None:
        raise AssertionError("a file that does not exist: got batches, wanted a DataError")


def random_bytes_are_refused(reader: Reader) -> None:
    """Bytes that mean nothing are a DataError with a place, or batches, and never any other exception."""
    random = np.random.default_rng(0)
    for size in (1, 20, 3000):
        _refusal(reader, random.bytes(size))


def an_empty_file_is_read_or_refused(reader: Reader) -> None:
    """A file without bytes is no examples, or a DataError with its name."""
    _refusal(reader, b"")


def files_are_closed(reader: Reader) -> None:
    """A reader that is left before its end, or fails, leaves no file open."""
    if not os.path.isdir("/proc/self/fd"):
        return
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        _refusal(reader, b"\n")
    if (after := len(os.listdir("/proc/self/fd"))) > before:
        raise AssertionError(f"got {after - before} files open after 5 runs, wanted none: open them in `with`")


_CHECKS: tuple[Callable[[Reader], None], ...] = (
    a_missing_file_is_named,
    random_bytes_are_refused,
    an_empty_file_is_read_or_refused,
    files_are_closed,
)


def runs_of_reader(reader: Reader, registry: Registry) -> dict[str, Callable[[], None]]:
    """What the checks of a reader run, by the name of the check.

    Args:
        reader: as a plugin registers it.
        registry: the installed plugins, which are not needed.
    """
    return {check.__name__: partial(check, reader) for check in _CHECKS}
