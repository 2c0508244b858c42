"""The memory that a process can still allocate."""

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")


def available_memory() -> int | None:
    """Bytes this process can still allocate: free memory, within its limits; None if unknown."""
    found = [each for each in (_free(), _left_of_group(), _left_of_limit()) if each is not None]
    return max(min(found), 0) if found else None


def _free() -> int | None:
    """Free memory of the machine, with its swap space; if unknown, all its memory."""
    try:
        rows = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines() if ":" in line)
        return sum(int(rows[name].split()[0]) for name in ("MemAvailable", "SwapFree")) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_of_group() -> int | None:
    """The memory left to the container."""
    try:
        return int((_GROUP / "memory.max").read_text()) - int((_GROUP / "memory.current").read_text())
    except (OSError, ValueError):  # no container, or no limit
        return None


def _left_of_limit() -> int | None:
    """The memory left by the limit on address space (`ulimit -v`)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
