"""What Hutch uses of Numba beyond its interface may go: it costs one notice and time, never a traceback or a bit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numba
{change}
sys.argv = ["hutch", *{words!r}]
from hutch.cli.main import main
main()
"""
SAVES_TIME = {
    "library": "import numba.core.codegen as c; del c.JITCodeLibrary",
    "passes": "import numba.core.typed_passes as t; del t.AnnotateTypes",
}
"""Each leaves Numba itself as able as it was."""
NEEDED = {
    "arrays": "import numba.np.arrayobj as a; del a.populate_array",
    "registry": "import numba.core.registry as r; del r.cpu_target",
}
TRAIN = ("train", "data.vw", "--quiet", "-p", "-", "--loss_function", "logistic", "-f", "model")


def run(folder: Path, change: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Train with an empty cache of kernels, after a change to Numba."""
    (folder / "data.vw").write_text("1 |f a b:2\n-1 |f b c\n1 |f a\n")
    variables = {"HUTCH_CACHE_DIR": str(folder / "kernels"), "HUTCH_SHIPPED_KERNELS": "0"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(change=change, words=TRAIN)],
        cwd=folder,
        env=os.environ | variables | environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """Predictions and model with Numba as it is."""
    folder = tmp_path_factory.mktemp("usual")
    done = run(folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout, (folder / "model").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("part", SAVES_TIME)
def test_a_part_that_saves_time_is_done_without(part: str, tmp_path: Path, usual: tuple[str, bytes]) -> None:
    done = run(tmp_path, SAVES_TIME[part])
    assert done.returncode == 0, done.stderr
    [notice] = done.stderr.splitlines()
    assert notice.startswith("hutch: numba ") and "compiles kernels in its own way, which takes longer: " in notice
    assert (done.stdout, (tmp_path / "model").read_bytes()) == usual
    again = run(tmp_path, SAVES_TIME[part])
    assert again.returncode == 0 and again.stdout == done.stdout  # from Numba's cache


@pytest.mark.slow
def test_plain_numba_may_be_asked_for(tmp_path: Path, usual: tuple[str, bytes]) -> None:
    done = run(tmp_path, HUTCH_PLAIN_NUMBA="1")
    assert done.returncode == 0 and done.stderr.endswith("which takes longer: HUTCH_PLAIN_NUMBA is set\n")
    assert (done.stdout, (tmp_path / "model").read_bytes()) == usual
    assert not list((tmp_path / "kernels").rglob("*.object"))


@pytest.mark.parametrize("part", NEEDED)
def test_a_part_that_every_kernel_needs_is_named_in_one_line(part: str, tmp_path: Path) -> None:
    done = run(tmp_path, NEEDED[part])
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "is not one that Hutch knows: " in done.stderr and done.stderr.endswith("; install an older one\n")


def test_numbas_own_classes_stay_as_they_are() -> None:
    """Other people's code in this process compiles as it would without Hutch."""
    code = """
from numba.core.postproc import PostProcessor
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction
def parts():
    return TargetConfig.__eq__, TargetConfig.__hash__, PostProcessor.run, BaseFunction.get_call_type
before = parts()
import hutch
from hutch.core.kernel import cache, private
with private.compiling_fast():
    assert not set(before) & set(parts())
hutch.Chain.from_config({"chain": ["linear"]}).learn(["1 | a"])
assert parts() == before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_only_one_file_names_what_is_private() -> None:
    root = Path(__file__).parents[3]
    private = ("numba.core", "numba.np", "numba.misc", "numba.cpython")
    naming = {
        path.relative_to(root).as_posix()
        for folder in ("core", "plugins", "reductions", "src/hutch")
        for path in (root / folder).rglob("*.py")
        if any(f"{start} {name}" in path.read_text() for start in ("from", "import") for name in private)
    }
    assert {name.removeprefix("src/hutch/") for name in naming} == {"core/kernel/private.py"}
