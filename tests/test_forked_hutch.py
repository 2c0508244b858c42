"""A fork is as good as a process: what a page shows does not depend on which of them ran."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked_hutch import hutch

REAL = Path(sys.executable).with_name("hutch")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pages run real commands")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forked")
    (folder / "data.vw").write_text("1 |f a\n-1 |f b\n" * 20)
    (folder / "within").mkdir()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "hutch train data.vw -f model && sha256sum < model",
        "head -3 data.vw | hutch train --quiet -p - - | cat",
        "hutch train <(cat data.vw) --quiet -p -",
        "hutch train nowhere",
        "hutch train - <&-",
        "cd within; umask 077; hutch train ../data.vw -f m --quiet; stat -c '%a %n' m",
        "COLUMNS=50 HUTCH_LOAD_PLUGINS=none hutch plugins --help",
        "hutch predict <(yes '1 |f a') -i model --quiet | head -2; echo ${PIPESTATUS[@]}",
        "mkfifo p; hutch train p --quiet & exec 3> p; kill -KILL $!; wait $!; echo $?; yes >&3; echo $?; rm p",
        "mkfifo p; hutch train p --quiet & exec 3> p; kill -TERM $!; wait $!; echo $?; rm p",
    ],
)
def test_a_command_is_what_it_is_as_a_process(here: Path, command: str) -> None:
    found = []
    for commands in (os.path.dirname(hutch()), REAL.parent):
        environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True)
        found.append((done.returncode, done.stdout, re.sub(r"\d{3,}|line \d+", "", done.stderr)))
    assert found[0] == found[1]
