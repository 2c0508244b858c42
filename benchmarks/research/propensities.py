"""Coverage of `hutch evaluate --propensities estimated`, on simulated logs without propensities whose truth is known.

    python benchmarks/research/propensities.py [--runs N] [--unsound N] [--decisions N] [--processes N]

A log chooses one of five actions for one of four people, in the morning or in the evening, at an hour; costs depend on
the person and the action. Judged are chains that learn from the log; half of them take actions with features, half
classes. What they would have cost is known from the mean costs of actions. The policies of the log:

* `uniform`; `softmax` of scores of person, action and hour; `epsilon`, the best action of each person in four fifths;
* `changing`: without chance, but another favourite of each person every 20 decisions, as a model that is replaced;
* `without chance`: always the best action of the person;
* `combined`: half the time one of two actions, by person and time of day together, so that neither says anything alone;
* `hidden`: half the time one of two actions, by a mood that is not in the log and also moves their costs;
* `curved`: the same, where the mood is how far the hour is from noon; the model has the hour and cannot bend.

`told` is the share of logs with a warning; `ips`, `snips` and `dr` the share of 95 % intervals that hold the truth,
beside their mean half-width; `true` is the share for `dr` with the true probabilities in the log, where chance chose.
`dr error` and `dm error` are the mean distances of the doubly robust estimate and of the direct method from the truth.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from hutch import Chain
from hutch.core.batch import Batch
from hutch.evaluation.estimated import EstimatedValue, evaluate, filled
from hutch.evaluation.off_policy import Estimate, OffPolicyValue, estimator_of, judge
from hutch.evaluation.off_policy import evaluate as evaluate_logged

PEOPLE, ACTIONS = 4, 5
MEANS = np.random.default_rng(7).uniform(0.15, 0.85, (PEOPLE, ACTIONS))
SCORES = np.random.default_rng(8).normal(0, 1, (PEOPLE, ACTIONS))
BY_HOUR = np.random.default_rng(9).normal(0, 0.6, ACTIONS)
COMBINED = (np.arange(PEOPLE)[:, None] % 2) ^ np.arange(2)
PERIOD = 20
CHANCE = ("uniform", "softmax", "epsilon")
SOUND = (*CHANCE, "changing")
POLICIES = (*SOUND, "without chance", "combined", "hidden", "curved")
EXPLORERS: dict[str, list[Any]] = {
    "uniform": [{"explore_epsilon": {"epsilon": 1.0}}],
    "epsilon": [{"explore_epsilon": {"epsilon": 0.1}}],
    "squarecb": ["explore_squarecb"],
    "softmax": [{"explore_softmax": {"rate": 5.0}}],
    "greedy": [],
}


def _log(policy: str, seed: int, count: int) -> tuple[np.ndarray, ...]:
    """Person, evening or not, hour, chosen action, its cost, the true mean costs and probabilities of all actions."""
    random = np.random.default_rng(seed)
    person, evening = random.integers(0, PEOPLE, count), random.integers(0, 2, count)
    hour = random.normal(size=count).round(9 if policy == "curved" else 1)
    mood = random.integers(0, 2, count)
    likely, every = np.zeros((count, ACTIONS)), np.arange(count)
    means = MEANS[person]
    if policy == "uniform":
        likely += 1 / ACTIONS
    elif policy == "softmax":
        score = np.exp(SCORES[person] + hour[:, None] * BY_HOUR)
        likely = score / score.sum(axis=1, keepdims=True)
    elif policy == "epsilon":
        likely += 0.2 / ACTIONS
        likely[every, MEANS.argmin(axis=1)[person]] += 0.8
    elif policy == "changing":
        favourite = random.integers(0, ACTIONS, (count // PERIOD + 1, PEOPLE))
        likely[every, favourite[every // PERIOD, person]] = 1
    elif policy == "without chance":
        likely[every, MEANS.argmin(axis=1)[person]] = 1
    else:
        moods = {"combined": COMBINED[person, evening], "curved": (np.abs(hour) < 0.67).astype(int)}
        mood = moods.get(policy, mood)
        likely += 0.5 / ACTIONS
        likely[every, 1 - mood] += 0.5
        if policy != "combined":
            means = np.clip(means + np.where(mood == 1, 0.25, -0.25)[:, None] * (np.arange(ACTIONS) < 2), 0, 1)
    chosen = (random.random(count)[:, None] > likely.cumsum(axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
    cost = (random.random(count) < means[every, chosen]).astype(np.float64)
    return person, evening, hour, chosen, cost, means, likely


def _lines(world: tuple[np.ndarray, ...], features: bool, probabilities: bool) -> list[str]:
    """The log as text."""
    person, evening, hour, chosen, cost, _, likely = world
    rows = []
    for k, e, h, a, c, p in zip(person, evening, hour, chosen, cost, likely, strict=True):
        label = f"{c:g}:{p[a]:.6g}" if probabilities else f"{c:g}"
        shared = f"|person {'abcd'[k]} |time t{e} hour:{h:.9g}"
        if not features:
            rows.append(f"{a + 1}:{label} {shared}")
            continue
        rows.append(f"shared {shared}")
        rows += [(f"0:{label} " if a == b else "") + f"|action {'vwxyz'[b]}" for b in range(ACTIONS)]
        rows.append("")
    return rows


def _judged(
    config: dict[str, Any], world: tuple[np.ndarray, ...], features: bool, chance: bool
) -> tuple[EstimatedValue, float, OffPolicyValue | None, float]:
    """The estimates of a chain's cost and the true cost of its decisions, and the same with the true probabilities."""
    estimating = estimator_of(config, Chain.from_config(config).layers)
    regression, reader = Chain.from_config(estimating), Chain.from_config(config)
    reader.parser = replace(reader.parser, chosen_alone=True)
    log = filled(reader, regression, reader.batches(_lines(world, features, False)))
    value = evaluate(Chain.from_config(config), Chain.from_config(estimating), regression, log)
    truth = _truth(config, estimating, log.batches, world)
    if not chance:
        return value, truth, None, truth
    known = list(Chain.from_config(config).batches(_lines(world, features, True)))
    logged = evaluate_logged(Chain.from_config(config), Chain.from_config(estimating), known)
    return value, truth, logged, _truth(config, estimating, known, world)


