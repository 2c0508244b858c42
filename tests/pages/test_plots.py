"""Figures: whole files in new folders, and refusals that say what is missing."""

import sys
from pathlib import Path

import pytest

from hutch.core.errors import HutchError, UsageError
from hutch.pages.plots import new_figure, require_matplotlib, write_figure


def test_a_figure_is_written_whole_into_a_new_folder(tmp_path: Path) -> None:
    figure = new_figure(2, 1)
    figure.add_subplot().plot([1, 2], [3, 4])
    path = write_figure(figure, tmp_path / "new" / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [other.name for other in path.parent.iterdir()] == ["figure.png"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HutchError, match=r"file.*: cannot be made: "):
        write_figure(new_figure(1, 1), tmp_path / "file" / "figure.png")


@pytest.mark.parametrize("ask", [require_matplotlib, lambda: new_figure(1, 1)], ids=["require", "figure"])
def test_without_matplotlib_it_says_what_to_install(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"hutch\[plots\]"):
        ask()
