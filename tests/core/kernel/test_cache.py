"""The kernel cache: what invalidates it, and what happens where none can be written."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.chain import driver
from hutch.core.kernel import cache as kernel_cache

pytestmark = pytest.mark.slow  # most start processes that compile

PROGRAM = """
from hutch.core.kernel.cache import compilations, compiled
import kernels
print(kernels.outer(2.0), compilations())
"""
OUTER = """
from hutch.core.kernel.cache import compiled
from kernels.inner import inner

@compiled
def outer(x):
    return inner(x) + 1.0
"""
INNER = """
from numba import njit

@njit
def inner(x):
    return x * {factor}
"""


def run(folder: Path, cache: Path, program: str = PROGRAM) -> list[str]:
    environment = {
        **os.environ,
        "HUTCH_CACHE_DIR": str(cache),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [*done.stdout.split(), done.stderr]


def package(folder: Path, factor: float) -> None:
    (folder / "kernels").mkdir(exist_ok=True)
    (folder / "kernels" / "__init__.py").write_text(OUTER)
    (folder / "kernels" / "inner.py").write_text(INNER.format(factor=factor))


def test_a_kernel_is_compiled_once_and_again_when_its_callee_changes(tmp_path: Path) -> None:
    package(tmp_path, 2.0)
    assert run(tmp_path, tmp_path / "cache")[:2] == ["5.0", "1"]
    assert run(tmp_path, tmp_path / "cache")[:2] == ["5.0", "0"]
    package(tmp_path, 3.0)
    assert run(tmp_path, tmp_path / "cache")[:2] == ["7.0", "1"]


def test_what_a_killed_run_left_is_removed_by_the_next_that_compiles(tmp_path: Path) -> None:
    package(tmp_path, 2.0)
    run(tmp_path, tmp_path / "cache")
    [index] = (tmp_path / "cache").rglob("*.nbi")
    old, new = (index.with_name(f"{index.name}.tmp.{k}") for k in range(2))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    for path in list((tmp_path / "cache").rglob("*")):
        if path.is_file() and path not in (old, new):
            path.unlink()
    assert run(tmp_path, tmp_path / "cache")[1] == "1"
    assert not old.exists() and new.exists()


def test_without_a_writable_directory_kernels_still_run_and_one_line_says_so(tmp_path: Path) -> None:
    package(tmp_path, 2.0)
    (tmp_path / "file").write_text("")
    value, _, notice = run(tmp_path, tmp_path / "file" / "cache")
    assert value == "5.0"
    assert notice.count("\n") == 1 and "no kernel cache" in notice and "HUTCH_CACHE_DIR" in notice


def test_every_source_of_hutch_that_a_kernel_reaches_is_found() -> None:
    reached = {Path(path).name for path in kernel_cache._reached(os.path.realpath(driver.__file__))}
    assert {"driver.py", "abi.py", "cache.py"} <= reached
    assert not {"read.py", "object_store.py", "atomic.py"} & reached


def test_a_plugin_is_compiled_again_when_the_records_change_however_it_imports(tmp_path: Path) -> None:
    root = Path(kernel_cache.__file__).resolve().parents[2]
    shutil.copytree(root / "core", tmp_path / "hutch" / "core", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "plugin.py", "plugin.pyi"):
        shutil.copy(root / "src" / "hutch" / name, tmp_path / "hutch")
    spellings = [
        ("from hutch.plugin import compiled, example_of", ""),
        ("import hutch.plugin as h", "h."),
        ("import hutch.plugin", "hutch.plugin."),
        ("import os, hutch.plugin as h", "h."),
        ("from hutch import plugin", "plugin."),
        ("from importlib import import_module; h = import_module('hutch.' + 'plugin')", "h."),
        ("import hutch.core.kernel.abi as abi, hutch.core.kernel.cache as h; h.example_of = abi.example_of", "h."),
    ]
    for k, (line, place) in enumerate(spellings):
        kernel = f"@{place}compiled\ndef length(at):\n    return example_of(at[0]).length\n"
        (tmp_path / f"theirs{k}.py").write_text(f"{line}\nexample_of = {place}example_of\n\n{kernel}")
    program = f"""
from importlib import import_module
import numpy as np
from hutch.core.kernel.abi import EXAMPLE
from hutch.core.kernel.cache import compilations
example = np.zeros(1, EXAMPLE)
example["length"], example["values"] = 4, 5
at, before = np.array([example.ctypes.data], np.uint64), 0
for k in range({len(spellings)}):
    print(f"{{import_module(f'theirs{{k}}').length(at)}}:{{compilations() - before}}")
    before = compilations()
