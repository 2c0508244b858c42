"""The tables of docs/reductions/fields.md.

    python benchmarks/research/fields.py frappe DIR   log-loss by learner; DIR has train.libfm.gz and test.libfm.gz
    python benchmarks/research/fields.py rates DIR    log-loss by learning rate, one pass
    python benchmarks/research/fields.py split DIR    an importance in one piece and in two
    python benchmarks/research/fields.py cost DIR     nanoseconds a pair of an example
    python benchmarks/research/fields.py tables DIR   what learns a table without a chain of its own
    python benchmarks/research/fields.py unseen       pairs of which only the parts were learned, simulated
    python benchmarks/research/fields.py ratings DIR...  RMSE; DIR has train.tsv and test.tsv: user, item, rating

Frappe has ten fields with one feature each. Each order shuffles the lines of `train` anew. Times are CPU seconds of one
thread.
"""

import gzip
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch import Chain
from hutch.core.text.parser import TextParser

ORDERS = (101, 102, 103, 104, 105)
BITS = 22
Rows = tuple[NDArray[Any], NDArray[Any]]


def read(path: Path) -> Rows:
    """Features (examples, fields) and labels -1 and 1."""
    with gzip.open(path, "rt") as lines:
        rows = [line.split() for line in lines]
    features = np.array([[int(text.split(":")[0]) for text in row[1:]] for row in rows])
    return features, np.where(np.array([float(row[0]) for row in rows]) > 0, 1, -1)


def lines(rows: Rows, order: NDArray[Any] | None = None) -> bytes:
    """The examples as text, a namespace `f0`, `f1`, … for each field."""
    features, labels = rows if order is None else (rows[0][order], rows[1][order])
    text = (
        f"{y} " + " ".join(f"|f{k} {x}" for k, x in enumerate(row))
        for y, row in zip(labels.tolist(), features.tolist(), strict=True)
    )
    return ("\n".join(text) + "\n").encode()


def build(layers: dict[str, Any], bits: int = BITS) -> Chain:
    """A chain of these layers."""
    chain = [{name: given} for name, given in layers.items()]
    return Chain.from_config({"weights": {"bits": bits}, "chain": chain})


def scores(chain: Any, batch: Any) -> NDArray[np.float64]:
    """The scores of a batch, before clipping."""
    return np.asarray(chain.run_batch(batch, learn=False)[0].raw, np.float64)


def log_loss(score: NDArray[np.float64], y: NDArray[Any]) -> float:
    return float(np.logaddexp(0.0, -y * score).mean())


def auc(score: NDArray[np.float64], y: NDArray[Any]) -> float:
    _, at, count = np.unique(score, return_inverse=True, return_counts=True)
    rank, positive = (np.cumsum(count) - (count - 1) / 2)[at], y > 0
    m = positive.sum()
    return float((rank[positive].sum() - m * (m + 1) / 2) / (m * (len(y) - m)))


def trial(train: Rows, test: Rows, seed: int, layer: dict[str, Any], passes: int = 1) -> tuple[list[float], float]:
    """Log-loss and AUC after each pass, and CPU seconds of learning."""
    chain, random, found, seconds = build(layer), np.random.default_rng(seed), [], 0.0
    parser, kept = TextParser(chain.parser), TextParser(chain.parser).parse(lines(test))
    for _ in range(passes):
        batch = parser.parse(lines(train, random.permutation(len(train[1]))))
        start = time.process_time()
        chain.run_batch(batch)
        seconds += time.process_time() - start
        chain.end_pass()
        score = scores(chain, kept)
        found += [log_loss(score, test[1]), auc(score, test[1])]
    return found, seconds


def show(name: str, train: Rows, test: Rows, layer: dict[str, Any], passes: int = 1, orders: Any = ORDERS) -> None:
    runs = [trial(train, test, seed, layer, passes) for seed in orders]
    mean, spread = np.mean([run[0] for run in runs], 0), np.std([run[0] for run in runs], 0, ddof=1)
    parts = [f"{mean[k]:.4f} ± {spread[k]:.4f} AUC {mean[k + 1]:.3f}" for k in range(0, 2 * passes, 2)]
    print(f"{name:32}", " | ".join(parts), f"| {np.mean([run[1] for run in runs]):.2f} s", flush=True)


