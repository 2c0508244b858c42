"""Checks of the suite itself."""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# a busy machine is no reason to fail: what a test draws is what it checks, however long the drawing takes
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# where this is set, each of a thousand short processes would compile all of Hutch's sources for itself
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as commands have it: threads of several processes spin idly

gc.set_threshold(100_000, 50, 100)  # ten thousand tests are a million objects that stay: no search of them frees any

_LONG = (
    "test_checks", "test_crowd", "test_beside", "test_attacks", "test_cache", "test_choose_slots", "test_copies",
    "test_em_evaluation", "test_new_reduction", "test_notebooks", "test_reader", "test_walk", "test_without_numba",
    "test_world",
)  # fmt: skip
"""Files that take long, those first that need most kernels: a process that gets one last lets all others wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, where `--no-loadscope-reorder` leaves them, and end with tests of commands.

    A process that has compiled a kernel compiles the next one in part of the time, and a command is a new process: it
    should find its kernels.
    """

    def place(item: pytest.Item) -> tuple[int, bool, bool]:
        stem, folder = item.path.stem, item.path.parent.name
        return _LONG.index(stem) if stem in _LONG else len(_LONG), folder == "cli", folder == "docs"

    items.sort(key=place)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Every process collects all tests, so nothing may be compiled before one of them runs."""
    cache = sys.modules.get("hutch.core.kernel.cache")
    if cache is not None and cache.compilations():
        raise pytest.UsageError("kernels were compiled while tests were collected; move that into a test or a fixture")
    gc.freeze()
