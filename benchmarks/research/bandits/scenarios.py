"""Twelve worlds of a router: the regret of Hutch's explorer without a setting, and of rules that people write by hand.

    python benchmarks/research/bandits/scenarios.py [--seeds 32] [--only drift ties]

A prompt is of one of six types and has three numbers; an answer of model k is right with a probability that depends on
both, and costs a price. Reward is 1 for a right answer, less the price. The worlds are named after what a public plan
for a router lists: stationary, drift, delayed, censored, sparse, many actions, prices, new action, nonlinear, batch
start, adversarial order, ties. The rules: LinUCB (Li et al., WWW 2010, α = 1) and linear Thompson sampling (Agrawal,
Goyal, ICML 2013, v = .25), one ridge regression for each model; Beta posteriors for each type and model; and Vowpal
Wabbit's `--squarecb`, whose probabilities Hutch's are. Regret is the expected reward of the best model less that of the
chosen one, a decision; a rule is level with the best if it is within two standard errors of their differences by seed.
"""

import argparse
import time
import warnings
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import yaml
from numpy.typing import NDArray

from hutch import Policy

TYPES, NUMBERS, LENGTH = 6, 3, 2000
PAIRS = [["type", "model"], ["numbers", "model"]]
EXPLORE: list[Any] = yaml.safe_load((Path(__file__).parents[3] / "configs" / "explore.yaml").read_text())["chain"]
Floats = NDArray[np.float64]


@dataclass
class World:
    """What is true, by time, and what a rule is told.

    Attributes:
        worth: of the types, (halves, types, models): log-odds of a right answer.
        slopes: of the numbers, (numbers, models).
        prices: (halves, models).
        delay, censored: decisions until a reward is told, and the share of rewards that never are.
        logged: decisions at random before the first that counts.
        models: how many there are at first; the others come half-way.
        sorted_types: prompts come type by type.
        exclusive: a type's worth changes its sign with that of the first number.
    """

    worth: Floats
    slopes: Floats
    prices: Floats
    delay: int = 0
    censored: float = 0.0
    logged: int = 0
    models: int = 0
    sorted_types: bool = False
    exclusive: bool = False
    types: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


def world_of(name: str, random: np.random.Generator) -> World:
    """A world of a kind."""
    count = 20 if name == "many actions" else 4
    worth = random.normal(0.3, 1.2, (1, TYPES, count)).repeat(2, axis=0)
    prices = np.tile(np.linspace(0.0, 0.15, count), (2, 1))
    world = World(worth, 0.4 * random.normal(size=(NUMBERS, count)), prices, models=count)
    if name == "drift":
        world.worth[1] = random.normal(0.3, 1.2, (TYPES, count))
    elif name == "delayed":
        world.delay = 100
    elif name == "censored":
        world.censored = 0.5
    elif name == "sparse":
        world.worth -= 3.0
        world.prices[:] = 0.0
    elif name == "prices":
        world.prices[1] = world.prices[1, ::-1] + 0.1 * random.random(count)
    elif name == "new action":
        world.models = count - 1
        world.worth[:, :, -1] += 1.0
    elif name == "nonlinear":
        world.exclusive = True
    elif name == "batch start":
        world.logged = 500
    elif name == "adversarial order":
        world.sorted_types = True
    elif name == "ties":
        world.worth[:, :, 1] = world.worth[:, :, 0]
        world.slopes[:, 1] = world.slopes[:, 0]
        world.prices[:] = 0.0
    world.types = random.integers(0, TYPES, LENGTH + world.logged)
    if world.sorted_types:
        world.types[world.logged :].sort()
    return world


NAMES = ("stationary", "drift", "delayed", "censored", "sparse", "many actions", "prices", "new action", "nonlinear",
         "batch start", "adversarial order", "ties")  # fmt: skip


class Rule(Protocol):
    """What chooses among models."""

    def choose(self, t: int, kind: int, x: Floats, models: int) -> int:
        """The model for a prompt."""

    def tell(self, t: int, kind: int, x: Floats, model: int, reward: float, price: float) -> None:
        """The reward of a decision."""

    def log(self, t: int, kind: int, x: Floats, model: int, models: int, reward: float, price: float) -> None:
        """A decision that somebody else made at random."""


class Hutch:
    """A chain of Hutch."""

    def __init__(self, layers: list[Any], seed: int) -> None:
        self._policy = Policy({"seed": seed, "chain": layers}, seed=seed)

    @staticmethod
    def _decision(kind: int, x: Floats, models: int) -> dict[str, Any]:
        numbers = {f"x{j}": float(value) for j, value in enumerate(x)}
        actions = [{"model": [f"m{k}"]} for k in range(models)]
        return {"shared": {"type": [f"t{kind}"], "numbers": numbers}, "actions": actions}

    def choose(self, t: int, kind: int, x: Floats, models: int) -> int:
        return self._policy.decide(self._decision(kind, x, models), id=str(t)).action

    def tell(self, t: int, kind: int, x: Floats, model: int, reward: float, price: float) -> None:
        self._policy.reward(str(t), reward)

    def log(self, t: int, kind: int, x: Floats, model: int, models: int, reward: float, price: float) -> None:
        logged = {"chosen": model, "cost": -reward, "probability": 1 / models}
        self._policy.chain.learn([{**self._decision(kind, x, models), **logged}])


