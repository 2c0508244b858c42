"""What a third party's kernel reads and calls is part of its key, wherever it comes from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = """
import elsewhere
from elsewhere import COLOUR, NAMES, PAIR, RECORD, SCALE, TABLE, chained, filled, read
from hutch.core.kernel.cache import compilations, entry
from numba import njit

@entry("float64(float64)")
def scaled(x):
    return x * SCALE

@entry("float64(float64)")
def by_module(x):
    return x + elsewhere.SCALE

@entry("float64(float64)")
def tabled(x):
    return x + TABLE[1] + PAIR[0] + len(NAMES[0]) + RECORD["a"][0] + COLOUR

@entry("float64(float64)")
def helped(x):
    return chained(x)

@entry("float64(float64)")
def enclosed(x):
    return filled(x)

@entry("float64(float64)")
def viewed(x):
    return read(x)

print(*[kernel(1.0) for kernel in (scaled, by_module, tabled, helped, enclosed, viewed)], compilations())
"""
ELSEWHERE = """
import os
import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from hutch.core.kernel.decorators import helper
from deeper import last

SCALE = float(os.environ.get("SCALE", "2"))
TABLE = np.load("table.npy")
PAIR = (float(os.environ.get("FIRST", "0")), 1)
NAMES = (os.environ.get("NAME", ""),)
RECORD = np.array([(float(os.environ.get("FIELD", "0")),)], np.dtype([("a", "f8")]))
COLOUR = int(os.environ.get("COLOUR", "0"))

@njit
def chained(x):
    return last(x) + 1.0

def made(size):
    @helper
    def filled(x):
        return x + size
    return filled

filled = made(float(os.environ.get("SIZE", "0")))

def offset():
    return float(os.environ.get("OFFSET", "0"))

@intrinsic
def read(context, x):
    added = SHIFT
    def generate(context, builder, signature, arguments):
        return builder.fadd(arguments[0], context.get_constant(types.float64, added))
    return types.float64(types.float64), generate

SHIFT = offset()
"""
DEEPER = """
from hutch.core.kernel.decorators import helper

@helper
def last(x):
    return x + {shift}
"""
START = ["2.0", "3.0", "1.0", "2.0", "1.0", "1.0"]


def _run(folder: Path, **changes: str) -> list[str]:
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    own = {"HUTCH_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "kernels.py"], cwd=folder, env=os.environ | own | changes, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def _write(folder: Path, shift: float = 0.0, second: float = 0.0) -> None:
    import numpy as np

    for name, text in (("kernels", KERNELS), ("elsewhere", ELSEWHERE), ("deeper", DEEPER.format(shift=shift))):
        (folder / f"{name}.py").write_text(text)
    np.save(folder / "table.npy", np.array([0.0, second]))


@pytest.mark.slow
def test_each_kernel_sees_the_new_value_and_no_other_is_compiled_again(tmp_path: Path) -> None:
    _write(tmp_path)
    assert _run(tmp_path) == [*START, "6"]
    assert _run(tmp_path) == [*START, "0"]
    changes = {"FIRST": "3", "NAME": "abc", "FIELD": "3", "COLOUR": "3"}
    for name, value in changes.items():
        assert _run(tmp_path, **{name: value}) == ["2.0", "3.0", "4.0", "2.0", "1.0", "1.0", "1"]
    assert _run(tmp_path, SIZE="3") == ["2.0", "3.0", "1.0", "2.0", "4.0", "1.0", "1"]
    assert _run(tmp_path, OFFSET="3") == ["2.0", "3.0", "1.0", "2.0", "1.0", "4.0", "1"]
    assert _run(tmp_path, SCALE="5") == ["5.0", "6.0", "1.0", "2.0", "1.0", "1.0", "2"]
    _write(tmp_path, second=3.0)
    assert _run(tmp_path) == ["2.0", "3.0", "4.0", "2.0", "1.0", "1.0", "1"]
    _write(tmp_path, shift=3.0)
    assert _run(tmp_path) == ["2.0", "3.0", "1.0", "5.0", "1.0", "1.0", "1"]


def test_what_has_no_key_is_not_kept_and_said_once(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import ctypes\nfrom hutch.core.kernel.cache import compilations, entry\n"
        "cosine = ctypes.CDLL(None).cos\ncosine.restype, cosine.argtypes = ctypes.c_double, [ctypes.c_double]\n\n"
        "@entry('float64(float64)')\ndef first(x):\n    return cosine(x)\n\n"
        "@entry('float64(float64)')\ndef second(x):\n    return cosine(x) + 1.0\n\n"
        "print(first(0.0), second(0.0), compilations())\n"
    )
    own = {"HUTCH_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "odd.py")], env=os.environ | own, capture_output=True, text=True
        )
        assert done.stdout.split() == ["1.0", "2.0", "2"], done.stderr
        [said] = done.stderr.splitlines()
        assert said.endswith(
            "odd.py:6: kernel 'first' is compiled at every start: got 'cosine', a _FuncPtr, wanted numbers, texts, "
            "tuples, NumPy arrays, and functions decorated with 'helper'"
        )


def test_nothing_of_this_runs_for_our_own_kernels() -> None:
    code = (
        "import sys\nfrom hutch.chain import Chain\n"
        "chain = Chain.from_config({'chain': ['linear']})\nchain.learn('1 | a\\n')\n"
        "print('hutch.core.kernel.reached' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
