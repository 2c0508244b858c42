"""Do the tests notice? Plants small faults, one at a time, in a copy of the sources and runs the tests of that area.

    python benchmarks/plant_faults.py                   all faults, the slow way
    python benchmarks/plant_faults.py --area dyadic     those of one area
    python benchmarks/plant_faults.py --every 5         one in five of each area

A fault is noticed if a test fails. It prints one line per fault and the share that survived; the exit status is 1 if
any did, 2 if a fault no longer fits the sources (see `planted_faults.py`).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

import planted_core_faults
import planted_faults
from planted_faults import Fault

from hutch.core.kernel.home import cache_home

ROOT = Path(__file__).parents[1]
FAULTS = planted_faults.FAULTS + planted_core_faults.FAULTS
TESTS = planted_faults.TESTS | planted_core_faults.TESTS
LONGEST = 900  # seconds: a fault that makes tests hang is noticed, too


def copy_sources(folder: Path) -> None:
    """Copy what git knows of, as it is in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        elif source.exists():
            shutil.copyfile(source, target)


def plant(fault: Fault, folder: Path) -> str:
    """Write the fault into the copy; returns the text of the file before.

    Raises:
        ValueError: the place is not there, or not the only one.
    """
    path = folder / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.file}: {fault.right!r} stands there {text.count(fault.right)} times, wanted once")
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    return text


def run_tests(area: str, folder: Path, cache: Path) -> str | None:
    """The first test of an area that fails in the copy; None if none does."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "typings"), "HUTCH_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *TESTS[area]]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"no end in {LONGEST} s"
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"exit status {done.returncode}"


def chosen(arguments: argparse.Namespace) -> list[Fault]:
    """The faults of an area, or one in so many of each."""
    found: list[Fault] = []
    for area, faults in groupby(FAULTS, key=lambda fault: fault.area):
        if arguments.area in (None, area):
            found += list(faults)[:: arguments.every]
    return found


def main() -> int:
    """Plant, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", choices=sorted(TESTS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="only see whether the faults fit the sources")
    arguments = parser.parse_args()
    faults, survivors, misfits = chosen(arguments), 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder, cache = Path(place) / "sources", Path(place) / "cache"
        copy_sources(folder)
        if not arguments.list and cache_home().is_dir():
            shutil.copytree(cache_home(), cache, copy_function=os.link)
        for area in sorted({fault.area for fault in faults}) if not arguments.list else ():
            if (failed := run_tests(area, folder, cache)) is not None:
                print(f"{area}: without any fault, {failed} fails")
                return 2
        for fault in faults:
            start = time.monotonic()
            try:
                before = plant(fault, folder)
            except ValueError as error:
                print(f"misfit    {error}", flush=True)
                misfits += 1
                continue
            if not arguments.list:
                failed = run_tests(fault.area, folder, cache)
                survivors += failed is None
                what = f"noticed   {failed}" if failed else "SURVIVED "
                print(f"{what}  {fault.area}: {fault.says} ({time.monotonic() - start:.0f} s)", flush=True)
            (folder / fault.file).write_text(before, encoding="utf-8")
    if not arguments.list:
        print(f"{survivors} of {len(faults) - misfits} survived ({survivors / max(len(faults) - misfits, 1):.0%})")
    return 2 if misfits else int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
