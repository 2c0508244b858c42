"""Caches are used only where nobody else can have put code into them."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.kernel import home

pytestmark = pytest.mark.slow  # most start processes that compile

as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")

PROGRAM = """
import json
from hutch.core.config.read import load_chain
from hutch.core.kernel.cache import compilations
from hutch.plugins.manager import installed
import kernels
load_chain({"chain": ["linear"]}, installed().registry)
directory = kernels.twice._directory()
print(json.dumps([kernels.twice(2), compilations(), directory and str(directory)]))
"""
KERNELS = """
from hutch.core.kernel.cache import entry

@entry("int64(int64)")
def twice(x):
    return 2 * x
"""


def run(folder: Path, umask: int = 0o022) -> tuple[int, Path | None, str]:
    """Compile a kernel and check a chain; how much was compiled, where it lies, and what was said."""
    (folder / "kernels.py").write_text(KERNELS)
    environment = {
        **os.environ,
        "HUTCH_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, umask=umask)
    value, compiled, directory = json.loads(done.stdout)
    assert value == 4
    return compiled, directory and Path(directory), done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the kernel was compiled."""
    folder = tmp_path_factory.mktemp("made")
    assert run(folder)[2] == ""
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def everybody(path: Path) -> None:
    path.chmod(0o777)


def another(path: Path) -> None:
    os.chown(path, 65534, 65534)


def a_group(path: Path) -> None:
    os.chown(path, -1, 65534)
    path.chmod(0o770)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (everybody, "everybody can write to it"),
        pytest.param(another, "belongs to user 65534", marks=as_root),
        pytest.param(a_group, "its group can write to it", marks=as_root),
    ],
)
def test_what_others_can_write_to_is_not_used(folder: Path, change: object, why: str) -> None:
    change(folder / "cache")  # type: ignore[operator]
    compiled, directory, said = run(folder)
    assert compiled == 1 and directory is None
    assert said.count("\n") == 1 and said.startswith(f"{folder / 'cache'}: not used as a cache: {why}")


def test_neither_is_a_directory_within(folder: Path) -> None:
    [directory] = (folder / "cache").iterdir()
    directory.chmod(0o777)
    compiled, other, said = run(folder)
    assert compiled == 1 and other is None and said.count("\n") == 1


def test_nor_a_file_within(folder: Path) -> None:
    if not (kept := list((folder / "cache").glob("*/*.object"))):
        pytest.skip("machine code is kept on Linux only")
    kept[0].chmod(0o666)
    loaded = "from pathlib import Path\nfrom hutch.core.kernel import object_store\n"
    code = f"{loaded}print(object_store.load(Path({str(kept[0])!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(None, False)\n"


def test_what_is_kept_is_open_to_nobody_else_whatever_the_umask(tmp_path: Path) -> None:
    _, directory, said = run(tmp_path, umask=0)
    assert directory and said == "" and [*(tmp_path / "cache").iterdir()] == [directory]
    for path in (tmp_path / "cache", *(tmp_path / "cache").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in directory.glob("*.object"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_there_may_be_made(tmp_path: Path) -> None:
    assert home.distrust_reason(tmp_path / "nothing") is None
    home.make(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    if os.getgid() == os.getuid():
        (tmp_path / "a" / "b").chmod(0o770)
        assert home.distrust_reason(tmp_path / "a" / "b") is None
    (tmp_path / "a" / "b").chmod(0o777)
    with pytest.raises(PermissionError, match="everybody can write to it"):
        home.make(tmp_path / "a" / "b")
