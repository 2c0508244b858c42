"""The explorer without a setting, `configs/explore.yaml`, beside Vowpal Wabbit's: mean cost, wins and losses, CPU time.

    python benchmarks/research/bandits/explore.py bakeoff  # 31 sets with classes, as bandits
    python benchmarks/research/bandits/explore.py unseen        # scikit-learn's sets and made ones, as bandits
    python benchmarks/research/bandits/explore.py clicks        # noisy clicks: features of user, article and all pairs
    python benchmarks/research/bandits/explore.py unseen --first 1000  # made sets and orders that nothing was chosen on

Choices are drawn and only their cost is told: 0 for the right class or a click, 1 for any other. A win or a loss is a
set on which two explorers differ by more than 1.96 binomial standard errors. Vowpal Wabbit's explorers are Hutch's
chains with its defaults, which give its probabilities.
"""

import argparse
import gzip
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from sklearn import datasets

from hutch import Chain

ROOT = Path(__file__).parents[3]
BAKEOFF = ROOT.parent / "shared" / "data" / "bakeoff"
EXPLORE: list[Any] = yaml.safe_load((ROOT / "configs" / "explore.yaml").read_text())["chain"]
ADF = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
PEERS: dict[str, list[Any]] = {
    "squarecb": ["explore_squarecb", *ADF],
    "regcb": [{"explore_regcb": {"method": "optimism", "first_only": True}}, *ADF],
    "cover": [{"explore_cover": {"policies": 4}}, *ADF],
    "greedy": [{"explore_epsilon": {"epsilon": 0.0}}, *ADF],
    "epsilon": ["explore_epsilon", *ADF],
}
Sets = Iterator[tuple[str, int, list[str]]]


def changed(layers: list[Any], name: str, **parameters: Any) -> list[Any]:
    """The layers with some parameters of one of them changed."""
    found = []
    for layer in layers:
        own, given = (layer, {}) if isinstance(layer, str) else next(iter(layer.items()))
        found.append({own: {**given, **parameters}} if own == name else layer)
    return found


STILL = [layer for layer in EXPLORE if "hedge" not in layer]
EXPLORERS = {
    "explore.yaml": EXPLORE,
    "the same, without `hedge`": STILL,
    "the same, for logs": changed(EXPLORE, "explore_posterior", epsilon=0.02),
    "the same, by Thompson sampling": changed(
        EXPLORE, "explore_posterior", method="thompson", width=0.25, epsilon=0.02
    ),
    "the same, prior 16": changed(EXPLORE, "bayesian_linear", priors=[16.0]),
    "the same without `hedge`, clip 1": changed(STILL, "contextual_bandit", clip=1.0),
    **PEERS,
}


def bakeoff(first: int) -> Sets:
    """The first 2,000 rows of each set; in an order of its own if the first seed is not 0."""
    for line in (BAKEOFF / "sets.tsv").read_text().splitlines():
        name, _, classes = line.split("\t")
        with gzip.open(BAKEOFF / f"{name}.vw.gz", "rt") as file:
            lines = np.array(file.read().splitlines(), object)
            order = np.random.default_rng(first).permutation(len(lines)) if first else np.arange(len(lines))
            yield name, int(classes), lines[order][:2000].tolist()


def to_lines(features: NDArray[Any], classes: NDArray[Any]) -> list[str]:
    """Rows as lines of text, with columns named by words."""
    return [
        f"{k + 1} |x " + " ".join(f"c{j}:{x:.6g}" for j, x in enumerate(row) if x)
        for row, k in zip(features.tolist(), classes.tolist(), strict=True)
    ]


def unseen(first: int) -> Sets:
    """Sets of scikit-learn, scaled or as they are, and made ones, easy and hard, with few and many classes."""
    for name in ("wine", "digits", "breast_cancer", "iris"):
        rows, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
        order = np.random.default_rng(5 + first).permutation(len(rows))
        scaled = (rows - rows.mean(0)) / np.maximum(rows.std(0), 1e-9)
        yield f"{name}, scaled", len(set(classes)), to_lines(scaled[order], classes[order])
        if name != "iris":
            yield name, len(set(classes)), to_lines(rows[order], classes[order])
    for seed in range(first, first + 24):
        random = np.random.default_rng(seed)
        columns, count = int(random.integers(4, 60)), int(random.integers(2, 11))
        informative = max(int(columns * random.uniform(0.3, 1)), int(np.ceil(np.log2(count))) + 1)
        rows, classes = datasets.make_classification(
            1500,
            columns,
            n_informative=min(informative, columns),
            n_redundant=0,
            n_classes=count,
            n_clusters_per_class=1 if count > 4 else int(random.integers(1, 3)),
            class_sep=random.uniform(0.5, 2),
            flip_y=float(random.choice([0, 0.1, 0.3])),
            random_state=seed,
        )
        if seed % 3 == 1:  # words
            rows = (rows > np.quantile(rows, 0.7, axis=0)).astype(float)
        yield f"made {seed}", count, to_lines(rows, classes)


