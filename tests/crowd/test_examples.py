import doctest
import importlib
from pathlib import Path

import pytest

MODULES = [
    "aggregate",
    "data.labels",
    "mixed.model",
    "models.calibration",
    "models.online",
    "table",
    "report",
    "requests",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(f"hutch.crowd.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", ["crowd/index.md", "crowd/mixed.md"])
def test_examples_in_the_docs_run(page):
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0
