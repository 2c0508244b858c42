"""A router between a small and a large model: cost a prompt in one pass, beside rules that people write by hand.

    python benchmarks/research/bandits/router.py prompts.tsv.gz [--orders 20] [--delay 0] [--price 0.125] [--then 0.4]

The file has the columns subject, weak_right and strong_right (1 or 0), as RouteLLM's prompts of MMLU with the answers
of two models (lm-sys/RouteLLM, Apache-2.0). The cost of an answer is 1 if it is wrong, and the price if the large model
gave it. Only the chosen model's cost is seen, `--delay` decisions later. With `--then` the price is another from the
middle on, and rules that learn right answers and prices apart stand beside those that learn their sum.
"""

import argparse
import csv
import gzip
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch import Chain, Policy

PAIRS = {"interactions": [["subject", "model"]]}
LEARNER = {"bayesian_linear": {"covariance": "blocks", "dimension": 256, "loss": "squared", **PAIRS}}
FORGETTING = {"hedge": {"copies": [{"bayesian_linear": {"forgetting": rate}} for rate in (0, 0.003)]}}
LINEAR = {"linear": PAIRS}
MODELS = [{"model": ["small"]}, {"model": ["large"]}]
Choose, Tell = Callable[[int], int], Callable[[int, int, float], None]


def policy(explorer: Any, learner: Any, subjects: list[str]) -> tuple[Choose, Tell]:
    """Hutch's policy over an explorer and a learner."""
    learners = learner if isinstance(learner, list) else [learner]
    layers = [explorer, "contextual_bandit", "cost_sensitive_with_features", *learners]
    made = Policy({"chain": layers})

    def choose(i: int) -> int:
        decision = {"shared": {"subject": [subjects[i]]}, "actions": MODELS}
        return made.decide(decision, id=str(i)).action

    return choose, lambda i, action, cost: made.reward(str(i), -cost) and None


def beta(subjects: list[str], price: float) -> tuple[Choose, Tell]:
    """Thompson sampling by hand: a Beta posterior of being right for each subject and model."""
    counts: dict[str, NDArray[np.float64]] = defaultdict(lambda: np.ones((2, 2)))
    random, prices = np.random.default_rng(0), np.array([0.0, price])

    def choose(i: int) -> int:
        right, wrong = counts[subjects[i]].T
        return int(np.argmin(1 - random.beta(right, wrong) + prices))

    def tell(i: int, action: int, cost: float) -> None:
        counts[subjects[i]][action, int(cost - prices[action] > 0.5)] += 1

    return choose, tell


def lin_ucb(subjects: list[str], width: float = 1.0) -> tuple[Choose, Tell]:
    """LinUCB by hand: ridge regression of the cost for each model, over the subjects and a constant."""
    names = sorted(set(subjects))
    place, size = {name: k for k, name in enumerate(names)}, len(names) + 1
    inverse, target = np.stack([np.eye(size)] * 2), np.zeros((2, size))

    def features(i: int) -> NDArray[np.float64]:
        x = np.zeros(size)
        x[[place[subjects[i]], -1]] = 1
        return x

    def choose(i: int) -> int:
        x = features(i)
        scores = [x @ inverse[a] @ target[a] - width * math.sqrt(x @ inverse[a] @ x) for a in range(2)]
        return int(np.argmin(scores))

    def tell(i: int, action: int, cost: float) -> None:
        x = features(i)
        moved = inverse[action] @ x
        inverse[action] -= np.outer(moved, moved) / (1 + x @ moved)
        target[action] += cost * x

    return choose, tell


