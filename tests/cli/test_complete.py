"""Completion in the shells: commands, options, values, layers with their parameters, files; without Numba."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.cli.shell.complete import chains, crowd_models, overrides, parameters_of_layer, registered
from hutch.core.parameters import parameters_of
from hutch.crowd.table import BUILT_IN
from hutch.plugins.manager import Plugins

REGISTRY = Plugins(only=()).registry
PROGRAM = """
import atexit, sys
atexit.register(lambda: print([name for name in ("numba", "llvmlite") if name in sys.modules], file=sys.stderr))
from hutch.cli.main import main
main()
"""


def offered(shell: str, line: str, folder: Path) -> list[str]:
    """What a shell is offered for the last word of a line; no kernel may be needed for it."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | asked | {"_HUTCH_COMPLETE": f"complete_{shell}"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "[]\n"
    return done.stdout.split("\n")[:-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("chain.yaml", "other.yml", "data.vw"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("hutch tr", ["train"]),
        ("hutch active e", ["export"]),
        ("hutch train --loss", ["--loss_function"]),
        ("hutch train --loss_function p", ["poisson"]),
        ("hutch vw --cb_t", ["--cb_type"]),
        ("hutch vw -q ab --cb_type d", ["dm", "dr"]),
        ("hutch vw --oaa 3 --link glf", ["glf1"]),
        ("hutch train -C ", ["chain.yaml", "other.yml"]),
        ("hutch config check ch", ["chain.yaml"]),
        ("hutch train data.vw --set filter_tree.cl", ["filter_tree.classes="]),
        ("hutch plugins check quant", ["quantile"]),
        ("hutch crowd --model two", ["two_level"]),
        ("hutch vw -d ", [""]),  # nothing: the shell offers files
    ],
)
def test_bash_is_offered(line: str, wanted: list[str], folder: Path) -> None:
    assert offered("bash", line, folder) == wanted


def test_zsh_and_fish_are_offered_the_same(folder: Path) -> None:
    assert '"linear."' in offered("zsh", "hutch train --set lin", folder)[0]
    assert offered("zsh", "hutch vw -d ", folder) == ["_files"]
    assert offered("fish", "hutch vw --link po", folder) == ["poisson"]
    assert offered("fish", "hutch cro", folder)[0].split("\t")[0] == "crowd"


def test_bash_itself_completes(folder: Path) -> None:
    """The script that users install, in a real shell."""
    hutch = Path(sys.executable).with_name("hutch")
    line = ["hutch", "vw", "--loss_function", "q"]
    script = f"""
source <({hutch} --show-completion bash)
COMP_WORDS=({" ".join(line)}); COMP_CWORD={len(line) - 1}
_hutch_completion hutch
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    path = os.pathsep.join([str(hutch.parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(["bash", "-c", script], env=environment, cwd=folder, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("quantile\n", "")


def test_parameters_of_layers_are_those_they_declare() -> None:
    for name, reduction in REGISTRY.reductions.items():
        assert parameters_of_layer(name) == [each.name for each in parameters_of(reduction.Parameters)], name
    assert parameters_of_layer("nothing") == []


def test_paths_of_set() -> None:
    assert overrides(None, [], "weights.") == ["weights.bits="]
    assert overrides(None, [], "see") == ["seed="]
    assert overrides(None, [], "seed=") == []
    assert "linear." in overrides(None, [], "")


def test_names_are_those_that_are_registered() -> None:
    assert registered("losses")(None, [], "") == sorted(REGISTRY.losses)
    assert sorted(model.name for model in BUILT_IN) == crowd_models(None, [], "")


def test_files_of_chains(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert chains(None, [], f"{folder}{os.sep}c") == [str(folder / "chain.yaml")]
    assert chains(None, [], "missing/") == []
