"""The tables of benchmarks/results/dyadic.md and docs/reductions/filter_tree.md.

    python benchmarks/research/dyadic.py steps  nanoseconds and error of a step, by loss and dynamics
    python benchmarks/research/dyadic.py cost [PASSES]  CPU of rank 3 against linear on simulated ratings, 160 passes
    python benchmarks/research/dyadic.py trees  error and CPU of both filter trees on simulated ratings
    python benchmarks/research/dyadic.py ratings DIR...  RMSE and CPU; DIR has train.tsv, test.tsv: user, item, rating
    python benchmarks/research/dyadic.py command DIR...  RMSE of `hutch train`: shuffled or by user, a tenth held out
    python benchmarks/research/dyadic.py drift [SEEDS]  RMSE with a bias for each week of an item or user, simulated
    python benchmarks/research/dyadic.py ordered DIR...  RMSE and log-loss of ratings as numbers and as ordered classes

All times are CPU seconds of one thread, data in memory, kernels compiled.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from hutch import Chain
from hutch.core import dyad
from hutch.core.text.parser import TextParser
from hutch.reproduce.dyadic import learn_and_predict, split

DYADIC = {"left": "user", "right": "item"}
LEARNERS: dict[str, tuple[str, dict[str, Any], int]] = {
    "linear (adaptive), one pass": ("linear", {}, 1),
    "linear (adaptive), 20 passes": ("linear", {"learning_rate": 0.1}, 20),
    "bias only, 40 passes": ("dyadic", {**DYADIC, "rank": 0}, 40),
    "dyadic rank 20, one pass": ("dyadic", {**DYADIC, "rank": 20}, 1),
    "dyadic rank 20, 40 passes": ("dyadic", {**DYADIC, "rank": 20}, 40),
}
"""Layer, parameters and passes of each row of the table of ratings; the dyadic rates are the defaults."""
HUTCH = [sys.executable, "-c", "import sys; from hutch.cli.main import main; sys.exit(main())"]


def build(*layers: tuple[str, dict[str, Any]], bits: int = 22) -> Chain:
    """A chain of these layers."""
    return Chain.from_config({"weights": {"bits": bits}, "chain": [{name: given} for name, given in layers]})


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds; the least of three."""
    result, seconds = call(), np.inf
    for _ in range(3):
        start = time.process_time()
        result = call()
        seconds = min(seconds, time.process_time() - start)
    return result, seconds


def steps(count: int = 20_000, rank: int = 10) -> None:
    """States as training meets them: factors shift + 0.3 N(0, 1), x·x from 1 to 3."""
    random = np.random.default_rng(3)
    print(
        "loss      shift  E     exact ns  fast ns  fast: median / greatest relative error   8 of E/8 against E, exact"
    )
    for loss in ("hinge", "squared", "logistic"):
        for shift in (0.0, 1.0):
            a, b = (shift + 0.3 * random.normal(size=(count, rank)) for _ in range(2))
            U, V = np.sum((a + b) ** 2, axis=1), np.sum((a - b) ** 2, axis=1)
            X, wx = random.uniform(1, 3, count), random.normal(size=count) - shift**2 * rank
            y = random.normal(size=count) if loss == "squared" else random.choice([-1.0, 1.0], count)
            for E in (0.01, 0.1, 1.0):
                exact, slow = timed(lambda: dyad.step(loss, E, y, 1.0, U, V, X, wx))  # noqa: B023
                fast, quick = timed(lambda: dyad.step(loss, E, y, 1.0, U, V, X, wx, dynamics="fast"))  # noqa: B023
                s = np.zeros(count)
                for _ in range(8):
                    s += dyad.step(loss, E / 8, y, 1.0, U * np.exp(-2 * s), V * np.exp(2 * s), X, wx - s * X)
                moved = exact != 0
                error = np.abs(fast - exact)[moved] / np.abs(exact)[moved]
                apart = np.max(np.abs(s - exact)[moved] / np.abs(exact)[moved])
                print(
                    f"{loss:9} {shift:4g}  {E:<5g} {slow / count * 1e9:8.0f} {quick / count * 1e9:8.0f}"
                    f"   {np.median(error):8.1e} / {error.max():.1e}                   {apart:.1e}"
                )


