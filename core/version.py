"""The installed version of Hutch."""

import os
import sys
from functools import cache
from importlib.machinery import PathFinder

_NAME = "hutch"


@cache
def version() -> str:
    """The version that is installed, as the distribution says."""
    found = in_folders(_NAME)
    if found is not None:
        return found
    from importlib.metadata import version as version_of  # not at the top: it takes longer than all else in this file

    return version_of(_NAME)


def in_folders(name: str) -> str | None:
    """The version of a distribution, as `importlib.metadata` finds it; importing that takes longer than finding it.

    Args:
        name: of the distribution, in lower case and without `-`, `_` and `.`.

    Returns:
        None if there is anything but one folder `NAME-VERSION.dist-info`, first on the path: then that must be asked.
    """
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return None
    for folder in sys.path:
        try:
            names = [each for each in os.listdir(folder or ".") if _may_be(each.lower(), name)]
        except FileNotFoundError:
            continue
        except OSError:  # an archive
            return None
        if len(names) == 1 and names[0].endswith(".dist-info"):
            return _said_in(os.path.join(folder, names[0], "METADATA"))
        if names:
            return None
    return None


def _may_be(entry: str, name: str) -> bool:
    """Whether an entry of a folder may be that distribution, or hold it."""
    if entry == "egg-info" or entry.endswith(".egg"):
        return True
    return entry.endswith((".dist-info", ".egg-info")) and entry.rpartition(".")[0].partition("-")[0] == name


def _said_in(metadata: str) -> str | None:
    try:
        with open(metadata, encoding="utf-8") as file:
            for line in file:
                if not line.strip():
                    return None
                key, _, value = line.partition(":")
                if key.lower() == "version":
                    return value.strip()
    except (OSError, UnicodeDecodeError):
        pass
    return None
