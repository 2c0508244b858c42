from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hutch.reproduce.cli import reproduce


@pytest.mark.parametrize("name", ["crowd", "priors", "nat-oem"])
def test_each_table_is_asked_for_with_its_options(
    hutch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    asked: list[tuple[Path | None, bool]] = []
    target = reproduce._TABLES[name][0].partition(":")[2]
    module = type("module", (), {target: staticmethod(lambda *options: asked.append(options))})
    monkeypatch.setattr(reproduce, "import_module", lambda path: module)
    assert hutch("reproduce", name).code == 0
    assert hutch("reproduce", name, "--plots", tmp_path, "--json").code == 0
    assert asked == [(None, False), (tmp_path, True)]


def test_the_table_of_learners_is_asked_for_with_its_options(
    hutch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[Path | None, bool]] = []
    monkeypatch.setattr("hutch.reproduce.dyadic.reproduce_dyadic", lambda *options: asked.append(options))
    assert hutch("reproduce", "dyadic").code == 0
    assert hutch("reproduce", "dyadic", "--plots", tmp_path, "--json").code == 0
    assert asked == [(None, False), (tmp_path, True)]


def test_the_group_lists_its_tables(hutch: Callable[..., Any]) -> None:
    text = hutch("reproduce", "--help").out
    assert "nat-oem" in text and "priors" in text
