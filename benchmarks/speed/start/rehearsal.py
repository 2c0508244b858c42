"""Everything a new user tries first, timed from an empty environment; writes a section of benchmarks/results/speed.md.

    python benchmarks/speed/start/rehearsal.py [--wheel WHEEL ...] [--python PYTHON] [--only WORD ...] [--page]

Every wheel (of this clone without machine code, if none is given) is installed with --python into a new environment in
an empty folder, together with what it needs: downloaded first, then installed without network. Every step then runs
twice: with an empty kernel cache and home of its own, and again with what the first time has left. Counted are wall and
CPU seconds of all processes of a step, and the kernels that it compiled. The installation offers Hutch's extras to the
notebooks and the server; sizes are those before that. Needs Linux and curl; `.ci/ship_kernels` makes a wheel with
machine code. --only tries the steps whose names have one of the words. --page writes the section, too.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from speed import PAGE, about  # noqa: E402

HEADING = "\n## From an empty environment\n"
NOTEBOOK_NEEDS = ("[web,arrow,sklearn,plots]", "pandas>=2.2")
NOTEBOOKS = sorted(path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"))
SERVE = """
hutch serve mail --port 0 > address & server=$!
until grep -q http address; do sleep 0.02; done
curl -sf -H 'Content-Type: text/plain' -d '1 |mail money' "$(cat address)/v1/learn" && kill $server && wait $server
"""
STEPS = {
    "`hutch vw` on one line": "echo '1 | price:.23 sqft:.25' | hutch vw -f house.model",
    "`hutch train` on a table": "hutch train table.csv -f table.model --quiet",
    "`hutch crowd` on an export of Label Studio": "hutch crowd studio.json -p truth.tsv --workers workers.tsv",
    "`hutch serve` and one learn request": SERVE,
    "`hutch reproduce dyadic --quick`": "hutch reproduce dyadic --quick",
} | {f"notebook {name}": f"python cells.py {name}.ipynb" for name in NOTEBOOKS}
"""What is run, by its name in the table."""


class Cost(NamedTuple):
    """Wall and CPU seconds of a step, and how many kernels it compiled."""

    wall: float
    cpu: float
    compiled: int = 0


def timed(command: list[str] | str, folder: Path, variables: dict[str, str]) -> Cost:
    """Run a command and all that it starts."""
    before, begun = os.times(), time.perf_counter()
    words = ["bash", "-euo", "pipefail", "-c", command] if isinstance(command, str) else command
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return Cost(wall, sum(after[2:4]) - sum(before[2:4]))


def write_data(folder: Path) -> None:
    """A table of 1,000 rows, an export of 300 labels, lines to serve, and the notebooks."""
    rng = random.Random(1)
    rows = (f"{rng.choice((-1, 1))},{rng.random():.3f},{rng.choice(('good', 'fair', 'bad'))}" for _ in range(1000))
    (folder / "table.csv").write_text("\n".join(["label,price,word", *rows]) + "\n")
    (folder / "studio.json").write_text(json.dumps([_task(number, rng) for number in range(100)]))
    (folder / "mail.vw").write_text("1 |mail spam:2 money\n-1 |mail hello friend\n")
    shutil.copy(ROOT / "docs" / "cells.py", folder)
    for name in NOTEBOOKS:
        shutil.copy(ROOT / "docs" / "notebooks" / f"{name}.ipynb", folder)


def _task(number: int, rng: random.Random) -> dict[str, object]:
    """A task of Label Studio with three annotations."""
    moods = ("good", "bad")
    found = [moods[(number + (rng.random() < 0.2)) % 2] for _ in range(3)]
    about_label = {"from_name": "mood", "to_name": "text", "type": "choices"}
    annotations = [
        {"completed_by": rng.randrange(9) * 3 + who, "result": [about_label | {"value": {"choices": [mood]}}]}
        for who, mood in enumerate(found)
    ]
    return {"id": number, "data": {"text": f"text {number}"}, "annotations": annotations}


def megabytes(folder: Path, skip: tuple[str, ...] = ()) -> float:
    """What the files of a folder take, without those below folders of these names."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if not {*path.relative_to(folder).parts} & {*skip}) / 1e6


