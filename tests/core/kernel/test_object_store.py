"""Kernels loaded without Numba: when they are loaded or rebuilt, and that results are the same."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding
import pytest

from hutch.core.errors import PluginError
from hutch.core.kernel import object_store
from hutch.core.kernel.cache import AddressKernel, entry

pytestmark = [
    pytest.mark.slow,  # most start processes that compile
    pytest.mark.skipif(not object_store.enabled(), reason="machine code is kept on Linux only"),
]

PROGRAM = """
import sys
import numpy as np
from hutch.core.kernel.cache import compilations
import kernels
x = np.arange(4, dtype=np.float32)
print(kernels.total(x.ctypes.data, len(x)), compilations(), "numba" in sys.modules)
"""
OUTER = """
import math
from hutch.core.kernel.abi import float32s_at
from hutch.core.kernel.cache import entry
from kernels.inner import inner

@entry("float64(uint64, int64)")
def total(at, count):
    x = float32s_at(at, count)
    found = math.log1p(0.0)
    for i in range(count):
        found += inner(x[i])
    return found
"""
INNER = """
from hutch.core.kernel.decorators import helper

@helper
def inner(x):
    return {result}
"""
ALLOCATING = "numpy.zeros(1 << 20)[numpy.int64(x)] + 2.0 * x"
SPEAKING = "len(str(numpy.int64(x))) - 1.0 + 2.0 * x"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "2.0 * x")
    return tmp_path


def write(folder: Path, result: str) -> None:
    (folder / "kernels").mkdir(exist_ok=True)
    (folder / "kernels" / "__init__.py").write_text(OUTER)
    (folder / "kernels" / "inner.py").write_text("import numpy\n" + INNER.format(result=result))


def start(folder: Path, program: str = PROGRAM, **environment: str) -> "subprocess.Popen[str]":
    known = {"HUTCH_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env={**os.environ, **known, **environment}, stdout=pipe, stderr=pipe, text=True)


def said(process: "subprocess.Popen[str]") -> tuple[str, int, bool]:
    """The kernel's result, the number of compiled kernels, and whether Numba was imported."""
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    value, compiled, numba = out.split()
    return value, int(compiled), numba == "True"


def run(folder: Path, program: str = PROGRAM, **environment: str) -> tuple[str, int, bool]:
    return said(start(folder, program, **environment))


def objects(folder: Path) -> list[Path]:
    return sorted((folder / "cache").rglob("*.object"))


def test_a_kernel_is_loaded_without_numba_until_a_source_changes(folder: Path) -> None:
    assert run(folder) == ("12.0", 1, True)
    before = [(path, path.stat().st_mtime_ns) for path in (folder / "cache").rglob("*")]
    assert run(folder) == ("12.0", 0, False)
    assert before == [(path, path.stat().st_mtime_ns) for path in (folder / "cache").rglob("*")]  # nothing was written
    assert run(folder, HUTCH_OBJECT_STORE="0") == ("12.0", 0, True)
    write(folder, "3.0 * x")
    assert run(folder) == ("18.0", 1, True)
    assert run(folder) == ("18.0", 0, False)
    assert len(objects(folder)) == 2


def test_a_damaged_or_missing_object_is_made_anew(folder: Path) -> None:
    assert run(folder) == ("12.0", 1, True)
    [path] = objects(folder)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damaged in (b"", whole[:-1], whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]):
        path.write_bytes(damaged)
        assert object_store.load(path) == (None, False)
    assert run(folder) == ("12.0", 1, True)
    path.unlink()
    assert run(folder) == ("12.0", 1, True)
    assert run(folder) == ("12.0", 0, False)


def test_a_source_edited_while_it_runs_is_not_taken_for_what_runs(folder: Path) -> None:
    """The kernel is compiled after the edit, from what was imported before it."""
    edited = INNER.format(result="5.0 * x")
    write = f"import pathlib; pathlib.Path(sys.modules['kernels.inner'].__file__).write_text({edited!r})"
    assert run(folder, program=PROGRAM.replace("import kernels", f"import kernels; {write}")) == ("12.0", 1, True)
    assert run(folder) == ("30.0", 1, True)
    assert run(folder) == ("30.0", 0, False)


