"""The command counts lines."""

import subprocess
import sys
from pathlib import Path


def test_it_counts_lines(tmp_path):
    (tmp_path / "a").write_text("1 |f a\n\n1 |f b\n")
    for options, wanted in (([], "2\n"), (["--empty"], "3\n")):
        command = [Path(sys.executable).with_name("hutch"), "mine", str(tmp_path / "a"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == wanted