def frappe(train: Rows, test: Rows) -> None:
    logistic = {"loss": "logistic"}
    for rank in (4, 8):
        show(f"fields, rank {rank}", train, test, {"fields": {"rank": rank, **logistic}}, 2)
    show("linear", train, test, {"linear": logistic})
    pairs = [[f"f{j}", f"f{k}"] for k in range(10) for j in range(k)]
    show("linear, all pairs", train, test, {"linear": {**logistic, "interactions": pairs}})
    for aware in (False, True):
        given = {"pairs": [{"namespaces": pair, "rank": 4} for pair in pairs], "field_aware": aware}
        for rate in (0.05, 0.2, 0.5):
            low = {"low_rank_quadratic": given, "linear": {**logistic, "learning_rate": rate}}
            show(f"--lrq{'fa' if aware else ''}, rank 4, rate {rate}", train, test, low, 1, ORDERS[:2])
    show("dyadic, user and item, rank 8", train, test, {"dyadic": {"left": "f0", "right": "f1", "rank": 8, **logistic}})


def rates(train: Rows, test: Rows) -> None:
    for rate in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0):
        show(f"learning rate {rate:g}", train, test, {"fields": {"learning_rate": rate}}, 1, ORDERS[:3])


def cost(train: Rows, test: Rows) -> None:
    pairs = len(train[1]) * 45
    for rank in (4, 8):
        for dynamics in ("fast", "gradient"):
            layer = {"fields": {"rank": rank, "dynamics": dynamics}}
            best = min(trial(train, test, 101, layer)[1] for _ in range(3))
            print(f"rank {rank}, {dynamics}: {1e9 * best / pairs:.0f} ns a pair", flush=True)


STILL = {"l2": 0.0, "partner_variance": 0.0, "adaptation": 0.0}


def split(train: Rows, test: Rows) -> None:
    """After 20,000 examples: differences relative to the move of one step, of moves of .001 and more."""
    order = np.random.default_rng(5).permutation(len(train[1]))
    for name, given, still in (
        ("fast, rates stand still", STILL, True),
        ("exact, rates stand still", {**STILL, "dynamics": "exact"}, True),
        ("gradient, rates stand still", {**STILL, "dynamics": "gradient", "learning_rate": 1.0}, True),
        ("defaults", {}, False),
    ):
        rank, chain = 4, build({"fields": given}, 18)
        chain.run_batch(TextParser(chain.parser).parse(lines(train, order[:20_000])))
        weights, learned = chain.weights.copy(), chain.layers[0].learned.copy()

        def score(text: str, chain: Chain = chain) -> float:
            return float(scores(chain, TextParser(chain.parser).parse(text.encode()))[0])

        for importance in (2, 20):
            found = []
            for i in order[20_000:20_200]:
                label, rest = lines(train, np.array([i])).decode().split(" ", 1)
                after = []
                for parts in (1, 2):
                    for _ in range(parts):
                        text = f"{label} {importance / parts} {rest}"
                        chain.run_batch(TextParser(chain.parser).parse(text.encode()))
                        if still:
                            chain.weights[:, rank:], chain.layers[0].learned[:] = weights[:, rank:], learned
                    after.append(score(rest))
                    chain.weights[:], chain.layers[0].learned[:] = weights, learned
                before = score(rest)
                if abs(after[0] - before) > 1e-3:
                    found.append(abs(after[1] - after[0]) / abs(after[0] - before))
            levels = ", ".join(f"{value:.0e}" for value in np.quantile(found, [0.5, 0.9, 0.99]))
            print(f"{name:28} importance {importance:2}: {levels} (half, 90 %, 99 %)", flush=True)