def test_of_processes_that_need_a_kernel_at_the_same_time_one_compiles_it(folder: Path) -> None:
    found = [said(process) for process in [start(folder), start(folder), start(folder)]]
    assert {value for value, *_ in found} == {"12.0"}
    assert sum(compiled for _, compiled, _ in found) == 1
    assert run(folder) == ("12.0", 0, False)


def test_a_kernel_makes_arrays_with_numbas_own_functions_and_gives_them_back(folder: Path) -> None:
    write(folder, ALLOCATING)
    assert run(folder) == ("12.0", 1, True)
    often = PROGRAM.replace("print(", "[kernels.total(x.ctypes.data, len(x)) for _ in range(50)]\nprint(")
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n{often}"
    assert run(folder, program=limited) == ("12.0", 0, False)  # 200 arrays of 8 MB
    with_numba = often.replace("import kernels", "import kernels, numba; numba.njit(lambda: np.zeros(3))()")
    assert run(folder, program=with_numba) == ("12.0", 0, True)


def test_a_kernel_that_needs_python_is_left_to_numba(folder: Path) -> None:
    write(folder, SPEAKING)
    assert run(folder) == ("12.0", 1, True)
    [path] = objects(folder)
    assert object_store.load(path) == (None, True)
    assert run(folder) == ("12.0", 0, True)


def test_a_full_disk_costs_the_object_only(folder: Path) -> None:
    assert run(folder) == ("12.0", 1, True)
    [path] = objects(folder)
    path.unlink()
    path.mkdir()  # cannot be written
    assert run(folder) == ("12.0", 1, True)


def test_another_processor_or_version_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {object_store.build_key.__wrapped__()}
    version_source = object_store.version_source
    others = [
        ("_processor", lambda: ["other"]),
        ("version_source", lambda package, file: "other" if package == "numba" else version_source(package, file)),
        ("version_source", lambda package, file: "other" if package == "llvmlite" else version_source(package, file)),
    ]
    for told, other in others:
        with monkeypatch.context() as patch:
            patch.setattr(object_store, told, other)
            keys.add(object_store.build_key.__wrapped__())
    with monkeypatch.context() as patch:
        patch.setattr("numpy.__version__", "other")
        keys.add(object_store.build_key.__wrapped__())
    assert len(keys) == 5


def test_the_key_knows_numba_and_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("numba", "llvmlite"):
        assert version(package) in object_store.version_source(package, "_version.py")
    assert object_store._processor()
    monkeypatch.setattr(os, "uname", lambda: type("uname", (), {"machine": "another"}))
    assert llvmlite.binding.get_host_cpu_name() in object_store._processor()


def test_settings_of_numba_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {object_store.build_key.__wrapped__()}
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")  # joblib's processes load what this one compiled
    keys.add(object_store.build_key.__wrapped__())
    assert len(keys) == 1
    monkeypatch.setenv("NUMBA_OPT", "1")
    keys.add(object_store.build_key.__wrapped__())
    monkeypatch.chdir(tmp_path)
    Path(".numba_config.yaml").write_text("cpu_name: generic\n")
    keys.add(object_store.build_key.__wrapped__())
    assert len(keys) == 3


def test_one_function_under_two_signatures_has_two_objects() -> None:
    places = {AddressKernel(write, signature)._place() for signature in ("int64(int64)", "float64(float64)")}
    assert len(places) == 2


def test_a_function_that_closes_over_something_has_none() -> None:
    def two() -> int:
        return len(PROGRAM) + len(places)

    places: list[Path] = []
    assert AddressKernel(two, "int64()")._place() is None


@entry("int64(int64)")
def _picky(x):
    if x < 0:
        raise ValueError("below 0")
    return x


def test_a_kernel_that_raises_says_which_one_it_was() -> None:
    assert _picky(3) == 3
    with pytest.raises(PluginError, match=r"test_object_store\.py:\d+: kernel '_picky' raised ValueError: below 0"):
        _picky(-1)
