"""Whom to ask, workers who drift, and workers with features, on simulated crowds.

    python benchmarks/research/crowd/whom.py asking [--seeds N] [--labels N]
    python benchmarks/research/crowd/whom.py drift [--seeds N]
    python benchmarks/research/crowd/whom.py features [--seeds N]

asking: the requests of a store want some labels each. Twenty workers come in random order; each gets a request and
answers it: the first that is open, or the one that `hutch.active.whom` chooses. A share of them answers at random, the
others are right as often as a draw from .7 to .95. `model`: how often the model's predictions are right.

drift: 40 workers are right in .9 of 30,000 labels of 6,000 tasks; in mid-stream some of them begin to answer at random.

features: of workers with few labels, whose skill is a logistic function of three features. `ridge`: a second fit begins
with what a ridge regression on the features says of each worker, as ten labels of tasks whose class is known;
`oracle`: the same with their true skill.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from hutch.active.whom import Whom
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.online import run, stream_of
from hutch.crowd.models.two_level import TwoLevel
from hutch.durable.entries import Round
from hutch.durable.records import Request, make_answer
from hutch.durable.store import Store

WORKERS, SECONDS = 20, 60.0
CROWDS = ((0.3, 3, 0.0), (0.3, 1, 0.8), (0.6, 3, 0.0), (0.0, 3, 0.0), (0.3, 1, 0.65))
"""Shares of workers who answer at random, labels that a request wants, how often predictions are right (0: none)."""
PRIOR_LABELS = 10
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where stores are made: a disk would be waited for at every answer."""
Triples = list[tuple[str, str, str]]


def right(triples: Triples, truth: np.ndarray, gold: dict[str, str] | None = None) -> float:
    """Share of the tasks t0, t1, ... whose class is found."""
    labels = from_triples(triples, ["-1", "1"], gold=gold)
    found = aggregate(labels).probability.argmax(axis=1)
    places = [(row, int(name[1:])) for row, name in enumerate(labels.item_names) if name[0] == "t"]
    return sum(found[row] == truth[item] for row, item in places) / len(truth)


def label(truth: int, is_right: bool) -> str:
    """A label of two."""
    return "1" if (truth == 1) == is_right else "-1"


def ask(seed: int, count: int, at_random: float, wanted: int, model: float, chosen: bool) -> tuple[list[float], float]:
    """Share of the labels that come from raters at random, in each quarter, and the share of right classes."""
    random = np.random.default_rng(seed)
    items = count // wanted
    truth = random.integers(0, 2, items)
    spammers = random.permutation(WORKERS) < round(at_random * WORKERS)
    skill = np.where(spammers, 0.5, random.uniform(0.7, 0.95, WORKERS))
    said = [label(z, random.random() < model) for z in truth] if model else []
    scores = [float(each) / 2 for each in said] or [0.0] * items
    triples: Triples = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Store(Path(folder) / "labels.db", create=True) as store:
        store.allow_labels(["-1", "1"])
        requests = [Request(f"t{i}", "|f x", score, 1.0, 1.0, "m") for i, score in enumerate(scores)]
        store.ask(requests, Round("pool", items, float(items), 0.0), wanted=wanted)
        whom = Whom(store)
        while store.counts().open:
            worker = int(random.integers(WORKERS))
            name = f"w{worker}"
            request = store.lease(name, SECONDS, whom.requests_for(name) if chosen else None)
            if request is not None:
                triples.append((name, request.id, label(truth[int(request.id[1:])], random.random() < skill[worker])))
                store.answer([make_answer(request.id, name, triples[-1][2])])
    work = np.array([spammers[int(name[1:])] for name, _, _ in triples])
    everybody = triples + [("model", f"t{i}", each) for i, each in enumerate(said)]
    return [float(part.mean()) for part in np.array_split(work, 4)], right(everybody, truth)


def asking(seeds: int, count: int) -> None:
    """Print the table of `asking`."""
    print("| at random | wanted | model | their labels by quarters, chosen | in order | right, chosen | in order |")
    for crowd in CROWDS:
        found = [[ask(seed, count, *crowd, chosen) for seed in range(seeds)] for chosen in (True, False)]
        shares = [" ".join(f"{x:.3f}" for x in np.mean([one[0] for one in each], axis=0)) for each in found]
        classes = [f"{np.mean([one[1] for one in each]):.4f}" for each in found]
        print("|", " | ".join([*map(str, crowd), *shares, *classes]), "|", flush=True)


