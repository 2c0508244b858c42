"""Crowds of millions of labels, and a thousand classes beside Vowpal Wabbit; a section of benchmarks/results/speed.md.

    python benchmarks/speed/many.py [--folder DIR] [--labels N ...] [--lines N] [--pairs N] [--no-page]

Seeded data, whole processes, CPU seconds; environments as of `speed.py`. A crowd: five labels of four classes for each
item, by 5,000 workers. The first run of each compiles what is missing and does not count.
"""

import argparse
import os
import random
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from speed import PAGE, PEER, ROOT, about, environment, own_environment, run

HEAD = "\n## Many labels, many classes\n"
CLASSES, WORDS, EACH = 1000, 5000, 20
OPTIONS = f"--oaa {CLASSES} -b 18 --holdout_off"


def crowd(path: Path, labels: int, workers: int = 5000) -> Path:
    """Labels of items whose class is known to nobody, by workers who are right with .75 on average."""
    rng = np.random.default_rng(0)
    items = labels // 5
    truth, skill = rng.integers(4, size=items), rng.beta(6, 2, workers)
    with open(path, "w") as file:
        for start in range(0, items, 20_000):
            classes = truth[start : start + 20_000, None]
            who = rng.integers(workers, size=(len(classes), 5))
            said = np.where(rng.random(who.shape) < skill[who], classes, rng.integers(4, size=who.shape))
            for item, (row, told) in enumerate(zip(who.tolist(), said.tolist(), strict=True), start):
                file.write("".join(f"w{w}\tt{item}\t{'abcd'[k]}\n" for w, k in zip(row, told, strict=True)))
    return path


def classes(path: Path, lines: int) -> Path:
    """Bags of 20 words, three fifths of them of the forty of their class."""
    rng = random.Random(2)
    with open(path, "w") as file:
        for _ in range(lines):
            k = rng.randrange(CLASSES)
            own = [
                (7 * k + rng.randrange(40)) % WORDS if rng.random() < 0.6 else rng.randrange(WORDS) for _ in range(EACH)
            ]
            file.write(f"{k + 1} |f {' '.join(f'w{word}' for word in own)}\n")
    return path


def section(rows: list[str], measured: str, load: str) -> str:
    """The section of the page."""
    lines = [
        "",
        "<!-- written by benchmarks/speed/many.py -->",
        "",
        "Written by `python benchmarks/speed/many.py`: whole processes, start-up included; made-up labels of four",
        f"classes by 5,000 workers, five an item. Measured on: {about(load)}.",
        "",
        "| | CPU s | MB |",
        "|---|---|---|",
        *rows,
        "",
        measured,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write the section."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--folder", type=Path, default=ROOT / ".speed", help="environments, inputs, caches")
    arguments.add_argument("--labels", type=int, nargs="*", default=[1_000_000, 5_000_000])
    arguments.add_argument("--lines", type=int, default=20_000)
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--no-page", action="store_true", help="only print")
    options = arguments.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    hutch = str(own_environment(folder / "own").with_name("hutch"))
    vw = str(environment(folder / "peer", PEER))
    load, rows = f"{os.getloadavg()[0]:.1f}", list[str]()
    run([hutch, "crowd", str(crowd(folder / "few.tsv", 300_000)), "--quiet"], folder)
    for labels in options.labels:
        found = run([hutch, "crowd", str(crowd(folder / "many.tsv", labels)), "--quiet"], folder)
        rows.append(f"| `hutch crowd` of {labels:,} labels | {found.cpu:.1f} | {found.memory:.0f} |")
        print(rows[-1], flush=True)
    text = str(classes(folder / "classes.vw", options.lines))
    ours, theirs = [hutch, "vw", "-d", text, *OPTIONS.split()], [vw, "-m", "vowpalwabbit", "-d", text, *OPTIONS.split()]
    run(ours, folder)
    pairs = [(run(ours, folder), run(theirs, folder)) for _ in range(options.pairs)]
    if any(one.loss != other.loss for one, other in pairs):
        sys.exit("the losses differ: no comparison")
    ratio = statistics.median(other.cpu / one.cpu for one, other in pairs)
    each = min(one.cpu for one, _ in pairs) / (options.lines * (EACH + 1) * CLASSES) * 1e9
    measured = (
        f"`{OPTIONS}` on {options.lines:,} lines of {EACH} words: Hutch {min(one.cpu for one, _ in pairs):.2f} CPU s, "
        f"{PEER} {min(other.cpu for _, other in pairs):.2f}; ratio of pairs {ratio:.2f}.\n"
        f"Hutch needs {each:.1f} ns for each class and feature, start-up included."
    )
    print(measured, flush=True)
    if not options.no_page:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
        after = f"\n## {rest.partition(chr(10) + '## ')[2]}" if rest else ""
        if not rest:
            before, _, after = before.partition("\n## Threads\n")
            after = f"\n## Threads\n{after}"
        PAGE.write_text(f"{before}{HEAD}{section(rows, measured, load)}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
