import fcntl
import subprocess
import sys
import time
from pathlib import Path

from hutch.core.kernel.build_lock import build_lock

HOLD = """
import sys, time
from pathlib import Path
from hutch.core.kernel.build_lock import build_lock
with build_lock(Path(sys.argv[1])):
    print("inside", flush=True)
    time.sleep(60)
"""


def test_one_process_is_inside_at_a_time_and_leaves_nothing(tmp_path: Path) -> None:
    with build_lock(tmp_path / "lock"), open(tmp_path / "lock", "ab") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise AssertionError("two are inside")
        except BlockingIOError:
            pass
    assert not list(tmp_path.iterdir())


def test_a_killed_process_gives_up_its_turn(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"inside\n"
        holder.kill()
        holder.wait()
    start = time.monotonic()
    with build_lock(tmp_path / "lock", patience=30.0):
        assert time.monotonic() - start < 15.0


def test_who_has_waited_long_enough_goes_in(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        start = time.monotonic()
        with build_lock(tmp_path / "lock", patience=0.1):
            assert 0.1 <= time.monotonic() - start < 15.0


def test_a_folder_that_cannot_be_written_keeps_nobody_out(tmp_path: Path) -> None:
    with build_lock(tmp_path / "missing" / "lock"):
        assert not (tmp_path / "missing").exists()
