"""Speed of Hutch and Vowpal Wabbit, whole processes in alternation; writes benchmarks/results/speed.md.

    python benchmarks/speed/speed.py [--folder DIR] [--scale X] [--pairs N] [--only NAME ...] [--no-page]
    python benchmarks/speed/speed.py --lines 8      # ad clicks from 10^4 to 10^8 lines: time and memory of each

Makes two environments in DIR, one with VW and one with Hutch as it is installed without extras, and seeded inputs of
several shapes. --scale 1 makes the sizes of the table's full comparison (500,000 lines of words, 1,000,000 of clicks).
Times are of whole processes, start-up included; a ratio is the median over pairs, and a pair whose losses differ is no
comparison: the run then fails.
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "benchmarks" / "results" / "speed.md"
START = "\n## Start-up\n"
PEER = "vowpalwabbit==9.11.9"
LOGISTIC, CLICKS = "--loss_function logistic -b 18", "--loss_function logistic -b 22"
TOURNAMENT = "--ect 5 --loss_function hinge --holdout_off"


@dataclass(frozen=True)
class Cost:
    """Cost of one process: seconds, peak megabytes, and the average loss that it reports."""

    wall: float
    cpu: float
    memory: float
    loss: str


@dataclass(frozen=True)
class Task:
    """A command line that both run.

    Attributes:
        name: in the table.
        data: which input.
        options: VW's.
        passes: over the data.
        cached: measure a pass from the cache: what the passes after the first add, for each of them.
    """

    name: str
    data: str
    options: str
    passes: int = 1
    cached: bool = False


TASKS = (
    Task("start-up", "ten", LOGISTIC),
    Task("words", "words", LOGISTIC),
    Task("words-pass", "words", LOGISTIC, 5, cached=True),
    Task("mixed", "mixed", LOGISTIC),
    Task("meals", "meals", f"{LOGISTIC} -q af"),
    Task("meals-pass", "meals", f"{LOGISTIC} -q af", 5, cached=True),
    Task("clicks", "clicks", CLICKS),
    Task("clicks-q", "clicks", f"{CLICKS} -q ic"),
    Task("ratings", "ratings", TOURNAMENT, 160),
    Task("json", "examples", f"--json {LOGISTIC}"),
    Task("dsjson", "logs", "--dsjson --cb_explore_adf"),
    Task("csv", "cells", f"--csv {LOGISTIC}"),
)
PARTS_HEAD = (
    "| | MB | M features | reading | parsing | learning | machine: bytes once | delimiters | plain learner |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
PARTS_ABOUT = """
## Where the time goes

Nanoseconds of CPU time per feature of one pass over text, by `python benchmarks/speed/speed.py --parts` (`parts.py`
says how): each part by itself, and the limits of this machine: it reads the bytes once, finds their delimiters, and
makes plain adaptive steps over the same features. With `-q ic` a line of 39 features has 338 pairs, too; a line of
`meals` has three features with the constant, and one pair: most of its time is per line, not per feature.

"""
MEANING = {
    "start-up": "10 lines",
    "words": "bag of words, logistic, from text",
    "words-pass": "the same, each further pass, from VW's cache and Hutch's",
    "mixed": "four namespaces of names and values, logistic",
    "meals": "two names a line, logistic, -q af",
    "meals-pass": "the same, each further pass from the cache",
    "clicks": "ad clicks, logistic, -b 22",
    "clicks-q": "ad clicks with -q ic",
    "ratings": "ratings by a crowd, --ect 5, hinge, 160 passes",
    "json": "lines of JSON, --json, logistic",
    "dsjson": "logged decisions, --dsjson --cb_explore_adf",
    "csv": "cells, --csv, logistic",
}


def environment(folder: Path, package: str) -> Path:
    """An environment with a package; returns its interpreter."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", package], check=True)
    return python


