"""Tables as they come, with and without `standardise`: columns far from 0, and sets of scikit-learn in their own units.

    python benchmarks/research/dense/standardised.py [--orders 5]

Progressive: each row is predicted, then learned, once. The first table is R² of `y = x + noise` from the column
`offset + x`, the second error and log-loss of classes.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from hutch import Chain

PRIOR = {"loss": "squared", "covariance": "shared", "reach": 10.0, "constant_variance": 1.0}


def learners(dimension, classes):
    """Layers by name."""
    multinomial = {"multinomial": {"classes": classes}}
    linear = [{"one_against_all": {"classes": classes, "probabilities": True}}, {"linear": {"loss": "logistic"}}]
    posterior = [multinomial, {"bayesian_linear": {"dimension": dimension, **PRIOR}}]
    return {
        "linear": linear,
        "standardise, linear": ["standardise", *linear],
        "multinomial, bayesian_linear": posterior,
        "standardise, multinomial, bayesian_linear": ["standardise", *posterior],
    }


def progressive(layers, rows, labels):
    """Error and log-loss of the predictions made before each row was learned."""
    chain, wrong, loss = Chain.from_config({"chain": layers}), 0, 0.0
    for row, label in zip(rows, labels, strict=True):
        shares = chain.scores(row[None])[0]
        loss -= np.log(max(float(shares[label]), 1e-6))
        wrong += int(shares.argmax() != label)
        chain.learn(row[None], [label + 1])
    return wrong / len(rows), loss / len(rows)


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=5)
    orders = parser.parse_args().orders
    print("| offset | linear | standardise, linear | standardise, bayesian_linear |\n|---|---|---|---|")
    base = {"bayesian_linear": {"dimension": 1, **PRIOR}}
    for offset in (0, 3, 10, 30, 100, 1000, 1e6):
        cells = []
        for layers in (["linear"], ["standardise", "linear"], ["standardise", base]):
            found = []
            for seed in range(orders):
                random = np.random.default_rng(seed)
                x = random.normal(size=2000)
                y = x + 0.1 * random.normal(size=2000)
                told = Chain.from_config({"chain": layers}).learn((x + offset).astype(np.float32)[:, None], y)
                found.append(1 - np.mean((told - y) ** 2) / np.var(y))
            cells.append(f"{np.mean(found):.3f}")
        print(f"| {offset:g} | {' | '.join(cells)} |")
    print("\n| set | learner | error | log-loss |\n|---|---|---|---|")
    for load in (load_breast_cancer, load_wine, load_iris, load_digits):
        rows, labels = load(return_X_y=True)
        for name, layers in learners(rows.shape[1], labels.max() + 1).items():
            found = []
            for seed in range(orders):
                order = np.random.default_rng(seed).permutation(len(labels))
                found.append(progressive(layers, rows[order].astype(np.float32), labels[order]))
            error, loss = np.mean(found, axis=0)
            print(f"| {load.__name__.removeprefix('load_')} | {name} | {error:.3f} | {loss:.2f} |")


if __name__ == "__main__":
    main()