def drift(seeds: int) -> None:
    """Print the table of `drift`."""
    tasks, workers, per = 6000, 40, 5
    print("| model | drift | workers who change | error of their accuracy | of all | right, second half | objective |")
    for model in (TwoLevel, Nominal):
        for rate in (0.0, 3e-5, 1e-4, 3e-4) if model is TwoLevel else (0.0, 3e-4, 1e-3, 3e-3):  # per label, per task
            for share in (0.3, 0.0):
                figures = []
                for seed in range(seeds):
                    random = np.random.default_rng(seed)
                    truth = random.integers(0, 2, tasks)
                    changed = random.permutation(workers) < share * workers
                    triples = []
                    for i, z in enumerate(truth):
                        skill = np.where(changed & (i >= tasks // 2), 0.5, 0.9)
                        for w in random.choice(workers, per, replace=False):
                            triples.append((f"w{w}", f"t{i}", label(z, random.random() < skill[w])))
                    labels = from_triples(triples, ["-1", "1"])
                    stream, seen = stream_of(model(drift=rate), labels.classes, 1024), []
                    run(stream, labels, 1, lambda _, progress: seen.append(progress))  # noqa: B023
                    rows = stream.confusions(stream.slots_of([f"w{w}" for w in range(workers)]))
                    error = np.abs(rows[:, [0, 1], [0, 1]].mean(axis=1) - np.where(changed, 0.5, 0.9))
                    second = (seen[0].posterior.argmax(axis=1) == truth)[tasks // 2 :].mean()
                    of_changed, objective = error[changed].mean() if share else np.nan, seen[0].objective.mean()
                    figures.append((of_changed, error.mean(), second, objective))
                cells = " | ".join(f"{x:.4f}" for x in np.mean(figures, axis=0))
                print(f"| {model.name} | {rate:g} | {share:g} | {cells} |", flush=True)


def features(seeds: int) -> None:
    """Print the table of `features`."""
    print("| workers | labels of each | per task | plain | ridge | oracle |")
    for workers, each, per in ((200, 3, 3), (200, 10, 3), (200, 10, 5), (50, 40, 3)):
        figures = []
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            x = random.standard_normal((workers, 3))
            skill = 1 / (1 + np.exp(-(1.0 + x @ np.array([1.0, -0.7, 0.0]) + 0.3 * random.standard_normal(workers))))
            tasks = workers * each // per
            truth = random.integers(0, 2, tasks)
            who = np.concatenate([random.permutation(workers) for _ in range(each)])[: tasks * per].reshape(tasks, per)
            triples = [
                (f"w{w}", f"t{i}", label(truth[i], random.random() < skill[w])) for i in range(tasks) for w in who[i]
            ]
            found = aggregate(from_triples(triples, ["-1", "1"]))
            names = [int(name[1:]) for name in found.labels.worker_names]
            guess = found.confusions[:, [0, 1], [0, 1]].mean(axis=1).clip(0.02, 0.98)
            design = np.column_stack([np.ones(len(names)), x[names]])
            worth = np.linalg.solve(design.T @ design + np.diag([0, 1, 1, 1]), design.T @ np.log(guess / (1 - guess)))
            ridge = 1 / (1 + np.exp(-np.column_stack([np.ones(workers), x]) @ worth))
            rows = [right(triples, truth)]
            for known in (ridge, skill):
                taught = [(w, j) for w in range(workers) for j in range(PRIOR_LABELS)]
                more = [
                    (f"w{w}", f"g{w}.{j}", label(j % 2, j // 2 + 0.5 < known[w] * PRIOR_LABELS / 2)) for w, j in taught
                ]
                rows.append(right(triples + more, truth, {f"g{w}.{j}": label(j % 2, True) for w, j in taught}))
            figures.append(rows)
        cells = " | ".join(f"{value:.4f}" for value in np.mean(figures, axis=0))
        print(f"| {workers} | {each} | {per} | {cells} |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["asking", "drift", "features"])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--labels", type=int, default=3000)
    arguments = parser.parse_args()
    if arguments.part == "asking":
        asking(arguments.seeds, arguments.labels)
    else:
        {"drift": drift, "features": features}[arguments.part](arguments.seeds)


if __name__ == "__main__":
    main()