def _truth(
    config: dict[str, Any], estimating: dict[str, Any], batches: Sequence[Batch], world: tuple[np.ndarray, ...]
) -> float:
    """The true mean cost of a chain's decisions on a log."""
    chain, other, policies = Chain.from_config(config), Chain.from_config(estimating), []
    for batch in batches:
        found = judge(chain, other, batch, True)
        policies.append(found.policy[found.choices.counts].reshape(-1, ACTIONS))
    return float((np.concatenate(policies) * world[5]).sum(axis=1).mean())


def row(policy: str, explorer: str, runs: int, count: int) -> str:
    """A row of the table."""
    features = list(EXPLORERS).index(explorer) % 2 == 0
    below: list[Any] = ["contextual_bandit", "cost_sensitive_with_features"]
    if features:
        chain = [*EXPLORERS[explorer], *below, {"linear": {"interactions": [["person", "action"]]}}]
    else:
        chain = [{"action_per_class": {"classes": ACTIONS}}, *EXPLORERS[explorer], *below, "linear"]
    found = [_judged({"chain": chain}, _log(policy, seed, count), features, policy in CHANCE) for seed in range(runs)]
    values, truths = [each[0] for each in found], np.array([each[1] for each in found])
    told, effective = np.mean([bool(v.warnings) for v in values]), np.mean([v.effective for v in values])
    cells = [f"{told:.2f}", f"{effective:.0f}"]
    for name in ("ips", "snips", "dr"):
        held, width = _held([getattr(v, name) for v in values], truths)
        cells += [f"{held:.3f}", f"{width:.4f}"]
    known = [(logged.dr, truth) for _, _, logged, truth in found if logged is not None]
    cells.append(f"{_held([each for each, _ in known], np.array([t for _, t in known]))[0]:.3f}" if known else "")
    cells += [
        f"{np.mean(np.array(guess) - truths):+.4f}" for guess in ([v.dr.value for v in values], [v.dm for v in values])
    ]
    return f"| {policy} | {explorer} | " + " | ".join(cells) + " |"


def _held(estimates: list[Estimate], truths: np.ndarray) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean half-width."""
    low, high = np.array([(each.low, each.high) for each in estimates]).T
    return float(np.mean((low <= truths) & (truths <= high))), float(np.mean(high - low) / 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="logs of each policy with chance")
    parser.add_argument("--unsound", type=int, default=40, help="logs of each other policy")
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    heads = ("told", "effective", "ips", "half-width", "snips", "half-width", "dr", "half-width", "true", "dr error")
    print("| log | chain | " + " | ".join(heads) + " | dm error |")
    print("|---|---|" + "---|" * 11)
    with ProcessPoolExecutor(arguments.processes) as pool:
        jobs = [
            pool.submit(
                row, policy, explorer, arguments.runs if policy in SOUND else arguments.unsound, arguments.decisions
            )
            for policy in POLICIES
            for explorer in EXPLORERS
        ]
        for job in jobs:
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
