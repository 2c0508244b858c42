"""A fork is as good as a process: what a page shows does not depend on which of them ran."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REAL = Path(sys.executable).with_name("hutch")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pages run real commands")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("forked")
    (folder / "data.vw").write_text("1 |f a\n-1 |f b\n" * 20)
    (folder / "mine").mkdir()
    spec = importlib.util.spec_from_file_location("forked_hutch", Path(__file__).with_name("forked_hutch.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.forking(str(folder), str(REAL)):
        yield folder


@pytest.mark.parametrize(
    "command",
    [
        "hutch train data.vw -f model && cat model | sha256sum",
        "hutch train <(cat data.vw) --quiet -p -",
        "head -3 data.vw | hutch train --quiet -p - - | cat",
        "hutch trian",
        "hutch train nowhere",
        "hutch train data.vw --quiet <&-",
        "hutch train - <&-",
        "hutch train data.vw --quiet -p - >&-",
        "cd mine; hutch train ../data.vw -f m --quiet; ls",
        "umask 077; hutch train data.vw -f secret --quiet; stat -c %a secret",
        "COLUMNS=50 hutch train --help; COLUMNS=100 hutch train --help",
        "HUTCH_LOAD_PLUGINS=none hutch plugins list",
        "hutch predict <(yes '1 |f a') -i model --quiet | head -2; echo ${PIPESTATUS[@]}",
        "mkfifo p; hutch train p --quiet & exec 3> p; kill -KILL $!; wait $!; echo $?; yes >&3; echo $?; rm p",
        "mkfifo p; hutch train p --quiet & exec 3> p; kill -TERM $!; wait $!; echo $?; rm p",
        "mkfifo p; hutch train p --quiet & exec 3> p; kill -INT $!; exec 3>&-; wait $!; echo $?; rm p",
    ],
)
def test_a_command_is_what_it_is_as_a_process(here: Path, command: str) -> None:
    found = []
    for commands in (here, REAL.parent):
        environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True)
        found.append((done.returncode, done.stdout, re.sub(r"\d{3,}|line \d+", "", done.stderr)))
    assert found[0] == found[1]