def cost(passes: int) -> None:
    """Learning only, under a filter tree with hinge loss; three rounds in turn, the least of each learner."""
    train, _ = split()
    shared = {"left": "rater", "right": "task", "loss": "hinge", "learning_rate": 0.09}
    for l2, shift in ((0.0, 1.0), (0.3, 0.0)):
        learners: dict[str, tuple[str, dict[str, Any]]] = {
            f"rank {rank}": ("dyadic", {**shared, "rank": rank, "l2": l2, "shift": shift}) for rank in (0, 3)
        }
        learners["the layer `linear`"] = ("linear", {"loss": "hinge"})
        best = dict.fromkeys(learners, np.inf)
        for _ in range(3):
            for name, layer in learners.items():
                engine = build(("filter_tree", {"classes": 5}), layer)
                batch = TextParser(engine.parser).parse(train.examples())
                engine.run_batch(batch)
                start = time.process_time()
                for _ in range(passes):
                    engine.run_batch(batch)
                best[name] = min(best[name], time.process_time() - start)
        for name, seconds in best.items():
            ratio = seconds / best["rank 0"]
            print(f"{passes} passes, l2 {l2}: {name:20} {seconds:6.2f} s, {ratio:.2f} times rank 0", flush=True)


def trees(passes: int = 20) -> None:
    """Hinge loss, l2 0.3; the least CPU of three rounds."""
    train, test = split()
    for rank in (0, 2):
        given = {"left": "rater", "right": "task", "loss": "hinge", "rank": rank, "l2": 0.3}
        for rate in (0.3, 0.09):
            for tree in ("filter_tree", "scoring_filter_tree"):
                error, best = np.nan, np.inf
                for _ in range(3):
                    engine = build((tree, {"classes": 5}), ("dyadic", {**given, "learning_rate": rate}))
                    batch, kept = (TextParser(engine.parser).parse(part.examples()) for part in (train, test))
                    engine.run_batch(kept, learn=False)
                    start = time.process_time()
                    for _ in range(passes):
                        engine.run_batch(batch)
                    best = min(best, time.process_time() - start)
                    error = float(np.mean(engine.run_batch(kept, learn=False)[0].predictions != kept.labels))
                print(f"rank {rank}, rate {rate}: {tree:20} {error:.4f}  {best:5.2f} s", flush=True)


def _lines(directory: str, *names: str) -> list[list[bytes]]:
    """The lines of files of one data set, each file shuffled."""
    parts = []
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    for name in names:
        rows = [line.split("\t") for line in (Path(directory) / name).read_text().splitlines()]
        u = np.array([users.setdefault(row[0], len(users) + 1) for row in rows])
        i = np.array([items.setdefault(row[1], len(items) + 1) for row in rows])
        order = np.random.default_rng(0).permutation(len(rows))
        parts.append([f"{float(rows[k][2]):g} |user {u[k]} |item {i[k]}\n".encode() for k in order])
    return parts


def rating_error(train: bytes, test: bytes, layer: str, given: dict[str, Any], passes: int) -> tuple[float, float]:
    """RMSE on `test`, predictions clipped to the ratings seen, and CPU seconds of learning."""
    chain = build((layer, given), bits=18)
    batch, kept = (TextParser(chain.parser).parse(lines) for lines in (train, test))
    predictions, seconds = learn_and_predict(chain, batch, kept, passes)
    gaps = np.clip(predictions, batch.labels.min(), batch.labels.max()) - kept.labels
    return float(np.sqrt(np.mean(gaps.astype(float) ** 2))), seconds


def _fitted(train: bytes, others: list[bytes], given: dict[str, Any], relabel: Callable[..., Any] | None = None) -> Any:
    """The batches and predictions of other ratings after 40 passes; `relabel` gives a pass its labels."""
    engine = build(("dyadic", {"left": "user", "right": "item", "rank": 20, **given}), bits=18)
    batch, *kept = (TextParser(engine.parser).parse(text) for text in (train, *others))
    labels = batch.labels.astype(float)
    for number in range(40):
        if relabel:
            made = engine.run_batch(batch, learn=False)[0].predictions.astype(float)
            batch.labels[:] = relabel(number, labels, made)
        engine.run_batch(batch)
        if number < 39:
            engine.end_pass()
    return [(b.labels.astype(float), engine.run_batch(b, learn=False)[0].predictions.astype(float)) for b in kept]