def installed(wheel: Path, python: str, folder: Path, steps: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Install a wheel, first from the index, then again without network; what it took and the sizes."""
    variables = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    venv, house = folder / "venv", folder / "wheels"
    pip = [str(venv / "bin" / "python"), "-m", "pip"]
    made = timed([python, "-m", "venv", str(venv)], folder, variables)
    yield "a new environment (`python -m venv`)", f"{made.wall:.1f} / {made.cpu:.1f}"
    empty = megabytes(venv)
    got = timed([*pip, "download", "-q", "-d", str(house), str(wheel)], folder, variables)
    yield "`pip download hutch`: Hutch and what it needs", f"{got.wall:.1f} / {got.cpu:.1f}"
    yield "what is downloaded, MB", f"{megabytes(house):.0f}"
    put = timed([*pip, "install", "-q", "--no-index", "--find-links", str(house), "hutch"], folder, variables)
    yield "`pip install hutch` of that, without network", f"{put.wall:.1f} / {put.cpu:.1f}"
    [packages] = venv.glob("lib/python*/site-packages")
    parts = {name: megabytes(packages / name) for name in ("numba", "llvmlite", "hutch")}
    parts["the machine code in it"] = megabytes(packages / "hutch" / "core" / "kernel" / "shipped_objects")
    listed = ", ".join(f"{name} {size:.0f}" for name, size in parts.items() if size)
    yield "on disk, MB", f"{megabytes(venv) - empty:.0f} ({listed})"
    extras, *more = NOTEBOOK_NEEDS if any("notebook" in step for step in steps) else ("[web]",)
    subprocess.run([*pip, "install", "-q", str(wheel) + extras, *more], env=variables, check=True)


def tried(folder: Path, steps: dict[str, str]) -> Iterator[tuple[str, Cost, Cost]]:
    """Every step, twice: from nothing, and again."""
    path = f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}"
    for name, command in steps.items():
        with tempfile.TemporaryDirectory() as home:
            variables = {"PATH": path, "HOME": home, "MPLBACKEND": "agg", "LANG": "C.UTF-8"}
            place = Path(home) / "work"
            place.mkdir()
            write_data(place)
            if "serve" in command:
                prepared = {**variables, "HOME": str(folder)}  # which leaves the kernels of this step uncompiled
                timed("hutch train mail.vw -f mail --quiet", place, prepared)
            first = timed(command, place, variables)
            compiled = sum(1 for ending in ("object", "nbc") for _ in Path(home).rglob(f"*.{ending}"))
            again = timed(command, place, variables)
            yield name, first._replace(compiled=compiled), again


def from_source(python: str, folder: Path) -> Iterator[tuple[str, Cost]]:
    """README's first command, part by part, on a copy of what is committed here."""
    subprocess.run(["git", "clone", "-q", ROOT, folder / "hutch"], check=True)
    variables = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(folder)}
    clone, bin_ = folder / "hutch", folder / "hutch" / ".venv" / "bin"
    yield "`python -m venv .venv`", timed([python, "-m", "venv", ".venv"], clone, variables)
    yield "`pip install .`", timed([str(bin_ / "python"), "-m", "pip", "install", "-q", "."], clone, variables)
    yield "`hutch demo`", timed([str(bin_ / "hutch"), "demo"], clone, variables)


def section(wheels: list[Path], python: str, only: list[str]) -> Iterator[str]:
    """The lines of the section; `only` has words of the names of steps."""
    steps = {name: step for name, step in STEPS.items() if any(word in name for word in only)}
    command = " ".join(["python benchmarks/speed/start/rehearsal.py", *(["--only", *only] if any(only) else [])])
    load = f"{os.getloadavg()[0]:.1f}"
    yield "\n<!-- written by benchmarks/speed/start/rehearsal.py -->\n"
    yield f"Written by `{command}`: wall / CPU seconds of"
    yield "a new environment, of every first step with an empty kernel cache, and of the same step again. In brackets:"
    yield "kernels compiled. Both are more under other work."
    yield f"Measured on: {about(load)}."
    yield "\n### README's first command, in a clone\n\n| | wall / CPU s |\n|---|---|"
    with tempfile.TemporaryDirectory() as kept:
        taken = list(from_source(python, Path(kept)))
    taken.append(("together", Cost(sum(each.wall for _, each in taken), sum(each.cpu for _, each in taken))))
    yield from (f"| {name} | {cost.wall:.1f} / {cost.cpu:.1f} |" for name, cost in taken)
    for wheel in wheels:
        kind = "without machine code" if wheel.name.endswith("-none-any.whl") else "with machine code"
        yield f"\n### The wheel {kind}\n"
        yield "| installing | wall / CPU s |\n|---|---|"
        with tempfile.TemporaryDirectory() as kept:
            folder = Path(kept)
            for name, found in installed(wheel.resolve(), python, folder, steps):
                yield f"| {name} | {found} |"
            yield "\n| step | first, wall / CPU s | again |\n|---|---|---|"
            for name, first, again in tried(folder, steps):
                brackets = f" ({first.compiled})" if first.compiled else ""
                before = f"{first.wall:.1f} / {first.cpu:.1f}{brackets}"
                yield f"| {name} | {before} | {again.wall:.1f} / {again.cpu:.1f} |"


def main() -> None:
    """Install, try, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, nargs="*", default=[])
    parser.add_argument("--python", default=sys.executable, help="which makes the environment; default: this one")
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="steps with one of these in their names"
    )
    parser.add_argument("--page", action="store_true", help="write the section of benchmarks/results/speed.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as built:
        wheels = options.wheel
        if not wheels:
            subprocess.run([sys.executable, ROOT / ".ci" / "build_distributions", built], check=True)
            wheels = list(Path(built).glob("*.whl"))
        lines = []
        for line in section(wheels, options.python, options.only):
            print(line, flush=True)
            lines.append(line)
    if options.page:
        before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0].rstrip("\n")
        PAGE.write_text("\n".join([before, HEADING.rstrip("\n"), *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
