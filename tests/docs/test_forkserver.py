"""A command of the fork server is a process like any other: words, folder, environment, streams, status, signals."""

import os
import signal
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import forkserver  # noqa: E402


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{forkserver.commands()}{os.pathsep}{os.environ['PATH']}"
    known = os.environ | {"PATH": path}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=known, capture_output=True, text=True, timeout=60)


def test_streams_folder_and_status_are_those_of_who_asks(tmp_path: Path) -> None:
    (tmp_path / "chain.yaml").write_text("chain: [linear]\n")
    assert run("hutch config check chain.yaml", tmp_path).stdout.startswith("chain.yaml: valid: linear")
    done = run("printf '1 |f a\\n' | hutch train - --quiet --json -f 'a model'; hutch train none; exit $?", tmp_path)
    assert done.stdout.startswith('{"examples": 1,') and (tmp_path / "a model").exists()
    assert done.returncode == 1 and "none: no such file" in done.stderr
    assert run("hutch train missing.vw --set; echo $?", tmp_path).stdout == "2\n"


def test_a_signal_reaches_the_command(tmp_path: Path) -> None:
    serve = "hutch train /dev/null -f m --quiet; hutch serve m --port 0 > address & server=$!; "
    wait = "until grep -qs http address; do sleep 0.05; done; "
    assert run(f"{serve}{wait}kill $server; wait $server; echo $?", tmp_path).stdout == "0\n"
    killed = "mkfifo pipe; hutch train pipe --quiet & sleep 0.1; kill -KILL $!; wait $!; echo $?"
    assert run(killed, tmp_path).stdout == f"{128 + signal.SIGKILL}\n"
