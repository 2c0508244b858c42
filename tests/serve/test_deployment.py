"""The systemd unit and the Dockerfile of the page: the unit is valid, and both start a command that exists."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]


def _block(title: str) -> str:
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def _commands() -> dict[str, list[str]]:
    """What each of them runs."""
    [start] = re.findall(r"^ExecStart=(.*)$", _block("hutch.service"), re.MULTILINE)
    [command] = re.findall(r"^CMD (.*)$", _block("Dockerfile"), re.MULTILINE)
    return {"hutch.service": shlex.split(start), "Dockerfile": json.loads(command)}


@pytest.mark.parametrize("name", ["hutch.service", "Dockerfile"])
def test_the_command_exists(name: str, tmp_path: Path) -> None:
    program, *words = _commands()[name]
    assert Path(program).name == "hutch"
    words = [str(tmp_path / "absent") if word.startswith("/") else word for word in words]
    done = subprocess.run([*HUTCH, *words, "--token", "x"], capture_output=True, text=True, timeout=60, check=False)
    assert "absent" in done.stderr and "cannot be" in done.stderr, done.stderr  # all that is wrong is the model


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not on this machine")
def test_the_unit_is_valid(tmp_path: Path) -> None:
    unit = tmp_path / "hutch.service"
    unit.write_text(_block("hutch.service").replace("/opt/hutch/bin/hutch", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and "hutch.service" not in done.stderr, done.stderr
