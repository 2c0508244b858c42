import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_fault_fits_the_sources_and_has_its_tests() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: what is copied are the files that git knows")
    command = [sys.executable, str(ROOT / "benchmarks" / "hardening" / "plant_faults.py"), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
