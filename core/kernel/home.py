"""Directories of caches, and which of them can be trusted.

The content of a cache runs as machine code. So a directory is used only if no one but this user, or root, can have
written to it; new directories are made for this user alone.
"""

import os
import stat
import sys
from functools import cache
from pathlib import Path

from hutch.core.errors import at

_ROOT = 0
_said: set[str] = set()


@cache
def cache_home() -> Path:
    """The directory of all caches, which `HUTCH_CACHE_DIR` overrides."""
    if os.environ.get("HUTCH_CACHE_DIR"):
        return Path(os.environ["HUTCH_CACHE_DIR"])
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")) / "hutch"


def cache_directory(name: str) -> Path | None:
    """A directory of the cache, which need not exist; None, after one warning, where others can write.

    Args:
        name: of the directory.
    """
    for directory in (cache_home(), cache_home() / name):
        if why := distrust_reason(directory):
            if not _said:
                text = f"not used as a cache: {why}, and what lies there is run; every process compiles its kernels"
                print(at(str(directory), None, None, text), file=sys.stderr)
            _said.add(str(directory))
            return None
    return cache_home() / name


def make(directory: Path) -> None:
    """Make a directory of the cache, open to this user alone.

    Raises:
        OSError: it cannot be made, or others can write to it.
    """
    for missing in reversed([directory, *directory.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)
    if why := distrust_reason(directory):
        raise PermissionError(0, why, str(directory))


def distrust_reason(path: Path) -> str | None:
    """Why a file or directory must not be used; None if it may be, or does not exist.

    Args:
        path: links are followed.
    """
    if not hasattr(os, "geteuid"):  # Windows reports rights in another way
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    if found.st_uid not in (os.geteuid(), _ROOT):
        return f"belongs to user {found.st_uid}"
    if found.st_mode & stat.S_IWOTH:
        return "everybody can write to it"
    of_others = found.st_gid not in (os.geteuid(), _ROOT)  # a user's private group has the user's own number
    return "its group can write to it" if found.st_mode & stat.S_IWGRP and of_others else None
