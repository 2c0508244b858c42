"""Do the tests notice? Plants small faults, one at a time, in a copy of the sources and runs the tests of that area.

    python benchmarks/hardening/plant_faults.py  all faults
    python benchmarks/hardening/plant_faults.py --area dyadic trees  those of some areas
    python benchmarks/hardening/plant_faults.py --only clamp  those with a word in their file or text
    python benchmarks/hardening/plant_faults.py --share 0.2 --seed 3  one in five of each area
    python benchmarks/hardening/plant_faults.py --log FILE  goes on where the last run with this log ended
    python benchmarks/hardening/plant_faults.py --log FILE --again  runs those that survived once more
    python benchmarks/hardening/plant_faults.py --log FILE --counts  only counts what is in the log

A fault is noticed if a test fails. Each is a copy's only difference, and kernels are kept under a hash of every source
that they reach, so that no kernel of other sources runs; those that the fault does not reach are not compiled again.
Prints one line per fault, then a table of the areas. The exit status is 1 if any survived, 2 if a fault no longer fits
the sources (see benchmarks/faults) or does not compile.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "faults"))

import building
import edges
import judging
import learners
import rooms
import service
from fault import Fault

import core
from hutch.core.kernel.home import cache_home

ROOT = Path(__file__).parents[2]
_ROOMS = (learners, core, rooms, edges, building, service, judging)
FAULTS: list[Fault] = [fault for room in _ROOMS for fault in room.FAULTS]
TESTS: dict[str, list[str]] = {name: tests for room in _ROOMS for name, tests in room.TESTS.items()}
LONGEST = 300  # seconds: a fault that makes tests hang is noticed, too
_NO_FAULT = ("SyntaxError", "NameError", "UnboundLocalError", "ImportError", "TypingError", "LoweringError")
"""Errors that every test finds: a mutant that fails to compile says nothing about the tests."""


class Outcome(NamedTuple):
    """What became of one fault.

    Attributes:
        fault: its key.
        area: its area.
        says: what is wrong.
        outcome: "noticed", "survived" or "misfit".
        by: the first test that failed, or why the fault does not fit.
        seconds: how long it took.
    """

    fault: str
    area: str
    says: str
    outcome: str
    by: str
    seconds: int


def key_of(fault: Fault) -> str:
    """The key of a fault in a log; it changes with the fault's text."""
    return hashlib.sha256("\0".join((fault.file, fault.right, fault.wrong)).encode()).hexdigest()[:12]


def tests_of(fault: Fault) -> list[str]:
    """The tests that are to notice a fault, the nearest first."""
    return TESTS.get(fault.file) or TESTS[fault.area]


def is_there(test: str, folder: Path) -> bool:
    """Whether the file of a test exists, and has the function if one is named."""
    file, _, name = test.partition("::")
    path = folder / file
    return path.exists() and (not name or f"def {name.partition('[')[0]}(" in path.read_text(encoding="utf-8"))


