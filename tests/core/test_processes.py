"""What is left of processes whose parent is killed."""

import subprocess
import sys

PROGRAM = """
import os, signal
from hutch.core.processes import spawning
before = dict(os.environ)
kept = [spawning().Semaphore() for _ in range(3)]
assert dict(os.environ) == before
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_semaphores_of_a_killed_process_are_removed_without_a_word():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.returncode < 0 and not done.stderr
