"""Machine code that came with the package: when it is used, and that it is what would be compiled."""

import base64
import csv
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hutch.core.kernel import object_store, shipped

ROOT = Path(__file__).parents[3]
on_linux = pytest.mark.skipif(not object_store.enabled(), reason="machine code is kept on Linux only")
PROGRAM = """
import sys
from pathlib import Path
from hutch.core.kernel import shipped
shipped.FOLDER = Path(sys.argv[1])
from hutch.core.kernel.cache import compilations
from hutch.core.loss.kernels import hinge_value as kernel
value = kernel(0.25, -1.0, 0.0, 0.0, 0)
built_for = shipped.level() or sys.argv[2]
place = kernel._place()
print(value, compilations(), "numba" in sys.modules, place,
      shipped.place_of(place.parent.name, kernel._kept.name, kernel.signature, built_for), sep="\\n")
"""


def run(folder: Path, cache: str, **environment: str) -> list[str]:
    """The kernel's result, the number compiled, whether Numba was imported, and its files."""
    level = "x86-64-v2" if os.uname().machine == "x86_64" else "aarch64"
    command = [sys.executable, "-c", PROGRAM, str(folder / "shipped"), level]
    known = {**os.environ, "HUTCH_CACHE_DIR": str(folder / cache), **environment}
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.slow
@on_linux
def test_a_first_run_loads_what_came_with_the_package(tmp_path: Path) -> None:
    value, compiled, numba, made, place = run(tmp_path, "first")
    assert (compiled, numba) == ("1", "True")
    target = Path(place)
    target.parent.mkdir(parents=True)
    target.write_bytes(Path(made).read_bytes())
    assert run(tmp_path, "second")[:3] == [value, "0", "False"]
    assert not (tmp_path / "second").exists()  # nothing is copied into the cache
    assert run(tmp_path, "second", HUTCH_SHIPPED_KERNELS="0")[:3] == [value, "1", "True"]
    target.write_bytes(Path(made).read_bytes()[:-1] + b"?")
    assert run(tmp_path, "third")[:3] == [value, "1", "True"]


@pytest.mark.parametrize(
    ("machine", "flags", "folders", "wanted"),
    [
        ("x86_64", shipped.LEVELS["x86-64-v3"], ["x86-64-v3", "x86-64-v2"], "x86-64-v3"),
        ("x86_64", shipped.LEVELS["x86-64-v3"] - {"fma"}, ["x86-64-v3", "x86-64-v2"], "x86-64-v2"),
        ("x86_64", shipped.LEVELS["x86-64-v3"], ["x86-64-v2"], "x86-64-v2"),
        ("x86_64", frozenset({"sse2"}), ["x86-64-v3", "x86-64-v2"], None),
        ("x86_64", shipped.LEVELS["x86-64-v3"], [], None),
        ("aarch64", frozenset(), ["aarch64", "x86-64-v2"], "aarch64"),
        ("riscv64", frozenset(), ["aarch64", "x86-64-v2"], None),
    ],
)
def test_the_highest_level_that_the_processor_has(
    machine: str, flags: frozenset[str], folders: list[str], wanted: str | None, tmp_path: Path, monkeypatch: Any
) -> None:
    for name in folders:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(object_store, "processor_flags", lambda: flags)
    monkeypatch.setattr(object_store, "enabled", lambda: True)
    monkeypatch.setattr(os, "uname", lambda: type("Machine", (), {"machine": machine}), raising=False)
    monkeypatch.delenv(shipped.SWITCH, raising=False)
    shipped._level.cache_clear()
    try:
        assert shipped.level() == wanted
        monkeypatch.setenv(shipped.SWITCH, "0")
        assert shipped.level() is None
    finally:
        shipped._level.cache_clear()


def test_a_place_is_that_of_sources_signature_level_and_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        shipped.place_of("module-a", "f-1", "int64(int64)", "x86-64-v3"),
        shipped.place_of("module-b", "f-1", "int64(int64)", "x86-64-v3"),
        shipped.place_of("module-a", "f-2", "int64(int64)", "x86-64-v3"),
        shipped.place_of("module-a", "f-1", "int64(uint64)", "x86-64-v3"),
        shipped.place_of("module-a", "f-1", "int64(int64)", "x86-64-v2"),
    }
    monkeypatch.setattr(shipped, "_convention", lambda: "another")
    places.add(shipped.place_of("module-a", "f-1", "int64(int64)", "x86-64-v3"))
    assert len({path.name for path in places}) == 6


def _script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("ship_kernels", str(ROOT / ".ci" / "ship_kernels"))
    spec = importlib.util.spec_from_loader("ship_kernels", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_wheel_that_is_written_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    wheel = tmp_path / "hutch-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("hutch/__init__.py", "x = 1\n")
        file.writestr("hutch-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("hutch-1.0.dist-info/RECORD", "")
        file.writestr("hutch-1.0.dist-info/sboms/hutch.cdx.json", '{"metadata": {"tools": {"components": []}}}')
    objects = tmp_path / "objects"
    (objects / "x86-64-v3").mkdir(parents=True)
    (objects / "x86-64-v3" / "a.object").write_bytes(b"code")
    tag = "py3-none-manylinux_2_17_x86_64"
    found = _script().written(wheel, objects, tmp_path, tag, {"numba": "0.68.1"})
    assert found.name == f"hutch-1.0-{tag}.whl"
    with zipfile.ZipFile(found) as file:
        rows = list(csv.reader(io.StringIO(file.read("hutch-1.0.dist-info/RECORD").decode())))
        assert sorted(row[0] for row in rows) == sorted(file.namelist())
        for path, digest, size in rows[:-1]:
            content = file.read(path)
            coded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={coded}", str(len(content)))
        described = file.read("hutch-1.0.dist-info/WHEEL").decode().splitlines()
        assert [line for line in described if line.startswith(("Tag", "Root"))] == [
            "Root-Is-Purelib: false",
            f"Tag: {tag}",
        ]
        assert file.read("hutch/core/kernel/shipped_objects/x86-64-v3/a.object") == b"code"
        bill = json.loads(file.read("hutch-1.0.dist-info/sboms/hutch.cdx.json"))
    assert [tool["name"] for tool in bill["metadata"]["tools"]["components"]] == ["numba"]
    assert bill["serialNumber"].startswith("urn:uuid:")
