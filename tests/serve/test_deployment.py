"""The systemd unit and the Dockerfile of the page: the unit is valid, and both start a command that exists."""

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from importlib.metadata import metadata
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]


def _block(title: str) -> str:
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def _commands() -> dict[str, list[str]]:
    """The command line of the systemd unit and of the Dockerfile."""
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


def test_the_command_of_the_image_serves(model: Path) -> None:
    program, *words = _commands()["Dockerfile"]
    changed = {"/models/mail": str(model), "8080": "0"}
    server = subprocess.Popen(
        [*HUTCH, *(changed.get(word, word) for word in words)],
        env={**os.environ, "HUTCH_TOKEN": "secret"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        statuses = []
        for path, headers in (
            ("/healthz", {}),
            ("/v1/model", {}),
            ("/v1/model", {"Authorization": "Bearer secret"}),
        ):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("GET", path, headers=headers)
                statuses.append(connection.getresponse().status)
        server.send_signal(signal.SIGTERM)  # what `docker stop` and systemd send
        assert (statuses, server.wait(60)) == ([200, 401, 200], 0)


def _base_image_is_here() -> bool:
    """Whether Docker runs and has, or can fetch, the image that the Dockerfile begins from."""
    [base] = re.findall(r"^FROM (\S+)", _block("Dockerfile"), re.MULTILINE)
    try:
        return subprocess.run(["docker", "pull", "-q", base], capture_output=True, timeout=300).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def test_the_image_is_built(tmp_path: Path) -> None:
    if not os.environ.get("CI") or not _base_image_is_here():
        pytest.skip("takes minutes and the network; needs a running Docker and the variable CI")
    root = Path(__file__).parents[2]
    wheel = ["-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path / "dist"), str(root)]
    subprocess.run([sys.executable, *wheel], check=True, timeout=300)
    (tmp_path / "Dockerfile").write_text(_block("Dockerfile"))
    subprocess.run(["docker", "build", "-q", str(tmp_path)], check=True, timeout=1800)


def test_what_the_image_runs_as_it_is_built(tmp_path: Path) -> None:
    """Its commands, where there is no Docker: each is there, and installs what it should."""
    runs = re.findall(r"^RUN (.*)$", _block("Dockerfile"), re.MULTILINE)
    assert [run.split()[0] for run in runs] == ["pip", "useradd", "hutch"]
    extra = re.search(r"\[(\w+)\]", runs[0])
    assert extra is not None and extra[1] in metadata("hutch").get_all("Provides-Extra")
    added, _, installed = runs[1].partition(" && ")
    assert "--uid 1000" in added and installed.split() == ["install", "--directory", "--owner", "hutch", "/models"]
    folder = tmp_path / "models"
    subprocess.run(["install", "--directory", str(folder)], check=True, timeout=60)
    assert folder.is_dir()
    done = subprocess.run([*HUTCH, *runs[2].split()[1:], "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Every kernel of all installed plugins" in done.stdout
