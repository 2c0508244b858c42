"""Answers of workers who do not know: as a class, left out, and as `hutch crowd` takes them.

    python benchmarks/research/crowd/unsure.py [--seeds N]

Simulated: 1,500 tasks of three classes, 30 workers, five answers per task, of which a part is "unsure": more often
where a task is hard, of able or of bad workers, at random, or in one class. Nothing is truly "unsure".
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.two_level import TwoLevel

ITEMS, WORKERS, EACH, CLASSES = 1500, 30, 5, 3
Chance = Callable[[float, float, float, int], float]
KINDS: dict[str, Chance] = {
    "hard tasks": lambda honest, weak, hard, k: honest * hard**2,
    "hard tasks, able workers": lambda honest, weak, hard, k: (1 - 0.8 * weak) * hard**2,
    "bad workers": lambda honest, weak, hard, k: 0.5 * weak,
    "at random": lambda honest, weak, hard, k: 0.3 * honest,
    "one class": lambda honest, weak, hard, k: honest * (0.6 if k == 0 else 0.05),
}
"""Probability of "unsure": by how readily a worker says it, how bad the worker is, how hard the task is, its class."""


def crowd(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers (worker, item, label; `CLASSES` is "unsure"), and the truth."""
    random = np.random.default_rng(seed)
    truth, hard = random.integers(0, CLASSES, ITEMS).astype(np.int32), random.random(ITEMS)
    skill = random.uniform(0.4 if kind == "bad workers" else 0.6, 0.95, WORKERS)
    honest, rows = random.uniform(0.1, 0.9, WORKERS), []
    for item in range(ITEMS):
        for worker in random.choice(WORKERS, EACH, replace=False):
            right = 1 / CLASSES + (skill[worker] - 1 / CLASSES) * (1 - hard[item] ** 3)
            weak, true = (0.95 - skill[worker]) / 0.55, int(truth[item])
            if random.random() < KINDS[kind](honest[worker], weak, hard[item], true):
                label = CLASSES
            else:
                label = true if random.random() < right else (true + random.integers(1, CLASSES)) % CLASSES
            rows.append((worker, item, label))
    return np.array(rows, np.int32), truth


def labels_of(rows: np.ndarray, classes: int) -> Labels:
    """Labels of answers, with names."""
    names = [[str(k) for k in range(count)] for count in (WORKERS, ITEMS, classes)]
    return from_codes(rows, *names, classes=names[2])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    print(f'{"accuracy / log-loss":26}{"a class":>17}{"left out":>17}{"default":>17}  "unsure" taken as')
    for kind in KINDS:
        found, taken = [], []
        for seed in range(seeds):
            rows, truth = crowd(kind, seed)
            told = labels_of(rows[rows[:, 2] < CLASSES], CLASSES)
            answers = np.ascontiguousarray(rows[rows[:, 2] == CLASSES].T)
            both = aggregate(labels_of(rows, CLASSES + 1), TwoLevel())
            result = aggregate(replace(told, unsure=Unsure(answers[0], answers[1])), TwoLevel())
            several = both.probability, aggregate(told, TwoLevel()).probability, result.probability
            found.append([(accuracy(each, truth), log_loss(each, truth)) for each in several])
            taken.append(result.unsure)
        cells = "".join(f"{f'{right:.3f} / {loss:.3f}':>17}" for right, loss in np.mean(found, axis=0))
        counts = ", ".join(f"{how} {taken.count(how)}" for how in dict.fromkeys(taken))
        print(f"{kind:26}{cells}  {counts}")


if __name__ == "__main__":
    main()
