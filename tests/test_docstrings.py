"""Examples in docstrings run, in every module of the product that has one."""

import doctest
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _modules():
    """Names of modules with an example."""
    rooms = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for package, folder in sorted(rooms.items()):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if ">>> " in path.read_text():
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                yield ".".join([package, *(part for part in parts if part != "__init__")])


@pytest.mark.parametrize("name", list(_modules()))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "hutch.river":
        pytest.importorskip("river", reason="needs hutch[river]")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
