"""The pictures of the page on evidence show what the tables behind them say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_pictures_are_those_of_the_tables() -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, "docs/draw.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