def copy_sources(folder: Path) -> None:
    """Copy what git knows of, as it is in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        elif source.exists():
            shutil.copy2(source, target)


def plant(fault: Fault, folder: Path) -> bytes:
    """Write the fault into the copy; returns the file before.

    Raises:
        ValueError: the place is not there, or not the only one.
    """
    path = folder / fault.file
    before = path.read_bytes()
    right, wrong = fault.right.encode(), fault.wrong.encode()
    if before.count(right) != 1:
        raise ValueError(f"{fault.file}: {fault.right!r} stands there {before.count(right)} times, wanted once")
    path.write_bytes(before.replace(right, wrong))
    return before


def environment_of(folder: Path) -> dict[str, str]:
    """The variables of a run that imports the copy."""
    return {**os.environ, "PYTHONPATH": str(folder / "src"), "HUTCH_CACHE_DIR": str(folder.parent / "cache")}


def run_tests(tests: list[str], folder: Path, seed: int) -> tuple[str, str] | None:
    """Run tests in the copy until one fails.

    Returns:
        That test and what pytest printed; None if none does.
    """
    shutil.rmtree(folder / ".hypothesis", ignore_errors=True)  # what found the fault before is not to find this one
    flags: tuple[str, ...] = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}")
    flags += (
        ("-m", "") if all("::" in test for test in tests) else ()
    )  # tests named one by one run though they are slow
    command = [sys.executable, "-m", "pytest", *flags, *tests]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment_of(folder),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return f"no end in {LONGEST} s", ""
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"exit status {done.returncode}", done.stdout + done.stderr


def try_fault(fault: Fault, folder: Path, seed: int) -> Outcome:
    """Plant a fault, run its tests, and mend it."""
    start = time.monotonic()

    def outcome(what: str, by: str) -> Outcome:
        return Outcome(key_of(fault), fault.area, fault.says, what, by, round(time.monotonic() - start))

    path = folder / fault.file
    status = path.stat()
    try:
        before = plant(fault, folder)
    except ValueError as error:
        return outcome("misfit", str(error))
    try:
        failed = run_tests(tests_of(fault), folder, seed)
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # Numba's index goes by it
    if failed is None:
        return outcome("survived", "")
    errors = [line for line in failed[1].splitlines() if line.startswith("E  ")]
    broken = [name for name in _NO_FAULT if any(name in line for line in errors)]
    return outcome("misfit", f"{broken[0]} in {failed[0]}") if broken else outcome("noticed", failed[0])


def chosen(areas: list[str], words: list[str], share: float, seed: int) -> list[Fault]:
    """The faults of some areas with one of the words, or a share of them; of all areas, or all, if there is none."""
    draw, found = random.Random(seed), []
    for area in areas or dict.fromkeys(fault.area for fault in FAULTS):
        faults = [fault for fault in FAULTS if fault.area == area]
        if words:
            faults = [fault for fault in faults if any(word in f"{fault.file} {fault.says}" for word in words)]
        picked = draw.sample(range(len(faults)), round(share * len(faults)))
        found += [faults[i] for i in sorted(picked)]
    return found


def read_log(log: Path | None) -> dict[str, Outcome]:
    """The last outcome of each fault in a log."""
    if log is None or not log.exists():
        return {}
    outcomes = (Outcome(**json.loads(line)) for line in log.read_text(encoding="utf-8").splitlines())
    return {outcome.fault: outcome for outcome in outcomes}


def print_counts(outcomes: Iterable[Outcome]) -> int:
    """Print a table of the areas; returns the exit status."""
    found = list(outcomes)
    count = {
        area: [sum(o.area == area and o.outcome == what for o in found) for what in ("noticed", "survived")]
        for area in dict.fromkeys(o.area for o in found)
    }
    print("| area | planted | noticed | survived |\n|---|---|---|---|")
    for area, (noticed, survived) in sorted(count.items()):
        print(f"| {area} | {noticed + survived} | {noticed} | {survived} |")
    survived, misfits = (sum(o.outcome == what for o in found) for what in ("survived", "misfit"))
    planted = len(found) - misfits
    print(f"{survived} of {planted} survived ({survived / max(planted, 1):.1%}), {misfits} do not fit")
    return 2 if misfits else int(survived > 0)


def main() -> int:
    """Plant, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    areas = sorted({fault.area for fault in FAULTS})
    parser.add_argument("--area", nargs="+", default=[], choices=areas, metavar="AREA", help=f"of {', '.join(areas)}")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--share", type=float, default=1.0, help="of each area's faults")
    parser.add_argument("--seed", type=int, default=0, help="of the share, and of the tests that draw their examples")
    parser.add_argument("--log", type=Path, help="a file of JSON lines, appended to")
    parser.add_argument("--again", action="store_true", help="run those that survived, by the log, once more")
    parser.add_argument("--counts", action="store_true", help="run nothing")
    parser.add_argument(
        "--list", action="store_true", help="only see whether the faults fit the sources, and whether their tests exist"
    )
    given = parser.parse_args()
    faults, outcomes = chosen(given.area, given.only, given.share, given.seed), read_log(given.log)
    wanted = {key_of(fault) for fault in faults}
    done = {key for key, found in outcomes.items() if found.outcome == "noticed" or not given.again}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "sources"
        copy_sources(folder)
        if given.list:
            missing = {test for fault in faults for test in tests_of(fault) if not is_there(test, folder)}
            print(*(f"{test}: there is no such test" for test in sorted(missing)), sep="\n", end="\n" * bool(missing))
            for fault in faults:
                try:
                    (folder / fault.file).write_bytes(plant(fault, folder))
                except ValueError as error:
                    print(error)
                    outcomes[key_of(fault)] = Outcome(key_of(fault), fault.area, fault.says, "misfit", str(error), 0)
            return 2 if missing or any(outcomes[key].outcome == "misfit" for key in wanted & outcomes.keys()) else 0
        waiting = [fault for fault in faults if key_of(fault) not in done] if not given.counts else []
        if cache_home().is_dir():
            shutil.copytree(cache_home(), folder.parent / "cache", copy_function=os.link)
        sound: set[tuple[str, ...]] = set()
        for fault in waiting:
            tests = tuple(tests_of(fault))
            if tests not in sound and (failed := run_tests(list(tests), folder, given.seed)) is not None:
                print(f"{fault.area}: without any fault, {failed[0]} fails\n{failed[1][-4000:]}")
                return 2
            sound.add(tests)
            found = outcomes[key_of(fault)] = try_fault(fault, folder, given.seed)
            print(f"{found.outcome:8}  {found.area}: {found.says} ({found.seconds} s) {found.by}", flush=True)
            if given.log is not None:
                with given.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found._asdict()) + "\n")
    return print_counts(outcome for key, outcome in outcomes.items() if key in wanted)


if __name__ == "__main__":
    sys.exit(main())
