"""Time and memory of whole runs of `hutch crowd` on files of a million labels: CPU seconds, and the most memory held.

    python benchmarks/research/crowd/size.py [--labels N] [--runs N]

Each line is a new process that has its kernels compiled already: the first run, which may compile, is not counted; of
the others the least is shown. "most people" is four people and one judge for each item, "one person" one person and
four judges.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from hutch.crowd.simulate import simulate

CLASSES = 5
HUTCH = [sys.executable, "-c", "from hutch.cli.main import main; main()"]


def noisy(random: np.random.Generator, truth: np.ndarray, right: float) -> np.ndarray:
    """Labels that are right with a probability, lower for three items in ten, and random otherwise."""
    hard = np.arange(len(truth)) % 10 < 3
    kept = random.random(len(truth)) < np.where(hard, right / 2, right)
    return np.where(kept, truth, random.integers(CLASSES, size=len(truth)))


def mixed(path: Path, labels: int, people: int) -> None:
    """Write labels of 2,000 people and some judges, five of each item."""
    random = np.random.default_rng(0)
    items = labels // 5
    truth = random.choice(CLASSES, items, p=[0.4, 0.25, 0.15, 0.1, 0.1])
    columns = []
    for place in range(5):
        names = [f"w{w}" for w in random.integers(2000, size=items)] if place < people else [f"judge{place}"] * items
        columns.append(zip(names, noisy(random, truth, 0.6 + 0.05 * place).tolist(), strict=True))
    with path.open("w", encoding="utf-8") as file:
        for item, said in enumerate(zip(*columns, strict=True)):
            file.write("".join(f"{worker}\tt{item}\tc{label}\n" for worker, label in said))


def alike(path: Path, labels: int) -> None:
    """Write labels of 5,000 workers, simulated."""
    crowd = simulate(labels // 5, 5000, CLASSES, 5.0, seed=0).labels
    rows = zip(crowd.workers.tolist(), crowd.label_items.tolist(), crowd.labels.tolist(), strict=True)
    path.write_text("".join(f"w{worker}\tt{item}\tc{label}\n" for worker, item, label in rows), encoding="utf-8")


def pairs(path: Path, votes: int) -> None:
    """Write votes of 10,000 workers on 100 players."""
    random = np.random.default_rng(0)
    strength = random.normal(size=100)
    reliability = 1 + 0.4 * random.normal(size=10_000)
    workers, left = random.integers(10_000, size=votes), random.integers(100, size=votes)
    right = (left + random.integers(1, 100, size=votes)) % 100
    z = reliability[workers] * (strength[left] - strength[right]) + 0.2
    scores = np.stack([z / 2, -z / 2, np.full(votes, -0.3)], axis=1) + random.gumbel(size=(votes, 3))
    rows = zip(workers.tolist(), left.tolist(), right.tolist(), scores.argmax(axis=1).tolist(), strict=True)
    words = ("left", "right", "tie")
    with path.open("w", encoding="utf-8") as file:
        file.write("worker\tleft\tright\twinner\n")
        file.writelines(f"w{worker}\tp{i}\tp{j}\t{words[outcome]}\n" for worker, i, j, outcome in rows)


def measure(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and megabytes of one run, measured by a small process of its own."""
    watch = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    command = [sys.executable, "-c", watch, *HUTCH, "crowd", *arguments, "--quiet"]
    seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    return float(seconds), int(memory) * unit / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, most, same, votes = (str(folder / f"{kind}.tsv") for kind in ("one", "most", "alike", "votes"))
        mixed(Path(one), arguments.labels, 1)
        mixed(Path(most), arguments.labels, 4)
        alike(Path(same), arguments.labels)
        pairs(Path(votes), arguments.labels)
        posteriors = ["-p", str(folder / "posteriors.tsv")]
        stream = ["--method", "online", "--stream", "--classes", ",".join(f"c{k}" for k in range(CLASSES))]
        runs = {
            "mixed, one person": [one, "--reference", "w*", *posteriors],
            "mixed, one person, stream": [one, "--reference", "w*", *stream, *posteriors],
            "mixed, most people": [most, "--reference", "w*", *posteriors],
            "two_level": [same, *posteriors],
            "two_level, clarity .15": [same, "--set", "clarity=0.15", *posteriors],
            "two_level, stream": [same, *stream, *posteriors],
            "pairs": [votes, "--pairs"],
            "pairs, stream": [votes, "--pairs", "--stream"],
        }
        for title, each in runs.items():
            measure(each)
            seconds, memory = np.min([measure(each) for _ in range(arguments.runs)], axis=0)
            print(f"{title:<28} {seconds:5.1f} CPU s {memory:5.0f} MB", flush=True)


if __name__ == "__main__":
    main()
