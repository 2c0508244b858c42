"""The public API: cheap to import, complete, typed."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import hutch
from hutch import plugin

ROOT = Path(__file__).parents[1]
HEAVY = (
    "numpy",
    "numba",
    "llvmlite",
    "pydantic",
    "pluggy",
    "yaml",
    "scipy",
    "sklearn",
    "pyarrow",
    "zstandard",
    "safetensors",
)


def modules_after(code: str) -> set[str]:
    """The modules that a new interpreter has loaded after some code."""
    script = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_exported_names_are_there_and_sorted() -> None:
    assert sorted(hutch.__all__) == dir(hutch)
    for name in hutch.__all__:
        assert getattr(hutch, name) is not None
    with pytest.raises(AttributeError, match="module 'hutch' has no attribute 'chain_of_thought'"):
        hutch.chain_of_thought  # noqa: B018


@pytest.mark.parametrize(
    "code",
    [
        "import hutch; hutch.__version__, dir(hutch)",
        "import hutch.plugin; dir(hutch.plugin)",
        "from hutch.plugin import ConfigError, hookimpl",
        "from hutch.cli.commands import app",
        "import hutch.core.hooks",
    ],
)
def test_importing_is_cheap(code: str) -> None:
    assert not {module for module in HEAVY if module in modules_after(code)}


def test_type_checkers_read_the_same_names() -> None:
    found = ast.parse(Path(hutch.__file__).with_suffix(".pyi").read_text()).body
    names = [str(each.asname) for line in found if isinstance(line, ast.ImportFrom) for each in line.names]
    names += [line.target.id for line in found if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
    assert sorted(names) == dir(hutch)


def test_all_that_an_author_needs_is_in_one_place() -> None:
    """The table of names and the imports that type checkers read say the same, and every name is there."""
    lines = ast.parse(Path(plugin.__file__).with_suffix(".pyi").read_text()).body
    imports = [line for line in lines if isinstance(line, ast.ImportFrom)]
    found = {str(each.asname): (line.module, each.name) for line in imports for each in line.names}
    for line in lines:
        if isinstance(line, ast.Assign):  # a name that its home spells otherwise
            [name], there = line.targets, line.value
            assert isinstance(name, ast.Name) and isinstance(there, ast.Name)
            found[name.id] = found.pop(there.id)
    assert {name: plugin._FOUND[name] for name in dir(plugin)} == found
    for name in dir(plugin):
        assert getattr(plugin, name) is not None
    with pytest.raises(AttributeError, match="module 'hutch.plugin' has no attribute 'kernle'"):
        plugin.kernle  # noqa: B018


def test_help_is_cheap() -> None:
    code = "from hutch.cli.commands import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert not {module for module in HEAVY if module in modules_after(code)} - {"pluggy"}


def test_optional_packages_are_loaded_only_when_needed() -> None:
    code = "import hutch; hutch.Chain.from_config({'chain': ['linear']}).learn(['1 |f a'])"
    assert not {"pyarrow", "sklearn", "starlette", "matplotlib", "mlflow"} & modules_after(code)


THIRD_PARTY = """
from collections.abc import Callable
from typing import ClassVar

import hutch
import numpy as np
from hutch.plugin import (
    CrowdModel,
    CrowdState,
    EMModel,
    Kernels,
    Labels,
    Loss,
    Parameters,
    Predictions,
    Record,
    Reduction,
    checks_of_loss,
    hookimpl,
    to_batches,
)
from hutch.sklearn import HutchClassifier
from numpy.typing import NDArray


def value(prediction: float, label: float, parameter: float) -> float:
    return (prediction - label) ** 2


SQUARE: Loss = Loss.plain("square", value, value)


class NothingParameters(Parameters):
    rate: float = 0.5


class Nothing(Reduction):
    name: ClassVar[str] = "nothing"
    Parameters: ClassVar[type[Parameters]] = NothingParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    state: Record

    @property
    def kernels(self) -> Kernels:
        raise AssertionError("it is registered only, and never runs")


@hookimpl
def hutch_register_losses(register: Callable[..., None]) -> None:
    register(SQUARE)


def learn(lines: list[str]) -> NDArray[np.float32]:
    chain = hutch.Chain.from_config({"chain": ["linear"]})
    batch: hutch.Batch = next(to_batches(lines, chain.parser))
    chain.learn(batch)
    reveal_type(chain.predict(lines))
    return chain.predict(lines)


class Everybody(CrowdModel):
    def posterior(self, state: CrowdState) -> NDArray[np.float64]:
        return state.items["posterior"]


class Means(EMModel[float]):
    def maximise(self, statistics: NDArray[np.float64]) -> float:
        return float(statistics.mean())


names: list[str] = [check.name for check in checks_of_loss(SQUARE)]
model = HutchClassifier(["linear"], bits=12)
wrong: int = learn(["1 |f a"])
"""


@pytest.mark.slow
def test_a_third_party_is_type_checked(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(textwrap.dedent(THIRD_PARTY))
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = True\n"
        "[mypy-hutch.*]\nfollow_imports = silent\n"
        "[mypy-sklearn.*]\nignore_missing_imports = True\n"
    )
    paths = f"{ROOT / 'src'}"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "theirs.py"],
        cwd=tmp_path,
        env={"MYPYPATH": paths, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    theirs = [line for line in done.stdout.splitlines() if line.startswith("theirs.py")]
    assert len(theirs) == 2, done.stdout + done.stderr
    assert 'note: Revealed type is "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.floating[' in theirs[0]
    assert 'error: Incompatible types in assignment (expression has type "ndarray' in theirs[1]