def own_environment(folder: Path) -> Path:
    """An environment with Hutch as users install it, reinstalled when a source has changed."""
    settings = ROOT / "pyproject.toml"
    folders = tomllib.loads(settings.read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"].values()
    files = [settings, *sorted(path for each in folders for path in (ROOT / each).rglob("*.py"))]
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()
    mark = folder / "sources.sha256"
    with tempfile.TemporaryDirectory() as copy:  # a build leaves files beside the sources, and takes up what it finds
        others = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "docs", "tests", "examples")
        source = shutil.copytree(ROOT, Path(copy) / "hutch", symlinks=True, ignore=others)
        python = environment(folder, str(source))
        if not mark.exists() or mark.read_text() != digest:
            subprocess.run([python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", source], check=True)
            mark.write_text(digest)
    return python


def data(folder: Path, shape: str, lines: int) -> Path:
    """An input, made by another process: what this one has needed counts as the memory of all it starts."""
    path = folder / f"{shape}-{lines}.vw"
    if not path.exists():
        maker = Path(__file__).with_name("speed_data.py")
        subprocess.run([sys.executable, str(maker), shape, str(lines), str(path)], check=True)
    return path


def run(command: list[str], folder: Path, text: Path | None = None, times: int = 1) -> Cost:
    """Run a command and measure it; it may read a text, some times over, from its input."""
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
    variables = {**plain, "HUTCH_CACHE_DIR": str(folder / "kernels")}
    with open(folder / "said.txt", "w+b") as said:
        start = time.perf_counter()
        source = subprocess.Popen(["cat", *[str(text)] * times], stdout=subprocess.PIPE) if text else None
        given = source.stdout if source else subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=said, env=variables)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if source:
            source.wait()
        said.seek(0)
        output = said.read().decode()
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    found = re.search(r"average loss = (\S+)", output)
    megabytes = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Cost(wall, used.ru_utime + used.ru_stime, megabytes, found[1] if found else "")


def measured(program: list[str], task: Task, data: Path, folder: Path, ours: bool) -> Cost:
    """Cost of a task, or of each pass after the first where that is asked for."""
    command = [*program, "-d", str(data), *task.options.split()]
    if task.passes == 1:
        return run(command, folder)
    cache = str(folder / ("hutch.cache" if ours else "vw.cache"))
    command += ["--holdout_off", "--cache_file", cache] if not task.options.endswith("off") else ["--cache_file", cache]
    if not task.cached:
        Path(cache).unlink(missing_ok=True)
        return run([*command, "--passes", str(task.passes)], folder)
    run([*command, "-k", "--passes", "1"], folder)
    one, all_ = run([*command, "--passes", "1"], folder), run([*command, "--passes", str(task.passes)], folder)
    more = task.passes - 1
    return Cost((all_.wall - one.wall) / more, (all_.cpu - one.cpu) / more, all_.memory, all_.loss)


def compare(task: Task, programs: dict[str, list[str]], data: Path, folder: Path, pairs: int) -> Iterator[list[Cost]]:
    """Pairs (Hutch, VW), one after the other; the very first run of Hutch compiles and does not count."""
    measured(programs["hutch"], task, data, folder, True)
    for _ in range(pairs):
        ours = measured(programs["hutch"], task, data, folder, True)
        theirs = measured(programs["vw"], task, data, folder, False)
        if ours.loss != theirs.loss:
            sys.exit(f"{task.name}: the losses differ, {ours.loss} and {theirs.loss}: no comparison")
        yield [ours, theirs]


def row(task: Task, found: list[list[Cost]], start: list[float]) -> str:
    """A row of the table; `start` is the CPU time of start-up of either."""
    middle = [
        [statistics.median(getattr(pair[k], name) for pair in found) for name in ("wall", "cpu", "memory")]
        for k in (0, 1)
    ]

    def ratio(name: str, net: bool = False) -> str:
        less = start if net else [0.0, 0.0]
        all_ = [(getattr(b, name) - less[1]) / (getattr(a, name) - less[0]) for a, b in found]
        return f"{statistics.median(all_):.2f}"

    net = ratio("cpu", net=True) if task.name != "start-up" and not task.cached else ""
    cells = [f"{middle[k][0]:.2f} / {middle[k][1]:.2f} / {middle[k][2]:.0f}" for k in (0, 1)]
    numbers = [*cells, ratio("wall"), ratio("cpu"), net, found[0][0].loss]
    return f"| {MEANING[task.name]} | {' | '.join(numbers)} |"


def about(load: str) -> str:
    """The machine, in words."""
    return (
        f"{platform.machine()}, {os.cpu_count()} processors, load average {load} before the runs, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def parts(folder: Path, programs: dict[str, list[str]], inputs: dict[str, Path]) -> Iterator[str]:
    """Lines of the table that takes a pass over text apart, nanoseconds per feature beside the machine's own."""
    python = Path(programs["hutch"][0]).with_name("python")
    variables = {**os.environ, "HUTCH_CACHE_DIR": str(folder / "kernels")}
    yield PARTS_HEAD
    for task in TASKS:
        if task.name in ("words", "mixed", "meals", "clicks", "clicks-q"):
            command = [python, Path(__file__).with_name("parts.py"), inputs[task.data], *task.options.split()]
            yield subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout.strip()


def lengths(folder: Path, programs: dict[str, list[str]], largest: int) -> Iterator[str]:
    """Lines of the table of ad clicks from 10^4 lines on, all from a pipe; VW reads up to 10^7."""
    yield "| lines | Hutch: wall s / CPU s / MB | VW: wall s / CPU s / MB | CPU | loss |"
    yield "|---|---|---|---|---|"
    for power in range(4, largest + 1):
        text, times = data(folder, "clicks", 10 ** min(power, 6)), 10 ** max(power - 6, 0)
        found = [
            run([*programs[name], "-d", "/dev/stdin", *CLICKS.split()], folder, text, times)
            for name in ("hutch", "vw")[: 1 + (power < 8)]
        ]
        cells = [f"{each.wall:.2f} / {each.cpu:.2f} / {each.memory:.0f}" for each in found]
        ratio = f"{found[-1].cpu / found[0].cpu:.2f}" if found[1:] else ""
        if len({each.loss for each in found}) > 1:
            sys.exit(f"10^{power} lines: the losses differ, no comparison")
        yield f"| 10^{power} | {cells[0]} | {(cells[1:] or [''])[0]} | {ratio} | {found[0].loss} |"


def page(rows: list[str], options: argparse.Namespace, load: str) -> str:
    """The page of the documentation, up to what `start/commands.py` writes."""
    measured = f"{about(load)}, --scale {options.scale:g}, {options.pairs} pairs of runs each"
    lines = [
        "# Speed compared with Vowpal Wabbit",
        "",
        "<!-- written by benchmarks/speed/speed.py -->",
        "",
        f"Written by `python benchmarks/speed/speed.py`: Hutch and {PEER}, same command line, same losses to every",
        "digit printed. Whole processes in alternation, kernels compiled beforehand, start-up included; ratios are",
        "medians over pairs, above 1 Hutch is faster. The last ratio is without the start-up of either.",
        "",
        f"Measured on: {measured}.",
        "",
        "| | Hutch: wall s / CPU s / MB | VW: wall s / CPU s / MB | wall | CPU | CPU without start-up | loss |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "On a machine that is busy with other work the wall times say little; CPU times are comparable within a pair.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write the page."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--folder", type=Path, default=ROOT / ".speed", help="environments, inputs, caches")
    arguments.add_argument("--scale", type=float, default=0.2, help="1: the full sizes")
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--only", nargs="*", choices=[task.name for task in TASKS])
    arguments.add_argument("--parts", action="store_true", help="only take a pass over text apart, without VW")
    arguments.add_argument("--lines", type=int, metavar="N", help="only the table of inputs of 10^4 to 10^N lines")
    arguments.add_argument("--no-page", action="store_true", help="only print")
    options = arguments.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = {
        "hutch": [str(own_environment(folder / "own").with_name("hutch")), "vw"],
        "vw": [str(environment(folder / "peer", PEER)), "-m", "vowpalwabbit"],
    }
    if options.lines:
        for line in lengths(folder, programs, options.lines):
            print(line, flush=True)
        return
    inputs = {
        "ten": data(folder, "words", 10),
        "ratings": data(folder, "ratings", 46_875),
        "words": data(folder, "words", round(500_000 * options.scale)),
        "mixed": data(folder, "mixed", round(1_000_000 * options.scale)),
        "meals": data(folder, "meals", round(1_000_000 * options.scale)),
        "clicks": data(folder, "clicks", round(1_000_000 * options.scale)),
        "examples": data(folder, "examples", round(500_000 * options.scale)),
        "logs": data(folder, "logs", round(200_000 * options.scale)),
        "cells": data(folder, "cells", round(1_000_000 * options.scale)),
    }
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    if options.parts:
        print("\n".join(parts(folder, programs, inputs)))
        return
    rows, start = [], [0.0, 0.0]
    for task in TASKS:
        if options.only and task.name not in (*options.only, "start-up"):
            continue
        found = list(compare(task, programs, inputs[task.data], folder, options.pairs))
        if task.name == "start-up":
            start = [statistics.median(pair[k].cpu for pair in found) for k in (0, 1)]
        rows.append(row(task, found, start))
        print(rows[-1], flush=True)
    apart = PARTS_ABOUT + "\n".join(parts(folder, programs, inputs)) + "\n"
    print(apart)
    if not options.no_page and not options.only:
        _, _, others = PAGE.read_text(encoding="utf-8").partition(START)
        PAGE.write_text(page(rows, options, load) + apart + START + others, encoding="utf-8")


if __name__ == "__main__":
    main()
