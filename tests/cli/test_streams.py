"""Standard streams that are closed, full or no longer read, and signals that come early."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

MAIN = "from hutch.cli.main import main; main()"
BASH = ["bash", "-o", "pipefail", "-c"]
LINES = "".join(f"{1 if i % 3 else -1} |f w{i % 7}\n" for i in range(50))

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "data.vw").write_text(LINES)
    (folder / "hutch").write_text(f"#!/bin/sh\nexec {sys.executable} -c '{MAIN}' \"$@\"\n")
    (folder / "hutch").chmod(0o755)
    assert shell(folder, "./hutch train data.vw -f model --quiet").returncode == 0
    return folder


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BASH, command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)


FULL = "standard output: No space left on device: what was written to it is lost"
CLOSED = "standard output: it is closed: what was written to it is lost"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("train data.vw -f out --quiet -p - > /dev/full", 1, FULL),
        ("train data.vw -f out --quiet --events - > /dev/full", 1, FULL),
        ("train data.vw -f out --quiet --json > /dev/full", 1, FULL),
        ("train data.vw -f out --quiet --json >&-", 1, CLOSED),
        ("train data.vw -f out 2> /dev/full", 1, ""),
        ("train data.vw -f out 2>&-", 0, ""),
        ("train data.vw -f out >&- 2>&-", 0, ""),
        ("vw -d data.vw -f out --quiet -p - > /dev/full", 1, FULL),
        ("vw -d data.vw -f out 2> /dev/full", 1, ""),
        ("vw -d data.vw -f out 2> >(exec 0<&-)", (0, 141), ""),
    ],
)
def test_what_was_learned_is_saved_whoever_listens(
    here: Path, command: str, status: int | tuple[int, int], message: str
) -> None:
    (here / "out").unlink(missing_ok=True)
    done = shell(here, f"./hutch {command}")
    assert (here / "out").exists()
    assert done.returncode in (status if isinstance(status, tuple) else (status,))
    assert done.stdout == ""
    assert done.stderr.strip() == message


@pytest.mark.parametrize(
    "command", ["predict data.vw -i model --quiet", "config show", "inspect model", "train --help"]
)
def test_output_that_is_lost_is_said(here: Path, command: str) -> None:
    done = shell(here, f"./hutch {command} > /dev/full")
    assert (done.returncode, done.stderr.strip()) == (1, FULL)


def test_predictions_that_nobody_reads_are_not_made(here: Path) -> None:
    (here / "endless").unlink(missing_ok=True)
    os.mkfifo(here / "endless")
    done = shell(here, "yes '|f w1' > endless & ./hutch predict endless -i model --quiet | head -1")
    assert done.returncode == 141
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["train - --quiet", "vw --quiet", "active simulate - -C chain.yaml"])
def test_a_closed_standard_input_is_said(here: Path, command: str) -> None:
    (here / "chain.yaml").write_text("chain: [active, linear]\n")
    done = shell(here, f"./hutch {command} <&-")
    assert done.returncode == 1
    assert done.stderr.strip() == "standard input is closed"


@pytest.mark.parametrize(
    ("module", "words", "status", "message"),
    [
        ("warnings", ["train", "data.vw"], -signal.SIGINT, ""),
        ("hutch.shell.outcome", ["train", "data.vw"], -signal.SIGINT, ""),
        ("typer", ["train"], -signal.SIGINT, ""),
        ("numpy", ["train", "data.vw"], 130, "interrupted\n"),
    ],
    ids=["first of all", "before a command is known", "while Typer is imported", "while a command begins"],
)
def test_an_early_interrupt_ends_without_a_traceback(
    here: Path, module: str, words: list[str], status: int, message: str
) -> None:
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.modules.pop("warnings", None)
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
sys.argv = ["hutch", *{words}]
{MAIN}
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_come_at_once(here: Path, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [str(here / "hutch"), "train", "-", "-P", "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=environment
    ) as process:
        assert process.stdin and process.stderr
        process.stdin.write(b"1 |f a\n")
        seen = b""
        while b" 1.0 " not in seen and (letter := process.stderr.read(1)):
            seen += letter
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_terminal_shows_control_characters_of_data_and_does_not_obey_them(here: Path, tmp_path: Path) -> None:
    rows = [f"w{w}\x1b]52;c;aGk=\x07\x9b,i{i},{'ab'[(i * w) % 2]}" for w in range(4) for i in range(30)]
    (tmp_path / "labels.csv").write_text("worker,item,label\n" + "\n".join(rows), encoding="utf-8")
    own, terminal = os.openpty()
    command = [str(here / "hutch"), "crowd", str(tmp_path / "labels.csv")]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        found = b""
        with suppress(OSError):  # of the end
            while piece := os.read(own, 1 << 16):
                found += piece
        assert process.wait(60) == 0
    os.close(own)
    assert rb"w1\x1b]52;c;aGk=\x07\x9b" in found
    assert not set(found.decode()) & {"\x1b", "\x07", "\x9b"}
    piped = subprocess.run(command, capture_output=True, check=True)
    assert b"\x1b" in piped.stdout + piped.stderr  # a file gets what the data holds
