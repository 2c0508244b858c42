"""How far measurements that are rounded to steps, with `--ordered`, are from the truth, beside means and medians.

    python benchmarks/crowd/rounded_numbers.py [--runs N] [--steps N]

The steps are equal, between 1.5 interquartile ranges beyond the quartiles. Numbers are drawn from N(10, 3^2), workers'
biases from N(0, 1), the logarithms of their noises from N(0, .5^2).
"""

import argparse

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import from_codes
from hutch.crowd.models.ordered import ratings

CASES = {
    "10 workers, 200 tasks, 3 labels each": (200, 10, 3, ""),
    "200 workers, 1,000 tasks, 5 each": (1000, 200, 5, ""),
    "5 workers, 50 tasks, 3 each": (50, 5, 3, ""),
    "20 workers, 500 tasks, 2 each": (500, 20, 2, ""),
    "30 workers, 2,000 tasks, 10 each": (2000, 30, 10, ""),
    "10 workers, 300 tasks, 4 each": (300, 10, 4, ""),
    "one answers at random": (300, 10, 4, "random"),
    "one is off by a factor of 10": (300, 10, 4, "factor"),
    "2 % of the answers are wild": (300, 10, 4, "wild 0.02"),
    "10 % are": (300, 10, 4, "wild 0.1"),
}


def simulated(
    items: int, workers: int, each: int, trouble: str, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Item, worker and number of each label, and the true numbers."""
    random = np.random.default_rng(seed)
    truth, bias, noise = (
        random.normal(10, 3, items),
        random.normal(0, 1, workers),
        np.exp(random.normal(0, 0.5, workers)),
    )
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([random.choice(workers, each, replace=False) for _ in range(items)])
    said = truth[item] + bias[worker] + noise[worker] * random.standard_normal(len(item))
    if trouble == "random":
        said[worker == 0] = random.normal(10, 3, int((worker == 0).sum()))
    if trouble == "factor":
        said[worker == 0] *= 10
    if trouble.startswith("wild"):
        wild = random.random(len(said)) < float(trouble.split()[1])
        said[wild] += random.normal(0, 30, int(wild.sum()))
    return item, worker, said, truth


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    print("| crowd | rounded | mean | median | low to high holds |\n|---|---|---|---|---|")
    for name, (items, workers, each, trouble) in CASES.items():
        rows = []
        for seed in range(arguments.runs):
            item, worker, said, truth = simulated(items, workers, each, trouble, seed)
            low, high = np.quantile(said, [0.25, 0.75])
            edges = np.linspace(low - 1.5 * (high - low), high + 1.5 * (high - low), arguments.steps + 1)
            middles, step = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
            codes = np.clip(np.searchsorted(edges, said) - 1, 0, arguments.steps - 1)
            classes, people = [f"{middle:.6g}" for middle in middles], [f"w{w}" for w in range(workers)]
            triples = np.stack([worker, item, codes], axis=1).astype(np.int32)
            labels = from_codes(triples, people, [f"t{i}" for i in range(items)], classes, classes)
            result = aggregate(labels, options=Options(ordered=True))
            assert result.scale is not None
            found = ratings(result.probability, result.scale)
            inside = (found.low - step / 2 <= truth) & (truth <= found.high + step / 2)
            by_item = said.reshape(items, each)
            guesses = found.mean, by_item.mean(axis=1), np.median(by_item, axis=1)
            rows.append([*(np.mean((guess - truth) ** 2) for guess in guesses), inside.mean()])
        means = np.mean(rows, axis=0)
        print(f"| {name} | {' | '.join(f'{x:.2f}' for x in (*np.sqrt(means[:3]), means[3]))} |", flush=True)


if __name__ == "__main__":
    main()
