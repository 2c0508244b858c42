"""Entry points of a group in all that is installed."""

import os
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution


def entry_points(group: str) -> Iterator[tuple["Distribution", Any]]:
    """Yield each with its distribution; if a distribution is installed twice, the first on the path counts.

    Args:
        group: name of the group.
    """
    if not may_exist(group):
        return
    from importlib.metadata import Distribution, PackageNotFoundError, distributions

    seen = set()
    for found in distributions():
        if f"[{group}]" not in (found.read_text("entry_points.txt") or ""):
            continue
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"] or "").lower()
        if not name or name in seen:
            continue
        seen.add(name)
        try:
            first = Distribution.from_name(name)
        except PackageNotFoundError:  # its directory is not named after it
            first = found
        for entry in first.entry_points:
            if entry.group == group:
                yield first, entry


def may_exist(group: str) -> bool:
    """Whether there may be such entry points; importing `importlib.metadata` takes longer than finding that out.

    Only plain directories are searched; with anything else, an archive or an egg on the path or a custom finder, there
    may be some.

    Args:
        group: name of the group.
    """
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    wanted = f"[{group}]".encode()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except FileNotFoundError:
            continue
        except OSError:  # an archive
            return True
        for name in names:
            kind = name.lower()
            if kind.endswith(".egg") or kind == "egg-info":
                return True
            if kind.endswith((".dist-info", ".egg-info")) and wanted in _content(folder, name):
                return True
    return False


def _content(folder: str, name: str) -> bytes:
    try:
        with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
            return file.read()
    except OSError:  # it has none
        return b""