class Ridge:
    """One ridge regression for each model, and optimism or draws."""

    def __init__(self, draws: bool, seed: int) -> None:
        self._draws, self._random = draws, np.random.default_rng(seed)
        size = TYPES + NUMBERS
        self._inverse = np.tile(np.eye(size), (40, 1, 1))
        self._sums = np.zeros((40, size))

    @staticmethod
    def _features(kind: int, x: Floats) -> Floats:
        return np.concatenate([np.eye(TYPES)[kind], x])

    def choose(self, t: int, kind: int, x: Floats, models: int) -> int:
        z, inverse = self._features(kind, x), self._inverse[:models]
        means = np.einsum("kij,kj,i->k", inverse, self._sums[:models], z)
        deviations = np.sqrt(np.einsum("kij,i,j->k", inverse, z, z))
        return int(np.argmax(means + deviations * (0.25 * self._random.normal(size=models) if self._draws else 1.0)))

    def tell(self, t: int, kind: int, x: Floats, model: int, reward: float, price: float) -> None:
        z = self._features(kind, x)
        moved = self._inverse[model] @ z
        self._inverse[model] -= np.outer(moved, moved) / (1 + z @ moved)
        self._sums[model] += reward * z

    def log(self, t: int, kind: int, x: Floats, model: int, models: int, reward: float, price: float) -> None:
        self.tell(t, kind, x, model, reward, price)


class Beta:
    """Thompson sampling on the right answers of each type and model; it knows the price of each."""

    def __init__(self, seed: int) -> None:
        self._counts, self._prices, self._random = np.ones((TYPES, 40, 2)), np.zeros(40), np.random.default_rng(seed)

    def choose(self, t: int, kind: int, x: Floats, models: int) -> int:
        right = self._random.beta(*self._counts[kind, :models].T)
        return int(np.argmax(right - self._prices[:models]))

    def tell(self, t: int, kind: int, x: Floats, model: int, reward: float, price: float) -> None:
        self._counts[kind, model, int(reward + price < 0.5)] += 1
        self._prices[model] = price

    def log(self, t: int, kind: int, x: Floats, model: int, models: int, reward: float, price: float) -> None:
        self.tell(t, kind, x, model, reward, price)


def rules(seed: int) -> dict[str, Rule]:
    """All rules, new."""
    explore = [*EXPLORE[:-1], {"bayesian_linear": {**EXPLORE[-1]["bayesian_linear"], "interactions": PAIRS}}]
    still = [layer for layer in explore if "hedge" not in layer]
    squarecb = ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features"]
    return {
        "explore.yaml": Hutch(explore, seed),
        "the same, without `hedge`": Hutch(still, seed),
        "LinUCB": Ridge(False, seed),
        "linear Thompson": Ridge(True, seed),
        "Beta": Beta(seed),
        "squarecb": Hutch([*squarecb, {"linear": {"interactions": PAIRS}}], seed),
    }


def regret(world: World, rule: Rule, random: np.random.Generator) -> float:
    """The mean regret of a rule."""
    total, waiting = 0.0, deque[tuple[int, Any]]()
    for t in range(-world.logged, LENGTH):
        half, models = int(t >= LENGTH // 2), world.worth.shape[2] if t >= LENGTH // 2 else world.models
        kind, x = int(world.types[t + world.logged]), random.normal(size=NUMBERS)
        worth = world.worth[half, kind] * (np.sign(x[0]) if world.exclusive else 1.0)
        chances = (1 / (1 + np.exp(-worth - x @ world.slopes)))[:models]
        prices, luck, known = world.prices[half, :models], random.random(), random.random() >= world.censored
        other = int(random.integers(models))
        chosen = other if t < 0 else rule.choose(t, kind, x, models)
        reward = float(luck < chances[chosen]) - prices[chosen]
        if t < 0:
            rule.log(t, kind, x, chosen, models, reward, prices[chosen])
            continue
        expected = chances - prices
        total += expected.max() - expected[chosen]
        if known:
            waiting.append((t + world.delay, (t, kind, x, chosen, reward, prices[chosen])))
        while waiting and waiting[0][0] <= t:
            rule.tell(*waiting.popleft()[1])
    return float(total) / LENGTH


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--only", nargs="*", default=NAMES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = list(rules(0))
    print("| world | " + " | ".join(ways) + f" |\n|{'---|' * (len(ways) + 1)}")
    levels, seconds = np.zeros(len(ways), int), np.zeros(len(ways))
    lasts = np.zeros(len(ways), int)
    for name in options.only:
        found = np.zeros((options.seeds, len(ways)))
        for seed in range(options.seeds):
            for k, rule in enumerate(rules(seed).values()):
                world = world_of(name, np.random.default_rng([seed, NAMES.index(name)]))
                begun = time.process_time()
                found[seed, k] = regret(world, rule, np.random.default_rng(seed))
                seconds[k] += time.process_time() - begun
        means = found.mean(axis=0)
        apart = found - found[:, [int(means.argmin())]]
        level = apart.mean(axis=0) <= 2 * apart.std(axis=0) / np.sqrt(options.seeds)
        levels, lasts = levels + level, lasts + (means == means.max())
        cells = [f"**{mean:.4f}**" if good else f"{mean:.4f}" for mean, good in zip(means, level, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("| best, or level with it | " + " | ".join(map(str, levels)) + " |")
    print("| last | " + " | ".join(map(str, lasts)) + " |")
    used = 1e6 * seconds / (options.seeds * len(options.only) * LENGTH)
    print("| µs a decision, with the world | " + " | ".join(f"{each:.0f}" for each in used) + " |")


if __name__ == "__main__":
    main()