def cost_of(layers: list[Any], classes: int, lines: list[str]) -> tuple[float, float]:
    """Share of wrong choices, and CPU seconds per decision."""
    truth = np.array([int(float(line.split(" ", 1)[0])) for line in lines])
    chain = Chain.from_config({"chain": [{"simulate_bandit": {"classes": classes}}, *layers]})
    start = time.process_time()
    chosen = chain.learn(lines)
    return float((chosen != truth).mean()), (time.process_time() - start) / len(lines)


def wins(own: NDArray[Any], other: NDArray[Any], counts: NDArray[Any]) -> str:
    """Sets on which the one is better and worse."""
    errors = np.sqrt((own * (1 - own) + other * (1 - other)) / counts) + 1e-12
    z = (other - own) / errors
    return f"{(z > 1.96).sum()}-{(z < -1.96).sum()}"


def compare(sets: Sets, only: str, every: bool) -> None:
    """Print the table of all explorers on some sets."""
    chosen = {name: layers for name, layers in EXPLORERS.items() if name in PEERS or only in name}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    counts = []
    for name, classes, lines in sets:
        counts.append(len(lines))
        for explorer, layers in chosen.items():
            found[explorer].append(cost_of(layers, classes, lines))
        if every:
            print(name, classes, len(lines), *(f"{each[-1][0]:.3f}" for each in found.values()), flush=True)
    print("| explorer | mean cost | " + " | ".join(PEERS) + " | µs |\n|" + "---|" * (len(PEERS) + 3))
    costs = {name: np.array([cost for cost, _ in each]) for name, each in found.items()}
    for name, own in costs.items():
        against = (wins(own, costs[peer], np.array(counts)) if peer != name else "–" for peer in PEERS)
        micros = 1e6 * np.mean([seconds for _, seconds in found[name]])
        print(f"| {name} | {own.mean():.4f} | " + " | ".join(against) + f" | {micros:.0f} |", flush=True)


class World:
    """Articles, users and the chance that one clicks the other: mostly noise, with weights for all pairs of features.

    Args:
        seed: of everything drawn.
        effect: standard deviation of the weights.
    """

    def __init__(self, seed: int, effect: float) -> None:
        self.random = np.random.default_rng(seed)
        self.topics = self.random.integers(0, 8, 40)
        self.effects: dict[tuple[str, ...], float] = {}
        self.effect = effect

    def decision(self) -> tuple[dict[str, Any], NDArray[np.float64]]:
        """Five articles for a user, and what each costs on average."""
        user = [f"{kind}{self.random.integers(0, 5)}" for kind in ("age", "place", "hour")]
        articles = self.random.choice(40, 5, replace=False)
        actions = [[f"article{a}", f"topic{self.topics[a]}"] for a in articles]
        scores = [sum(self._weight(*names) for names in self._terms(user, action)) for action in actions]
        record = {"shared": {"user": user}, "actions": [{"article": action} for action in actions]}
        return record, 1 / (1 + np.exp(-0.7 + np.array(scores)))

    @staticmethod
    def _terms(user: list[str], action: list[str]) -> Iterator[tuple[str, ...]]:
        yield from ((name,) for name in action)
        yield from ((one, other) for one in user for other in action)

    def _weight(self, *names: str) -> float:
        if names not in self.effects:
            self.effects[names] = float(self.random.normal()) * self.effect
        return self.effects[names]


def show_clicks(only: str, first: int, rounds: int = 1500) -> None:
    """Print the mean expected cost of the choices, in worlds of much and of less noise."""
    print("| explorer | noisy | five times the effects |\n|---|---|---|")
    found: dict[str, list[float]] = {name: [] for name in ("best", "uniform", *EXPLORERS) if only in name}
    for effect in (0.3, 1.5):
        runs: dict[str, list[float]] = {name: [] for name in found}
        for seed in range(first, first + 4):
            for name in found:
                layers = EXPLORERS.get(name, [])
                world, random, costs = World(seed, effect), np.random.default_rng(100 + seed), []
                pairs = {"interactions": [["user", "article"]]}
                layers = changed(changed(layers, "linear", **pairs), "bayesian_linear", **pairs)
                chain = Chain.from_config({"chain": layers}) if layers else None
                for _ in range(rounds):
                    record, chances = world.decision()
                    if chain is None:
                        costs.append(chances.min() if name == "best" else chances.mean())
                        continue
                    shares = np.maximum(chain.predict([record]).astype(float), 0)
                    shares /= shares.sum()
                    chosen = int(random.choice(5, p=shares))
                    costs.append(chances[chosen])
                    cost = float(random.random() < chances[chosen])
                    chain.learn([{**record, "chosen": chosen, "cost": cost, "probability": float(shares[chosen])}])
                runs[name].append(float(np.mean(costs)))
        for name, costs in runs.items():
            found[name].append(float(np.mean(costs)))
    for name, (noisy, clear) in found.items():
        print(f"| {name} | {noisy:.4f} | {clear:.4f} |")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("bakeoff", "unseen", "clicks"))
    parser.add_argument("--only", default="", help="part of an explorer's name")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--every", action="store_true", help="print each set")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.what == "clicks":
        show_clicks(options.only, options.first)
    else:
        compare({"bakeoff": bakeoff, "unseen": unseen}[options.what](options.first), options.only, options.every)


if __name__ == "__main__":
    main()
