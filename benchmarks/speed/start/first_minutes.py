"""How long a new user waits for a first model: `hutch train` from a wheel, with an empty cache of kernels.

    python benchmarks/speed/start/first_minutes.py [--wheel WHEEL] [--runs 5] [--json FILE]

Without --wheel one is built from this clone and machine code is put into it for this processor, as a release does
(`.ci/ship_kernels --usual`: minutes). It is installed into a new environment. Every run has an empty cache and a home
of its own; wall and CPU seconds are those of the whole process, with what it starts. A run has compiled nothing if its
cache holds no object. Needs Linux and `build`. The load before the runs is printed: wall time means little under it.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
ROWS = 1000


class Run(NamedTuple):
    """What a first run cost: wall and CPU seconds, and how many kernels it compiled."""

    wall: float
    cpu: float
    compiled: int


def shipped_wheel(folder: Path) -> Path:
    """Build a wheel with machine code for this processor."""
    subprocess.run([sys.executable, "-m", "build", "-q", "--wheel", "--outdir", folder, ROOT], check=True)
    [plain] = folder.glob("*-none-any.whl")
    level = ["--level", _level()] if platform.machine() == "x86_64" else []
    subprocess.run([ROOT / ".ci" / "ship_kernels", plain, folder / "shipped", "--usual", *level], check=True)
    [wheel] = (folder / "shipped").glob("*.whl")
    return wheel


def _level() -> str:
    """The better level of x86-64 that this processor has, of those that a release ships."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return "x86-64-v3" if {"avx2", "bmi2", "fma"} <= set(flags) else "x86-64-v2"


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment; the path of its `hutch`."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", f"{wheel}[arrow]"], check=True)
    return folder / "bin" / "hutch"


def write_data(folder: Path, python: Path) -> list[str]:
    """The same rows as lines, CSV and Parquet; the names of the files."""
    rng = random.Random(1)
    table, lines = ["label,price,word"], []
    for _ in range(ROWS):
        price, word = rng.random(), rng.choice(["good", "fair", "bad"])
        label = 1 if price + (word == "good") > 0.9 else -1
        table.append(f"{label},{price:.3f},{word}")
        lines.append(f"{label} | price:{price:.3f} word:{word}")
    (folder / "data.csv").write_text("\n".join(table) + "\n")
    (folder / "data.vw").write_text("\n".join(lines) + "\n")
    convert = "from pyarrow import csv, parquet; parquet.write_table(csv.read_csv('data.csv'), 'data.parquet')"
    subprocess.run([python, "-c", convert], cwd=folder, check=True)
    return ["data.vw", "data.csv", "data.parquet"]


def first_runs(hutch: Path, data: Path, runs: int) -> Iterator[Run]:
    """Train on a file, each time as if for the first time."""
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            before, begun = os.times(), time.perf_counter()
            command = [hutch, "train", data, "--loss_function", "logistic", "--quiet", "-f", Path(home, "model")]
            subprocess.run(command, env=environment, cwd=home, check=True)
            wall, after = time.perf_counter() - begun, os.times()
            compiled = len(list(Path(home).rglob("*.object"))) + len(list(Path(home).rglob("*.nbc")))
            yield Run(wall, sum(after[2:4]) - sum(before[2:4]), compiled)


def main() -> None:
    """Build, install, run, and print medians with their extremes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="Instead of building one.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        wheel = (options.wheel or shipped_wheel(folder)).resolve()
        hutch = installed(wheel, folder / "venv")
        names = write_data(folder, hutch.with_name("python"))
        print(f"{wheel.name}, load before the runs {os.getloadavg()[0]:.1f}", flush=True)
        print(f"{'file':14}{'the very first':>16}{'wall s (least, most)':>24}{'CPU s':>8}{'compiled':>10}")
        found = {}
        for name in names:
            very_first, *runs = first_runs(
                hutch, folder / name, options.runs + 1
            )  # which reads files not yet in memory
            wall, cpu = (statistics.median(run[k] for run in runs) for k in (0, 1))
            most = max(run.compiled for run in runs)
            extremes = f"({min(run.wall for run in runs):.2f}, {max(run.wall for run in runs):.2f})"
            print(f"{name:14}{very_first.wall:>16.2f}{f'{wall:.2f} {extremes}':>24}{cpu:>8.2f}{most:>10}", flush=True)
            found[name] = {"wall": wall, "cpu": cpu, "compiled": most, "very first": very_first, "runs": runs}
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
