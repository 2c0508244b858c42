"""Calls a reader of data files, which may be a plugin's: what is not right about it is said by name."""

from collections.abc import Callable, Iterator
from typing import Any

from hutch.core.batch import Batch
from hutch.core.errors import HutchError, PluginError


def read_with(reader: Callable[..., Any], source: str, *how: Any) -> Iterator[Batch]:
    """The batches of a file.

    Args:
        reader: what is registered for the file's ending.
        source: the file.
        how: further arguments of a reader.

    Raises:
        PluginError: it raises something, or gives anything but batches.
        HutchError: the file cannot be read.
    """
    name = f"{getattr(reader, '__module__', '?')}.{getattr(reader, '__qualname__', reader)}"
    try:
        found = reader(source, *how)
        if isinstance(found, Batch | str | bytes):
            raise _broken(name, source, f"gave {type(found).__name__}")
        for batch in found:
            if not isinstance(batch, Batch):
                raise _broken(name, source, f"gave {type(batch).__name__} among its batches")
            yield batch
    except HutchError:
        raise
    except Exception as error:
        if name.startswith("hutch."):
            raise
        raise _broken(name, source, f"raised {type(error).__name__}: {error}") from error


def _broken(name: str, source: str, what: str) -> PluginError:
    return PluginError(f"{source}: the reader {name} {what}; wanted an iterator of hutch.plugin.Batch")
