import doctest
import importlib
from pathlib import Path

import pytest

MODULES = [
    "aggregate",
    "data.labels",
    "models.calibration",
    "models.online",
    "models.table",
    "report",
    "requests",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(f"hutch.crowd.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


def test_examples_in_the_docs_run():
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / "crowd.md"), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0
