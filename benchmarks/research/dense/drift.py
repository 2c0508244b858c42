"""Streams whose concept changes: the table of docs/drift.md.

    python benchmarks/research/dense/drift.py [--seeds 6] [--rows 6000] [--river]

Progressive error: each row is predicted, then learned, once. Rows have ten columns in [0, 1] and 5 % of wrong labels;
`abrupt` has four concepts, `gradual` lets weights walk, `SEA` moves the threshold of x0 + x1 (W. Street, Y. Kim,
"A streaming ensemble algorithm", 2001), and `still` does not change. `--river` adds River's logistic regression on
scaled columns.
"""

import argparse
import time

import numpy as np

from hutch import Chain

STREAMS = ("abrupt", "gradual", "SEA", "still")
ROW = {"dimension": 10, "loss": "logistic", "reach": 10.0, "constant_variance": 4.0}


def stream(kind, rows, seed):
    """Rows and labels -1 and 1."""
    random = np.random.default_rng(seed)
    X = random.random((rows, 10)).astype(np.float32)
    part = np.arange(rows) * 4 // rows
    if kind == "SEA":
        scores = 10 * (X[:, 0] + X[:, 1]) - np.array([8, 9, 7, 9.5])[part]
    else:
        weights = random.normal(size=(5, 10))
        if kind == "abrupt":
            used = weights[part]
        elif kind == "gradual":
            steps = np.cumsum(random.normal(size=(rows, 10)) * 0.02, axis=0)
            used = weights[0] + steps
        else:
            used = np.tile(weights[0], (rows, 1))
        scores = ((X - 0.5) * used).sum(axis=1)
    y = np.where(scores > 0, 1.0, -1.0)
    return X, np.where(random.random(rows) < 0.05, -y, y)


def learners():
    """Layers by name."""
    found = {"`linear`": [{"linear": {"loss": "logistic"}}]}
    found["`linear` below `standardise`"] = ["standardise", *found["`linear`"]]
    for rate in (0.0, 0.0001, 0.0003, 0.001, 0.01):
        found[f"`bayesian_linear`, `forgetting: {rate:g}`"] = [
            "standardise",
            {"bayesian_linear": {**ROW, "forgetting": rate}},
        ]
    copies = [{"bayesian_linear": {"forgetting": rate}} for rate in (0.0, 0.0001, 0.001)]
    found["`hedge` of 0, 0.0001 and 0.001"] = ["standardise", {"hedge": {"copies": copies}}, {"bayesian_linear": ROW}]
    return found


def river(X, y, rate):
    """Errors of River's logistic regression."""
    from river import linear_model, optim, preprocessing

    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(rate))
    wrong = []
    for row, label in zip(X.tolist(), (y > 0).tolist(), strict=True):
        features = dict(enumerate(row))
        wrong.append(model.predict_one(features) != label)
        model.learn_one(features, label)
    return np.mean(wrong)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--river", action="store_true")
    options = parser.parse_args()
    data = {kind: [stream(kind, options.rows, seed) for seed in range(options.seeds)] for kind in STREAMS}

    def show(name, error):
        started = time.process_time()
        found = {kind: [error(X, y) for X, y in data[kind]] for kind in STREAMS}
        micros = 1e6 * (time.process_time() - started) / (options.rows * options.seeds * len(STREAMS))
        cells = " | ".join(f"{np.mean(each):.3f}" for each in found.values())
        print(f"| {name} | {cells} | {micros:.0f} |", flush=True)

    print(f"| | {' | '.join(STREAMS)} | µs per row |\n|---|" + "---|" * (len(STREAMS) + 1))
    for name, layers in learners().items():
        show(name, lambda X, y, layers=layers: np.mean(Chain.from_config({"chain": layers}).learn(X, y) * y <= 0))
    for rate in (0.01, 0.1) if options.river else ():
        show(f"River, rate {rate:g}", lambda X, y, rate=rate: river(X, y, rate))


if __name__ == "__main__":
    main()
