"""How far `hutch crowd --model numbers` is from the truth, beside means and medians, and how often intervals hold.

    python benchmarks/research/crowd/measured_numbers.py [--runs N]

Numbers are drawn from N(10, 3^2), workers' biases from N(0, 1), the logarithms of their noises from N(0, .5^2).
"""

import argparse

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.numbers import MOMENTS, Numbers

CASES = {
    "10 workers, 200 tasks, 3 labels each": (200, 10, 3, ""),
    "200 workers, 1,000 tasks, 5 each": (1000, 200, 5, ""),
    "5 workers, 50 tasks, 3 each": (50, 5, 3, ""),
    "3 workers, 50 tasks, 2 each": (50, 3, 2, ""),
    "20 workers, 500 tasks, 2 each": (500, 20, 2, ""),
    "30 workers, 2,000 tasks, 10 each": (2000, 30, 10, ""),
    "10 workers, 300 tasks, 4 each": (300, 10, 4, ""),
    "one answers at random": (300, 10, 4, "random"),
    "one is off by a factor of 10": (300, 10, 4, "factor"),
    "2 % of the answers are wild": (300, 10, 4, "wild 0.02"),
    "10 % are": (300, 10, 4, "wild 0.1"),
    "noises with 2 degrees of freedom": (300, 10, 4, "tails"),
    "all are 2 too high": (300, 10, 4, "high"),
    "the same, 15 tasks known": (300, 10, 4, "high 15"),
}


def known_of(trouble: str) -> int:
    """Number of tasks whose true number is given, the first ones."""
    return int(trouble.split()[1]) if trouble.startswith("high ") else 0


def simulated(
    items: int, workers: int, ratings: int, trouble: str, seed: int
) -> tuple[Labels, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, true numbers, biases and noises."""
    random = np.random.default_rng(seed)
    truth, bias, noise = (
        random.normal(10, 3, items),
        random.normal(0, 1, workers),
        np.exp(random.normal(0, 0.5, workers)),
    )
    item = np.repeat(np.arange(items), ratings)
    worker = np.concatenate([random.choice(workers, ratings, replace=False) for _ in range(items)]).astype(np.int32)
    error = random.standard_t(2, len(item)) if trouble == "tails" else random.standard_normal(len(item))
    said = truth[item] + bias[worker] + noise[worker] * error
    if trouble == "random":
        said[worker == 0] = random.normal(10, 3, int((worker == 0).sum()))
    if trouble == "factor":
        said[worker == 0] *= 10
    if trouble.startswith("wild"):
        wild = random.random(len(said)) < float(trouble.split()[1])
        said[wild] += random.normal(0, 30, int(wild.sum()))
    if trouble.startswith("high"):
        said, bias = said + 2, bias + 2
    places, people = np.arange(0, len(item) + 1, ratings), [f"w{w}" for w in range(workers)]
    names, gold = [f"t{i}" for i in range(items)], np.full(items, -1, np.int32)
    if known := known_of(trouble):
        gold = np.where(np.arange(items) < known, truth, np.nan)  # type: ignore[assignment]
    return Labels(places, worker, said, names, people, MOMENTS, gold), truth, bias, noise  # type: ignore[arg-type]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    print(
        "| crowd | numbers | mean | median | 90 % holds | biases' 95 % | noises' 95 % |\n|---|---|---|---|---|---|---|"
    )
    for name, (items, workers, ratings, trouble) in CASES.items():
        rows = []
        for seed in range(runs):
            labels, truth, bias, noise = simulated(items, workers, ratings, trouble, seed)
            fit = Numbers().fit(labels)
            mean, variance = fit.posterior.T
            said = np.asarray(labels.labels).reshape(items, ratings)
            open_ = np.arange(items) >= known_of(trouble)
            errors = [
                np.mean((found - truth)[open_] ** 2) for found in (mean, said.mean(axis=1), np.median(said, axis=1))
            ]
            people, usual = Numbers().workers(fit.state), slice(int(trouble in ("random", "factor")), None)
            held = [
                np.mean(((people[f"{what}_low"] <= true) & (true <= people[f"{what}_high"]))[usual])
                for what, true in (("bias", bias), ("noise", noise))
            ]
            rows.append([*errors, np.mean((np.abs(mean - truth) < 1.645 * np.sqrt(variance))[open_]), *held])
        found = np.mean(rows, axis=0)
        shown = [f"{value:.2f}" for value in (*np.sqrt(found[:3]), *found[3:])]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