def changing(
    right: NDArray[np.float64],
    subjects: list[str],
    order: NDArray[np.int64],
    prices: tuple[float, float],
    metrics: bool,
    anew: bool = False,
) -> NDArray[np.float64]:
    """The cost of each decision of Hutch's policy, whose large model has another price from the middle on.

    Args:
        right: float64 (prompts, models): 1 for a right answer.
        subjects: of the prompts.
        order: of the prompts.
        prices: of the large model, before and after.
        metrics: right answers and prices are learned apart.
        anew: the policy forgets all in the middle.
    """
    weighted = [{"weighted_metrics": {"weights": {"right": 1.0, "large": -prices[0]}}}] if metrics else []
    top = [{"explore_posterior": {"width": 1}}, "contextual_bandit", "cost_sensitive_with_features"]
    made, found = Policy({"chain": [*top, *weighted, LEARNER]}), np.zeros(len(order))
    for k, i in enumerate(order.tolist()):
        price = prices[int(k >= len(order) // 2)]
        if k == len(order) // 2 and metrics:
            overrides = [f"weighted_metrics.weights.large={-price}"]
            made = Policy(Chain.from_arrays(made.chain.arrays(), made.chain.metadata(), "the model", overrides), seed=1)
        elif k == len(order) // 2 and anew:
            made = Policy({"chain": [*top, LEARNER]}, seed=1)
        decided = made.decide({"shared": {"subject": [subjects[i]]}, "actions": MODELS})
        large, is_right = float(decided.action), float(right[i, decided.action])
        found[k] = 1 - is_right + price * large
        made.reward(decided.id, {"right": is_right, "large": large} if metrics else -found[k])
    return found


def show_change(right: NDArray[np.float64], subjects: list[str], prices: tuple[float, float], orders: int) -> None:
    """Print the cost of each half, with the price of its own."""
    halves = [1 - right + np.array([0.0, price]) for price in prices]
    for name, price, costs in zip(("first", "second"), prices, halves, strict=True):
        means = {each: costs[np.array(subjects) == each].mean(0).min() for each in set(subjects)}
        best = np.mean([means[each] for each in subjects])
        print(
            f"{name} half, price {price:g}: always the small {costs[:, 0].mean():.4f}, the large "
            f"{costs[:, 1].mean():.4f}, the better of each subject {best:.4f}"
        )
    ways = {"metrics": (True, False), "sum, goes on": (False, False), "sum, begins anew": (False, True)}
    print(f"{'':20}{'1st half':>10}{'2nd half':>10}{'deviation':>11}")
    for name, (metrics, anew) in ways.items():
        found = []
        for seed in range(orders):
            order = np.random.default_rng(seed).permutation(len(right))
            each = changing(right, subjects, order, prices, metrics, anew)
            found.append((each[: len(each) // 2].mean(), each[len(each) // 2 :].mean()))
        (first, second), deviation = np.mean(found, 0), np.std(found, 0)[1]
        print(f"{name:20}{first:10.4f}{second:10.4f}{deviation:11.4f}", flush=True)


def all_told(costs: NDArray[np.float64], subjects: list[str], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """The cost of each decision of a rule that is told both costs of each prompt: what no bandit can be below.

    It takes the model whose mean cost over the subject's prompts so far is less; one more prompt has the mean of all.
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    found, total = np.zeros(len(order)), 0.0
    for k, i in enumerate(order.tolist()):
        count, dearer = sums[subjects[i]]
        found[k] = costs[i, int((dearer + total / (k + 1)) / (count + 1) < 0)]
        difference = costs[i, 1] - costs[i, 0]
        sums[subjects[i]] = [count + 1, dearer + difference]
        total += difference
    return found


def run(costs: NDArray[np.float64], order: NDArray[np.int64], way: tuple[Choose, Tell], delay: int) -> Any:
    """The cost of each decision, in order."""
    choose, tell = way
    waiting: deque[tuple[int, int, float]] = deque()
    found = np.zeros(len(order))
    for k, i in enumerate(order.tolist()):
        action = choose(i)
        found[k] = costs[i, action]
        waiting.append((i, action, float(found[k])))
        if len(waiting) > delay:
            tell(*waiting.popleft())
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--delay", type=int, default=0)
    parser.add_argument("--price", type=float, default=0.125)
    parser.add_argument("--then", type=float, help="the price from the middle on")
    options = parser.parse_args()
    opened = gzip.open if options.prompts.suffix == ".gz" else open
    with opened(options.prompts, "rt", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    rows = [row for row in rows if row.get("suite", "mmlu") == "mmlu"]
    subjects = [row["subject"] for row in rows]
    right = np.array([[float(row["weak_right"]), float(row["strong_right"])] for row in rows])
    if options.then is not None:
        show_change(right, subjects, (options.price, options.then), options.orders)
        return
    costs = 1 - right + np.array([0.0, options.price])
    print(f"{len(rows):,} prompts; always the small model {costs[:, 0].mean():.4f}, the large {costs[:, 1].mean():.4f}")
    by_subject = {name: costs[[name == each for each in subjects]].mean(0).argmin() for name in set(subjects)}
    best = np.mean([costs[i, by_subject[name]] for i, name in enumerate(subjects)])
    print(f"the better model of each subject, in hindsight {best:.4f}")
    ways: dict[str, Callable[[], tuple[Choose, Tell]]] = {
        "Hutch, thompson 1": lambda: policy({"explore_posterior": {"width": 1}}, LEARNER, subjects),
        "Hutch, thompson .5": lambda: policy({"explore_posterior": {"width": 0.5}}, LEARNER, subjects),
        "Hutch, optimism 1": lambda: policy(
            {"explore_posterior": {"method": "optimism", "width": 1}}, LEARNER, subjects
        ),
        "the same, by evidence": lambda: policy(
            {"explore_posterior": {"method": "optimism", "width": 1}}, [FORGETTING, LEARNER], subjects
        ),
        "Hutch, squarecb": lambda: policy("explore_squarecb", LINEAR, subjects),
        "Beta by hand": lambda: beta(subjects, options.price),
        "LinUCB by hand": lambda: lin_ucb(subjects),
    }
    print(f"{'':20}{'cost':>8}{'2nd half':>10}{'deviation':>11}{'µs':>7}")
    told = []
    for seed in range(options.orders):
        each = all_told(costs, subjects, np.random.default_rng(seed).permutation(len(rows)))
        told.append((each.mean(), each[len(each) // 2 :].mean()))
    mean, second = np.mean(told, 0)
    print(f"{'both costs told':20}{mean:8.4f}{second:10.4f}{np.std(told, 0)[0]:11.4f}")
    for name, make in ways.items():
        found, begun = [], time.process_time()
        for seed in range(options.orders):
            order = np.random.default_rng(seed).permutation(len(rows))
            each = run(costs, order, make(), options.delay)
            found.append((each.mean(), each[len(each) // 2 :].mean()))
        used = (time.process_time() - begun) / options.orders / len(rows) * 1e6
        (mean, half), deviation = np.mean(found, 0), np.std(found, 0)[0]
        print(f"{name:20}{mean:8.4f}{half:10.4f}{deviation:11.4f}{used:7.0f}", flush=True)


if __name__ == "__main__":
    main()
