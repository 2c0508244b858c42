"""Whether entry points may exist is found out without importlib.metadata, and never wrongly denied."""

import subprocess
import sys
import zipfile
from importlib.metadata import DistributionFinder
from pathlib import Path

import pytest

from hutch.plugins.entry_points import entry_points, may_exist

POINTS = "[strange]\nbetter = module\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    return tmp_path


def install(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: better\nVersion: 1\n")
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: better\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(POINTS)


def found() -> list[str]:
    return [entry.name for _, entry in entry_points("strange")]


def test_nothing_installed_has_none(path: Path) -> None:
    (path / "other-1.dist-info").mkdir()
    (path / "old.egg-info").write_text("Name: old\n")
    assert not may_exist("strange") and found() == []


@pytest.mark.parametrize("name", ["better-1.dist-info", "better-1-py3.egg-info", "better-1-py3.egg/EGG-INFO"])
def test_what_is_installed_in_a_directory_is_found(path: Path, name: str) -> None:
    install(path / name)
    assert may_exist("strange")
    if name.endswith("EGG-INFO"):
        sys.path.append(str(path / "better-1-py3.egg"))
    assert found() == ["better"]


def test_an_archive_on_the_path_is_looked_into(path: Path) -> None:
    with zipfile.ZipFile(path / "better.zip", "w") as archive:
        archive.writestr("better-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: better\nVersion: 1\n")
        archive.writestr("better-1.dist-info/entry_points.txt", POINTS)
    assert not may_exist("strange")
    sys.path.append(str(path / "better.zip"))
    assert may_exist("strange") and found() == ["better"]


def test_finders_of_others_are_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder(DistributionFinder):
        def find_distributions(self, context: object = None) -> list[object]:  # type: ignore[override]
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_exist("strange") and found() == []


def test_without_plugins_of_others_the_metadata_of_what_is_installed_stays_unread(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path = [path for path in sys.path if path not in ("", {str(tmp_path)!r})]
from hutch.plugins.entry_points import may_exist
from hutch.plugins.manager import installed
"linear" in installed().registry.reductions
print("importlib.metadata" in sys.modules, may_exist("hutch"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    read, others = done.stdout.split()
    assert read == others