"""
    again = ["4:1"] * len(spellings)
    for expected in (again, ["4:0"] * len(spellings)):
        assert run(tmp_path, tmp_path / "cache", program)[:-1] == expected
    abi = tmp_path / "hutch" / "core" / "kernel" / "abi.py"
    abi.write_text(
        abi.read_text().replace("EXAMPLE = np.dtype(\n    [\n", "EXAMPLE = np.dtype(\n    [\n('new', 'u8'),\n")
    )
    assert run(tmp_path, tmp_path / "cache", program)[:-1] == again


def test_a_plugin_is_compiled_again_when_anything_handed_on_to_it_changes(tmp_path: Path) -> None:
    source = tmp_path / "theirs.py"
    source.write_text("import hutch.plugin as h\nimport hutch.reductions.linear.kernels as kernels\n")
    reached = {Path(path).name for path in kernel_cache._reached(os.path.realpath(source))}
    assert {"theirs.py", "plugin.pyi", "abi.py", "losses.py", "hashing.py", "probabilities.py", "kernels.py"} <= reached


def test_a_function_without_a_file_is_compiled_and_not_kept() -> None:
    code = "from hutch.core.kernel.cache import compiled\n@compiled\ndef f(x):\n    return x + 1.0\nprint(f(1.0))"
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("2.0", "")


def test_threads_that_need_a_kernel_at_once_compile_it_once(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "from hutch.core.kernel.cache import entry\n@entry('int64(int64)')\ndef twice(x):\n    return 2 * x\n"
    )
    code = """
from concurrent.futures import ThreadPoolExecutor
from hutch.core.kernel.cache import compilations
from one import twice
with ThreadPoolExecutor(3) as threads:
    print(*threads.map(twice, [1, 2, 3]), compilations())
"""
    environment = {**os.environ, "HUTCH_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "4", "6", "1"]


def test_a_helper_in_a_folder_of_hutch_is_followed(tmp_path: Path) -> None:
    root = Path(kernel_cache.__file__).resolve().parents[2]
    shutil.copytree(root / "core", tmp_path / "hutch" / "core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "src" / "hutch" / "__init__.py", tmp_path / "hutch")
    room = tmp_path / "hutch" / "core" / "room"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (tmp_path / "hutch" / "core" / "outer.py").write_text(OUTER.replace("kernels.inner", "hutch.core.room.middle"))
    (room / "middle.py").write_text("from hutch.core.room import inner as module\n\ninner = module.inner\n")
    program = PROGRAM.replace("kernels", "hutch.core.outer as kernels", 1)
    for factor, expected in ((2.0, "5.0 1"), (2.0, "5.0 0"), (3.0, "7.0 1")):
        (room / "inner.py").write_text(INNER.format(factor=factor))
        assert " ".join(run(tmp_path, tmp_path / "cache", program)[:2]) == expected


@pytest.mark.parametrize(("terminal", "notebook"), [(True, False), (False, True), (False, False)])
def test_a_terminal_and_a_notebook_show_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, notebook: bool
) -> None:
    class Output(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(kernel_cache, "_spent", 12.4)
    monkeypatch.setattr(sys, "stdout" if notebook else "stderr", output := Output())
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", kernel_cache)
    with kernel_cache._compiling("drive_decisions"):
        shown = output.getvalue()
    said = f"\rcompiling, once: kernel {kernel_cache.compilations() + 1} (drive_decisions), 12 s"
    assert shown.rstrip() == (said if terminal or notebook else "") and len(shown) < 80
    left = output.getvalue().removeprefix(shown)
    assert kernel_cache._spent > 12.4 and (left.strip(" \r") == "" and left.endswith("\r") if shown else not left)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize("room", [0, 100, 2500])
def test_on_a_full_disk_kernels_still_run_and_one_line_says_so(tmp_path: Path, room: int) -> None:
    package(tmp_path, 2.0)
    limited = f"""
import resource, sys
sys.dont_write_bytecode = True  # Python keeps cut bytecode as if it were whole
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
from hutch.core.kernel.cache import entry
@entry("float64(float64)")
def doubled(x):
    return x * 2.0
doubled(1.0)
{PROGRAM}"""
    value, compiled, notice = run(tmp_path, tmp_path / "cache", limited)
    assert (value, compiled) == ("5.0", "2")
    assert notice.count("\n") == 1 and "no kernel cache (File too large)" in notice and "HUTCH_CACHE_DIR" in notice
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert not [path for path in left if "tmp" in path.name or path.name.endswith(".part")]
    assert run(tmp_path, tmp_path / "cache")[0] == "5.0"
