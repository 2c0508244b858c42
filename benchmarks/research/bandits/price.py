"""A price for each customer in a world whose truth is known: revenue beside the best prices there are, and beside VW.

    python benchmarks/research/bandits/price.py [--decisions 20000] [--runs 3] [--shift 0] [--vw PYTHON] [--figure FILE]

A customer comes from one of six towns and pays at most a price drawn for the town; price times sale is the revenue. The
cost is minus the revenue. Only the chosen price's sale is seen. With `--vw`, a Python with vowpalwabbit 9.11.9, Vowpal
Wabbit decides in the same world. `--figure` draws the revenue of each hundredth of the run as SVG; it needs Matplotlib.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOWEST, HIGHEST = 0.0, 10.0
TOWNS = ("oslo", "rome", "lima", "bonn", "cork", "pune")
MEANS = np.array([2.5, 4.0, 5.0, 6.5, 7.5, 9.0])
SPREAD = 0.7
PARTS, BANDWIDTH, EPSILON = 32, 0.5, 0.1
Array = NDArray[np.float64]


def sale_chance(price: Array, mean: float) -> Array:
    """The probability that a customer of a town pays a price: a logistic curve."""
    return np.asarray(1 / (1 + np.exp((price - mean) / (SPREAD / 2))))


def best_prices() -> tuple[Array, float]:
    """The mean revenue at the best price of each town, and at the best price for all."""
    prices = np.linspace(LOWEST, HIGHEST, 10001)
    revenue = np.stack([prices * sale_chance(prices, mean) for mean in MEANS])
    return revenue.max(1), float(revenue.mean(0).max())


def best_density() -> float:
    """The mean revenue of the best density that a tree can learn: a window for each town, and a share of all prices."""
    prices = np.linspace(LOWEST, HIGHEST, 10001)
    middles, found = LOWEST + (np.arange(PARTS) + 0.5) * (HIGHEST - LOWEST) / PARTS, []
    for mean in MEANS:
        revenue = prices * sale_chance(prices, mean)
        best = max(float(revenue[np.abs(prices - middle) <= BANDWIDTH].mean()) for middle in middles)
        found.append((1 - EPSILON) * best + EPSILON * float(revenue.mean()))
    return float(np.mean(found))


def play(
    choose: Callable[[str], tuple[float, Any]],
    tell: Callable[[Any, float], None],
    decisions: int,
    seed: int,
    shift: float = 0.0,
) -> Array:
    """The expected revenue of each decision, which the world knows and the learner does not see."""
    random, found = np.random.default_rng(seed), np.zeros(decisions)
    for k in range(decisions):
        town = int(random.integers(len(TOWNS)))
        price, memory = choose(TOWNS[town])
        chance = float(sale_chance(np.array(price), MEANS[town]))
        found[k] = price * chance
        tell(memory, shift - price / HIGHEST * float(random.random() < chance))
    return found


def of_hutch(name: str) -> tuple[Callable[[str], tuple[float, Any]], Callable[[Any, float], None]]:
    """A policy of Hutch: by a tree whose nodes predict a side, or how sure they are of it, or by steps."""
    from hutch import NumberPolicy

    density = {"lowest": LOWEST, "highest": HIGHEST, "parts": PARTS, "bandwidth": BANDWIDTH, "epsilon": EPSILON}
    tree = ["sample_density", {"action_density": density}]
    as_vw = ["sample_density", {"action_density": density | {"baseline": "none"}}]
    logistic = {"linear": {"loss": "logistic"}}
    steps = {"radius": 0.5, "learning_rate": 0.02, "min_prediction": 0.5, "max_prediction": 9.5}
    layers: dict[str, list[Any]] = {
        "Hutch": [*tree, "binary", "linear"],
        "Hutch, logistic": [*tree, "binary", logistic],
        "Hutch, no baseline": [*as_vw, "binary", logistic],
        "Hutch, steps": ["sample_density", {"zeroth_order": steps}],
    }
    policy = NumberPolicy({"chain": layers[name]})

    def choose(town: str) -> tuple[float, Any]:
        decided = policy.decide({"town": [town]})
        return decided.number, decided.id

    return choose, policy.cost


def of_vw(name: str) -> tuple[Callable[[str], tuple[float, Any]], Callable[[Any, float], None]]:
    """Vowpal Wabbit's `--cats`."""
    import vowpalwabbit

    loss = " --loss_function logistic" if "logistic" in name else ""
    options = f"--cats {PARTS} --min_value {LOWEST} --max_value {HIGHEST} --bandwidth {BANDWIDTH} --epsilon {EPSILON}"
    workspace = vowpalwabbit.Workspace(options + loss + " --quiet")

    def choose(town: str) -> tuple[float, Any]:
        price, density = workspace.predict(f"|town {town}")
        return price, (town, price, density)

    def tell(memory: Any, cost: float) -> None:
        town, price, density = memory
        workspace.learn(f"ca {price}:{cost}:{density} |town {town}")

    return choose, tell


