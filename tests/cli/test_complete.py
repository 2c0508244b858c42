"""Completion in the shells: commands, options and files; without Numba."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
atexit.register(lambda: print([name for name in ("numba", "llvmlite") if name in sys.modules], file=sys.stderr))
from hutch.cli.main import main
main()
"""


def offered(shell: str, line: str) -> list[str]:
    """Completions offered for the last word of a line; they must not need any kernel."""
    words = line.split(" ")
    asked = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
    }[shell]
    known = os.environ | asked | {"_HUTCH_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=known, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("hutch tr", ["train"]),
        ("hutch active e", ["export"]),
        ("hutch train --loss", ["--loss_function"]),
        ("hutch train -C ", [""]),  # nothing: the shell offers files
    ],
)
def test_bash_is_offered(line: str, wanted: list[str]) -> None:
    assert offered("bash", line) == wanted


def test_zsh_is_offered_files() -> None:
    assert offered("zsh", "hutch vw -d ") == ["_files"]