def tables(train: Rows, test: Rows) -> None:
    """A frame and a file with a column for each field: pairs by evidence, and none."""
    import pyarrow as pa
    from pyarrow import csv

    from hutch.sklearn import HutchClassifier
    from hutch.table_pairs import with_or_without_pairs

    order = np.random.default_rng(ORDERS[0]).permutation(len(train[1]))
    frames = [
        pa.table({f"c{k}": [f"n{x}" for x in features[:, k]] for k in range(features.shape[1])})
        for features in (train[0][order], test[0])
    ]
    for pairs in (None, False):
        model = HutchClassifier(pairs=pairs).fit(frames[0], train[1][order])
        score = model.decision_function(frames[1])
        print(
            f"HutchClassifier, pairs={pairs}: {log_loss(score, test[1]):.4f}, {auc(score, test[1]):.3f}; {model.pairs_}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "frappe.csv")
        csv.write_csv(frames[0].append_column("label", pa.array(train[1][order])), path)
        plain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
        paired, said = with_or_without_pairs(plain, [path], None)
        for chain in (paired, plain):
            chain.learn(Path(path))
            score = np.concatenate([scores(chain, batch) for batch in chain.batches(frames[1])])
            found = f"{log_loss(score, test[1]):.4f}, {auc(score, test[1]):.3f}"
            print(f"hutch train, {chain.layers[-1].name}: {found}; {said}")


def eating(random: np.random.Generator, count: int, names: int) -> Rows:
    """Who eats what: the kinds of an animal and of a food decide; their numbers tell nothing about their kinds."""
    numbers = np.array([random.permutation(2 * names) for _ in range(2)])
    chosen, kinds = random.integers(0, names, (2, count)), random.integers(0, 2, (2, count))
    return np.take_along_axis(numbers, 2 * chosen + kinds, 1).T, np.where(kinds[0] == kinds[1], 1, -1)


def unseen() -> None:
    """Animals and foods of 1,000 names of two classes each; a tenth of the pairs of names is never learned."""
    for count in (90_000, 900_000):
        random = np.random.default_rng(0)
        features, labels = eating(random, count + count // 9, 1000)
        kept = (features[:, 0] * 7 + features[:, 1]) % 10 == 0
        train, test = (features[~kept], labels[~kept]), (features[kept], labels[kept])
        for name, layer in (
            ("fields", {"fields": {}}),
            ("linear, all pairs", {"linear": {"loss": "logistic", "interactions": [["f0", "f1"]]}}),
        ):
            (loss, area), seconds = trial(train, test, 0, layer)
            print(f"{len(train[1])} lines, {name:18} {loss:.4f} AUC {area:.4f}, {seconds:.2f} s", flush=True)


def ratings(folder: str) -> None:
    """One order, predictions clipped to the range of ratings."""
    parts = []
    for name in ("train", "test"):
        rows = [row.split() for row in (Path(folder) / f"{name}.tsv").read_text().splitlines()]
        parts.append(([[int(user), int(item)] for user, item, _ in rows], [float(row[2]) for row in rows]))
    (train, y), (test, truth) = [(np.array(a), np.array(b)) for a, b in parts]
    order, two = np.random.default_rng(7).permutation(len(y)), {"left": "f0", "right": "f1"}
    for name, layer in (
        ("biases", {"dyadic": {**two, "rank": 0}}),
        ("dyadic, rank 20", {"dyadic": {**two, "rank": 20}}),
        ("fields, rank 4", {"fields": {"loss": "squared"}}),
        ("fields, rank 20", {"fields": {"rank": 20, "loss": "squared"}}),
    ):
        chain, found = build(layer), []
        kept, batch = (
            TextParser(chain.parser).parse(text) for text in (lines((test, truth)), lines((train, y), order))
        )
        for passes in range(1, 41):
            chain.run_batch(batch)
            chain.end_pass()
            if passes in (1, 2, 5, 10, 20, 40):
                score = np.clip(scores(chain, kept), y.min(), y.max())
                found.append(f"{passes}: {np.sqrt(np.mean((score - truth) ** 2)):.4f}")
        print(f"{Path(folder).name:10} {name:16}", " ".join(found), flush=True)


if __name__ == "__main__":
    command, *folders = sys.argv[1:]
    if command == "unseen":
        unseen()
    for folder in folders:
        if command == "ratings":
            ratings(folder)
        else:
            globals()[command](*(read(Path(folder) / f"{name}.libfm.gz") for name in ("train", "test")))