def measured(names: list[str], make: Callable[[str], Any], options: argparse.Namespace) -> dict[str, Any]:
    """For each way the mean revenue of each hundredth of the run, and the microseconds of a decision."""
    found: dict[str, Any] = {}
    for name in names:
        begun = time.process_time()
        runs = [play(*make(name), options.decisions, seed, options.shift) for seed in range(options.runs)]
        used = (time.process_time() - begun) / options.runs / options.decisions * 1e6
        curve = np.mean(runs, 0)[: options.decisions // 100 * 100].reshape(100, -1).mean(1)
        spread = float(np.std([run[-len(run) // 4 :].mean() for run in runs]))
        found[name] = {"curve": curve.tolist(), "deviation": spread, "microseconds": used}
    return found


def draw(found: dict[str, Any], levels: tuple[float, float, float], decisions: int, path: Path) -> None:
    """Draw the curves."""
    from hutch.pages.plots import new_figure, svg_of

    figure = new_figure(7, 4)
    axes = figure.subplots()
    at = (np.arange(100) + 0.5) * decisions / 100
    for name, one in found.items():
        axes.plot(at, one["curve"], label=name)
    names = ("best price of each town", "best density of a tree", "best price for all")
    for name, level, style in zip(names, levels, ("--", "-.", ":"), strict=True):
        axes.axhline(level, color="grey", linestyle=style, label=name)
    axes.set_xlabel("decisions")
    axes.set_ylabel("mean revenue")
    axes.legend(fontsize=8)
    path.write_text(svg_of(figure), encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=20000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shift", type=float, default=0.0, help="added to every cost")
    parser.add_argument("--vw", metavar="PYTHON", help="a Python that has vowpalwabbit")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(measured(["VW", "VW, logistic"], of_vw, options)))
        return
    found = measured(["Hutch", "Hutch, logistic", "Hutch, no baseline", "Hutch, steps"], of_hutch, options)
    if options.vw:
        sizes = ["--decisions", str(options.decisions), "--runs", str(options.runs), "--shift", str(options.shift)]
        found |= json.loads(subprocess.check_output([options.vw, __file__, "--peer", *sizes]))
    each, constant = best_prices()
    best, density = float(each.mean()), best_density()
    print(f"best price of each town {best:.3f}, best density {density:.3f}, best price for all {constant:.3f}")
    print(f"{'':24}{'all':>8}{'last quarter':>14}{'deviation':>11}{'of density':>13}{'µs':>7}")
    for name, one in found.items():
        late = float(np.mean(one["curve"][75:]))
        used = one["microseconds"]
        cells = f"{np.mean(one['curve']):8.3f}{late:14.3f}{one['deviation']:11.3f}{late / density:13.1%}{used:7.0f}"
        print(f"{name:24}{cells}")
    if options.figure:
        draw(found, (best, density, constant), options.decisions, options.figure)


if __name__ == "__main__":
    main()
