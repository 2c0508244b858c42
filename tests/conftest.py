"""Checks of the suite itself."""

import sys

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """Every process collects all tests, so nothing may be compiled before one of them runs."""
    cache = sys.modules.get("hutch.core.kernel.cache")
    if cache is not None and cache.compilations():
        raise pytest.UsageError("kernels were compiled while tests were collected; move that into a test or a fixture")
