"""Regret of explorers on data with classes from scikit-learn, turned into bandits.

    python benchmarks/research/bandit_regret.py [--seeds 20] [--rounds 2000]

Each round an example is drawn at random, the chain chooses a class and is told whether it was right. Printed is the
mean cost per round: the share of wrong choices, with its standard error over the seeds. Every explorer has one setting
for all sets. Those of Vowpal Wabbit run on `linear`, whose steps are Vowpal Wabbit's: its choices are the same.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

from hutch import Chain

ADF = ["contextual_bandit", "cost_sensitive_with_features"]
POSTERIOR = {"dyadic": {"left": "none", "right": "neither", "rank": 0}}
OPTIMISM = {"explore_posterior": {"method": "optimism", "width": 0.25}}
EXPLORERS: dict[str, list[Any]] = {
    "epsilon 0.05": ["explore_epsilon", *ADF, "linear"],
    "squarecb": ["explore_squarecb", *ADF, "linear"],
    "squarecb, scale 1000": [{"explore_squarecb": {"scale": 1000}}, *ADF, "linear"],
    "regcb": ["explore_regcb", *ADF, "linear"],
    "regcb, optimism": [{"explore_regcb": {"method": "optimism", "first_only": True}}, *ADF, "linear"],
    "bag 5": [{"explore_bag": {"policies": 5}}, *ADF, "linear"],
    "cover 4": [{"explore_cover": {"policies": 4}}, *ADF, "linear"],
    "softmax 10": [{"explore_softmax": {"rate": 10}}, *ADF, "linear"],
    "thompson on linear": ["explore_posterior", *ADF, "linear"],
    "thompson on dyadic": ["explore_posterior", *ADF, POSTERIOR],
    "optimism on linear": [OPTIMISM, *ADF, "linear"],
    "optimism on dyadic": [OPTIMISM, *ADF, POSTERIOR],
    "epsilon on dyadic": ["explore_epsilon", *ADF, POSTERIOR],
}


def data_sets() -> dict[str, tuple[list[str], NDArray[Any]]]:
    """Lines of text with standardised features, and their classes from 1.

    Names of features are words: actions made of classes bring neighbouring numbers together.
    """
    found = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "made": make_classification(5000, 20, n_informative=10, n_classes=5, class_sep=1.5, random_state=1),
    }
    sets = {}
    for name, (features, classes) in found.items():
        spread = features.std(axis=0)
        good = features[:, spread > 0]
        scaled = (good - good.mean(axis=0)) / good.std(axis=0)
        lines = [
            f"{k + 1} |x " + " ".join(f"p{j}:{value:.5f}" for j, value in enumerate(row))
            for row, k in zip(scaled.tolist(), classes.tolist(), strict=True)
        ]
        sets[name] = lines, classes + 1
    return sets


def mean_cost(layers: list[Any], lines: list[str], classes: NDArray[Any], rounds: int, seed: int) -> float:
    """Share of wrong choices."""
    rows = np.random.default_rng(seed).integers(0, len(classes), rounds)
    top = {"simulate_bandit": {"classes": int(classes.max())}}
    chain = Chain.from_config({"chain": [top, *layers], "seed": seed})
    chosen = chain.learn([lines[row] for row in rows])
    return float((chosen != classes[rows]).mean())


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--only", default="", help="part of an explorer's name")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "chain.* names the namespace")
    sets = data_sets()
    print("| explorer | " + " | ".join(sets) + " | mean |\n|" + "---|" * (len(sets) + 2), flush=True)
    for name, layers in EXPLORERS.items():
        if options.only not in name:
            continue
        cells, means = [], []
        for lines, classes in sets.values():
            costs = [mean_cost(layers, lines, classes, options.rounds, seed) for seed in range(options.seeds)]
            means.append(np.mean(costs))
            cells.append(f"{np.mean(costs):.3f} ± {np.std(costs, ddof=1) / np.sqrt(len(costs)):.3f}")
        print(f"| {name} | " + " | ".join(cells) + f" | {np.mean(means):.3f} |", flush=True)


if __name__ == "__main__":
    main()
