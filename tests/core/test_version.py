"""The version is read from the folder that importlib.metadata would read, or that is asked."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

import pytest

from hutch.core.version import in_folders, version


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if not hasattr(each, "find_distributions")])
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path / "first"), str(tmp_path / "second")])
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    return tmp_path


def install(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(text)


def test_it_is_that_of_the_distribution() -> None:
    assert version() == version_of("hutch")


def test_the_first_on_the_path_counts(path: Path) -> None:
    install(path / "second" / "Better-2.dist-info", "Metadata-Version: 2.1\nName: better\nVersion: 2\n\nVersion: 3\n")
    install(path / "first" / "betters-1.dist-info", "Name: betters\nVersion: 1\n")
    assert in_folders("better") == "2"
    install(path / "first" / "better-1.dist-info", "Name: better\nversion:  1.0.post1 \n")
    assert in_folders("better") == "1.0.post1"


@pytest.mark.parametrize("name", ["better.egg-info", "better-1-py3.egg-info", "better-2.dist-info", "other.egg"])
def test_what_is_not_plain_is_left_to_importlib(path: Path, name: str) -> None:
    install(path / "first" / "better-1.dist-info", "Name: better\nVersion: 1\n")
    assert in_folders("better") == "1"
    install(path / "first" / name, "Name: better\nVersion: 2\n")
    assert in_folders("better") is None


@pytest.mark.parametrize("text", ["Name: better\n\nVersion: 1\n", "Name: better\n"])
def test_a_file_without_a_version_is_left_to_importlib(path: Path, text: str) -> None:
    install(path / "first" / "better-1.dist-info", text)
    assert in_folders("better") is None
    assert in_folders("missing") is None


def test_archives_and_finders_of_others_are_left_to_importlib(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(path / "second" / "better-1.dist-info", "Name: better\nVersion: 1\n")
    (path / "packages.zip").write_bytes(b"")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "path", [str(path / "packages.zip"), *sys.path])
        assert in_folders("better") is None
    finder = type("Finder", (), {"find_distributions": None, "find_spec": lambda *_: None})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder()])
    assert in_folders("better") is None