def drift(seeds: int) -> None:
    """60,000 simulated ratings of 2,000 users for 500 items in 20 weeks; a tenth, drawn at random, is kept aside."""
    for name, of_items, of_users in (("none", 0.0, 0.0), ("items", 0.12, 0.0), ("items and users", 0.12, 0.12)):
        cells = []
        for terms in ([], [["item", "week"]], [["item", "week"], ["user", "week"]]):
            errors = []
            for seed in range(seeds):
                lines = _drifting(seed, of_items, of_users, bool(terms))
                kept = np.random.default_rng(seed + 1).random(len(lines)) < 0.1
                parts = [b"".join(line for line, k in zip(lines, kept, strict=True) if k == side) for side in (0, 1)]
                [(labels, made)] = _fitted(parts[0], parts[1:], {"interactions": terms})
                errors.append(np.sqrt(np.mean((np.clip(made, 1, 5) - labels) ** 2)))
            cells.append(f"{np.mean(errors):.4f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _drifting(seed: int, of_items: float, of_users: float, weeks: bool) -> list[bytes]:
    """Lines of ratings from 1 to 5 whose biases are random walks from week to week."""
    random, n = np.random.default_rng(seed), 60_000
    users, when = random.integers(0, 2000, n), random.integers(0, 20, n)
    items = random.permutation(500)[np.minimum((random.pareto(1.2, n) * 20).astype(int), 499)]
    score = 3.5 + random.normal(0, 0.4, 2000)[users] + random.normal(0, 0.4, 500)[items]
    score += (random.normal(0, 0.45, (2000, 4))[users] * random.normal(0, 0.6, (500, 4))[items]).sum(axis=1)
    for who, count, step in ((items, 500, of_items), (users, 2000, of_users)):
        walk = np.cumsum(random.normal(0, step, (count, 20)), axis=1)
        score += (walk - walk.mean(axis=1, keepdims=True))[who, when]
    rating = np.clip(np.round(score + random.normal(0, 0.8, n)), 1, 5)
    lines = [f"{r:g} |user {u + 1} |item {i + 1}".encode() for r, u, i in zip(rating, users, items, strict=True)]
    return [line + (b" |week %d\n" % (week + 1) if weeks else b"\n") for line, week in zip(lines, when, strict=True)]


def ordered(directories: list[str]) -> None:
    """Learned from nine tenths of the training ratings; the tenth kept aside (seed 7) is for what turns predictions
    into probabilities of the ratings: one deviation around each prediction, or thresholds of a cumulative probit."""
    for directory in directories:
        lines, test = _lines(directory, "train.tsv", "test.tsv")
        aside = np.random.default_rng(7).random(len(lines)) < 0.1
        parts = [b"".join(line for line, k in zip(lines, aside, strict=True) if k == side) for side in (0, 1)]
        levels = np.unique([float(line.split(b" ", 1)[0]) for line in lines])
        link = Thresholds(levels)
        for name, relabel in (("as numbers", None), ("normal scores", link.scores), ("cumulative link", link.latent)):
            found = _fitted(parts[0], [parts[1], b"".join(test)], {}, relabel)
            (own, made_own), (labels, made) = found
            if relabel is None:
                error = np.sqrt(np.mean((np.clip(made, levels[0], levels[-1]) - labels) ** 2))
                middle, spread = (levels[1:] + levels[:-1]) / 2, np.sqrt(np.mean((made_own - own) ** 2))
                chances = link.chances(made, middle, spread)
                loss = -np.mean(np.log(chances[np.arange(len(labels)), np.searchsorted(levels, labels)]))
                print(f"| {Path(directory).name} | {name}, one deviation | {error:.4f} | {loss:.4f} |", flush=True)
            chances = link.chances(made, *link.fit(made_own, own))
            error = np.sqrt(np.mean((chances @ levels - labels) ** 2))
            loss = -np.mean(np.log(chances[np.arange(len(labels)), np.searchsorted(levels, labels)]))
            print(f"| {Path(directory).name} | {name}, thresholds | {error:.4f} | {loss:.4f} |", flush=True)


class Thresholds:
    """A cumulative probit over ordered ratings: P(rating ≤ k) = Φ((t_k - p) / s)."""

    def __init__(self, levels: Any) -> None:
        self.levels, self.cuts, self.spread = levels, np.zeros(len(levels) - 1), 1.0

    def chances(self, made: Any, cuts: Any, spread: float) -> Any:
        """Probabilities (predictions, ratings)."""
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        return np.maximum(np.diff(norm.cdf((edges - made[:, None]) / spread), axis=1), 1e-12)

    def fit(self, made: Any, labels: Any) -> tuple[Any, float]:
        """Thresholds and deviation of greatest likelihood."""
        place, last = np.searchsorted(self.levels, labels), len(self.levels) - 1
        shares = np.cumsum(np.bincount(place, minlength=last + 1) + 0.5) / (len(place) + 0.5 * last + 0.5)
        cuts = np.quantile(made, np.clip(shares[:-1], 0.001, 0.999)) + 1e-3 * np.arange(last)
        start = np.concatenate([cuts[:1], np.log(np.diff(cuts) + 1e-3), [np.log(max(made.std(), 1e-2))]])

        def unpacked(v: Any) -> tuple[Any, float]:
            return v[0] + np.concatenate([[0], np.cumsum(np.exp(v[1:last]))]), float(np.exp(v[last]))

        def cost(v: Any) -> float:
            return -float(np.mean(np.log(self.chances(made, *unpacked(v))[np.arange(len(place)), place])))

        return unpacked(minimize(cost, start, method="L-BFGS-B").x)

    def scores(self, number: int, labels: Any, made: Any) -> Any:
        """Each rating by its normal score."""
        place = np.searchsorted(self.levels, labels)
        edges = norm.ppf(np.concatenate([[0], np.cumsum(np.bincount(place)) / len(place)]))
        self.cuts, self.spread = edges[1:-1], 1.0
        return (-np.diff(norm.pdf(edges)) / np.diff(norm.cdf(edges)))[place]

    def latent(self, number: int, labels: Any, made: Any) -> Any:
        """Each rating by the mean of the latent score given it and the prediction: EM of the cumulative probit.

        The first four passes take normal scores; thresholds are fitted anew at every fourth pass.
        """
        if number < 4:
            return self.scores(number, labels, made)
        if number % 4 == 0:
            some = np.random.default_rng(number).permutation(len(made))[:20_000]
            self.cuts, self.spread = self.fit(made[some], labels[some])
        edges = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        place = np.searchsorted(self.levels, labels)
        low, high = (edges[place] - made) / self.spread, (edges[place + 1] - made) / self.spread
        within = np.maximum(norm.cdf(high) - norm.cdf(low), 1e-9)
        return made + self.spread * (norm.pdf(low) - norm.pdf(high)) / within


def ratings(directories: list[str]) -> None:
    """One default for all sets; the training file is shuffled once."""
    for directory in directories:
        parts = [b"".join(lines) for lines in _lines(directory, "train.tsv", "test.tsv")]
        for name, (layer, given, passes) in LEARNERS.items():
            error, seconds = rating_error(parts[0], parts[1], layer, given, passes)
            print(f"{Path(directory).name:16} {name:30} {error:.4f}  {seconds:6.2f} s", flush=True)


def command(directories: list[str]) -> None:
    """`hutch train` with 40 passes: the lines by user or shuffled, a tenth held out or none."""
    dyadic = "weights: {bits: 20}\nchain:\n  - dyadic: {left: user, right: item, rank: 20}\n"
    for directory in directories:
        train, test = _lines(directory, "train.tsv", "test.tsv")
        labels = np.array([float(line.split()[0]) for line in test])
        with tempfile.TemporaryDirectory() as folder:
            config, model, data = Path(folder) / "chain.yaml", Path(folder) / "model", Path(folder) / "train.vw"
            config.write_text(dyadic)
            (Path(folder) / "test.vw").write_bytes(b"".join(test))
            for order in ("by user", "shuffled"):
                data.write_bytes(b"".join(sorted(train, key=_user) if order == "by user" else train))
                for options in ([], ["--holdout_off"]):
                    arguments = [*HUTCH, "train", data, "-C", config, "--passes", "40", "-f", model, "--quiet"]
                    subprocess.run([*arguments, *options], check=True)
                    arguments = [*HUTCH, "predict", Path(folder) / "test.vw", "-i", model, "--quiet", "-p", "-"]
                    found = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.split()
                    gaps = np.clip(np.array(found, float), labels.min(), labels.max()) - labels
                    error = float(np.sqrt(np.mean(gaps**2)))
                    print(f"{Path(directory).name:16} {order:9} {' '.join(options):14} {error:.4f}", flush=True)


def _user(line: bytes) -> int:
    """The number of the user of a line."""
    return int(line.split(b"|user ")[1].split()[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["steps"]:
        steps()
    elif sys.argv[1:2] == ["cost"]:
        cost(int(sys.argv[2]) if len(sys.argv) > 2 else 160)
    elif sys.argv[1:2] == ["trees"]:
        trees()
    elif sys.argv[1:2] == ["ratings"] and len(sys.argv) > 2:
        ratings(sys.argv[2:])
    elif sys.argv[1:2] == ["command"] and len(sys.argv) > 2:
        command(sys.argv[2:])
    elif sys.argv[1:2] == ["drift"]:
        drift(int(sys.argv[2]) if len(sys.argv) > 2 else 4)
    elif sys.argv[1:2] == ["ordered"] and len(sys.argv) > 2:
        ordered(sys.argv[2:])
    else:
        sys.exit(__doc__)
